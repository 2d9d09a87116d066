/* likelihood_gaussian.c: a normal distribution around the output, with one standard deviation a sample. */
#include <math.h>

#include "model/likelihood.h"
#include "nn/vecmath.h"

static const float LEAST_SD = 0.01f;

static float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

static double loss(const comp__likelihood_row *row) {
  const comp__kernels *kernels = row->kernels;
  const size_t n = row->features;
  float squares = row->index ? kernels->residual_sparse(row->output, row->bias, row->index, row->value, row->stored, n)
                             : kernels->residual_dense(row->output, row->bias, row->value, n);
  float sd = LEAST_SD + comp__softplus(row->sample);
  if (row->training) {
    float d_sd = ((float)n - squares / (sd * sd)) / sd;
    *row->d_sample = row->weight * d_sd * sigmoid(row->sample);
    kernels->scale_row(row->output, row->half, row->weight / (sd * sd), n);
  }
  return 0.5 * (double)squares / ((double)sd * sd) + (double)n * (log((double)sd) + 0.5 * log(2.0 * M_PI));
}

const comp__likelihood comp__likelihood_gaussian = {
    .name = "gaussian",
    .title = "Gaussian",
    .help = "for logged or standardised values",
    .sample_layer = "output_scale",
    .loss = loss,
};
