/* special.h: distributions that the tests need, in double precision, and corrections for many tests. */
#ifndef COMP_DIAGNOSE_SPECIAL_H
#define COMP_DIAGNOSE_SPECIAL_H

#include <stddef.h>

#include "comp/status.h"

/* The standard normal distribution: P(Z <= x), P(Z > x), log P(Z <= x) (accurate far below 0), and the x of a p in
 * (0, 1). */
double comp__normal_cdf(double x);
double comp__normal_sf(double x);
double comp__normal_logcdf(double x);
double comp__normal_quantile(double p);

/* P(X > x) of a chi-square distribution with that many degrees of freedom (> 0). */
double comp__chi_square_sf(double x, double freedom);

/* Kolmogorov's limit distribution: P(K > x). */
double comp__kolmogorov_sf(double x);

/* Holm's adjusted p-values of n tests. `adjusted` may be `p`. */
comp_status comp__holm(double *adjusted, const double *p, size_t n);

#endif
