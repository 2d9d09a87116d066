#!/bin/sh
# defects.sh COMP INJECT [PYTHON]: one test a defect that the first campaign found, in TAP. INJECT is the shared object made of inject.c.
set -u
DAMAGED=$(cd "$(dirname "$0")/damaged" && pwd)
. "$(dirname "$0")/tap.sh"

# with RULES COMMAND...: the program with calls that fail.
with() {
  rules=$1
  shift
  COMP_INJECT=$rules LD_PRELOAD=$INJECT "$COMP" "$@"
}

# calls WHAT COMMAND...: how many such calls the program makes.
calls() {
  what=$1
  shift
  COMP_INJECT='' COMP_INJECT_COUNT=count LD_PRELOAD=$INJECT "$COMP" "$@" >out 2>err
  sed "s/.*$what \([0-9]*\).*/\1/" count
}

# sound_or_failed CODE: what a run with a failing call left: a message and the old file, or the same as without.
sound_or_failed() {
  code=$1
  if [ "$code" -eq 0 ]; then
    cmp -s good.h5ad out.h5ad
  else # options that cannot be kept because memory ran out count as wrong usage
    [ "$(wc -l <err)" -eq 1 ] && [ ! -e out.h5ad ] && { [ "$code" -eq 1 ] || { [ "$code" -eq 2 ] && grep -q "out of memory" err; }; }
  fi
}

# every WHAT ERROR COMMAND...: each such call failed in turn. Unless COMP_TORTURE is set, some 40 of the calls, evenly: of allocations in the
# second half, where results are made. on=-: it and all calls after it fail.
on=''
every() {
  what=$1 error=$2
  shift 2
  find . -name '*.tmp-*' -exec rm -rf {} + # of a program that crashed in a test before
  total=$(calls "$what" "$@")
  rm -f out.h5ad
  n=1 step=1
  if [ "$what" = memory ] && [ -z "${COMP_TORTURE:-}" ]; then n=$((total / 2)); fi
  if [ -z "${COMP_TORTURE:-}" ]; then step=$(((total - n) / 40 + 1)); fi
  while [ "$n" -le "$total" ]; do
    with "$what:$n$on:$error" "$@" >out 2>err
    code=$?
    if ! sound_or_failed "$code"; then
      echo "# $what $n$on of $total, $error: exit code $code, $(head -c 200 err)"
      return 1
    fi
    rm -f out.h5ad
    n=$((n + step))
  done
  if [ "$total" -eq 0 ]; then return 1; fi
  leftovers=$(find . -name '*.tmp-*')
  [ -z "$leftovers" ]
}

echo "1..21"
"$COMP" simulate -q -o cells.h5ad --cells 40 --genes 20 --no-truth || exit 1
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total 100 --log1p || exit 1
"$COMP" train -q -i ready.h5ad -o model.comp --condition condition --hidden 8 --latent 2 --epochs 1 || exit 1

# 1: a failure to find out is no answer.
"$COMP" convert -q -i ready.h5ad -o good.h5ad || exit 1
every open EIO convert -q --threads 1 -i ready.h5ad -o out.h5ad
check "convert: every open that fails" $?
every read EIO convert -q --threads 1 -i ready.h5ad -o out.h5ad
check "convert: every read that fails" $?
every stat EIO convert -q --threads 1 -i ready.h5ad -o out.h5ad
check "convert: every look at a name that fails" $?
on=-
every read EIO convert -q --threads 1 -i ready.h5ad -o out.h5ad
check "convert: a disk that fails from some read on" $? # HDF5 crashed while it copied
on=''

