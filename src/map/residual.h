/* residual.h: how well a model describes samples. */
#ifndef COMP_MAP_RESIDUAL_H
#define COMP_MAP_RESIDUAL_H

#include "task/aligned.h"

/* out [samples]: mean over the features that the data has of the squared difference between a sample and what the
 * decoder makes of its posterior mean under its own condition; of counts, between their scaled logarithms. */
comp_status comp__residuals(float *out, comp_context *context, const comp__aligned *aligned);

#endif
