/* h5ad_table_write.c: obs and var tables in .h5ad files: what io/tree_sink.h needs of HDF5, and columns of a table that
 * is there. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/json.h"
#include "core/table.h"
#include "io/anndata.h"
#include "io/h5/h5_tree.h"
#include "io/h5/h5ad_write.h"
#include "io/h5/sink.h"
#include "io/tree_sink.h"

typedef struct h5_sink {
  comp__tree_sink sink;
  hid_t file;
  int level; /* of gzip */
} h5_sink;

static comp_status put_list(hid_t group, const char *name, const json_t *list) {
  comp__strings values = {0};
  comp_status status = COMP_OK;
  for (size_t i = 0; i < json_array_size(list) && status == COMP_OK; i++) {
    const char *text = json_string_value(json_array_get(list, i));
    status = comp__strings_append(&values, text, strlen(text));
  }
  if (status == COMP_OK) status = comp__h5_put_texts(group, name, &values);
  comp__strings_release(&values);
  return status;
}

static comp_status make_group(comp__tree_sink *sink, const char *path, const json_t *attributes) {
  hid_t group = H5I_INVALID_HID;
  const char *type = json_string_value(json_object_get(attributes, "encoding-type")), *name;
  json_t *value;
  comp_status status;
  if (!type) return comp__error(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(comp__h5_make_group(&group, ((h5_sink *)sink)->file, path, type,
                                json_string_value(json_object_get(attributes, "encoding-version"))));
  json_object_foreach((json_t *)attributes, name, value) {
    if (strncmp(name, "encoding-", 9) == 0) continue;
    if (json_is_string(value))
      COMP__TRY(comp__h5_put_text(group, name, json_string_value(value)));
    else if (json_is_array(value))
      COMP__TRY(put_list(group, name, value));
    else
      COMP__TRY(comp__h5_put_bool(group, name, json_is_true(value)));
  }
done:
  comp__h5_close(&group);
  return status;
}

static comp_status write_list(comp__tree_sink *sink, const char *path, comp__stored type, const void *values,
                              size_t n) {
  const h5_sink *s = (const h5_sink *)sink;
  hid_t boolean = comp__h5_bool_type();
  const hid_t types[] = {[COMP__STORED_BOOL] = boolean,         [COMP__STORED_I8] = H5T_NATIVE_INT8,
                         [COMP__STORED_I16] = H5T_NATIVE_INT16, [COMP__STORED_I32] = H5T_NATIVE_INT32,
                         [COMP__STORED_I64] = H5T_NATIVE_INT64, [COMP__STORED_F32] = H5T_NATIVE_FLOAT,
                         [COMP__STORED_F64] = H5T_NATIVE_DOUBLE};
  comp_status status = comp__h5_write_list(sink->context, s->file, path, types[type], values, n, s->level, true);
  comp__h5_close(&boolean);
  return status;
}

static comp_status write_texts(comp__tree_sink *sink, const char *path, const comp__strings *values) {
  return comp__h5_write_texts(((h5_sink *)sink)->file, path, values);
}

static h5_sink sink_of(comp_context *context, hid_t file, int level) {
  static const comp__tree_sink_ops ops = {make_group, write_list, write_texts};
  comp__json_start();
  return (h5_sink){{&ops, context, ".h5ad"}, file, level};
}

comp_status comp__h5ad_write_table(comp_context *context, hid_t file, const char *path, const comp__strings *names,
                                   const comp_table *table, int compression) {
  h5_sink sink = sink_of(context, file, compression);
  return comp__anndata_write_table(&sink.sink, path, names, table);
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
  h5_sink sink = sink_of(context, file, compression);
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
  COMP__TRY(comp__anndata_write_columns(&sink.sink, path, table, false));
  if (found) COMP__TRY(comp__h5_put_texts(group, "column-order", &order));
done:
  comp__free(index);
  comp__strings_release(&order);
  comp__h5_close(&group);
  return status == COMP_OK ? status : comp__error_context(status, "%s", path);
}
