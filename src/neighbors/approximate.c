/*
 * approximate.c: search by a graph (HNSW).
 *
 * The graph is built by one thread, in the order of the points, so that it is the same at any number of threads;
 * searching it is parallel. What it finds is computed in f64 and sorted as in exact search. A sample of the queries is
 * searched exactly too; while too few of its neighbours are found, more effort is spent.
 */
#include <math.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "neighbors/hnsw.h"
#include "neighbors/search.h"
#include "neighbors/topk.h"
#include "nn/kernels.h"

enum { LINKS = 24, BUILD_EFFORT = 200, SAMPLE = 1000, CHUNK = 32, RAISES = 3 };

static const double WANTED_RECALL = 0.985;

typedef struct approximate {
  const comp__question *question;
  comp__hnsw *graph;
  size_t padded;        /* dims, padded for the kernel */
  const float *rows;    /* [queries, padded] */
  const size_t *chosen; /* queries to search; NULL: all */
  size_t first;
  int32_t *indices;
  float *distances;
  int32_t *labels;       /* [threads, k + 1] */
  comp__candidate *list; /* [threads, k + 1] */
  bool *lacking;         /* [queries]: fewer than k were found */
} approximate;

static comp_status graph_error(int why) {
  if (why == COMP__HNSW_MEMORY) return comp__error(COMP_ERR_MEMORY, "no memory for the graph of neighbours");
  return comp__error(COMP_ERR_NUMERIC, "the graph of neighbours failed; ask for exact search");
}

static comp_status search_rows(void *arg, size_t begin, size_t end, int thread) {
  const approximate *a = arg;
  const comp__question *q = a->question;
  const size_t k = q->k;
  int32_t *labels = a->labels + (size_t)thread * (k + 1);
  comp__candidate *list = a->list + (size_t)thread * (k + 1);
  for (size_t i = a->first + begin; i < a->first + end; i++) {
    const size_t query = a->chosen ? a->chosen[i] : i;
    size_t found = 0, count = 0;
    int why = comp__hnsw_search(a->graph, labels, &found, a->rows + query * a->padded, k + (q->own ? 1 : 0));
    if (why) return graph_error(why);
    for (size_t j = 0; j < found; j++)
      if (!q->own || labels[j] != q->own[query])
        list[count++] =
            (comp__candidate){comp__points_distance(&q->queries, query, &q->points, (size_t)labels[j]), labels[j]};
    a->lacking[i] = count < k;
    if (count < k) continue;
    comp__candidates_sort(list, count);
    for (size_t j = 0; j < k; j++) {
      a->indices[i * k + j] = list[j].index;
      a->distances[i * k + j] = (float)(q->points.inverse ? list[j].distance : sqrt(list[j].distance));
    }
  }
  return COMP_OK;
}

/* Rows as the kernel wants them: padded with zeros; directions for cosine. It should be freed via comp__free(). */
static comp_status pad_rows(float **out, const comp__points *points, size_t padded) {
  comp_status status = comp__calloc(out, points->n, padded * sizeof **out);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < points->n; i++)
    for (size_t d = 0; d < points->dims; d++) {
      float x = points->x[i * points->dims + d];
      (*out)[i * padded + d] = points->inverse ? (float)((double)x * points->inverse[i]) : x;
    }
  return COMP_OK;
}

static comp_status build(approximate *a, comp_context *context, const float *rows) {
  const size_t n = a->question->points.n;
  int why = comp__hnsw_new(&a->graph, comp__kernels_get()->squared, a->padded, n, LINKS, BUILD_EFFORT);
  if (why) return graph_error(why);
  comp__progress_begin(context, "building the graph of neighbours", "points", n);
  for (size_t i = 0; i < n; i++) {
    if (i % 256 == 0) {
      comp_status status = comp__check_interrupt(context);
      if (status != COMP_OK) return status;
      comp__progress_update(context, i, NULL);
    }
    why = comp__hnsw_add(a->graph, rows + i * a->padded, (int32_t)i);
    if (why) return graph_error(why);
  }
  comp__progress_end(context);
  return COMP_OK;
}

static comp_status search_all(approximate *a, comp_context *context, size_t n) {
  const size_t piece = 65536;
  for (a->first = 0; a->first < n; a->first += piece) {
    comp_status status = comp__check_interrupt(context);
    size_t count = n - a->first < piece ? n - a->first : piece;
    if (status == COMP_OK) status = comp__parallel_try(context, count, CHUNK, search_rows, a);
    if (status != COMP_OK) return status;
    comp__progress_update(context, a->first + count, NULL);
  }
  return COMP_OK;
}

/* Some of the queries, as a question of its own. It should be released via release_part(). */
typedef struct part {
  comp__question question;
  float *x;
  double *inverse;
  int32_t *own;
  int32_t *indices;
  float *distances;
} part;

static void release_part(part *p) {
  comp__free(p->x);
  comp__free(p->inverse);
  comp__free(p->own);
  comp__free(p->indices);
  comp__free(p->distances);
}

/* Exact answers for some queries. */
static comp_status search_part(part *out, comp_context *context, const comp__question *q, const size_t *chosen,
                               size_t n) {
  const size_t dims = q->points.dims;
  comp_status status;
  *out = (part){.question = *q};
  COMP__TRY(comp__alloc(&out->x, n, dims * sizeof *out->x));
  COMP__TRY(comp__alloc(&out->inverse, n, sizeof *out->inverse));
  COMP__TRY(comp__alloc(&out->own, n, sizeof *out->own));
  COMP__TRY(comp__alloc(&out->indices, n, q->k * sizeof *out->indices));
  COMP__TRY(comp__alloc(&out->distances, n, q->k * sizeof *out->distances));
  for (size_t i = 0; i < n; i++) {
    for (size_t d = 0; d < dims; d++) out->x[i * dims + d] = q->queries.x[chosen[i] * dims + d];
    out->inverse[i] = q->queries.inverse ? q->queries.inverse[chosen[i]] : 0.0;
    out->own[i] = q->own ? q->own[chosen[i]] : -1;
  }
  out->question.queries = (comp__points){out->x, q->queries.inverse ? out->inverse : NULL, n, dims};
  if (q->own) out->question.own = out->own;
  COMP__TRY(comp__search_exact(out->indices, out->distances, context, &out->question));
done:
  return status;
}

