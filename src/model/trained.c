/* trained.c: a trained model in memory. */
#include "model/trained.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

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
  comp__free(model->target);
  comp__strings_release(&model->classes);
  comp__strings_release(&model->features);
  comp__free(model->feature_means);
  comp__free(model->anchors);
  comp__free(model->record);
  comp__free(model->config);
  comp__free(model->history);
  comp__free(model->trained_on);
  comp__free(model->kernel);
  comp__free(model->digest);
  comp__free(model);
}

size_t comp_model_feature_count(const comp_model *model) {
  return model->features.count;
}
const char *comp_model_feature_name(const comp_model *model, size_t i) {
  return comp__strings_get(&model->features, i);
}
const char *comp_model_condition(const comp_model *model) {
  return model->condition;
}
size_t comp_model_level_count(const comp_model *model) {
  return model->levels.count;
}
const char *comp_model_level_name(const comp_model *model, size_t i) {
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

comp_status comp__config_read(comp__model_options *out, const char *json) {
  json_error_t error;
  json_t *root = json ? json_loads(json, JSON_REJECT_DUPLICATES, &error) : NULL;
  *out = (comp__model_options){0};
  comp_status status = comp__options_from_record(out, &comp__model_kind, root);
  json_decref(root);
  if (status != COMP_OK) return comp__error_context(status, "the model's configuration is damaged or incomplete");
  return comp__model_options_check(out);
}
