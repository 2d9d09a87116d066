/* leiden.h: Leiden clustering, the only door to igraph. Builds without igraph have no leiden.c (COMP_HAS_IGRAPH). */
#ifndef COMP_CLUSTER_LEIDEN_H
#define COMP_CLUSTER_LEIDEN_H

#include "cluster/connectivity.h"

/* Clusters of high modularity at a resolution: membership [nodes] in 0 .. *clusters - 1. */
comp_status comp__leiden(int32_t *membership, size_t *clusters, const comp__weighted_graph *graph, double resolution,
                         uint64_t seed);

#endif
