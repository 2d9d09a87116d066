#!/bin/sh
# headers.sh [ROOT [BUILD]]: every header compiles alone and may be included twice: public ones under strict C17, and as C++ where there is a
# compiler for it; inner ones as the library is built. Speaks TAP. BUILD (build) has the headers that meson makes. CC and
# CXX pick the compilers.
set -u
cd "${1:-.}" || exit 1
made=${2:-build}/include
errors=$(mktemp "${TMPDIR:-/tmp}/comp-headers.XXXXXX") || exit 1
trap 'rm -f "$errors"' EXIT
number=0
status=0

# compiles NAME COMPILER HEADER FLAG...
compiles() {
  name=$1 compiler=$2 header=$3
  shift 3
  number=$((number + 1))
  # The compiler may be several words, such as "ccache gcc".
  # shellcheck disable=SC2086
  if printf '#include "%s"\n#include "%s"\nextern int not_empty;\n' "$header" "$header" |
    $compiler "$@" -Iinclude "-I$made" -Wall -Wextra -Werror -fsyntax-only - 2>"$errors"; then
    echo "ok $number - $header as $name"
  else
    echo "not ok $number - $header as $name"
    sed 's,^,# ,' "$errors"
    status=1
  fi
}

headers() { for d in "$@"; do (cd "$d" && find . -name '*.h' 2>/dev/null | sed 's,^[.]/,,'); done | sort; }

cc=${CC:-cc}
# Where the libraries' own headers are that inner headers may include.
inner_flags=$(pkg-config --cflags-only-I hdf5-serial 2>/dev/null || pkg-config --cflags-only-I hdf5 2>/dev/null)
cxx=${CXX:-c++}
for header in $(headers include "$made"); do
  compiles C17 "$cc" "$header" -x c -std=c17 -Wpedantic -Wstrict-prototypes
done
for header in $(headers src); do
  compiles 'inner header' "$cc" "$header" -x c -std=gnu17 -D_GNU_SOURCE -Isrc $inner_flags
done
if command -v "${cxx%% *}" >/dev/null 2>&1; then
  for header in $(headers include "$made"); do
    compiles C++17 "$cxx" "$header" -x c++ -std=c++17 -Wpedantic
  done
else
  number=$((number + 1))
  echo "ok $number - public headers as C++ # SKIP no C++ compiler"
fi
echo "1..$number"
exit $status
