/*
 * avx512_emulated.h: the AVX-512 instructions of the bf16 kernels in software, so that the kernels' own sources are
 * tested on any CPU. Included before a kernel, it takes the place of nn/avx512_bf16.h.
 */
#ifndef TESTS_AVX512_EMULATED_H
#define TESTS_AVX512_EMULATED_H

#define COMP_NN_AVX512_BF16_H
#define AVX512_BF16_TARGET

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef long long __m512i __attribute__((vector_size(64), may_alias));
typedef long long __m256i __attribute__((vector_size(32), may_alias));
typedef long long __m128i __attribute__((vector_size(16), may_alias));
typedef float __m512 __attribute__((vector_size(64), may_alias));
typedef uint16_t __m512bh __attribute__((vector_size(64), may_alias));
typedef uint32_t emulated_words __attribute__((vector_size(64), may_alias));
typedef uint16_t emulated_halves __attribute__((vector_size(64), may_alias));
typedef uint8_t __mmask8;
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;

#define _MM_HINT_T0           3
#define _mm_prefetch(at, how) ((void)(at))

/* ---- loads and stores; only the places that a mask names are touched ---- */

static inline __m512i _mm512_loadu_si512(const void *at) {
  __m512i v;
  memcpy(&v, at, sizeof v);
  return v;
}

static inline void _mm512_storeu_si512(void *at, __m512i v) {
  memcpy(at, &v, sizeof v);
}

/* Faults on memory that is not aligned, as the hardware does. */
static inline void _mm512_store_si512(void *at, __m512i v) {
  if ((uintptr_t)at % 64) __builtin_trap();
  memcpy(at, &v, sizeof v);
}

static inline __m128i _mm_loadu_si128(const __m128i *at) {
  __m128i v;
  memcpy(&v, at, sizeof v);
  return v;
}

static inline void emulated_mask_copy(void *to, const void *from, uint64_t mask, size_t lanes, size_t size) {
  for (size_t l = 0; l < lanes; l++)
    if (mask >> l & 1u) memcpy((char *)to + l * size, (const char *)from + l * size, size);
}

static inline __m512i _mm512_maskz_loadu_epi16(__mmask32 mask, const void *at) {
  __m512i v = {0};
  emulated_mask_copy(&v, at, mask, 32, 2);
  return v;
}

static inline __m256i _mm256_maskz_loadu_epi16(__mmask16 mask, const void *at) {
  __m256i v = {0};
  emulated_mask_copy(&v, at, mask, 16, 2);
  return v;
}

static inline __m256i _mm256_maskz_loadu_epi32(__mmask8 mask, const void *at) {
  __m256i v = {0};
  emulated_mask_copy(&v, at, mask, 8, 4);
  return v;
}

static inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void *at) {
  __m512 v = {0};
  emulated_mask_copy(&v, at, mask, 16, 4);
  return v;
}

static inline void _mm512_mask_storeu_ps(void *at, __mmask16 mask, __m512 v) {
  emulated_mask_copy(at, &v, mask, 16, 4);
}

static inline void _mm512_mask_storeu_epi32(void *at, __mmask16 mask, __m512i v) {
  emulated_mask_copy(at, &v, mask, 16, 4);
}

static inline void _mm256_mask_storeu_epi32(void *at, __mmask8 mask, __m256i v) {
  emulated_mask_copy(at, &v, mask, 8, 4);
}

/* ---- moving elements ---- */

static inline __m512i _mm512_setzero_si512(void) {
  return (__m512i){0};
}

static inline __m512 _mm512_setzero_ps(void) {
  return (__m512){0};
}

static inline __m512i _mm512_set1_epi32(int32_t x) {
  emulated_words v;
  for (int l = 0; l < 16; l++) v[l] = (uint32_t)x;
  return (__m512i)v;
}

static inline __m512i _mm512_setr_epi64(long long a, long long b, long long c, long long d, long long e, long long f,
                                        long long g, long long h) {
  return (__m512i){a, b, c, d, e, f, g, h};
}

static inline __m512i _mm512_castsi128_si512(__m128i v) {
  return (__m512i){v[0], v[1]};
}

/* Words named by the mask from the 128 bits of v, repeated; the others from `rest`. */
static inline __m512i _mm512_mask_broadcast_i32x4(__m512i rest, __mmask16 mask, __m128i v) {
  emulated_words out = (emulated_words)rest;
  uint32_t words[4];
  memcpy(words, &v, sizeof words);
  for (int l = 0; l < 16; l++)
    if (mask >> l & 1) out[l] = words[l % 4];
  return (__m512i)out;
}

static inline __m512i _mm512_permutexvar_epi64(__m512i index, __m512i v) {
  __m512i out;
  for (int l = 0; l < 8; l++) out[l] = v[index[l] & 7];
  return out;
}

/* Elements of `size` bytes from the low or high halves of each 128 bits, in turns. */
static inline __m512i emulated_unpack(__m512i x, __m512i y, size_t size, size_t from) {
  char a[64], b[64], out[64];
  memcpy(a, &x, 64), memcpy(b, &y, 64);
  for (size_t lane = 0; lane < 64; lane += 16)
    for (size_t i = 0; i < 8 / size; i++) {
      memcpy(out + lane + 2 * i * size, a + lane + from + i * size, size);
      memcpy(out + lane + (2 * i + 1) * size, b + lane + from + i * size, size);
    }
  __m512i v;
  memcpy(&v, out, sizeof v);
  return v;
}

#define _mm512_unpacklo_epi16(x, y) emulated_unpack(x, y, 2, 0)
#define _mm512_unpackhi_epi16(x, y) emulated_unpack(x, y, 2, 8)
#define _mm512_unpacklo_epi32(x, y) emulated_unpack(x, y, 4, 0)
#define _mm512_unpackhi_epi32(x, y) emulated_unpack(x, y, 4, 8)
#define _mm512_unpacklo_epi64(x, y) emulated_unpack(x, y, 8, 0)
#define _mm512_unpackhi_epi64(x, y) emulated_unpack(x, y, 8, 8)

/* Quarters of 128 bits: two of x, two of y. */
static inline __m512i _mm512_shuffle_i32x4(__m512i x, __m512i y, int which) {
  __m512i out;
  for (int q = 0; q < 4; q++) {
    const __m512i from = q < 2 ? x : y;
    const int quarter = which >> (2 * q) & 3;
    out[2 * q] = from[2 * quarter], out[2 * q + 1] = from[2 * quarter + 1];
  }
  return out;
}

/* ---- arithmetic ---- */

static inline __m512i _mm512_cvtepu16_epi32(__m256i v) {
  uint16_t halves[16];
  emulated_words out;
  memcpy(halves, &v, sizeof halves);
  for (int l = 0; l < 16; l++) out[l] = halves[l];
  return (__m512i)out;
}

static inline __m512i _mm512_slli_epi32(__m512i v, unsigned by) {
  return (__m512i)((emulated_words)v << by);
}

static inline __m512i _mm512_or_si512(__m512i x, __m512i y) {
  return x | y;
}

static inline __m512 _mm512_add_ps(__m512 x, __m512 y) {
  return x + y;
}

static inline float emulated_bf16(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline __m512 _mm512_dpbf16_ps(__m512 sum, __m512bh a, __m512bh b) {
  for (int l = 0; l < 16; l++) {
    const float odd = fmaf(emulated_bf16(a[2 * l + 1]), emulated_bf16(b[2 * l + 1]), sum[l]);
    sum[l] = fmaf(emulated_bf16(a[2 * l]), emulated_bf16(b[2 * l]), odd);
  }
  return sum;
}

#endif
