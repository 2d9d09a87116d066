/*
 * exact.c: exact search, a tile of points at a time, with a list of candidates for each query.
 *
 * A tile gives the squared distance of every pair in f32: from differences while there are few dimensions, else a lower
 * bound of it from a matrix product, |a|^2 + |b|^2 - 2 ab, whose rounding is bounded by the lengths. Pairs that may be
 * among the k nearest so far enter the list, with all that rounding could confuse with them; at the end those that are
 * left are computed in f64, and the k nearest taken. So the result is that of f64 throughout.
 *
 * Points and queries are put in an order in which neighbours stand together. Near tiles come first, so that the k-th
 * distance is small soon; tiles that lie farther than that are left out. The ranks of a context that was joined
 * (dist/comm.h) share the queries out.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "dist/comm.h"
#include "neighbors/order.h"
#include "neighbors/search.h"
#include "neighbors/topk.h"
#include "nn/kernels.h"
#include "nn/matmul.h"

enum { ROWS = COMP__TILE_ROWS, TILE = COMP__TILE, STRIP = 16, DIRECT_DIMS = 64 };

static const double ULP = 0x1p-24; /* relative error of one rounding to f32 */

double comp__points_distance(const comp__points *a, size_t i, const comp__points *b, size_t j) {
  const size_t dims = a->dims;
  const float *x = a->x + i * dims, *y = b->x + j * dims;
  const double u = a->inverse ? a->inverse[i] : 1.0, v = b->inverse ? b->inverse[j] : 1.0;
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

/* Points or queries as tiles want them. */
typedef struct ordered {
  int32_t *order; /* [n]: row that stands at a place */
  float *rows;    /* [n, dims] in that order; directions for cosine; centred for products */
  float *lengths; /* product: [n, padded to TILE] lowered squared lengths */
  comp__places places;
} ordered;

/* Points that are looked at together. */
typedef struct looked {
  size_t n;
  const int32_t *rows;  /* [n]: the row of each in the question */
  const float *values;  /* direct: [dims, TILE]; else [n, dims] */
  const float *lengths; /* product: [TILE] */
} looked;

/* Searches, and scratch memory for each thread. */
struct comp__tiles {
  const comp__question *question;
  comp_context *context;
  const comp__where *where;
  const comp__kernels *kernels;
  int32_t *indices;
  float *distances;
  size_t first; /* place of the query where the present piece starts */
  bool direct;
  ordered points, queries;
  float *tiles;           /* direct: the points, [dims, TILE] one after the other */
  size_t full, room;      /* candidates a query: when the list is cut, and what it can hold */
  uint64_t *lists;        /* [threads, ROWS, room] */
  comp__candidate *best;  /* [threads, room] */
  comp__candidate *turns; /* [threads, tiles]: the tiles in the order of their turn */
  float *products;        /* [threads, ROWS, TILE] */
  uint64_t *hits;         /* [threads, ROWS, TILE] */
  float *packed;          /* [threads, TILE, dims]: a tile of points from here and there */
  float *packed_lengths;  /* product: [threads, TILE] */
  int32_t *packed_rows;   /* [threads, TILE] */
};

typedef comp__tiles exact;

/* State of one query. Candidates are keys: the bits of a squared distance in f32, which order distances, above the
 * index. */
typedef struct listing {
  uint64_t *keys;
  size_t count, query; /* query: its row */
  float limit;         /* no squared distance beyond this belongs to one of the k nearest */
} listing;

static inline uint64_t make_key(float squared, int32_t index) {
  uint32_t bits;
  memcpy(&bits, &squared, sizeof bits);
  return ((uint64_t)bits << 32) | (uint32_t)index;
}

static inline float key_squared(uint64_t key) {
  uint32_t bits = (uint32_t)(key >> 32);
  float squared;
  memcpy(&squared, &bits, sizeof squared);
  return squared;
}

/* The largest f32 squared distance that a pair can show whose true distance does not exceed that of a pair that shows
 * `squared`. */
static float widen(const exact *e, float squared) {
  double limit = (double)squared;
  if (e->question->points.inverse) {
    double d = sqrt(limit) + 32.0 * ULP; /* directions were rounded to f32 */
    limit = d * d;
  }
  limit = limit * (1.0 + 4.0 * (double)(e->question->points.dims + 4) * ULP) + (double)FLT_MIN;
  return limit < (double)FLT_MAX ? nextafterf((float)limit, INFINITY) : INFINITY;
}

/* The f32 squared distance that a key is made of, from f64. */
static double squared_of(const exact *e, double distance) {
  return e->question->points.inverse ? 2.0 * distance : distance;
}

/* Computes the candidates in f64 and keeps the k nearest, nearest first, in `best`. */
static void resolve(const exact *e, comp__candidate *best, const listing *l) {
  const comp__question *q = e->question;
  for (size_t i = 0; i < l->count; i++) {
    int32_t index = (int32_t)(l->keys[i] & UINT32_MAX);
    best[i] = (comp__candidate){comp__points_distance(&q->queries, l->query, &q->points, (size_t)index), index};
  }
  comp__candidates_select(best, l->count, q->k);
  comp__candidates_sort(best, q->k);
}

/* Leaves out what cannot be among the k nearest. Where very many are at the same distance as the k-th, the order of
 * their indices decides, and it takes f64 to see it. */
static void cut(const exact *e, listing *l, comp__candidate *best) {
  const size_t k = e->question->k;
  if (l->count < k) return;
  comp__keys_select(l->keys, l->count, k);
  l->limit = widen(e, key_squared(l->keys[k - 1]));
  const uint64_t last = make_key(l->limit, -1);
  size_t kept = k;
  for (size_t i = k; i < l->count; i++) {
    l->keys[kept] = l->keys[i];
    kept += l->keys[i] <= last;
  }
  l->count = kept;
  if (kept <= e->full) return;
  resolve(e, best, l);
  for (size_t i = 0; i < k; i++) l->keys[i] = make_key((float)squared_of(e, best[i].distance), best[i].index);
  l->count = k;
}

/* Whether the results have this point for the query already. No early end: so it becomes a few vector instructions. */
static bool is_known(const exact *e, size_t query, int32_t index) {
  const int32_t *known = e->indices + query * e->question->k;
  int found = 0;
  for (size_t j = 0; j < e->question->k; j++) found |= known[j] == index;
  return found != 0;
}

/* Offers the hits of a tile to the list of a query. */
static void offer(const exact *e, listing *l, const uint64_t *hits, size_t n, const looked *tile,
                  comp__candidate *best) {
  const comp__question *q = e->question;
  const int32_t own = q->own ? q->own[l->query] : -1;
  const bool exactly = !e->direct || q->points.inverse;
  for (size_t h = 0; h < n; h++) {
    const int32_t index = tile->rows[hits[h] & UINT32_MAX];
    if (index == own || (e->where->gather && is_known(e, l->query, index))) continue;
    uint64_t key = (hits[h] & ~(uint64_t)UINT32_MAX) | (uint32_t)index;
    if (exactly) { /* products give only bounds, and points without a direction are not where tiles have them */
      double distance = comp__points_distance(&q->queries, l->query, &q->points, (size_t)index);
      float squared = (float)squared_of(e, distance);
      if (squared > l->limit) continue;
      key = make_key(squared, index);
    }
    l->keys[l->count++] = key;
  }
  if (l->count > e->full) cut(e, l, best);
}

static void finish(const exact *e, listing *l, comp__candidate *best) {
  const size_t k = e->question->k;
  cut(e, l, best);
  resolve(e, best, l);
  for (size_t j = 0; e->where->gather && j < k; j++)
    e->where->fresh[l->query * k + j] = !is_known(e, l->query, best[j].index);
  for (size_t j = 0; j < k; j++) {
    e->indices[l->query * k + j] = best[j].index;
    e->distances[l->query * k + j] = (float)(e->question->points.inverse ? best[j].distance : sqrt(best[j].distance));
  }
}

/* The points of a tile that may be near to each of the rows. */
static comp_status find_hits(const exact *e, uint64_t *hits, size_t *counts, float *products, const listing *lists,
                             size_t place, size_t rows, const looked *tile) {
  const size_t dims = e->question->points.dims;
  const float *queries = e->queries.rows + place * dims;
  float limits[ROWS];
  if (e->direct) {
    for (size_t i = 0; i < rows; i++) limits[i] = lists[i].limit;
    e->kernels->near(hits, counts, queries, rows, tile->values, TILE, dims, limits);
  } else {
    comp_status status = comp__matmul_f32(e->context, products, TILE, queries, dims, tile->values, dims, rows, tile->n,
                                          dims, COMP__TRANS_B);
    if (status != COMP_OK) return status;
    for (size_t i = 0; i < rows; i++) {
      double limit = (double)lists[i].limit - (double)e->queries.lengths[place + i];
      limit += fabs(limit) * 4.0 * ULP;
      counts[i] = e->kernels->near_products(hits + i * TILE, products + i * TILE, tile->lengths, TILE, (float)limit);
    }
  }
  for (size_t i = 0; tile->n < TILE && i < rows; i++) /* what pads the last tile is no point; hits ascend */
    while (counts[i] && (hits[i * TILE + counts[i] - 1] & UINT32_MAX) >= tile->n) counts[i]--;
  return COMP_OK;
}

/* The `wanted` first tiles in the order of their turn for the queries of a piece: by the distance of centres. */
static void take_turns(const exact *e, comp__candidate *turns, size_t piece, size_t wanted) {
  const size_t tiles = e->points.places.count;
  for (size_t t = 0; t < tiles; t++) {
    turns[t].distance = comp__places_apart(&e->queries.places, piece, &e->points.places, t);
    turns[t].index = (int32_t)t;
  }
  if (wanted < tiles) comp__candidates_select(turns, tiles, wanted);
  comp__candidates_sort(turns, wanted);
}

void comp__tiles_rank(const comp__tiles *tiles, size_t *rank, double *least, size_t group) {
  const size_t n = tiles->points.places.count;
  take_turns(tiles, tiles->turns, group, n);
  for (size_t t = 0; t < n; t++) {
    rank[tiles->turns[t].index] = t;
    least[t] = comp__places_least(&tiles->queries.places, group, &tiles->points.places, t);
  }
}

static float farthest(const listing *lists, size_t rows) {
  float high = 0.0f;
  for (size_t i = 0; i < rows; i++) high = lists[i].limit > high ? lists[i].limit : high;
  return high;
}

/* A group of queries that are searched together. */
typedef struct group {
  listing lists[ROWS];
  size_t place, rows; /* its first query, and how many */
  size_t thread;
} group;

static comp_status look(const exact *e, group *g, const looked *tile) {
  uint64_t *hits = e->hits + g->thread * ROWS * TILE;
  comp__candidate *best = e->best + g->thread * e->room;
  size_t counts[ROWS] = {0};
  comp_status status =
      find_hits(e, hits, counts, e->products + g->thread * ROWS * TILE, g->lists, g->place, g->rows, tile);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < g->rows; i++) offer(e, &g->lists[i], hits + i * TILE, counts[i], tile, best);
  return COMP_OK;
}

