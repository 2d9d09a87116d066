/*
 * exact.c: exact search, a tile of points at a time, with a list of candidates for each query.
 *
 * A tile gives a lower bound of the distance for every pair, in f32: from differences while there are few dimensions,
 * else from a matrix product, |a|^2 + |b|^2 - 2 ab, whose rounding is bounded by the lengths. Only pairs whose bound
 * does not exceed the k-th distance so far are computed in f64 and may enter the list, so the result is that of f64
 * throughout.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "neighbors/search.h"
#include "neighbors/topk.h"
#include "nn/kernels.h"
#include "nn/matmul.h"

enum { ROWS = 32, TILE = 256, DIRECT_DIMS = 64 };

static const double ULP = 0x1p-24; /* relative error of one rounding to f32 */

double comp__points_distance(const comp__points *a, size_t i, const comp__points *b, size_t j) {
  const size_t dims = a->dims;
  const float *x = a->x + i * dims, *y = b->x + j * dims;
  const double u = a->inverse ? a->inverse[i] : 1.0, v = a->inverse ? b->inverse[j] : 1.0;
  if (u == 0.0 || v == 0.0) return 1.0;
  /* Four sums, so that one does not wait for another. */
  double s[4] = {0.0, 0.0, 0.0, 0.0};
  size_t d = 0;
  if (a->inverse) {
    for (; d + 4 <= dims; d += 4)
      for (size_t l = 0; l < 4; l++) {
        double difference = (double)x[d + l] * u - (double)y[d + l] * v;
        s[l] += difference * difference;
      }
    for (; d < dims; d++) {
      double difference = (double)x[d] * u - (double)y[d] * v;
      s[0] += difference * difference;
    }
    return 0.5 * ((s[0] + s[1]) + (s[2] + s[3])); /* |a - b|^2 = 2 - 2 cos for directions, without its cancellation */
  }
  for (; d + 4 <= dims; d += 4)
    for (size_t l = 0; l < 4; l++) {
      double difference = (double)x[d + l] - (double)y[d + l];
      s[l] += difference * difference;
    }
  for (; d < dims; d++) {
    double difference = (double)x[d] - (double)y[d];
    s[0] += difference * difference;
  }
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/* One search: the points as tiles want them, and scratch memory for each thread. */
typedef struct exact {
  const comp__question *question;
  comp_context *context;
  const comp__kernels *kernels;
  int32_t *indices;
  float *distances;
  size_t first; /* query where the present piece starts */
  bool direct;
  float *points;          /* direct: tiles [dims, TILE], one after the other; else centred points [n, dims] */
  float *point_lengths;   /* product: [n, padded] lowered |b|^2 */
  float *queries;         /* [m, dims]: as the points; product: centred */
  float *query_lengths;   /* [m] */
  size_t room;            /* candidates a query */
  comp__candidate *lists; /* [threads, ROWS, room] */
  float *tiles;           /* [threads, ROWS, TILE] */
} exact;

/* State of one query. */
typedef struct listing {
  comp__candidate *list;
  size_t count;
  double worst; /* no candidate at this distance or beyond it can enter */
  float limit;  /* the same as a bound for the tile's values */
} listing;

/* The largest value of a tile that may belong to a pair nearer than `worst`. */
static float tile_limit(const exact *e, double worst, size_t query) {
  const size_t dims = e->question->points.dims;
  double d2 = worst;
  if (e->question->points.inverse) {
    double d = sqrt(2.0 * worst + 1e-13) + 8.0 * ULP; /* directions were rounded to f32 */
    d2 = d * d;
  }
  double limit = e->direct ? d2 * (1.0 + 4.0 * (double)(dims + 4) * ULP) : d2 - (double)e->query_lengths[query];
  limit += (e->direct ? 0.0 : fabs(limit) * 4.0 * ULP) + (double)FLT_MIN;
  return limit < (double)FLT_MAX ? nextafterf((float)limit, INFINITY) : INFINITY;
}

static void cut(const exact *e, listing *l, size_t query) {
  const size_t k = e->question->k;
  if (l->count < k) return;
  comp__candidates_select(l->list, l->count, k);
  l->count = k;
  l->worst = l->list[k - 1].distance;
  l->limit = tile_limit(e, l->worst, query);
}

/* Offers the points first .. first + n - 1, with their values in the tile, to the list of a query. */
static void offer(const exact *e, listing *l, const float *tile, size_t query, size_t first, size_t n) {
  const comp__question *q = e->question;
  const size_t own = q->own ? (size_t)q->own[query] : SIZE_MAX;
  for (size_t j = 0; j < n; j++) {
    if (!(tile[j] <= l->limit) || first + j == own) continue;
    double distance = comp__points_distance(&q->queries, query, &q->points, first + j);
    if (distance < l->worst) l->list[l->count++] = (comp__candidate){distance, (int32_t)(first + j)};
  }
  if (l->count > q->k + q->k / 2 + 16) cut(e, l, query);
}

static void finish(const exact *e, listing *l, size_t query) {
  const size_t k = e->question->k;
  cut(e, l, query);
  comp__candidates_sort(l->list, k);
  for (size_t j = 0; j < k; j++) {
    double distance = l->list[j].distance;
    e->indices[query * k + j] = l->list[j].index;
    e->distances[query * k + j] = (float)(e->question->points.inverse ? distance : sqrt(distance));
  }
}

static comp_status fill_tile(const exact *e, float *tile, size_t query, size_t rows, size_t first, size_t n) {
  const size_t dims = e->question->points.dims;
  if (e->direct) {
    e->kernels->distances(tile, TILE, e->queries + query * dims, e->points + first * dims, TILE, dims, rows, 0, TILE);
    return COMP_OK;
  }
  comp_status status = comp__matmul_f32(e->context, tile, TILE, e->queries + query * dims, dims,
                                        e->points + first * dims, dims, rows, n, dims, COMP__TRANS_B);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) tile[i * TILE + j] = e->point_lengths[first + j] - 2.0f * tile[i * TILE + j];
  return COMP_OK;
}

