/* connectivity.h: the weighted graph that clustering works on, from nearest neighbours. */
#ifndef COMP_CLUSTER_CONNECTIVITY_H
#define COMP_CLUSTER_CONNECTIVITY_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

typedef struct comp__edge {
  int32_t a, b; /* a < b */
  double weight;
} comp__edge;

/* An undirected graph without loops; edges are sorted by a, then b. */
typedef struct comp__weighted_graph {
  size_t nodes, n_edges;
  comp__edge *edges;
} comp__weighted_graph;

/* UMAP's memberships: for each sample exp(-(d - d_1) / sigma), d_1 the distance to its nearest neighbour that is not at
 * distance 0, sigma such that they sum up to log2(k + 1); and w + w' - w w' of both directions. indices and distances
 * [n, stride], the first k of each row count. It should be released via comp__weighted_graph_release(). */
comp_status comp__connectivity(comp__weighted_graph *out, comp_context *context, const int32_t *indices,
                               const float *distances, size_t n, size_t k, size_t stride);
void comp__weighted_graph_release(comp__weighted_graph *graph);

#endif
