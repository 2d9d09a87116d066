/*
 * presets.c: recipes. A row of the table is one model in one of the paper's experiments, exactly as its tables give it;
 * `default` and `protect` are ours.
 *
 * The paper lists CoMP, VFAE and trVAE. VAE and CVAE take CoMP's row without a penalty, and for the integration of
 * protocols, where CoMP alone is listed, VFAE and trVAE take their rows for the stimulated cells.
 */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/strings.h"
#include "model/penalty.h"
#include "train/options.h"

typedef struct recipe {
  const char *preset, *model;
  size_t layers, width, latent;
  bool learn_scale;
  comp_penalty_place place;
  bool multi_scale;
  double rate;
  size_t batch, epochs;
  double beta, gamma;
} recipe;

static const recipe recipes[] = {
    {"paper-tumour", "comp", 3, 512, 16, false, COMP_PLACE_Z, false, 1e-4, 5500, 4000, 1e-7, 0.5},
    {"paper-tumour", "vfae", 3, 512, 16, true, COMP_PLACE_HIDDEN, true, 1e-3, 5550, 4000, 1e-7, 4},
    {"paper-tumour", "trvae", 3, 512, 16, true, COMP_PLACE_HIDDEN, true, 3e-4, 5550, 4000, 1e-7, 10},
    {"paper-kang", "comp", 3, 512, 40, false, COMP_PLACE_Z, false, 1e-6, 512, 10000, 1e-7, 1},
    {"paper-kang", "vfae", 3, 512, 40, false, COMP_PLACE_HIDDEN, true, 1e-4, 512, 10000, 1e-7, 1},
    {"paper-kang", "trvae", 3, 512, 40, false, COMP_PLACE_HIDDEN, true, 5e-4, 512, 6000, 1e-7, 10},
    {"paper-pbmc", "comp", 3, 512, 40, false, COMP_PLACE_Z, false, 5e-6, 512, 350, 1, 0.75},
    {"paper-pbmc", "vfae", 3, 512, 40, false, COMP_PLACE_HIDDEN, true, 1e-4, 512, 10000, 1e-7, 1},
    {"paper-pbmc", "trvae", 3, 512, 40, false, COMP_PLACE_HIDDEN, true, 5e-4, 512, 6000, 1e-7, 10},
    {"paper-adult", "comp", 2, 64, 16, false, COMP_PLACE_Z, false, 1e-4, 4096, 10000, 1, 0.5},
    {"paper-adult", "vfae", 1, 64, 16, true, COMP_PLACE_Z, false, 1e-4, 512, 10000, 1, 1000},
    {"paper-adult", "trvae", 2, 32, 8, false, COMP_PLACE_HIDDEN, true, 1e-4, 4096, 10000, 0.001, 10},
};

typedef struct preset {
  const char *name, *summary;
} preset;

static const preset presets[] = {
    {"default",
     "a modern recipe that needs no tuning: a rate that rises, then falls to nearly 0; the last weights are kept"},
    {"protect", "hides an attribute of rows of a table: wide posteriors, large batches, no early stopping"},
    {"paper-kang", "the paper's recipe for stimulated and untreated cells"},
    {"paper-pbmc", "the paper's recipe for the integration of protocols"},
    {"paper-adult", "the paper's recipe for the census data"},
    {"paper-tumour", "the paper's recipe for tumours and cell lines"},
};
enum { RECIPES = sizeof recipes / sizeof *recipes, PRESETS = sizeof presets / sizeof *presets };

size_t comp_preset_count(void) {
  return PRESETS;
}
const char *comp_preset_name(size_t index) {
  return index < PRESETS ? presets[index].name : NULL;
}
const char *comp_preset_summary(size_t index) {
  return index < PRESETS ? presets[index].summary : NULL;
}

static const char *nth_preset(const void *user, size_t i) {
  (void)user;
  return presets[i].name;
}

static comp_status find_preset(const char *name) {
  for (size_t i = 0; i < PRESETS; i++)
    if (strcmp(presets[i].name, name) == 0) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "there is no preset '%s'%s", name,
                     comp__hint(name, PRESETS, nth_preset, NULL).text);
}

static const recipe *find_recipe(const char *preset_name, const char *model) {
  for (size_t i = 0; i < RECIPES; i++)
    if (strcmp(recipes[i].preset, preset_name) == 0 && strcmp(recipes[i].model, model) == 0) return &recipes[i];
  return NULL;
}

static void follow_recipe(comp__train_options *o, const recipe *r) {
  comp__model_options *m = &o->model;
  m->n_hidden = r->layers;
  for (size_t l = 0; l < r->layers; l++) m->hidden[l] = r->width;
  m->latent = r->latent;
  m->scale = 0.1;
  m->learn_scale = r->learn_scale;
  m->place = r->place;
  m->multi_scale = r->multi_scale;
  m->mmd_scale = 2.0;
  m->beta = r->beta;
  m->gamma = r->gamma;
  m->bound = 0.0;
  o->rate = r->rate;
  o->batch = r->batch;
  o->epochs = r->epochs;
  o->schedule = COMP_SCHEDULE_CONSTANT;
  o->patience = 0;
  o->align = COMP_ALIGN_ALL;
  o->blur_from = o->blur_to = 0.0;
  m->centred = false;
  o->select = COMP_SELECT_BEST;
}

