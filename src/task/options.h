/* options.h: how a trained model is used (kinds "embed" and "counterfactual"). */
#ifndef COMP_TASK_OPTIONS_H
#define COMP_TASK_OPTIONS_H

#include "comp/task.h"
#include "neighbors/overlap.h" /* COMP__UNSHARED_TIMES, for `rarer` */
#include "train/options.h"

typedef struct comp__embed_options {
  bool sample;              /* one draw from each posterior in place of its mean */
  uint64_t seed;            /* of the draw */
  comp_precision precision; /* of the products: f32 or bf16 (faster on some CPUs, some 3 digits); auto is f32 */
} comp__embed_options;

typedef struct comp__counterfactual_options {
  const char *to;           /* the condition to decode under: a level of the model */
  const char *from;         /* predict the samples of this condition only; NULL: all */
  size_t samples;           /* draws from each posterior, 2 .. COMP_MAX_DRAWS; 0: the posterior mean is decoded */
  double interval;          /* share of the draws between lower and upper, 0 < interval < 1 */
  bool residual;            /* x + decoded(z, to) - decoded(z, own condition) in place of decoded(z, to) */
  bool borrow;              /* with residual: where few samples of `to` are near in z, take the change from populations
                               that have them near (src/task/borrow.h); the data must hold samples of `to` */
  double rarer;             /* with borrow: so many times rarer under `to` is a population that counts as not seen */
  bool cells;               /* with residual: values as a measured cell has them (src/task/cells.h) */
  bool clip;                /* what is below 0 becomes 0 */
  uint64_t seed;            /* of the draws */
  comp_precision precision; /* as in comp__embed_options */
} comp__counterfactual_options;

extern const comp__options_kind comp__embed_kind, comp__counterfactual_kind;
comp__embed_options comp__embed_defaults(void);
comp__counterfactual_options comp__counterfactual_defaults(void);

/* As the public functions, with plain options. */
comp_status comp__embed(comp_matrix **out, comp_matrix **scales, comp_context *context, const comp_model *model,
                        const comp_dataset *dataset, const comp__embed_options *options);
comp_status comp__counterfactual(comp_prediction *out, comp_context *context, const comp_model *model,
                                 const comp_dataset *dataset, const comp__counterfactual_options *options);

#endif
