/* h5ad_table_write.c: obs and var tables in the encodings of AnnData 0.8. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/table.h"
#include "io/anndata.h"
#include "io/h5/h5_tree.h"
#include "io/h5/h5ad_write.h"
#include "io/h5/sink.h"

/* A column that is being written. */
typedef struct writing {
  comp_context *context;
  hid_t group; /* the table */
  const comp_table *table;
  size_t column;
  const char *name;
  size_t rows;
  int level;
} writing;

/* Codes in the narrowest type, as pandas has them. */
static comp_status write_codes(const writing *w, hid_t group, const int32_t *codes, size_t n_levels) {
  int8_t *bytes = NULL;
  int16_t *words = NULL;
  comp_status status;
  if (n_levels <= INT8_MAX) {
    COMP__TRY(comp__alloc(&bytes, w->rows, sizeof *bytes));
    for (size_t i = 0; i < w->rows; i++) bytes[i] = (int8_t)codes[i];
    status = comp__h5_write_list(w->context, group, "codes", H5T_NATIVE_INT8, bytes, w->rows, w->level, true);
  } else if (n_levels <= INT16_MAX) {
    COMP__TRY(comp__alloc(&words, w->rows, sizeof *words));
    for (size_t i = 0; i < w->rows; i++) words[i] = (int16_t)codes[i];
    status = comp__h5_write_list(w->context, group, "codes", H5T_NATIVE_INT16, words, w->rows, w->level, true);
  } else {
    status = comp__h5_write_list(w->context, group, "codes", H5T_NATIVE_INT32, codes, w->rows, w->level, true);
  }
done:
  comp__free(bytes);
  comp__free(words);
  return status;
}

static comp_status write_categorical_group(const writing *w, const int32_t *codes, const comp__strings *levels,
                                           bool ordered) {
  hid_t group = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_make_group(&group, w->group, w->name, "categorical", "0.2.0"));
  COMP__TRY(comp__h5_put_bool(group, "ordered", ordered));
  COMP__TRY(comp__h5_write_texts(group, "categories", levels));
  COMP__TRY(write_codes(w, group, codes, levels->count));
done:
  comp__h5_close(&group);
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
  COMP__TRY(comp__h5_write_texts(w->group, w->name, &values));
done:
  comp__strings_release(&values);
  return status;
}

/* A group of values and mask, for numbers and bools of which some are missing. */
static comp_status write_masked(const writing *w, const char *encoding, hid_t type, const void *values,
                                const int8_t *mask) {
  hid_t group = H5I_INVALID_HID, boolean = comp__h5_bool_type();
  comp_status status;
  COMP__TRY(comp__h5_make_group(&group, w->group, w->name, encoding, "0.1.0"));
  COMP__TRY(comp__h5_write_list(w->context, group, "values", type, values, w->rows, w->level, true));
  COMP__TRY(comp__h5_write_list(w->context, group, "mask", boolean, mask, w->rows, w->level, true));
done:
  comp__h5_close(&boolean);
  comp__h5_close(&group);
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
    status = write_masked(w, "nullable-integer", H5T_NATIVE_INT64, values, mask);
  else
    status = comp__h5_write_list(w->context, w->group, w->name, H5T_NATIVE_INT64, values, w->rows, w->level, true);
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
    status = comp__h5_write_list(w->context, w->group, w->name, H5T_NATIVE_DOUBLE, values, w->rows, w->level, true);
done:
  comp__free(values);
  return status;
}

static comp_status write_bools(const writing *w) {
  hid_t type = comp__h5_bool_type();
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
    status = write_masked(w, "nullable-boolean", type, values, mask);
  else
    status = comp__h5_write_list(w->context, w->group, w->name, type, values, w->rows, w->level, true);
done:
  comp__h5_close(&type);
  comp__free(values);
  comp__free(mask);
  return status;
}

