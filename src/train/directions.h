/* directions.h: coordinates of samples in which conditions can be compared before any training. */
#ifndef COMP_TRAIN_DIRECTIONS_H
#define COMP_TRAIN_DIRECTIONS_H

#include "comp/context.h"

enum { COMP__DIRECTIONS = 15 }; /* at most */

/*
 * Directions in which all conditions vary. With C_k the correlation matrix of condition k: the first eigenvectors of
 * the sum of C_k C_l over all pairs k != l (for two conditions, the directions of canonical correlation with diagonal
 * covariances). What only one condition does, its response to a treatment say, is in none of them.
 */
typedef struct comp__directions {
  size_t features, conditions, count;
  float *mean, *factor; /* [conditions, features]: a row is read as (x - mean) factor, cut at +-10, of length 1 */
  float *vectors;       /* [count, features] */
  float *stretch;       /* [count]: brings each coordinate to a mean square of 1 */
} comp__directions;

/* Of rows [start[conditions], features], sorted by condition, each with a weight. When `out` holds directions already,
 * they are the start of the search. It should be released via comp__directions_release(). */
comp_status comp__directions_find(comp__directions *out, comp_context *context, const float *rows, const float *weight,
                                  const size_t *start, size_t conditions, size_t features);
void comp__directions_release(comp__directions *directions);

/* Coordinates [n, count] of n rows of condition k. `scratch` is [n, features]. */
comp_status comp__directions_project(float *out, comp_context *context, const comp__directions *directions,
                                     const float *rows, size_t n, size_t k, float *scratch);

#endif
