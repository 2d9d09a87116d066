/* aligned.c: preparation repeated, features found by name, conditions read. */
#include "task/aligned.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/prep.h"
#include "comp/task.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"

bool comp__encoder_needs_condition(const comp_model *model) {
  const comp__model_options *o = &model->network.options;
  return o->encoder_sees_condition || o->centred;
}

/* ---- Records ---- */

static json_t *steps_of(const json_t *record) {
  return json_object_get(json_object_get(record, "prep"), "steps");
}

static bool is_step(const json_t *step, const char *name) {
  const char *is = json_string_value(json_object_get(step, "step"));
  return is && strcmp(is, name) == 0;
}

static bool has_step(const json_t *record, const char *name) {
  const json_t *steps = steps_of(record);
  for (size_t i = 0; i < json_array_size(steps); i++)
    if (is_step(json_array_get(steps, i), name)) return true;
  return false;
}

static json_t *parse_record(const char *text) {
  return text ? json_loads(text, 0, NULL) : NULL;
}

bool comp__model_is_tabular(const comp_model *model) {
  json_t *record = parse_record(model->record);
  bool found = has_step(record, "tabular");
  json_decref(record);
  return found;
}

/* The record without the choice of features, which is made here, by name. To be freed via free(). */
static char *record_without_features(const json_t *record) {
  json_t *copy = json_deep_copy(record), *steps = steps_of(copy);
  for (size_t i = json_array_size(steps); i-- > 0;)
    if (is_step(json_array_get(steps, i), "subset") || is_step(json_array_get(steps, i), "hvg"))
      json_array_remove(steps, i);
  char *text = copy ? json_dumps(copy, JSON_COMPACT) : NULL;
  json_decref(copy);
  return text;
}

/* ---- Preparation ---- */

/* A copy of X and what comp_prep_apply_record() looks at. */
static comp_status copy_for_prep(comp_dataset **out, comp_context *context, const comp_dataset *d) {
  size_t features = comp_dataset_feature_count(d);
  comp_matrix *x = NULL;
  const char **names = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&names, features, sizeof *names));
  for (size_t j = 0; j < features; j++) names[j] = comp_dataset_var_name(d, j);
  COMP__TRY(comp_matrix_select(&x, context, comp_dataset_x(d), NULL, 0, NULL, 0));
  COMP__TRY(comp_dataset_new(out, x, NULL, names));
  COMP__TRY(comp_dataset_set_record(*out, comp_dataset_record(d)));
done:
  comp__free(names);
  return status;
}

static comp_status repeat_prep(comp__aligned *f, comp_context *context, const json_t *record) {
  comp_dataset *copy = NULL;
  char *text = record_without_features(record);
  comp_status status;
  if (!text) COMP__FAIL(COMP_ERR_MEMORY, "out of memory: the record of the preparation");
  COMP__TRY(copy_for_prep(&copy, context, f->dataset));
  COMP__TRY(comp_prep_apply_record(&copy, context, text));
  f->prepared = copy;
  f->dataset = copy;
  f->x = comp_dataset_x(copy);
  copy = NULL;
done:
  free(text);
  comp_dataset_free(copy);
  return status;
}

/* Logged values are expected: are they? (The data's record may speak of X while another layer is read.) */
static comp_status warn_of_counts(const comp__aligned *f, comp_context *context) {
  comp_data_look look;
  comp_status status = comp_data_look_at(&look, context, f->x);
  if (status == COMP_OK && look.kind == COMP_DATA_COUNTS && look.max > 20.0)
    comp__warn(context, "X looks like raw counts (%s), but the model was trained on logged data", look.reason);
  return status;
}

