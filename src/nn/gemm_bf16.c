/* gemm_bf16.c: which kernel multiplies bf16 here. */
#include "nn/gemm_bf16.h"

#include "core/cpu.h"

const comp__gemm_bf16 *comp__gemm_bf16_get(void) {
#if defined(__x86_64__)
  switch (comp__cpu()) {
  case COMP__CPU_AMX:
    return &comp__gemm_amx;
  case COMP__CPU_AVX512_BF16:
    return &comp__gemm_avx512_bf16;
  default:
    break;
  }
#endif
  return NULL;
}
