/* optimiser.h: Adam on the flat vectors. */
#ifndef COMP_TRAIN_OPTIMISER_H
#define COMP_TRAIN_OPTIMISER_H

#include "model/network.h"

typedef struct comp__optimiser {
  float *m, *v; /* moments [params] */
  uint64_t steps;
} comp__optimiser;

/* One step of Adam (beta1 0.9, beta2 0.999, epsilon 1e-8) with the gradient's norm limited to `clip` (0: not). *finite:
 * whether the gradient was; after one that was not, weights and moments cannot be used any more. */
comp_status comp__optimiser_step(bool *finite, comp_context *context, comp__optimiser *optimiser,
                                 const comp__state *state, size_t n, double rate, double decay, double clip);

#endif
