/*
 * umap.h: UMAP: points of many dimensions laid out in few, so that near points stay near.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "umap");
 *     comp_matrix *layout;
 *     if (comp_umap_run(&layout, NULL, context, points, options) != COMP_OK) puts(comp_error_message());
 *
 * The algorithm and its defaults are those of umap-learn: the same graph, curve, start, and schedule of samples. The
 * order of the samples within an epoch is another one, so that results do not depend on the number of threads.
 * Options are of the kind "umap".
 */
#ifndef COMP_UMAP_H
#define COMP_UMAP_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/matrix.h"
#include "comp/options.h"

/* What was done. */
typedef struct comp_umap_info {
  double a, b;
  size_t epochs;
  size_t edges;      /* of the graph, each counted once */
  size_t components; /* parts of the graph without edges between them; 0 for new points */
  double recall;     /* of the neighbours: see comp_neighbors_recall() */
} comp_umap_info;

/* The layout of the points (rows of a dense matrix), [points, dimensions]. With fewer points than neighbours, all of
 * them are neighbours. With `max-samples` N of the options, N points are laid out, and the others are placed among them
 * as comp_umap_transform() does; `info` is then of the N, with the lower recall of both. `info` may be NULL. It should
 * be freed via comp_matrix_free(). */
COMP_API comp_status comp_umap_run(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                   const comp_matrix *points, const comp_options *options);

/* Lays out new points among old ones, which stay: `layout` is where comp_umap_run() or another program put `points`.
 * New points start at the weighted mean of their neighbours. `dimensions`, `init`, `max-samples` and `fast` of the
 * options do not matter. `info` may be NULL. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_umap_transform(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                         const comp_matrix *points, const comp_matrix *layout,
                                         const comp_matrix *queries, const comp_options *options);

/* a and b of the curve that comes nearest to exp(-(distance - min_dist) / spread), and 1 below min_dist. */
COMP_API comp_status comp_umap_curve(double *a, double *b, double min_dist, double spread);

#endif