static comp_status search_rows(void *arg, size_t begin, size_t end, int thread) {
  const exact *e = arg;
  const size_t n = e->question->points.n, rows = end - begin, query = e->first + begin;
  float *tile = e->tiles + (size_t)thread * ROWS * TILE;
  listing lists[ROWS];
  for (size_t i = 0; i < rows; i++)
    lists[i] = (listing){e->lists + ((size_t)thread * ROWS + i) * e->room, 0, INFINITY, INFINITY};
  for (size_t first = 0; first < n; first += TILE) {
    size_t count = n - first < TILE ? n - first : TILE;
    comp_status status = fill_tile(e, tile, query, rows, first, count);
    if (status != COMP_OK) return status;
    for (size_t i = 0; i < rows; i++) /* At distance 0 nothing can be nearer. */
      if (lists[i].worst > 0.0) offer(e, &lists[i], tile + i * TILE, query + i, first, count);
  }
  for (size_t i = 0; i < rows; i++) finish(e, &lists[i], query + i);
  return COMP_OK;
}

/* Copies of the points for the tiles: directions for cosine. */
static void copy_points(float *out, const comp__points *points) {
  for (size_t i = 0; i < points->n; i++)
    for (size_t d = 0; d < points->dims; d++) {
      float x = points->x[i * points->dims + d];
      out[i * points->dims + d] = points->inverse ? (float)((double)x * points->inverse[i]) : x;
    }
}

static void transpose_tiles(float *out, const float *x, size_t n, size_t dims) {
  for (size_t first = 0; first < n; first += TILE)
    for (size_t j = 0; j < TILE; j++)
      for (size_t d = 0; d < dims; d++)
        out[first * dims + d * TILE + j] = first + j < n ? x[(first + j) * dims + d] : 0.0f;
}

/* Takes `centre` off: shorter points round less. */
static void centre_points(float *x, size_t n, size_t dims, const float *centre) {
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) x[i * dims + d] -= centre[d];
}