static comp_status look_around(const exact *e, group *g) {
  const size_t tiles = e->points.places.count, n = e->question->points.n, dims = e->question->points.dims;
  size_t wanted = e->where->tiles + e->question->k / TILE + 2; /* the last may not be full, and one is the query */
  if (e->where->tiles == 0 || wanted > tiles) wanted = tiles;
  comp__candidate *turns = e->turns + g->thread * tiles;
  take_turns(e, turns, g->place / ROWS, wanted);
  for (size_t turn = 0, seen = 0; turn < wanted; turn++) {
    if (e->where->tiles && turn >= e->where->tiles && seen > e->question->k) break;
    const size_t number = (size_t)turns[turn].index, first = number * TILE;
    looked tile = {.n = n - first < TILE ? n - first : TILE, .rows = e->points.order + first};
    seen += tile.n;
    const double least = comp__places_least(&e->queries.places, g->place / ROWS, &e->points.places, number);
    if (least > (double)farthest(g->lists, g->rows)) continue;
    tile.values = (e->direct ? e->tiles : e->points.rows) + first * dims;
    tile.lengths = e->direct ? NULL : e->points.lengths + first;
    comp_status status = look(e, g, &tile);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* Asks for the next points of a strip: they are anywhere in memory. */
static void prefetch(const exact *e, const int32_t *places, size_t n) {
  const size_t dims = e->question->points.dims, line = 64 / sizeof(float);
  for (size_t j = 0; j < n && j < STRIP; j++)
    for (size_t d = 0; d < dims; d += line) __builtin_prefetch(e->points.rows + (size_t)places[j] * dims + d);
}

/* A tile of points from here and there. */
static looked pack(const exact *e, const int32_t *places, size_t n, size_t thread) {
  const size_t dims = e->question->points.dims;
  float *values = e->packed + thread * TILE * dims, *lengths = NULL;
  int32_t *rows = e->packed_rows + thread * TILE;
  for (size_t j = 0; j < n; j++) rows[j] = e->points.order[places[j]];
  if (e->direct) {
    for (size_t first = 0; first < n; first += STRIP) {
      const float *from[STRIP];
      prefetch(e, places + first + STRIP, n > first + STRIP ? n - first - STRIP : 0);
      for (size_t j = 0; j < STRIP; j++)
        from[j] = e->points.rows + (size_t)places[first + j < n ? first + j : n - 1] * dims;
      for (size_t d = 0; d < dims; d++)
        for (size_t j = 0; j < STRIP; j++) values[d * TILE + first + j] = from[j][d];
    }
  } else {
    lengths = e->packed_lengths + thread * TILE;
    for (size_t j = 0; j < n; j++) {
      memcpy(values + j * dims, e->points.rows + (size_t)places[j] * dims, dims * sizeof *values);
      lengths[j] = e->points.lengths[places[j]];
    }
  }
  return (looked){n, rows, values, lengths};
}

/* Starts a list with the results so far. */
static void take_known(const exact *e, listing *l) {
  const size_t k = e->question->k;
  for (size_t j = 0; j < k; j++) {
    const double d = (double)e->distances[l->query * k + j];
    l->keys[j] = make_key((float)squared_of(e, e->question->points.inverse ? d : d * d), e->indices[l->query * k + j]);
  }
  l->count = k;
  l->limit = widen(e, key_squared(l->keys[k - 1]));
}

static comp_status look_at(const exact *e, group *g) {
  const int32_t *places;
  const size_t n = e->where->gather(e->where->user, &places, g->place, g->rows, (int)g->thread);
  for (size_t i = 0; i < g->rows; i++) take_known(e, &g->lists[i]);
  for (size_t first = 0; first < n; first += TILE) {
    const looked tile = pack(e, places + first, n - first < TILE ? n - first : TILE, g->thread);
    comp_status status = look(e, g, &tile);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status search_rows(void *arg, size_t begin, size_t end, int thread) {
  const exact *e = arg;
  group g = {.place = e->first + begin, .rows = end - begin, .thread = (size_t)thread};
  for (size_t i = 0; i < g.rows; i++) {
    size_t query = (size_t)e->queries.order[g.place + i];
    g.lists[i] = (listing){e->lists + (g.thread * ROWS + i) * e->room, 0, query, INFINITY};
  }
  comp_status status = e->where->gather ? look_at(e, &g) : look_around(e, &g);
  for (size_t i = 0; status == COMP_OK && i < g.rows; i++) finish(e, &g.lists[i], e->best + g.thread * e->room);
  return status;
}

/* Points as f32 for the tiles, in the order of the places when there is one: directions for cosine. */
static void copy_points(float *out, const comp__points *points, const int32_t *order) {
  const size_t dims = points->dims;
  for (size_t i = 0; i < points->n; i++) {
    const size_t row = order ? (size_t)order[i] : i;
    for (size_t d = 0; d < dims; d++) {
      float x = points->x[row * dims + d];
      out[i * dims + d] = points->inverse ? (float)((double)x * points->inverse[row]) : x;
    }
  }
}

static comp_status put_in_order(ordered *out, const comp__points *points, size_t piece) {
  comp_status status;
  COMP__TRY(comp__alloc(&out->order, points->n, sizeof *out->order));
  COMP__TRY(comp__alloc(&out->rows, points->n, points->dims * sizeof *out->rows));
  copy_points(out->rows, points, NULL);
  if (points->ordered) {
    for (size_t i = 0; i < points->n; i++) out->order[i] = (int32_t)i;
  } else {
    COMP__TRY(comp__order_points(out->order, out->rows, points->n, points->dims, TILE, ROWS));
    copy_points(out->rows, points, out->order);
  }
  COMP__TRY(comp__places_init(&out->places, out->rows, points->n, points->dims, piece));
done:
  return status;
}

static void transpose_tiles(float *out, const float *x, size_t n, size_t dims) {
  for (size_t first = 0; first < n; first += TILE)
    for (size_t j = 0; j < TILE; j++)
      for (size_t d = 0; d < dims; d++)
        out[first * dims + d * TILE + j] = first + j < n ? x[(first + j) * dims + d] : 0.0f;
}

static void column_means(double *out, const float *x, size_t n, size_t dims) {
  for (size_t d = 0; d < dims; d++) out[d] = 0.0;
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) out[d] += (double)x[i * dims + d];
  for (size_t d = 0; d < dims; d++) out[d] /= (double)n;
}

/* Takes `centre` off, as shorter points round less, and gives |a|^2, lowered by all that the product can be wrong by:
 * with unit rounding u the product's error is at most dims u |a| |b|, and 2 |a| |b| <= |a|^2 + |b|^2; the other
 * roundings add less than 10 u (|a|^2 + |b|^2). */
static comp_status centre_rows(ordered *o, size_t n, size_t dims, const double *centre) {
  const double lower = 1.0 - 2.0 * (double)(dims + 10) * ULP;
  comp_status status = comp__calloc(&o->lengths, (n + TILE - 1) / TILE * TILE, sizeof *o->lengths);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t d = 0; d < dims; d++) {
      float value = (float)((double)o->rows[i * dims + d] - centre[d]);
      o->rows[i * dims + d] = value;
      sum += (double)value * (double)value;
    }
    o->lengths[i] = (float)(sum * lower);
  }
  return COMP_OK;
}

static comp_status prepare(exact *e) {
  const comp__question *q = e->question;
  const size_t n = q->points.n, dims = q->points.dims;
  double *centre = NULL;
  comp_status status;
  COMP__TRY(put_in_order(&e->points, &q->points, TILE));
  COMP__TRY(put_in_order(&e->queries, &q->queries, ROWS));
  if (e->direct) {
    COMP__TRY(comp__alloc(&e->tiles, e->points.places.count * TILE, dims * sizeof *e->tiles));
    transpose_tiles(e->tiles, e->points.rows, n, dims);
  } else {
    COMP__TRY(comp__alloc(&centre, dims, sizeof *centre));
    column_means(centre, e->points.rows, n, dims);
    COMP__TRY(centre_rows(&e->points, n, dims, centre));
    COMP__TRY(centre_rows(&e->queries, q->queries.n, dims, centre));
  }
done:
  comp__free(centre);
  return status;
}

static comp_status make_scratch(exact *e) {
  const size_t threads = (size_t)comp_context_thread_count(e->context), k = e->question->k,
               tiles = e->points.places.count;
  comp_status status;
  e->full = k + k / 2 + 64;
  e->room = e->full + TILE;
  COMP__TRY(comp__alloc(&e->lists, threads * ROWS, e->room * sizeof *e->lists));
  COMP__TRY(comp__alloc(&e->best, threads, e->room * sizeof *e->best));
  COMP__TRY(comp__alloc(&e->turns, threads, tiles * sizeof *e->turns));
  COMP__TRY(comp__calloc(&e->products, threads * ROWS * TILE, sizeof *e->products));
  COMP__TRY(comp__alloc(&e->hits, threads * ROWS * TILE, sizeof *e->hits));
  COMP__TRY(comp__calloc(&e->packed, threads * TILE, e->question->points.dims * sizeof *e->packed));
  COMP__TRY(comp__calloc(&e->packed_lengths, threads * TILE, sizeof *e->packed_lengths));
  COMP__TRY(comp__alloc(&e->packed_rows, threads * TILE, sizeof *e->packed_rows));
done:
  return status;
}

static void release_ordered(ordered *o) {
  comp__free(o->order);
  comp__free(o->rows);
  comp__free(o->lengths);
  comp__places_release(&o->places);
}

comp_status comp__tiles_new(comp__tiles **out, comp_context *context, const comp__question *question) {
  exact *e;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&e, 1, sizeof *e));
  e->question = question;
  e->context = context;
  e->kernels = comp__kernels_get();
  e->direct = question->points.dims <= DIRECT_DIMS;
  COMP__TRY(prepare(e));
  COMP__TRY(make_scratch(e));
  *out = e;
