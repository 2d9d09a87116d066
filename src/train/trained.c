/* trained.c: a model in memory, and its options as JSON. */
#include "train/trained.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

comp_status comp__model_new(comp_model **out, const comp_model_options *options, size_t features, size_t conditions) {
  *out = NULL;
  comp_model *model;
  comp_status status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__network_init(&model->network, options, features, conditions));
  COMP__TRY(comp__calloc(&model->params, model->network.params.size, sizeof *model->params));
  COMP__TRY(comp__calloc(&model->buffers, model->network.buffers.size, sizeof *model->buffers));
  COMP__TRY(comp__calloc(&model->feature_means, features, sizeof *model->feature_means));
  *out = model;
done:
  if (status != COMP_OK) comp_model_free(model);
  return status;
}

void comp_model_free(comp_model *model) {
  if (!model) return;
  comp__network_release(&model->network);
  comp__free(model->params);
  comp__free(model->buffers);
  comp__free(model->condition);
  comp__strings_release(&model->levels);
  comp__strings_release(&model->features);
  comp__free(model->feature_means);
  comp__free(model->record);
  comp__free(model->config);
  comp__free(model->history);
  comp__free(model->trained_on);
  comp__free(model->kernel);
  comp__free(model->digest);
  comp__free(model);
}

size_t comp_model_features(const comp_model *model) {
  return model->features.count;
}
const char *comp_model_feature(const comp_model *model, size_t i) {
  return comp__strings_get(&model->features, i);
}
const char *comp_model_condition(const comp_model *model) {
  return model->condition;
}
size_t comp_model_levels(const comp_model *model) {
  return model->levels.count;
}
const char *comp_model_level(const comp_model *model, size_t i) {
  return comp__strings_get(&model->levels, i);
}
const comp_model_options *comp_model_get_options(const comp_model *model) {
  return &model->network.options;
}
bool comp_model_finished(const comp_model *model) {
  return model->finished;
}
const char *comp_model_history(const comp_model *model) {
  return model->history ? model->history : "[]";
}
const char *comp_model_config(const comp_model *model) {
  return model->config;
}

const char *comp_model_record(const comp_model *model) {
  return model->record;
}
const char *comp_model_kernel(const comp_model *model) {
  return model->kernel;
}
const char *comp_model_digest(const comp_model *model) {
  return model->digest;
}

static const char *const penalty_names[] = {"none", "comp", "comp-p0", "mmd"};
static const char *const place_names[] = {"z", "hidden"};
static const char *const likelihood_names[] = {"gaussian", "nb"};
static const char *const reduction_names[] = {"sum", "mean"};
static const char *const schedule_names[] = {"constant", "cosine", "plateau"};
static const char *const select_names[] = {"best", "last", "average"};
static const char *const precision_names[] = {"auto", "f32", "bf16"};

static json_t *hidden_widths(const comp_model_options *m) {
  json_t *list = json_array();
  for (size_t l = 0; l < m->n_hidden; l++) json_array_append_new(list, json_integer((json_int_t)m->hidden[l]));
  return list;
}

comp_status comp__config_write(char **out, const comp_train_options *o) {
  const comp_model_options *m = &o->model;
  json_t *root =
      json_pack("{s:s, s:s, s:I, s:o, s:b, s:b, s:b, s:f, s:b, s:s, s:s, s:f, s:f, s:s, s:s, s:b, s:b, s:f}", "model",
                o->model_name, "preset", o->preset, "latent", (json_int_t)m->latent, "hidden", hidden_widths(m),
                "encoder_sees_condition", m->encoder_sees_condition, "centred", m->centred, "decoder_sees_condition",
                m->decoder_sees_condition, "scale", m->scale, "learn_scale", m->learn_scale, "likelihood",
                likelihood_names[m->likelihood], "reduction", reduction_names[m->reduction], "beta", m->beta, "gamma",
                m->gamma, "penalty", penalty_names[m->penalty], "place", place_names[m->place], "include_self",
                m->include_self, "multi_scale", m->multi_scale, "mmd_scale", m->mmd_scale);
  json_t *training = json_pack(
      "{s:I, s:I, s:I, s:f, s:s, s:f, s:f, s:f, s:I, s:f, s:s, s:f, s:[ff], s:s}", "seed", (json_int_t)o->seed,
      "epochs", (json_int_t)o->epochs, "batch", (json_int_t)o->batch, "rate", o->rate, "schedule",
      schedule_names[o->schedule], "warmup", o->warmup, "weight_decay", o->weight_decay, "clip", o->clip, "patience",
      (json_int_t)o->patience, "validation", o->validation, "select", select_names[o->select], "kl_target",
      o->kl_target, "blur", o->blur_from, o->blur_to, "precision", precision_names[o->precision]);
  char *text = NULL;
  if (root && training && json_object_set_new(root, "training", training) == 0)
    text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(root);
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  comp_status status = comp__strdup(out, text);
  free(text);
  return status;
}