/* The share of the sample's neighbours that are found: those not farther than the k-th true one. */
static comp_status measure(double *recall, approximate *a, comp_context *context, const part *truth,
                           const size_t *sample, size_t n) {
  const size_t k = a->question->k;
  approximate trial = *a;
  comp_status status;
  trial.chosen = sample;
  trial.indices = NULL;
  trial.distances = NULL;
  COMP__TRY(comp__alloc(&trial.indices, n, k * sizeof *trial.indices));
  COMP__TRY(comp__alloc(&trial.distances, n, k * sizeof *trial.distances));
  COMP__TRY(search_all(&trial, context, n));
  size_t found = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k && !trial.lacking[i]; j++)
      found += trial.distances[i * k + j] <= truth->distances[i * k + k - 1];
  *recall = (double)found / (double)(n * k);
done:
  comp__free(trial.indices);
  comp__free(trial.distances);
  return status;
}

/* Raises the effort until a sample is found well enough. */
static comp_status tune(double *recall, approximate *a, comp_context *context) {
  const comp__question *q = a->question;
  const size_t n = q->queries.n < SAMPLE ? q->queries.n : SAMPLE;
  size_t *sample = NULL, effort = 2 * q->k > 120 ? 2 * q->k : 120;
  part truth = {0};
  comp_status status;
  COMP__TRY(comp__alloc(&sample, q->queries.n, sizeof *sample));
  comp__rng_permutation(sample, q->queries.n, comp__rng_at(0, COMP__RNG_NEIGHBORS, 0, 0));
  COMP__TRY(search_part(&truth, context, q, sample, n));
  for (int raise = 0;; raise++, effort *= 2) {
    comp__hnsw_set_effort(a->graph, effort);
    COMP__TRY(measure(recall, a, context, &truth, sample, n));
    comp__debug(context, "graph of neighbours: recall %.4f with %zu candidates", *recall, effort);
    if (*recall >= WANTED_RECALL || raise == RAISES) break;
  }
done:
  comp__free(sample);
  release_part(&truth);
  return status;
}

/* Exact answers where the graph gave too few: parts of it may not be reachable. */
static comp_status fill_lacking(approximate *a, comp_context *context) {
  const size_t k = a->question->k, m = a->question->queries.n;
  size_t *chosen = NULL, n = 0;
  part rest = {0};
  comp_status status;
  COMP__TRY(comp__alloc(&chosen, m, sizeof *chosen));
  for (size_t i = 0; i < m; i++)
    if (a->lacking[i]) chosen[n++] = i;
  if (n == 0) goto done;
  COMP__TRY(search_part(&rest, context, a->question, chosen, n));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) {
      a->indices[chosen[i] * k + j] = rest.indices[i * k + j];
      a->distances[chosen[i] * k + j] = rest.distances[i * k + j];
    }
done:
  comp__free(chosen);
  release_part(&rest);
  return status;
}

comp_status comp__search_approximate(int32_t *indices, float *distances, double *recall, comp_context *context,
                                     const comp__question *question) {
  const size_t m = question->queries.n, threads = (size_t)comp_context_thread_count(context);
  approximate a = {.question = question, .indices = indices, .distances = distances};
  float *points = NULL, *queries = NULL;
  comp_status status;
  *recall = 1.0;
  a.padded = (question->points.dims + COMP__NEAR_PAD - 1) / COMP__NEAR_PAD * COMP__NEAR_PAD;
  COMP__TRY(pad_rows(&points, &question->points, a.padded));
  if (question->queries.x != question->points.x) COMP__TRY(pad_rows(&queries, &question->queries, a.padded));
  a.rows = queries ? queries : points;
  COMP__TRY(comp__alloc(&a.labels, threads, (question->k + 1) * sizeof *a.labels));
  COMP__TRY(comp__alloc(&a.list, threads, (question->k + 1) * sizeof *a.list));
  COMP__TRY(comp__calloc(&a.lacking, m, sizeof *a.lacking));
  COMP__TRY(build(&a, context, points));
  if (m == 0) goto done;
  COMP__TRY(tune(recall, &a, context));
  comp__progress_begin(context, "finding neighbours", "points", m);
  COMP__TRY(search_all(&a, context, m));
  comp__progress_end(context);
  COMP__TRY(fill_lacking(&a, context));
done:
  comp__hnsw_free(a.graph);
  comp__free(points);
  comp__free(queries);
  comp__free(a.labels);
  comp__free(a.list);
  comp__free(a.lacking);
  return status;
}

bool comp__search_prefers_graph(const comp__question *question) {
  /* From measured costs: a pair costs exact search 0.03 ns a dimension, a link of the graph some 1000 pairs' worth. The
   * choice must not depend on threads, as the result does not: two are assumed. */
  const double n = (double)question->points.n, m = (double)question->queries.n, dims = (double)question->points.dims;
  const double exact = n * m * (dims + 8.0) * 0.03e-9 / 2.0;
  const double graph = (n + m * (double)question->k / 15.0 / 2.0) * log2(n + 2.0) * (dims + 40.0) * 0.15e-6;
  return exact > graph;
}
