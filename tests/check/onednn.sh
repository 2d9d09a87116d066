#!/bin/sh
# onednn.sh [ROOT]: oneDNN multiplies f32 only: its bf16 kernels die on some virtual machines with AMX. Speaks TAP.
cd "${1:-.}" || exit 1
echo 1..1
found=$(grep -rnE '(dnnl[a-z0-9_:]*|data_type::)(bf16|amx)' src include bench --include='*.c' --include='*.h' --include='*.cpp')
capped=$(grep -c 'dnnl_set_max_cpu_isa(' src/nn/matmul.c)
if [ -z "$found" ] && [ "$capped" = 1 ]; then
  echo 'ok 1 - no call of oneDNN with bf16'
else
  printf '%s\n' "$found" "calls that keep oneDNN from AMX in src/nn/matmul.c: $capped" | sed 's/^/# /'
  echo 'not ok 1 - no call of oneDNN with bf16'
  exit 1
fi
