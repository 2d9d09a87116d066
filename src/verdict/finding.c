/* finding.c: see finding.h. */
#include "verdict/finding.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/options.h"
#include "verdict/json.h"

static const char *const levels[] = {"ok", "note", "caution", "problem", NULL};

COMP__ENUM_NAMES(comp_finding_level, levels, "level")

/* A copy of a text behind a const pointer. */
static comp_status copy(const char **out, const char *text) {
  char *own;
  comp_status status = comp__strdup(&own, text);
  *out = own;
  return status;
}

static void discard(const void *block) {
  comp__free((void *)(uintptr_t)block);
}

static void release_one(comp_finding *f) {
  for (size_t i = 0; i < f->n_numbers; i++) discard(f->numbers[i].name);
  for (size_t i = 0; i < f->n_labels; i++) discard(f->labels[i]);
  const void *blocks[] = {f->id, f->question, f->text, f->advice, f->numbers, f->labels};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) discard(blocks[i]);
}

comp_status comp__findings_add(comp__findings *list, const char *id, comp_finding_level level, const char *question,
                               const char *text, const char *advice) {
  comp_status status = comp__grow(&list->items, &list->capacity, list->count, list->count + 1, sizeof *list->items);
  if (status != COMP_OK) return status;
  comp_finding *f = &list->items[list->count++];
  *f = (comp_finding){.level = level};
  COMP__TRY(copy(&f->id, id));
  COMP__TRY(copy(&f->question, question));
  COMP__TRY(copy(&f->text, text));
  COMP__TRY(copy(&f->advice, advice));
done:
  return status;
}

comp_status comp__findings_number(comp__findings *list, const char *name, double value) {
  comp_finding *f = &list->items[list->count - 1];
  comp_finding_number *numbers = (comp_finding_number *)(uintptr_t)f->numbers;
  size_t capacity = f->n_numbers;
  comp_status status = comp__grow(&numbers, &capacity, f->n_numbers, f->n_numbers + 1, sizeof *numbers);
  if (status != COMP_OK) return status;
  f->numbers = numbers;
  numbers[f->n_numbers].value = value;
  status = copy(&numbers[f->n_numbers].name, name);
  f->n_numbers += status == COMP_OK;
  return status;
}

comp_status comp__findings_label(comp__findings *list, const char *name) {
  comp_finding *f = &list->items[list->count - 1];
  const char **names = (const char **)(uintptr_t)f->labels;
  size_t capacity = f->n_labels;
  comp_status status = comp__grow(&names, &capacity, f->n_labels, f->n_labels + 1, sizeof *names);
  if (status != COMP_OK) return status;
  f->labels = names;
  status = copy(&names[f->n_labels], name);
  f->n_labels += status == COMP_OK;
  return status;
}

comp_status comp__findings_advise(comp__findings *list, size_t index, const char *advice) {
  const char *earlier = list->items[index].advice;
  comp_status status = copy(&list->items[index].advice, advice);
  if (status == COMP_OK) discard(earlier);
  return status;
}

comp_finding_level comp__findings_worst(const comp__findings *list) {
  comp_finding_level worst = COMP_FINDING_OK;
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].level != COMP_FINDING_NOTE && list->items[i].level > worst) worst = list->items[i].level;
  return worst;
}

void comp__findings_release(comp__findings *list) {
  for (size_t i = 0; i < list->count; i++) release_one(&list->items[i]);
  comp__free(list->items);
  *list = (comp__findings){0};
}

comp_status comp__findings_copy(comp__findings *list, const comp_finding *f, const char *id) {
  comp_status status = comp__findings_add(list, id ? id : f->id, f->level, f->question, f->text, f->advice);
  for (size_t i = 0; i < f->n_numbers && status == COMP_OK; i++)
    status = comp__findings_number(list, f->numbers[i].name, f->numbers[i].value);
  for (size_t i = 0; i < f->n_labels && status == COMP_OK; i++) status = comp__findings_label(list, f->labels[i]);
  return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static comp_status write_one(json_t *object, const comp_finding *f) {
  comp_status status;
  json_t *numbers = json_object(), *labels = json_array();
  const struct {
    const char *key, *text;
  } texts[] = {{"id", f->id},
               {"level", comp_finding_level_name(f->level)},
               {"question", f->question},
               {"text", f->text},
               {"advice", f->advice}};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    COMP__TRY(comp__put(object, texts[k].key, comp__json_text(texts[k].text)));
  for (size_t i = 0; i < f->n_numbers; i++)
    COMP__TRY(comp__put(numbers, f->numbers[i].name, comp__json_number(f->numbers[i].value)));
  for (size_t i = 0; i < f->n_labels; i++) COMP__TRY(comp__append(labels, comp__json_text(f->labels[i])));
  COMP__TRY(comp__put(object, "numbers", json_incref(numbers)));
  COMP__TRY(comp__put(object, "labels", json_incref(labels)));
done:
  json_decref(numbers);
  json_decref(labels);
  return status;
}

comp_status comp__findings_write(json_t **out, const comp__findings *list) {
  comp_status status = COMP_OK;
  *out = json_array();
  for (size_t i = 0; i < list->count && status == COMP_OK; i++) {
    json_t *object = json_object();
    status = comp__append(*out, object);
    if (status == COMP_OK) status = write_one(object, &list->items[i]);
  }
  if (status == COMP_OK) return COMP_OK;
  json_decref(*out);
  *out = NULL;
  return status;
}

/* A level that is not known is a caution: what a finding says should be read. */
static comp_finding_level level_of(const char *name) {
  for (size_t k = 0; levels[k]; k++)
    if (strcmp(levels[k], name) == 0) return (comp_finding_level)k;
  return COMP_FINDING_CAUTION;
}

static comp_status read_one(comp__findings *list, json_t *item) {
  const char *text = json_is_string(item) ? json_string_value(item) : comp__member_text(item, "text"), *name;
  json_t *value;
  size_t k;
  if (!*text) return COMP_OK;
  comp_status status;
  COMP__TRY(comp__findings_add(list, comp__member_text(item, "id"), level_of(comp__member_text(item, "level")),
                               comp__member_text(item, "question"), text, comp__member_text(item, "advice")));
  json_object_foreach(json_object_get(item, "numbers"), name, value) {
    COMP__TRY(comp__findings_number(list, name, json_is_number(value) ? json_number_value(value) : NAN));
  }
  json_array_foreach(json_object_get(item, "labels"), k, value) {
    if (json_is_string(value)) COMP__TRY(comp__findings_label(list, json_string_value(value)));
  }
done:
  return status;
}

comp_status comp__findings_read(comp__findings *list, json_t *findings) {
  size_t index;
  json_t *item;
  comp_status status = COMP_OK;
  json_array_foreach(findings, index, item) {
    if (status == COMP_OK) status = read_one(list, item);
  }
  return status;
}
