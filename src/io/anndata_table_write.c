/* anndata_table_write.c: obs and var tables in the encodings of AnnData 0.8. */
#include "io/tree_sink.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/table.h"
#include "io/tree.h"

/* A column that is being written. */
typedef struct writing {
  comp__tree_sink *sink;
  const comp_table *table;
  size_t column;
  const char *name;
  comp__tree_path path;
  size_t rows;
} writing;

/* A list of numbers below the column. */
static comp_status write_part(const writing *w, const char *name, comp__stored type, const void *values) {
  comp__tree_path path;
  comp_status status = comp__tree_join(&path, w->path.text, name);
  return status == COMP_OK ? w->sink->ops->list(w->sink, path.text, type, values, w->rows) : status;
}

/* The column as one list. */
static comp_status write_whole(const writing *w, comp__stored type, const void *values) {
  return w->sink->ops->list(w->sink, w->path.text, type, values, w->rows);
}

/* Codes in the narrowest type, as pandas has them. */
static comp_status write_codes(const writing *w, const int32_t *codes, size_t n_levels) {
  int8_t *bytes = NULL;
  int16_t *words = NULL;
  comp_status status;
  if (n_levels <= INT8_MAX) {
    COMP__TRY(comp__alloc(&bytes, w->rows, sizeof *bytes));
    for (size_t i = 0; i < w->rows; i++) bytes[i] = (int8_t)codes[i];
    status = write_part(w, "codes", COMP__STORED_I8, bytes);
  } else if (n_levels <= INT16_MAX) {
    COMP__TRY(comp__alloc(&words, w->rows, sizeof *words));
    for (size_t i = 0; i < w->rows; i++) words[i] = (int16_t)codes[i];
    status = write_part(w, "codes", COMP__STORED_I16, words);
  } else {
    status = write_part(w, "codes", COMP__STORED_I32, codes);
  }
done:
  comp__free(bytes);
  comp__free(words);
  return status;
}

static comp_status write_categorical_group(const writing *w, const int32_t *codes, const comp__strings *levels,
                                           bool ordered) {
  json_t *attributes = json_pack("{s:s, s:s, s:b}", "encoding-type", "categorical", "encoding-version", "0.2.0",
                                 "ordered", (int)ordered);
  comp__tree_path path;
  comp_status status;
  COMP__TRY(w->sink->ops->group(w->sink, w->path.text, attributes));
  COMP__TRY(comp__tree_join(&path, w->path.text, "categories"));
  COMP__TRY(w->sink->ops->texts(w->sink, path.text, levels));
  COMP__TRY(write_codes(w, codes, levels->count));
done:
  json_decref(attributes);
  return status;
}

static comp_status write_categorical(const writing *w) {
  comp__strings levels = {0};
  int32_t *codes = NULL;
  size_t n = comp_table_level_count(w->table, w->column);
  comp_status status;
  for (size_t l = 0; l < n; l++) {
    const char *level = comp_table_level_name(w->table, w->column, (int32_t)l);
    COMP__TRY(comp__strings_append(&levels, level, strlen(level)));
  }
  COMP__TRY(comp__alloc(&codes, w->rows, sizeof *codes));
  for (size_t i = 0; i < w->rows; i++) codes[i] = comp_table_code(w->table, w->column, i);
  COMP__TRY(write_categorical_group(w, codes, &levels, comp__table_ordered(w->table, w->column)));
done:
  comp__free(codes);
  comp__strings_release(&levels);
  return status;
}

/* AnnData 0.8 has no text with missing values, but categories may be missing. */
static comp_status write_texts_as_categories(const writing *w) {
  comp__strings levels = {0};
  comp_groups groups = {0};
  comp_status status;
  COMP__TRY(comp_table_groups(&groups, w->table, w->column));
  for (size_t l = 0; l < groups.n_levels; l++)
    COMP__TRY(comp__strings_append(&levels, groups.levels[l], strlen(groups.levels[l])));
  COMP__TRY(write_categorical_group(w, groups.codes, &levels, false));
done:
  comp__strings_release(&levels);
  comp_groups_release(&groups);
  return status;
}

static comp_status write_texts(const writing *w) {
  comp__strings values = {0};
  comp_status status = COMP_OK;
  for (size_t i = 0; i < w->rows; i++) {
    const char *text = comp_table_string(w->table, w->column, i);
    if (!text) {
      status = write_texts_as_categories(w);
      goto done;
    }
    COMP__TRY(comp__strings_append(&values, text, strlen(text)));
  }
  COMP__TRY(w->sink->ops->texts(w->sink, w->path.text, &values));
done:
  comp__strings_release(&values);
  return status;
}

/* A group of values and mask, for numbers and bools of which some are missing. */
static comp_status write_masked(const writing *w, const char *encoding, comp__stored type, const void *values,
                                const int8_t *mask) {
  json_t *attributes = json_pack("{s:s, s:s}", "encoding-type", encoding, "encoding-version", "0.1.0");
  comp_status status;
  COMP__TRY(w->sink->ops->group(w->sink, w->path.text, attributes));
  COMP__TRY(write_part(w, "values", type, values));
  COMP__TRY(write_part(w, "mask", COMP__STORED_BOOL, mask));
done:
  json_decref(attributes);
  return status;
}

