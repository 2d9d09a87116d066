/* kmeans.h: k-means clustering of dense points, for where a method starts. */
#ifndef COMP_BASELINE_KMEANS_H
#define COMP_BASELINE_KMEANS_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

/* centroids [k, d] and, unless NULL, labels [n] of points [n, d], 1 <= k <= n: the best of `starts` runs of at most
 * `steps` steps from k-means++ seeds. The same bytes at any number of threads. */
comp_status comp__kmeans(float *centroids, int32_t *labels, comp_context *context, const float *points, size_t n,
                         size_t d, size_t k, size_t starts, size_t steps, uint64_t seed);

#endif