static comp_status write_column(const writing *w) {
  comp_status status = COMP_OK;
  if (w->name[0] == '\0' || w->name[0] == '/' || strcmp(w->name, ".") == 0)
    return comp__error(COMP_ERR_DATA, "a column cannot be called '%s' in an .h5ad file", w->name);
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

/* `all`: also the columns that are still what a file holds, which are there already otherwise. */
static comp_status write_columns(comp_context *context, hid_t group, const comp_table *table, int level, bool all) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < comp_table_column_count(table) && status == COMP_OK; i++) {
    if (!all && comp__table_column_from_file(table, i)) continue;
    writing w = {context, group, table, i, comp_table_column_name(table, i), comp_table_row_count(table), level};
    status = write_column(&w);
  }
  return status;
}

comp_status comp__h5ad_write_table(comp_context *context, hid_t file, const char *path, const comp__strings *names,
                                   const comp_table *table, int compression) {
  comp__strings order = {0};
  hid_t group = H5I_INVALID_HID;
  comp_status status;
  /* A column may have taken the usual name of the index. */
  const char *index = table && comp_table_find(table, "_index") != COMP_NOT_FOUND ? "__index" : "_index";
  COMP__TRY(comp__h5_make_group(&group, file, path, "dataframe", "0.2.0"));
  COMP__TRY(comp__h5_put_text(group, "_index", index));
  COMP__TRY(comp__h5_write_texts(group, index, names));
  for (size_t i = 0; table && i < comp_table_column_count(table); i++)
    COMP__TRY(comp__strings_append(&order, comp_table_column_name(table, i), strlen(comp_table_column_name(table, i))));
  COMP__TRY(comp__h5_put_texts(group, "column-order", &order));
  if (table) COMP__TRY(write_columns(context, group, table, compression, true));
done:
  comp__strings_release(&order);
  comp__h5_close(&group);
  return status == COMP_OK ? status : comp__error_context(status, "%s", path);
}

/* Takes a column out of a table in the file, with its categories where AnnData 0.7 keeps them. */
static comp_status drop_column(hid_t group, const char *name) {
  hid_t categories = H5I_INVALID_HID;
  bool failed = H5Lexists(group, name, H5P_DEFAULT) > 0 && H5Ldelete(group, name, H5P_DEFAULT) < 0;
  if (comp__h5_find(group, "__categories") == COMP__H5_GROUP &&
      (categories = H5Gopen2(group, "__categories", H5P_DEFAULT)) >= 0 && H5Lexists(categories, name, H5P_DEFAULT) > 0)
    failed |= H5Ldelete(categories, name, H5P_DEFAULT) < 0;
  comp__h5_close(&categories);
  H5Eclear2(H5E_DEFAULT);
  return failed ? comp__error(COMP_ERR_IO, "column '%s' cannot be replaced", name) : COMP_OK;
}

static bool contains(const comp__strings *list, const char *text) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(comp__strings_get(list, i), text) == 0) return true;
  return false;
}

comp_status comp__h5ad_add_columns(comp_context *context, hid_t file, const char *path, const comp_table *table,
                                   int compression) {
  const comp__h5_tree tree = comp__h5_tree_of(file);
  comp__strings order = {0};
  hid_t group = H5I_INVALID_HID;
  char *index = NULL;
  bool found;
  comp_status status = COMP_OK;
  if (comp_table_column_count(table) == 0) return COMP_OK;
  COMP__TRY(comp__h5_open_group(&group, file, path));
  COMP__TRY(comp__anndata_index_name(&index, &tree.tree, path));
  COMP__TRY(comp__h5_get_texts(&order, &found, group, "column-order"));
  for (size_t i = 0; i < comp_table_column_count(table); i++) {
    const char *name = comp_table_column_name(table, i);
    if (comp__table_column_from_file(table, i)) continue;
    if (strcmp(name, index) == 0 || strcmp(name, "__categories") == 0)
      COMP__FAIL(COMP_ERR_DATA, "a new column cannot be called '%s': that name is taken", name);
    COMP__TRY(drop_column(group, name));
    if (!contains(&order, name)) COMP__TRY(comp__strings_append(&order, name, strlen(name)));
  }
  COMP__TRY(write_columns(context, group, table, compression, false));
  if (found) COMP__TRY(comp__h5_put_texts(group, "column-order", &order));
done:
  comp__free(index);
  comp__strings_release(&order);
  comp__h5_close(&group);
  return status == COMP_OK ? status : comp__error_context(status, "%s", path);
}
