/* kmeans.c: Lloyd's algorithm from k-means++ seeds. Distances are products of a chunk of points with all centroids. */
#include "baseline/kmeans.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "nn/matmul.h"

enum { CHUNK = 1024 };

typedef struct kmeans {
  comp_context *context;
  const float *points; /* [n, d] */
  size_t n, d, k, chunks;
  float *centroids; /* [k, d] */
  float *half;      /* [k]: half the squared length of each */
  int32_t *labels;  /* [n] */
  double *nearest;  /* [n]: squared distance from the nearest centroid */
  float *products;  /* [threads, CHUNK, k] */
  double *sums;     /* [chunks, k, d]; the first becomes the total */
  double *counts;   /* [chunks, k] */
  size_t latest;    /* seeding: the centroid that has just been chosen */
} kmeans;

static double squared_distance(const float *a, const float *b, size_t d) {
  double sum = 0.0;
  for (size_t j = 0; j < d; j++) sum += ((double)a[j] - b[j]) * ((double)a[j] - b[j]);
  return sum;
}

static void approach(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const kmeans *w = arg;
  for (size_t i = begin; i < end; i++)
    w->nearest[i] = fmin(w->nearest[i], squared_distance(w->points + i * w->d, w->centroids + w->latest * w->d, w->d));
}

/* Each seed is a point drawn with weight by its distance from the seeds so far. */
static void choose_seeds(kmeans *w, comp__rng rng) {
  for (size_t i = 0; i < w->n; i++) w->nearest[i] = INFINITY;
  size_t point = (size_t)comp__rng_below(rng, 0, w->n);
  for (size_t c = 0; c < w->k; c++) {
    memcpy(w->centroids + c * w->d, w->points + point * w->d, w->d * sizeof(float));
    w->latest = c;
    comp__parallel_for(w->context, w->n, CHUNK, approach, w);
    double total = 0.0, sum = 0.0;
    for (size_t i = 0; i < w->n; i++) total += w->nearest[i];
    double wanted = total * comp__rng_uniform(rng, c + 1);
    for (point = 0; point + 1 < w->n && (sum += w->nearest[point]) < wanted;) point++;
  }
}

static comp_status assign(void *arg, size_t begin, size_t end, int thread) {
  const kmeans *w = arg;
  size_t k = w->k, d = w->d, chunk = begin / CHUNK;
  float *products = w->products + (size_t)thread * CHUNK * k;
  double *sums = w->sums + chunk * k * d, *counts = w->counts + chunk * k;
  comp_status status = comp__matmul_f32(w->context, products, k, w->points + begin * d, d, w->centroids, d, end - begin,
                                        k, d, COMP__TRANS_B);
  if (status != COMP_OK) return status;
  memset(sums, 0, k * d * sizeof *sums);
  memset(counts, 0, k * sizeof *counts);
  for (size_t i = begin; i < end; i++) {
    const float *p = products + (i - begin) * k, *x = w->points + i * d;
    size_t best = 0;
    for (size_t c = 1; c < k; c++)
      if (p[c] - w->half[c] > p[best] - w->half[best]) best = c;
    w->labels[i] = (int32_t)best;
    w->nearest[i] = squared_distance(x, w->centroids + best * d, d);
    counts[best] += 1.0;
    for (size_t j = 0; j < d; j++) sums[best * d + j] += x[j];
  }
  return COMP_OK;
}

/* Assigns all points; *inertia is the sum of their squared distances. A centroid without points stays where it is. */
static comp_status step(kmeans *w, double *inertia) {
  for (size_t c = 0; c < w->k; c++) {
    double sum = 0.0;
    for (size_t j = 0; j < w->d; j++) sum += (double)w->centroids[c * w->d + j] * w->centroids[c * w->d + j];
    w->half[c] = (float)(0.5 * sum);
  }
  comp_status status = comp__parallel_try(w->context, w->n, CHUNK, assign, w);
  if (status != COMP_OK) return status;
  for (size_t b = 1; b < w->chunks; b++) {
    for (size_t j = 0; j < w->k * w->d; j++) w->sums[j] += w->sums[b * w->k * w->d + j];
    for (size_t c = 0; c < w->k; c++) w->counts[c] += w->counts[b * w->k + c];
  }
  *inertia = 0.0;
  for (size_t i = 0; i < w->n; i++) *inertia += w->nearest[i];
  return COMP_OK;
}

static void move_centroids(kmeans *w) {
  for (size_t c = 0; c < w->k; c++)
    for (size_t j = 0; w->counts[c] > 0.0 && j < w->d; j++)
      w->centroids[c * w->d + j] = (float)(w->sums[c * w->d + j] / w->counts[c]);
}

static comp_status allocate(kmeans *w) {
  comp_status status;
  size_t threads = (size_t)comp_context_threads(w->context);
  COMP__TRY(comp__alloc(&w->centroids, w->k, w->d * sizeof *w->centroids));
  COMP__TRY(comp__alloc(&w->half, w->k, sizeof *w->half));
  COMP__TRY(comp__alloc(&w->labels, w->n, sizeof *w->labels));
  COMP__TRY(comp__alloc(&w->nearest, w->n, sizeof *w->nearest));
  COMP__TRY(comp__alloc(&w->products, threads * CHUNK, w->k * sizeof *w->products));
  COMP__TRY(comp__alloc(&w->sums, w->chunks * w->k, w->d * sizeof *w->sums));
  COMP__TRY(comp__alloc(&w->counts, w->chunks, w->k * sizeof *w->counts));
done:
  return status;
}

comp_status comp__kmeans(float *centroids, int32_t *labels, comp_context *context, const float *points, size_t n,
                         size_t d, size_t k, size_t starts, size_t steps, uint64_t seed) {
  comp_status status;
  kmeans w = {.context = context, .points = points, .n = n, .d = d, .k = k, .chunks = (n + CHUNK - 1) / CHUNK};
  double best = INFINITY;
  COMP__TRY(allocate(&w));
  for (size_t s = 0; s < starts; s++) {
    double inertia = INFINITY, before = INFINITY;
    choose_seeds(&w, comp__rng_at(seed, COMP__RNG_BASELINE, s, 1));
    for (size_t t = 0; t < steps; t++) {
      COMP__TRY(comp__check_interrupt(context));
      COMP__TRY(step(&w, &inertia));
      if (t > 0 && before - inertia <= 1e-6 * before) break;
      before = inertia;
      move_centroids(&w);
    }
    if (!(inertia < best)) continue;
    best = inertia;
    memcpy(centroids, w.centroids, k * d * sizeof *centroids);
    if (labels) memcpy(labels, w.labels, n * sizeof *labels);
  }
done:
  comp__free(w.centroids);
  comp__free(w.half);
  comp__free(w.labels);
  comp__free(w.nearest);
  comp__free(w.products);
  comp__free(w.sums);
  comp__free(w.counts);
  return status;
}
