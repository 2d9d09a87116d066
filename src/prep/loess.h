/* loess.h: local regression of one variable, as R's loess(y ~ x, span, degree = 2, family = "gaussian"). */
#ifndef COMP_PREP_LOESS_H
#define COMP_PREP_LOESS_H

#include <stddef.h>

#include "comp/status.h"

/* fitted[i] = the curve at x[i], n points in any order. An error when the span holds too few points or when more of
 * them than the span holds share one x. */
comp_status comp__loess(double *fitted, const double *x, const double *y, size_t n, double span);

/* In its place where there are too few points, or too many share one x: fitted[i] = the median of y among the points of
 * about the same x (up to 20 sets of as many points). Never fails but for memory. */
comp_status comp__trend_in_bins(double *fitted, const double *x, const double *y, size_t n);

#endif
