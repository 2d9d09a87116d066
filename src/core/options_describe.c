/* options_describe.c: what a table says of its options, and the records that files keep of them. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"

const char *comp_option_name(const comp_option *option) {
  return option->name;
}
char comp_option_letter(const comp_option *option) {
  return option->letter;
}
comp_option_type comp_option_get_type(const comp_option *option) {
  return option->type;
}
const char *comp_option_metavar(const comp_option *option) {
  return option->metavar;
}
const char *comp_option_group(const comp_option *option) {
  return option->group;
}
const char *comp_option_help(const comp_option *option) {
  return option->help;
}
bool comp_option_required(const comp_option *option) {
  return option->required;
}
const char *comp_option_unset(const comp_option *option) {
  return option->unset;
}
const char *comp_option_varies(const comp_option *option) {
  return option->varies;
}
const char *comp_option_library_only(const comp_option *option) {
  return option->library_only;
}
double comp_option_min(const comp_option *option) {
  return option->min == 0 && option->max == 0 ? -INFINITY : option->min;
}
double comp_option_max(const comp_option *option) {
  return option->min == 0 && option->max == 0 ? INFINITY : option->max;
}

static const char *const type_names[] = {"bool", "int",   "real",  "bytes", "choice", "text",
                                         "file", "texts", "names", "ints",  "reals",  NULL};
COMP__ENUM_NAMES(comp_option_type, type_names, "type of option")

/* ---- descriptions ---- */

static json_t *text_or_null(const char *text) {
  return text ? json_string(text) : json_null();
}

static json_t *limit(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *list_choices(const comp_option *row) {
  json_t *list = json_array();
  const char *name;
  for (size_t i = 0; (name = comp_option_choice(row, i)); i++) json_array_append_new(list, json_string(name));
  return list;
}

static json_t *list_choice_helps(const comp_option *row) {
  json_t *list = json_array();
  for (size_t i = 0; comp_option_choice(row, i); i++)
    json_array_append_new(list, text_or_null(comp_option_choice_help(row, i)));
  return list;
}

static json_t *describe_row(const comp_options *fresh, const comp_option *row) {
  char buffer[256], letter[2] = {row->letter, '\0'};
  json_t *out =
      json_pack("{s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:s, s:o, s:o}", "name", row->name, "type",
                comp_option_type_name(row->type), "letter", text_or_null(row->letter ? letter : NULL), "required",
                row->required, "default", text_or_null(comp_options_get(fresh, row->name, buffer, sizeof buffer)),
                "unset", text_or_null(row->unset), "group", text_or_null(row->group), "help", row->help, "min",
                limit(comp_option_min(row)), "max", limit(comp_option_max(row)));
  json_object_set_new(out, "varies", text_or_null(row->varies));
  json_object_set_new(out, "metavar", text_or_null(row->metavar));
  json_object_set_new(out, "library_only", text_or_null(row->library_only));
  json_object_set_new(out, "choices", row->type == COMP_OPTION_CHOICE ? list_choices(row) : json_null());
  json_object_set_new(out, "choice_helps", row->choice_help ? list_choice_helps(row) : json_null());
  return out;
}

json_t *comp__options_describe(const comp__options_kind *kind) {
  comp_options *fresh;
  if (comp__options_new(&fresh, kind) != COMP_OK) return NULL;
  json_t *list = json_array();
  const comp_option *row;
  for (size_t i = 0; (row = comp_options_at(fresh, i)); i++) json_array_append_new(list, describe_row(fresh, row));
  comp_options_free(fresh);
  return json_pack("{s:s, s:s, s:o}", "name", kind->name, "summary", kind->summary, "options", list);
}

/* ---- records ---- */

/* The object that holds a row's value, and the name there: "training/rate" is "rate" in the object "training". */
static json_t *place_of(json_t *root, const comp_option *row, const char **key) {
  const char *slash = strchr(row->record, '/');
  char folder[64];
  *key = slash ? slash + 1 : row->record;
  if (!slash || (size_t)(slash - row->record) >= sizeof folder) return root;
  memcpy(folder, row->record, (size_t)(slash - row->record));
  folder[slash - row->record] = '\0';
  if (!json_object_get(root, folder)) json_object_set_new(root, folder, json_object());
  return json_object_get(root, folder);
}

/* A record has what is in the field, also where that means "unset", and never the inverse of it. */
static json_t *recorded(const comp_option *row, const void *values) {
  comp_option plain = *row;
  plain.invert = false;
  plain.absent = NAN;
  return comp__option_json(&plain, values);
}

comp_status comp__options_to_record(json_t *root, const comp__options_kind *kind, const void *values) {
  for (const comp_option *row = kind->rows; row->name; row++) {
    if (!row->record) continue;
    const char *key;
    json_t *object = place_of(root, row, &key);
    if (json_object_set_new(object, key, recorded(row, values)) != 0)
      return comp__error(COMP_ERR_MEMORY, "out of memory");
  }
  return COMP_OK;
}

/* Reads "[512,512]", "true", "0.5" or "cosine" into the field, by way of its text. */
static bool read_value(void *out, const comp_option *row, const json_t *item) {
  comp_option plain = *row;
  plain.invert = false;
  if (row->type == COMP_OPTION_BOOL && json_is_boolean(item))
    return comp__option_parse(&plain, out, json_is_true(item) ? "true" : "false") == COMP_OK;
  if (json_is_string(item) && row->type == COMP_OPTION_CHOICE)
    return comp__option_parse(&plain, out, json_string_value(item)) == COMP_OK;
  bool list = row->type == COMP_OPTION_INTS || row->type == COMP_OPTION_REALS;
  if (list ? !json_is_array(item) : !json_is_number(item)) return false;
  plain.min = plain.max = 0; /* what stands for "unset" is out of range: comp__options_check() knows it */
  if (list && row->type == COMP_OPTION_INTS) plain.min = row->min, plain.max = row->max;
  char *text = json_dumps(item, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
  size_t length = text ? strlen(text) : 0;
  if (list && length >= 2) text[length - 1] = '\0';
  bool good = text && comp__option_parse(&plain, out, text + list) == COMP_OK;
  free(text);
  return good;
}

comp_status comp__options_from_record(void *out, const comp__options_kind *kind, const json_t *root) {
  for (const comp_option *row = kind->rows; row->name; row++) {
    if (!row->record) continue;
    const char *slash = strchr(row->record, '/');
    if (slash) continue; /* how it was trained: nothing that the model needs */
    if (row->type == COMP_OPTION_CHOICE && row->size != sizeof(int)) continue; /* a name of a later version may do */
    const json_t *item = json_object_get(root, row->record);
    if (!item && row->record_later) continue;
    if (!item || !read_value(out, row, item))
      return comp__error(COMP_ERR_FORMAT, "'%s' is missing or damaged", row->record);
  }
  return COMP_OK;
}
