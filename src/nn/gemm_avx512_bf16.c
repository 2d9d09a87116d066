/*
 * gemm_avx512_bf16.c: bf16 products with AVX512_BF16: packing, and 6 x 64 elements of C in registers while A and B
 * stream by.
 *
 * B is packed and shared, in panels of 64 columns, each [pairs of k][columns][2], filled up with zeros. A is read as it
 * lies. Each element of C is summed in even blocks of k, in order, and within a block pair by pair.
 */
#include <string.h>

#include "nn/avx512_bf16.h"
#include "nn/gemm_bf16.h"
#include "nn/pieces.h"

enum {
  COLS = 64,                   /* columns of a panel of packed B */
  ROWS = 6,                    /* rows of A that the innermost loop works on */
  DEPTH = 512,                 /* k of a block, at most; even */
  PAIRS = COMP__GEMM_STEP / 2, /* of k in a step of packing */
};

#define TARGET AVX512_BF16_TARGET
#define INLINE static inline __attribute__((always_inline)) AVX512_BF16_TARGET

static size_t pairs_of(size_t k) {
  return (k + 1) / 2;
}

/* Loops over registers must be unrolled, or the compiler keeps them in memory. */
#define UNROLL _Pragma("GCC unroll 16")

/* Two rows of n elements as n pairs; without an odd row its places are 0. */
INLINE void interleave(uint32_t *restrict out, const uint16_t *restrict even, const uint16_t *restrict odd, size_t n) {
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 mask = (__mmask16)(n - i >= 16 ? 0xffffu : (1u << (n - i)) - 1u);
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, even + i));
    __m512i high = _mm512_setzero_si512();
    if (odd) high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, odd + i)), 16);
    _mm512_mask_storeu_epi32(out + i, mask, _mm512_or_si512(low, high));
  }
}

static uint16_t *packed_at(uint16_t *out, size_t k, size_t col, size_t pair) {
  return out + 2 * (col * pairs_of(k) + pair * COLS);
}

TARGET static void pack_rows(uint16_t *out, const uint16_t *b, size_t ldb, size_t n, size_t k, size_t first,
                             size_t last) {
  for (size_t col = 0; col < n; col += COLS)
    for (size_t p = first; p < last; p++) {
      const uint16_t *even = b + 2 * p * ldb + col, *odd = 2 * p + 1 < k ? even + ldb : NULL;
      uint32_t *to = (uint32_t *)(void *)packed_at(out, k, col, p);
      if (n - col >= COLS) {
        interleave(to, even, odd, COLS);
        continue;
      }
      memset(to, 0, COLS * sizeof *to);
      interleave(to, even, odd, n - col);
    }
}

/* 16 x 16 words transposed: row r of the result is column r. */
INLINE void transpose(__m512i x[16]) {
  __m512i y[16];
  UNROLL for (int i = 0; i < 8; i++) {
    y[2 * i] = _mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
    y[2 * i + 1] = _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    x[4 * i] = _mm512_unpacklo_epi64(y[4 * i], y[4 * i + 2]);
    x[4 * i + 1] = _mm512_unpackhi_epi64(y[4 * i], y[4 * i + 2]);
    x[4 * i + 2] = _mm512_unpacklo_epi64(y[4 * i + 1], y[4 * i + 3]);
    x[4 * i + 3] = _mm512_unpackhi_epi64(y[4 * i + 1], y[4 * i + 3]);
  }
  UNROLL for (int i = 0; i < 4; i++) { /* rows i, i + 4, .. hold column i of each group of four, by 128 bits */
    y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 8] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xdd);
    y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xdd);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    x[i] = _mm512_shuffle_i32x4(y[i], y[i + 4], 0x88);
    x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 4], 0xdd);
    x[i + 4] = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0x88);
    x[i + 12] = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0xdd);
  }
}

/* Pairs first .. last - 1 (at most 16) of 16 columns of B, which are rows as it is stored. */
INLINE void pack_block(uint16_t *to, const uint16_t *b, size_t ldb, size_t columns, size_t k, size_t first,
                       size_t last) {
  __m512i x[16];
  const size_t left = k - 2 * first;
  const __mmask32 mask = left >= 32 ? 0xffffffffu : (1u << left) - 1u;
  UNROLL for (int i = 0; i < 16; i++) x[i] =
      (size_t)i < columns ? _mm512_maskz_loadu_epi16(mask, b + (size_t)i * ldb + 2 * first) : _mm512_setzero_si512();
  transpose(x);
  for (size_t p = first; p < last; p++) _mm512_storeu_si512(to + 2 * COLS * (p - first), x[p - first]);
}

