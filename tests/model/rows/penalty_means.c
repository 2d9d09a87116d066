/* penalty_means.c: a penalty as short as one can be: squared distances between the means of the conditions, averaged
 * over the pairs of conditions that the batch holds. */
#include <string.h>

#include "model/penalty.h"

static size_t scratch_size(const comp__model_options *options, size_t rows, size_t dims, size_t conditions) {
  (void)options, (void)rows;
  return conditions * dims * sizeof(double);
}

static size_t size_of(const comp__penalty_input *in, size_t k) {
  return in->start[k + 1] - in->start[k];
}

static void find_means(double *means, const comp__penalty_input *in) {
  memset(means, 0, in->conditions * in->dims * sizeof *means);
  for (size_t k = 0; k < in->conditions; k++)
    for (size_t i = in->start[k]; i < in->start[k + 1]; i++)
      for (size_t d = 0; d < in->dims; d++)
        means[k * in->dims + d] += (double)in->values[i * in->dims + d] / (double)size_of(in, k);
}

/* Adds the gradient by the values of condition k of factor x its squared distance from condition l. */
static void add_gradient(float *out, const comp__penalty_input *in, const double *means, size_t k, size_t l,
                         double factor) {
  for (size_t i = in->start[k]; i < in->start[k + 1]; i++)
    for (size_t d = 0; d < in->dims; d++)
      out[i * in->dims + d] +=
          (float)(2 * factor * (means[k * in->dims + d] - means[l * in->dims + d]) / (double)size_of(in, k));
}

static comp_status run(double *out, comp_context *context, const comp__model_options *options,
                       const comp__penalty_input *in, const comp__penalty_gradient *gradient, float weight,
                       void *scratch) {
  (void)context, (void)options;
  double *means = scratch, present = 0;
  const size_t bytes = in->rows * in->dims * sizeof(float);
  find_means(means, in);
  for (size_t k = 0; k < in->conditions; k++) present += size_of(in, k) > 0;
  const double share = present < 2 ? 0 : 2 / (present * (present - 1));
  if (gradient->values) memset(gradient->values, 0, bytes);
  if (gradient->mean) memset(gradient->mean, 0, bytes);
  if (gradient->scale) memset(gradient->scale, 0, bytes);
  *out = 0;
  for (size_t k = 0; k < in->conditions; k++)
    for (size_t l = k + 1; l < in->conditions; l++) {
      if (size_of(in, k) == 0 || size_of(in, l) == 0) continue;
      for (size_t d = 0; d < in->dims; d++) {
        double difference = means[k * in->dims + d] - means[l * in->dims + d];
        *out += share * difference * difference;
      }
      if (!gradient->values) continue;
      add_gradient(gradient->values, in, means, k, l, share * (double)weight);
      add_gradient(gradient->values, in, means, l, k, share * (double)weight);
    }
  return COMP_OK;
}

const comp__penalty comp__penalty_means = {
    .name = "means",
    .help = "(squared distances between the means of the conditions)",
    .scratch = scratch_size,
    .run = run,
};