static comp_status write_integers(const writing *w, bool missing) {
  int64_t *values = NULL;
  int8_t *mask = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&values, w->rows, sizeof *values));
  COMP__TRY(comp__alloc(&mask, w->rows, sizeof *mask));
  for (size_t i = 0; i < w->rows; i++) {
    double value = comp_table_number(w->table, w->column, i);
    mask[i] = (int8_t)(isnan(value) != 0);
    values[i] = mask[i] ? 1 : (int64_t)value; /* pandas keeps a 1 under the mask */
  }
  if (missing)
    status = write_masked(w, "nullable-integer", COMP__STORED_I64, values, mask);
  else
    status = write_whole(w, COMP__STORED_I64, values);
done:
  comp__free(values);
  comp__free(mask);
  return status;
}

static comp_status write_numbers(const writing *w) {
  bool integer = comp_table_is_integer(w->table, w->column), missing = false;
  double *values = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&values, w->rows, sizeof *values));
  for (size_t i = 0; i < w->rows; i++) {
    values[i] = comp_table_number(w->table, w->column, i);
    missing |= isnan(values[i]);
    integer = integer && (isnan(values[i]) || (values[i] == floor(values[i]) && fabs(values[i]) < 9e18));
  }
  if (integer)
    status = write_integers(w, missing);
  else
    status = write_whole(w, COMP__STORED_F64, values);
done:
  comp__free(values);
  return status;
}

static comp_status write_bools(const writing *w) {
  int8_t *values = NULL, *mask = NULL;
  bool missing = false;
  comp_status status;
  COMP__TRY(comp__alloc(&values, w->rows, 1));
  COMP__TRY(comp__alloc(&mask, w->rows, 1));
  for (size_t i = 0; i < w->rows; i++) {
    int value = comp_table_bool(w->table, w->column, i);
    mask[i] = value < 0;
    values[i] = value > 0;
    missing |= value < 0;
  }
  if (missing)
    status = write_masked(w, "nullable-boolean", COMP__STORED_BOOL, values, mask);
  else
    status = write_whole(w, COMP__STORED_BOOL, values);
done:
  comp__free(values);
  comp__free(mask);
  return status;
}

static comp_status write_column(const writing *w) {
  comp_status status = COMP_OK;
  if (w->name[0] == '\0' || w->name[0] == '/' || strcmp(w->name, ".") == 0)
    return comp__error(COMP_ERR_DATA, "a column cannot be called '%s' in a file of %s", w->name, w->sink->format);
  switch (comp_table_column_kind(w->table, w->column)) {
  case COMP_COLUMN_STRING:
    status = write_texts(w);
    break;
  case COMP_COLUMN_CATEGORICAL:
    status = write_categorical(w);
    break;
  case COMP_COLUMN_NUMBER:
    status = write_numbers(w);
    break;
  case COMP_COLUMN_BOOL:
    status = write_bools(w);
    break;
  }
  return status == COMP_OK ? status : comp__error_context(status, "column '%s'", w->name);
}

comp_status comp__anndata_write_columns(comp__tree_sink *sink, const char *path, const comp_table *table, bool all) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < comp_table_column_count(table) && status == COMP_OK; i++) {
    if (!all && comp__table_column_from_file(table, i)) continue;
    writing w = {sink, table, i, comp_table_column_name(table, i), {""}, comp_table_row_count(table)};
    status = comp__tree_join(&w.path, path, w.name);
    if (status == COMP_OK) status = write_column(&w);
  }
  return status;
}

/* What a table says of itself. NULL: no memory. */
static json_t *describe_table(const comp_table *table, const char *index) {
  json_t *order = json_array();
  for (size_t i = 0; table && i < comp_table_column_count(table); i++)
    if (json_array_append_new(order, json_string(comp_table_column_name(table, i))) != 0) {
      json_decref(order);
      return NULL;
    }
  return json_pack("{s:s, s:s, s:s, s:o}", "encoding-type", "dataframe", "encoding-version", "0.2.0", "_index", index,
                   "column-order", order);
}

comp_status comp__anndata_write_table(comp__tree_sink *sink, const char *path, const comp__strings *names,
                                      const comp_table *table) {
  comp__tree_path index_path;
  comp_status status;
  /* A column may have taken the usual name of the index. */
  const char *index = table && comp_table_find(table, "_index") != COMP_NOT_FOUND ? "__index" : "_index";
  json_t *attributes = describe_table(table, index);
  COMP__TRY(sink->ops->group(sink, path, attributes));
  COMP__TRY(comp__tree_join(&index_path, path, index));
  COMP__TRY(sink->ops->texts(sink, index_path.text, names));
  if (table) COMP__TRY(comp__anndata_write_columns(sink, path, table, true));
done:
  json_decref(attributes);
  return status == COMP_OK ? status : comp__error_context(status, "%s", path);
}
