/*
 * approximate.c: most of the neighbours, for less than all of them cost.
 *
 * A few groups of queries are searched exactly first. They tell how many tiles around a query hold enough of its
 * neighbours. Then the cheapest way is taken: so many tiles; fewer tiles, and rounds in which points look at the
 * neighbours of their neighbours (rounds.c); or exact search. The choice counts tiles, not seconds, so it is the same
 * on every machine. When rounds do not find enough, all the tiles are searched that it takes.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "neighbors/order.h"
#include "neighbors/rounds.h"
#include "neighbors/search.h"

enum {
  FEWEST = 8192, /* fewer points are searched exactly */
  GROUPS = 64,   /* in the sample */
  SHORTEST = 32, /* near points a round needs of each point */
  LONGEST = 256, /* more neighbours are not found by rounds: too much would be stored */
  MOST_ROUNDS = 8,
  AUTO_FROM = 50000 /* points: below, `auto` is exact */
};

static const double WANTED_RECALL = 0.987, ENOUGH_RECALL = 0.983, START_RECALL = 0.92;

/* Points in the order of their places. */
typedef struct placed {
  comp__points points;
  int32_t *order; /* [n]: row at a place */
  float *x;       /* [n, dims] */
  double *inverse;
} placed;

/* Some groups of queries, with their true neighbours. */
typedef struct sample {
  size_t n;       /* queries */
  size_t *chosen; /* [n]: their places */
  float *x;
  double *inverse;
  int32_t *own;
  int32_t *indices; /* [n, k] places */
  float *truth;     /* [n, k] distances */
} sample;

/* What the sample says: tiles for the wanted recall, and tiles before rounds. Costs are in tiles that are looked at;
 * that of the start includes the rounds. */
typedef struct search_plan {
  size_t enough, start;
  double cost_enough, cost_start, cost_exact;
} search_plan;

typedef struct approximate {
  comp__question question; /* of places */
  comp_context *context;
  placed points, queries; /* queries are empty when they are the points */
  sample sample;
  size_t length;    /* of the lists: k or more */
  int32_t *lists;   /* [queries, length] */
  float *distances; /* [queries, length] */
} approximate;

/* ---- Points in order ---- */

static comp_status place(placed *out, const comp__points *points) {
  const size_t n = points->n, dims = points->dims;
  comp_status status;
  COMP__TRY(comp__alloc(&out->order, n, sizeof *out->order));
  COMP__TRY(comp__alloc(&out->x, n, dims * sizeof *out->x));
  if (points->inverse) COMP__TRY(comp__alloc(&out->inverse, n, sizeof *out->inverse));
  for (size_t i = 0; i < n * dims; i++)
    out->x[i] = points->inverse ? (float)((double)points->x[i] * points->inverse[i / dims]) : points->x[i];
  COMP__TRY(comp__order_points(out->order, out->x, n, dims, COMP__TILE, COMP__TILE_ROWS));
  for (size_t i = 0; i < n; i++) {
    const size_t row = (size_t)out->order[i];
    memcpy(out->x + i * dims, points->x + row * dims, dims * sizeof *out->x);
    if (points->inverse) out->inverse[i] = points->inverse[row];
  }
  out->points = (comp__points){out->x, out->inverse, n, dims, true};
done:
  return status;
}

static void release_placed(placed *p) {
  comp__free(p->order);
  comp__free(p->x);
  comp__free(p->inverse);
}

/* ---- The sample ---- */

static void release_sample(sample *s) {
  comp__free(s->chosen);
  comp__free(s->x);
  comp__free(s->inverse);
  comp__free(s->own);
  comp__free(s->indices);
  comp__free(s->truth);
}

/* Whole groups, as they are searched together. */
static comp_status choose_groups(sample *out, size_t m) {
  const size_t groups = m / COMP__TILE_ROWS, wanted = groups < GROUPS ? groups : GROUPS;
  size_t *order = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&order, groups, sizeof *order));
  COMP__TRY(comp__alloc(&out->chosen, wanted, COMP__TILE_ROWS * sizeof *out->chosen));
  comp__rng_permutation(order, groups, comp__rng_at(0, COMP__RNG_NEIGHBORS, 0, 0));
  out->n = wanted * COMP__TILE_ROWS;
  for (size_t i = 0; i < out->n; i++)
    out->chosen[i] = order[i / COMP__TILE_ROWS] * COMP__TILE_ROWS + i % COMP__TILE_ROWS;
done:
  comp__free(order);
  return status;
}

