#!/bin/sh
# abi_selftest.sh [ROOT [BUILD]]: abi.sh accepts a function more, and finds a function that is gone, a parameter of another type, a field that
# was put in, and one that was added at the end. Speaks TAP.
set -u
root=$(CDPATH='' cd -- "${1:-.}" && pwd)
build=$(CDPATH='' cd -- "$root" && cd -- "${2:-build}" && pwd)
if sh "$root/tests/check/abi.sh" "$root" "$build" | grep -q '# SKIP'; then
  echo 1..1
  echo 'ok 1 - changes are found # SKIP as abi.sh is'
  exit 0
fi
tree=$(mktemp -d "${TMPDIR:-/tmp}/comp-abi-selftest.XXXXXX") || exit 1
trap 'rm -rf "$tree"' EXIT
number=0
status=0

# expect WANTED NAME HEADER SED: the exit code of abi.sh after a change of a header.
expect() {
  rm -rf "$tree/include"
  cp -R "$root/include" "$tree/include"
  sed "$4" "$root/include/comp/$3" >"$tree/include/comp/$3"
  sh "$root/tests/check/abi.sh" "$tree" "$build" >"$tree/output" 2>&1
  code=$?
  number=$((number + 1))
  if [ $code = "$1" ] && { [ "$2" = 'nothing changed' ] || ! cmp -s "$root/include/comp/$3" "$tree/include/comp/$3"; }; then
    echo "ok $number - $2"
  else
    echo "not ok $number - $2: exit code $code"
    sed 's,^,# ,' "$tree/output"
    status=1
  fi
}

echo 1..6
mkdir -p "$tree/src" "$tree/tests/check/abi"
cp "$root/src/libcomp.map" "$tree/src/"
cp -R "$root/include" "$tree/include"
sh "$root/tests/check/abi.sh" --update "$tree" "$build" >/dev/null
expect 0 'nothing changed' context.h ''
expect 0 'a function more' context.h 's/^\(COMP_API void comp_context_free\)(\(.*\)$/\1(\2\nCOMP_API int comp_context_more(void);/'
expect 1 'a function is gone' context.h 's/^COMP_API int comp_context_thread_count(.*$//'
expect 1 'a parameter has another type' neighbors.h 's/comp_neighbors_rows(const comp_neighbors \*/comp_neighbors_rows(const comp_matrix */'
expect 1 'a field was put in' context.h 's/^  double gamma; .*$/&\n  double more;/'
expect 1 'a field was added at the end' context.h 's/^} comp_epoch;/  double more;\n} comp_epoch;/'
exit $status
