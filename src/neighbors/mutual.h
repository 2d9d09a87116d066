/* mutual.h: pairs of points of two sets that are near each other from both sides. */
#ifndef COMP_NEIGHBORS_MUTUAL_H
#define COMP_NEIGHBORS_MUTUAL_H

#include "comp/context.h"
#include "comp/matrix.h"

typedef struct comp__mutual {
  size_t n;
  int32_t *left, *right; /* [n]: rows, sorted by right, then left */
} comp__mutual;

/* All pairs in which the left point is among the k_left nearest (Euclidean) of the right one, and the right one among
 * the k_right nearest of the left one. A k beyond the size of a set is that size. Both are dense. It should be released
 * via comp__mutual_release(). */
comp_status comp__mutual_find(comp__mutual *out, comp_context *context, const comp_matrix *left,
                              const comp_matrix *right, size_t k_left, size_t k_right);
void comp__mutual_release(comp__mutual *pairs);

#endif
