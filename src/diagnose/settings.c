/* settings.c: see settings.h. */
#include "diagnose/settings.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct comparison {
  comp__settings *out;
  const char *name;
} comparison;

/* A setting as it is written in the model file; "none" when it is not there. */
static void show(char *text, size_t size, const json_t *value) {
  if (json_is_real(value)) {
    snprintf(text, size, "%g", json_real_value(value));
    return;
  }
  char *dump = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  const char *from = dump ? dump : "none";
  size_t length = strlen(from), quoted = length > 1 && from[0] == '"' ? 1 : 0;
  snprintf(text, size, "%.*s", (int)(length - 2 * quoted), from + quoted);
  free(dump);
}

static void add(const comparison *c, const char *key, const json_t *a, const json_t *b) {
  enum { TAIL = 20 }; /* for " and more" */
  char x[60], y[60], part[300];
  comp__settings *out = c->out;
  size_t used = strlen(out->text);
  out->differences++;
  show(x, sizeof x, a);
  show(y, sizeof y, b);
  snprintf(part, sizeof part, "%s%s %s in place of %s in %s", used ? ", " : "", key, y, x, c->name);
  if (used + strlen(part) + TAIL < sizeof out->text)
    memcpy(out->text + used, part, strlen(part) + 1);
  else if (!strstr(out->text, " and more"))
    snprintf(out->text + used, sizeof out->text - used, "%sand more", used ? " " : "");
}

static void compare(const comparison *c, json_t *a, json_t *b) {
  const char *key;
  json_t *value;
  json_object_foreach(a, key, value) {
    json_t *other = json_object_get(b, key);
    if (strcmp(key, "seed") == 0 || strcmp(key, "preset") == 0 || json_equal(value, other)) continue;
    if (json_is_object(value) && json_is_object(other))
      compare(c, value, other);
    else
      add(c, key, value, other);
  }
  json_object_foreach(b, key, value) if (!json_object_get(a, key) && strcmp(key, "seed") != 0 &&
                                         strcmp(key, "preset") != 0) add(c, key, NULL, value);
}

void comp__settings_compare(comp__settings *out, const comp_model *a, const comp_model *b, const char *name) {
  json_error_t error;
  const char *x = comp_model_config(a), *y = comp_model_config(b);
  json_t *first = x ? json_loads(x, 0, &error) : NULL, *other = y ? json_loads(y, 0, &error) : NULL;
  size_t before = out->differences;
  if (first && other) compare(&(comparison){out, name}, first, other);
  out->models += out->differences > before;
  json_decref(first);
  json_decref(other);
}
