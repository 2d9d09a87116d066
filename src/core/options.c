/* options.c: a set of options: which are set, to what, and the struct that they give. Values are kept as text: so
 * setting by text and by value, copying and JSON are one thing. */
#include "core/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/suggest.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/strings.h"

/* What one option was set to. */
typedef struct value {
  bool given;
  size_t count; /* 1, but for lists of texts */
  char **items;
} value;

struct comp_options {
  const comp__options_kind *kind;
  size_t count; /* rows */
  value *values;
};

/* ---- the set ---- */

static size_t count_rows(const comp__options_kind *kind) {
  size_t n = 0;
  while (kind->rows[n].name) n++;
  return n;
}

comp_status comp__options_new(comp_options **out, const comp__options_kind *kind) {
  comp_status status;
  comp_options *options = NULL;
  *out = NULL;
  if (kind->complete) kind->complete();
  COMP__TRY(comp__calloc(&options, 1, sizeof *options));
  options->kind = kind;
  options->count = count_rows(kind);
  COMP__TRY(comp__calloc(&options->values, options->count, sizeof *options->values));
  *out = options;
done:
  if (status != COMP_OK) comp__free(options);
  return status;
}

static void clear(value *v) {
  for (size_t i = 0; i < v->count; i++) comp__free(v->items[i]);
  comp__free(v->items);
  *v = (value){false, 0, NULL};
}

void comp_options_free(comp_options *options) {
  if (!options) return;
  for (size_t i = 0; i < options->count; i++) clear(&options->values[i]);
  comp__free(options->values);
  comp__free(options);
}

const char *comp_options_kind(const comp_options *options) {
  return options->kind->name;
}

const char *comp_options_summary(const comp_options *options) {
  return options->kind->summary;
}

/* ---- rows ---- */

comp_status comp__options_row(const comp_option **out, const comp__options_kind *kind, const char *name) {
  comp_suggest search = {.word = name};
  for (const comp_option *row = kind->rows; row->name; row++) {
    if (row->internal) continue;
    *out = row;
    if (strcmp(row->name, name) == 0) return COMP_OK;
    comp_suggest_offer(&search, row->name);
  }
  *out = NULL;
  return comp__error(COMP_ERR_ARGUMENT, "%s: there is no option '%s'%s", kind->name, name,
                     comp_suggest_hint(&search).text);
}

const comp_option *comp_options_find(const comp_options *options, const char *name) {
  const comp_option *row;
  return comp__options_row(&row, options->kind, name) == COMP_OK ? row : NULL;
}

const comp_option *comp_options_at(const comp_options *options, size_t index) {
  for (const comp_option *row = options->kind->rows; row->name; row++)
    if (!row->internal && index-- == 0) return row;
  return NULL;
}

static value *value_of(const comp_options *options, const comp_option *row) {
  return &options->values[row - options->kind->rows];
}

/* ---- setting ---- */

static comp_status append(value *v, const char *text) {
  char **items, *copy;
  comp_status status = comp__strdup(&copy, text);
  if (status != COMP_OK) return status;
  status = comp__alloc(&items, v->count + 1, sizeof *items);
  if (status != COMP_OK) {
    comp__free(copy);
    return status;
  }
  for (size_t i = 0; i < v->count; i++) items[i] = v->items[i];
  items[v->count++] = copy;
  comp__free(v->items);
  v->items = items;
  v->given = true;
  return COMP_OK;
}

/* The parts of "a,b". */
static comp_status append_names(value *v, const char *text) {
  comp_status status = COMP_OK;
  for (const char *at = text; status == COMP_OK; at += strcspn(at, ",") + 1) {
    char *part;
    status = comp__strdup(&part, at);
    if (status != COMP_OK) break;
    part[strcspn(part, ",")] = '\0';
    status = append(v, part);
    comp__free(part);
    if (!at[strcspn(at, ",")]) break;
  }
  return status;
}

/* Whether the text is a value of the option: it is read into a struct that nobody uses. */
static comp_status try_value(const comp_options *options, const comp_option *row, const char *text) {
  void *scratch;
  comp_status status = comp__calloc(&scratch, 1, options->kind->size);
  if (status == COMP_OK) status = comp__option_parse(row, scratch, text);
  comp__free(scratch);
  return status;
}

