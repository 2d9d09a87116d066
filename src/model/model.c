/* model.c: the table of models. A model is a row: the same network with other values. */
#include "comp/model.h"

#include <math.h>
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

size_t comp_model_count(void) {
  return MODELS;
}
const char *comp_model_name(size_t index) {
  return index < MODELS ? models[index].name : NULL;
}
const char *comp_model_summary(size_t index) {
  return index < MODELS ? models[index].summary : NULL;
}

static const char *nth_name(const void *user, size_t i) {
  (void)user;
  return models[i].name;
}

comp_status comp_model_options_init(comp_model_options *out, const char *model) {
  for (size_t i = 0; i < MODELS; i++) {
    if (strcmp(models[i].name, model) != 0) continue;
    *out = (comp_model_options){.latent = 40,
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

static bool not_between(double value, double low, double high) {
  return !(value >= low && value <= high);
}

comp_status comp_model_options_check(const comp_model_options *o) {
  if (o->latent < 1 || o->latent > COMP_MAX_LATENT)
    return comp__error(COMP_ERR_ARGUMENT, "latent: %zu is not between 1 and %d", o->latent, COMP_MAX_LATENT);
  if (o->n_hidden < 1 || o->n_hidden > COMP_MAX_HIDDEN)
    return comp__error(COMP_ERR_ARGUMENT, "hidden: %zu layers; there must be 1 to %d", o->n_hidden, COMP_MAX_HIDDEN);
  for (size_t l = 0; l < o->n_hidden; l++)
    if (o->hidden[l] < 1 || o->hidden[l] > COMP_MAX_WIDTH)
      return comp__error(COMP_ERR_ARGUMENT, "hidden: a width of %zu is not between 1 and %d", o->hidden[l],
                         COMP_MAX_WIDTH);
  if (not_between(o->scale, 1e-3, 100))
    return comp__error(COMP_ERR_ARGUMENT, "scale: %g is not between 0.001 and 100", o->scale);
  if (not_between(o->beta, 0, 1e9))
    return comp__error(COMP_ERR_ARGUMENT, "beta: %g is not a number from 0 on", o->beta);
  if (not_between(o->gamma, 0, 1e9))
    return comp__error(COMP_ERR_ARGUMENT, "gamma: %g is not a number from 0 on", o->gamma);
  if (not_between(o->mmd_scale, 1e-6, 1e6))
    return comp__error(COMP_ERR_ARGUMENT, "mmd_scale: %g is not between 1e-6 and 1e6", o->mmd_scale);
  const comp__penalty *penalty = comp__penalty_find(o->penalty);
  if (penalty && penalty->needs_posteriors && o->place != COMP_PLACE_Z)
    return comp__error(COMP_ERR_ARGUMENT, "place: the penalty %s attaches to z; set it to z", penalty->name);
  return COMP_OK;
}
