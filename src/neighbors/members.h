/* members.h: some points that stand for all, where every pair is compared; each other point follows the nearest of
 * them. */
#ifndef COMP_NEIGHBORS_MEMBERS_H
#define COMP_NEIGHBORS_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

/* Points that belong to conditions. */
typedef struct comp__crowd {
  size_t n, conditions;
  const int32_t *codes; /* [n]; -1: of no condition */
  const size_t *counts; /* [conditions] */
} comp__crowd;

/* Chooses all points, or about `most`: of each condition its share, and of a small one more than that. *out are the
 * members sorted by condition, those of condition k from start[k] to start[k + 1] - 1; follows[i] is the place of point
 * i among them, -1 where it is no member. *out should be freed via comp__free(). */
comp_status comp__members_choose(size_t **out, size_t *start, int32_t *follows, const comp__crowd *crowd, size_t most);

/* Fills follows[i], where it is -1, with the member of the same condition that is nearest in coordinates [n, dims].
 * `members` has the coordinates of the members. */
comp_status comp__members_follow(int32_t *follows, comp_context *context, const comp__crowd *crowd, const size_t *start,
                                 const float *members, const float *coordinates, size_t dims);

#endif
