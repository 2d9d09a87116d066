/*
 * emulated.h: bf16 products on any CPU, for tests. A test program that is linked with emulated.c takes its kernel from
 * test_bf16_kernel instead of asking the CPU.
 */
#ifndef TESTS_EMULATED_H
#define TESTS_EMULATED_H

#include "nn/gemm_bf16.h"

/* The kernel in use; NULL: this CPU's, or test_bf16_plain where it has none. */
extern const comp__gemm_bf16 *test_bf16_kernel;

/* The kernels' own sources over software instructions; and plain loops, for products that would take those too long. */
extern const comp__gemm_bf16 comp__gemm_amx_emulated, comp__gemm_avx512_emulated, test_bf16_plain;

/* This CPU's kernel of a name; NULL: it cannot run it. */
const comp__gemm_bf16 *test_bf16_real(const char *name);

/* Whether the calling thread has no configured tiles left (of the emulated AMX). */
bool test_amx_released(void);

#endif
