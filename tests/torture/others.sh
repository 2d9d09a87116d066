#!/bin/sh
# others.sh COMP INJECT: what goes wrong around a run: signals, pipes, full and protected folders, limits, two runs at once. In TAP.
set -u
. "$(dirname "$0")/tap.sh"
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT

skip() {
  number=$((number + 1))
  echo "ok $number - $1 # SKIP $2"
}

# failed CODE: exit code 1, one message, no temporary file.
failed() {
  [ "$1" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^comp' err && [ -z "$(find . -name '*.tmp-*')" ]
}

# comp_limited LIMIT COMMAND...: with ulimit.
comp_limited() {
  limit=$1
  shift
  (
    exec >out 2>err
    # shellcheck disable=SC2086 # words
    ulimit $limit || exit 99
    exec "$COMP" "$@"
  )
}

echo "1..15"
"$COMP" simulate -q -o cells.h5ad --cells 400 --genes 200 --no-truth || exit 1
cp cells.h5ad old.h5ad
convert="convert -q --threads 1 -i cells.h5ad -o new.h5ad"

# Signals while a command works: the old file stays. SIGINT, which a shell's background jobs ignore, is in tests/cli/golden/interrupted.sh.
for signal in TERM HUP; do
  cp old.h5ad data.h5ad
  code=143
  if [ $signal = HUP ]; then code=129; fi
  "$COMP" umap -q --threads 1 -i data.h5ad -o data.h5ad -u X --epochs 200000 >out 2>err &
  pid=$!
  tries=0
  while [ "$tries" -lt 600 ]; do # until it listens
    caught=0x$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$pid/status 2>/dev/null)
    if [ "$caught" != 0x ] && [ $((caught & 0x4000)) -ne 0 ]; then break; fi
    sleep 0.05
    tries=$((tries + 1))
  done
  sleep 0.3
  kill "-$signal" "$pid"
  wait "$pid"
  [ $? -eq $code ] && cmp -s old.h5ad data.h5ad && [ -z "$(find . -name '*.tmp-*')" ]
  check "SIG$signal while a file is updated in place" $?
done

# FIFO: as an input it is no file to be looked through; as an output it is written directly.
mkfifo pipe
(cat cells.h5ad >pipe 2>/dev/null) &
feeder=$!
timeout 20 "$COMP" info pipe >out 2>err
code=$?
kill "$feeder" 2>/dev/null
wait "$feeder" 2>/dev/null
failed $code
check "a pipe as the input" $?
cat pipe >got &
"$COMP" de -q -i cells.h5ad -g condition -t treated --json pipe >out 2>err
code=$?
wait
[ $code -eq 0 ] && grep -q '"' got
check "a pipe as the output" $?

# A reader that leaves early.
{
  "$COMP" info cells.h5ad --json - 2>err
  echo $? >code
} | head -c 1 >out
code=$(cat code)
[ "$code" -eq 0 ] || { [ "$code" -eq 141 ] && [ ! -s err ]; }
check "a broken pipe" $?

# A file system of 64 kB.
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
  printf 'old' >small/new.h5ad
  "$COMP" convert -q -i cells.h5ad -o small/new.h5ad >out 2>err
  failed $? && [ "$(cat small/new.h5ad)" = old ]
  check "a disk that is full" $?
  "$COMP" train -q --threads 1 -i cells.h5ad -o small/model.comp --condition condition --hidden 64 --epochs 1 >out 2>err
  failed $? && [ ! -e small/model.comp ]
  check "a disk that is full, for a model" $?
  umount small
else
  skip "a disk that is full" "mounting a tmpfs needs root"
  skip "a disk that is full, for a model" "mounting a tmpfs needs root"
fi

# A folder that nothing can be written to. Root writes anywhere: there the call fails.
mkdir locked
cp cells.h5ad locked/data.h5ad
chmod 555 locked
if [ "$(id -u)" = 0 ]; then
  COMP_INJECT="open:1-:EACCES:.tmp-comp-" LD_PRELOAD=$INJECT "$COMP" pca -q -i locked/data.h5ad -o locked/data.h5ad -n 3 >out 2>err
