/*
 * rng.h: random numbers without state.
 *
 * Every number is a pure function of (seed, purpose, step, row, column), through Philox4x64-10: the same at any number
 * of threads or ranks, and any one of them can be had without making the others. Give each use of randomness a purpose
 * of its own, below.
 */
#ifndef COMP_CORE_RNG_H
#define COMP_CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

/* What the numbers are for. Append only: the value is part of the stream, so reordering changes results. */
typedef enum comp__purpose {
  COMP__RNG_TEST = 1,
  COMP__RNG_SIMULATE = 2,
  COMP__RNG_SPLIT = 3,
  COMP__RNG_SHUFFLE = 4,
  COMP__RNG_INIT = 5,
  COMP__RNG_LATENT = 6,
  COMP__RNG_NEIGHBORS = 7,
  COMP__RNG_UMAP = 8,
  COMP__RNG_METRICS = 9,
  COMP__RNG_BASELINE = 10,
  COMP__RNG_DIAGNOSE = 11,
  COMP__RNG_POSTERIOR = 12,
  COMP__RNG_PCA = 13,
  COMP__RNG_CLASSIFY = 14,
  COMP__RNG_REPORT = 15,
  COMP__RNG_CELLS = 16,
  COMP__RNG_DIRECTIONS = 17,
  COMP__RNG_AUDIT = 18
} comp__purpose;

/* A stream: everything but the column, which counts along it. */
typedef struct comp__rng {
  uint64_t seed;
  uint64_t purpose;
  uint64_t step;
  uint64_t row;
} comp__rng;

static inline comp__rng comp__rng_at(uint64_t seed, comp__purpose purpose, uint64_t step, uint64_t row) {
  return (comp__rng){seed, (uint64_t)purpose, step, row};
}

/* 64 random bits. */
uint64_t comp__rng_bits(comp__rng rng, uint64_t column);

/* Uniform in (0, 1), never 0 or 1. */
double comp__rng_uniform(comp__rng rng, uint64_t column);

/* Uniform in 0 .. n - 1, n >= 1, without bias that could be seen (2^-64 n). */
uint64_t comp__rng_below(comp__rng rng, uint64_t column, uint64_t n);

/* Standard normal. */
double comp__rng_normal(comp__rng rng, uint64_t column);

/* Columns first .. first + n - 1 at once, several times faster than one by one. out[i] depends on its column alone, not
 * on `first` or `n`. (The streams of the two functions are each their own, not those of the scalar functions above.) */
void comp__rng_fill_uniform(float *out, size_t n, comp__rng rng, uint64_t first);
void comp__rng_fill_normal(float *out, size_t n, comp__rng rng, uint64_t first);

/* A random permutation of 0 .. n - 1. */
void comp__rng_permutation(size_t *out, size_t n, comp__rng rng);

/* Draws `count` of 0 .. n - 1 without replacement: out [n] has those drawn, ascending, then the others, ascending. */
comp_status comp__rng_draw(size_t *out, size_t count, size_t n, comp__rng rng);

#endif
