/* anndata_table.c: the obs and var tables of AnnData 0.7 and later. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/table.h"
#include "io/anndata.h"

/* A table that is being read. */
typedef struct reading {
  comp_table *table;
  comp_context *context;
  const comp__tree *tree;
  const char *where; /* "obs", or "raw/var" */
  size_t rows;
} reading;

static comp_status path_of(comp__tree_path *out, const reading *r, const char *name) {
  return comp__tree_join(out, r->where, name);
}

static comp_status pointers_of(const char ***out, const comp__strings *strings) {
  comp_status status = comp__alloc(out, strings->count, sizeof **out);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < strings->count; i++) (*out)[i] = comp__strings_get(strings, i);
  return COMP_OK;
}

comp_status comp__table_add_texts(comp_table *table, const char *name, const comp__strings *values) {
  const char **pointers;
  comp_status status = pointers_of(&pointers, values);
  if (status != COMP_OK) return status;
  status = comp_table_add_strings(table, name, pointers);
  comp__free(pointers);
  return status;
}

/* Where categories repeat: `out` gets each once, and the codes their numbers there. */
static comp_status merge_levels(comp__strings *out, int32_t *codes, size_t rows, const comp__strings *levels,
                                const comp__string_index *index) {
  int32_t *number = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&number, levels->count, sizeof *number));
  for (size_t l = 0; l < levels->count; l++) {
    const char *name = comp__strings_get(levels, l);
    size_t first = name ? comp__string_index_find(index, name) : l;
    number[l] = first < l ? number[first] : (int32_t)out->count;
    if (first == l) COMP__TRY(comp__strings_append(out, name, name ? strlen(name) : 0));
  }
  for (size_t i = 0; i < rows; i++)
    if (codes[i] >= 0 && (size_t)codes[i] < levels->count) codes[i] = number[codes[i]];
done:
  comp__free(number);
  return status;
}

comp_status comp__table_add_codes(comp_table *table, comp_context *context, const char *where, const char *name,
                                  int32_t *codes, const comp__strings *levels) {
  comp__strings merged = {0};
  comp__string_index index = {0};
  const char **pointers = NULL;
  size_t duplicate;
  comp_status status;
  COMP__TRY(comp__string_index_init(&index, levels, &duplicate));
  const bool repeats = duplicate != SIZE_MAX;
  if (repeats) {
    COMP__TRY(merge_levels(&merged, codes, comp_table_row_count(table), levels, &index));
    comp__warn(
        context,
        "%s, column '%s': %zu of its %zu categories repeat an earlier one (the first is '%s'); those of one name "
        "are merged",
        where, name, levels->count - merged.count, levels->count, comp__strings_get(levels, duplicate));
    levels = &merged;
  }
  COMP__TRY(pointers_of(&pointers, levels));
  COMP__TRY(comp_table_add_categorical(table, name, codes, pointers, levels->count));
  if (repeats) comp__table_set_changed(table, comp_table_find(table, name));
done:
  comp__free(pointers);
  comp__string_index_release(&index);
  comp__strings_release(&merged);
  return status;
}

static comp_status check_length(const reading *r, const char *name, size_t length) {
  if (length == r->rows) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "%s/%s has %zu values, but %s has %zu rows", r->where, name, length, r->where,
                     r->rows);
}

static void skip(const reading *r, const char *name, const char *why) {
  comp__info(r->context, "%s/%s is left out: %s", r->where, name, why);
}

/* Reads a list of numbers as long as the table. */
static comp_status read_list(const reading *r, const char *path, const char *name, comp__as as, void *out) {
  comp__tree_array array = {0};
  comp_status status;
  COMP__TRY(comp__tree_open_list(&array, r->tree, path));
  COMP__TRY(check_length(r, name, array.rows));
  COMP__TRY(r->tree->ops->read(r->context, &array, as, 0, r->rows, out));
done:
  if (array.tree) r->tree->ops->close(&array);
  return status;
}

static comp_status add_codes(const reading *r, const char *name, const char *codes_path, const comp__strings *levels) {
  int32_t *codes = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&codes, r->rows, sizeof *codes));
  COMP__TRY(read_list(r, codes_path, name, COMP__AS_I32, codes));
  COMP__TRY(comp__table_add_codes(r->table, r->context, r->where, name, codes, levels));
done:
  comp__free(codes);
  return status;
}

/* AnnData 0.8: a group of codes and categories. */
static comp_status read_categorical(const reading *r, const char *group, const char *name) {
  comp__strings levels = {0};
  comp__tree_path path;
  bool ordered;
  comp_status status;
  COMP__TRY(comp__tree_join(&path, group, "categories"));
  COMP__TRY(comp__anndata_read_texts(&levels, r->context, r->tree, path.text, true));
  COMP__TRY(comp__tree_join(&path, group, "codes"));
  COMP__TRY(add_codes(r, name, path.text, &levels));
  COMP__TRY(r->tree->ops->get_truth(&ordered, r->tree, group, "ordered"));
  comp__table_set_ordered(r->table, comp_table_find(r->table, name), ordered);
done:
  comp__strings_release(&levels);
  return status;
}

