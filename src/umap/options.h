/* options.h: how a layout is made (kind "umap"). */
#ifndef COMP_UMAP_OPTIONS_H
#define COMP_UMAP_OPTIONS_H

#include "comp/umap.h"
#include "neighbors/options.h"

typedef enum comp_umap_init {
  COMP_UMAP_SPECTRAL, /* the graph's smoothest vectors */
  COMP_UMAP_PCA,      /* the first principal components of the points */
  COMP_UMAP_RANDOM
} comp_umap_init;

typedef struct comp__umap_options {
  size_t neighbors; /* of each point, itself included, as umap-learn counts */
  size_t dimensions;
  double min_dist, spread; /* give the curve of similarity against distance, unless a and b do */
  double a, b;             /* similarity = 1 / (1 + a distance^(2 b)); NaN: from min_dist and spread */
  comp_distance metric;
  comp_search search;
  comp_umap_init init;
  size_t epochs;   /* 0: 500 up to 10,000 points, else 200; a third of that for new points */
  size_t negative; /* random points that a point is pushed from, for each that it is drawn to */
  double rate;     /* of learning, at the start */
  uint64_t seed;
  size_t max_samples; /* points that are laid out; the others are placed among them; 0: all are laid out */
  bool fast; /* threads do not wait for each other: half the time, and with several of them never the same twice */
} comp__umap_options;

extern const comp__options_kind comp__umap_kind;
comp__umap_options comp__umap_defaults(void);

/* As the public functions, with plain options. */
comp_status comp__umap_run(comp_matrix **out, comp_umap_info *info, comp_context *context, const comp_matrix *points,
                           const comp__umap_options *options);
comp_status comp__umap_transform(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                 const comp_matrix *points, const comp_matrix *layout, const comp_matrix *queries,
                                 const comp__umap_options *options);

#endif
