/* model_file.c: a model as a safetensors file: the tensors by name, all else as text in the header. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "io/safetensors.h"
#include "model/moves.h"
#include "model/trained.h"

/* Version 1 had no digest. That of version 2 is required: the name of the digest may itself be what was damaged. */
static const char FORMAT[] = "comp-model", VERSION[] = "2", WITHOUT_DIGEST[] = "1";

/* Of centred models, which programs that know of none must not read as others. */
static const char VERSION_CENTRED[] = "3";

/* Of models with moves of conditions that were added. */
static const char VERSION_MOVES[] = "4";

/* No mapping makes as many. */
enum { MOST_ANCHORS = 1000000 };

/* A list of strings as JSON text, to be freed via free(). */
static char *list_to_json(const comp__strings *strings) {
  json_t *list = json_array();
  for (size_t i = 0; i < strings->count; i++) json_array_append_new(list, json_string(comp__strings_get(strings, i)));
  char *text = json_array_size(list) == strings->count ? json_dumps(list, JSON_COMPACT) : NULL;
  json_decref(list);
  return text;
}

static comp_status list_from_json(comp__strings *out, const char *json, const char *what) {
  json_error_t error;
  json_t *list = json ? json_loads(json, 0, &error) : NULL;
  comp_status status = COMP_OK;
  if (!json_is_array(list) || json_array_size(list) == 0)
    status = comp__error(COMP_ERR_FORMAT, "the list of %s is damaged or missing", what);
  for (size_t i = 0; status == COMP_OK && i < json_array_size(list); i++) {
    const json_t *entry = json_array_get(list, i);
    if (!json_is_string(entry))
      status = comp__error(COMP_ERR_FORMAT, "the list of %s holds something else", what);
    else
      status = comp__strings_append(out, json_string_value(entry), json_string_length(entry));
  }
  json_decref(list);
  return status;
}

size_t comp_model_tensor_count(const comp_model *model) {
  return model->network.params.count + model->network.buffers.count + 1 + (model->n_anchors > 0);
}

/* The index-th tensor: parameters, running statistics, means of the features, moves. */
static comp__array nth_array(const comp_model *m, size_t index) {
  const comp__layout *layouts[] = {&m->network.params, &m->network.buffers};
  const float *values[] = {m->params, m->buffers};
  for (int l = 0; l < 2; l++) {
    if (index < layouts[l]->count) {
      const comp__tensor *tensor = &layouts[l]->tensors[index];
      return (comp__array){tensor->name, values[l] + tensor->offset, tensor->rows, tensor->cols};
    }
    index -= layouts[l]->count;
  }
  if (index == 0) return (comp__array){"feature_means", m->feature_means, 1, m->network.features};
  return (comp__array){"anchors", m->anchors, m->n_anchors, comp__anchor_size(m)};
}

const char *comp_model_tensor_name(const comp_model *model, size_t index) {
  return index < comp_model_tensor_count(model) ? nth_array(model, index).name : NULL;
}

comp_status comp_model_tensor(const float **out, size_t *rows, size_t *cols, const comp_model *model, size_t index) {
  COMP__NEED_OUT(out, rows, cols, model);
  *out = NULL;
  if (index >= comp_model_tensor_count(model))
    return comp__error(COMP_ERR_ARGUMENT, "there is no tensor %zu: the model has %zu", index,
                       comp_model_tensor_count(model));
  const comp__array array = nth_array(model, index);
  *out = array.values;
  *rows = array.rows;
  *cols = array.cols;
  return COMP_OK;
}

static const char *version_of(const comp_model *model) {
  if (model->n_anchors > 0) return VERSION_MOVES;
  return model->network.options.centred ? VERSION_CENTRED : VERSION;
}

/* Writes to a path, or to memory when there is none. */
static comp_status write_model(const comp_model *model, const char *path, char **out, size_t *size) {
  comp_status status;
  size_t count = comp_model_tensor_count(model);
  comp__array *arrays = NULL;
  char *features = list_to_json(&model->features), *levels = list_to_json(&model->levels), target[32], added[32],
       anchors[32], *classes = model->target ? list_to_json(&model->classes) : NULL;
  if (!features || !levels || (model->target && !classes)) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  snprintf(target, sizeof target, "%.9g", (double)model->library_target);
  snprintf(added, sizeof added, "%zu", model->network.added);
  snprintf(anchors, sizeof anchors, "%zu", model->n_anchors);
  const comp__text texts[] = {
      {"format", FORMAT},
      {"format_version", version_of(model)},
      {"config", model->config},
      {"features", features},
      {"levels", levels},
      {"condition", model->condition},
      {"target", model->target},
      {"classes", classes},
      {"prep", model->record},
      {"history", model->history},
      {"library_target", target},
      {"trained_on", model->trained_on},
      {"kernel", model->kernel},
      {"added", model->network.added ? added : NULL},
      {"anchors", model->n_anchors ? anchors : NULL},
  };
  const size_t n_texts = sizeof texts / sizeof *texts;
  COMP__TRY(comp__alloc(&arrays, count, sizeof *arrays));
  for (size_t i = 0; i < count; i++) arrays[i] = nth_array(model, i);
  status = path ? comp__safetensors_write(path, arrays, count, texts, n_texts)
                : comp__safetensors_encode(out, size, arrays, count, texts, n_texts);
done:
  comp__free(arrays);
  free(features);
  free(levels);
  free(classes);
  return status;
}