comp_status comp_options_set(comp_options *options, const char *name, const char *text) {
  COMP__NEED(options, name);
  const comp_option *row;
  comp_status status = comp__options_row(&row, options->kind, name);
  if (status == COMP_OK && text) status = try_value(options, row, text);
  if (status != COMP_OK) return status;
  clear(value_of(options, row));
  if (!text) return COMP_OK;
  return row->type == COMP_OPTION_NAMES ? append_names(value_of(options, row), text)
                                        : append(value_of(options, row), text);
}

comp_status comp_options_add(comp_options *options, const char *name, const char *text) {
  COMP__NEED(options, name, text);
  const comp_option *row;
  comp_status status = comp__options_row(&row, options->kind, name);
  if (status != COMP_OK) return status;
  if (!comp__option_is_list(row)) return comp__error(COMP_ERR_ARGUMENT, "%s: it is not a list", name);
  return append(value_of(options, row), text);
}

comp_status comp_options_set_int(comp_options *options, const char *name, int64_t number) {
  COMP__NEED(options, name);
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)number);
  return comp_options_set(options, name, text);
}

comp_status comp_options_set_real(comp_options *options, const char *name, double number) {
  COMP__NEED(options, name);
  char text[64];
  return comp_options_set(options, name, comp_format_real(text, sizeof text, number, false));
}

comp_status comp_options_set_bool(comp_options *options, const char *name, bool flag) {
  COMP__NEED(options, name);
  return comp_options_set(options, name, flag ? "true" : "false");
}

comp_status comp_options_set_list(comp_options *options, const char *name, const char *const *items, size_t count) {
  COMP__NEED(options, name, items || !count);
  const comp_option *row;
  comp_status status = comp__options_row(&row, options->kind, name);
  if (status != COMP_OK) return status;
  if (!comp__option_is_list(row)) return comp__error(COMP_ERR_ARGUMENT, "%s: it is not a list", name);
  clear(value_of(options, row));
  value_of(options, row)->given = true;
  for (size_t i = 0; i < count && status == COMP_OK; i++) status = append(value_of(options, row), items[i]);
  return status;
}

/* Sets one value as another, if that was set. */
static comp_status merge_value(value *to, const value *from) {
  comp_status status = COMP_OK;
  if (!from->given) return COMP_OK;
  clear(to);
  to->given = true;
  for (size_t k = 0; k < from->count && status == COMP_OK; k++) status = append(to, from->items[k]);
  return status;
}

comp_status comp_options_merge(comp_options *options, const comp_options *from) {
  COMP__NEED(options, from);
  if (options->kind != from->kind)
    return comp__error(COMP_ERR_ARGUMENT, "options of kind '%s' cannot be merged into options of kind '%s'",
                       from->kind->name, options->kind->name);
  comp_status status = COMP_OK;
  for (size_t i = 0; i < from->count && status == COMP_OK; i++)
    status = merge_value(&options->values[i], &from->values[i]);
  return status;
}

comp_status comp_options_copy(comp_options **out, const comp_options *options) {
  COMP__NEED_OUT(out, options);
  comp_status status = comp__options_new(out, options->kind);
  if (status == COMP_OK) status = comp_options_merge(*out, options);
  if (status == COMP_OK) return COMP_OK;
  comp_options_free(*out);
  *out = NULL;
  return status;
}

comp_status comp__options_part(comp_options **out, const comp_options *options, const comp__options_kind *kind) {
  comp_status status = comp__options_new(out, kind);
  for (size_t i = 0; i < options->count && status == COMP_OK; i++) {
    const comp_option *row = &options->kind->rows[i], *theirs;
    if (row->source != kind) continue;
    status = comp__options_row(&theirs, kind, row->name);
    if (status == COMP_OK) status = merge_value(value_of(*out, theirs), &options->values[i]);
  }
  if (status == COMP_OK) return COMP_OK;
  comp_options_free(*out);
  *out = NULL;
  return status;
}

/* ---- the struct ---- */

static void put_default(void *out, const comp_option *row) {
  void *field = (char *)out + row->offset;
  comp_status status = COMP_OK;
  if (row->value) status = comp__option_parse(row, out, row->value);
  (void)status; /* tests set every default by its text */
  if (row->value || row->absent == 0) return;
  if (row->type == COMP_OPTION_REAL && row->size == sizeof(double)) *(double *)field = row->absent;
  if (row->type == COMP_OPTION_REAL && row->size == sizeof(float)) *(float *)field = (float)row->absent;
  if (row->type == COMP_OPTION_INT && row->size == 4) *(int32_t *)field = (int32_t)row->absent;
  if (row->type == COMP_OPTION_INT && row->size == 8) *(int64_t *)field = (int64_t)row->absent;
}

