/* gemm_bf16.c: packing, and 6 x 64 elements of C in registers while A and B stream by. */
#include "nn/gemm_bf16.h"

#include <string.h>

enum { ROWS = COMP__GEMM_ROWS, COLS = COMP__GEMM_COLS, DEPTH = COMP__GEMM_DEPTH };

static size_t pairs_of(size_t k) {
  return (k + 1) / 2;
}

static size_t round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

size_t comp__gemm_bf16_packed(size_t n, size_t k) {
  return round_up(n, COLS) * 2 * pairs_of(k);
}

size_t comp__gemm_bf16_scratch(size_t rows) {
  return round_up(rows, ROWS) * DEPTH;
}

#if defined(__x86_64__) && defined(__GNUC__) && (__GNUC__ >= 10 || defined(__clang__))

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma")))
#define INLINE static inline __attribute__((always_inline, target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma")))

bool comp__gemm_bf16_has(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || d >> 22 & 1u) return false; /* AMX_BF16: oneDNN is faster there */
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bf16");
}

/* Two rows of n elements as n pairs. */
TARGET static void interleave(uint32_t *restrict out, const uint16_t *restrict even, const uint16_t *restrict odd,
                              size_t n) {
  if (odd)
    for (size_t i = 0; i < n; i++) out[i] = even[i] | (uint32_t)odd[i] << 16;
  else
    for (size_t i = 0; i < n; i++) out[i] = even[i];
}

/* Elements 2p and 2p + 1 of a row of k. */
INLINE uint32_t pair_at(const uint16_t *row, size_t p, size_t k) {
  uint32_t pair = row[2 * p];
  if (2 * p + 1 < k) memcpy(&pair, row + 2 * p, sizeof pair);
  return pair;
}

static void pack_rows(uint16_t *out, const uint16_t *b, size_t ldb, size_t n, size_t k, size_t first, size_t last) {
  for (size_t p = first; p < last; p++) {
    const uint16_t *even = b + 2 * p * ldb, *odd = 2 * p + 1 < k ? even + ldb : NULL;
    for (size_t col = 0; col < n; col += COLS) {
      uint32_t words[COLS] = {0};
      interleave(words, even + col, odd ? odd + col : NULL, n - col < COLS ? n - col : COLS);
      memcpy(out + 2 * (col * pairs_of(k) + p * COLS), words, sizeof words);
    }
  }
}

TARGET static void pack_columns(uint16_t *out, const uint16_t *b, size_t ldb, size_t n, size_t k, size_t first,
                                size_t last) {
  for (size_t col = 0; col < n; col += COLS) {
    const size_t count = n - col < COLS ? n - col : COLS;
    for (size_t p = first; p < last; p++) {
      uint32_t words[COLS] = {0};
      for (size_t i = 0; i < count; i++) words[i] = pair_at(b + (col + i) * ldb, p, k);
      memcpy(out + 2 * (col * pairs_of(k) + p * COLS), words, sizeof words);
    }
  }
}

void comp__gemm_bf16_pack(uint16_t *out, const uint16_t *b, size_t ldb, size_t n, size_t k, bool transposed,
                          size_t first, size_t last) {
  if (transposed)
    pack_columns(out, b, ldb, n, k, first, last);
  else
    pack_rows(out, b, ldb, n, k, first, last);
}

/* `depth` rows of a transposed A as panels of ROWS rows of A: [pairs][ROWS][2] each. Rows beyond the last are not
 * written, nor read. */
TARGET static void pack_a(uint16_t *out, const uint16_t *a, size_t lda, size_t rows, size_t depth) {
  const size_t pairs = pairs_of(depth);
  uint32_t words[32 * ROWS];
  for (size_t row = 0; row < rows; row += 32 * ROWS) {
    const size_t count = rows - row < 32 * ROWS ? rows - row : 32 * ROWS;
    for (size_t p = 0; p < pairs; p++) {
      const uint16_t *even = a + 2 * p * lda + row;
      interleave(words, even, 2 * p + 1 < depth ? even + lda : NULL, count);
      size_t r = 0;
      for (; r + ROWS <= count; r += ROWS)
        memcpy(out + 2 * ((row + r) * pairs + p * ROWS), words + r, ROWS * sizeof *words);
      if (r < count) memcpy(out + 2 * ((row + r) * pairs + p * ROWS), words + r, (count - r) * sizeof *words);
    }
  }
}

/* Where the pairs of A are: pair p of row r at `at` + r * row + p * pair. */
typedef struct factor {
  const uint16_t *at;
  size_t row, pair;
} factor;

