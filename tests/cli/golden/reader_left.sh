# A reader of stdout that leaves early, as `head` does: silence where there is nothing else to write, an error where a file is not written because of it.
"$COMP" simulate -q -o cells.h5ad --cells 100 --genes 30 --no-truth
mkfifo pipe
exec 3<>pipe 4>pipe 3<&- # a pipe to write to that nobody reads

# broken ARGUMENT...: runs the program with its stdout in the pipe.
broken() {
  code=0
  "$COMP" "$@" >&4 2>err || code=$?
  echo "$1: $code"
  cat err
}

broken help
broken run --help
broken help --man run
broken info cells.h5ad
broken info cells.h5ad --json -
broken de -q -i cells.h5ad -g condition -t treated
broken de -q -i cells.h5ad -g condition -t treated --json de.json
broken pca -q -i cells.h5ad -o pca.h5ad -n 3
ls

# Anything but a reader that left is an error.
code=0
"$COMP" run --help >/dev/full 2>err || code=$?
echo "a full disk: $code"
cat err
