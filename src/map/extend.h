/* extend.h: a model that knows more conditions. */
#ifndef COMP_MAP_EXTEND_H
#define COMP_MAP_EXTEND_H

#include "model/trained.h"

/* A copy of a model with `n` more levels behind its own. All weights are the same; what belongs to a new level (rows of
 * the first layers, the mean of a centred model) is the mean over the model's levels. Samples of the old levels are
 * embedded to the same bytes. It should be freed via comp_model_free(). */
comp_status comp__model_extend(comp_model **out, const comp_model *model, const char *const *names, size_t n);

#endif