void comp__options_defaults(void *out, const comp__options_kind *kind) {
  memset(out, 0, kind->size);
  for (const comp_option *row = kind->rows; row->name; row++)
    if (row->type == COMP_OPTION_BOOL && !row->value && row->invert)
      *(bool *)(void *)((char *)out + row->offset) = true;
    else
      put_default(out, row);
}

static comp_status put_given(void *out, const comp_option *row, const value *v) {
  if (!comp__option_is_list(row)) return comp__option_parse(row, out, v->items[0]);
  *(const char *const **)(void *)((char *)out + row->offset) = (const char *const *)v->items;
  *(size_t *)(void *)((char *)out + row->count) = v->count;
  return COMP_OK;
}

comp_status comp__options_fill(void *out, const comp__options_kind *kind, const comp_options *options) {
  comp_status status = COMP_OK;
  if (options && options->kind != kind)
    return comp__error(COMP_ERR_ARGUMENT, "options of kind '%s' were given in place of kind '%s'", options->kind->name,
                       kind->name);
  if (kind->base)
    status = kind->base(out, options);
  else
    comp__options_defaults(out, kind);
  for (size_t i = 0; options && i < options->count && status == COMP_OK; i++)
    if (options->values[i].given) status = put_given(out, &kind->rows[i], &options->values[i]);
  return status;
}

comp_status comp__options_check(const comp__options_kind *kind, const void *values) {
  comp_status status = COMP_OK;
  for (const comp_option *row = kind->rows; row->name && status == COMP_OK; row++)
    status = comp__option_check(row, values);
  return status == COMP_OK && kind->check ? kind->check(values) : status;
}

comp_status comp__options_resolve(void *out, const comp__options_kind *kind, const comp_options *options) {
  comp_status status = comp__options_fill(out, kind, options);
  if (status == COMP_OK && kind->finish) status = kind->finish(out, options);
  return status == COMP_OK ? comp__options_check(kind, out) : status;
}

/* The struct of a set, which should be freed via comp__free(). */
static comp_status fill_new(void **out, const comp_options *options) {
  comp_status status = comp__calloc(out, 1, options->kind->size);
  if (status == COMP_OK) status = comp__options_fill(*out, options->kind, options);
  if (status == COMP_OK) return COMP_OK;
  comp__free(*out);
  *out = NULL;
  return status;
}

comp_status comp_options_check(const comp_options *options) {
  COMP__NEED(options);
  void *scratch;
  comp_status status = comp__calloc(&scratch, 1, options->kind->size);
  for (size_t i = 0; i < options->count && status == COMP_OK; i++)
    if (options->kind->rows[i].required && !options->values[i].given)
      status = comp__error(COMP_ERR_ARGUMENT, "%s: it is not set, and it has no default", options->kind->rows[i].name);
  if (status == COMP_OK) status = comp__options_resolve(scratch, options->kind, options);
  comp__free(scratch);
  return status;
}

/* ---- reading ---- */

bool comp_options_given(const comp_options *options, const char *name) {
  const comp_option *row = comp_options_find(options, name);
  return row && value_of(options, row)->given;
}

const char *comp__options_text(const comp_options *options, const char *name) {
  const comp_option *row = options ? comp_options_find(options, name) : NULL;
  if (!row || !value_of(options, row)->given || comp__option_is_list(row)) return NULL;
  return value_of(options, row)->items[0];
}

/* A value that takes `length` bytes, and one more for its end, has no room. */
static comp_status too_small(const comp_option *row, size_t size, size_t length) {
  return comp__error(COMP_ERR_ARGUMENT, "%s: its value needs a buffer of %zu bytes, not %zu", row->name, length + 1,
                     size);
}

/* The default as text: in the table, in `buffer`, or NULL: there is none. */
static comp_status default_text(const char **out, const comp_options *options, const comp_option *row, char *buffer,
                                size_t size) {
  *out = row->value;
  if (row->value || comp__option_is_list(row)) return COMP_OK;
  char room[2048]; /* the longest list of numbers fits */
  void *values;
  comp_status status = fill_new(&values, options);
  if (status != COMP_OK) return status;
  const char *text = comp__option_format(row, values, room, sizeof room);
  const uintptr_t at = (uintptr_t)text, start = (uintptr_t)values;
  if (text == room || (at >= start && at < start + options->kind->size)) { /* in what is gone after this */
    const size_t length = strlen(text);
    if (length >= size) status = too_small(row, size, length);
    text = status == COMP_OK ? memcpy(buffer, text, length + 1) : NULL;
  }
  comp__free(values);
  *out = text;
  return status;
}

