/* table.c: columns of strings, categories, numbers and bools. */
#include "core/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/options.h"
#include "core/strings.h"

static const char *const kind_names[] = {"string", "categorical", "number", "bool", NULL};
COMP__ENUM_NAMES(comp_column_kind, kind_names, "kind of column")

typedef struct column {
  char *name;
  comp_column_kind kind;
  bool integer;
  bool ordered;
  bool from_file;
  bool changed;          /* it is not what the file holds */
  comp__strings strings; /* the values of a string column, the levels of a categorical one */
  int32_t *codes;
  double *numbers;
  int8_t *bools;
} column;

struct comp_table {
  size_t rows;
  bool from_file;
  column *columns;
  size_t count;
  size_t capacity;
};

comp_status comp_table_new(comp_table **out, size_t rows) {
  COMP__NEED(out);
  *out = NULL;
  comp_table *table;
  comp_status status = comp__calloc(&table, 1, sizeof *table);
  if (status != COMP_OK) return status;
  table->rows = rows;
  *out = table;
  return COMP_OK;
}

static void release_column(column *c) {
  comp__free(c->name);
  comp__strings_release(&c->strings);
  comp__free(c->codes);
  comp__free(c->numbers);
  comp__free(c->bools);
  *c = (column){0};
}

void comp_table_free(comp_table *table) {
  if (!table) return;
  for (size_t i = 0; i < table->count; i++) release_column(&table->columns[i]);
  comp__free(table->columns);
  comp__free(table);
}

size_t comp_table_row_count(const comp_table *table) {
  return table->rows;
}
size_t comp_table_column_count(const comp_table *table) {
  return table->count;
}

size_t comp_table_find(const comp_table *table, const char *name) {
  for (size_t i = 0; i < table->count; i++)
    if (strcmp(table->columns[i].name, name) == 0) return i;
  return COMP_NOT_FOUND;
}

static const char *nth_name(const void *user, size_t i) {
  return ((const comp_table *)user)->columns[i].name;
}

static const char *nth_level(const void *user, size_t i) {
  return ((const comp_groups *)user)->levels[i];
}

comp_hint comp__groups_hint(const comp_groups *groups, const char *value) {
  return comp__hint(value, groups->n_levels, nth_level, groups);
}

comp_status comp_table_require(size_t *out, const comp_table *table, const char *name) {
  COMP__NEED(out, table, name);
  *out = comp_table_find(table, name);
  if (*out != COMP_NOT_FOUND) return COMP_OK;
  const comp_hint hint = comp__hint(name, table->count, nth_name, table);
  if (hint.text[0]) return comp__error(COMP_ERR_DATA, "there is no column '%s'%s", name, hint.text);
  char list[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < table->count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", table->columns[i].name);
  return comp__error(COMP_ERR_DATA, "there is no column '%s'; there %s: %s", name, table->count ? "are" : "is",
                     table->count ? list : "none at all");
}

static const column *get(const comp_table *table, size_t i) {
  assert(i < table->count);
  return &table->columns[i];
}

const char *comp_table_column_name(const comp_table *table, size_t i) {
  return get(table, i)->name;
}
comp_column_kind comp_table_column_kind(const comp_table *table, size_t i) {
  return get(table, i)->kind;
}
bool comp_table_is_integer(const comp_table *table, size_t i) {
  return get(table, i)->integer;
}

const char *comp_table_string(const comp_table *table, size_t i, size_t row) {
  const column *c = get(table, i);
  assert(c->kind == COMP_COLUMN_STRING && row < table->rows);
  return comp__strings_get(&c->strings, row);
}

int32_t comp_table_code(const comp_table *table, size_t i, size_t row) {
  const column *c = get(table, i);
  assert(c->kind == COMP_COLUMN_CATEGORICAL && row < table->rows);
  return c->codes[row];
}

double comp_table_number(const comp_table *table, size_t i, size_t row) {
  const column *c = get(table, i);
  assert(c->kind == COMP_COLUMN_NUMBER && row < table->rows);
  return c->numbers[row];
}

int comp_table_bool(const comp_table *table, size_t i, size_t row) {
  const column *c = get(table, i);
  assert(c->kind == COMP_COLUMN_BOOL && row < table->rows);
  return c->bools[row];
}

size_t comp_table_level_count(const comp_table *table, size_t i) {
  const column *c = get(table, i);
  assert(c->kind == COMP_COLUMN_CATEGORICAL);
  return c->strings.count;
}

const char *comp_table_level_name(const comp_table *table, size_t i, int32_t code) {
  const column *c = get(table, i);
  assert(c->kind == COMP_COLUMN_CATEGORICAL && code >= 0);
  return comp__strings_get(&c->strings, (size_t)code);
}

static const char *kind_name(comp_column_kind kind) {
  static const char *const names[] = {"strings", "categories", "numbers", "bools"};
  return names[kind];
}

/* The column, if it is there and of this kind. */
static comp_status get_kind(const column **out, const comp_table *table, size_t i, comp_column_kind kind) {
  *out = NULL;
  if (i >= table->count)
    return comp__error(COMP_ERR_ARGUMENT, "there is no column %zu: the table has %zu", i, table->count);
  *out = &table->columns[i];
  if ((*out)->kind == kind) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "column '%s' holds %s, not %s", (*out)->name, kind_name((*out)->kind),
                     kind_name(kind));
}

