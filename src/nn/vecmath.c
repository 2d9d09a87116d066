/*
 * vecmath.c: plain loops that the compiler turns into vector code, compiled for several instruction sets.
 *
 * Not libm's vector functions (libmvec): measured on AVX-512 they take 1.4 times as long at 2.6 ulp against 1.0 here,
 * fall to 7 ns an element where exp underflows (which is most of a penalty between distant points), and do not exist on
 * arm64 with glibc < 2.38. This file alone is built with -ffp-contract=fast, so that where the CPU has them fused
 * multiply-adds are used; without them the results differ in the last bit, not in quality.
 */
#include "nn/vecmath.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/cpu.h"

#define INLINE static inline __attribute__((always_inline))

/* Vectors are worked on in blocks of this many elements: one AVX-512 register. The end of a vector is copied into a
 * block of its own, so that the same instructions run on each element wherever it stands. */
enum { LANES = 16 };

INLINE uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

INLINE float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ln 2 in two parts, the first short enough for n * LN2_HIGH to be exact. */
#define LN2_HIGH 0.693359375f
#define LN2_LOW  -2.12194440e-4f

/* exp(x) = 2^n exp(r), |r| <= ln(2) / 2, with the polynomial of Cephes for exp(r). */
INLINE float exp_of(float x) {
  const float lowest = -87.3365447f, highest = 88.7228394f; /* ln of the least normal and of the largest float */
  const float magic = 12582912.0f;                          /* 1.5 * 2^23: adding it rounds to a whole number */
  const float rounded = x * 1.44269504f + magic;
  const float n = rounded - magic;
  const float r = (x - n * LN2_HIGH) - n * LN2_LOW;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  /* n goes into the exponent by whole-number addition: a factor 2^n would overflow for n = 128, where exp(r) < 1. */
  const float y = of_bits(bits_of(p) + (bits_of(rounded) << 23));
  const float not_low = x < lowest ? 0.0f : y;
  return x <= highest ? not_low : x + INFINITY; /* also keeps NaN */
}

/* log(x) = e ln 2 + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2), with the polynomial of Cephes for log(1 + f). */
INLINE float log_of(float x) {
  const uint32_t sqrt_half = 0x3f3504f3u;
  const int subnormal = x < FLT_MIN;
  const uint32_t bits = bits_of(subnormal ? x * 8388608.0f : x) - sqrt_half;
  const float e = (float)((int32_t)bits >> 23) - (subnormal ? 23.0f : 0.0f);
  const float f = of_bits((bits & 0x7fffffu) + sqrt_half) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float f2 = f * f;
  const float y = e * LN2_HIGH + (f + (f2 * f * p + e * LN2_LOW - 0.5f * f2));
  const float finite = x <= FLT_MAX ? y : x; /* infinity and NaN stay */
  const float not_zero = x == 0.0f ? -INFINITY : finite;
  return x < 0.0f ? NAN : not_zero;
}

INLINE uint16_t bf16_of(float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const uint32_t nan = bits | 0x400000u; /* quiet, so that dropping the lower half cannot make it infinite */
  return (uint16_t)((x != x ? nan : rounded) >> 16);
}

/* ---- loops: one body each, inlined into a function for each instruction set ---- */

INLINE void vec_exp_body(float *out, const float *in, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t l = 0; l < LANES; l++) out[i + l] = exp_of(in[i + l]);
  if (i == n) return;
  float end[LANES] = {0};
  memcpy(end, in + i, (n - i) * sizeof *in);
  for (size_t l = 0; l < LANES; l++) end[l] = exp_of(end[l]);
  memcpy(out + i, end, (n - i) * sizeof *out);
}

INLINE void vec_log_body(float *out, const float *in, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t l = 0; l < LANES; l++) out[i + l] = log_of(in[i + l]);
  if (i == n) return;
  float end[LANES] = {0};
  memcpy(end, in + i, (n - i) * sizeof *in);
  for (size_t l = 0; l < LANES; l++) end[l] = log_of(end[l]);
  memcpy(out + i, end, (n - i) * sizeof *out);
}

INLINE double sum_lanes(const float lanes[LANES]) {
  double sum = 0.0;
  for (size_t l = 0; l < LANES; l++) sum += (double)lanes[l];
  return sum;
}

INLINE double vec_exp_sub_body(float *out, const float *in, float shift, size_t n) {
  float sums[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (size_t l = 0; l < LANES; l++) {
      const float y = exp_of(in[i + l] - shift);
      out[i + l] = y;
      sums[l] += y;
    }
  }
  if (i < n) {
    float end[LANES];
    for (size_t l = 0; l < LANES; l++) end[l] = i + l < n ? in[i + l] - shift : -INFINITY;
    for (size_t l = 0; l < LANES; l++) sums[l] += end[l] = exp_of(end[l]);
    memcpy(out + i, end, (n - i) * sizeof *out);
  }
  return sum_lanes(sums);
}

