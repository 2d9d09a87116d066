/*
 * multivariate.h: are many variables together normal?
 *
 * The tests depend on the data only through Mahalanobis distances and angles: they take whitened values, y [n, dims]
 * with mean 0 and covariance (divided by n) the identity.
 */
#ifndef COMP_DIAGNOSE_MULTIVARIATE_H
#define COMP_DIAGNOSE_MULTIVARIATE_H

#include "comp/context.h"
#include "diagnose/normality.h"

typedef struct comp__multivariate {
  comp__test skewness;      /* Mardia's b1: n k b1 / 6 (with the correction k for n), chi-square */
  comp__test kurtosis;      /* Mardia's b2: standardised by its exact moments, two-sided normal */
  comp__test henze_zirkler; /* HZ, log-normal */
  double b1, b2;            /* as such: 0 and dims (dims + 2) for a normal distribution */
} comp__multivariate;

/* All of them in one pass over the pairs, in tiles: O(n^2 dims) time, O(n) memory besides y. */
comp_status comp__multivariate_test(comp__multivariate *out, comp_context *context, const double *y, size_t n,
                                    size_t dims);

#endif
