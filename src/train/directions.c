/* directions.c: what conditions have in common, by subspace iteration. */
#include "train/directions.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "nn/matmul.h"

enum { FEWEST = 2, SPARE = 8 /* more vectors than wanted: the wanted ones settle sooner */, FIRST_ROUNDS = 6 };
static const double MARGIN = 1.5; /* over chance */
static const float MOST_DEVIATIONS = 10.0f, LEAST_DEVIATION = 1e-3f;

typedef struct search {
  comp_context *context;
  comp__directions *directions;
  const float *rows, *weight;
  const size_t *start;
  size_t n, k;             /* rows; vectors of the subspace */
  float *scaled;           /* [n, features] */
  float *scores;           /* [n, k] */
  float *vectors, *images; /* [k, features] */
  float *total, *single;   /* [k, features], [conditions, k, features] */
} search;

/* ---- Rows as they are compared --------------------------------------------------------------------------------- */

typedef struct scaling {
  const comp__directions *directions;
  const float *rows;
  float *out;
  const size_t *start; /* NULL: all rows are of condition k */
  size_t k;
} scaling;

static void scale_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const scaling *s = arg;
  const size_t features = s->directions->features;
  for (size_t i = begin; i < end; i++) {
    size_t k = s->k;
    while (s->start && i >= s->start[k + 1]) k++;
    const float *x = s->rows + i * features, *mean = s->directions->mean + k * features,
                *factor = s->directions->factor + k * features;
    float *y = s->out + i * features;
    double square = 0.0;
    for (size_t g = 0; g < features; g++) {
      y[g] = fmaxf(-MOST_DEVIATIONS, fminf(MOST_DEVIATIONS, (x[g] - mean[g]) * factor[g]));
      square += (double)y[g] * (double)y[g];
    }
    float inverse = square > 0.0 ? (float)(1.0 / sqrt(square)) : 0.0f;
    for (size_t g = 0; g < features; g++) y[g] *= inverse;
  }
}

/* Means and deviations of columns begin .. end - 1 of each condition. */
static void measure_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  search *s = arg;
  comp__directions *d = s->directions;
  double sums[64], squares[64];
  for (size_t k = 0; k < d->conditions; k++) {
    double total = 0.0;
    memset(sums, 0, sizeof sums);
    memset(squares, 0, sizeof squares);
    for (size_t i = s->start[k]; i < s->start[k + 1]; i++) {
      const float *x = s->rows + i * d->features;
      const double w = s->weight[i];
      total += w;
      for (size_t g = begin; g < end; g++) {
        sums[g - begin] += w * (double)x[g];
        squares[g - begin] += w * (double)x[g] * (double)x[g];
      }
    }
    for (size_t g = begin; g < end; g++) {
      const double mean = total > 0.0 ? sums[g - begin] / total : 0.0;
      const double variance = total > 0.0 ? fmax(0.0, squares[g - begin] / total - mean * mean) : 0.0;
      d->mean[k * d->features + g] = (float)mean;
      d->factor[k * d->features + g] = 1.0f / ((float)sqrt(variance) + LEAST_DEVIATION);
    }
  }
}

/* ---- The search ------------------------------------------------------------------------------------------------ */

/* out = C_k in, of condition k; or added to it. in and out [k, features]. */
static comp_status correlate(const search *s, float *out, const float *in, size_t condition, unsigned flags) {
  const size_t features = s->directions->features, first = s->start[condition],
               n = s->start[condition + 1] - s->start[condition];
  const float *rows = s->scaled + first * features;
  double total = 0.0;
  comp_status status =
      comp__matmul_f32(s->context, s->scores, s->k, rows, features, in, features, n, s->k, features, COMP__TRANS_B);
  for (size_t i = 0; i < n; i++) total += (double)s->weight[first + i];
  for (size_t i = 0; i < n && total > 0.0; i++)
    for (size_t v = 0; v < s->k; v++) s->scores[i * s->k + v] *= (float)((double)s->weight[first + i] / total);
  if (status != COMP_OK) return status;
  return comp__matmul_f32(s->context, out, features, s->scores, s->k, rows, features, s->k, features, n,
                          COMP__TRANS_A | flags);
}

