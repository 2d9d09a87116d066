#!/bin/sh
# includes_selftest.sh [ROOT]: includes.sh accepts a good tree and finds every kind of broken rule, at the right line. Speaks TAP.
set -u
check=$(CDPATH='' cd -- "${1:-.}" && pwd)/tests/check/includes.sh
tree=$(mktemp -d "${TMPDIR:-/tmp}/comp-includes.XXXXXX") || exit 1
trap 'rm -rf "$tree"' EXIT
number=0
status=0

# result NAME: reports the exit status of the command before.
result() {
  if [ $? = 0 ]; then verdict=ok; else verdict='not ok' status=1; fi
  number=$((number + 1))
  echo "$verdict $number - $1"
  if [ "$verdict" != ok ]; then sed 's,^,# ,' "$tree/output"; fi
}

good_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/include/comp" "$tree/src/core" "$tree/src/nn" "$tree/src/io/h5" "$tree/src/metrics" "$tree/src/cli" "$tree/tests"
  echo '#include "comp/status.h"' >"$tree/include/comp/comp.h"
  echo '#include <stddef.h>' >"$tree/include/comp/status.h"
  echo '#include "comp/status.h"' >"$tree/src/core/error.c"
  printf '#include <dnnl.h>\n#include "core/error.h"\n#include "nn/matmul.h"\n' >"$tree/src/nn/matmul.c"
  printf '#include <hdf5.h>\n#include "core/error.h"\n' >"$tree/src/io/h5/h5ad.c"
  printf '#include "comp/status.h"\n#include "comp/task.h"\n' >"$tree/include/comp/metrics.h"
  printf '#include "comp/metrics.h"\n#include "comp/task.h"\n' >"$tree/src/metrics/score.c"
  printf '#include "comp/comp.h"\n#include "cli/opt.h"\n' >"$tree/src/cli/main.c"
  printf '#include "core/error.h"\n#include <dnnl.h>\n' >"$tree/tests/test.c"
}

# refuses NAME FILE LINE-NUMBER INCLUDE: with this include on this line the check fails and says where.
refuses() {
  good_tree
  mkdir -p "$(dirname "$tree/$2")"
  i=1
  while [ $i -lt "$3" ]; do echo; i=$((i + 1)); done >>"$tree/$2.new"
  echo "#include $4" >>"$tree/$2.new"
  mv "$tree/$2.new" "$tree/$2"
  if sh "$check" "$tree" >"$tree/output"; then false; else grep -q "^# $2:$3: " "$tree/output"; fi
  result "$1"
}

echo 1..19
good_tree
sh "$check" "$tree" >"$tree/output"
result 'a good tree passes'
refuses 'core may not use nn' src/core/error.c 1 '"nn/matmul.h"'
refuses 'nn may not use io' src/nn/dense.c 3 '"io/h5/h5ad.h"'
refuses 'metrics may not use io' src/metrics/kbet.c 2 '"io/h5/h5ad.h"'
refuses 'a public header is one of its room' src/task/embed.c 3 '"comp/metrics.h"'
refuses 'in public headers too' include/comp/task.h 2 '"comp/metrics.h"'
refuses 'a public header is in a room' src/task/embed.c 1 '"comp/unknown.h"'
refuses 'rooms do not include all public headers' src/task/embed.c 1 '"comp/comp.h"'
refuses 'cli may not use core' src/cli/cmd_bench.c 2 '"core/alloc.h"'
refuses 'spaces in the directive do not hide it' src/core/error.c 4 ' <nn/matmul.h>'
refuses 'a public header may not use an inner one' include/comp/comp.h 1 '"core/error.h"'
refuses 'HDF5 stays in src/io/h5' src/io/csv.c 1 '<hdf5.h>'
refuses 'HDF5 by its part headers too' src/io/csv.c 1 '<H5Dpublic.h>'
refuses 'oneDNN stays in src/nn/matmul.c' src/nn/dense.c 5 '<oneapi/dnnl/dnnl.h>'
refuses 'MPI stays in src/dist/comm_mpi.c' src/dist/comm.c 1 '<mpi.h>'
refuses 'cairo stays in its module' src/report/plot.c 1 '<cairo/cairo.h>'
refuses 'no ..' src/cli/opt.c 2 '"../core/alloc.h"'
refuses 'an include names its room' src/core/error.c 2 '"error.h"'
refuses 'an unknown room is refused' src/attic/old.c 1 '<stdio.h>'
exit $status