static comp_status copy_sample(comp__question *part, sample *s, const comp__question *q) {
  const size_t dims = q->points.dims, n = s->n;
  comp_status status;
  COMP__TRY(comp__alloc(&s->x, n, dims * sizeof *s->x));
  COMP__TRY(comp__alloc(&s->inverse, n, sizeof *s->inverse));
  COMP__TRY(comp__alloc(&s->own, n, sizeof *s->own));
  COMP__TRY(comp__alloc(&s->indices, n, q->k * sizeof *s->indices));
  COMP__TRY(comp__alloc(&s->truth, n, q->k * sizeof *s->truth));
  for (size_t i = 0; i < n; i++) {
    memcpy(s->x + i * dims, q->queries.x + s->chosen[i] * dims, dims * sizeof *s->x);
    s->inverse[i] = q->queries.inverse ? q->queries.inverse[s->chosen[i]] : 0.0;
    s->own[i] = (int32_t)s->chosen[i];
  }
  *part = *q;
  part->queries = (comp__points){s->x, q->queries.inverse ? s->inverse : NULL, n, dims, true};
  part->own = q->own ? s->own : NULL;
done:
  return status;
}

/* The share of the sample's neighbours that are found: those not farther than the k-th true one. */
static double measure(const approximate *a) {
  const sample *s = &a->sample;
  const size_t k = a->question.k;
  size_t found = 0;
  for (size_t i = 0; i < s->n; i++)
    for (size_t j = 0; j < k; j++) found += a->distances[s->chosen[i] * a->length + j] <= s->truth[i * k + k - 1];
  return (double)found / (double)(s->n * k);
}

/* ---- The plan ---- */

/* found[t], looked[t]: neighbours in the t-th nearest tile of the sample's groups, and how many groups look at it. A
 * tile is left out when it is farther than the k-th neighbour of all. */
static void count_tiles(double *found, double *looked, const comp__tiles *tiles, const approximate *a, size_t *rank,
                        double *least, size_t n_tiles) {
  const sample *s = &a->sample;
  const size_t k = a->question.k;
  for (size_t group = 0; group < s->n / COMP__TILE_ROWS; group++) {
    double farthest = 0.0;
    comp__tiles_rank(tiles, rank, least, group);
    for (size_t i = group * COMP__TILE_ROWS; i < (group + 1) * COMP__TILE_ROWS; i++) {
      const double d = (double)s->truth[i * k + k - 1];
      farthest = fmax(farthest, a->question.points.inverse ? 2.0 * d : d * d);
      for (size_t j = 0; j < k; j++) found[rank[s->indices[i * k + j] / COMP__TILE]] += 1.0;
    }
    for (size_t t = 0; t < n_tiles; t++) looked[rank[t]] += least[t] <= farthest;
  }
}

/* What rounds cost, in tiles, that begin with this recall. From measurements: a round leaves less than a third of the
 * misses, and costs as much as 85 tiles for 15 neighbours, and 170 for 100. */
static double cost_of_rounds(double recall, size_t k) {
  const double misses = fmax((1.0 - recall) / (1.0 - WANTED_RECALL), 1.0);
  return (70.0 + (double)k) * log(misses) / log(3.5);
}

static comp_status make_plan(search_plan *out, approximate *a) {
  const size_t n_tiles = (a->question.points.n + COMP__TILE - 1) / COMP__TILE;
  const size_t n_groups = a->sample.n / COMP__TILE_ROWS;
  const double all = (double)(a->sample.n * a->question.k), groups = (double)n_groups;
  comp__question part;
  comp__tiles *tiles = NULL;
  double *found = NULL, sum = 0.0, cost = 0.0;
  size_t *rank = NULL;
  comp_status status;
  *out = (search_plan){0};
  COMP__TRY(comp__calloc(&found, n_tiles, 3 * sizeof *found));
  COMP__TRY(comp__alloc(&rank, n_tiles, sizeof *rank));
  COMP__TRY(copy_sample(&part, &a->sample, &a->question));
  COMP__TRY(comp__tiles_new(&tiles, a->context, &part));
  COMP__TRY(comp__tiles_search(tiles, a->sample.indices, a->sample.truth, &(comp__where){0}));
  count_tiles(found, found + n_tiles, tiles, a, rank, found + 2 * n_tiles, n_tiles);
  for (size_t t = 0; t < n_tiles; t++) {
    sum += found[t];
    cost += found[n_tiles + t] / groups;
    const double total = cost + cost_of_rounds(sum / all, a->question.k);
    if (sum >= START_RECALL * all && (out->start == 0 || total < out->cost_start))
      out->start = t + 1, out->cost_start = total;
    if (out->enough == 0 && sum >= WANTED_RECALL * all) out->enough = t + 1, out->cost_enough = cost;
  }
  out->cost_exact = cost;
done:
  comp__tiles_free(tiles);
  comp__free(found);
  comp__free(rank);
  return status;
}

static bool prefers_rounds(const approximate *a, const search_plan *plan) {
  return a->question.own && a->question.k <= LONGEST && plan->cost_start < plan->cost_enough;
}

/* ---- Searches ---- */

