/*
 * symmetry.h: which linear maps leave the distribution of z as it is? Each of them leaves counterfactuals open.
 *
 * Such a map of whitened z is orthogonal, and turns directions of most non-normality into one another: where FastICA
 * finds them uniquely, it can only exchange components and change their signs. (Theorem 2 asks for the same, of
 * independent components.) So these are the maps that are tried: one component mirrored, several mirrored at once, two
 * exchanged, with all signs. Where components are not unique, as of a sphere, a map of this kind is still among those
 * that leave z as it is.
 *
 * Two halves of the samples are compared, one of them mapped. A map must leave each component as it is, which
 * Kolmogorov-Smirnov asks, and all of them together, which the energy test asks: a component can equal its own mirror
 * image while z, mirrored along it, is another. A map is ruled out when either test rejects at half of alpha.
 *
 * Each half has its mean, covariance and components estimated on its own, which hides small differences and does not
 * make any, but for sharp edges, which Kolmogorov-Smirnov is forgiven: the tests are cautious, and warn too often
 * rather than too seldom.
 */
#ifndef COMP_DIAGNOSE_SYMMETRY_H
#define COMP_DIAGNOSE_SYMMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

typedef struct comp__symmetries {
  size_t mirrored_alone; /* components that, each on its own, may equal their mirror images */
  size_t alike_alone;    /* pairs of components that, each on its own, may be distributed alike, up to sign */
  size_t mirrored;       /* components that may be mirrored without changing z */
  size_t together;       /* sets of several that may be mirrored at once, where none of them may be alone */
  size_t alike;          /* pairs that may be exchanged, up to signs, without changing z */
  size_t tests;          /* energy tests made */
  size_t untested;       /* maps beyond the most that are tested: they count as if they may leave z as it is */
} comp__symmetries;

/* y [n, dims] is whitened, its rows are in random order, and the rows of w [dims, dims] are components of it. */
comp_status comp__symmetries_find(comp__symmetries *out, comp_context *context, const double *w, const double *y,
                                  size_t n, size_t dims, double alpha, uint64_t seed);

/* The two-sample Kolmogorov-Smirnov p-value (limit distribution) of sorted a [n] and shift + scale * b [m], b sorted;
 * the scale may be negative. */
double comp__smirnov_p(const double *a, size_t n, const double *b, size_t m, double scale, double shift);

#endif