/* For tables of people and the like, from runs on census data (docs/tried.md). Where posteriors are narrow, those
 * of two rows barely overlap, and the penalty draws all rows together without mixing the conditions; where they are
 * wide, it is stable without a row's own posterior in its mixture, and free of the bias of that term. Where batches are
 * small, it sees too few rows of the other condition. An encoder that sees the condition gives rows that differ in it
 * alone different means, so that whoever has a twin is found: on held-out rows of the census a forest found sex at
 * 0.865 with it and at 0.735 without, and income was predicted no worse (docs/tried.md). A better validation loss
 * says little of what is hidden: the likelihood is most of it. */
static void follow_protect(comp__train_options *o) {
  comp__model_options *m = &o->model;
  m->n_hidden = 3;
  for (size_t l = 0; l < m->n_hidden; l++) m->hidden[l] = 256;
  m->latent = 16;
  m->scale = 1.0;
  m->beta = 1.0;
  m->bound = 0.0;
  m->encoder_sees_condition = false;
  if (comp__penalty_has_option(comp__penalty_find(m->penalty), "leave-self-out")) m->include_self = false;
  o->batch = 2048;
  o->steps = 3000;
  o->align = COMP_ALIGN_ALL; /* what is hidden must be hidden for all rows */
  o->blur_from = o->blur_to = 0.0;
  m->centred = false;
  o->patience = 0;
  o->select = COMP_SELECT_BEST;
}

/* From runs on adult.data (docs/tried.md). The likelihood asks z to keep all that describes a row, and most of it
 * goes with the attribute. With a target it is a small part of the loss: the mean over features, so that it is as small
 * where there are many. Two dimensions hold a target, and leave no room for the rest. Where posteriors are narrow,
 * means hide what draws hide. Few steps: more of them learn the targets of single rows by heart. */
void comp__train_options_aim(comp__train_options *o) {
  comp__model_options *m = &o->model;
  const comp__penalty *penalty = comp__penalty_find(m->penalty);
  if (strcmp(o->preset, "protect") != 0 || !penalty || !penalty->needs_posteriors) return;
  m->latent = 2;
  m->scale = 0.3;
  m->reduction = COMP_REDUCTION_MEAN;
  m->beta = 0.01;
  m->target_weight = 30.0;
  m->bound = 2.0;
  o->blur_from = 1.0;
  o->blur_to = 0.05;
  o->clip = 1.0;
  o->steps = 400;
  o->select = COMP_SELECT_LAST;
}

/* CoMP's own network and posteriors, from half A of the suite (docs/experiments.md). Wider posteriors than the paper's
 * 0.1 align whole populations, not single samples. A smaller network learns less of the noise of a few thousand
 * samples, and a step takes a quarter of the time. Pairs run away only where the penalty is blind to them
 * (model/bound.h). The pairing of populations that the first steps find stays: so samples are encoded less the centre
 * of their condition, which puts like populations near each other, and the penalty starts with a blur under which whole
 * populations overlap. */
static void follow_measured(comp__train_options *o) {
  comp__model_options *m = &o->model;
  m->n_hidden = 2;
  for (size_t l = 0; l < m->n_hidden; l++) m->hidden[l] = 256;
  m->latent = 20;
  m->scale = 0.5;
  m->bound = 2.0;
  m->centred = true;
  o->blur_from = 2.0;
  o->blur_to = 0.25;
}

comp_status comp__train_options_init(comp__train_options *out, const char *model, const char *preset_name) {
  if (!model) model = "comp";
  if (!preset_name) preset_name = "default";
  comp__options_defaults(out, &comp__train_kind);
  out->batch = 512;
  out->rate = 3e-3;
  out->schedule = COMP_SCHEDULE_COSINE;
  out->warmup = 0.1;
  out->steps = 1400;
  out->least_epochs = 15;
  out->most_steps = 30000;
  out->patience = 0;
  out->select = COMP_SELECT_LAST;
  comp_status status = comp__model_options_init(&out->model, model);
  out->model.target_weight = 10.0;
  if (status == COMP_OK) status = find_preset(preset_name);
  if (status != COMP_OK) return status;
  if (comp__penalty_has_option(comp__penalty_find(out->model.penalty), "align")) out->align = COMP_ALIGN_SHARED;
  const comp__penalty *penalty = comp__penalty_find(out->model.penalty);
  if (penalty && penalty->needs_posteriors) follow_measured(out);
  snprintf(out->model_name, sizeof out->model_name, "%s", model);
  snprintf(out->preset, sizeof out->preset, "%s", preset_name);
  if (strcmp(preset_name, "protect") == 0) follow_protect(out);
  if (strcmp(preset_name, "default") == 0 || strcmp(preset_name, "protect") == 0) return COMP_OK;
  const recipe *r = find_recipe(preset_name, model);
  double gamma = out->model.gamma;
  bool plain = !r; /* vae and cvae: CoMP's row without its penalty */
  if (plain) r = find_recipe(preset_name, "comp");
  follow_recipe(out, r);
  if (plain) out->model.gamma = gamma;
  return COMP_OK;
}