else
  "$COMP" pca -q -i locked/data.h5ad -o locked/data.h5ad -n 3 >out 2>err
fi
failed $? && cmp -s cells.h5ad locked/data.h5ad
check "a folder that is protected" $?
chmod 755 locked

# Two runs with one output, both to the end: one of the two files, whole.
"$COMP" convert -q -i cells.h5ad -o one.h5ad || exit 1
"$COMP" convert -q -i cells.h5ad -o two.h5ad --compression 0 || exit 1
wrong=0
for round in 1 2 3 4 5; do
  rm -f both.h5ad
  "$COMP" convert -q -i cells.h5ad -o both.h5ad 2>err &
  "$COMP" convert -q -i cells.h5ad -o both.h5ad --compression 0 2>err2 &
  wait
  cmp -s both.h5ad one.h5ad || cmp -s both.h5ad two.h5ad || wrong=1
  [ -z "$(find . -name 'both*.tmp-*')" ] || wrong=1
done
check "two runs with one output (5 rounds)" $wrong

# Four runs that each add a result to one file or store, in place: what a run has added stays. A store that is exchanged while it is read is
# an error, since the files of the old one go; an .h5ad that is open stays what it was.
for format in h5ad zarr; do
  "$COMP" convert -q -i cells.h5ad -o added.$format || exit 1
  for key in X_a X_b X_c X_d; do
    {
      "$COMP" umap -q --threads 1 -i added.$format -o added.$format -u X --epochs 5 -k 5 --key $key 2>err_$key
      echo $? >code_$key
    } &
  done
  wait
  wrong=0 done=0
  "$COMP" info added.$format >out 2>err || wrong=1
  for key in X_a X_b X_c X_d; do
    if [ "$(cat code_$key)" = 0 ]; then
      done=$((done + 1))
      grep -q "$key" out || wrong=1
    else
      [ $format = zarr ] && grep -q "another process has changed it" err_$key || wrong=1
    fi
  done
  [ $done -gt 0 ] && [ -z "$(find . -name 'added*.tmp-*')" ] || wrong=1
  check "four runs that add results to one $format" $wrong
done

# Limits: every value gives the result or one message.
wrong=0
for size in 1 8 64 200; do
  rm -f new.h5ad
  # shellcheck disable=SC2086 # words
  comp_limited "-f $size" $convert
  code=$?
  if [ $code -eq 0 ]; then cmp -s new.h5ad one.h5ad || wrong=1; else failed $code && [ ! -e new.h5ad ] || wrong=1; fi
done
check "limits of the size of a file" $wrong
wrong=0
for files in 3 4 5 6 7 8 9 10 12 16; do
  rm -f new.h5ad
  # shellcheck disable=SC2086 # words
  comp_limited "-n $files" $convert
  code=$?
  if [ $code -eq 127 ]; then continue; fi # too few for the loader
  if [ $code -eq 0 ]; then cmp -s new.h5ad one.h5ad || wrong=1; else failed $code && [ ! -e new.h5ad ] || wrong=1; fi
done
check "limits of open files" $wrong
wrong=0
for kb in 100000 400000 600000 650000 700000 768000 1000000; do
  rm -f new.h5ad
  # shellcheck disable=SC2086 # words
  comp_limited "-v $kb" $convert
  code=$?
  if [ $code -eq 127 ]; then continue; fi
  if [ $code -eq 0 ]; then cmp -s new.h5ad one.h5ad || wrong=1; else failed $code && [ ! -e new.h5ad ] || wrong=1; fi
done
check "limits of address space" $wrong

# An output that is its own input by another name.
ln -s cells.h5ad link.h5ad
cp cells.h5ad before.h5ad
"$COMP" convert -q -i cells.h5ad -o link.h5ad >out 2>err && [ -L link.h5ad ] && cmp -s cells.h5ad one.h5ad
check "an output that links to the input" $?