# 2, 3: files that HDF5 does not survive are refused with a message, in little memory and time.
refused() { # NAME...
  for name; do
    gunzip -c "$DAMAGED/$name.h5ad.gz" >damaged.h5ad || return 1
    for command in "info damaged.h5ad" "convert -i damaged.h5ad -o out.h5ad"; do
      # shellcheck disable=SC2086 # words
      (ulimit -v 2000000 && ulimit -t 20 && exec "$COMP" $command -q --threads 1 >out 2>err)
      code=$?
      if [ "$code" -eq 0 ] && [ "${command%% *}" = info ]; then continue; fi # it does not read all
      if [ "$code" -ne 1 ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -q "damaged" err || [ -e out.h5ad ]; then
        echo "# $name, $command: exit code $code, $(head -c 200 err)"
        return 1
      fi
    done
  done
}
refused names-in-circles groups-in-circles
check "a list of names or a group that runs in circles takes no memory and ends" $?
refused beyond-the-end filters-without-chunks group-in-itself newest-layout shape text text-without-end tree two-groups type
check "damaged .h5ad files on which HDF5 crashed or did not end" $?

# 4: memory that runs out is freed once.
"$COMP" embed -q --threads 1 -i ready.h5ad -m model.comp -o good.h5ad --scales || exit 1
every memory ENOMEM embed -q --threads 1 -i ready.h5ad -m model.comp -o out.h5ad --scales
check "embed: every allocation that fails" $?
"$COMP" pca -q --threads 1 -i ready.h5ad -o good.h5ad -n 3 >out || exit 1
every memory ENOMEM pca -q --threads 1 -i ready.h5ad -o out.h5ad -n 3
check "pca: every allocation that fails" $?
# No more memory for the code that oneDNN generates: it crashed.
every map ENOMEM pca -q --threads 1 -i ready.h5ad -o out.h5ad -n 3 &&
  on=- && every map ENOMEM pca -q --threads 1 -i ready.h5ad -o out.h5ad -n 3
check "pca: every mapping that fails, alone or with all after it" $?
on=''

# A document of JSON lacked the values for which there was no memory.
"$COMP" embed -q --threads 1 -i ready.h5ad -m model.comp -o embedded.h5ad || exit 1
score="score -q --threads 1 -i embedded.h5ad -u X_comp -c condition -l label -k 2 --json out.h5ad"
# shellcheck disable=SC2086 # words
"$COMP" $score >out && mv out.h5ad good.h5ad && every memory ENOMEM $score
check "score: every allocation that fails" $?

# Memory for the command line in the page was not there: a page without it, and exit code 0.
page="report -q --threads 1 -i embedded.h5ad -m model.comp -c condition -l label -o out.h5ad"
(
  export SOURCE_DATE_EPOCH=1700000000 COMP_INJECT_ALL=1
  # shellcheck disable=SC2086 # words
  "$COMP" $page >out && mv out.h5ad good.h5ad || exit 1
  n=1
  while [ "$n" -le 80 ]; do # what comes before any file is read
    # shellcheck disable=SC2086 # words
    with "memory:$n" $page >out 2>err
    sound_or_failed $? || exit 1
    rm -f out.h5ad
    n=$((n + 1))
  done
)
check "report: the first 80 allocations of the process" $?

# A default for which there was no memory counted as text.
(
  n=1
  while [ "$n" -le 90 ]; do # before the data is read
    rm -f out.comp
    with "memory:$n" train -q --threads 1 -i ready.h5ad -o out.comp --condition condition --hidden 8 --latent 2 --epochs 1 >out 2>err
    code=$?
    if [ "$code" -gt 2 ] || { [ "$code" -ne 0 ] && { ! grep -q "out of memory" err || [ "$(wc -l <err)" -ne 1 ] || [ -e out.comp ]; }; }; then
      echo "# memory $n: exit code $code, $(head -c 200 err)"
      exit 1
    fi
    n=$((n + 1))
  done
)
check "train: the first 90 allocations" $?

# A PDF for whose bytes there was no memory was cut.
(
  export SOURCE_DATE_EPOCH=1700000000
  figure="figure history -q --threads 1 -m model.comp"
  # shellcheck disable=SC2086 # words
  "$COMP" $figure -o good.pdf || exit 1
  # shellcheck disable=SC2086 # words
  total=$(calls memory $figure -o out.pdf)
  n=$((total - 24))
  while [ "$n" -le "$total" ]; do
    rm -f out.pdf
    # shellcheck disable=SC2086 # words
    if with "memory:$n" $figure -o out.pdf 2>err && [ "$(wc -c <out.pdf)" -ne "$(wc -c <good.pdf)" ]; then exit 1; fi
    n=$((n + 1))
  done
)
check "figure: a PDF is complete or not there" $?

# A run that was stopped while it moved files to their places took its folder for somebody else's.
run="run -q --threads 1 -i cells.h5ad -o results -c condition -l label --hidden 8 --latent 2 --epochs 2"
(
  # shellcheck disable=SC2086 # words
  total=$(calls rename $run)
  mv results good || exit 1
  n=$((total - 5))
  while [ "$n" -le "$total" ]; do
    rm -rf results
    # shellcheck disable=SC2086 # words
    with "rename:$n:EACCES" $run >out 2>err && exit 1
    # shellcheck disable=SC2086 # words
    "$COMP" $run >out 2>err && cmp results/scores.json good/scores.json && [ ! -e results/.unfinished ] || exit 1
    n=$((n + 1))
  done
)
check "run: goes on after files could not be moved" $?

# 5: a limit of address space.
(
  ulimit -v 300000 || exit 1
  timeout -s KILL 20 "$COMP" version >out 2>err
  [ $? -eq 1 ] && grep -q "address space" err
)
check "too little address space is reported" $?

# 6: signals.
stopped_by() { # SIGNAL CODE COMMAND...
  signal=$1 wanted=$2
  shift 2
  "$COMP" "$@" >out 2>err &
  pid=$!
  tries=0
  while [ ! -s long.log ] && [ "$tries" -lt 1200 ]; do # until it listens, and has a state to save
    sleep 0.05
    tries=$((tries + 1))
  done
  kill "-$signal" "$pid"
  wait "$pid"
  [ $? -eq "$wanted" ]
}
long="train -q --threads 1 -i ready.h5ad -o long.comp --condition condition --hidden 8 --latent 2 --epochs 1000000 --patience 100000000 --log long.log"
# shellcheck disable=SC2086 # words
stopped_by HUP 129 $long && [ -s long.comp.checkpoint ] && rm long.log && stopped_by TERM 143 $long
check "SIGHUP and SIGTERM save, and the exit code tells them" $?
mkfifo pipe
(
  "$COMP" info ready.h5ad --json pipe >out 2>err &
  pid=$!
  sleep 1.5
  kill -TERM "$pid"
  sleep 1.5
  if kill -0 "$pid" 2>/dev/null; then
    kill -KILL "$pid"
    exit 1
  fi
  wait "$pid"
  [ $? -eq 143 ]
)
check "a write that waits for a reader ends with the first signal" $?

# 7: what a killed run left is removed by the next one, and nothing of a run that still works.
: >new.h5ad.tmp-comp-abc123
: >new.h5ad.tmp-comp-held12
: >other.h5ad.tmp-comp-abc123
: >new.h5ad.tmp-backup
flock new.h5ad.tmp-comp-held12 "$COMP" convert -q -i ready.h5ad -o new.h5ad
[ ! -e new.h5ad.tmp-comp-abc123 ] && [ -e new.h5ad.tmp-comp-held12 ] && [ -e other.h5ad.tmp-comp-abc123 ] && [ -e new.h5ad.tmp-backup ]
check "temporary files of ended runs" $?

# 8: after the rename nothing fails; names do not command the terminal.
rm -f out.h5ad
with "sync:2-:EIO" convert -q -i ready.h5ad -o out.h5ad 2>err && [ -s out.h5ad ]
check "a folder that cannot be synced" $?
name=$(printf 'a\302\2331mb\342\200\256c\342\201\246d')
"$COMP" info "$name" >out 2>err
! grep -q "$(printf '\302\233')" err && ! grep -q "$(printf '\342\200\256')" err && ! grep -q "$(printf '\342\201\246')" err && grep -q 'a?1mb?c?d' err
check "control characters in names" $?

# 9: the first checkpoint comes after 30 seconds; here the clock runs 100 times faster.
rm -f long.comp*
COMP_INJECT=clock:100 LD_PRELOAD=$INJECT "$COMP" train -q --threads 1 -i ready.h5ad -o long.comp --condition condition --hidden 8 --latent 2 \
  --epochs 1000000 --patience 100000000 --checkpoint-minutes 100000 >out 2>err &
pid=$!
tries=0
while [ ! -s long.comp.checkpoint ] && [ "$tries" -lt 400 ]; do
  sleep 0.05
  tries=$((tries + 1))
done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
[ -s long.comp.checkpoint ]
check "the first checkpoint comes early" $?
