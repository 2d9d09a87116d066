/* options_value.c: one value of one option: from text to its field, and back to text and JSON. */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/suggest.h"
#include "core/error.h"
#include "core/options.h"

enum { TEXT_FIELD = sizeof(char *) };

/* ---- numbers ---- */

static bool reads_back(const char *text, double value, bool is_float) {
  return is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

char *comp_format_real(char *buffer, size_t size, double value, bool is_float) {
  if (fabs(value) < 1e15 && value == trunc(value)) { /* 100, where %g has 1e+02 */
    snprintf(buffer, size, "%.0f", value);
    return buffer;
  }
  for (int precision = 1; precision <= 17; precision++) {
    snprintf(buffer, size, "%.*g", precision, value);
    if (reads_back(buffer, value, is_float)) break;
  }
  return buffer;
}

static bool has_range(const comp_option *row) {
  return row->min != 0 || row->max != 0;
}

static bool in_range(const comp_option *row, double value) {
  return !has_range(row) || (value >= row->min && value <= row->max);
}

/* `low` and `high` hold when the row has no range of its own. */
static comp_status out_of_range(const comp_option *row, const char *text, double low, double high) {
  char least[32], most[32];
  comp_format_real(least, sizeof least, has_range(row) ? row->min : low, false);
  comp_format_real(most, sizeof most, has_range(row) ? row->max : high, false);
  if (has_range(row) && isinf(row->max))
    return comp__error(COMP_ERR_ARGUMENT, "%s: %s is out of range: %s or more", row->name, text, least);
  return comp__error(COMP_ERR_ARGUMENT, "%s: %s is out of range: %s to %s", row->name, text, least, most);
}

static comp_status wrong(const comp_option *row, const char *text, const char *what) {
  return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is not %s", row->name, text, what);
}

static bool starts_number(const char *text) {
  return isdigit((unsigned char)*text) || *text == '-' || *text == '+' || *text == '.';
}

static comp_status parse_int(const comp_option *row, void *field, const char *text) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (!starts_number(text) || end == text || *end) return wrong(row, text, "a whole number");
  const long long lowest = row->size == 4 ? INT32_MIN : INT64_MIN;
  const long long highest = row->size == 4 ? INT32_MAX : INT64_MAX;
  if (errno == ERANGE || value < lowest || value > highest || !in_range(row, (double)value))
    return out_of_range(row, text, (double)lowest, (double)highest);
  if (row->size == 4)
    *(int32_t *)field = (int32_t)value;
  else
    *(int64_t *)field = value;
  return COMP_OK;
}

/* The number at the start of a text; *end is past it. False when there is none. strtod also reads hexadecimal, "inf"
 * and "nan": nobody means those here. */
static bool read_real(double *out, const char *text, char **end) {
  *out = strtod(text, end);
  for (const char *c = text; c < *end; c++)
    if (strchr("xXnN", *c)) return false;
  return starts_number(text) && *end != text;
}

static comp_status parse_real(const comp_option *row, void *field, const char *text) {
  const bool is_float = row->size == sizeof(float);
  const double most = is_float ? FLT_MAX : DBL_MAX;
  char *end;
  double value;
  if (!read_real(&value, text, &end) || *end) return wrong(row, text, "a number");
  if (!(fabs(value) <= most) || !in_range(row, value)) return out_of_range(row, text, -most, most);
  if (is_float)
    *(float *)field = (float)value;
  else
    *(double *)field = value;
  return COMP_OK;
}

static comp_status parse_bytes(const comp_option *row, void *field, const char *text) {
  static const char what[] = "a size such as 500M or 2G", suffixes[] = "KMGT";
  if (!isdigit((unsigned char)*text) || strpbrk(text, "xX")) return wrong(row, text, what);
  char *end;
  double value = strtod(text, &end);
  const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
  if (*end && (!suffix || end[1])) return wrong(row, text, what);
  if (suffix) value *= exp2(10.0 * (double)(suffix - suffixes + 1));
  const double most = 0x1p62;
  if (!(value <= most) || !in_range(row, value)) return out_of_range(row, text, 0, most);
  *(uint64_t *)field = (uint64_t)value;
  return COMP_OK;
}

