/*
 * simd.h: short vectors of floats for the kernel files, which are compiled once for each instruction set (see
 * meson.build).
 *
 * The compiler's own vector types: the same source becomes AVX-512, AVX2, SSE2 or NEON. Include it in kernel files
 * alone.
 */
#ifndef COMP_NN_SIMD_H
#define COMP_NN_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define SIMD_WIDTH 16
#elif defined(__AVX2__)
#define SIMD_WIDTH 8
#else
#define SIMD_WIDTH 4
#endif

typedef float vf __attribute__((vector_size(SIMD_WIDTH * 4)));
typedef int32_t vi __attribute__((vector_size(SIMD_WIDTH * 4)));
typedef uint32_t vu __attribute__((vector_size(SIMD_WIDTH * 4)));
typedef uint16_t vh __attribute__((vector_size(SIMD_WIDTH * 2)));

static inline vf vf_load(const float *p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline void vf_store(float *p, vf v) {
  memcpy(p, &v, sizeof v);
}

static inline vf vf_splat(float x) {
  return x - (vf){0};
}

/* Lanes below n from memory, `fill` elsewhere. */
static inline vf vf_load_part(const float *p, size_t n, float fill) {
  float lanes[SIMD_WIDTH];
  for (size_t l = 0; l < SIMD_WIDTH; l++) lanes[l] = l < n ? p[l] : fill;
  return vf_load(lanes);
}

static inline void vf_store_part(float *p, vf v, size_t n) {
  memcpy(p, &v, n * sizeof *p);
}

static inline vf vf_select(vi mask, vf a, vf b) {
  return (vf)((mask & (vi)a) | (~mask & (vi)b));
}

/* The compiler finds no maximum or test of all lanes by itself: those of x86 and of arm64 are named. */
static inline vf vf_max(vf a, vf b) {
#if defined(__AVX512F__)
  return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (vf)_mm_max_ps((__m128)a, (__m128)b);
#elif defined(__ARM_NEON)
  return (vf)vmaxnmq_f32((float32x4_t)a, (float32x4_t)b);
#else
  return vf_select(a > b, a, b);
#endif
}

/* Lanes added from the first to the last. */
static inline float vf_sum(vf v) {
  float sum = 0.0f;
  for (int l = 0; l < SIMD_WIDTH; l++) sum += v[l];
  return sum;
}

static inline float vf_highest(vf v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)v);
#elif defined(__ARM_NEON)
  return vmaxnmvq_f32((float32x4_t)v);
#endif
  float high = v[0];
  for (int l = 1; l < SIMD_WIDTH; l++) high = v[l] > high ? v[l] : high;
  return high;
}

/* Whether any lane of a mask is set. */
static inline int vi_any(vi mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#elif defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)mask) != 0;
#elif defined(__ARM_NEON)
  const uint32x4_t pairs = vpmaxq_u32((uint32x4_t)mask, (uint32x4_t)mask); /* both halves hold all lanes */
  return vgetq_lane_u64((uint64x2_t)pairs, 0) != 0;
#else
  uint64_t words[SIMD_WIDTH / 2], all = 0;
  memcpy(words, &mask, sizeof words);
  for (int w = 0; w < SIMD_WIDTH / 2; w++) all |= words[w];
  return all != 0;
#endif
}

/* Whether any lane of a exceeds that of b. */
static inline int vf_any_above(vf a, vf b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) != 0;
#else
  return vi_any(a > b);
#endif
}

/* exp(x) for x <= 0 or so (up to 80), 2 ulp; below -87 it gives 0. No NaN or infinity may come in. */
static inline vf vf_exp(vf x) {
  const vi underflow = x < vf_splat(-87.0f);
  x = vf_max(x, vf_splat(-87.0f));
  /* Round x / ln 2 to a whole number by adding 1.5 * 2^23, which leaves it in the low bits. */
  const vf shifter = vf_splat(12582912.0f);
  vf shifted = x * vf_splat(1.44269504088896341f) + shifter;
  vf n = shifted - shifter;
  vf r = x - n * vf_splat(0.693359375f); /* ln 2 in two parts: the first product is exact */
  r = r - n * vf_splat(-2.12194440e-4f);
  vf p = vf_splat(1.9875691500e-4f); /* Cephes' expf polynomial */
  p = p * r + vf_splat(1.3981999507e-3f);
  p = p * r + vf_splat(8.3334519073e-3f);
  p = p * r + vf_splat(4.1665795894e-2f);
  p = p * r + vf_splat(1.6666665459e-1f);
  p = p * r + vf_splat(5.0000001201e-1f);
  p = p * r * r + r + vf_splat(1.0f);
  vi exponent = ((vi)shifted - (vi)shifter) << 23;
  vf scaled = (vf)((vi)p + exponent);
  return (vf)(~underflow & (vi)scaled);
}

/* The upper half of each float, rounded to nearest even. Finite values only. */
static inline void vf_store_bf16(uint16_t *p, vf v) {
  vu bits = (vu)v;
  bits += 0x7fffu + ((bits >> 16) & 1u);
  vh halves = __builtin_convertvector(bits >> 16, vh);
  memcpy(p, &halves, sizeof halves);
}

#endif