/* images = sum over k != l of C_k C_l, times vectors. */
static comp_status apply(search *s) {
  const size_t size = s->k * s->directions->features, conditions = s->directions->conditions;
  comp_status status = COMP_OK;
  memset(s->total, 0, size * sizeof *s->total);
  for (size_t c = 0; c < conditions && status == COMP_OK; c++) {
    status = correlate(s, s->single + c * size, s->vectors, c, 0);
    for (size_t i = 0; i < size; i++) s->total[i] += s->single[c * size + i];
  }
  for (size_t c = 0; c < conditions && status == COMP_OK; c++) {
    float *others = s->single + c * size;
    for (size_t i = 0; i < size; i++) others[i] = s->total[i] - others[i];
    status = correlate(s, s->images, others, c, c > 0 ? COMP__ACCUMULATE : 0);
  }
  return status;
}

static comp_status orthonormalize(search *s, const float *from) {
  const size_t size = s->k * s->directions->features;
  double *copy = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&copy, size, sizeof *copy));
  for (size_t i = 0; i < size; i++) copy[i] = from[i];
  COMP__TRY(comp__orthonormalize(copy, s->k, s->directions->features));
  for (size_t i = 0; i < size; i++) s->vectors[i] = (float)copy[i];
done:
  comp__free(copy);
  return status;
}

/* How many directions conditions share beyond chance. Where features are independent, the largest eigenvalue of the
 * correlations of n rows of length 1 is near (1 + sqrt(features / n))^2 / features, and another condition has the mean
 * eigenvalue, 1 / features, in the same direction. Stretched noise would drown what is shared. */
static size_t above_noise(const search *s, const double *values) {
  const comp__directions *d = s->directions;
  const double features = (double)d->features, others = (double)(d->conditions - 1);
  double chance = 0.0;
  for (size_t c = 0; c < d->conditions; c++) {
    const double n = fmax(1.0, (double)(s->start[c + 1] - s->start[c]));
    chance += others * pow((1.0 + sqrt(features / n)) / features, 2.0);
  }
  const size_t most = s->k < COMP__DIRECTIONS ? s->k : COMP__DIRECTIONS;
  size_t count = 0;
  while (count < most && values[count] > MARGIN * chance) count++;
  return count < FEWEST ? (FEWEST < most ? FEWEST : most) : count;
}

/* The best directions of the subspace, first ones first: turns it to the eigenvectors of the operator in it. */
static comp_status turn(search *s) {
  const size_t k = s->k, features = s->directions->features;
  double *a = NULL, *values = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&a, k * k, sizeof *a));
  COMP__TRY(comp__alloc(&values, k, sizeof *values));
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < k; j++)
      for (size_t g = 0; g < features; g++)
        a[i * k + j] += 0.5 * ((double)s->vectors[i * features + g] * (double)s->images[j * features + g] +
                               (double)s->vectors[j * features + g] * (double)s->images[i * features + g]);
  COMP__TRY(comp__eigen_symmetric(a, k, values));
  s->directions->count = above_noise(s, values);
  for (size_t i = 0; i < s->directions->count; i++)
    for (size_t g = 0; g < features; g++) {
      double sum = 0.0;
      for (size_t j = 0; j < k; j++) sum += a[i * k + j] * (double)s->vectors[j * features + g];
      s->directions->vectors[i * features + g] = (float)sum;
    }
done:
  comp__free(a);
  comp__free(values);
  return status;
}

/* Starts with the directions that were found before, filled up with random vectors. */
static comp_status begin_search(search *s, bool again) {
  const size_t features = s->directions->features, known = again ? s->directions->count : 0;
  comp__rng_fill_normal(s->images, s->k * features, comp__rng_at(0, COMP__RNG_DIRECTIONS, 0, 0), 0);
  memcpy(s->images, s->directions->vectors, known * features * sizeof *s->images);
  return orthonormalize(s, s->images);
}

