/* metadata.c: joining a table of samples to the obs of a data set, by name. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/strings.h"
#include "io/csv.h"
#include "io/metadata.h"

/* What the join is about. */
typedef struct join {
  comp_dataset *dataset;
  const char *name; /* of the table, for messages */
  const comp_table *table;
  comp__strings keys; /* its first column */
  size_t *rows;       /* [samples]: the row of the table, SIZE_MAX when there is none */
} join;

static comp_status list_keys(comp__strings *out, const comp_table *table) {
  for (size_t row = 0; row < comp_table_row_count(table); row++) {
    const char *key = comp_table_string(table, 0, row);
    comp_status status = comp__strings_append(out, key, strlen(key));
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static bool same_names(const comp__strings *a, const comp__strings *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(comp__strings_get(a, i), comp__strings_get(b, i)) != 0) return false;
  return true;
}

/* Names that repeat cannot be looked up. Two lists that are alike from top to bottom can still be matched. */
static comp_status join_by_position(join *j, comp_context *context, size_t duplicate) {
  if (!same_names(&j->dataset->obs_names, &j->keys))
    return comp__error(
        COMP_ERR_DATA,
        "%s: its first column must name the samples, but '%s' is there twice (row %zu is the second). Make the "
        "names unique, or give one row for each sample, in the order of the samples",
        j->name, comp__strings_get(&j->keys, duplicate), duplicate + 1);
  for (size_t i = 0; i < j->dataset->samples; i++) j->rows[i] = i;
  comp__info(context, "%s: names repeat, but are those of the samples in the same order: joined by position", j->name);
  return COMP_OK;
}

/* Counts of what found no partner, with one example each. */
static comp_status report_unmatched(const join *j, comp_context *context, const comp__string_index *keys) {
  comp__string_index samples = {0};
  size_t lonely_samples = 0, lonely_rows = 0, sample = 0, row = 0, duplicate;
  comp_status status = comp__string_index_init(&samples, &j->dataset->obs_names, &duplicate);
  if (status != COMP_OK) return status;
  for (size_t i = j->dataset->samples; i-- > 0;)
    if (j->rows[i] == SIZE_MAX) {
      lonely_samples++;
      sample = i;
    }
  for (size_t i = j->keys.count; i-- > 0;)
    if (comp__string_index_find(&samples, comp__strings_get(keys->strings, i)) == SIZE_MAX) {
      lonely_rows++;
      row = i;
    }
  comp__string_index_release(&samples);
  if (lonely_samples == j->dataset->samples)
    return comp__error(COMP_ERR_DATA,
                       "%s: no row names a sample: its first column has names such as '%s', the samples "
                       "are called such as '%s'",
                       j->name, comp__strings_get(&j->keys, 0), comp__strings_get(&j->dataset->obs_names, 0));
  if (duplicate != SIZE_MAX)
    comp__warn(context, "%s: sample names repeat, such as '%s': samples of one name get the same row", j->name,
               comp__strings_get(&j->dataset->obs_names, duplicate));
  if (lonely_samples)
    comp__warn(context, "%s: %zu of %zu samples have no row (such as '%s'): their values are missing", j->name,
               lonely_samples, j->dataset->samples, comp__strings_get(&j->dataset->obs_names, sample));
  if (lonely_rows)
    comp__warn(context, "%s: %zu of %zu rows name no sample (such as '%s'): they are left out", j->name, lonely_rows,
               j->keys.count, comp__strings_get(&j->keys, row));
  return COMP_OK;
}

static comp_status match_rows(join *j, comp_context *context) {
  comp_status status;
  comp__string_index keys = {0};
  size_t duplicate;
  COMP__TRY(comp__alloc(&j->rows, j->dataset->samples, sizeof *j->rows));
  COMP__TRY(comp__string_index_init(&keys, &j->keys, &duplicate));
  if (duplicate != SIZE_MAX) {
    status = join_by_position(j, context, duplicate);
    goto done;
  }
  for (size_t i = 0; i < j->dataset->samples; i++)
    j->rows[i] = comp__string_index_find(&keys, comp__strings_get(&j->dataset->obs_names, i));
  COMP__TRY(report_unmatched(j, context, &keys));
done:
  comp__string_index_release(&keys);
  return status;
}

/* ------------------------------------------------------------------------------------------------------ columns */

static comp_status add_strings(const join *j, size_t col, const char *name) {
  const char **values;
  size_t n = j->dataset->samples;
  comp_status status = comp__alloc(&values, n, sizeof *values);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++)
    values[i] = j->rows[i] == SIZE_MAX ? NULL : comp_table_string(j->table, col, j->rows[i]);
  status = comp_table_add_strings(j->dataset->obs, name, values);
  comp__free(values);
  return status == COMP_OK ? comp__csv_use_levels(j->dataset->obs, comp_table_find(j->dataset->obs, name)) : status;
}

static comp_status add_numbers(const join *j, size_t col, const char *name) {
  double *values;
  size_t n = j->dataset->samples;
  comp_status status = comp__alloc(&values, n, sizeof *values);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++)
    values[i] = j->rows[i] == SIZE_MAX ? NAN : comp_table_number(j->table, col, j->rows[i]);
  status = comp_table_add_numbers(j->dataset->obs, name, values, comp_table_is_integer(j->table, col));
  comp__free(values);
  return status;
}

static comp_status add_bools(const join *j, size_t col, const char *name) {
  int8_t *values;
  size_t n = j->dataset->samples;
  comp_status status = comp__alloc(&values, n, sizeof *values);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++)
    values[i] = j->rows[i] == SIZE_MAX ? -1 : (int8_t)comp_table_bool(j->table, col, j->rows[i]);
  status = comp_table_add_bools(j->dataset->obs, name, values);
  comp__free(values);
  return status;
}

static comp_status add_columns(const join *j, comp_context *context) {
  for (size_t col = 1; col < comp_table_column_count(j->table); col++) {
    const char *name = comp_table_column_name(j->table, col);
    comp_column_kind kind = comp_table_column_kind(j->table, col);
    if (comp_table_find(j->dataset->obs, name) != COMP_NOT_FOUND)
      comp__warn(context, "%s: column '%s' replaces the one in the data", j->name, name);
    comp_status status = kind == COMP_COLUMN_NUMBER ? add_numbers(j, col, name)
                         : kind == COMP_COLUMN_BOOL ? add_bools(j, col, name)
                                                    : add_strings(j, col, name);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp__metadata_join(comp_dataset *dataset, comp_context *context, const comp__text *text) {
  comp_status status;
  comp__read_options options = {0};
  comp_table *table = NULL;
  join j = {.dataset = dataset, .name = text->name};
  COMP__TRY(comp__csv_to_table(&table, context, text, &options, true));
  j.table = table;
  if (comp_table_column_count(table) < 2)
    COMP__FAIL(COMP_ERR_DATA, "%s has only one column: a first column of sample names and others are needed",
               text->name);
  COMP__TRY(list_keys(&j.keys, table));
  COMP__TRY(match_rows(&j, context));
  COMP__TRY(add_columns(&j, context));
done:
  comp__free(j.rows);
  comp__strings_release(&j.keys);
  comp_table_free(table);
  return status;
}

comp_status comp_dataset_join_metadata(comp_context *context, comp_dataset *dataset, const char *path) {
  COMP__NEED(context, dataset, path);
  comp__text text = {0};
  comp_status status = comp__text_open(&text, path);
  if (status == COMP_OK) status = comp__metadata_join(dataset, context, &text);
  comp__text_release(&text);
  return status;
}
