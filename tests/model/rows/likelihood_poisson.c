/* likelihood_poisson.c: the Poisson distribution of counts: means are the library size x the softmax of the output. */
#include <math.h>

#include "model/likelihood.h"
#include "nn/nb.h"
#include "nn/vecmath.h"

static double loss(const comp__likelihood_row *row) {
  double cost = 0, total = 0;
  size_t k = 0;
  for (size_t g = 0; g < row->features; g++) row->output[g] += row->bias[g];
  comp__nb_mean(row->output, row->library, row->features);
  for (size_t i = 0; i < row->stored; i++) total += (double)row->value[i];
  for (size_t g = 0; g < row->features; g++) {
    double mean = fmax((double)row->output[g], 1e-12), x = 0;
    if (!row->index)
      x = (double)row->value[g];
    else if (k < row->stored && (size_t)row->index[k] == g)
      x = (double)row->value[k++];
    cost += mean - x * log(mean) + lgamma(x + 1);
    row->output[g] = (float)((double)row->weight * (total * mean / (double)row->library - x));
  }
  if (row->half) comp__f32_to_bf16(row->half, row->output, row->features);
  return cost;
}

const comp__likelihood comp__likelihood_poisson = {
    .name = "poisson",
    .title = "Poisson distribution",
    .help = "for counts that vary no more than chance makes them",
    .counts = true,
    .loss = loss,
    .mean = comp__nb_mean,
};
