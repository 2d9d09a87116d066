/* emulated.c: stands in for nn/gemm_bf16.c, whose function the linker then leaves in the library. */
#include "nn/emulated.h"

#include <string.h>

#include "core/cpu.h"

const comp__gemm_bf16 *test_bf16_kernel;

const comp__gemm_bf16 *test_bf16_real(const char *name) {
#if defined(__x86_64__)
  if (strcmp(name, "amx") == 0 && comp__cpu() >= COMP__CPU_AMX) return &comp__gemm_amx;
  if (strcmp(name, "avx512_bf16") == 0 && comp__cpu() >= COMP__CPU_AVX512_BF16) return &comp__gemm_avx512_bf16;
#endif
  (void)name;
  return NULL;
}

const comp__gemm_bf16 *comp__gemm_bf16_get(void) {
  const comp__gemm_bf16 *real = test_bf16_real("amx");
  if (!real) real = test_bf16_real("avx512_bf16");
  return test_bf16_kernel ? test_bf16_kernel : real ? real : &test_bf16_plain;
}

/* ---- plain loops: B in panels of COLS columns, each [k][COLS] ---- */

enum { ROWS = 64, COLS = 1024 };

static comp__gemm_cut cut(size_t m, size_t n, int threads) {
  (void)m, (void)n, (void)threads;
  return (comp__gemm_cut){.rows = ROWS, .cols = COLS};
}

static size_t packed(size_t n, size_t k) {
  return (n + COLS - 1) / COLS * COLS * k;
}

static void pack_b(uint16_t *out, const comp__gemm_factor *b, size_t n, size_t k, size_t first, size_t last) {
  const size_t end = last * COMP__GEMM_STEP < k ? last * COMP__GEMM_STEP : k;
  for (size_t l = first * COMP__GEMM_STEP; l < end; l++)
    for (size_t j = 0; j < n; j++)
      out[j / COLS * COLS * k + l * COLS + j % COLS] = b->at[b->transposed ? j * b->ld + l : l * b->ld + j];
}

static size_t scratch(const comp__gemm_cut *by) {
  (void)by;
  return 1;
}

static float widen(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void tile(float *c, size_t ldc, const comp__gemm_factor *a, const comp__gemm_factor *b, size_t row, size_t rows,
                 size_t col, size_t cols, size_t k, bool add, uint16_t *memory) {
  (void)memory;
  for (size_t i = 0; i < rows; i++) {
    float *to = c + i * ldc;
    if (!add) memset(to, 0, cols * sizeof *to);
    for (size_t l = 0; l < k; l++) {
      const float x = widen(a->at[a->transposed ? l * a->ld + row + i : (row + i) * a->ld + l]);
      const uint16_t *from = b->packed + col * k + l * COLS;
      for (size_t j = 0; j < cols; j++) to[j] += x * widen(from[j]);
    }
  }
}

const comp__gemm_bf16 test_bf16_plain = {
    .name = "plain", .cut = cut, .packed = packed, .pack_b = pack_b, .scratch = scratch, .tile = tile};
