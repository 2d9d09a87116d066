/* training.h: options of a network so small that tests train it in no time. Include testing.h first. */
#ifndef COMP_TRAINING_H
#define COMP_TRAINING_H

#include "train/options.h"

/* The default recipe of a model for the condition in column "c", with two narrow hidden layers, but without centring
 * and blur: a test that is about these asks for them. */
static inline comp__train_options test_train_options(const char *model, size_t first, size_t second) {
  comp__train_options o;
  assert_ok(comp__train_options_init(&o, model, "default"));
  o.condition = "c";
  o.model.latent = 3;
  o.model.n_hidden = 2;
  o.model.hidden[0] = first;
  o.model.hidden[1] = second;
  o.model.centred = false;
  o.blur_from = o.blur_to = 0;
  o.precision = COMP_PRECISION_F32;
  o.checkpoint_minutes = 0;
  return o;
}

#endif
