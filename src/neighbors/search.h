/* search.h: what the searches share: points, their distance, and where results go. */
#ifndef COMP_NEIGHBORS_SEARCH_H
#define COMP_NEIGHBORS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/neighbors.h"

/* Values beyond this are refused: squares of them must not overflow an f32. */
#define COMP__POINTS_LIMIT 1e15f

/* Points, [n, dims]. */
typedef struct comp__points {
  const float *x;
  const double *inverse; /* [n] 1 / length for cosine, 0 where the length is 0; NULL: euclidean */
  size_t n, dims;
  bool ordered; /* rows stand in the order of comp__order_points(), for tiles of COMP__TILE and COMP__TILE_ROWS */
} comp__points;

enum { COMP__TILE = 256, COMP__TILE_ROWS = 32 };

/* A question: the k nearest of `points` for each of `queries`. own[i] is the point that query i is itself, which is not
 * its neighbour; own = NULL: queries are other points. */
typedef struct comp__question {
  comp__points points, queries;
  const int32_t *own;
  size_t k;
} comp__question;

/* Where a search looks. All zero: everywhere, which is exact search. */
typedef struct comp__where {
  size_t tiles; /* only in so many tiles around a query, and as many more as it takes to see k points; 0: in all */
  /* Only at the points that this names for the queries first .. first + count - 1: it sets *points to a list without
   * duplicates, which it owns, and returns its length. The results must hold k points for each query already, nearest
   * first, and nearer ones take the place of farther ones. NULL: in tiles. */
  size_t (*gather)(void *user, const int32_t **points, size_t first, size_t count, int thread);
  void *user;
  uint8_t *fresh; /* with gather: [queries, k], set to 1 for results that are new, else to 0 */
} comp__where;

/* The squared euclidean distance in f64, or the cosine distance: what results are ordered by. A point of length 0 has
 * cosine distance 1 from all. */
double comp__points_distance(const comp__points *a, size_t i, const comp__points *b, size_t j);

/* Points and queries, prepared for searches. It should be freed via comp__tiles_free(). The question must outlive it.
 */
typedef struct comp__tiles comp__tiles;
comp_status comp__tiles_new(comp__tiles **out, comp_context *context, const comp__question *question);
void comp__tiles_free(comp__tiles *tiles);

/* For a group of queries (COMP__TILE_ROWS that stand together): the turn at which each tile of points is looked at, and
 * a squared distance that no pair of points of both falls below. rank, least [tiles]. */
void comp__tiles_rank(const comp__tiles *tiles, size_t *rank, double *least, size_t group);

/* indices, distances [queries, k]. */
comp_status comp__tiles_search(comp__tiles *tiles, int32_t *indices, float *distances, const comp__where *where);

/* The same in one, found exactly. */
comp_status comp__search_exact(int32_t *indices, float *distances, comp_context *context,
                               const comp__question *question);

/* Most of them: *recall is the share of true neighbours found, measured on a sample; it aims at .987. Where that is
 * not cheaper, and for few points, the search is exact. `own` must be NULL or say that query i is point i. */
comp_status comp__search_approximate(int32_t *indices, float *distances, double *recall, comp_context *context,
                                     const comp__question *question);

/* Whether there are so many points that approximate search is worth a try. */
bool comp__search_prefers_approximate(const comp__question *question);

#endif
