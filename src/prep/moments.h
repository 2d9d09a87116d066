/*
 * moments.h: sums over the samples of a matrix, for every feature at once, dense or sparse.
 *
 * Samples are cut into a fixed number of pieces whose sums are added in order: the same result at any number of threads
 * and ranks. The ranks of a context that was joined (dist/comm.h) share the pieces out; all of them make the same
 * calls.
 */
#ifndef COMP_PREP_MOMENTS_H
#define COMP_PREP_MOMENTS_H

#include <stdbool.h>

#include "comp/matrix.h"

/* Some samples of a matrix. */
typedef struct comp__samples {
  const comp_matrix *matrix;
  const size_t *rows; /* NULL: all of them */
  size_t n;
} comp__samples;

/* What a value other than 0 adds to the sum of its feature. */
typedef double (*comp__term_fn)(const void *arg, double value, size_t feature);

/* out[feature] = the sum of term() over the samples' values that are not 0. */
comp_status comp__feature_sums(double *out, comp_context *context, comp__samples samples, comp__term_fn term,
                               const void *arg);

/* What is done to a value before anything else; must keep 0 at 0. NULL: nothing. */
typedef double (*comp__transform_fn)(double value);

/* Mean and variance (divided by n - 1; 0 for a single sample) of every feature, and in how many samples it is not 0.
 * Any of the three may be NULL, but the variance needs the mean. */
comp_status comp__feature_moments(double *mean, double *variance, double *nonzero, comp_context *context,
                                  comp__samples samples, comp__transform_fn transform);

/* Sum and number of nonzero values of every sample, over the features for which keep[] is true (NULL: all). Either
 * array may be NULL. */
comp_status comp__sample_sums(double *sum, double *nonzero, comp_context *context, const comp_matrix *matrix,
                              const bool *keep);

#endif
