/* options.h: how neighbours are searched for (kind "neighbors"). */
#ifndef COMP_NEIGHBORS_OPTIONS_H
#define COMP_NEIGHBORS_OPTIONS_H

#include "comp/neighbors.h"
#include "core/options.h"

/* Their names, in the order of the enums; they end with NULL. */
extern const char *const comp__distance_names[], *const comp__search_names[];

typedef struct comp__neighbors_options {
  size_t k;
  comp_distance metric;
  comp_search search;
} comp__neighbors_options;

extern const comp__options_kind comp__neighbors_kind;
comp__neighbors_options comp__neighbors_defaults(void);

/* As the public functions, with plain options. */
comp_status comp__neighbors_find(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                 const comp__neighbors_options *options);
comp_status comp__neighbors_query(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                  const comp_matrix *queries, const comp__neighbors_options *options);

/* The k nearest of `points` to each of `queries`, exactly, by euclidean distance. A k beyond the points is their
 * number.
 */
comp_status comp__neighbors_nearest(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                    const comp_matrix *queries, size_t k);

#endif
