/*
 * gemm_bf16.h: bf16 products by kernels of our own, one for each kind of CPU that multiplies bf16 in hardware. A kernel
 * has the inner parts: how a product is best cut, packing, and one tile of C. matmul_bf16.c has the threads and the
 * memory.
 *
 * One factor is packed once for a whole product and shared by all threads; the other is read as it lies, or packed by
 * each tile for itself. An element of C is summed in an order that depends on k alone, so its bytes do not depend on
 * how a product is cut, nor on who computes what.
 */
#ifndef COMP_NN_GEMM_BF16_H
#define COMP_NN_GEMM_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMP__GEMM_STEP = 32 }; /* of k: packing is done in steps of so many, the last filled up with zeros */

/* A[m, k] or B[k, n] as it is stored and, unless `packed` is NULL, packed. */
typedef struct comp__gemm_factor {
  const uint16_t *at;
  size_t ld;
  bool transposed; /* stored [k, m], or [n, k] */
  const uint16_t *packed;
} comp__gemm_factor;

typedef struct comp__gemm_cut {
  size_t rows, cols; /* of a tile of C */
  bool share_a;      /* it is A that is packed once; else B */
} comp__gemm_cut;

typedef struct comp__gemm_bf16 {
  const char *name; /* as comp__cpu_name() */

  /* For C[m, n] on so many threads. */
  comp__gemm_cut (*cut)(size_t m, size_t n, int threads);

  /* Elements of packed A (count = m) or B (count = n), in memory aligned to 64 bytes. */
  size_t (*packed)(size_t count, size_t k);

  /* Packs steps first .. last - 1 of ceil(k / COMP__GEMM_STEP). A kernel whose `cut` never shares A has no pack_a. */
  void (*pack_a)(uint16_t *out, const comp__gemm_factor *a, size_t m, size_t k, size_t first, size_t last);
  void (*pack_b)(uint16_t *out, const comp__gemm_factor *b, size_t n, size_t k, size_t first, size_t last);

  /* Elements of scratch memory, aligned likewise, that a tile needs. */
  size_t (*scratch)(const comp__gemm_cut *cut);

  /* Rows row .. row + rows - 1 and columns col .. col + cols - 1 of C (+)= A B; `c` is where they begin, k > 0. C is
   * added to with `add`, else overwritten. */
  void (*tile)(float *c, size_t ldc, const comp__gemm_factor *a, const comp__gemm_factor *b, size_t row, size_t rows,
               size_t col, size_t cols, size_t k, bool add, uint16_t *scratch);
} comp__gemm_bf16;

/* The kernel for the kind of CPU in use (core/cpu.h); NULL: it has none. */
const comp__gemm_bf16 *comp__gemm_bf16_get(void);

/* Written for x86-64 alone. */
extern const comp__gemm_bf16 comp__gemm_amx, comp__gemm_avx512_bf16;

#endif
