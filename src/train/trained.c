/* trained.c: a model in memory, and its options as JSON. */
#include "train/trained.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "train/precision.h"

comp_status comp__model_new(comp_model **out, const comp__model_options *options, size_t features, size_t conditions) {
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
const comp__model_options *comp__model_get_options(const comp_model *model) {
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

comp_status comp__config_write(char **out, const comp__train_options *o) {
  json_t *root = json_object();
  comp_status status = root ? comp__options_to_record(root, &comp__train_kind, o) : COMP_ERR_MEMORY;
  char *text = status == COMP_OK ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  status = comp__strdup(out, text);
  free(text);
  return status;
}

comp_status comp__config_read(comp__model_options *out, const char *json) {
  json_error_t error;
  json_t *root = json ? json_loads(json, JSON_REJECT_DUPLICATES, &error) : NULL;
  comp__train_options options = {.warmup = 0};
  comp_status status = comp__options_from_record(&options, &comp__train_kind, root);
  json_decref(root);
  if (status != COMP_OK) return comp__error_context(status, "the model's configuration is damaged or incomplete");
  *out = options.model;
  return comp__model_options_check(out);
}

void comp__config_complete(json_t *root) {
  json_t *training = json_object_get(root, "training");
  if (!json_object_get(training, "blur")) json_object_set_new(training, "blur", json_pack("[ff]", 0.0, 0.0));
  if (!json_object_get(root, "centred")) json_object_set_new(root, "centred", json_false());
}

/* Takes out of a configuration what a run decides by itself: see resolve() in setup.c. */
static void leave_open(json_t *root, const comp__train_options *o) {
  json_t *training = json_object_get(root, "training");
  comp__config_complete(root);
  if (o->epochs == 0) json_object_del(training, "epochs");
  if (comp__precision_find(o->precision)->choose) json_object_del(training, "precision");
  if (o->kl_target > 0 || o->blur_from > 0) {
    json_object_del(training, "select");
    json_object_del(training, "patience");
  }
}

bool comp_model_follows(const comp_model *model, const comp_options *options) {
  comp__train_options plain;
  return comp__options_resolve(&plain, &comp__train_kind, options) == COMP_OK && comp__model_follows(model, &plain);
}

bool comp__model_follows(const comp_model *model, const comp__train_options *options) {
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