done:
  if (!*out) comp__tiles_free(e);
  return status;
}

void comp__tiles_free(comp__tiles *e) {
  if (!e) return;
  release_ordered(&e->points);
  release_ordered(&e->queries);
  void *blocks[] = {e->tiles, e->lists,  e->best,           e->turns,      e->products,
                    e->hits,  e->packed, e->packed_lengths, e->packed_rows};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) comp__free(blocks[i]);
  comp__free(e);
}

/* Ranks have searched for the queries of some places each: items [queries, k] of `size` bytes come to all ranks. */
static comp_status collect_items(const exact *e, comp__comm *comm, const size_t *begin, void *items, size_t size) {
  const size_t row = e->question->k * size, rank = comp__comm_rank(comm), m = e->question->queries.n;
  char *to = items, *packed;
  comp_status status = comp__alloc(&packed, m, row);
  if (status != COMP_OK) return status;
  for (size_t i = begin[rank]; i < begin[rank + 1]; i++)
    memcpy(packed + i * row, to + (size_t)e->queries.order[i] * row, row);
  status = comp__comm_collect(comm, e->context, packed, begin, row, COMP__TO_ALL);
  for (size_t i = 0; status == COMP_OK && i < m; i++)
    memcpy(to + (size_t)e->queries.order[i] * row, packed + i * row, row);
  comp__free(packed);
  return status;
}

