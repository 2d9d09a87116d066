/* leiden.h: Leiden clustering, through the module `leiden`. */
#ifndef COMP_CLUSTER_LEIDEN_H
#define COMP_CLUSTER_LEIDEN_H

#include "cluster/connectivity.h"

/* Clusters of high modularity at a resolution: membership [nodes] in 0 .. *clusters - 1. COMP_ERR_UNAVAILABLE without
 * the module. */
comp_status comp__leiden(int32_t *membership, size_t *clusters, const comp__weighted_graph *graph, double resolution,
                         uint64_t seed);

/* What the module does (src/modules/leiden.c). */
typedef struct comp__leiden_table {
  /* As comp__leiden(). On failure `*problem` says why, in memory that is not to be freed. */
  comp_status (*cluster)(int32_t *membership, size_t *clusters, const comp__weighted_graph *graph, double resolution,
                         uint64_t seed, const char **problem);
} comp__leiden_table;

#endif
