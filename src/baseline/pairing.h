/*
 * pairing.h: correction by mutual nearest neighbours: pairs of samples of two sets that are near each other from both
 * sides, what moves one of each pair to the other, and that movement spread over the whole set (after batchelor).
 */
#ifndef COMP_BASELINE_PAIRING_H
#define COMP_BASELINE_PAIRING_H

#include "comp/context.h"
#include "comp/matrix.h"
#include "neighbors/mutual.h"

/*
 * Moves `right` to `left`, both [.., d] and changed in place:
 *
 *   the mean vector from right to left over all paired samples is the overall difference;
 *   variation along it within each set is taken out;
 *   each paired right sample gets the mean vector to its partners;
 *   each right sample moves by the mean vector of the k nearest paired right samples, with tricube weights whose
 *   bandwidth is 3 times the median distance. Distances are measured in right_space [.., any d], NULL: in `right`.
 *
 * `overall` [d] gets the overall difference, of length 1 (or 0). There must be a pair at least.
 */
comp_status comp__pairing_correct(comp_context *context, comp_matrix *left, comp_matrix *right,
                                  const comp_matrix *right_space, const comp__mutual *pairs, size_t k, double *overall);

/* Takes the variation along a direction [d] of length 1 out of x: all samples get the mean place along it. */
void comp__flatten_along(comp_matrix *x, const double *direction);

#endif