/* |a|^2, lowered by all that the product can be wrong by: with unit rounding u the product's error is at most
 * dims u |a| |b|, and 2 |a| |b| <= |a|^2 + |b|^2; rounding of the centred values adds 2 u (|a|^2 + |b|^2) or so. */
static void lowered_lengths(float *out, const float *x, size_t n, size_t dims) {
  const double lower = 1.0 - 2.0 * (double)(dims + 8) * ULP;
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t d = 0; d < dims; d++) sum += (double)x[i * dims + d] * (double)x[i * dims + d];
    out[i] = (float)(sum * lower);
  }
}

static void column_means(float *out, const float *x, size_t n, size_t dims) {
  for (size_t d = 0; d < dims; d++) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i * dims + d];
    out[d] = (float)(sum / (double)n);
  }
}

static comp_status prepare(exact *e, float **rows, float **centre) {
  const comp__question *q = e->question;
  const size_t n = q->points.n, m = q->queries.n, dims = q->points.dims;
  comp_status status;
  COMP__TRY(comp__alloc(rows, n, dims * sizeof **rows));
  copy_points(*rows, &q->points);
  COMP__TRY(comp__alloc(&e->queries, m, dims * sizeof *e->queries));
  copy_points(e->queries, &q->queries);
  if (e->direct) {
    COMP__TRY(comp__alloc(&e->points, (n + TILE - 1) / TILE * TILE, dims * sizeof *e->points));
    transpose_tiles(e->points, *rows, n, dims);
    return COMP_OK;
  }
  COMP__TRY(comp__alloc(centre, dims, sizeof **centre));
  COMP__TRY(comp__alloc(&e->point_lengths, n, sizeof *e->point_lengths));
  COMP__TRY(comp__alloc(&e->query_lengths, m, sizeof *e->query_lengths));
  column_means(*centre, *rows, n, dims);
  centre_points(*rows, n, dims, *centre);
  centre_points(e->queries, m, dims, *centre);
  lowered_lengths(e->point_lengths, *rows, n, dims);
  lowered_lengths(e->query_lengths, e->queries, m, dims);
  e->points = *rows;
  *rows = NULL;
done:
  return status;
}

comp_status comp__search_exact(int32_t *indices, float *distances, comp_context *context,
                               const comp__question *question) {
  const size_t m = question->queries.n, k = question->k, threads = (size_t)comp_context_threads(context);
  float *rows = NULL, *centre = NULL;
  exact e = {.question = question,
             .context = context,
             .kernels = comp__kernels_get(),
             .indices = indices,
             .distances = distances,
             .direct = question->points.dims <= DIRECT_DIMS};
  comp_status status;
  COMP__TRY(prepare(&e, &rows, &centre));
  e.room = k + k / 2 + 16 + TILE;
  COMP__TRY(comp__alloc(&e.lists, threads * ROWS, e.room * sizeof *e.lists));
  COMP__TRY(comp__alloc(&e.tiles, threads * ROWS * TILE, sizeof *e.tiles));
  comp__progress_begin(context, "finding neighbours", "points", m);
  /* Pieces small enough to report and to stop in between: some 2^31 pairs. */
  size_t piece = ((size_t)1 << 31) / (question->points.n + 1) / question->points.dims;
  piece = (piece / ROWS + 8 * threads) * ROWS;
  for (; e.first < m; e.first += piece) {
    COMP__TRY(comp__check_interrupt(context));
    size_t count = m - e.first < piece ? m - e.first : piece;
    COMP__TRY(comp__parallel_try(context, count, ROWS, search_rows, &e));
    comp__progress_update(context, e.first + count, NULL);
  }
  comp__progress_end(context);
done:
  comp__free(rows);
  comp__free(centre);
  comp__free(e.points);
  comp__free(e.point_lengths);
  comp__free(e.queries);
  comp__free(e.query_lengths);
  comp__free(e.lists);
  comp__free(e.tiles);
  return status;
}
