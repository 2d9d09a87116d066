/* json.c: see json.h. */
#include "verdict/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/strings.h"

comp_status comp__put(json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) == 0) return COMP_OK;
  return comp__error(COMP_ERR_MEMORY, "out of memory");
}

comp_status comp__append(json_t *list, json_t *value) {
  if (json_array_append_new(list, value) == 0) return COMP_OK;
  return comp__error(COMP_ERR_MEMORY, "out of memory");
}

json_t *comp__json_text(const char *text) {
  size_t bad;
  if (!text) return json_null();
  if (comp__utf8_valid(text, strlen(text), &bad)) return json_string(text);
  char *copy = strdup(text);
  if (!copy) return NULL;
  while (!comp__utf8_valid(copy, strlen(copy), &bad)) copy[bad] = '?';
  json_t *value = json_string(copy);
  free(copy);
  return value;
}

json_t *comp__json_number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

const char *comp__member_text(json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : "";
}

double comp__member_number(json_t *object, const char *name) {
  json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

size_t comp__member_count(json_t *object, const char *name) {
  json_int_t value = json_integer_value(json_object_get(object, name));
  return value > 0 ? (size_t)value : 0;
}

comp_status comp__json_dump(char **out, json_t *value) {
  char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;
  json_decref(value);
  *out = NULL;
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  comp_status status = comp__strdup(out, text);
  free(text);
  return status;
}
