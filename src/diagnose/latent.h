/* latent.h: a model with the posteriors of a data set under it. */
#ifndef COMP_DIAGNOSE_LATENT_H
#define COMP_DIAGNOSE_LATENT_H

#include "task/coder.h"

/* Zero-initialise to start. */
typedef struct comp__latent {
  comp__aligned aligned;
  comp__coder *coder;
  size_t n, dims, features, conditions;
  float *mean, *scale;  /* [n, dims] */
  const int32_t *codes; /* [n]: the condition; owned by `aligned` */
} comp__latent;

/* Encodes all samples; every one must have a condition that the model knows. The model and the data set must outlive
 * the result. It should be released via comp__latent_release(). */
comp_status comp__latent_init(comp__latent *out, comp_context *context, const comp_model *model,
                              const comp_dataset *dataset);
void comp__latent_release(comp__latent *latent);

/* Expected features out [n, features] of some samples, under condition `to` (-1: each under its own). Of a negative
 * binomial model they are log1p of counts at the model's standard library size, so that no gene drowns the others. */
comp_status comp__latent_decode(float *out, comp_context *context, const comp__latent *latent, const size_t *samples,
                                size_t n, int32_t to);

/* What was measured, [features], on the same scale. */
void comp__latent_observed(float *out, const comp__latent *latent, size_t sample);

/* Samples 0 .. n - 1 in random order. */
comp_status comp__random_order(size_t **out, size_t n, uint64_t seed, uint64_t step);

/* Some rows of posteriors as a matrix: means, or one draw from each. It should be freed via comp_matrix_free(). */
comp_status comp__latent_rows(comp_matrix **out, const comp__latent *latent, const size_t *samples, size_t n, bool draw,
                              uint64_t seed);

#endif
