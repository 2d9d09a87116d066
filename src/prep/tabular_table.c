/* tabular_table.c: putting tables below each other, merging values, missing values. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "prep/tabular.h"

bool comp__is_missing(const comp_table *table, size_t column, size_t row) {
  switch (comp_table_column_kind(table, column)) {
  case COMP_COLUMN_STRING:
    return !comp_table_string(table, column, row);
  case COMP_COLUMN_CATEGORICAL:
    return comp_table_code(table, column, row) < 0;
  case COMP_COLUMN_NUMBER:
    return isnan(comp_table_number(table, column, row));
  case COMP_COLUMN_BOOL:
    return comp_table_bool(table, column, row) < 0;
  }
  return true;
}

const char *comp__text_of(const comp_table *table, size_t column, size_t row, char *buffer, size_t size) {
  if (comp__is_missing(table, column, row)) return NULL;
  if (comp_table_column_kind(table, column) == COMP_COLUMN_STRING) return comp_table_string(table, column, row);
  if (comp_table_column_kind(table, column) == COMP_COLUMN_CATEGORICAL)
    return comp_table_level_name(table, column, comp_table_code(table, column, row));
  return comp_table_format(table, column, row, buffer, size);
}

comp_status comp__table_copy(comp_table **out, const comp_table *table) {
  size_t *rows, n = comp_table_row_count(table);
  comp_status status = comp__alloc(&rows, n, sizeof *rows);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) rows[i] = i;
  status = comp_table_select(out, table, rows, n);
  comp__free(rows);
  return status;
}

comp_status comp__merge_parse(comp__merge *out, const char *text) {
  char *copy;
  comp_status status = comp__strdup(&copy, text ? text : "");
  if (status != COMP_OK) return status;
  char *equals = strchr(copy, '='), *colon = strrchr(copy, ':');
  if (!equals || equals == copy || !colon || colon <= equals + 1 || !colon[1]) {
    comp__free(copy);
    return comp__error(COMP_ERR_ARGUMENT, "merge: '%s' is not of the form COLUMN=V1,V2:NEW", text ? text : "");
  }
  *equals = *colon = '\0';
  *out = (comp__merge){copy, equals + 1, colon + 1};
  return COMP_OK;
}

/* Whether a value stands in a list "V1,V2". */
static bool listed(const char *list, const char *value) {
  size_t length = strlen(value);
  for (const char *at = list; at; at = strchr(at, ',')) {
    if (*at == ',') at++;
    if (strncmp(at, value, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

/* A value of the list that no row has: most likely misspelt. */
static void warn_unmet(comp_context *context, const comp__merge *merge, const comp_table *table, size_t column) {
  for (const char *at = merge->values; at;) {
    const char *comma = strchr(at, ',');
    int length = comma ? (int)(comma - at) : (int)strlen(at);
    bool met = false;
    for (size_t i = 0; !met && i < comp_table_row_count(table); i++) {
      const char *value = comp__text_of(table, column, i, NULL, 0);
      met = value && strncmp(value, at, (size_t)length) == 0 && value[length] == '\0';
    }
    if (!met) comp__warn(context, "merge: no row has '%.*s' in column '%s'", length, at, merge->column);
    at = comma ? comma + 1 : NULL;
  }
}

comp_status comp__merge_apply(comp_table *table, comp_context *context, const char *text) {
  comp_status status;
  comp__merge merge = {0};
  const char **values = NULL;
  size_t column, rows = comp_table_row_count(table), changed = 0;
  COMP__TRY(comp__merge_parse(&merge, text));
  COMP__TRY(comp_table_require(&column, table, merge.column));
  comp_column_kind kind = comp_table_column_kind(table, column);
  if (kind != COMP_COLUMN_STRING && kind != COMP_COLUMN_CATEGORICAL)
    COMP__FAIL(COMP_ERR_DATA, "merge: column '%s' holds numbers, not names of values", merge.column);
  COMP__TRY(comp__alloc(&values, rows, sizeof *values));
  for (size_t i = 0; i < rows; i++) {
    values[i] = comp__text_of(table, column, i, NULL, 0);
    if (!values[i] || !listed(merge.values, values[i])) continue;
    values[i] = merge.to;
    changed++;
  }
  if (changed == 0)
    comp__warn(context, "merge: no row has one of '%s' in column '%s'", merge.values, merge.column);
  else
    warn_unmet(context, &merge, table, column);
  COMP__TRY(comp_table_add_strings(table, merge.column, values));
done:
  comp__free(values);
  comp__free(merge.column);
  return status;
}

static bool is_text(comp_column_kind kind) {
  return kind == COMP_COLUMN_STRING || kind == COMP_COLUMN_CATEGORICAL;
}

/* A column without a single value has no kind of its own: it goes with any. */
static bool all_missing(const comp_table *table, size_t column) {
  for (size_t i = 0; i < comp_table_row_count(table); i++)
    if (!comp__is_missing(table, column, i)) return false;
  return true;
}

/* The place of a column in every table, and the kind that they share. */
static comp_status match_column(size_t *places, comp_column_kind *kind, const comp_table *const *tables, size_t n,
                                const char *name) {
  size_t giver = 0;
  bool known = false;
  for (size_t t = 0; t < n; t++) {
    comp_status status = comp_table_require(&places[t], tables[t], name);
    if (status != COMP_OK) return comp__error_context(status, "table %zu", t + 1);
    comp_column_kind here = comp_table_column_kind(tables[t], places[t]);
    if (t == 0) *kind = here;
    if (all_missing(tables[t], places[t])) continue;
    if (known && here != *kind && !(is_text(here) && is_text(*kind)))
      return comp__error(COMP_ERR_DATA, "column '%s' holds %s in table %zu, but %s in table %zu", name,
                         is_text(*kind) ? "text" : "numbers", giver + 1, is_text(here) ? "text" : "numbers", t + 1);
    if (!known) giver = t;
    *kind = here;
    known = true;
  }
  return COMP_OK;
}

static comp_status concat_text(comp_table *out, const comp_table *const *tables, size_t n, const size_t *places,
                               const char *name) {
  const char **values;
  size_t at = 0;
  comp_status status = comp__alloc(&values, comp_table_row_count(out), sizeof *values);
  if (status != COMP_OK) return status;
  for (size_t t = 0; t < n; t++)
    for (size_t i = 0; i < comp_table_row_count(tables[t]); i++) {
      bool text = is_text(comp_table_column_kind(tables[t], places[t]));
      values[at++] = text ? comp__text_of(tables[t], places[t], i, NULL, 0) : NULL;
    }
  status = comp_table_add_strings(out, name, values);
  comp__free(values);
  return status;
}

static comp_status concat_numbers(comp_table *out, const comp_table *const *tables, size_t n, const size_t *places,
                                  const char *name) {
  double *values;
  size_t at = 0;
  bool whole = true;
  comp_status status = comp__alloc(&values, comp_table_row_count(out), sizeof *values);
  if (status != COMP_OK) return status;
  for (size_t t = 0; t < n; t++) {
    bool numbers = comp_table_column_kind(tables[t], places[t]) == COMP_COLUMN_NUMBER;
    whole = whole && (!numbers || comp_table_is_integer(tables[t], places[t]));
    for (size_t i = 0; i < comp_table_row_count(tables[t]); i++)
      values[at++] = numbers ? comp_table_number(tables[t], places[t], i) : NAN;
  }
  status = comp_table_add_numbers(out, name, values, whole);
  comp__free(values);
  return status;
}

static comp_status concat_bools(comp_table *out, const comp_table *const *tables, size_t n, const size_t *places,
                                const char *name) {
  int8_t *values;
  size_t at = 0;
  comp_status status = comp__alloc(&values, comp_table_row_count(out), sizeof *values);
  if (status != COMP_OK) return status;
  for (size_t t = 0; t < n; t++) {
    bool bools = comp_table_column_kind(tables[t], places[t]) == COMP_COLUMN_BOOL;
    for (size_t i = 0; i < comp_table_row_count(tables[t]); i++)
      values[at++] = bools ? (int8_t)comp_table_bool(tables[t], places[t], i) : -1;
  }
  status = comp_table_add_bools(out, name, values);
  comp__free(values);
  return status;
}

comp_status comp_table_concat(comp_table **out, const comp_table *const *tables, size_t n_tables) {
  COMP__NEED_OUT(out, tables || !n_tables);
  *out = NULL;
  if (n_tables == 0) return comp__error(COMP_ERR_ARGUMENT, "there is no table to put below another");
  comp_status status;
  comp_table *all = NULL;
  size_t *places = NULL, rows = 0, columns = comp_table_column_count(tables[0]);
  for (size_t t = 0; t < n_tables; t++) {
    rows += comp_table_row_count(tables[t]);
    if (comp_table_column_count(tables[t]) != columns)
      return comp__error(COMP_ERR_DATA, "table %zu has %zu columns, but the first has %zu", t + 1,
                         comp_table_column_count(tables[t]), columns);
  }
  COMP__TRY(comp_table_new(&all, rows));
  COMP__TRY(comp__alloc(&places, n_tables, sizeof *places));
  for (size_t c = 0; c < columns; c++) {
    const char *name = comp_table_column_name(tables[0], c);
    comp_column_kind kind = COMP_COLUMN_STRING;
    COMP__TRY(match_column(places, &kind, tables, n_tables, name));
    if (is_text(kind))
      COMP__TRY(concat_text(all, tables, n_tables, places, name));
    else if (kind == COMP_COLUMN_NUMBER)
      COMP__TRY(concat_numbers(all, tables, n_tables, places, name));
    else
      COMP__TRY(concat_bools(all, tables, n_tables, places, name));
  }
  *out = all;
done:
  comp__free(places);
  if (status != COMP_OK) comp_table_free(all);
  return status;
}
