/* record.c: writing down what was done, and reading it back. */
#include "prep/record.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/dataset.h"
#include "core/error.h"

static comp_status out_of_memory(void) {
  return comp__error(COMP_ERR_MEMORY, "out of memory: the record of the preparation");
}

comp_status comp__record_parse(json_t **out, const char *text) {
  *out = NULL;
  if (!text) {
    *out = json_object();
    return *out ? COMP_OK : out_of_memory();
  }
  json_error_t error;
  json_t *record = json_loads(text, 0, &error);
  if (!record)
    return comp__error(COMP_ERR_FORMAT, "the record of the preparation is not valid JSON: line %d, column %d: %s",
                       error.line, error.column, error.text);
  if (!json_is_object(record)) {
    json_decref(record);
    return comp__error(COMP_ERR_FORMAT, "the record of the preparation is not a JSON object");
  }
  *out = record;
  return COMP_OK;
}

json_t *comp__record_steps(const json_t *record) {
  json_t *steps = json_object_get(json_object_get(record, "prep"), "steps");
  return json_is_array(steps) ? steps : NULL;
}

json_t *comp__record_find(const json_t *record, const char *name) {
  json_t *steps = comp__record_steps(record);
  for (size_t i = json_array_size(steps); i-- > 0;) {
    json_t *step = json_array_get(steps, i);
    const char *is = json_string_value(json_object_get(step, "step"));
    if (is && strcmp(is, name) == 0) return step;
  }
  return NULL;
}

/* What was undone is as if it had not been done. */
bool comp__record_has(const comp_dataset *dataset, const char *step) {
  json_t *record = dataset->record ? json_loads(dataset->record, 0, NULL) : NULL, *item;
  bool found = false;
  size_t i;
  json_array_foreach(comp__record_steps(record), i, item) {
    const char *name = json_string_value(json_object_get(item, "step"));
    if (name && strcmp(name, "to_counts") == 0) found = false;
    if (name && strcmp(name, step) == 0) found = true;
  }
  json_decref(record);
  return found;
}

bool comp__record_last_is(const comp_dataset *dataset, const char *step) {
  static const char *const scaling[] = {"to_counts", "normalize_total", "log1p"};
  json_t *record = dataset->record ? json_loads(dataset->record, 0, NULL) : NULL, *item;
  const char *last = NULL;
  size_t i;
  json_array_foreach(comp__record_steps(record), i, item) {
    const char *name = json_string_value(json_object_get(item, "step"));
    for (size_t k = 0; name && k < sizeof scaling / sizeof *scaling; k++)
      if (strcmp(name, scaling[k]) == 0) last = name;
  }
  bool found = last && strcmp(last, step) == 0;
  json_decref(record);
  return found;
}

/* The list of steps, made when it is not there yet. */
static json_t *make_steps(json_t *record) {
  json_t *prep = json_object_get(record, "prep");
  if (!json_is_object(prep)) {
    prep = json_pack("{s:i, s:[]}", "version", 1, "steps");
    if (!prep || json_object_set_new(record, "prep", prep) != 0) return NULL;
  }
  json_t *steps = json_object_get(prep, "steps");
  if (json_is_array(steps)) return steps;
  steps = json_array();
  return steps && json_object_set_new(prep, "steps", steps) == 0 ? steps : NULL;
}

comp_status comp__record_step(comp_dataset *dataset, json_t *step) {
  comp_status status;
  json_t *record = NULL;
  char *text = NULL;
  if (!step) return out_of_memory();
  COMP__TRY(comp__record_parse(&record, dataset->record));
  json_t *steps = make_steps(record);
  status = steps && json_array_append(steps, step) == 0 ? COMP_OK : out_of_memory();
  if (status != COMP_OK) goto done;
  text = json_dumps(record, JSON_COMPACT);
  status = text ? comp_dataset_set_record(dataset, text) : out_of_memory();
done:
  free(text);
  json_decref(record);
  json_decref(step);
  return status;
}

json_t *comp__record_features(const comp_dataset *dataset) {
  json_t *list = json_array();
  for (size_t j = 0; list && j < dataset->features; j++) {
    if (json_array_append_new(list, json_string(comp__strings_get(&dataset->var_names, j))) == 0) continue;
    json_decref(list);
    list = NULL;
  }
  return list;
}