INLINE double vec_sum_exp_body(const float *in, float shift, size_t n) {
  float sums[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t l = 0; l < LANES; l++) sums[l] += exp_of(in[i + l] - shift);
  if (i < n) {
    float end[LANES];
    for (size_t l = 0; l < LANES; l++) end[l] = i + l < n ? in[i + l] - shift : -INFINITY;
    for (size_t l = 0; l < LANES; l++) sums[l] += exp_of(end[l]);
  }
  return sum_lanes(sums);
}

INLINE float vec_max_body(const float *in, size_t n) {
  enum { WIDE = 8 * LANES }; /* with fewer, gcc unrolls the inner loop and works on single elements */
  float most[WIDE];
  for (size_t l = 0; l < WIDE; l++) most[l] = -INFINITY;
  size_t i = 0;
  for (; i + WIDE <= n; i += WIDE)
    for (size_t l = 0; l < WIDE; l++) most[l] = in[i + l] > most[l] ? in[i + l] : most[l];
  for (size_t l = 0; i + l < n; l++) most[l] = in[i + l] > most[l] ? in[i + l] : most[l];
  for (size_t half = WIDE / 2; half > 0; half /= 2)
    for (size_t l = 0; l < half; l++) most[l] = most[l + half] > most[l] ? most[l + half] : most[l];
  return most[0];
}

INLINE void f32_to_bf16_body(uint16_t *restrict out, const float *restrict in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = bf16_of(in[i]);
}

/* ---- the choice of instructions ---- */

/* Functions NAME_isa with the target attribute, and their table FUNCTIONS_isa. */
#define FUNCTIONS(isa, target)                                                                                         \
  target static void exp_##isa(float *out, const float *in, size_t n) {                                                \
    vec_exp_body(out, in, n);                                                                                          \
  }                                                                                                                    \
  target static void log_##isa(float *out, const float *in, size_t n) {                                                \
    vec_log_body(out, in, n);                                                                                          \
  }                                                                                                                    \
  target static double exp_sub_##isa(float *out, const float *in, float shift, size_t n) {                             \
    return vec_exp_sub_body(out, in, shift, n);                                                                        \
  }                                                                                                                    \
  target static double sum_exp_##isa(const float *in, float shift, size_t n) {                                         \
    return vec_sum_exp_body(in, shift, n);                                                                             \
  }                                                                                                                    \
  target static float max_##isa(const float *in, size_t n) {                                                           \
    return vec_max_body(in, n);                                                                                        \
  }                                                                                                                    \
  target static void bf16_##isa(uint16_t *out, const float *in, size_t n) {                                            \
    f32_to_bf16_body(out, in, n);                                                                                      \
  }                                                                                                                    \
  static const comp__vec_functions FUNCTIONS_##isa = {#isa,          exp_##isa, log_##isa, exp_sub_##isa,              \
                                                      sum_exp_##isa, max_##isa, bf16_##isa};

FUNCTIONS(baseline, )

#if defined(__x86_64__) && defined(__GNUC__)

FUNCTIONS(avx2, __attribute__((target("avx2,fma"))))
FUNCTIONS(avx512, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))))

static size_t list_functions(const comp__vec_functions *list[3]) {
  size_t count = 0;
  const comp__cpu_kind kind = comp__cpu();
  if (kind >= COMP__CPU_AVX512) list[count++] = &FUNCTIONS_avx512;
  if (kind >= COMP__CPU_AVX2) list[count++] = &FUNCTIONS_avx2;
  list[count++] = &FUNCTIONS_baseline;
  return count;
}

#else

static size_t list_functions(const comp__vec_functions *list[3]) {
  list[0] = &FUNCTIONS_baseline;
  return 1;
}

#endif

const comp__vec_functions *comp__vec_functions_at(size_t i) {
  const comp__vec_functions *list[3];
  const size_t count = list_functions(list);
  return i < count ? list[i] : NULL;
}

void comp__vec_exp(float *out, const float *in, size_t n) {
  comp__vec_functions_at(0)->exp(out, in, n);
}

void comp__vec_log(float *out, const float *in, size_t n) {
  comp__vec_functions_at(0)->log(out, in, n);
}

double comp__vec_exp_sub(float *out, const float *in, float shift, size_t n) {
  return comp__vec_functions_at(0)->exp_sub(out, in, shift, n);
}

double comp__vec_sum_exp(const float *in, float shift, size_t n) {
  return comp__vec_functions_at(0)->sum_exp(in, shift, n);
}

float comp__vec_max(const float *in, size_t n) {
  return comp__vec_functions_at(0)->max(in, n);
}

void comp__f32_to_bf16(uint16_t *out, const float *in, size_t n) {
  comp__vec_functions_at(0)->f32_to_bf16(out, in, n);
}