static comp_status search_tiles(approximate *a, size_t count) {
  comp__question question = a->question;
  comp__tiles *tiles;
  question.k = a->length;
  comp_status status = comp__tiles_new(&tiles, a->context, &question);
  if (status == COMP_OK) status = comp__tiles_search(tiles, a->lists, a->distances, &(comp__where){.tiles = count});
  comp__tiles_free(tiles);
  return status;
}

/* Rounds until enough is found. Each finds less than the one before: when even as much again would not do, rounds end.
 */
static comp_status search_rounds(double *recall, approximate *a, size_t start) {
  comp__question question = a->question;
  comp__tiles *tiles = NULL;
  comp__rounds rounds = {0};
  comp_status status;
  question.k = a->length;
  COMP__TRY(comp__tiles_new(&tiles, a->context, &question));
  COMP__TRY(comp__tiles_search(tiles, a->lists, a->distances, &(comp__where){.tiles = start}));
  COMP__TRY(comp__rounds_init(&rounds, a->context, a->lists, question.points.n, a->length));
  double before = 0.0, now = measure(a);
  for (int round = 0; round < MOST_ROUNDS && now < WANTED_RECALL && now + (now - before) > WANTED_RECALL; round++) {
    before = now;
    COMP__TRY(comp__rounds_next(&rounds, tiles, a->distances));
    now = measure(a);
    comp__debug(a->context, "approximate neighbours: round %d, recall %.4f", round + 1, now);
  }
  *recall = now;
done:
  comp__tiles_free(tiles);
  comp__rounds_release(&rounds);
  return status;
}

/* From places to rows. Where distances are equal, the lower row comes first. */
static void give_results(const approximate *a, int32_t *indices, float *distances) {
  const size_t k = a->question.k;
  const int32_t *from = a->points.order, *to = a->queries.order ? a->queries.order : from;
  for (size_t i = 0; i < a->question.queries.n; i++) {
    int32_t *index = indices + (size_t)to[i] * k;
    float *distance = distances + (size_t)to[i] * k;
    for (size_t j = 0; j < k; j++) {
      const int32_t row = from[a->lists[i * a->length + j]];
      size_t at = j;
      distance[j] = a->distances[i * a->length + j];
      for (; at > 0 && distance[at - 1] == distance[j] && index[at - 1] > row; at--) index[at] = index[at - 1];
      index[at] = row;
    }
  }
}

static comp_status run(approximate *a, double *recall) {
  const size_t m = a->question.queries.n, k = a->question.k;
  search_plan plan;
  comp_status status;
  COMP__TRY(choose_groups(&a->sample, m));
  COMP__TRY(make_plan(&plan, a));
  const bool rounds = prefers_rounds(a, &plan);
  comp__debug(a->context, "approximate neighbours: %zu of %zu tiles (cost %.0f of %.0f)%s",
              rounds ? plan.start : plan.enough, (a->question.points.n + COMP__TILE - 1) / COMP__TILE,
              rounds ? plan.cost_start : plan.cost_enough, plan.cost_exact, rounds ? ", then rounds" : "");
  a->length = rounds && k < SHORTEST ? SHORTEST : k;
  COMP__TRY(comp__alloc(&a->lists, m, a->length * sizeof *a->lists));
  COMP__TRY(comp__alloc(&a->distances, m, a->length * sizeof *a->distances));
  if (rounds) COMP__TRY(search_rounds(recall, a, plan.start));
  if (!rounds || *recall < ENOUGH_RECALL) {
    /* What is left out saves little: then all of it can as well be had. */
    COMP__TRY(search_tiles(a, plan.cost_enough < 0.8 * plan.cost_exact ? plan.enough : 0));
    *recall = measure(a);
  }
done:
  return status;
}

comp_status comp__search_approximate(int32_t *indices, float *distances, double *recall, comp_context *context,
                                     const comp__question *question) {
  approximate a = {.question = *question, .context = context};
  comp_status status;
  *recall = 1.0;
  if (question->points.n < FEWEST || question->queries.n < COMP__TILE_ROWS)
    return comp__search_exact(indices, distances, context, question);
  COMP__TRY(place(&a.points, &question->points));
  a.question.points = a.question.queries = a.points.points;
  if (question->queries.x != question->points.x) {
    COMP__TRY(place(&a.queries, &question->queries));
    a.question.queries = a.queries.points;
  }
  COMP__TRY(run(&a, recall));
  give_results(&a, indices, distances);
done:
  release_placed(&a.points);
  release_placed(&a.queries);
  release_sample(&a.sample);
  comp__free(a.lists);
  comp__free(a.distances);
  return status;
}

bool comp__search_prefers_approximate(const comp__question *question) {
  return question->points.n >= AUTO_FROM && question->queries.n >= AUTO_FROM / 10;
}
