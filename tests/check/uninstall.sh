#!/bin/sh
# uninstall.sh ROOT BUILD PREFIX: packaging/place.sh, which is ./dev install and ./dev uninstall, removes what it installed and nothing else. Speaks TAP.
set -u
place=$1/packaging/place.sh build=$2 prefix=$3
DESTDIR=$(mktemp -d "${TMPDIR:-/tmp}/comp-uninstall.XXXXXX") || exit 1
export DESTDIR
lists=$(mktemp -d "${TMPDIR:-/tmp}/comp-uninstall.XXXXXX") || exit 1
trap 'rm -rf "$DESTDIR" "$lists"' EXIT
number=0
status=0

# result NAME: reports the exit status of the command before.
result() {
  if [ $? = 0 ]; then verdict=ok; else verdict='not ok' status=1; fi
  number=$((number + 1))
  echo "$verdict $number - $1"
  if [ "$verdict" != ok ]; then sed 's,^,# ,' "$lists/output"; fi
}

content() { (cd "$DESTDIR" && find . | sort); }

echo 1..7
sh "$place" remove "$prefix" >"$lists/output" 2>&1
[ $? = 1 ] && grep -q 'nothing was installed there' "$lists/output"
result 'without a list nothing is removed, and a message says why'

# What others have there: a program beside ours, a folder that is empty, a file where a folder of ours will be.
mkdir -p "$DESTDIR$prefix/bin" "$DESTDIR$prefix/share/man" "$DESTDIR$prefix/include/comp"
echo other >"$DESTDIR$prefix/bin/other"
echo other >"$DESTDIR$prefix/include/comp/other.h"
content >"$lists/before"
sh "$place" install "$build" "$prefix" >"$lists/output" 2>&1 && [ -x "$DESTDIR$prefix/bin/comp" ] && [ -f "$DESTDIR$prefix/include/comp/comp.h" ]
result 'it installs'
content >"$lists/installed"
sed "s,^,.,; s,/$,," "$DESTDIR$prefix/share/comp/installed-files" >"$lists/listed"
LC_ALL=C sort "$lists/before" >"$lists/a" && LC_ALL=C sort "$lists/installed" >"$lists/b" && LC_ALL=C sort "$lists/listed" >"$lists/c"
LC_ALL=C comm -13 "$lists/a" "$lists/b" | diff - "$lists/c" >"$lists/output"
result 'the list is what came to be, file by file and folder by folder'

# An older version had another file; the second list must still name it.
echo old >"$DESTDIR$prefix/lib/libcomp.so.0.1"
echo "$prefix/lib/libcomp.so.0.1" >>"$DESTDIR$prefix/share/comp/installed-files"
sh "$place" install "$build" "$prefix" >"$lists/output" 2>&1 && grep -qx "$prefix/lib/libcomp.so.0.1" "$DESTDIR$prefix/share/comp/installed-files"
result 'installing again keeps what the first list named'

echo mine >"$DESTDIR$prefix/share/comp/mine"
sh "$place" remove "$prefix" >"$lists/output" 2>&1
result 'it removes'
content >"$lists/after"
{ cat "$lists/before"; echo ".$prefix/share/comp"; echo ".$prefix/share/comp/mine"; } | LC_ALL=C sort >"$lists/a"
LC_ALL=C sort "$lists/after" | diff "$lists/a" - >"$lists/output"
result 'what is left is what was there, and a folder of ours with a file of others'
sh "$place" remove "$prefix" >"$lists/output" 2>&1
[ $? = 1 ]
result 'a second time there is nothing to remove'
exit $status
