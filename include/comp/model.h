/*
 * model.h: what a model is: the five of the paper as rows of one table, and the trained thing itself.
 *
 *   vae     no condition seen, no penalty            cvae   encoder and decoder see the condition
 *   vfae    cvae + MMD at z                          trvae  cvae + MMD at the decoder's first hidden layer
 *   comp    cvae + Contrastive Mixture of Posteriors at z
 *
 * docs/maths.md states the objective exactly. All models share one reduction: the negative log-likelihood is summed
 * over features and averaged over the batch, and gamma is on that scale.
 */
#ifndef COMP_MODEL_H
#define COMP_MODEL_H

#include <stddef.h>

#include "comp/status.h"

typedef struct comp_model comp_model;

/* The number of models, and the name and one-line description of each. */
COMP_API size_t comp_model_count(void);
COMP_API const char *comp_model_name(size_t index);
COMP_API const char *comp_model_summary(size_t index);

#endif
