#!/bin/sh
# abi.sh [--update] [ROOT [BUILD]]: programs that were linked with an earlier libcomp still run with this one: no public function is gone,
# and no public type has changed. Compares the public headers with tests/check/abi/libcomp.abi, which --update writes. A function more is no
# difference. Speaks TAP. CC picks the compiler; BUILD (build) has the headers that meson makes.
#
# What is described is a library of empty functions, one for each that the headers declare: it takes a second to make, and has in its debug
# information the types that users see, and no others. That the real library exports the same functions is what symbols.sh tests.
set -u
update=
if [ "${1:-}" = --update ]; then
  update=1
  shift
fi
cd "${1:-.}" || exit 1
made=${2:-build}/include
stored=tests/check/abi/libcomp.abi

skip() {
  echo "1..1"
  echo "ok 1 - the public interface is as it was # SKIP $1"
  exit 0
}
command -v abidw >/dev/null 2>&1 && command -v abidiff >/dev/null 2>&1 || skip 'no abigail-tools'
[ "$(uname -m)" = x86_64 ] || skip 'the stored description is that of x86_64'

work=$(mktemp -d "${TMPDIR:-/tmp}/comp-abi.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# A declaration runs from COMP_API to the semicolon; braces make it a definition.
empty_functions() {
  echo '#include "comp/comp.h"'
  cat include/comp/*.h | awk '
    !open && /^COMP_API[ \t]/ { open = 1; text = "" }
    open { text = text " " $0 }
    open && /;/ {
      open = 0
      sub(/;.*/, " { __builtin_unreachable(); }", text)
      print text
    }'
}

# describe FILE: the interface of the headers, without anything of this machine.
describe() {
  empty_functions >"$work/libcomp.c" &&
    # The compiler may be several words, such as "ccache gcc".
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c17 -g -O0 -w -shared -fPIC -fvisibility=hidden -Iinclude "-I$made" -Wl,--version-script=src/libcomp.map \
      -Wl,-soname,libcomp.so -nostdlib "$work/libcomp.c" -o "$work/libcomp.so" &&
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names --out-file "$1" "$work/libcomp.so" &&
    sed -i "s,path='[^']*',path='libcomp.c',g; s, name='comp-abi[^']*',,g" "$1"
}

if [ -n "$update" ]; then
  mkdir -p "$(dirname "$stored")" && describe "$stored" && echo "wrote $stored"
  exit
fi
echo 1..2
if ! describe "$work/now.abi" 2>"$work/errors"; then
  echo 'not ok 1 - the headers can be described'
  sed 's,^,# ,' "$work/errors"
  echo 'not ok 2 - no public function or type has changed'
  exit 1
fi
echo 'ok 1 - the headers can be described'
if abidiff --no-added-syms "$stored" "$work/now.abi" >"$work/changes" 2>&1; then
  echo 'ok 2 - no public function or type has changed'
  exit 0
fi
echo 'not ok 2 - no public function or type has changed'
sed 's,^,# ,' "$work/changes"
echo '# If this is meant: ./dev abi --update, a new version of the library, and a line in CHANGELOG.md.'
exit 1