/* AnnData 0.7: codes with a reference to their categories, which are by convention under __categories. */
static comp_status read_categorical_07(const reading *r, const char *codes, const char *name) {
  const comp__tree_ops *ops = r->tree->ops;
  comp__strings levels = {0};
  comp__tree_path folder, path;
  comp_status status;
  COMP__TRY(path_of(&folder, r, "__categories"));
  COMP__TRY(comp__tree_join(&path, folder.text, name));
  if (ops->find(r->tree, folder.text) == COMP__NODE_GROUP && ops->find(r->tree, path.text) == COMP__NODE_ARRAY)
    COMP__TRY(ops->read_texts(&levels, r->context, r->tree, path.text, true));
  else if (ops->read_categories)
    COMP__TRY(ops->read_categories(&levels, r->context, r->tree, codes));
  else
    COMP__FAIL(COMP_ERR_FORMAT, "its categories cannot be found");
  COMP__TRY(add_codes(r, name, codes, &levels));
done:
  comp__strings_release(&levels);
  return status;
}

/* Texts; where mask (may be NULL) is not 0 the value is missing. */
static comp_status read_texts(const reading *r, const char *path, const char *name, const int32_t *mask) {
  comp__strings values = {0};
  const char **pointers = NULL;
  comp_status status;
  COMP__TRY(r->tree->ops->read_texts(&values, r->context, r->tree, path, false));
  COMP__TRY(check_length(r, name, values.count));
  COMP__TRY(pointers_of(&pointers, &values));
  for (size_t i = 0; mask && i < values.count; i++)
    if (mask[i]) pointers[i] = NULL;
  COMP__TRY(comp_table_add_strings(r->table, name, pointers));
done:
  comp__free(pointers);
  comp__strings_release(&values);
  return status;
}

/* Adds numbers or bools; where mask (may be NULL) is not 0 the value is missing. */
static comp_status add_numbers(const reading *r, const char *name, double *values, const int32_t *mask, bool integer,
                               bool boolean) {
  int8_t *bools = NULL;
  comp_status status = COMP_OK;
  if (!boolean) {
    for (size_t i = 0; mask && i < r->rows; i++)
      if (mask[i]) values[i] = NAN;
    return comp_table_add_numbers(r->table, name, values, integer);
  }
  COMP__TRY(comp__alloc(&bools, r->rows, sizeof *bools));
  for (size_t i = 0; i < r->rows; i++) bools[i] = (int8_t)(mask && mask[i] ? -1 : values[i] != 0);
  COMP__TRY(comp_table_add_bools(r->table, name, bools));
done:
  comp__free(bools);
  return status;
}

static comp_status read_numbers(const reading *r, const char *path, const char *name, const int32_t *mask) {
  comp__tree_array array = {0};
  double *values = NULL;
  comp_status status;
  COMP__TRY(comp__tree_open_list(&array, r->tree, path));
  COMP__TRY(check_length(r, name, array.rows));
  COMP__TRY(comp__alloc(&values, r->rows, sizeof *values));
  COMP__TRY(r->tree->ops->read(r->context, &array, COMP__AS_F64, 0, r->rows, values));
  COMP__TRY(add_numbers(r, name, values, mask, array.integer, array.boolean));
done:
  comp__free(values);
  if (array.tree) r->tree->ops->close(&array);
  return status;
}

/* A group of values and mask. Text has been written so since AnnData 0.11. */
static comp_status read_masked(const reading *r, const char *group, const char *name, bool text) {
  comp__tree_path path;
  int32_t *mask = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&mask, r->rows, sizeof *mask));
  COMP__TRY(comp__tree_join(&path, group, "mask"));
  COMP__TRY(read_list(r, path.text, name, COMP__AS_I32, mask));
  COMP__TRY(comp__tree_join(&path, group, "values"));
  COMP__TRY(text ? read_texts(r, path.text, name, mask) : read_numbers(r, path.text, name, mask));
done:
  comp__free(mask);
  return status;
}

static comp_status read_group_column(const reading *r, const char *path, const char *name) {
  char *encoding = NULL;
  comp_status status;
  COMP__TRY(r->tree->ops->get_text(&encoding, r->tree, path, "encoding-type"));
  if (!encoding)
    skip(r, name, "it is a group without an encoding");
  else if (strcmp(encoding, "categorical") == 0)
    status = read_categorical(r, path, name);
  else if (strcmp(encoding, "nullable-integer") == 0 || strcmp(encoding, "nullable-boolean") == 0)
    status = read_masked(r, path, name, false);
  else if (strcmp(encoding, "nullable-string-array") == 0)
    status = read_masked(r, path, name, true);
  else
    skip(r, name, "its encoding is not known here");
done:
  comp__free(encoding);
  return status;
}

static comp_status read_array_column(const reading *r, const char *path, const char *name) {
  int rank;
  switch (r->tree->ops->content(&rank, r->tree, path)) {
  case COMP__CONTENT_TEXT:
    return read_texts(r, path, name, NULL);
  case COMP__CONTENT_INTEGERS:
    if (r->tree->ops->has(r->tree, path, "categories")) return read_categorical_07(r, path, name);
    return read_numbers(r, path, name, NULL);
  case COMP__CONTENT_FLOATS:
  case COMP__CONTENT_BOOLS:
    return read_numbers(r, path, name, NULL);
  default:
    skip(r, name, "it holds neither text nor numbers");
    return COMP_OK;
  }
}