/* "a,b". */
static comp_status join_names(const char **out, const comp_option *row, const value *v, char *buffer, size_t size) {
  size_t length = v->count ? v->count - 1 : 0, used = 0;
  for (size_t i = 0; i < v->count; i++) length += strlen(v->items[i]);
  if (length >= size) return too_small(row, size, length);
  buffer[0] = '\0';
  for (size_t i = 0; i < v->count; i++)
    used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? "," : "", v->items[i]);
  *out = buffer;
  return COMP_OK;
}

/* NULL: it is not set and has no default, or there was no memory for the text. */
static comp_status text_of(const char **out, const comp_options *options, const char *name, char *buffer, size_t size) {
  const comp_option *row;
  *out = comp__options_text(options, name);
  if (*out) return COMP_OK;
  comp_status status = comp__options_row(&row, options->kind, name);
  if (status != COMP_OK) return status;
  if (row->type == COMP_OPTION_NAMES && value_of(options, row)->given)
    return join_names(out, row, value_of(options, row), buffer, size);
  return default_text(out, options, row, buffer, size);
}

const char *comp_options_get(const comp_options *options, const char *name, char *buffer, size_t size) {
  const char *text;
  return text_of(&text, options, name, buffer, size) == COMP_OK ? text : NULL;
}

/* The text of an option of one of two types. */
static comp_status typed_text(const char **out, const comp_options *options, const char *name, comp_option_type type,
                              comp_option_type or, char *buffer, size_t size) {
  const comp_option *row;
  comp_status status = comp__options_row(&row, options->kind, name);
  if (status != COMP_OK) return status;
  if (row->type != type && row->type != or)
    return comp__error(COMP_ERR_ARGUMENT, "%s: it is of type %s, not %s", name, comp_option_type_name(row->type),
                       comp_option_type_name(type));
  status = text_of(out, options, name, buffer, size);
  if (status != COMP_OK || *out) return status;
  return comp__error(COMP_ERR_ARGUMENT, "%s: it is not set, and it has no default", name);
}

comp_status comp_options_get_int(int64_t *out, const comp_options *options, const char *name) {
  COMP__NEED(out, options, name);
  char buffer[64];
  const char *text;
  comp_status status = typed_text(&text, options, name, COMP_OPTION_INT, COMP_OPTION_BYTES, buffer, sizeof buffer);
  if (status != COMP_OK) return status;
  const comp_option wide = {name, .type = comp_option_get_type(comp_options_find(options, name)), .size = sizeof *out};
  return comp__option_parse(&wide, out, text);
}

comp_status comp_options_get_real(double *out, const comp_options *options, const char *name) {
  COMP__NEED(out, options, name);
  char buffer[64];
  const char *text;
  comp_status status = typed_text(&text, options, name, COMP_OPTION_REAL, COMP_OPTION_INT, buffer, sizeof buffer);
  const comp_option wide = {name, .type = COMP_OPTION_REAL, .size = sizeof *out};
  return status == COMP_OK ? comp__option_parse(&wide, out, text) : status;
}

comp_status comp_options_get_bool(bool *out, const comp_options *options, const char *name) {
  COMP__NEED(out, options, name);
  char buffer[64];
  const char *text;
  comp_status status = typed_text(&text, options, name, COMP_OPTION_BOOL, COMP_OPTION_BOOL, buffer, sizeof buffer);
  if (status == COMP_OK) *out = strcmp(text, "true") == 0;
  return status;
}

const char *const *comp_options_get_list(size_t *count, const comp_options *options, const char *name) {
  const comp_option *row = comp_options_find(options, name);
  *count = row && comp__option_is_list(row) ? value_of(options, row)->count : 0;
  return *count ? (const char *const *)value_of(options, row)->items : NULL;
}

/* ---- JSON ---- */

