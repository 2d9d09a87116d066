/* avx512_bf16.h: the instructions of gemm_avx512_bf16.c. Tests put a software version in its place. */
#ifndef COMP_NN_AVX512_BF16_H
#define COMP_NN_AVX512_BF16_H

#if defined(__x86_64__) /* on other CPUs there is nothing of it */

#include <immintrin.h>

#define AVX512_BF16_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma")))

#endif
#endif
