/* cells.c: predictions that look like measured cells. */
#include "task/cells.h"

#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "task/coder.h"
#include "task/own.h"

enum { STRATA = 64 };

typedef struct pass {
  const comp__aligned *aligned;
  comp_prediction *prediction;
  const size_t *place;   /* [samples]: number of a sample in an order in which neighbours in z are near each other */
  const int8_t *missing; /* [features]: 1 where the data lacks the feature */
  float *rooms;          /* [threads, 2, features] */
  uint64_t seed;
  int32_t to;
} pass;

/* ---- An order in which neighbours in z are near each other ---- */

typedef struct point {
  float key;
  size_t sample;
} point;

static int by_key(const void *a, const void *b) {
  const point *x = a, *y = b;
  if (x->key != y->key) return x->key > y->key ? 1 : -1;
  return (x->sample > y->sample) - (x->sample < y->sample);
}

/* The coordinate with the largest variance. */
static size_t widest(const point *p, size_t n, const float *z, size_t latent) {
  size_t best = 0;
  double most = -1;
  for (size_t d = 0; d < latent; d++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
      double v = (double)z[p[i].sample * latent + d];
      sum += v;
      squares += v * v;
    }
    double variance = squares - sum * sum / (double)n;
    if (variance > most) most = variance, best = d;
  }
  return best;
}

/* Halves the points at the median of their widest coordinate, down to groups of STRATA. */
static void arrange(point *p, size_t n, const float *z, size_t latent) {
  while (n > STRATA) {
    size_t d = widest(p, n, z, latent), half = (n / 2 + STRATA - 1) / STRATA * STRATA;
    for (size_t i = 0; i < n; i++) p[i].key = z[p[i].sample * latent + d];
    qsort(p, n, sizeof *p, by_key);
    arrange(p, half, z, latent);
    p += half;
    n -= half;
  }
}

static comp_status order_samples(size_t *place, comp_context *context, const comp__aligned *f,
                                 const comp_prediction *prediction, comp_precision precision) {
  const size_t latent = f->model->network.options.latent;
  comp__coder *coder = NULL;
  float *z = NULL;
  point *points = NULL;
  size_t n = 0;
  comp_status status;
  COMP__TRY(comp__coder_new(&coder, context, f->model, precision));
  COMP__TRY(comp__calloc(&z, f->samples, latent * sizeof *z)); /* samples without a condition are not encoded */
  COMP__TRY(comp__calloc(&points, f->samples, sizeof *points));
  COMP__TRY(comp__encode(context, coder, f, z, NULL));
  for (size_t i = 0; i < f->samples; i++)
    if (prediction->predicted[i]) points[n++].sample = i;
  arrange(points, n, z, latent);
  for (size_t i = 0; i < n; i++) place[points[i].sample] = i;
done:
  comp__free(points);
  comp__free(z);
  comp__coder_free(coder);
  return status;
}

/* ---- One sample ---- */

/* The smallest value above 0; 0 where the row has no zeros, or values below 0. */
static float find_least(const pass *p, const float *x, size_t features) {
  float least = INFINITY;
  bool zeros = false;
  for (size_t g = 0; g < features; g++) {
    if (p->missing[g]) continue;
    if (x[g] < 0.0f) return 0.0f;
    if (x[g] > 0.0f && x[g] < least) least = x[g];
    zeros = zeros || x[g] == 0.0f;
  }
  return zeros && isfinite(least) ? least : 0.0f;
}

/* In (0, 1): each STRATA samples in a row take every STRATA-th part once, in an order of the feature's own. */
static double draw(const pass *p, size_t sample, size_t feature, float within) {
  size_t place = p->place[sample];
  uint64_t bits = comp__rng_bits(comp__rng_at(p->seed, COMP__RNG_CELLS, 0, place / STRATA), feature);
  uint64_t step = bits % STRATA | 1, first = bits / STRATA % STRATA;
  return ((double)((step * (place % STRATA) + first) % STRATA) + (double)within) / STRATA;
}

static float expected(float x, float own, float change) {
  if (change >= 0.0f) return x + change;
  return own > 0.0f && own + change > 0.0f ? x * ((own + change) / own) : 0.0f;
}

/* comp__own_fn: the row of one sample, in place. */
static void finish_sample(void *arg, size_t sample, const float *own, int thread) {
  const pass *p = arg;
  const size_t features = p->aligned->model->network.features;
  float *value = p->prediction->values->values + sample * features;
  float *x = p->rooms + (size_t)thread * 2 * features, *within = x + features;
  if (p->aligned->codes && p->aligned->codes[sample] == p->to) return;
  comp__aligned_row(x, p->aligned, sample);
  float least = find_least(p, x, features);
  if (least == 0.0f) return;
  comp__rng_fill_uniform(within, features, comp__rng_at(p->seed, COMP__RNG_CELLS, 1, sample), 0);
  for (size_t g = 0; g < features; g++) {
    float e = expected(x[g], own[g], value[g] - x[g]);
    if (e < least && e > 0.0f) e = draw(p, sample, g, within[g]) * (double)least < (double)e ? least : 0.0f;
    value[g] = e;
  }
}

comp_status comp__as_cells(comp_prediction *prediction, comp_context *context, const comp__aligned *aligned,
                           const comp__counterfactual_options *options, int32_t to) {
  const size_t features = aligned->model->network.features, threads = (size_t)comp_context_thread_count(context);
  size_t *place = NULL;
  int8_t *missing = NULL;
  pass p = {.aligned = aligned, .prediction = prediction, .seed = options->seed, .to = to};
  comp_status status;
  COMP__TRY(comp__calloc(&place, aligned->samples, sizeof *place));
  COMP__TRY(comp__calloc(&missing, features, sizeof *missing));
  COMP__TRY(comp__alloc(&p.rooms, threads * 2, features * sizeof *p.rooms));
  for (size_t m = 0; m < aligned->n_missing; m++) missing[aligned->missing[m]] = 1;
  COMP__TRY(order_samples(place, context, aligned, prediction, options->precision));
  p.place = place;
  p.missing = missing;
  COMP__TRY(comp__decode_own(context, aligned, options->precision, prediction->predicted, finish_sample, &p,
                             "making cells of predictions"));
done:
  comp__free(p.rooms);
  comp__free(missing);
  comp__free(place);
  return status;
}