/* The index of a name in a list; -1 when it is not there. */
static int index_of(const json_t *root, const char *key, const char *const *names, int count) {
  const char *name = json_string_value(json_object_get(root, key));
  for (int i = 0; name && i < count; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

static bool read_flag(bool *out, const json_t *root, const char *key) {
  const json_t *value = json_object_get(root, key);
  *out = json_is_true(value);
  return json_is_boolean(value);
}

static bool read_number(double *out, const json_t *root, const char *key) {
  const json_t *value = json_object_get(root, key);
  *out = json_number_value(value);
  return json_is_number(value);
}

static bool read_hidden(comp_model_options *out, const json_t *root) {
  const json_t *list = json_object_get(root, "hidden");
  size_t n = json_array_size(list);
  if (n < 1 || n > COMP_MAX_HIDDEN) return false;
  for (size_t l = 0; l < n; l++) {
    json_int_t width = json_integer_value(json_array_get(list, l));
    if (width < 1 || width > COMP_MAX_WIDTH) return false;
    out->hidden[l] = (size_t)width;
  }
  out->n_hidden = n;
  return true;
}

comp_status comp__config_read(comp_model_options *out, const char *json) {
  json_error_t error;
  json_t *root = json ? json_loads(json, JSON_REJECT_DUPLICATES, &error) : NULL;
  memset(out, 0, sizeof *out);
  json_int_t latent = json_integer_value(json_object_get(root, "latent"));
  int penalty = index_of(root, "penalty", penalty_names, 4), place = index_of(root, "place", place_names, 2);
  int likelihood = index_of(root, "likelihood", likelihood_names, 2);
  int reduction = index_of(root, "reduction", reduction_names, 2);
  bool good = root && latent > 0 && latent <= COMP_MAX_LATENT && penalty >= 0 && place >= 0 && likelihood >= 0 &&
              reduction >= 0 && read_hidden(out, root) &&
              read_flag(&out->encoder_sees_condition, root, "encoder_sees_condition") &&
              read_flag(&out->decoder_sees_condition, root, "decoder_sees_condition") &&
              read_flag(&out->learn_scale, root, "learn_scale") &&
              read_flag(&out->include_self, root, "include_self") &&
              read_flag(&out->multi_scale, root, "multi_scale") && read_number(&out->scale, root, "scale") &&
              read_number(&out->beta, root, "beta") && read_number(&out->gamma, root, "gamma") &&
              read_number(&out->mmd_scale, root, "mmd_scale");
  if (good && json_object_get(root, "centred")) /* earlier versions had none */
    good = read_flag(&out->centred, root, "centred");
  json_decref(root);
  if (!good) return comp__error(COMP_ERR_FORMAT, "the model's configuration is damaged or incomplete");
  out->latent = (size_t)latent;
  out->penalty = (comp_penalty_kind)penalty;
  out->place = (comp_penalty_place)place;
  out->likelihood = (comp_likelihood)likelihood;
  out->reduction = (comp_reduction)reduction;
  return comp_model_options_check(out);
}

/* Takes out of a configuration what a run decides by itself: see resolve() in setup.c. */
static void leave_open(json_t *root, const comp_train_options *o) {
  json_t *training = json_object_get(root, "training");
  /* Earlier versions had none of these. */
  if (!json_object_get(training, "blur")) json_object_set_new(training, "blur", json_pack("[ff]", 0.0, 0.0));
  if (!json_object_get(root, "centred")) json_object_set_new(root, "centred", json_false());
  if (o->epochs == 0) json_object_del(training, "epochs");
  if (o->precision == COMP_PRECISION_AUTO) json_object_del(training, "precision");
  if (o->kl_target > 0 || o->blur_from > 0) {
    json_object_del(training, "select");
    json_object_del(training, "patience");
  }
}

bool comp_model_follows(const comp_model *model, const comp_train_options *options) {
  char *text = NULL;
  if (comp__config_write(&text, options) != COMP_OK) return false;
  json_t *wanted = json_loads(text, 0, NULL), *found = model->config ? json_loads(model->config, 0, NULL) : NULL;
  if (wanted) leave_open(wanted, options);
  if (found) leave_open(found, options);
  bool same = wanted && found && json_equal(wanted, found);
  json_decref(wanted);
  json_decref(found);
  comp__free(text);
  return same;
}
