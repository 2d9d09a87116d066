#!/bin/sh
# interface_selftest.sh [ROOT]: interface.sh accepts the headers and finds every kind of broken rule. Speaks TAP.
set -u
root=$(CDPATH='' cd -- "${1:-.}" && pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/comp-interface.XXXXXX") || exit 1
trap 'rm -rf "$tree"' EXIT
number=0
status=0

# finds NAME TEXT LINE: with this line in a header of its own the check fails and says TEXT.
finds() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/include"
  cp -r "$root/include/comp" "$tree/include/comp"
  printf '%s\n' "$3" >"$tree/include/comp/planted.h"
  number=$((number + 1))
  if sh "$root/tests/check/interface.sh" "$tree" >"$tree/output"; then good=false; else grep -qF -e "$2" "$tree/output" && good=true; fi
  if $good; then echo "ok $number - $1"; else echo "not ok $number - $1"; sed 's,^,# ,' "$tree/output"; status=1; fi
  good=false
}

good=false
echo 1..9
number=1
if sh "$root/tests/check/interface.sh" "$root" >"$tree/output"; then echo 'ok 1 - the headers are accepted'; else echo 'not ok 1 - the headers are accepted'; status=1; fi
finds 'an enum without names' 'comp_planted has no comp_planted_name()' 'typedef enum comp_planted { COMP_PLANTED } comp_planted;'
finds 'an _INIT' 'planted.h:1:#define COMP_PLANTED_INIT' '#define COMP_PLANTED_INIT { 0 }'
finds 'a struct of options' 'struct comp_planted_options' 'typedef struct comp_planted_options { int x; } comp_planted_options;'
finds 'a count by another name' 'comp_planted_items() returns a number' 'COMP_API size_t comp_planted_items(const comp_planted *planted);'
finds '`out` that is not first' 'comp_planted_get(): `out` is not the first' 'COMP_API comp_status comp_planted_get(const comp_planted *planted, int *out);'
finds 'a context behind data' 'comp_planted_run(): `context` comes after' 'COMP_API comp_status comp_planted_run(const comp_planted *planted, comp_context *context);'
finds 'free() of the C library' 'planted.h:1:' '/* It should be freed via free(). */'
finds 'a second function that frees text' 'comp_words_free() does not free a comp_words' 'COMP_API void comp_words_free(char *text);'
exit $status