TARGET static void pack_columns(uint16_t *out, const uint16_t *b, size_t ldb, size_t n, size_t k, size_t first,
                                size_t last) {
  const size_t whole = comp__round_up(n, COLS);
  for (size_t p = first; p < last; p += 16)
    for (size_t col = 0; col < whole; col += 16) {
      const size_t columns = col >= n ? 0 : n - col < 16 ? n - col : 16;
      uint16_t *to = packed_at(out, k, col / COLS * COLS, p) + 2 * (col % COLS);
      pack_block(to, b + (col < n ? col : 0) * ldb, ldb, columns, k, p, p + 16 < last ? p + 16 : last);
    }
}

static size_t packed(size_t n, size_t k) {
  return comp__round_up(n, COLS) * 2 * pairs_of(k);
}

static void pack_b(uint16_t *out, const comp__gemm_factor *b, size_t n, size_t k, size_t first, size_t last) {
  const size_t begin = first * PAIRS, end = last * PAIRS < pairs_of(k) ? last * PAIRS : pairs_of(k);
  if (b->transposed)
    pack_columns(out, b->at, b->ld, n, k, begin, end);
  else
    pack_rows(out, b->at, b->ld, n, k, begin, end);
}

/* `depth` rows of a transposed A as panels of ROWS rows of A: [pairs][ROWS][2] each. Rows beyond the last are not
 * written, nor read. Eight pairs at a time: what is written first has left the store buffer when it is read. */
TARGET static void pack_a(uint16_t *out, const uint16_t *a, size_t lda, size_t rows, size_t depth) {
  enum { STRIP = 32 * ROWS, AT_ONCE = 8 };
  const size_t pairs = pairs_of(depth);
  uint32_t words[AT_ONCE][STRIP + 8]; /* a panel is read as 8 words */
  for (size_t row = 0; row < rows; row += STRIP) {
    const size_t count = rows - row < STRIP ? rows - row : STRIP;
    for (size_t p = 0; p < pairs; p += AT_ONCE) {
      const size_t many = pairs - p < AT_ONCE ? pairs - p : AT_ONCE;
      for (size_t q = 0; q < many; q++) {
        const uint16_t *even = a + 2 * (p + q) * lda + row;
        interleave(words[q], even, 2 * (p + q) + 1 < depth ? even + lda : NULL, count);
      }
      for (size_t r = 0; r < count; r += ROWS) {
        const __mmask8 mask = (__mmask8)(count - r >= ROWS ? (1u << ROWS) - 1u : (1u << (count - r)) - 1u);
        uint16_t *to = out + 2 * ((row + r) * pairs + p * ROWS);
        for (size_t q = 0; q < many; q++)
          _mm256_mask_storeu_epi32(to + 2 * q * ROWS, mask, _mm256_maskz_loadu_epi32(mask, words[q] + r));
      }
    }
  }
}

/* Where the pairs of A are: pair p of row r at `at` + r * row + p * pair. */
typedef struct factor {
  const uint16_t *at;
  size_t row, pair;
} factor;

