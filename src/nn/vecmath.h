/*
 * vecmath.h: exp, log and their sums over vectors, and rounding to bf16.
 *
 * One thread; callers cut their work into chunks. The best instructions that the CPU has are chosen at run time. A
 * result depends on the element alone, never on its place in the vector or on n, and a sum is taken in one fixed order.
 *
 * exp is within 2 ulp of the true value wherever that is a normal number; smaller results are 0. log is within 2 ulp.
 * NaN, infinities and zeros are treated as in C: exp(-inf) = 0, log(0) = -inf, log(-1) = NaN, NaN stays NaN.
 */
#ifndef COMP_NN_VECMATH_H
#define COMP_NN_VECMATH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* log(1 + exp(x)) of one number. */
static inline float comp__softplus(float x) {
  return x > 20.0f ? x : log1pf(expf(x));
}

/* out[n] = exp(in[n]); out may be in. */
void comp__vec_exp(float *out, const float *in, size_t n);

/* out[n] = log(in[n]); out may be in. */
void comp__vec_log(float *out, const float *in, size_t n);

/* out[n] = exp(in[n] - shift) and their sum; out may be in. With shift = max(in): the numerators of a softmax. */
double comp__vec_exp_sub(float *out, const float *in, float shift, size_t n);

/* The sum of exp(in[n] - shift), nothing stored. The same as from comp__vec_exp_sub(). */
double comp__vec_sum_exp(const float *in, float shift, size_t n);

/* The largest element; -infinity when n = 0. NaNs are skipped. */
float comp__vec_max(const float *in, size_t n);

/* out[n] = in[n] rounded to bf16 (the upper half of an f32), to nearest, ties to even. NaN stays NaN. */
void comp__f32_to_bf16(uint16_t *out, const float *in, size_t n);

/* All of the above for one instruction set. */
typedef struct comp__vec_functions {
  const char *isa; /* "avx512", "avx2" or "baseline" */
  void (*exp)(float *out, const float *in, size_t n);
  void (*log)(float *out, const float *in, size_t n);
  double (*exp_sub)(float *out, const float *in, float shift, size_t n);
  double (*sum_exp)(const float *in, float shift, size_t n);
  float (*max)(const float *in, size_t n);
  void (*f32_to_bf16)(uint16_t *out, const float *in, size_t n);
} comp__vec_functions;

/* Those of the instruction sets that this CPU has, best first; NULL past the last. Number 0 is what the functions above
 * use. */
const comp__vec_functions *comp__vec_functions_at(size_t i);

#endif
