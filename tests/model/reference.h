/*
 * reference.h: the whole loss written again in double precision, plainly and slowly: what gradients are checked
 * against.
 */
#ifndef TESTS_MODEL_REFERENCE_H
#define TESTS_MODEL_REFERENCE_H

#include "model/network.h"
#include "model/options.h"
#include "model/penalty.h"

/* The loss of a batch with parameters `params` (doubles, laid out as the network's). `buffers` has the means that a
 * centred encoder takes off; `eps` [rows, latent] is the noise. */
double reference_loss(const comp__network *network, const double *params, const float *buffers,
                      const comp__batch *batch, const float *eps, comp__pull pull);

/* The limit of lengths (src/model/bound.h) that the last loss had. Not below 0: what the next losses take, as gradients
 * know it for a constant; below 0, each has that of its own quantile. */
extern double reference_last_limit, reference_fixed_limit;

/* The parts on their own, for tests of penalties. */
double reference_comp(const comp__model_options *options, size_t rows, size_t dims, size_t conditions,
                      const size_t *start, const float *weight, const double *z, const double *mean,
                      const double *scale, int p0);
double reference_mmd(const comp__model_options *options, size_t rows, size_t dims, size_t conditions,
                     const size_t *start, const double *x);

/* log of the sum of exp(terms). */
double reference_log_sum(const double *terms, size_t n);

/* Each likelihood: the negative log-likelihood of one sample x [n], as comp__likelihood_row has it. */
#define LIKELIHOOD(KIND, name)                                                                                         \
  double reference_likelihood_##name(const double *x, const double *output, size_t n, double library, double sample,   \
                                     const double *vector);
#include "model/likelihoods.def"
#undef LIKELIHOOD

/* Each penalty: its value; of the input only sizes and blocks are given, and options->scale is the blurred one. */
#define PENALTY(KIND, name)                                                                                            \
  double reference_penalty_##name(const comp__model_options *options, const comp__penalty_input *input,                \
                                  const double *values, const double *mean, const double *scale);
#include "model/penalties.def"
#undef PENALTY

#endif
