/* cell.c: states, profiles and negative-binomial counts, a cell at a time.
 *
 * Two thousand million counts should take a minute, and nine of ten are zero. So one uniform number an entry is drawn
 * in bulk and compared with a lower bound of the probability of zero, in loops that compilers make into vector code;
 * only what passes is inverted exactly. */
#include "simulate/cell.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Above this mean, counts come from a gamma and a Poisson draw: searching up from zero would be slow, and the
 * probability of zero could vanish. */
static const double LARGE_MEAN = 60.0;

/* ---- state ---- */

/* The shapes that programs take by turns; the first two are the coordinates of one arc. Each has a variance of about
 * 1. */
typedef enum state_shape { SHAPE_ARC_X, SHAPE_ARC_Y, SHAPE_TWO_MODES, SHAPE_SKEWED, SHAPE_FLAT, SHAPES } state_shape;

/* Where on its label's arc (three quarters of a circle, from a start of its own) a cell lies. */
static double arc_angle(comp__rng in_label, comp__rng in_cell, size_t cycle) {
  double start = 2.0 * M_PI * comp__rng_uniform(in_label, 1000 + cycle);
  return start + 1.5 * M_PI * comp__rng_uniform(in_cell, 1000 + cycle);
}

static double draw_shape(size_t p, comp__rng in_label, comp__rng in_cell) {
  size_t cycle = p / SHAPES;
  double u = comp__rng_uniform(in_cell, 4 * p), jitter = comp__rng_normal(in_cell, 4 * p + 1);
  switch ((state_shape)(p % SHAPES)) {
  case SHAPE_ARC_X:
    return 1.4 * cos(arc_angle(in_label, in_cell, cycle)) + 0.1 * jitter;
  case SHAPE_ARC_Y:
    return 1.4 * sin(arc_angle(in_label, in_cell, cycle)) + 0.1 * jitter;
  case SHAPE_TWO_MODES:
    return (u < 0.3 + 0.4 * comp__rng_uniform(in_label, 4 * p) ? -1.0 : 1.0) + 0.25 * jitter;
  case SHAPE_SKEWED: /* gamma of shape 2, its tail cut */
    return (fmin(-log(u * comp__rng_uniform(in_cell, 4 * p + 2)), 7.0) - 2.0) * M_SQRT1_2;
  default:
    return sqrt(3.0) * (2.0 * u - 1.0);
  }
}

void comp__sim_state(float *state, const comp__sim_world *world, size_t cell) {
  size_t label = (size_t)world->labels[cell];
  comp__rng in_label = comp__sim_rng(world, SIM_SHAPE, label), in_cell = comp__sim_rng(world, SIM_STATE, cell);
  for (size_t p = 0; p < world->options.programs; p++) {
    double scale = 0.6 + 0.8 * comp__rng_uniform(in_label, 4 * p + 1);
    state[p] = (float)(scale * draw_shape(p, in_label, in_cell));
  }
}

double comp__sim_library(const comp__sim_world *world, size_t cell) {
  double z = comp__rng_normal(comp__sim_rng(world, SIM_LIBRARY, 0), cell);
  return world->options.library * exp(world->options.library_sd * z);
}

/* ---- profile ---- */

void comp__sim_log_expression(float *restrict eta, const comp__sim_world *world, size_t label, const float *state) {
  size_t genes = world->options.genes;
  memcpy(eta, world->profile + label * genes, genes * sizeof *eta);
  for (size_t p = 0; p < world->options.programs; p++) {
    const float *restrict loading = world->loadings + p * genes;
    float s = state[p];
    for (size_t g = 0; g < genes; g++) eta[g] += s * loading[g];
  }
}

/* How strongly a cell in this state answers in each module. */
static void module_gains(float gains[SIM_MODULES], const comp__sim_world *world, const float *state, size_t condition) {
  size_t programs = world->options.programs;
  for (size_t m = 0; m < SIM_MODULES; m++) {
    const float *direction = world->directions + ((condition - 1) * SIM_MODULES + m) * programs;
    double along = 0;
    for (size_t p = 0; p < programs; p++) along += (double)direction[p] * state[p];
    gains[m] = (float)(1.0 + world->options.heterogeneity * tanh(1.5 * along));
  }
}

static void add_response(float *restrict out, const float *restrict eta, const comp__sim_world *world, size_t label,
                         const float *state, size_t condition) {
  const float *restrict response = comp__sim_response(world, condition, label);
  const float *restrict module = world->module;
  float gains[SIM_MODULES];
  module_gains(gains, world, state, condition);
  float first = gains[0], step = gains[1] - gains[0];
  for (size_t g = 0; g < world->options.genes; g++) out[g] = eta[g] + response[g] * (first + step * module[g]);
}

/* exp(x) for x <= 0 to 2 units in the last place: 2^n e^r with |r| <= ln 2 / 2. Simple enough for any compiler to make
 * vector code of it, unlike a call of expf(). */
static inline float exp_of_negative(float x) {
  x = x < -87.0f ? -87.0f : x;
  float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* rounds to a whole number */
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float e = 1.9875691500e-4f;
  e = e * r + 1.3981999507e-3f;
  e = e * r + 8.3334519073e-3f;
  e = e * r + 4.1665795894e-2f;
  e = e * r + 1.6666665459e-1f;
  e = e * r + 5.0000001201e-1f;
  e = e * r * r + r + 1.0f;
  union {
    int32_t bits;
    float value;
  } power = {.bits = ((int32_t)n + 127) * (1 << 23)};
  return e * power.value;
}

