/*
 * neighbors.h: the k nearest neighbours of points, exact or approximate.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "neighbors");
 *     comp_options_set_int(options, "k", 100);
 *     comp_neighbors *neighbors;
 *     if (comp_neighbors_find(&neighbors, context, points, options) != COMP_OK) puts(comp_error_message());
 *
 * A point is not its own neighbour. Neighbours come nearest first; of two at the same distance the lower index comes
 * first. The same points give the same bytes at any number of threads. Options are of
 * the kind "neighbors".
 */
#ifndef COMP_NEIGHBORS_H
#define COMP_NEIGHBORS_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/matrix.h"
#include "comp/options.h"

typedef enum comp_distance {
  COMP_DISTANCE_EUCLIDEAN,
  COMP_DISTANCE_COSINE /* 1 - cosine of the angle */
} comp_distance;

/* "euclidean", "cosine"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_distance_name(comp_distance distance);
COMP_API comp_status comp_distance_parse(comp_distance *out, const char *name);

typedef enum comp_search {
  COMP_SEARCH_AUTO, /* exact below 50,000 points, else approximate */
  COMP_SEARCH_EXACT,
  COMP_SEARCH_APPROXIMATE /* most neighbours (recall .987 on a sample); exact where that is not cheaper */
} comp_search;

/* "auto", "exact", "approximate"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_search_name(comp_search search);
COMP_API comp_status comp_search_parse(comp_search *out, const char *name);

typedef struct comp_neighbors comp_neighbors;

/* The k nearest of all other points, for each point (a row of a dense matrix). k must be less than the number of
 * points; a value that is not finite is an error that names its row. It should be freed via comp_neighbors_free(). */
COMP_API comp_status comp_neighbors_find(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                         const comp_options *options);

/* The k nearest rows of `points` for each row of `queries`, which are taken as other points: one at distance 0 is a
 * neighbour. It should be freed via comp_neighbors_free(). */
COMP_API comp_status comp_neighbors_query(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                          const comp_matrix *queries, const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_neighbors_free(comp_neighbors *neighbors);

COMP_API size_t comp_neighbors_rows(const comp_neighbors *neighbors);
COMP_API size_t comp_neighbors_k(const comp_neighbors *neighbors);

/* [rows, k], row after row; owned by `neighbors`. */
COMP_API const int32_t *comp_neighbors_indices(const comp_neighbors *neighbors);
COMP_API const float *comp_neighbors_distances(const comp_neighbors *neighbors);

/* Share of the true neighbours that were found, measured on a sample of the points; 1 when the search was exact. */
COMP_API double comp_neighbors_recall(const comp_neighbors *neighbors);

#endif
