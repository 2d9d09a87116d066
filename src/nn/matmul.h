/*
 * matmul.h: dense matrix products: f32 by oneDNN, bf16 by kernels of our own.
 *
 *     C[m, n] = op(A)[m, k] op(B)[k, n]      or, with COMP__ACCUMULATE, added to what C holds
 *
 * All matrices are row-major. A leading dimension (lda, ldb, ldc) is the distance between the starts of two rows as
 * they are stored, so at least the number of columns stored. The three products of a dense layer y = x w:
 *
 *     y  = x w        comp__matmul_f32(context, y,  ldy,  x,  ldx,  w,  ldw,  batch, out, in, 0)
 *     dx = dy w^T     comp__matmul_f32(context, dx, ldx,  dy, ldy,  w,  ldw,  batch, in, out, COMP__TRANS_B)
 *     dw = x^T dy     comp__matmul_f32(context, dw, ldw,  x,  ldx,  dy, ldy,  in, out, batch, COMP__TRANS_A)
 *
 * The result is the same bytes at any number of threads: C is cut into tiles by shape alone, and each tile is computed
 * by one thread. A shape that is new to a thread costs some 0.3 ms, and memory may be allocated; after that
 * nothing is. The memory belongs to the threads and goes with them.
 */
#ifndef COMP_NN_MATMUL_H
#define COMP_NN_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

enum {
  COMP__TRANS_A = 1,   /* A is stored [k, m] and used transposed */
  COMP__TRANS_B = 2,   /* B is stored [n, k] and used transposed */
  COMP__ACCUMULATE = 4 /* add to C; else C is overwritten and need not be initialised */
};

/* f32 product. C must not overlap A or B. Any of m, n, k may be 0; with k = 0 the product is zero. */
comp_status comp__matmul_f32(comp_context *context, float *c, size_t ldc, /* [m, n] */
                             const float *a, size_t lda,                  /* [m, k], or [k, m] with COMP__TRANS_A */
                             const float *b, size_t ldb,                  /* [k, n], or [n, k] with COMP__TRANS_B */
                             size_t m, size_t n, size_t k, unsigned flags);

/* As comp__matmul_f32() with bf16 operands (comp__f32_to_bf16() in vecmath.h makes them) and f32 sums. */
comp_status comp__matmul_bf16(comp_context *context, float *c, size_t ldc, const uint16_t *a, size_t lda,
                              const uint16_t *b, size_t ldb, size_t m, size_t n, size_t k, unsigned flags);

/* The name of the kernel that multiplies bf16 on this kind of CPU; NULL: there is none. */
const char *comp__matmul_bf16_kernel(void);

/* What multiplies here, as records name it: "bf16 amx", "f32 avx2". */
void comp__matmul_name(char *out, size_t size, bool bf16);

/* COMP_ERR_UNAVAILABLE, with a message for whoever asked for bf16, when there is none. */
comp_status comp__matmul_bf16_check(void);

/* A product without any term: whether it is one; then it is done. */
bool comp__matmul_is_trivial(float *c, size_t ldc, size_t m, size_t n, size_t k, unsigned flags);

#endif
