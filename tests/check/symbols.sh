#!/bin/sh
# symbols.sh LIBRARY [ROOT]: the shared library exports exactly the functions that the public headers declare with COMP_API, and all of
# them are named comp_* and have a version. Speaks TAP.
set -u
case $1 in
  /*) library=$1 ;;
  *) library=$PWD/$1 ;;
esac
cd "${2:-.}" || exit 1
lists=$(mktemp -d "${TMPDIR:-/tmp}/comp-symbols.XXXXXX") || exit 1
trap 'rm -rf "$lists"' EXIT
LC_ALL=C
export LC_ALL
status=0

# report NUMBER NAME FILE: passes when the file, a list of findings, is empty.
report() {
  if [ -s "$3" ]; then
    echo "not ok $1 - $2"
    sed 's,^,# ,' "$3"
    status=1
  else
    echo "ok $1 - $2"
  fi
}

echo 1..5
"${NM:-nm}" -D --defined-only --format=posix "$library" >"$lists/nm" 2>"$lists/nm-errors"
if [ -s "$lists/nm" ]; then : >"$lists/nm-errors"; else echo "no symbols in $library" >>"$lists/nm-errors"; fi
report 1 'the library lists its symbols' "$lists/nm-errors"
# The names of the versions themselves are absolute symbols.
awk '$2 != "A" { print $1 }' "$lists/nm" >"$lists/names"
sed 's,@.*,,' "$lists/names" | sort -u >"$lists/exported"

grep -Ev '^comp_[a-z0-9]' "$lists/exported" >"$lists/foreign"
report 2 'exported names are comp_*, none is comp__*' "$lists/foreign"

# A declaration runs from COMP_API to the semicolon; its name is the first one before a parenthesis.
cat include/comp/*.h | awk '
  !open && /^COMP_API[ \t]/ { open = 1; text = "" }
  open { text = text " " $0 }
  open && /;/ {
    open = 0
    if (match(text, /comp_[a-z0-9_]+[ \t]*\(/)) {
      name = substr(text, RSTART, RLENGTH)
      sub(/[ \t]*\($/, "", name)
      print name
    }
  }' | sort -u >"$lists/declared"
comm -23 "$lists/declared" "$lists/exported" >"$lists/missing"
report 3 'every COMP_API function of the headers is exported' "$lists/missing"
comm -13 "$lists/declared" "$lists/exported" >"$lists/undeclared"
report 4 'every exported function is declared in a public header' "$lists/undeclared"
grep -v '@' "$lists/names" >"$lists/unversioned"
report 5 'every exported function has a version (src/libcomp.map)' "$lists/unversioned"
exit $status
