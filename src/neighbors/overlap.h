/* overlap.h: is the population of a point also there in other conditions? */
#ifndef COMP_NEIGHBORS_OVERLAP_H
#define COMP_NEIGHBORS_OVERLAP_H

#include <stddef.h>

#include "comp/context.h"
#include "neighbors/members.h"

/* A population that is so many times rarer in other conditions is called unshared; and the log of it. */
#define COMP__UNSHARED_TIMES 10.0
#define COMP__UNSHARED       2.3025851f

/*
 * For each of points [start[conditions], dims], sorted by condition (block k is start[k] .. start[k + 1] - 1): the log
 * of the share that its population has in its own condition over the share in all other conditions together.
 *
 * 0: the same share. log 5: five times as common in the own condition. Large: the others lack it.
 *
 * Each point visits the nearest points of each condition: a 25th of the condition's points, at least 15. A point that
 * others visit less than its own condition does, in proportion to their numbers, has few counterparts there. Visits are
 * counted over the point and its 15 nearest points of the same condition; then each ratio is replaced three times by
 * the median over the point and these neighbours. 0 where a condition has one point only, or is the only one.
 *
 * A visit goes to the nearest population, however far it is: so conditions that lie apart as a whole do not look as if
 * they shared nothing, and a population beside another one does not look shared because kernels reach that far.
 */
comp_status comp__overlap_ratios(float *out, comp_context *context, const float *points, const size_t *start,
                                 size_t conditions, size_t dims);

/* The same for any number of points [crowd->n, dims] in any order: at most 8192 of them are compared, and each other
 * one takes the ratio of the nearest that is of its condition. 0 where a point has no condition. */
comp_status comp__overlap_all(float *out, comp_context *context, const comp__crowd *crowd, const float *points,
                              size_t dims);

#endif