/* JSON is UTF-8; names of files need not be. */
static comp_status refuse_text(const comp_options *options, const comp_option *row) {
  const value *v = value_of(options, row);
  char shown[512];
  for (size_t i = 0; i < v->count; i++)
    if (!comp__utf8_valid(v->items[i], strlen(v->items[i]), NULL))
      return comp__error(COMP_ERR_DATA, "%s: '%s' is not UTF-8, which a record of the options has to be: rename it",
                         row->name, comp__utf8_show(shown, sizeof shown, v->items[i]));
  return comp__error(COMP_ERR_MEMORY, "out of memory");
}

comp_status comp_options_to_json(char **out, const comp_options *options) {
  COMP__NEED_OUT(out, options);
  void *values = NULL;
  *out = NULL;
  json_t *root = json_object();
  comp_status status = fill_new(&values, options);
  for (const comp_option *row = options->kind->rows; row->name && status == COMP_OK; row++) {
    if (row->internal) continue;
    const char *given = row->store ? comp__options_text(options, row->name) : NULL;
    json_t *item = given ? json_string(given) : comp__option_json(row, values);
    status = item ? COMP_OK : refuse_text(options, row);
    json_object_set_new(root, row->name, item);
  }
  if (status == COMP_OK) *out = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  if (status == COMP_OK && !*out) status = comp__error(COMP_ERR_MEMORY, "out of memory");
  json_decref(root);
  comp__free(values);
  return status;
}

/* "512,512" of an array of numbers. */
static comp_status set_numbers(comp_options *options, const char *name, const json_t *list) {
  char text[1024] = "", number[32];
  size_t used = 0, i;
  json_t *item;
  json_array_foreach(list, i, item) {
    if (!json_is_number(item)) return comp__error(COMP_ERR_ARGUMENT, "%s: an item of the list is not a number", name);
    comp_format_real(number, sizeof number, json_number_value(item), false);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", number);
    if (used >= sizeof text) return comp__error(COMP_ERR_ARGUMENT, "%s: the list is too long", name);
  }
  return comp_options_set(options, name, text);
}

static comp_status set_json_list(comp_options *options, const char *name, const json_t *list) {
  const comp_option *row = comp_options_find(options, name);
  if (row && !comp__option_is_list(row)) return set_numbers(options, name, list);
  comp_status status = comp_options_set_list(options, name, NULL, 0);
  size_t i;
  json_t *item;
  json_array_foreach(list, i, item) {
    if (status == COMP_OK && !json_is_string(item))
      status = comp__error(COMP_ERR_ARGUMENT, "%s: an item of the list is not a text", name);
    if (status == COMP_OK) status = comp_options_add(options, name, json_string_value(item));
  }
  return status;
}

static comp_status set_json(comp_options *options, const char *name, const json_t *item) {
  if (json_is_null(item)) return comp_options_set(options, name, NULL);
  if (json_is_string(item)) return comp_options_set(options, name, json_string_value(item));
  if (json_is_boolean(item)) return comp_options_set_bool(options, name, json_is_true(item));
  if (json_is_integer(item)) return comp_options_set_int(options, name, json_integer_value(item));
  if (json_is_real(item)) return comp_options_set_real(options, name, json_real_value(item));
  if (json_is_array(item)) return set_json_list(options, name, item);
  return comp__error(COMP_ERR_ARGUMENT, "%s: an object is not a value", name);
}

/* Whether the value of an option is what it would be without it: then it need not be set. */
static bool is_default(comp_options *options, const comp_option *row) {
  char buffer[256];
  value given = *value_of(options, row);
  if (!given.given || comp__option_is_list(row)) return given.given && given.count == 0;
  *value_of(options, row) = (value){false, 0, NULL};
  const char *text = comp_options_get(options, row->name, buffer, sizeof buffer);
  bool same = text && strcmp(text, given.items[0]) == 0;
  *value_of(options, row) = given;
  return same;
}

comp_status comp_options_from_json(comp_options *options, const char *json) {
  COMP__NEED(options, json);
  json_error_t error;
  json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &error), *item;
  const char *name;
  comp_status status = COMP_OK;
  if (!json_is_object(root))
    status = comp__error(COMP_ERR_ARGUMENT, "options: not a JSON object%s%s", root ? "" : ": ", root ? "" : error.text);
  json_object_foreach(root, name, item) {
    if (status == COMP_OK) status = set_json(options, name, item);
  }
  json_decref(root);
  for (const comp_option *row = options->kind->rows; row->name && status == COMP_OK; row++)
    if (!row->internal && is_default(options, row)) clear(value_of(options, row));
  return status;
}