static comp_status prepare(comp__aligned *f, comp_context *context) {
  json_t *wanted = parse_record(f->model->record), *own = parse_record(comp_dataset_record(f->dataset));
  bool scale = has_step(wanted, "normalize_total") && !has_step(own, "normalize_total");
  bool log = has_step(wanted, "log1p") && !has_step(own, "log1p");
  comp_status status = COMP_OK;
  const comp__likelihood *likelihood = f->model->network.likelihood;
  if (likelihood->counts) {
    comp_data_look look; /* a model of counts reads counts, whatever became of X in its file */
    COMP__TRY(comp_data_look_at(&look, context, f->x));
    if (look.kind != COMP_DATA_COUNTS)
      COMP__FAIL(COMP_ERR_DATA,
                 "the model is one of counts (%s), but X does not hold counts: %s; name the layer that does (--layer)",
                 likelihood->title, look.reason);
  } else if (scale || log)
    COMP__TRY(repeat_prep(f, context, wanted));
  else if (has_step(wanted, "log1p"))
    COMP__TRY(warn_of_counts(f, context));
  if (has_step(wanted, "tabular") && !has_step(own, "tabular"))
    comp__warn(context, "the data has no record of its encoding: it is taken as encoded as the model's was");
done:
  json_decref(wanted);
  json_decref(own);
  return status;
}

/* ---- Features ---- */

/* 'a', 'b', 'c', ... */
static void list_missing(char *text, size_t size, const comp__aligned *f) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < f->n_missing && i < 3 && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? ", " : "",
                             comp_model_feature_name(f->model, (size_t)f->missing[i]));
  if (f->n_missing > 3 && used < size) snprintf(text + used, size - used, ", ...");
}

static comp_status report_features(const comp__aligned *f, comp_context *context) {
  size_t features = comp_model_feature_count(f->model), found = features - f->n_missing;
  char list[256];
  list_missing(list, sizeof list, f);
  if (2 * found < features)
    return comp__error(COMP_ERR_DATA,
                       "only %zu of the model's %zu features are in the data (not: %s; the data's first feature is "
                       "'%s'): fewer than half; is it data of the same kind, with the same kind of names?",
                       found, features, list,
                       comp_dataset_feature_count(f->dataset) ? comp_dataset_var_name(f->dataset, 0) : "");
  if (f->n_missing)
    comp__warn(context, "%zu of the model's %zu features are not in the data and filled with their training mean: %s",
               f->n_missing, features, list);
  if (f->n_extra)
    comp__info(context, "%zu of the data's %zu features are not known to the model and ignored", f->n_extra,
               comp_dataset_feature_count(f->dataset));
  return COMP_OK;
}

static comp_status find_features(comp__aligned *f, comp_context *context) {
  size_t features = comp_model_feature_count(f->model), columns = comp_dataset_feature_count(f->dataset);
  comp__string_index index = {0};
  bool *found = NULL, same = columns == features;
  comp_status status;
  COMP__TRY(comp__string_index_init(&index, &f->model->features, NULL));
  COMP__TRY(comp__calloc(&found, features, sizeof *found));
  COMP__TRY(comp__alloc(&f->place, columns, sizeof *f->place));
  for (size_t j = 0; j < columns; j++) {
    size_t at = comp__string_index_find(&index, comp_dataset_var_name(f->dataset, j));
    bool taken = at == SIZE_MAX || found[at];
    f->place[j] = taken ? -1 : (int32_t)at;
    f->n_extra += taken;
    if (!taken) found[at] = true;
    same = same && at == j;
  }
  COMP__TRY(comp__alloc(&f->missing, features, sizeof *f->missing));
  for (size_t g = 0; g < features; g++)
    if (!found[g]) f->missing[f->n_missing++] = (int32_t)g;
  if (same) {
    comp__free(f->place);
    f->place = NULL;
  }
  COMP__TRY(report_features(f, context));
done:
  comp__free(found);
  comp__string_index_release(&index);
  return status;
}

/* ---- Conditions ---- */

static int32_t find_level(const comp_model *model, const char *value) {
  for (size_t k = 0; k < comp_model_level_count(model); k++)
    if (strcmp(comp_model_level_name(model, k), value) == 0) return (int32_t)k;
  return -1;
}

