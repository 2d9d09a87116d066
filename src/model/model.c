/* model.c: the table of models. A model is a row: the same network with other values. */
#include "model/options.h"

#include <string.h>

#include "core/error.h"
#include "core/strings.h"
#include "model/penalty.h"
#include "nn/kernels.h"

typedef struct model_row {
  const char *name;
  const char *summary;
  bool sees_condition;
  comp_penalty_kind penalty;
  comp_penalty_place place;
  bool multi_scale;
  double gamma;
} model_row;

static const model_row models[] = {
    {"vae", "variational autoencoder: does not see the condition", false, COMP_PENALTY_NONE, COMP_PLACE_Z, false, 0},
    {"cvae", "conditional VAE: encoder and decoder see the condition, nothing aligns z", true, COMP_PENALTY_NONE,
     COMP_PLACE_Z, false, 0},
    {"vfae", "conditional VAE with an MMD penalty at z", true, COMP_PENALTY_MMD, COMP_PLACE_Z, true, 1000},
    {"trvae", "conditional VAE with an MMD penalty at the decoder's first hidden layer", true, COMP_PENALTY_MMD,
     COMP_PLACE_HIDDEN, true, 1000},
    {"comp", "conditional VAE with the contrastive mixture of posteriors penalty at z", true, COMP_PENALTY_COMP,
     COMP_PLACE_Z, false, 10},
};
enum { MODELS = sizeof models / sizeof *models };

size_t comp_model_kind_count(void) {
  return MODELS;
}
const char *comp_model_kind_name(size_t index) {
  return index < MODELS ? models[index].name : NULL;
}
const char *comp_model_kind_summary(size_t index) {
  return index < MODELS ? models[index].summary : NULL;
}

static const char *nth_name(const void *user, size_t i) {
  (void)user;
  return models[i].name;
}

comp_status comp__model_options_init(comp__model_options *out, const char *model) {
  for (size_t i = 0; i < MODELS; i++) {
    if (strcmp(models[i].name, model) != 0) continue;
    *out = (comp__model_options){.latent = 40,
                                 .hidden = {512, 512, 512},
                                 .n_hidden = 3,
                                 .encoder_sees_condition = models[i].sees_condition,
                                 .decoder_sees_condition = models[i].sees_condition,
                                 .scale = 0.1,
                                 .beta = 0.1,
                                 .gamma = models[i].gamma,
                                 .penalty = models[i].penalty,
                                 .place = models[i].place,
                                 .include_self = true,
                                 .multi_scale = models[i].multi_scale,
                                 .mmd_scale = 2.0};
    return COMP_OK;
  }
  const char *nearest = comp__nearest_name(model, MODELS, nth_name, NULL);
  return comp__error(COMP_ERR_ARGUMENT, "there is no model '%s'; %s%s", model, nearest ? "did you mean " : "",
                     nearest ? nearest : "there are vae, cvae, vfae, trvae and comp");
}

comp_status comp__model_options_check(const comp__model_options *o) {
  const comp__penalty *penalty = comp__penalty_find(o->penalty);
  if (penalty && penalty->needs_posteriors && o->place != COMP_PLACE_Z)
    return comp__error(COMP_ERR_ARGUMENT, "place: the penalty %s attaches to z; set it to z", penalty->name);
  return COMP_OK;
}