static void format_bytes(char *buffer, size_t size, uint64_t value) {
  const char *suffix = "";
  for (const char *s = "KMGT"; *s && value && value % 1024 == 0; s++) {
    value /= 1024;
    suffix = s;
  }
  snprintf(buffer, size, "%llu%.1s", (unsigned long long)value, suffix);
}

/* ---- lists of numbers ---- */

static comp_status wrong_list(const comp_option *row, const char *text, size_t most) {
  char low[32], high[32];
  return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is not a list of 1 to %zu numbers from %s to %s, such as %s",
                     row->name, text, most, comp_format_real(low, sizeof low, row->min, false),
                     comp_format_real(high, sizeof high, row->max, false),
                     row->type == COMP_OPTION_INTS ? "512,512" : "1,0.25");
}

/* Reads up to `most` numbers with commas between. False when the text is not such a list. */
static bool parse_list(double *out, size_t *count, size_t most, const comp_option *row, const char *text) {
  for (*count = 0; *count < most; text++) {
    char *end;
    double value;
    if (!read_real(&value, text, &end) || !in_range(row, value)) return false;
    if (row->type == COMP_OPTION_INTS && value != trunc(value)) return false;
    out[(*count)++] = value;
    text = end;
    if (*text != ',') return *text == '\0';
  }
  return false;
}

static comp_status parse_numbers(const comp_option *row, void *values, const char *text) {
  enum { MOST = 64 };
  double numbers[MOST];
  const bool ints = row->type == COMP_OPTION_INTS;
  const size_t most = row->size / (ints ? sizeof(size_t) : sizeof(double));
  size_t count;
  if (!parse_list(numbers, &count, most < MOST ? most : MOST, row, text)) return wrong_list(row, text, most);
  void *field = (char *)values + row->offset;
  for (size_t i = 0; i < most; i++) {
    double number = numbers[i < count ? i : count - 1];
    if (ints)
      ((size_t *)field)[i] = i < count ? (size_t)number : 0;
    else
      ((double *)field)[i] = number;
  }
  if (ints) *(size_t *)(void *)((char *)values + row->count) = count;
  return COMP_OK;
}

/* ---- names ---- */

const char *comp_option_choice(const comp_option *option, size_t index) {
  if (option->choice_at) return option->choice_at(index);
  for (size_t i = 0; option->choices && i <= index; i++)
    if (!option->choices[i]) return NULL;
  return option->choices ? option->choices[index] : NULL;
}

const char *comp_option_choice_help(const comp_option *option, size_t index) {
  return option->choice_help ? option->choice_help(index) : NULL;
}

/* The index of a choice. */
static comp_status find_choice(size_t *out, const comp_option *row, const char *text) {
  char list[512] = "";
  comp_suggest search = {.word = text};
  size_t used = 0, i = 0;
  for (const char *name; (name = comp_option_choice(row, i)); i++) {
    *out = i;
    if (strcmp(name, text) == 0) return COMP_OK;
    comp_suggest_offer(&search, name);
    int n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", name);
    used = used + (size_t)n < sizeof list ? used + (size_t)n : sizeof list - 1;
  }
  if (search.best)
    return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is unknown%s", row->name, text, comp_suggest_hint(&search).text);
  return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is not one of %s", row->name, text, list);
}

const char *comp__name_at(const char *const *names, size_t index) {
  const comp_option row = {"", .choices = names};
  return comp_option_choice(&row, index);
}

comp_status comp__name_find(size_t *out, const char *const *names, const char *what, const char *name) {
  const comp_option row = {what, .choices = names};
  return find_choice(out, &row, name);
}

/* A field of another size than a pointer or a char is an array. */
static comp_status parse_text(const comp_option *row, void *field, const char *text) {
  size_t length = strlen(text), index;
  if (row->type == COMP_OPTION_CHOICE) {
    comp_status status = find_choice(&index, row, text);
    if (status != COMP_OK) return status;
    text = comp_option_choice(row, index); /* the table's own, which lives on */
  }
  if (row->type == COMP_OPTION_FILE && length == 0)
    return comp__error(COMP_ERR_ARGUMENT, "%s: the name is empty", row->name);
  if (row->type == COMP_OPTION_CHOICE && row->size == sizeof(int)) {
    *(int *)field = (int)index;
  } else if (row->size == TEXT_FIELD) {
    *(const char **)field = text;
  } else if (row->size == 1) {
    if (length != 1) return wrong(row, text, "one character");
    *(char *)field = text[0];
  } else {
    if (length >= row->size) return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is too long", row->name, text);
    memcpy(field, text, length + 1);
  }
  return COMP_OK;
}

