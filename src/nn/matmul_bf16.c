/* matmul_bf16.c: a bf16 product on the context's threads: one factor is packed by all of them, then tiles of C are
 * computed as they come. */
#include <assert.h>
#include <stdio.h>

#include "core/cpu.h"
#include "core/error.h"
#include "core/threads.h"
#include "nn/gemm_bf16.h"
#include "nn/matmul.h"
#include "nn/thread_memory.h"

enum { PACK_STEPS = 4 }; /* of k, in a task: long enough runs of what is read */

typedef struct product {
  const comp__gemm_bf16 *kernel;
  comp__gemm_factor a, b;
  float *c;
  size_t ldc, m, n, k;
  bool add;
  comp__gemm_cut cut;
  size_t col_tiles;
  uint16_t *shared; /* the factor that is packed once */
} product;

static size_t ceil_div(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

static size_t piece_size(size_t total, size_t piece, size_t begin) {
  return total - begin < piece ? total - begin : piece;
}

static void pack_steps(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const product *p = arg;
  if (p->cut.share_a)
    p->kernel->pack_a(p->shared, &p->a, p->m, p->k, begin, end);
  else
    p->kernel->pack_b(p->shared, &p->b, p->n, p->k, begin, end);
}

static comp_status run_tiles(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const product *p = arg;
  uint16_t *scratch;
  comp_status status = comp__thread_memory(&scratch, COMP__MEMORY_TILE, p->kernel->scratch(&p->cut), sizeof *scratch);
  if (status != COMP_OK) return status;
  for (size_t t = begin; t < end; t++) {
    const size_t row = t / p->col_tiles * p->cut.rows, col = t % p->col_tiles * p->cut.cols;
    p->kernel->tile(p->c + row * p->ldc + col, p->ldc, &p->a, &p->b, row, piece_size(p->m, p->cut.rows, row), col,
                    piece_size(p->n, p->cut.cols, col), p->k, p->add, scratch);
  }
  return COMP_OK;
}

static comp_status run_product(comp_context *context, product *p) {
  p->cut = p->kernel->cut(p->m, p->n, comp_context_thread_count(context));
  p->col_tiles = ceil_div(p->n, p->cut.cols);
  comp__gemm_factor *factor = p->cut.share_a ? &p->a : &p->b;
  const size_t elements = p->kernel->packed(p->cut.share_a ? p->m : p->n, p->k);
  comp_status status = comp__thread_memory(&p->shared, COMP__MEMORY_PRODUCT, elements, sizeof *p->shared);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, ceil_div(p->k, COMP__GEMM_STEP), PACK_STEPS, pack_steps, p);
  factor->packed = p->shared;
  return comp__parallel_try(context, ceil_div(p->m, p->cut.rows) * p->col_tiles, 1, run_tiles, p);
}

comp_status comp__matmul_bf16(comp_context *context, float *c, size_t ldc, const uint16_t *a, size_t lda,
                              const uint16_t *b, size_t ldb, size_t m, size_t n, size_t k, unsigned flags) {
  assert(ldc >= n && lda >= (flags & COMP__TRANS_A ? m : k) && ldb >= (flags & COMP__TRANS_B ? k : n));
  product p = {.kernel = comp__gemm_bf16_get(),
               .a = {.at = a, .ld = lda, .transposed = flags & COMP__TRANS_A},
               .b = {.at = b, .ld = ldb, .transposed = flags & COMP__TRANS_B},
               .c = c,
               .ldc = ldc,
               .m = m,
               .n = n,
               .k = k,
               .add = flags & COMP__ACCUMULATE};
  if (!p.kernel) return comp__matmul_bf16_check();
  if (comp__matmul_is_trivial(c, ldc, m, n, k, flags)) return COMP_OK;
  return run_product(context, &p);
}

const char *comp__matmul_bf16_kernel(void) {
  const comp__gemm_bf16 *kernel = comp__gemm_bf16_get();
  return kernel ? kernel->name : NULL;
}

void comp__matmul_name(char *out, size_t size, bool bf16) {
  const comp__cpu_kind kind = comp__cpu();
  const char *f32 = comp__cpu_name(kind > COMP__CPU_AVX512 ? COMP__CPU_AVX512 : kind);
  snprintf(out, size, "%s %s", bf16 ? "bf16" : "f32", bf16 ? comp__matmul_bf16_kernel() : f32);
}

comp_status comp__matmul_bf16_check(void) {
  if (comp__gemm_bf16_get()) return COMP_OK;
  return comp__error(COMP_ERR_UNAVAILABLE,
                     "precision: there are no bf16 products (AMX or AVX512_BF16) for CPUs of kind %s: choose f32",
                     comp__cpu_name(comp__cpu()));
}
