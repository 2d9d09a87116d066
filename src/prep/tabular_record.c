/* tabular_record.c: the plan of an encoding, in memory and as JSON. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "prep/options.h"
#include "prep/tabular.h"

void comp__tabular_release(comp__tabular *plan) {
  for (size_t c = 0; c < plan->n_columns; c++) {
    comp__free(plan->columns[c].name);
    comp__strings_release(&plan->columns[c].levels);
  }
  for (size_t f = 0; f < plan->n_features; f++) comp__free(plan->features[f].name);
  comp__free(plan->columns);
  comp__free(plan->features);
  comp__free(plan->names);
  comp__strings_release(&plan->merge);
  comp__strings_release(&plan->obs);
  *plan = (comp__tabular){0};
}

comp_status comp__tabular_add_column(comp__tabular *plan, const char *name, bool category) {
  comp__encoded column = {.category = category};
  comp_status status;
  COMP__TRY(
      comp__grow(&plan->columns, &plan->columns_capacity, plan->n_columns, plan->n_columns + 1, sizeof *plan->columns));
  COMP__TRY(comp__strdup(&column.name, name));
  plan->columns[plan->n_columns++] = column;
done:
  return status;
}

comp_status comp__tabular_add_feature(comp__tabular *plan, const char *name, size_t column, size_t level) {
  comp__feature feature = {.column = column, .level = level, .mean = 0.0, .sd = 1.0};
  comp_status status;
  COMP__TRY(comp__grow(&plan->features, &plan->features_capacity, plan->n_features, plan->n_features + 1,
                       sizeof *plan->features));
  COMP__TRY(comp__strdup(&feature.name, name));
  plan->features[plan->n_features++] = feature;
done:
  return status;
}

static json_t *strings_to_json(const comp__strings *strings) {
  json_t *list = json_array();
  for (size_t i = 0; list && i < strings->count; i++)
    if (json_array_append_new(list, json_string(comp__strings_get(strings, i))) != 0) {
      json_decref(list);
      return NULL;
    }
  return list;
}

static json_t *columns_to_json(const comp__tabular *plan) {
  json_t *list = json_array();
  for (size_t c = 0; list && c < plan->n_columns; c++) {
    const comp__encoded *column = &plan->columns[c];
    json_t *item = column->category ? json_pack("{s:s, s:s, s:o}", "name", column->name, "kind", "category", "levels",
                                                strings_to_json(&column->levels))
                                    : json_pack("{s:s, s:s}", "name", column->name, "kind", "number");
    if (item && json_array_append_new(list, item) == 0) continue;
    json_decref(list);
    list = NULL;
  }
  return list;
}

/* [name, column, level, mean, sd] each. */
static json_t *features_to_json(const comp__tabular *plan) {
  json_t *list = json_array();
  for (size_t f = 0; list && f < plan->n_features; f++) {
    const comp__feature *x = &plan->features[f];
    json_t *item = json_pack("[s, I, I, f, f]", x->name, (json_int_t)x->column, (json_int_t)x->level, x->mean, x->sd);
    if (item && json_array_append_new(list, item) == 0) continue;
    json_decref(list);
    list = NULL;
  }
  return list;
}

json_t *comp__tabular_to_json(const comp__tabular *plan) {
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s?, s:s, s:b}", "step", "tabular", "merge",
                   strings_to_json(&plan->merge), "obs", strings_to_json(&plan->obs), "columns", columns_to_json(plan),
                   "features", features_to_json(plan), "names", plan->names, "missing",
                   plan->missing == COMP_MISSING_DROP ? "drop" : "refuse", "standardize", plan->standardize);
}

static comp_status bad(const char *what) {
  return comp__error(COMP_ERR_FORMAT, "the record of the encoding is damaged: %s", what);
}

static comp_status strings_from_json(comp__strings *out, const json_t *list, const char *what) {
  if (!json_is_array(list)) return bad(what);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *text = json_string_value(json_array_get(list, i));
    if (!text) return bad(what);
    comp_status status = comp__strings_append(out, text, strlen(text));
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status columns_from_json(comp__tabular *plan, const json_t *list) {
  for (size_t c = 0; c < json_array_size(list); c++) {
    const json_t *item = json_array_get(list, c);
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *kind = json_string_value(json_object_get(item, "kind"));
    if (!name || !kind) return bad("columns");
    bool category = strcmp(kind, "category") == 0;
    comp_status status = comp__tabular_add_column(plan, name, category);
    if (status == COMP_OK && category)
      status = strings_from_json(&plan->columns[c].levels, json_object_get(item, "levels"), "levels");
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status features_from_json(comp__tabular *plan, const json_t *list) {
  for (size_t f = 0; f < json_array_size(list); f++) {
    const json_t *item = json_array_get(list, f);
    const char *name = json_string_value(json_array_get(item, 0));
    json_int_t column = json_integer_value(json_array_get(item, 1)),
               level = json_integer_value(json_array_get(item, 2));
    if (!name || json_array_size(item) != 5 || column < 0 || column >= (json_int_t)plan->n_columns)
      return bad("features");
    const comp__encoded *from = &plan->columns[column];
    if (from->category && (level < 0 || level >= (json_int_t)from->levels.count)) return bad("features");
    comp_status status = comp__tabular_add_feature(plan, name, (size_t)column, (size_t)level);
    if (status != COMP_OK) return status;
    plan->features[f].mean = json_number_value(json_array_get(item, 3));
    plan->features[f].sd = json_number_value(json_array_get(item, 4));
  }
  return plan->n_features > 0 ? COMP_OK : bad("features");
}

comp_status comp__tabular_from_json(comp__tabular *plan, const json_t *step) {
  comp_status status;
  COMP__TRY(strings_from_json(&plan->merge, json_object_get(step, "merge"), "merge"));
  COMP__TRY(strings_from_json(&plan->obs, json_object_get(step, "obs"), "obs"));
  COMP__TRY(columns_from_json(plan, json_object_get(step, "columns")));
  COMP__TRY(features_from_json(plan, json_object_get(step, "features")));
  const char *missing = json_string_value(json_object_get(step, "missing"));
  plan->missing = missing && strcmp(missing, "drop") == 0 ? COMP_MISSING_DROP : COMP_MISSING_REFUSE;
  plan->standardize = json_is_true(json_object_get(step, "standardize"));
  COMP__TRY(comp__strdup(&plan->names, json_string_value(json_object_get(step, "names"))));
done:
  return status;
}