/* C[rows, cols] (+)= A B over `depth` of k, in registers. rows is a constant in each copy. */
INLINE void micro(const int rows, float *c, size_t ldc, size_t cols, factor a, const uint16_t *b, size_t depth,
                  bool add) {
  __m512 sum[ROWS][4];
  const uint16_t *at = a.at;
  UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < 4; v++) {
    sum[r][v] = _mm512_setzero_ps();
    _mm_prefetch((const char *)(c + (size_t)r * ldc + 16 * v), _MM_HINT_T0); /* wanted in the end */
  }
  for (size_t p = 0; p < depth / 2; p++, at += a.pair, b += 2 * COLS) {
    __m512bh right[4];
    UNROLL for (int v = 0; v < 4; v++) right[v] = (__m512bh)_mm512_loadu_si512(b + 32 * v);
    UNROLL for (int r = 0; r < rows; r++) {
      int32_t pair;
      memcpy(&pair, at + (size_t)r * a.row, sizeof pair);
      const __m512bh left = (__m512bh)_mm512_set1_epi32(pair);
      UNROLL for (int v = 0; v < 4; v++) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], left, right[v]);
    }
  }
  if (depth % 2) /* half a pair: what stands behind it is not A's, and may be anything */
    UNROLL for (int r = 0; r < rows; r++) {
      const __m512bh left = (__m512bh)_mm512_set1_epi32(at[(size_t)r * a.row]);
      UNROLL for (int v = 0; v < 4; v++) sum[r][v] =
          _mm512_dpbf16_ps(sum[r][v], left, (__m512bh)_mm512_loadu_si512(b + 32 * v));
    }
  UNROLL for (int v = 0; v < 4; v++) {
    const size_t first = 16 * (size_t)v;
    const __mmask16 mask = (__mmask16)(cols >= first + 16 ? 0xffffu : cols > first ? (1u << (cols - first)) - 1u : 0u);
    UNROLL for (int r = 0; r < rows; r++) {
      float *to = c + (size_t)r * ldc + first;
      if (add) sum[r][v] = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum[r][v]);
      _mm512_mask_storeu_ps(to, mask, sum[r][v]);
    }
  }
}

TARGET static void micro_rows(size_t rows, float *c, size_t ldc, size_t cols, factor a, const uint16_t *b, size_t depth,
                              bool add) {
  switch (rows) {
  case 1:
    micro(1, c, ldc, cols, a, b, depth, add);
    break;
  case 2:
    micro(2, c, ldc, cols, a, b, depth, add);
    break;
  case 3:
    micro(3, c, ldc, cols, a, b, depth, add);
    break;
  case 4:
    micro(4, c, ldc, cols, a, b, depth, add);
    break;
  case 5:
    micro(5, c, ldc, cols, a, b, depth, add);
    break;
  default:
    micro(6, c, ldc, cols, a, b, depth, add);
    break;
  }
}

static size_t scratch(const comp__gemm_cut *cut) {
  return comp__round_up(cut->rows, ROWS) * DEPTH;
}

static void tile(float *c, size_t ldc, const comp__gemm_factor *left, const comp__gemm_factor *right, size_t row,
                 size_t rows, size_t col, size_t cols, size_t k, bool add, uint16_t *panels) {
  const size_t lda = left->ld;
  const uint16_t *a = left->at + (left->transposed ? row : row * lda);
  const size_t blocks = (k + DEPTH - 1) / DEPTH, even = comp__round_up((k + blocks - 1) / blocks, 2);
  for (size_t begin = 0; begin < k; begin += even) {
    const size_t depth = k - begin < even ? k - begin : even;
    if (left->transposed) pack_a(panels, a + begin * lda, lda, rows, depth);
    for (size_t j = 0; j < cols; j += COLS) {
      const uint16_t *b = right->packed + 2 * ((col + j) * pairs_of(k) + begin / 2 * COLS);
      for (size_t r = 0; r < rows; r += ROWS) {
        const factor from = left->transposed ? (factor){panels + 2 * r * pairs_of(depth), 2, 2 * ROWS}
                                             : (factor){a + r * lda + begin, lda, 2};
        micro_rows(rows - r < ROWS ? rows - r : ROWS, c + r * ldc + j, ldc, cols - j < COLS ? cols - j : COLS, from, b,
                   depth, add || begin > 0);
      }
    }
  }
}

/* Enough tiles for many cores, each large enough for what it reads to be worth it. */
static comp__gemm_cut cut(size_t m, size_t n, int threads) {
  enum { ENOUGH = 48 };
  static const comp__gemm_cut sizes[] = {
      {192, 512, false}, {96, 512, false}, {96, 256, false}, {48, 256, false}, {48, 128, false}};
  (void)threads;
  size_t i = 0;
  while (i + 1 < sizeof sizes / sizeof *sizes &&
         (m + sizes[i].rows - 1) / sizes[i].rows * ((n + sizes[i].cols - 1) / sizes[i].cols) < ENOUGH)
    i++;
  return sizes[i];
}

const comp__gemm_bf16 comp__gemm_avx512_bf16 = {
    .name = "avx512_bf16",
    .cut = cut,
    .packed = packed,
    .pack_b = pack_b,
    .scratch = scratch,
    .tile = tile,
};