enum { LANES = 8 }; /* partial results side by side, in an order that does not depend on the vector width */

static float largest(const float *x, size_t n) {
  float lanes[LANES];
  for (size_t j = 0; j < LANES; j++) lanes[j] = x[0];
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t j = 0; j < LANES; j++) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  float most = lanes[0];
  for (size_t j = 1; j < LANES; j++) most = lanes[j] > most ? lanes[j] : most;
  for (; i < n; i++) most = x[i] > most ? x[i] : most;
  return most;
}

static double sum_of(const float *x, size_t n) {
  double lanes[LANES] = {0}, sum = 0;
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t j = 0; j < LANES; j++) lanes[j] += (double)x[i + j];
  for (size_t j = 0; j < LANES; j++) sum += lanes[j];
  for (; i < n; i++) sum += (double)x[i];
  return sum;
}

void comp__sim_proportions(float *rho, const float *eta, const comp__sim_world *world, size_t label, const float *state,
                           size_t condition) {
  size_t genes = world->options.genes;
  if (condition > 0)
    add_response(rho, eta, world, label, state, condition);
  else
    memcpy(rho, eta, genes * sizeof *rho);
  float most = largest(rho, genes);
  for (size_t g = 0; g < genes; g++) rho[g] = exp_of_negative(rho[g] - most);
  float scale = (float)(1.0 / sum_of(rho, genes));
  for (size_t g = 0; g < genes; g++) rho[g] *= scale;
}

/* ---- counts ---- */

/* Every draw of a large count takes numbers from columns of its own. */
typedef struct draws {
  comp__rng rng;
  uint64_t next;
} draws;

static double next_uniform(draws *from) {
  return comp__rng_uniform(from->rng, from->next++);
}

/* Gamma of mean 1, by Marsaglia and Tsang (2000); shapes below 1 through shape + 1. */
static double gamma_of_mean_one(draws *from, double shape) {
  double boost = shape < 1.0 ? pow(next_uniform(from), 1.0 / shape) : 1.0;
  double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    double z = comp__rng_normal(from->rng, from->next++), v = 1.0 + c * z;
    if (v <= 0) continue;
    v = v * v * v;
    if (log(next_uniform(from)) < 0.5 * z * z + d - d * v + d * log(v)) return boost * d * v / shape;
  }
}

/* Poisson of a small mean: search up from zero. */
static double poisson_small(double u, double mean) {
  double p = exp(-mean), k = 0;
  while (u > p && k < 1000) {
    u -= p;
    k += 1;
    p *= mean / k;
  }
  return k;
}

/* Poisson of mean >= 10: Hörmann's transformed rejection (PTRS, 1993). */
static double poisson_large(draws *from, double mean) {
  double log_mean = log(mean), b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2.0);
  for (;;) {
    double u = next_uniform(from) - 0.5, v = next_uniform(from), us = 0.5 - fabs(u);
    double k = floor((2.0 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    int sign;
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= k * log_mean - mean - lgamma_r(k + 1.0, &sign))
      return k;
  }
}

static double draw_large(const comp__sim_world *world, size_t cell, size_t gene, double mean) {
  draws from = {comp__sim_rng(world, SIM_LARGE_COUNT, cell), (uint64_t)gene << 32};
  double dispersion = world->options.dispersion;
  if (dispersion > 0) mean *= gamma_of_mean_one(&from, 1.0 / dispersion);
  return mean < 10.0 ? poisson_small(next_uniform(&from), mean) : poisson_large(&from, mean);
}

/* The count at which the distribution function passes u, from the recurrence of the probabilities; a dispersion of 0
 * makes it a Poisson. */
static double invert(double u, double mean, double dispersion) {
  double p = dispersion > 0 ? exp(-log1p(dispersion * mean) / dispersion) : exp(-mean);
  double odds = mean / (1.0 + dispersion * mean), k = 0;
  while (u > p) {
    u -= p;
    p *= odds * (1.0 + dispersion * k) / (k + 1.0);
    k += 1.0;
    if (p < 1e-15 && k > mean) break; /* rounding: nothing is left beyond */
  }
  return k;
}

/* The genes that may have a count: u is not below 1 - m + m^2/2 - m^3/6 <= e^-m <= P(0). */
static size_t find_candidates(int32_t *restrict out, const float *restrict rho, const float *restrict uniform, size_t n,
                              float library) {
  size_t found = 0;
  for (size_t g = 0; g < n; g++) {
    float m = library * rho[g];
    out[found] = (int32_t)g;
    found += uniform[g] >= 1.0f - m * (1.0f - m * (0.5f - m * (1.0f / 6.0f)));
  }
  return found;
}

size_t comp__sim_counts(int32_t *genes, float *counts, const float *rho, float *uniform, const comp__sim_world *world,
                        size_t cell) {
  float library = (float)comp__sim_library(world, cell);
  size_t n = world->options.genes, kept = 0;
  comp__rng_fill_uniform(uniform, n, comp__sim_rng(world, SIM_COUNT, cell), 0);
  size_t candidates = find_candidates(genes, rho, uniform, n, library);
  for (size_t i = 0; i < candidates; i++) {
    size_t g = (size_t)genes[i];
    double mean = (double)library * (double)rho[g];
    double count = mean > LARGE_MEAN ? draw_large(world, cell, g, mean)
                                     : invert((double)uniform[g], mean, world->options.dispersion);
    if (count <= 0) continue;
    genes[kept] = (int32_t)g;
    counts[kept++] = (float)count;
  }
  return kept;
}
