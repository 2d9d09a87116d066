/*
 * gemm_bf16.h: the inner parts of a bf16 product for CPUs with AVX512_BF16 and no tiles (AMX). matmul.c cuts, packs and
 * calls; nothing here allocates or knows of threads.
 *
 * oneDNN packs B again for every tile that it is given. Here B is packed once for a whole product and shared, and A is
 * read as it lies. Each element of C is summed in even blocks of k, in order, and within a block pair by pair: the same
 * bytes however the product is cut.
 */
#ifndef COMP_NN_GEMM_BF16_H
#define COMP_NN_GEMM_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  COMP__GEMM_COLS = 64,   /* columns of a panel of packed B */
  COMP__GEMM_ROWS = 6,    /* rows of A that the innermost loop works on */
  COMP__GEMM_DEPTH = 512, /* k of a block, at most; even */
};

/* Whether this CPU is one of those. */
bool comp__gemm_bf16_has(void);

/* Elements of packed B[k, n]: panels of COMP__GEMM_COLS columns, each [pairs of k][columns][2], filled up with zeros.
 */
size_t comp__gemm_bf16_packed(size_t n, size_t k);

/* Packs pairs first .. last - 1 (of (k + 1) / 2) of all panels. B is stored [k, n], or [n, k] when `transposed`. */
void comp__gemm_bf16_pack(uint16_t *out, const uint16_t *b, size_t ldb, size_t n, size_t k, bool transposed,
                          size_t first, size_t last);

/* Elements of scratch memory for a tile of at most `rows` rows with a transposed A. */
size_t comp__gemm_bf16_scratch(size_t rows);

/* C[rows, cols] (+)= A B: a tile whose first column is column `col` of B, a multiple of COMP__GEMM_COLS. A is stored
 * [rows, k], or [k, rows] when `transposed`, which needs scratch memory. C is added to with `add`, else overwritten.
 * k > 0. */
void comp__gemm_bf16_tile(float *c, size_t ldc, const uint16_t *a, size_t lda, bool transposed, const uint16_t *packed,
                          size_t rows, size_t col, size_t cols, size_t k, bool add, uint16_t *scratch);

#endif