comp_status comp_model_save(const comp_model *model, const char *path) {
  COMP__NEED(model, path);
  return write_model(model, path, NULL, NULL);
}

comp_status comp_model_to_memory(void **out, size_t *size, const comp_model *model) {
  COMP__NEED_OUT(out, size, model);
  char *bytes = NULL;
  *size = 0;
  comp_status status = write_model(model, NULL, &bytes, size);
  *out = bytes;
  return status;
}

static comp_status read_layout(float *values, const comp__safetensors *file, const comp__layout *layout) {
  for (size_t t = 0; t < layout->count; t++) {
    const comp__tensor *tensor = &layout->tensors[t];
    comp_status status =
        comp__safetensors_array(values + tensor->offset, file, tensor->name, tensor->rows, tensor->cols);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* Whether the file has all tensors of the network that its configuration speaks of: a few digits there are a network
 * for which no memory is enough. */
static comp_status check_layouts(const comp__safetensors *file, const comp__model_options *options, size_t features,
                                 size_t conditions) {
  comp__network network = {0};
  comp_status status = comp__network_init(&network, options, features, conditions);
  const comp__layout *layouts[] = {&network.params, &network.buffers};
  for (int l = 0; l < 2; l++)
    for (size_t t = 0; status == COMP_OK && t < layouts[l]->count; t++) {
      const comp__tensor *tensor = &layouts[l]->tensors[t];
      status = comp__safetensors_has(file, tensor->name, tensor->rows, tensor->cols);
    }
  comp__network_release(&network);
  return status;
}

static comp_status check_variances(const comp_model *m) {
  for (size_t l = 0; l < m->network.options.n_hidden; l++) {
    const comp__hidden *both[] = {&m->network.encoder[l], &m->network.decoder[l]};
    for (int b = 0; b < 2; b++)
      for (size_t c = 0; c < both[b]->dense.out; c++)
        if (m->buffers[both[b]->running_var + c] < 0.0f)
          return comp__error(COMP_ERR_FORMAT, "a running variance is negative: the file is damaged");
  }
  return COMP_OK;
}

static comp_status check_different(const comp__strings *names, const char *what) {
  comp__string_index index = {0};
  size_t twice;
  comp_status status = comp__string_index_init(&index, names, &twice);
  if (status == COMP_OK && twice != SIZE_MAX)
    status = comp__error(COMP_ERR_FORMAT, "it has the %s '%s' twice", what, comp__strings_get(names, twice));
  comp__string_index_release(&index);
  return status;
}

static comp_status check_format(const comp__safetensors *file) {
  const char *format = comp__safetensors_text(file, "format"),
             *version = comp__safetensors_text(file, "format_version");
  if (format && strncmp(format, "comp-checkpoint", 15) == 0)
    return comp__error(COMP_ERR_FORMAT, "it is the checkpoint of an unfinished run, not a model; comp train --resume "
                                        "goes on from it");
  if (!format || strcmp(format, FORMAT) != 0) return comp__error(COMP_ERR_FORMAT, "it is not a model of this program");
  if (version && strcmp(version, WITHOUT_DIGEST) == 0) return COMP_OK;
  if (!version ||
      (strcmp(version, VERSION) != 0 && strcmp(version, VERSION_CENTRED) != 0 && strcmp(version, VERSION_MOVES) != 0))
    return comp__error(COMP_ERR_FORMAT, "its format version is %s; this program reads versions %s to %s",
                       version ? version : "missing", WITHOUT_DIGEST, VERSION_MOVES);
  if (comp__safetensors_digest(file)) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "it was changed or damaged since it was written: its digest is missing");
}

/* How many of the levels were added to a trained model; a model is trained on two or more. */
static comp_status read_added(comp_model *m, const char *text) {
  const unsigned long added = text ? strtoul(text, NULL, 10) : 0;
  if (added > m->network.conditions - 2)
    return comp__error(COMP_ERR_FORMAT, "it says that %s of its %zu conditions were added: the file is damaged", text,
                       m->network.conditions);
  m->network.added = added;
  return COMP_OK;
}

/* The moves of conditions that were added. */
static comp_status read_anchors(comp_model *m, const comp__safetensors *file) {
  const char *text = comp__safetensors_text(file, "anchors");
  const unsigned long n = text ? strtoul(text, NULL, 10) : 0;
  comp_status status;
  if (!text) return COMP_OK;
  if (n == 0 || n > MOST_ANCHORS)
    return comp__error(COMP_ERR_FORMAT, "it says that it has %s anchors: the file is damaged", text);
  COMP__TRY(comp__safetensors_has(file, "anchors", n, comp__anchor_size(m)));
  COMP__TRY(comp__alloc(&m->anchors, n * comp__anchor_size(m), sizeof *m->anchors));
  m->n_anchors = n;
  COMP__TRY(comp__safetensors_array(m->anchors, file, "anchors", n, comp__anchor_size(m)));
  COMP__TRY(comp__moves_check(m));
done:
  return status;
}

/* The column of the target and its values, where the model has one. */
static comp_status read_target(char **target, comp__strings *classes, const comp__safetensors *file) {
  const char *name = comp__safetensors_text(file, "target");
  comp_status status = COMP_OK;
  if (!name) return COMP_OK;
  COMP__TRY(list_from_json(classes, comp__safetensors_text(file, "classes"), "values of the target"));
  COMP__TRY(check_different(classes, "value of the target"));
  if (classes->count < 2) COMP__FAIL(COMP_ERR_FORMAT, "its target '%s' has fewer than two values", name);
  COMP__TRY(comp__strdup(target, name));
done:
  return status;
}

static comp_status read_model(comp_model **out, const comp__safetensors *file) {
  comp_status status;
  comp_model *m = NULL;
  comp__model_options options;
  comp__strings features = {0}, levels = {0}, classes = {0};
  char *target_name = NULL;
  const char *condition = comp__safetensors_text(file, "condition"),
             *target = comp__safetensors_text(file, "library_target");
  COMP__TRY(check_format(file));
  if (!condition) COMP__FAIL(COMP_ERR_FORMAT, "the name of the condition column is missing");
  COMP__TRY(comp__config_read(&options, comp__safetensors_text(file, "config")));
  COMP__TRY(list_from_json(&features, comp__safetensors_text(file, "features"), "features"));
  COMP__TRY(list_from_json(&levels, comp__safetensors_text(file, "levels"), "condition levels"));
  COMP__TRY(check_different(&features, "feature"));
  COMP__TRY(check_different(&levels, "condition level"));
  if (levels.count < 2) COMP__FAIL(COMP_ERR_FORMAT, "it has fewer than two condition levels");
  COMP__TRY(read_target(&target_name, &classes, file));
  options.classes = classes.count;
  COMP__TRY(check_layouts(file, &options, features.count, levels.count));
  COMP__TRY(comp__model_new(&m, &options, features.count, levels.count));
  m->features = features;
  m->levels = levels;
  m->target = target_name;
  m->classes = classes;
  features = levels = classes = (comp__strings){0};
  target_name = NULL;
  COMP__TRY(read_layout(m->params, file, &m->network.params));
  COMP__TRY(read_layout(m->buffers, file, &m->network.buffers));
  COMP__TRY(comp__safetensors_array(m->feature_means, file, "feature_means", 1, m->network.features));
  COMP__TRY(check_variances(m));
  COMP__TRY(read_added(m, comp__safetensors_text(file, "added")));
  COMP__TRY(read_anchors(m, file));
  m->library_target = target ? strtof(target, NULL) : 0.0f;
  if (m->network.likelihood->counts && !(m->library_target > 0.0f))
    COMP__FAIL(COMP_ERR_FORMAT, "the library size that counts are scaled to is missing");
  if (comp__safetensors_digest(file)) COMP__TRY(comp__strdup(&m->digest, comp__safetensors_digest(file)));
  COMP__TRY(comp__strdup(&m->condition, condition));
  COMP__TRY(comp__strdup(&m->config, comp__safetensors_text(file, "config")));
  COMP__TRY(comp__strdup(&m->record, comp__safetensors_text(file, "prep")));
  COMP__TRY(comp__strdup(&m->history, comp__safetensors_text(file, "history")));
  COMP__TRY(comp__strdup(&m->trained_on, comp__safetensors_text(file, "trained_on")));
  COMP__TRY(comp__strdup(&m->kernel, comp__safetensors_text(file, "kernel")));
  *out = m;
  m = NULL;
done:
  comp__strings_release(&features);
  comp__strings_release(&levels);
  comp__strings_release(&classes);
  comp__free(target_name);
  comp_model_free(m);
  return status;
}

bool comp_file_is_model(const char *path) {
  return comp__safetensors_probe(path);
}

comp_status comp_model_load(comp_model **out, const char *path) {
  COMP__NEED_OUT(out, path);
  *out = NULL;
  comp__safetensors *file;
  comp_status status = comp__safetensors_read(&file, path);
  if (status != COMP_OK) return status;
  status = read_model(out, file);
  if (status != COMP_OK && !strstr(comp_error_message(), path)) comp__error_context(status, "model file '%s'", path);
  comp__safetensors_free(file);
  return status;
}

comp_status comp_model_from_memory(comp_model **out, const void *bytes, size_t size) {
  COMP__NEED_OUT(out, bytes || !size);
  *out = NULL;
  comp__safetensors *file;
  comp_status status = comp__safetensors_decode(&file, bytes, size, "model in memory");
  if (status != COMP_OK) return status;
  status = read_model(out, file);
  if (status != COMP_OK) comp__error_context(status, "model in memory");
  comp__safetensors_free(file);
  return status;
}
