/* target.c: see target.h. */
#include "model/target.h"

#include <math.h>

double comp__target_forward(float *logits, int32_t label, size_t classes) {
  float most = logits[0];
  double sum = 0.0;
  for (size_t k = 1; k < classes; k++) most = fmaxf(most, logits[k]);
  const double own = label < 0 ? 0.0 : (double)(logits[label] - most);
  for (size_t k = 0; k < classes; k++) {
    logits[k] = expf(logits[k] - most);
    sum += (double)logits[k];
  }
  for (size_t k = 0; k < classes; k++) logits[k] = (float)((double)logits[k] / sum);
  return label < 0 ? 0.0 : log(sum) - own;
}

void comp__target_backward(float *probabilities, int32_t label, size_t classes, float weight) {
  for (size_t k = 0; k < classes; k++)
    probabilities[k] = label < 0 ? 0.0f : weight * (probabilities[k] - ((int32_t)k == label ? 1.0f : 0.0f));
}
