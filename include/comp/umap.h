/*
 * umap.h: UMAP: points of many dimensions laid out in few, so that near points stay near.
 *
 *     comp_umap_options options = COMP_UMAP_OPTIONS_INIT;
 *     comp_matrix *layout;
 *     if (comp_umap_run(&layout, NULL, context, points, &options) != COMP_OK) puts(comp_error_message());
 *
 * The algorithm and its defaults are those of umap-learn: the same graph, curve, start, and schedule of samples. The
 * order of the samples within an epoch is another one, so that results do not depend on the number of threads.
 */
#ifndef COMP_UMAP_H
#define COMP_UMAP_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/matrix.h"
#include "comp/neighbors.h"

typedef enum comp_umap_init {
  COMP_UMAP_SPECTRAL, /* the graph's smoothest vectors */
  COMP_UMAP_PCA,      /* the first principal components of the points */
  COMP_UMAP_RANDOM
} comp_umap_init;

typedef struct comp_umap_options {
  size_t neighbors; /* of each point, itself included, as umap-learn counts */
  size_t dimensions;
  double min_dist, spread; /* give the curve of similarity against distance, unless a and b do */
  double a, b;             /* similarity = 1 / (1 + a distance^(2 b)); NaN: from min_dist and spread */
  comp_metric metric;
  comp_search search;
  comp_umap_init init;
  size_t epochs;   /* 0: 500 up to 10,000 points, else 200; a third of that for new points */
  size_t negative; /* random points that a point is pushed from, for each that it is drawn to */
  double rate;     /* of learning, at the start */
  uint64_t seed;
  bool fast; /* threads do not wait for each other: half the time, and with several of them never the same twice */
} comp_umap_options;

#define COMP_UMAP_OPTIONS_INIT                                                                                         \
  { 15, 2, 0.1, 1.0, NAN, NAN, COMP_METRIC_EUCLIDEAN, COMP_SEARCH_AUTO, COMP_UMAP_SPECTRAL, 0, 5, 1.0, 0, false }

/* What was done. */
typedef struct comp_umap_info {
  double a, b;
  size_t epochs;
  size_t edges;      /* of the graph, each counted once */
  size_t components; /* parts of the graph without edges between them; 0 for new points */
  double recall;     /* of the neighbours: see comp_neighbors_recall() */
} comp_umap_info;

/* Checks the options alone: an error names the bad one. */
COMP_API comp_status comp_umap_options_check(const comp_umap_options *options);

/* The layout of the points (rows of a dense matrix), [points, dimensions]. With fewer points than neighbours, all of
 * them are neighbours. `info` may be NULL. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_umap_run(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                   const comp_matrix *points, const comp_umap_options *options);

/* Lays out new points among old ones, which stay: `layout` is where comp_umap_run() or another program put `points`.
 * New points start at the weighted mean of their neighbours. `dimensions`, `init` and `fast` of the options do not
 * matter. `info` may be NULL. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_umap_transform(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                         const comp_matrix *points, const comp_matrix *layout,
                                         const comp_matrix *queries, const comp_umap_options *options);

/* a and b of the curve that comes nearest to exp(-(distance - min_dist) / spread), and 1 below min_dist. */
COMP_API comp_status comp_umap_curve(double *a, double *b, double min_dist, double spread);

#endif
