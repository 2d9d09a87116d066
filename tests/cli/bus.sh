#!/bin/sh
# bus.sh COMP NO_PAGES: a scratch file whose disk fails is a message and exit code 1, and the output of before stays.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
comp=$(realpath "$1") pages=$(realpath "$2")
cd "$work" || exit 1
echo 1..4
number=0
# is NAME COMMAND...: one test
is() {
  number=$((number + 1)) name=$1
  shift
  if "$@"; then echo "ok $number - $name"; else echo "not ok $number - $name"; fi
}
"$comp" simulate -q -o cells.h5ad --cells 400 --genes 100 || exit 1
echo before >out.h5ad
LD_PRELOAD=$pages "$comp" prep -q -i cells.h5ad -o out.h5ad --log1p --memory 64K 2>message
is 'exit code' test $? = 1
is 'message' grep -q 'a scratch file could not be read or written' message
is 'what was there stays' grep -qx before out.h5ad
"$comp" prep -q -i cells.h5ad -o out.h5ad --log1p --memory 64K
is 'the same with a disk' test $? = 0
