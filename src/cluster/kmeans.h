/* kmeans.h: Lloyd's k-means from k-means++ starts, the same clusters at any number of threads. */
#ifndef COMP_CLUSTER_KMEANS_H
#define COMP_CLUSTER_KMEANS_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

typedef struct comp__kmeans_options {
  size_t clusters;   /* 1 .. number of points */
  size_t starts;     /* the best of so many runs is kept */
  size_t iterations; /* at most, in one run */
  uint64_t seed;
} comp__kmeans_options;

#define COMP__KMEANS_OPTIONS_INIT                                                                                      \
  { 8, 10, 300, 0 }

/* Clusters points [n, dims]: assignment [n] (0 .. clusters - 1), centres [clusters, dims] (may be NULL) and the sum of
 * squared distances to the centres (may be NULL). A cluster that loses all its points is given the one that is farthest
 * from its centre. Equal points can leave clusters empty. */
comp_status comp__kmeans(int32_t *assignment, double *centres, double *inertia, comp_context *context,
                         const float *points, size_t n, size_t dims, const comp__kmeans_options *options);

#endif
