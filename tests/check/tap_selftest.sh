#!/bin/sh
# tap_selftest.sh [ROOT]: tap.awk counts right, and nothing that went wrong passes as a success; cpu.sh changes no exit code and measures grandchildren. Speaks TAP.
set -u
judge=$(CDPATH='' cd -- "${1:-.}" && pwd)/tests/check/tap.awk
tree=$(mktemp -d "${TMPDIR:-/tmp}/comp-tap.XXXXXX") || exit 1
trap 'rm -rf "$tree"' EXIT
number=0
status=0

# expect NAME "PASSED FAILED SKIPPED": compares with what tap.awk counted.
expect() {
  number=$((number + 1))
  if [ "$(cat "$tree/counts")" = "$2" ]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1"
    echo "# expected $2, counted $(cat "$tree/counts")"
    status=1
  fi
}

# raw EXIT-STATUS TAP: judges the output of one program.
raw() {
  rm -f "$tree/counts"
  # shellcheck disable=SC2059  # the output is given with its escapes
  printf "$2" | awk -v mode=raw -v name=x -v status="$1" -v counts="$tree/counts" -f "$judge" >/dev/null
}

# meson EXIT-STATUS EXPECTED LOG: judges a log of meson.
meson() {
  rm -f "$tree/counts"
  printf '%s\n' "$3" | awk -v mode=meson -v status="$1" -v expected="$2" -v counts="$tree/counts" -f "$judge" >/dev/null
}

echo 1..18
raw 0 '1..2\nok 1 - a\nok 2 - b\n';               expect 'success' '2 0 0'
raw 1 '1..2\nok 1 - a\nnot ok 2 - b\n';           expect 'a failing test' '1 1 0'
raw 0 '1..2\nok 1 - a\nnot ok 2 - b\n';           expect 'a failing test with exit status 0' '1 1 0'
raw 0 'ok 1 - a\nok 2 # SKIP no file\n1..2\n';    expect 'a skipped test, plan at the end' '1 0 1'
raw 0 '1..2\nok 1 - a\nnot ok 2 # SKIP b\n';      expect 'a skipped test the way cmocka prints it' '1 0 1'
raw 0 '1..0 # SKIP nothing to do\n';              expect 'a skipped program' '0 0 1'
raw 0 '1..3\nok 1 - a\n';                         expect 'a plan that is not fulfilled' '1 1 0'
raw 0 'ok 1 - a\n';                               expect 'no plan' '1 1 0'
raw 0 '';                                         expect 'no output' '0 1 0'
raw 3 '1..1\nok 1 - a\n';                         expect 'exit status after success' '1 1 0'
raw 0 '1..1\nok 1 - a\n1..1\nok 1 - b\n';         expect 'two plans' '2 1 0'

good='{"name": "g", "stdout": "1..1\nok 1 - \"a\" \\n\n", "result": "OK", "returncode": 0, "env": {"A": "\"stdout\": \""}}'
meson 0 1 "$good";                                expect 'meson: success' '1 0 0'
meson 1 1 "$good";                                expect 'meson: it fails although its tests pass' '1 1 0'
meson 0 2 "$good";                                expect 'meson: a program was not run' '1 1 0'
meson 1 1 '{"name": "c", "stdout": "1..2\nok 1 - a\n", "result": "ERROR", "returncode": -11}'
expect 'meson: a crash' '1 1 0'
meson 1 1 '{"name": "t", "stdout": "1..1\nok 1 - a\n", "result": "TIMEOUT", "returncode": -15}'
expect 'meson: a time-out' '1 1 0'

# Some tenths of a second in a process that the command starts.
sh "$(dirname "$judge")/cpu.sh" "$tree/cpu" sh -c 'sh -c "i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done"; exit 3' >"$tree/out" 2>&1
echo "$? $(wc -c <"$tree/out") 0" >"$tree/counts"
expect 'cpu.sh: exit code 3, and no output of its own' '3 0 0'
awk -F '\t' '{ print NR, ($1 >= 0.05), ($2 ~ /^sh -c/) }' "$tree/cpu" >"$tree/counts"
expect 'cpu.sh: a line with the time of a grandchild' '1 1 1'
exit $status
