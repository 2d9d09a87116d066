#!/bin/sh
# run.sh COMP [NAME...]: runs the golden tests in this folder (README.md says what they are) and reports as TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
COMP=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
export COMP
SAMPLES=$here/../samples
export SAMPLES
LC_ALL=C
export LC_ALL
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

if [ $# -eq 0 ]; then
  for script in "$here"/golden/*.sh; do set -- "$@" "$(basename "$script" .sh)"; done
fi

# matches EXPECTED ACTUAL: line by line, each line of EXPECTED being an extended regular expression for the whole line.
matches() {
  [ "$(wc -l <"$1")" -eq "$(wc -l <"$2")" ] || return 1
  number=0
  while IFS= read -r pattern; do
    number=$((number + 1))
    sed -n "${number}p" "$2" | grep -Eqx -e "$pattern" || return 1
  done <"$1"
}

# show TITLE FILE: a file as TAP comment.
show() {
  echo "# $1:"
  sed 's/^/#   /' "$2"
}

echo "1..$#"
count=0
for name in "$@"; do
  count=$((count + 1))
  expected=$here/golden/$name
  mkdir "$work/$name" || exit 1
  code=0
  (cd "$work/$name" && exec sh "$expected.sh") >"$work/out" 2>"$work/err" </dev/null || code=$?
  wanted=0
  [ -f "$expected.code" ] && read -r wanted <"$expected.code"
  err=/dev/null
  [ -f "$expected.err" ] && err=$expected.err
  if [ "$code" -eq 77 ] && [ "$wanted" -ne 77 ]; then
    echo "ok $count - $name # SKIP $(cat "$work/out")"
  elif [ "$code" -eq "$wanted" ] && cmp -s "$expected.out" "$work/out" && matches "$err" "$work/err"; then
    echo "ok $count - $name"
  else
    echo "not ok $count - $name"
    echo "# exit code $code, expected $wanted"
    diff -u "$expected.out" "$work/out" | sed 's/^/# /'
    show "stderr" "$work/err"
    show "stderr expected" "$err"
  fi
done
