/* whiten.h: uncorrelated variables of variance 1, and samples of rows. */
#ifndef COMP_DIAGNOSE_WHITEN_H
#define COMP_DIAGNOSE_WHITEN_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

/* Principal axes of x [n, dims]. Zero-initialise to start. */
typedef struct comp__axes {
  size_t dims;
  double *mean;      /* [dims] */
  double *variances; /* [dims], largest first, divided by n */
  double *vectors;   /* [dims, dims], one axis a row */
} comp__axes;

/* It should be released via comp__axes_release(). */
comp_status comp__axes_init(comp__axes *out, const double *x, size_t n, size_t dims);
void comp__axes_release(comp__axes *axes);

/* y [n, kept]: x along the first axes, centred, each divided by its standard deviation. Their variances must not be 0.
 */
void comp__axes_whiten(double *y, const comp__axes *axes, const double *x, size_t n, size_t kept);

/* How many axes have a variance above `least` and above rounding. */
size_t comp__axes_above(const comp__axes *axes, double least);

/* Whitens by the values themselves: y [n, *kept], of covariance (divided by n) the identity; axes without variance are
 * left out. `y` has room for [n, dims]. */
comp_status comp__whiten(double *y, size_t *kept, const double *x, size_t n, size_t dims);

#endif