comp_status comp__model_find_level(int32_t *out, const comp_model *model, const char *value, comp_status unknown,
                                   const char *what) {
  *out = find_level(model, value);
  if (*out >= 0) return COMP_OK;
  size_t n = comp_model_level_count(model), used = 0;
  char list[512] = "";
  for (size_t k = 0; k < n && k < 12 && used < sizeof list; k++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", k ? ", " : "", comp_model_level_name(model, k));
  if (n > 12 && used < sizeof list) snprintf(list + used, sizeof list - used, ", ...");
  return comp__error(unknown, "%s '%s' is not a condition that the model knows; it knows %s%s", what, value, list,
                     comp__strings_hint(&model->levels, value).text);
}

static comp_status read_codes(comp__aligned *f, comp__conditions conditions, const comp_groups *groups,
                              const char *column) {
  int32_t *codes = NULL;
  size_t missing = 0;
  comp_status status;
  char what[256];
  COMP__TRY(comp__alloc(&codes, groups->n_levels, sizeof *codes));
  COMP__TRY(comp__alloc(&f->codes, f->samples, sizeof *f->codes));
  snprintf(what, sizeof what, "column '%s': the value", column);
  for (size_t k = 0; k < groups->n_levels; k++) {
    codes[k] = find_level(f->model, groups->levels[k]);
    if (codes[k] < 0 && conditions == COMP__CONDITIONS_ALL)
      COMP__TRY(comp__model_find_level(&codes[k], f->model, groups->levels[k], COMP_ERR_DATA, what));
  }
  for (size_t i = 0; i < f->samples; i++) {
    missing += groups->codes[i] < 0;
    f->codes[i] = groups->codes[i] < 0 ? -1 : codes[groups->codes[i]];
  }
  if (missing && conditions == COMP__CONDITIONS_ALL)
    COMP__FAIL(COMP_ERR_DATA, "%zu of %zu samples have no value in column '%s', which the model needs", missing,
               f->samples, column);
done:
  comp__free(codes);
  return status;
}

static comp_status read_conditions(comp__aligned *f, const comp_dataset *dataset, comp__conditions conditions) {
  const char *name = f->model->condition;
  const comp_table *obs = comp_dataset_obs(dataset);
  comp_groups groups = {0};
  size_t column;
  comp_status status = comp_table_require(&column, obs, name);
  if (status != COMP_OK) return comp__error_context(status, "the model's condition column");
  COMP__TRY(comp_table_groups(&groups, obs, column));
  COMP__TRY(read_codes(f, conditions, &groups, name));
done:
  comp_groups_release(&groups);
  return status;
}

/* ---- All of it ---- */

static comp_status check_values(const comp__aligned *f, comp_context *context) {
  size_t row, col;
  if (!comp__matrix_find_nonfinite(&row, &col, context, f->x)) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "X holds a value that is not a finite number: sample '%s' (row %zu), feature '%s'",
                     comp_dataset_obs_name(f->dataset, row), row + 1, comp_dataset_var_name(f->dataset, col));
}

comp_status comp__align(comp__aligned *out, comp_context *context, const comp_model *model, const comp_dataset *dataset,
                        comp__conditions conditions) {
  comp_status status;
  *out = (comp__aligned){
      .model = model, .samples = comp_dataset_sample_count(dataset), .x = comp_dataset_x(dataset), .dataset = dataset};
  if (!out->x) COMP__FAIL(COMP_ERR_ARGUMENT, "the data set has no X");
  if (out->samples == 0) COMP__FAIL(COMP_ERR_DATA, "the data has no samples");
  if (conditions != COMP__CONDITIONS_NONE) COMP__TRY(read_conditions(out, dataset, conditions));
  COMP__TRY(check_values(out, context));
  COMP__TRY(find_features(out, context)); /* first: other data is refused before it is prepared */
  COMP__TRY(prepare(out, context));
  if (out->prepared && comp_dataset_feature_count(out->prepared) != comp_dataset_feature_count(dataset)) {
    /* Genes were dropped by name: the columns have moved. */
    comp__free(out->place);
    comp__free(out->missing);
    out->place = out->missing = NULL;
    out->n_missing = out->n_extra = 0;
    COMP__TRY(find_features(out, context));
  }
done:
  if (status != COMP_OK) comp__aligned_release(out);
  return status;
}

void comp__aligned_release(comp__aligned *aligned) {
  comp_dataset_free(aligned->prepared);
  comp__free(aligned->place);
  comp__free(aligned->missing);
  comp__free(aligned->codes);
  *aligned = (comp__aligned){0};
}
