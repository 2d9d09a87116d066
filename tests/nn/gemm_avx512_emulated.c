/* gemm_avx512_emulated.c: the kernel for AVX512_BF16, compiled over software instructions. */
#include "nn/avx512_emulated.h"

#define comp__gemm_avx512_bf16 comp__gemm_avx512_emulated
#include "nn/gemm_avx512_bf16.c"
