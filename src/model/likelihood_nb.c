/* likelihood_nb.c: the negative binomial of counts: means are the library size x the softmax of the output, and each
 * feature has a dispersion, log theta. */
#include "model/likelihood.h"
#include "nn/nb.h"
#include "nn/vecmath.h"

static double loss(const comp__likelihood_row *row) {
  for (size_t g = 0; g < row->features; g++) row->output[g] += row->bias[g];
  double cost =
      comp__nb_row(row->output, row->d_vector, row->vector, (comp__counts){row->index, row->value, row->stored},
                   row->library, row->weight, row->features);
  if (row->half) comp__f32_to_bf16(row->half, row->output, row->features);
  return cost;
}

const comp__likelihood comp__likelihood_nb = {
    .name = "nb",
    .title = "negative binomial",
    .help = "(negative binomial) for raw counts",
    .counts = true,
    .feature_vector = "dispersion",
    .loss = loss,
    .mean = comp__nb_mean,
};