static comp_status parse_bool(const comp_option *row, void *field, const char *text) {
  bool value = strcmp(text, "true") == 0;
  if (!value && strcmp(text, "false") != 0) return wrong(row, text, "true or false");
  if (row->size == sizeof(int))
    *(int *)field = value != row->invert;
  else
    *(bool *)field = value != row->invert;
  return COMP_OK;
}

/* ---- fields ---- */

bool comp__option_is_list(const comp_option *row) {
  return row->type == COMP_OPTION_TEXTS || row->type == COMP_OPTION_NAMES;
}

comp_status comp__option_parse(const comp_option *row, void *values, const char *text) {
  void *field = (char *)values + row->offset;
  comp_status status;
  if (row->store) {
    status = row->store((char *)values + row->base, text);
    return status == COMP_OK ? COMP_OK : comp__error_context(status, "%s", row->name);
  }
  switch (row->type) {
  case COMP_OPTION_BOOL:
    return parse_bool(row, field, text);
  case COMP_OPTION_INT:
    return parse_int(row, field, text);
  case COMP_OPTION_REAL:
    return parse_real(row, field, text);
  case COMP_OPTION_BYTES:
    return parse_bytes(row, field, text);
  case COMP_OPTION_INTS:
  case COMP_OPTION_REALS:
    return parse_numbers(row, values, text);
  case COMP_OPTION_CHOICE:
  case COMP_OPTION_TEXT:
  case COMP_OPTION_FILE:
    return parse_text(row, field, text);
  case COMP_OPTION_TEXTS:
  case COMP_OPTION_NAMES:
    break; /* the options own the list: see comp__options_fill() */
  }
  return COMP_OK;
}

static bool flag_of(const comp_option *row, const void *field) {
  return (row->size == sizeof(int) ? *(const int *)field != 0 : *(const bool *)field) != row->invert;
}

/* The value of a number, and of the index of a choice. */
static double number_of(const comp_option *row, const void *field) {
  if (row->type == COMP_OPTION_REAL)
    return row->size == sizeof(float) ? (double)*(const float *)field : *(const double *)field;
  if (row->size == 4) return *(const int32_t *)field;
  return row->type == COMP_OPTION_BYTES ? (double)*(const uint64_t *)field : (double)*(const int64_t *)field;
}

static bool is_number(const comp_option *row) {
  return row->type == COMP_OPTION_INT || row->type == COMP_OPTION_REAL || row->type == COMP_OPTION_BYTES;
}

static bool is_absent(const comp_option *row, double value) {
  if (row->value || row->varies) return false;
  return isnan(row->absent) ? isnan(value) : value == row->absent;
}

static comp_status check_list(const comp_option *row, const void *values) {
  const size_t *field = (const size_t *)(const void *)((const char *)values + row->offset);
  const size_t count = *(const size_t *)(const void *)((const char *)values + row->count),
               most = row->size / sizeof *field;
  if (count < 1 || count > most)
    return comp__error(COMP_ERR_ARGUMENT, "%s: %zu numbers; there must be 1 to %zu", row->name, count, most);
  for (size_t i = 0; i < count; i++) {
    char text[32];
    snprintf(text, sizeof text, "%zu", field[i]);
    if (!in_range(row, (double)field[i])) return out_of_range(row, text, 0, DBL_MAX);
  }
  return COMP_OK;
}

comp_status comp__option_check(const comp_option *row, const void *values) {
  if (row->type == COMP_OPTION_INTS) return check_list(row, values);
  if (!is_number(row) || row->store) return COMP_OK;
  char text[64];
  double value = number_of(row, (const char *)values + row->offset);
  if (is_absent(row, value) || (isfinite(value) && in_range(row, value))) return COMP_OK;
  comp_format_real(text, sizeof text, value, row->size == sizeof(float));
  return out_of_range(row, text, -DBL_MAX, DBL_MAX);
}