static comp_status measure_stretch(search *s) {
  comp__directions *d = s->directions;
  comp_status status = comp__matmul_f32(s->context, s->scores, d->count, s->scaled, d->features, d->vectors,
                                        d->features, s->n, d->count, d->features, COMP__TRANS_B);
  for (size_t v = 0; v < d->count && status == COMP_OK; v++) {
    double square = 0.0;
    for (size_t i = 0; i < s->n; i++)
      square += (double)s->scores[i * d->count + v] * (double)s->scores[i * d->count + v];
    d->stretch[v] = square > 0.0 ? (float)(1.0 / sqrt(square / (double)s->n)) : 0.0f;
  }
  return status;
}

static comp_status new_directions(comp__directions *out, size_t conditions, size_t features) {
  comp_status status;
  out->conditions = conditions;
  out->features = features;
  const size_t most = features < COMP__DIRECTIONS ? features : COMP__DIRECTIONS;
  COMP__TRY(comp__alloc(&out->mean, conditions * features, sizeof *out->mean));
  COMP__TRY(comp__alloc(&out->factor, conditions * features, sizeof *out->factor));
  COMP__TRY(comp__alloc(&out->vectors, most * features, sizeof *out->vectors));
  COMP__TRY(comp__alloc(&out->stretch, most, sizeof *out->stretch));
done:
  return status;
}

comp_status comp__directions_find(comp__directions *out, comp_context *context, const float *rows, const float *weight,
                                  const size_t *start, size_t conditions, size_t features) {
  const bool again = out->vectors != NULL;
  search s = {
      .context = context, .directions = out, .rows = rows, .weight = weight, .start = start, .n = start[conditions]};
  comp_status status = COMP_OK;
  if (!again) COMP__TRY(new_directions(out, conditions, features));
  s.k = COMP__DIRECTIONS + SPARE < features ? COMP__DIRECTIONS + SPARE : features;
  COMP__TRY(comp__alloc(&s.scaled, s.n * features, sizeof *s.scaled));
  COMP__TRY(comp__alloc(&s.scores, s.n * s.k, sizeof *s.scores));
  COMP__TRY(comp__alloc(&s.vectors, s.k * features, sizeof *s.vectors));
  COMP__TRY(comp__alloc(&s.images, s.k * features, sizeof *s.images));
  COMP__TRY(comp__alloc(&s.total, s.k * features, sizeof *s.total));
  COMP__TRY(comp__alloc(&s.single, conditions * s.k * features, sizeof *s.single));
  comp__parallel_for(context, features, 64, measure_columns, &s);
  scaling scale = {.directions = out, .rows = rows, .out = s.scaled, .start = start};
  comp__parallel_for(context, s.n, 16, scale_rows, &scale);
  COMP__TRY(begin_search(&s, again));
  for (int round = again ? FIRST_ROUNDS / 2 : 0; round < FIRST_ROUNDS; round++) {
    COMP__TRY(apply(&s));
    if (round + 1 < FIRST_ROUNDS) COMP__TRY(orthonormalize(&s, s.images));
  }
  COMP__TRY(turn(&s));
  COMP__TRY(measure_stretch(&s));
done:
  comp__free(s.scaled);
  comp__free(s.scores);
  comp__free(s.vectors);
  comp__free(s.images);
  comp__free(s.total);
  comp__free(s.single);
  return status;
}

void comp__directions_release(comp__directions *directions) {
  comp__free(directions->mean);
  comp__free(directions->factor);
  comp__free(directions->vectors);
  comp__free(directions->stretch);
  *directions = (comp__directions){0};
}

comp_status comp__directions_project(float *out, comp_context *context, const comp__directions *d, const float *rows,
                                     size_t n, size_t k, float *scratch) {
  scaling scale = {.directions = d, .rows = rows, .out = scratch, .k = k};
  comp__parallel_for(context, n, 16, scale_rows, &scale);
  comp_status status = comp__matmul_f32(context, out, d->count, scratch, d->features, d->vectors, d->features, n,
                                        d->count, d->features, COMP__TRANS_B);
  for (size_t i = 0; i < n * d->count && status == COMP_OK; i++) out[i] *= d->stretch[i % d->count];
  return status;
}
