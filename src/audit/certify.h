/*
 * certify.h: how well can any attacker do, at best? Upper confidence bounds for finite samples (docs/maths.md).
 *
 * P_k is the distribution of what is released of a sample of level k. The best attacker's balanced accuracy is
 * (1 / K) int max_k p_k, and no classifier's demographic parity gap between two levels exceeds their total variation.
 * Both are convex in the P_k, so that their value for the empirical P_k is too large on average; and one sample changes
 * it by at most 1 / n_k (and 1 / (K n_k)). McDiarmid's inequality does the rest, whatever the dimension.
 *
 * The samples must be independent draws from the population, and must not have been used to fit what is released.
 */
#ifndef COMP_AUDIT_CERTIFY_H
#define COMP_AUDIT_CERTIFY_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

typedef struct comp__bound {
  double estimate; /* of the best attacker there could be, on these samples; too large on average */
  double upper;    /* at most 1 */
} comp__bound;

/* All three upper bounds hold together with probability 1 - delta. */
typedef struct comp__certificate {
  comp__bound balanced;   /* balanced accuracy of any classifier of the level */
  comp__bound accuracy;   /* its accuracy, where levels are as common as in these samples */
  comp__bound parity;     /* demographic parity gap of any classifier of anything, between any two levels */
  double slack;           /* what is added to the estimate of the parity gap because samples are finite */
  size_t samples, fewest; /* in all; of the rarest level */
} comp__certificate;

/* Of a released number cells[n], 0 .. n_cells - 1; codes[n] is the level, 0 .. n_levels - 1. Every level has samples.
 */
comp_status comp__certify_cells(comp__certificate *out, const int32_t *cells, const int32_t *codes, size_t n,
                                size_t n_cells, size_t n_levels, double delta);

/* Of one draw a sample from N(mean, diag(scale^2)), mean and scale [n, dims]. The integral is estimated from `points`
 * draws, whose error is part of the bound. */
comp_status comp__certify_draws(comp__certificate *out, comp_context *context, const float *mean, const float *scale,
                                const int32_t *codes, size_t n, size_t dims, size_t n_levels, double delta,
                                size_t points, uint64_t seed);

/* How many samples of each level it takes for the slack of the parity gap to be at most `slack`. */
size_t comp__certify_needed(size_t n_levels, double delta, double slack);

#endif
