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
} comp__points;

/* A question: the k nearest of `points` for each of `queries`. own[i] is the point that query i is itself, which is not
 * its neighbour; own = NULL: queries are other points. */
typedef struct comp__question {
  comp__points points, queries;
  const int32_t *own;
  size_t k;
} comp__question;

/* The squared euclidean distance in f64, or the cosine distance: what results are ordered by. A point of length 0 has
 * cosine distance 1 from all. */
double comp__points_distance(const comp__points *a, size_t i, const comp__points *b, size_t j);

/* indices, distances [queries, k], found exactly. */
comp_status comp__search_exact(int32_t *indices, float *distances, comp_context *context,
                               const comp__question *question);

/* The same by a graph (HNSW), near enough: *recall is the share of true neighbours found, measured on a sample. */
comp_status comp__search_approximate(int32_t *indices, float *distances, double *recall, comp_context *context,
                                     const comp__question *question);

/* Whether the graph is expected to cost less than exact search on this many threads. */
bool comp__search_prefers_graph(const comp__question *question);

#endif
