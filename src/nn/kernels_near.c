/*
 * kernels_near.c: which pairs of a tile may be near enough: the inner loop of exact neighbour search.
 *
 * Points of a tile lie along the vector lanes. Nearly all pairs are too far, and many are known to be after a few
 * dimensions: a block is left as soon as none of its lanes is within its limit.
 */
#include "nn/kernels_isa.h"
#include "nn/simd.h"

enum { ROWS = 4, WIDE = 2, CHECK_EVERY = 8 };

#define INLINE static inline __attribute__((always_inline))

/* One bit a lane: a <= b. */
INLINE unsigned lanes_within(vf a, vf b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
#elif defined(__AVX2__)
  return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LE_OQ));
#elif defined(__SSE2__)
  return (unsigned)_mm_movemask_ps(_mm_cmple_ps((__m128)a, (__m128)b));
#elif defined(__ARM_NEON)
  const vu bit = {1, 2, 4, 8};
  return vaddvq_u32((uint32x4_t)((vu)(a <= b) & bit));
#else
  const vi mask = a <= b;
  unsigned bits = 0;
  for (unsigned l = 0; l < SIMD_WIDTH; l++) bits |= (mask[l] ? 1u : 0u) << l;
  return bits;
#endif
}

/* A hit is the bits of its value, which order values that are not negative, above its column. */
INLINE size_t append(uint64_t *hits, size_t count, unsigned bits, vf values, size_t j) {
  const vu words = (vu)values;
  for (; bits; bits &= bits - 1) {
    unsigned lane = (unsigned)__builtin_ctz(bits);
    hits[count++] = ((uint64_t)words[lane] << 32) | (uint64_t)(j + lane);
  }
  return count;
}

/* Adds n dimensions to the squared distances of ROWS rows to WIDE vectors of points. */
INLINE void add_squares(vf sum[ROWS][WIDE], const float *const *x, const float *x_t, size_t tile, size_t d, size_t n) {
  for (size_t k = d; k < d + n; k++) {
    const vf first = vf_load(x_t + k * tile), second = vf_load(x_t + k * tile + SIMD_WIDTH);
    for (int r = 0; r < ROWS; r++) {
      const vf value = vf_splat(x[r][k]);
      const vf a = first - value, b = second - value;
      sum[r][0] += a * a;
      sum[r][1] += b * b;
    }
  }
}

INLINE int any_within(vf sum[ROWS][WIDE], const vf *limit) {
#if defined(__AVX512F__)
  unsigned bits = 0;
  for (int r = 0; r < ROWS; r++) bits |= lanes_within(sum[r][0], limit[r]) | lanes_within(sum[r][1], limit[r]);
  return bits != 0;
#else
  vi within = {0};
  for (int r = 0; r < ROWS; r++) within |= (sum[r][0] <= limit[r]) | (sum[r][1] <= limit[r]);
  return vi_any(within);
#endif
}

void KERNEL(near)(uint64_t *hits, size_t *counts, const float *x, size_t rows, const float *x_t, size_t tile,
                  size_t dims, const float *limits) {
  for (size_t i = 0; i < rows; i += ROWS) {
    const float *group[ROWS];
    vf limit[ROWS];
    size_t count[ROWS] = {0};
    for (size_t r = 0; r < ROWS; r++) {
      size_t row = i + r < rows ? i + r : rows - 1;
      group[r] = x + row * dims;
      limit[r] = vf_splat(i + r < rows ? limits[row] : -1.0f);
    }
    for (size_t j = 0; j < tile; j += WIDE * SIMD_WIDTH) {
      vf sum[ROWS][WIDE];
      for (int r = 0; r < ROWS; r++) sum[r][0] = sum[r][1] = vf_splat(0.0f);
      size_t d = 0;
      int within = 1;
      for (; within && d + CHECK_EVERY <= dims; d += CHECK_EVERY) {
        add_squares(sum, group, x_t + j, tile, d, CHECK_EVERY);
        within = any_within(sum, limit);
      }
      if (!within) continue;
      add_squares(sum, group, x_t + j, tile, d, dims - d);
      for (size_t r = 0; r < ROWS && i + r < rows; r++)
        for (size_t w = 0; w < WIDE; w++)
          count[r] =
              append(hits + (i + r) * tile, count[r], lanes_within(sum[r][w], limit[r]), sum[r][w], j + w * SIMD_WIDTH);
    }
    for (size_t r = 0; r < ROWS && i + r < rows; r++) counts[i + r] = count[r];
  }
}

size_t KERNEL(near_products)(uint64_t *hits, const float *products, const float *lengths, size_t tile, float limit) {
  size_t count = 0;
  const vf high = vf_splat(limit), two = vf_splat(2.0f);
  for (size_t j = 0; j < tile; j += SIMD_WIDTH) {
    const vf value = vf_load(lengths + j) - two * vf_load(products + j);
    count = append(hits, count, lanes_within(value, high), value, j);
  }
  return count;
}
