/* overlap.h: is the population of a point also there in other conditions? */
#ifndef COMP_NEIGHBORS_OVERLAP_H
#define COMP_NEIGHBORS_OVERLAP_H

#include <stddef.h>

#include "comp/context.h"

/*
 * For each of points [start[conditions], dims], sorted by condition (block k is start[k] .. start[k + 1] - 1): the log
 * of the density of its own condition around it over that of all other conditions together.
 *
 * 0: the population has the same share in both. log 5: its share in the own condition is five times that in the others.
 * Large: the others lack it. Densities come from Gaussian kernels, without the point itself, whose width is `width`
 * times the median distance to the 15th neighbour of the same condition, or of the others where that is larger. Each
 * ratio is the median over the point and these neighbours. At most +-COMP__OVERLAP_MOST; 0 where a condition has one
 * point only.
 */
comp_status comp__overlap_ratios(float *out, comp_context *context, const float *points, const size_t *start,
                                 size_t conditions, size_t dims, double width);

#define COMP__OVERLAP_MOST 50.0f

#endif