comp_status comp_table_numbers(const double **out, const comp_table *table, size_t i) {
  COMP__NEED_OUT(out, table);
  const column *c;
  comp_status status = get_kind(&c, table, i, COMP_COLUMN_NUMBER);
  *out = status == COMP_OK ? c->numbers : NULL;
  return status;
}

comp_status comp_table_codes(const int32_t **out, const comp_table *table, size_t i) {
  COMP__NEED_OUT(out, table);
  const column *c;
  comp_status status = get_kind(&c, table, i, COMP_COLUMN_CATEGORICAL);
  *out = status == COMP_OK ? c->codes : NULL;
  return status;
}

comp_status comp_table_bools(const int8_t **out, const comp_table *table, size_t i) {
  COMP__NEED_OUT(out, table);
  const column *c;
  comp_status status = get_kind(&c, table, i, COMP_COLUMN_BOOL);
  *out = status == COMP_OK ? c->bools : NULL;
  return status;
}

comp_status comp_table_strings(const char **out, const comp_table *table, size_t i) {
  COMP__NEED(out, table);
  const column *c;
  comp_status status = get_kind(&c, table, i, COMP_COLUMN_STRING);
  if (status == COMP_OK) comp__strings_list(out, &c->strings);
  return status;
}

comp_status comp_table_level_names(const char **out, const comp_table *table, size_t i) {
  COMP__NEED(out, table);
  const column *c;
  comp_status status = get_kind(&c, table, i, COMP_COLUMN_CATEGORICAL);
  if (status == COMP_OK) comp__strings_list(out, &c->strings);
  return status;
}

/* Puts a finished column in place of one of the same name, or at the end. Takes it over. */
static comp_status place(comp_table *table, column *c) {
  size_t i = comp_table_find(table, c->name);
  if (i != COMP_NOT_FOUND) {
    release_column(&table->columns[i]);
    table->columns[i] = *c;
    return COMP_OK;
  }
  comp_status status =
      comp__grow(&table->columns, &table->capacity, table->count, table->count + 1, sizeof *table->columns);
  if (status != COMP_OK) {
    release_column(c);
    return status;
  }
  table->columns[table->count++] = *c;
  return COMP_OK;
}

/* Copies an array of n elements. */
static comp_status copy_array(void *out, const void *values, size_t n, size_t size) {
  comp_status status = comp__alloc(out, n, size);
  if (status != COMP_OK) return status;
  void *block;
  memcpy(&block, out, sizeof block);
  if (n > 0) memcpy(block, values, n * size);
  return COMP_OK;
}

/* Neither JSON nor HDF5 can hold other text. */
static comp_status copy_name(char **out, const char *name) {
  *out = NULL;
  if (!comp__utf8_valid(name, strlen(name), NULL))
    return comp__error(COMP_ERR_ARGUMENT, "the name of a column is not valid UTF-8");
  return comp__strdup(out, name);
}

