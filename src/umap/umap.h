/* umap.h: the parts of UMAP: graph, start, layout. */
#ifndef COMP_UMAP_UMAP_H
#define COMP_UMAP_UMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/umap.h"

/* A weighted graph, as CSR: edges of row i are indptr[i] .. indptr[i + 1] - 1, their ends ascending. */
typedef struct comp__graph {
  size_t n; /* rows */
  size_t *indptr;
  int32_t *indices;
  float *weights;
} comp__graph;

void comp__graph_release(comp__graph *graph);

/* How strongly each point belongs with its neighbours: weights [n, k] from distances [n, k], nearest first. With `own`
 * (points among themselves) the point itself is counted as one more neighbour, at distance 0, and the nearest other
 * point gets weight 1. */
comp_status comp__umap_strengths(float *weights, comp_context *context, const float *distances, size_t n, size_t k,
                                 bool own);

/* The fuzzy union of all neighbourhoods: symmetric, no loops, weights a + b - a b of the two directions. It should be
 * released via comp__graph_release(). */
comp_status comp__umap_union(comp__graph *out, const int32_t *indices, const float *weights, size_t n, size_t k);

/* The component of each vertex, numbered in the order of their lowest vertices; `*count` of them. */
comp_status comp__graph_components(int32_t *component, size_t *count, const comp__graph *graph);

/* The start by smoothest vectors of the graph: layout [n, dims]; parts are placed by the centres of their points. */
comp_status comp__umap_spectral(float *layout, comp_context *context, const comp__graph *graph,
                                const int32_t *component, size_t components, const comp_matrix *points, size_t dims,
                                uint64_t seed);

/* One optimisation. Heads move, drawn to the tails of their edges and pushed from random tails. */
typedef struct comp__umap_layout {
  const comp__graph *graph;
  float *heads;       /* [graph->n, dims] */
  const float *tails; /* [n_tails, dims] that stay; NULL: the heads themselves */
  size_t n_tails, dims, epochs, negative;
  double a, b, rate;
  uint64_t seed;
  bool fast; /* threads move points as they come. Only without tails */
} comp__umap_layout;

comp_status comp__umap_optimise(const comp__umap_layout *layout, comp_context *context);

#endif