static comp_status read_column(const reading *r, const char *name) {
  comp__tree_path path;
  comp_status status = path_of(&path, r, name);
  if (status != COMP_OK) return status;
  switch (r->tree->ops->find(r->tree, path.text)) {
  case COMP__NODE_GROUP:
    status = read_group_column(r, path.text, name);
    break;
  case COMP__NODE_ARRAY:
    status = read_array_column(r, path.text, name);
    break;
  default:
    comp__warn(r->context, "%s/%s is in the list of columns, but not in the file", r->where, name);
  }
  return status == COMP_OK ? status : comp__error_context(status, "%s, column '%s'", r->where, name);
}

comp_status comp__anndata_index_name(char **out, const comp__tree *tree, const char *table) {
  static const char *const names[] = {"_index", "index"};
  comp__tree_path path;
  comp_status status = tree->ops->get_text(out, tree, table, "_index");
  if (status != COMP_OK || *out) return status;
  for (int i = 0; i < 2; i++) {
    status = comp__tree_join(&path, table, names[i]);
    if (status != COMP_OK) return status;
    if (tree->ops->find(tree, path.text) == COMP__NODE_ARRAY) return comp__strdup(out, names[i]);
  }
  return comp__error(COMP_ERR_FORMAT, "%s has no index: neither an attribute '_index' nor an array of that name",
                     table);
}

/* The columns in their order; files without that list have them sorted by name. */
static comp_status list_columns(comp__strings *out, const comp__tree *tree, const char *table, const char *index) {
  comp__strings members = {0};
  bool found;
  comp_status status;
  COMP__TRY(tree->ops->get_texts(out, &found, tree, table, "column-order"));
  if (found) goto done;
  COMP__TRY(tree->ops->members(&members, tree, table));
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (strcmp(name, index) != 0 && strcmp(name, "__categories") != 0)
      COMP__TRY(comp__strings_append(out, name, strlen(name)));
  }
done:
  comp__strings_release(&members);
  return status;
}

/* A table that is one array, which only HDF5 has. */
bool comp__anndata_is_legacy(const comp__tree *tree, const char *table) {
  return tree->ops->legacy_table && tree->ops->find(tree, table) == COMP__NODE_ARRAY;
}

static comp_status check_is_group(const comp__tree *tree, const char *table) {
  comp__node node = tree->ops->find(tree, table);
  if (node == COMP__NODE_GROUP) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, node == COMP__NODE_NONE ? "there is no '%s' in it" : "%s is not a group", table);
}

/* As a list of text; of a group of values and mask (AnnData 0.11 and later write text so, and categories that are
 * nullable numbers), the values. */
comp_status comp__anndata_read_texts(comp__strings *out, comp_context *context, const comp__tree *tree,
                                     const char *path, bool any) {
  comp__tree_path values;
  comp_status status = comp__tree_join(&values, path, "values");
  if (status != COMP_OK) return status;
  bool masked = tree->ops->find(tree, path) == COMP__NODE_GROUP &&
                (comp__tree_text_is(tree, path, "encoding-type", "nullable-string-array") ||
                 (any && (comp__tree_text_is(tree, path, "encoding-type", "nullable-integer") ||
                          comp__tree_text_is(tree, path, "encoding-type", "nullable-boolean"))));
  return tree->ops->read_texts(out, context, tree, masked ? values.text : path, any);
}

comp_status comp__anndata_read_names(comp__strings *out, comp_context *context, const comp__tree *tree,
                                     const char *table) {
  comp__tree_path path;
  char *index = NULL;
  comp_status status;
  if (comp__anndata_is_legacy(tree, table)) return tree->ops->legacy_names(out, context, tree, table);
  COMP__TRY(check_is_group(tree, table));
  COMP__TRY(comp__anndata_index_name(&index, tree, table));
  COMP__TRY(comp__tree_join(&path, table, index));
  COMP__TRY(comp__anndata_read_texts(out, context, tree, path.text, true));
done:
  comp__free(index);
  return status;
}

comp_status comp__anndata_read_table(comp_table *out, comp_context *context, const comp__tree *tree,
                                     const char *table) {
  reading r = {out, context, tree, table, comp_table_row_count(out)};
  comp__strings columns = {0};
  char *index = NULL;
  comp_status status;
  if (comp__anndata_is_legacy(tree, table)) return tree->ops->legacy_table(out, context, tree, table);
  COMP__TRY(check_is_group(tree, table));
  COMP__TRY(comp__anndata_index_name(&index, tree, table));
  COMP__TRY(list_columns(&columns, tree, table, index));
  for (size_t i = 0; i < columns.count; i++) COMP__TRY(read_column(&r, comp__strings_get(&columns, i)));
done:
  comp__free(index);
  comp__strings_release(&columns);
  return status;
}