/* Strings or levels, which `what` names, of the column. */
static comp_status append_all(column *c, const char *const *values, size_t n, const char *what) {
  for (size_t i = 0; i < n; i++) {
    const size_t length = values[i] ? strlen(values[i]) : 0;
    if (values[i] && !comp__utf8_valid(values[i], length, NULL))
      return comp__error(COMP_ERR_ARGUMENT, "column '%s': %s %zu is not valid UTF-8", c->name, what, i);
    comp_status status = comp__strings_append(&c->strings, values[i], length);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp_table_add_strings(comp_table *table, const char *name, const char *const *values) {
  COMP__NEED(table, name, values || !table || !table->rows);
  comp_status status;
  column c = {.kind = COMP_COLUMN_STRING};
  COMP__TRY(copy_name(&c.name, name));
  COMP__TRY(append_all(&c, values, table->rows, "row"));
  return place(table, &c);
done:
  release_column(&c);
  return status;
}

comp_status comp_table_add_categorical(comp_table *table, const char *name, const int32_t *codes,
                                       const char *const *levels, size_t n_levels) {
  COMP__NEED(table, name, codes || !table || !table->rows, levels || !n_levels);
  comp_status status;
  column c = {.kind = COMP_COLUMN_CATEGORICAL};
  for (size_t row = 0; row < table->rows; row++)
    if (codes[row] < -1 || codes[row] >= (int64_t)n_levels)
      return comp__error(COMP_ERR_FORMAT, "column '%s', row %zu: code %d is outside of its %zu levels", name, row,
                         codes[row], n_levels);
  for (size_t l = 0; l < n_levels; l++)
    if (!levels[l]) return comp__error(COMP_ERR_ARGUMENT, "column '%s': level %zu is NULL", name, l);
  COMP__TRY(copy_name(&c.name, name));
  COMP__TRY(append_all(&c, levels, n_levels, "level"));
  COMP__TRY(copy_array(&c.codes, codes, table->rows, sizeof *codes));
  return place(table, &c);
done:
  release_column(&c);
  return status;
}

comp_status comp_table_add_numbers(comp_table *table, const char *name, const double *values, bool integer) {
  COMP__NEED(table, name, values || !table || !table->rows);
  comp_status status;
  column c = {.kind = COMP_COLUMN_NUMBER, .integer = integer};
  COMP__TRY(copy_name(&c.name, name));
  COMP__TRY(copy_array(&c.numbers, values, table->rows, sizeof *values));
  return place(table, &c);
done:
  release_column(&c);
  return status;
}

comp_status comp_table_add_bools(comp_table *table, const char *name, const int8_t *values) {
  COMP__NEED(table, name, values || !table || !table->rows);
  comp_status status;
  column c = {.kind = COMP_COLUMN_BOOL};
  for (size_t row = 0; row < table->rows; row++)
    if (values[row] < -1 || values[row] > 1)
      return comp__error(COMP_ERR_ARGUMENT, "column '%s', row %zu: %d is not a bool (-1, 0 or 1)", name, row,
                         values[row]);
  COMP__TRY(copy_name(&c.name, name));
  COMP__TRY(copy_array(&c.bools, values, table->rows, sizeof *values));
  return place(table, &c);
done:
  release_column(&c);
  return status;
}

void comp_table_remove(comp_table *table, size_t i) {
  assert(i < table->count);
  release_column(&table->columns[i]);
  memmove(table->columns + i, table->columns + i + 1, (table->count - i - 1) * sizeof *table->columns);
  table->count--;
}

static comp_status select_column(column *out, const column *c, const size_t *rows, size_t n) {
  comp_status status;
  out->kind = c->kind;
  out->integer = c->integer;
  out->ordered = c->ordered;
  COMP__TRY(comp__strdup(&out->name, c->name));
  switch (c->kind) {
  case COMP_COLUMN_STRING:
    COMP__TRY(comp__strings_select(&out->strings, &c->strings, rows, n));
    break;
  case COMP_COLUMN_CATEGORICAL:
    COMP__TRY(comp__strings_select(&out->strings, &c->strings, NULL, 0));
    COMP__TRY(comp__alloc(&out->codes, n, sizeof *out->codes));
    for (size_t i = 0; i < n; i++) out->codes[i] = c->codes[rows[i]];
    break;
  case COMP_COLUMN_NUMBER:
    COMP__TRY(comp__alloc(&out->numbers, n, sizeof *out->numbers));
    for (size_t i = 0; i < n; i++) out->numbers[i] = c->numbers[rows[i]];
    break;
  case COMP_COLUMN_BOOL:
    COMP__TRY(comp__alloc(&out->bools, n, sizeof *out->bools));
    for (size_t i = 0; i < n; i++) out->bools[i] = c->bools[rows[i]];
    break;
  }
done:
  if (status != COMP_OK) release_column(out);
  return status;
}

static bool selects_all(const comp_table *table, const size_t *rows, size_t n_rows) {
  if (n_rows != table->rows) return false;
  for (size_t i = 0; i < n_rows; i++)
    if (rows[i] != i) return false;
  return true;
}

comp_status comp_table_select(comp_table **out, const comp_table *table, const size_t *rows, size_t n_rows) {
  COMP__NEED_OUT(out, table, rows || !n_rows);
  *out = NULL;
  comp_table *selected;
  comp_status status = comp_table_new(&selected, n_rows);
  if (status != COMP_OK) return status;
  bool all = selects_all(table, rows, n_rows);
  selected->from_file = all && table->from_file;
  for (size_t i = 0; i < table->count; i++) {
    column c = {0};
    COMP__TRY(select_column(&c, &table->columns[i], rows, n_rows));
    c.from_file = all && table->columns[i].from_file;
    COMP__TRY(place(selected, &c));
  }
  *out = selected;
done:
  if (status != COMP_OK) comp_table_free(selected);
  return status;
}

/* The shortest of the two usual precisions that reads back the same. */
static void format_number(char *buffer, size_t size, double value) {
  if (value == floor(value) && fabs(value) < 1e15) {
    snprintf(buffer, size, "%.0f", value);
    return;
  }
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(buffer, size, "%.*g", digits, value);
    if (strtod(buffer, NULL) == value) return;
  }
}

const char *comp_table_format(const comp_table *table, size_t i, size_t row, char *buffer, size_t size) {
  const column *c = get(table, i);
  assert(row < table->rows && size > 0);
  buffer[0] = '\0';
  switch (c->kind) {
  case COMP_COLUMN_STRING: {
    const char *text = comp__strings_get(&c->strings, row);
    if (text) snprintf(buffer, size, "%s", text);
    break;
  }
  case COMP_COLUMN_CATEGORICAL:
    if (c->codes[row] >= 0) snprintf(buffer, size, "%s", comp__strings_get(&c->strings, (size_t)c->codes[row]));
    break;
  case COMP_COLUMN_NUMBER:
    if (!isnan(c->numbers[row])) format_number(buffer, size, c->numbers[row]);
    break;
  case COMP_COLUMN_BOOL:
    if (c->bools[row] >= 0) snprintf(buffer, size, "%s", c->bools[row] ? "True" : "False");
    break;
  }
  return buffer;
}

void comp__table_mark_file(comp_table *table) {
  table->from_file = true;
  for (size_t i = 0; i < table->count; i++) table->columns[i].from_file = !table->columns[i].changed;
}

void comp__table_set_changed(comp_table *table, size_t i) {
  assert(i < table->count);
  table->columns[i].changed = true;
}

bool comp__table_from_file(const comp_table *table) {
  return table->from_file;
}

bool comp__table_column_from_file(const comp_table *table, size_t i) {
  return get(table, i)->from_file;
}

void comp__table_set_ordered(comp_table *table, size_t i, bool ordered) {
  assert(i < table->count);
  table->columns[i].ordered = ordered;
}

bool comp__table_ordered(const comp_table *table, size_t i) {
  return get(table, i)->ordered;
}

/* For sorting distinct values: by number when the column holds numbers, else by bytes. */
typedef struct level {
  const char *text;
  double number;
  size_t index;
} level;

static int compare_text(const void *a, const void *b) {
  return strcmp(((const level *)a)->text, ((const level *)b)->text);
}

static int compare_number(const void *a, const void *b) {
  double x = ((const level *)a)->number, y = ((const level *)b)->number;
  return (x > y) - (x < y);
}

/* Every value as text (missing: NULL); the index then gives equal values one number. */
static comp_status as_text(comp__strings *out, const comp_table *table, size_t i) {
  const column *c = get(table, i);
  char buffer[64];
  for (size_t row = 0; row < table->rows; row++) {
    const char *text;
    if (c->kind == COMP_COLUMN_STRING)
      text = comp__strings_get(&c->strings, row);
    else if (c->kind == COMP_COLUMN_CATEGORICAL)
      text = c->codes[row] < 0 ? NULL : comp__strings_get(&c->strings, (size_t)c->codes[row]);
    else {
      comp_table_format(table, i, row, buffer, sizeof buffer);
      text = buffer[0] ? buffer : NULL;
    }
    comp_status status = comp__strings_append(out, text, text ? strlen(text) : 0);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* First rows of the distinct values, in order of appearance; codes[row] = the number of the row's value. */
static comp_status find_levels(level **out, size_t *n_out, int32_t *codes, const comp__strings *text,
                               const comp__string_index *index) {
  comp_status status = COMP_OK;
  level *levels = NULL;
  int32_t *number_of = NULL; /* of the value that first appears in a row */
  size_t n = 0, capacity = 0;
  COMP__TRY(comp__alloc(&number_of, text->count, sizeof *number_of));
  for (size_t row = 0; row < text->count; row++) {
    const char *value = comp__strings_get(text, row);
    codes[row] = -1;
    if (!value) continue;
    size_t first = comp__string_index_find(index, value);
    if (first == row) {
      COMP__TRY(comp__grow(&levels, &capacity, n, n + 1, sizeof *levels));
      number_of[row] = (int32_t)n;
      levels[n] = (level){value, strtod(value, NULL), n};
      n++;
    }
    codes[row] = number_of[first];
  }
  *out = levels;
  *n_out = n;
  levels = NULL;
done:
  comp__free(levels);
  comp__free(number_of);
  return status;
}

/* Categorical columns keep the order of their levels: it is what the file's author chose. */
static void order_levels(level *levels, size_t n, const column *c) {
  if (c->kind == COMP_COLUMN_CATEGORICAL) {
    for (size_t i = 0; i < n; i++)
      for (size_t code = 0; code < c->strings.count; code++)
        if (strcmp(levels[i].text, comp__strings_get(&c->strings, code)) == 0) {
          levels[i].number = (double)code;
          break;
        }
  }
  bool by_number = c->kind == COMP_COLUMN_CATEGORICAL || c->kind == COMP_COLUMN_NUMBER;
  qsort(levels, n, sizeof *levels, by_number ? compare_number : compare_text);
}

comp_status comp_table_groups(comp_groups *out, const comp_table *table, size_t i) {
  COMP__NEED_OUT(out, table);
  *out = (comp_groups){.rows = table->rows};
  comp_status status;
  comp__strings text = {0};
  comp__string_index index = {0};
  level *levels = NULL;
  int32_t *rank = NULL;
  size_t n = 0;
  COMP__TRY(as_text(&text, table, i));
  COMP__TRY(comp__string_index_init(&index, &text, NULL));
  COMP__TRY(comp__alloc(&out->codes, table->rows, sizeof *out->codes));
  COMP__TRY(find_levels(&levels, &n, out->codes, &text, &index));
  if (n > 0) order_levels(levels, n, get(table, i));
  COMP__TRY(comp__calloc(&out->levels, n, sizeof *out->levels));
  COMP__TRY(comp__calloc(&out->counts, n, sizeof *out->counts));
  COMP__TRY(comp__alloc(&rank, n, sizeof *rank));
  out->n_levels = n;
  for (size_t l = 0; l < n; l++) {
    COMP__TRY(comp__strdup(&out->levels[l], levels[l].text));
    rank[levels[l].index] = (int32_t)l;
  }
  for (size_t row = 0; row < table->rows; row++) {
    if (out->codes[row] < 0) continue;
    out->codes[row] = rank[out->codes[row]];
    out->counts[out->codes[row]]++;
  }
done:
  comp__free(rank);
  comp__free(levels);
  comp__string_index_release(&index);
  comp__strings_release(&text);
  if (status != COMP_OK) comp_groups_release(out);
  return status;
}

void comp_groups_release(comp_groups *groups) {
  if (!groups) return;
  for (size_t l = 0; groups->levels && l < groups->n_levels; l++) comp__free(groups->levels[l]);
  comp__free(groups->levels);
  comp__free(groups->counts);
  comp__free(groups->codes);
  *groups = (comp_groups){0};
}

comp_status comp__table_marks(bool *out, const comp_table *table, const char *name) {
  static const char *const yes[] = {"True", "true", "TRUE", "yes", "1"};
  comp_groups g = {0};
  size_t at, marked = 0;
  comp_status status;
  COMP__TRY(comp_table_require(&at, table, name));
  COMP__TRY(comp_table_groups(&g, table, at));
  for (size_t i = 0; i < g.rows; i++) {
    const char *value = g.codes[i] < 0 ? "" : g.levels[g.codes[i]];
    out[i] = false;
    for (size_t k = 0; k < sizeof yes / sizeof *yes; k++) out[i] = out[i] || strcmp(value, yes[k]) == 0;
    marked += out[i];
  }
  if (marked == 0)
    COMP__FAIL(COMP_ERR_DATA, "no sample is true (or 1) in column '%s': only such samples are tested on", name);
done:
  comp_groups_release(&g);
  return status;
}