static comp_status collect(const exact *e, comp__comm *comm, const size_t *begin) {
  comp_status status = COMP_OK;
  if (comp__comm_ranks(comm) == 1) return COMP_OK;
  COMP__TRY(collect_items(e, comm, begin, e->indices, sizeof *e->indices));
  COMP__TRY(collect_items(e, comm, begin, e->distances, sizeof *e->distances));
  if (e->where->gather) COMP__TRY(collect_items(e, comm, begin, e->where->fresh, sizeof *e->where->fresh));
done:
  return status;
}

comp_status comp__tiles_search(comp__tiles *e, int32_t *indices, float *distances, const comp__where *where) {
  const size_t n = e->question->points.n, m = e->question->queries.n, dims = e->question->points.dims;
  comp_status status = COMP_OK;
  e->indices = indices;
  e->distances = distances;
  e->where = where;
  comp__progress_begin(e->context, "finding neighbours", "points", m);
  /* Pieces small enough to report and to stop in between. */
  const size_t points = where->gather ? 4096 : where->tiles ? where->tiles * TILE : n;
  const size_t piece =
      (((size_t)1 << 32) / (points + 1) / dims / ROWS + 8 * (size_t)comp_context_thread_count(e->context)) * ROWS;
  comp__comm *comm = comp__comm_of(e->context);
  size_t begin[COMP__MOST_RANKS + 1];
  comp__comm_share(begin, comm, m, ROWS);
  const size_t end = begin[comp__comm_rank(comm) + 1];
  for (e->first = begin[comp__comm_rank(comm)]; e->first < end; e->first += piece) {
    COMP__TRY(comp__check_interrupt(e->context));
    size_t count = end - e->first < piece ? end - e->first : piece;
    COMP__TRY(comp__parallel_try(e->context, count, ROWS, search_rows, e));
    comp__progress_update(e->context, e->first + count, NULL);
  }
  COMP__TRY(collect(e, comm, begin));
  comp__progress_end(e->context);
done:
  return status;
}

comp_status comp__search_exact(int32_t *indices, float *distances, comp_context *context,
                               const comp__question *question) {
  comp__tiles *tiles;
  comp_status status = comp__tiles_new(&tiles, context, question);
  if (status == COMP_OK) status = comp__tiles_search(tiles, indices, distances, &(comp__where){0});
  comp__tiles_free(tiles);
  return status;
}