/* C[rows, cols] (+)= A B over `depth` of k, in registers. rows is a constant in each copy. */
INLINE void micro(int rows, float *c, size_t ldc, size_t cols, factor a, const uint16_t *b, size_t depth, bool add) {
  __m512 sum[ROWS][4];
  __mmask16 mask[4];
  for (int v = 0; v < 4; v++)
    mask[v] = (__mmask16)(cols >= 16 * (size_t)(v + 1) ? 0xffff
                          : cols <= 16 * (size_t)v     ? 0
                                                       : (1u << (cols - 16 * (size_t)v)) - 1u);
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 4; v++) sum[r][v] = _mm512_setzero_ps();
  const uint16_t *at = a.at;
  size_t p = 0;
  for (; p < depth / 2; p++, at += a.pair, b += 2 * COLS) {
    __m512bh right[4];
    for (int v = 0; v < 4; v++) right[v] = (__m512bh)_mm512_loadu_si512(b + 32 * v);
    for (int r = 0; r < rows; r++) {
      int32_t pair;
      memcpy(&pair, at + (size_t)r * a.row, sizeof pair);
      const __m512bh left = (__m512bh)_mm512_set1_epi32(pair);
      for (int v = 0; v < 4; v++) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], left, right[v]);
    }
  }
  if (depth % 2) /* half a pair: what stands behind it is not A's, and may be anything */
    for (int r = 0; r < rows; r++) {
      const __m512bh left = (__m512bh)_mm512_set1_epi32(at[(size_t)r * a.row]);
      for (int v = 0; v < 4; v++)
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], left, (__m512bh)_mm512_loadu_si512(b + 32 * v));
    }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 4; v++) {
      float *to = c + (size_t)r * ldc + 16 * v;
      const __m512 before = add ? _mm512_maskz_loadu_ps(mask[v], to) : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(to, mask[v], _mm512_add_ps(before, sum[r][v]));
    }
}

TARGET static void micro_rows(size_t rows, float *c, size_t ldc, size_t cols, factor a, const uint16_t *b, size_t depth,
                              bool add) {
  switch (rows) {
    case 1: micro(1, c, ldc, cols, a, b, depth, add); break;
    case 2: micro(2, c, ldc, cols, a, b, depth, add); break;
    case 3: micro(3, c, ldc, cols, a, b, depth, add); break;
    case 4: micro(4, c, ldc, cols, a, b, depth, add); break;
    case 5: micro(5, c, ldc, cols, a, b, depth, add); break;
    default: micro(6, c, ldc, cols, a, b, depth, add); break;
  }
}

void comp__gemm_bf16_tile(float *c, size_t ldc, const uint16_t *a, size_t lda, bool transposed, const uint16_t *packed,
                          size_t rows, size_t col, size_t cols, size_t k, bool add, uint16_t *scratch) {
  for (size_t begin = 0; begin < k; begin += DEPTH) {
    const size_t depth = k - begin < DEPTH ? k - begin : DEPTH;
    if (transposed) pack_a(scratch, a + begin * lda, lda, rows, depth);
    for (size_t j = 0; j < cols; j += COLS) {
      const uint16_t *b = packed + 2 * ((col + j) * pairs_of(k) + begin / 2 * COLS);
      for (size_t r = 0; r < rows; r += ROWS) {
        const factor from = transposed ? (factor){scratch + 2 * r * pairs_of(depth), 2, 2 * ROWS}
                                       : (factor){a + r * lda + begin, lda, 2};
        micro_rows(rows - r < ROWS ? rows - r : ROWS, c + r * ldc + j, ldc, cols - j < COLS ? cols - j : COLS, from, b,
                   depth, add || begin > 0);
      }
    }
  }
}

#else

bool comp__gemm_bf16_has(void) {
  return false;
}

void comp__gemm_bf16_pack(uint16_t *out, const uint16_t *b, size_t ldb, size_t n, size_t k, bool transposed,
                          size_t first, size_t last) {
  (void)out, (void)b, (void)ldb, (void)n, (void)k, (void)transposed, (void)first, (void)last;
}

void comp__gemm_bf16_tile(float *c, size_t ldc, const uint16_t *a, size_t lda, bool transposed, const uint16_t *packed,
                          size_t rows, size_t col, size_t cols, size_t k, bool add, uint16_t *scratch) {
  (void)c, (void)ldc, (void)a, (void)lda, (void)transposed, (void)packed, (void)rows, (void)col, (void)cols, (void)k;
  (void)add, (void)scratch;
}

#endif