static const char *format_list(const comp_option *row, const void *values, char *buffer, size_t size) {
  const void *field = (const char *)values + row->offset;
  const bool ints = row->type == COMP_OPTION_INTS;
  size_t used = 0,
         count = ints ? *(const size_t *)(const void *)((const char *)values + row->count) : row->size / sizeof(double);
  for (size_t i = 0; i < count && used < size; i++) {
    char number[32];
    double value = ints ? (double)((const size_t *)field)[i] : ((const double *)field)[i];
    if (!ints && value == row->absent) return NULL;
    comp_format_real(number, sizeof number, value, false);
    used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? "," : "", number);
  }
  return count ? buffer : NULL;
}

static const char *text_of(const comp_option *row, const void *field, char *buffer, size_t size) {
  if (row->type == COMP_OPTION_CHOICE && row->size == sizeof(int))
    return comp_option_choice(row, (size_t) * (const int *)field);
  if (row->size == TEXT_FIELD) return *(const char *const *)field;
  if (row->size != 1) return *(const char *)field ? field : NULL;
  if (!*(const char *)field) return NULL;
  snprintf(buffer, size, "%c", *(const char *)field);
  return buffer;
}

const char *comp__option_format(const comp_option *row, const void *values, char *buffer, size_t size) {
  const void *field = (const char *)values + row->offset;
  if (row->store) return row->value;
  if (is_number(row) && is_absent(row, number_of(row, field))) return NULL;
  switch (row->type) {
  case COMP_OPTION_BOOL:
    return flag_of(row, field) ? "true" : "false";
  case COMP_OPTION_INT:
    snprintf(buffer, size, "%lld", row->size == 4 ? *(const int32_t *)field : (long long)*(const int64_t *)field);
    return buffer;
  case COMP_OPTION_REAL:
    return comp_format_real(buffer, size, number_of(row, field), row->size == sizeof(float));
  case COMP_OPTION_BYTES:
    format_bytes(buffer, size, *(const uint64_t *)field);
    return buffer;
  case COMP_OPTION_INTS:
  case COMP_OPTION_REALS:
    return format_list(row, values, buffer, size);
  case COMP_OPTION_CHOICE:
  case COMP_OPTION_TEXT:
  case COMP_OPTION_FILE:
    return text_of(row, field, buffer, size);
  case COMP_OPTION_TEXTS:
  case COMP_OPTION_NAMES:
    break;
  }
  return NULL;
}

/* ---- JSON ---- */

static json_t *list_json(const comp_option *row, const void *values) {
  const void *field = (const char *)values + row->offset;
  const size_t count = row->type == COMP_OPTION_REALS
                           ? row->size / sizeof(double)
                           : *(const size_t *)(const void *)((const char *)values + row->count);
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) {
    json_t *item = comp__option_is_list(row)       ? json_string((*(const char *const *const *)field)[i])
                   : row->type == COMP_OPTION_INTS ? json_integer((json_int_t)((const size_t *)field)[i])
                                                   : json_real(((const double *)field)[i]);
    if (json_array_append_new(list, item) == 0) continue;
    json_decref(list);
    return NULL;
  }
  return list;
}

json_t *comp__option_json(const comp_option *row, const void *values) {
  char buffer[64];
  const void *field = (const char *)values + row->offset;
  if (comp__option_is_list(row)) return list_json(row, values);
  const char *text = comp__option_format(row, values, buffer, sizeof buffer);
  if (!text) return json_null();
  switch (row->type) {
  case COMP_OPTION_BOOL:
    return json_boolean(flag_of(row, field));
  case COMP_OPTION_INT:
  case COMP_OPTION_BYTES:
    return json_integer(row->size == 4 ? *(const int32_t *)field : (json_int_t) * (const int64_t *)field);
  case COMP_OPTION_REAL:
    return json_real(number_of(row, field));
  case COMP_OPTION_INTS:
  case COMP_OPTION_REALS:
    return list_json(row, values);
  case COMP_OPTION_CHOICE:
  case COMP_OPTION_TEXT:
  case COMP_OPTION_FILE:
  case COMP_OPTION_TEXTS:
  case COMP_OPTION_NAMES:
    break;
  }
  return json_string(text);
}
