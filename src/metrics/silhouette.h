/* silhouette.h: silhouettes over all pairs of samples. */
#ifndef COMP_METRICS_SILHOUETTE_H
#define COMP_METRICS_SILHOUETTE_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

/* out [n]: the silhouette of each row of points [n, dims] among its Euclidean distances to all others. Neither
 * distances nor their sums by group are stored for more than a few rows. */
comp_status comp__silhouettes(double *out, comp_context *context, const float *points, size_t n, size_t dims,
                              const int32_t *group, size_t groups);

/* The silhouette of a sample of group `own` from its sums [groups] and the sizes of the groups; 0 when it is alone in
 * its group, when there is no other, and when all distances are 0. */
double comp__silhouette(const double *sums, const size_t *counts, size_t groups, size_t own);

#endif
