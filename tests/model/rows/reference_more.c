/* reference_more.c: the rows of this folder, restated in double precision. */
#include "model/reference.h"

#include <math.h>

double reference_likelihood_poisson(const double *x, const double *output, size_t n, double library, double sample,
                                    const double *vector) {
  (void)sample, (void)vector;
  double loss = 0, norm = reference_log_sum(output, n);
  for (size_t g = 0; g < n; g++) {
    double mean = library * exp(output[g] - norm);
    loss += mean - x[g] * log(mean) + lgamma(x[g] + 1);
  }
  return loss;
}

static double mean_of(const comp__penalty_input *in, const double *values, size_t k, size_t d) {
  double sum = 0;
  for (size_t i = in->start[k]; i < in->start[k + 1]; i++) sum += values[i * in->dims + d];
  return sum / (double)(in->start[k + 1] - in->start[k]);
}

/* Every condition has samples in the tests. */
double reference_penalty_means(const comp__model_options *options, const comp__penalty_input *in, const double *values,
                               const double *mean, const double *scale) {
  (void)options, (void)mean, (void)scale;
  double sum = 0, pairs = 0;
  for (size_t k = 0; k < in->conditions; k++)
    for (size_t l = k + 1; l < in->conditions; l++, pairs++)
      for (size_t d = 0; d < in->dims; d++) sum += pow(mean_of(in, values, k, d) - mean_of(in, values, l, d), 2);
  return sum / pairs;
}
