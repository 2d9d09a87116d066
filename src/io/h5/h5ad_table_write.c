/* h5ad_table_write.c: obs and var tables in .h5ad files: what io/tree_sink.h needs of HDF5, and columns of a table that
 * is there. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/json.h"
#include "core/table.h"
#include "io/anndata.h"
#include "io/carry.h"
#include "io/h5/attr_json.h"
#include "io/h5/h5_tree.h"
#include "io/h5/h5ad_write.h"
#include "io/h5/records.h"
#include "io/h5/sink.h"
#include "io/tree_sink.h"

typedef struct h5_sink {
  comp__tree_sink sink;
  hid_t file;
  int level; /* of gzip */
} h5_sink;

static comp_status make_group(comp__tree_sink *sink, const char *path, const json_t *attributes) {
  hid_t links = comp__h5_link_list(), group = H5I_INVALID_HID;
  comp_status status = COMP_OK;
  if (!attributes) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  group = H5Gcreate2(((h5_sink *)sink)->file, path, links, H5P_DEFAULT, H5P_DEFAULT);
  if (group < 0) {
    status = comp__h5_error(COMP_ERR_IO, "cannot write group '%s'", path);
    goto done;
  }
  COMP__TRY(comp__h5_put_attributes(group, attributes));
done:
  comp__h5_close(&group);
  comp__h5_close(&links);
  return status;
}

static comp_status write_list(comp__tree_sink *sink, const char *path, comp__stored type, const void *values,
                              size_t n) {
  const h5_sink *s = (const h5_sink *)sink;
  hid_t boolean = comp__h5_bool_type();
  comp_status status =
      comp__h5_write_list(sink->context, s->file, path, comp__h5_stored_type(type, boolean), values, n, s->level, true);
  comp__h5_close(&boolean);
  return status;
}

/* Numbers in chunks, compressed. */
static comp_status write_chunks(h5_sink *s, const char *path, hid_t type, const comp__tree_value *value) {
  comp__h5_sink to = COMP__H5_SINK_INIT;
  bool flat = value->rank == 1;
  comp_status status;
  COMP__TRY(comp__h5_sink_open(&to, s->file, path, type, value->shape[0], flat ? 0 : value->shape[1], flat, s->level));
  COMP__TRY(comp__h5_sink_append(s->sink.context, &to, value->numbers, value->shape[0]));
  COMP__TRY(comp__h5_sink_finish(s->sink.context, &to));
done:
  comp__h5_sink_release(&to);
  return status;
}

/* What is small or of another shape: one piece. */
static comp_status write_piece(const h5_sink *s, const char *path, hid_t type, const comp__tree_value *value) {
  hsize_t shape[COMP__TREE_MOST_DIMS];
  for (int i = 0; i < value->rank; i++) shape[i] = value->shape[i];
  hid_t space = value->null        ? H5Screate(H5S_NULL)
                : value->rank == 0 ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(value->rank, shape, NULL);
  hid_t links = comp__h5_link_list(), list = comp__h5_dataset_list();
  hid_t dataset = H5Dcreate2(s->file, path, type, space, links, list, H5P_DEFAULT);
  bool good = dataset >= 0 && (value->null || value->count == 0 ||
                               H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value->numbers) >= 0);
  comp_status status = good ? comp__h5_end(&dataset) : comp__h5_error(COMP_ERR_IO, "cannot write '%s'", path);
  comp__h5_close(&dataset);
  comp__h5_close(&list);
  comp__h5_close(&links);
  comp__h5_close(&space);
  return status;
}

/* Gives a dataset its attributes in place of the encoding that it has. */
static comp_status put_attributes(hid_t file, const char *path, const json_t *attributes) {
  static const char *const encoding[] = {"encoding-type", "encoding-version"};
  hid_t dataset = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_open_dataset(&dataset, file, path));
  for (int i = 0; i < 2; i++)
    if (comp__h5_has_attr(dataset, encoding[i]) && H5Adelete(dataset, encoding[i]) < 0) {
      status = comp__h5_error(COMP_ERR_IO, "cannot replace attribute '%s' of %s", encoding[i], path);
      goto done;
    }
  COMP__TRY(comp__h5_put_attributes(dataset, attributes));
done:
  comp__h5_close(&dataset);
  return status;
}

static comp_status write_value(comp__tree_sink *sink, const char *path, const comp__tree_value *value,
                               const json_t *attributes) {
  h5_sink *s = (h5_sink *)sink;
  hid_t boolean = comp__h5_bool_type();
  hid_t type = value->null ? H5T_IEEE_F32LE : comp__h5_stored_type(value->type, boolean);
  comp_status status;
  if (value->is_text && value->rank == 0)
    status = comp__h5_write_text(s->file, path, comp__strings_get(&value->texts, 0));
  else if (value->is_text)
    status = comp__h5_write_texts(s->file, path, &value->texts);
  else if (value->fields)
    status = comp__h5_records_write(s->file, path, value);
  else if (!value->null && (value->rank == 1 || value->rank == 2) && value->count > 0)
    status = write_chunks(s, path, type, value);
  else
    status = write_piece(s, path, type, value);
  if (status == COMP_OK) status = put_attributes(s->file, path, attributes);
  comp__h5_close(&boolean);
  return status;
}

static bool has(const comp__tree_sink *sink, const char *path) {
  return comp__h5_find(((const h5_sink *)sink)->file, path) != COMP__H5_NONE;
}

static comp_status write_texts(comp__tree_sink *sink, const char *path, const comp__strings *values) {
  return comp__h5_write_texts(((h5_sink *)sink)->file, path, values);
}

hid_t comp__h5ad_sink_file(const comp__tree_sink *sink) {
  return ((const h5_sink *)sink)->file;
}

static h5_sink sink_of(comp_context *context, hid_t file, int level) {
  static const comp__tree_sink_ops ops = {make_group, write_list, write_texts, write_value, has};
  comp__json_start();
  return (h5_sink){{&ops, NULL, context, ".h5ad"}, file, level};
}

comp_status comp__h5ad_write_table(comp_context *context, hid_t file, const char *path, const comp__strings *names,
                                   const comp_table *table, int compression) {
  h5_sink sink = sink_of(context, file, compression);
  return comp__anndata_write_table(&sink.sink, path, names, table);
}

comp_status comp__h5ad_carry(comp_context *context, hid_t file, const char *path, const comp_dataset *dataset,
                             const comp__write_options *options, bool as_is) {
  h5_sink sink = sink_of(context, file, options->compression);
  if (as_is) sink.sink.copier = &comp__h5ad_copier;
  return comp__anndata_carry(&sink.sink, path, dataset, options->unchanged);
}

/* Takes a column out of a table in the file, with its categories where AnnData 0.7 keeps them. */
static comp_status drop_column(hid_t group, const char *name) {
  hid_t categories = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_unlink(group, name));
  if (comp__h5_find(group, "__categories") != COMP__H5_GROUP) goto done;
  COMP__TRY(comp__h5_open_group(&categories, group, "__categories"));
  COMP__TRY(comp__h5_unlink(categories, name));
done:
  comp__h5_close(&categories);
  return status;
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
