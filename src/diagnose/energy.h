/*
 * energy.h: do two samples come from one distribution? Szekely and Rizzo's energy distance with a permutation p-value.
 *
 *   E = 2 mean |a - b| - mean |a - a'| - mean |b - b'|     (all pairs, also of a point with itself)
 */
#ifndef COMP_DIAGNOSE_ENERGY_H
#define COMP_DIAGNOSE_ENERGY_H

#include <stdint.h>

#include "comp/context.h"
#include "diagnose/normality.h"

/* x [n, dims]: the first n_a rows are one sample, the rest the other. The statistic is E; p is (1 + permutations with
 * an E at least as large) / (1 + permutations). Distances are made in tiles, once for some hundred
 * permutations: O(n) memory. */
comp_status comp__energy_test(comp__test *out, comp_context *context, const double *x, size_t n, size_t n_a,
                              size_t dims, size_t permutations, uint64_t seed);

#endif
