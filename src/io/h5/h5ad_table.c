/* h5ad_table.c: the obs and var tables of .h5ad files, AnnData 0.7 and later. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/table.h"
#include "io/h5/h5ad.h"

/* A table that is being read. */
typedef struct reading {
  comp_table *table;
  comp_context *context;
  hid_t group;
  const char *where; /* "obs" */
  size_t rows;
} reading;

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

comp_status comp__table_add_codes(comp_table *table, const char *name, const int32_t *codes,
                                  const comp__strings *levels) {
  const char **pointers;
  comp_status status = pointers_of(&pointers, levels);
  if (status != COMP_OK) return status;
  status = comp_table_add_categorical(table, name, codes, pointers, levels->count);
  comp__free(pointers);
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

/* Opens a list of numbers as long as the table. */
static comp_status open_list(comp__h5_array *out, const reading *r, hid_t parent, const char *path, const char *name) {
  comp_status status = comp__h5_array_open(out, parent, path);
  if (status != COMP_OK) return status;
  if (out->rank != 1) return comp__error(COMP_ERR_FORMAT, "%s has %d dimensions, not 1", out->where, out->rank);
  return check_length(r, name, out->rows);
}

static comp_status read_list(const reading *r, hid_t parent, const char *path, const char *name, comp__as as,
                             void *out) {
  comp__h5_array array;
  comp_status status = open_list(&array, r, parent, path, name);
  if (status == COMP_OK) status = comp__h5_array_read(r->context, &array, as, 0, r->rows, out);
  comp__h5_array_close(&array);
  return status;
}

static comp_status add_codes(const reading *r, const char *name, hid_t codes_parent, const char *codes_path,
                             hid_t levels_dataset) {
  comp__strings levels = {0};
  int32_t *codes = NULL;
  comp_status status;
  COMP__TRY(comp__h5_read_texts(&levels, r->context, levels_dataset, true));
  COMP__TRY(comp__alloc(&codes, r->rows, sizeof *codes));
  COMP__TRY(read_list(r, codes_parent, codes_path, name, COMP__AS_I32, codes));
  COMP__TRY(comp__table_add_codes(r->table, name, codes, &levels));
done:
  comp__free(codes);
  comp__strings_release(&levels);
  return status;
}

/* The attribute is a bool of h5py's, or a number. */
static bool is_ordered(hid_t group) {
  int8_t value = 0;
  if (!comp__h5_has_attr(group, "ordered")) return false;
  hid_t attribute = H5Aopen(group, "ordered", H5P_DEFAULT), type = H5Aget_type(attribute),
        space = H5Aget_space(attribute);
  hid_t truth = comp__h5_bool_type();
  if (H5Sget_simple_extent_npoints(space) == 1) {
    if (H5Tget_class(type) == H5T_ENUM)
      H5Aread(attribute, truth, &value);
    else if (H5Tget_class(type) == H5T_INTEGER)
      H5Aread(attribute, H5T_NATIVE_INT8, &value);
  }
  comp__h5_close(&truth);
  comp__h5_close(&space);
  comp__h5_close(&type);
  comp__h5_close(&attribute);
  return value != 0;
}

/* AnnData 0.8: a group of codes and categories. */
static comp_status read_categorical(const reading *r, hid_t group, const char *name) {
  hid_t levels = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_open_dataset(&levels, group, "categories"));
  COMP__TRY(add_codes(r, name, group, "codes", levels));
  comp__table_set_ordered(r->table, comp_table_find(r->table, name), is_ordered(group));
done:
  comp__h5_close(&levels);
  return status;
}

/* The dataset of categories that an attribute of a 0.7 column refers to. */
static comp_status follow_reference(hid_t *out, hid_t dataset) {
  hobj_ref_t reference = 0;
  hid_t attribute = H5Aopen(dataset, "categories", H5P_DEFAULT);
  hid_t type = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
  bool good = type >= 0 && H5Tequal(type, H5T_STD_REF_OBJ) > 0 && H5Aread(attribute, H5T_STD_REF_OBJ, &reference) >= 0;
  *out = good ? H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, &reference) : H5I_INVALID_HID;
  comp__h5_close(&type);
  comp__h5_close(&attribute);
  if (*out >= 0 && H5Iget_type(*out) == H5I_DATASET) return COMP_OK;
  comp__h5_close(out);
  return comp__h5_error(COMP_ERR_FORMAT, "its categories cannot be found");
}

/* AnnData 0.7: codes with a reference to their categories, which are by convention under __categories. */
static comp_status read_categorical_07(const reading *r, hid_t dataset, const char *name) {
  hid_t levels = H5I_INVALID_HID, all = H5I_INVALID_HID;
  comp_status status;
  if (comp__h5_find(r->group, "__categories") == COMP__H5_GROUP)
    COMP__TRY(comp__h5_open_group(&all, r->group, "__categories"));
  if (all >= 0 && comp__h5_find(all, name) == COMP__H5_DATASET)
    COMP__TRY(comp__h5_open_dataset(&levels, all, name));
  else
    COMP__TRY(follow_reference(&levels, dataset));
  COMP__TRY(add_codes(r, name, r->group, name, levels));
done:
  comp__h5_close(&levels);
  comp__h5_close(&all);
  return status;
}

static comp_status read_texts(const reading *r, hid_t dataset, const char *name) {
  comp__strings values = {0};
  comp_status status;
  COMP__TRY(comp__h5_read_texts(&values, r->context, dataset, false));
  COMP__TRY(check_length(r, name, values.count));
  COMP__TRY(comp__table_add_texts(r->table, name, &values));
done:
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

static comp_status read_numbers(const reading *r, hid_t parent, const char *path, const char *name,
                                const int32_t *mask) {
  comp__h5_array array;
  double *values = NULL;
  comp_status status;
  COMP__TRY(open_list(&array, r, parent, path, name));
  COMP__TRY(comp__alloc(&values, r->rows, sizeof *values));
  COMP__TRY(comp__h5_array_read(r->context, &array, COMP__AS_F64, 0, r->rows, values));
  COMP__TRY(add_numbers(r, name, values, mask, array.integer, array.boolean));
done:
  comp__free(values);
  comp__h5_array_close(&array);
  return status;
}

/* A string-array whose missing values are marked by a mask (AnnData 0.11 and later). */
static comp_status read_masked_texts(const reading *r, hid_t group, const char *name, const int32_t *mask) {
  comp__strings values = {0};
  const char **pointers = NULL;
  hid_t dataset = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_open_dataset(&dataset, group, "values"));
  COMP__TRY(comp__h5_read_texts(&values, r->context, dataset, false));
  COMP__TRY(check_length(r, name, values.count));
  COMP__TRY(pointers_of(&pointers, &values));
  for (size_t i = 0; i < values.count; i++)
    if (mask[i]) pointers[i] = NULL;
  COMP__TRY(comp_table_add_strings(r->table, name, pointers));
done:
  comp__h5_close(&dataset);
  comp__free(pointers);
  comp__strings_release(&values);
  return status;
}

/* A group of values and mask. */
static comp_status read_masked(const reading *r, hid_t group, const char *name, bool text) {
  int32_t *mask = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&mask, r->rows, sizeof *mask));
  COMP__TRY(read_list(r, group, "mask", name, COMP__AS_I32, mask));
  COMP__TRY(text ? read_masked_texts(r, group, name, mask) : read_numbers(r, group, "values", name, mask));
done:
  comp__free(mask);
  return status;
}

static comp_status read_group_column(const reading *r, const char *name) {
  hid_t group = H5I_INVALID_HID;
  char *encoding = NULL;
  comp_status status;
  COMP__TRY(comp__h5_open_group(&group, r->group, name));
  COMP__TRY(comp__h5_get_text(&encoding, group, "encoding-type"));
  if (!encoding)
    skip(r, name, "it is a group without an encoding");
  else if (strcmp(encoding, "categorical") == 0)
    status = read_categorical(r, group, name);
  else if (strcmp(encoding, "nullable-integer") == 0 || strcmp(encoding, "nullable-boolean") == 0)
    status = read_masked(r, group, name, false);
  else if (strcmp(encoding, "nullable-string-array") == 0)
    status = read_masked(r, group, name, true);
  else
    skip(r, name, "its encoding is not known here");
done:
  comp__free(encoding);
  comp__h5_close(&group);
  return status;
}

static comp_status read_dataset_column(const reading *r, const char *name) {
  hid_t dataset = H5I_INVALID_HID, type = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_open_dataset(&dataset, r->group, name));
  type = H5Dget_type(dataset);
  H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
  if (class == H5T_STRING)
    status = read_texts(r, dataset, name);
  else if (class == H5T_INTEGER && comp__h5_has_attr(dataset, "categories"))
    status = read_categorical_07(r, dataset, name);
  else if (class == H5T_INTEGER || class == H5T_FLOAT || (type >= 0 && comp__h5_is_bool(type)))
    status = read_numbers(r, r->group, name, name, NULL);
  else
    skip(r, name, "it holds neither text nor numbers");
done:
  comp__h5_close(&type);
  comp__h5_close(&dataset);
  return status;
}

static comp_status read_column(const reading *r, const char *name) {
  comp_status status = COMP_OK;
  switch (comp__h5_find(r->group, name)) {
  case COMP__H5_GROUP:
    status = read_group_column(r, name);
    break;
  case COMP__H5_DATASET:
    status = read_dataset_column(r, name);
    break;
  default:
    comp__warn(r->context, "%s/%s is in the list of columns, but not in the file", r->where, name);
  }
  return status == COMP_OK ? status : comp__error_context(status, "%s, column '%s'", r->where, name);
}

comp_status comp__h5ad_index_name(char **out, hid_t group) {
  char where[128];
  comp_status status = comp__h5_get_text(out, group, "_index");
  if (status != COMP_OK || *out) return status;
  if (comp__h5_find(group, "_index") == COMP__H5_DATASET) return comp__strdup(out, "_index");
  if (comp__h5_find(group, "index") == COMP__H5_DATASET) return comp__strdup(out, "index");
  return comp__error(COMP_ERR_FORMAT, "%s has no index: neither an attribute '_index' nor a dataset of that name",
                     comp__h5_where(group, where, sizeof where));
}

/* The columns in their order; files without that list have them sorted by name. */
static comp_status list_columns(comp__strings *out, hid_t group, const char *index) {
  comp__strings members = {0};
  bool found;
  comp_status status;
  COMP__TRY(comp__h5_get_texts(out, &found, group, "column-order"));
  if (found) goto done;
  COMP__TRY(comp__h5_members(&members, group));
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (strcmp(name, index) != 0 && strcmp(name, "__categories") != 0)
      COMP__TRY(comp__strings_append(out, name, strlen(name)));
  }
done:
  comp__strings_release(&members);
  return status;
}

bool comp__h5ad_is_legacy(hid_t file, const char *table) {
  return comp__h5_find(file, table) == COMP__H5_DATASET;
}

comp_status comp__h5ad_read_names(comp__strings *out, comp_context *context, hid_t file, const char *table) {
  hid_t group = H5I_INVALID_HID, dataset = H5I_INVALID_HID;
  char *index = NULL;
  comp_status status;
  if (comp__h5ad_is_legacy(file, table)) return comp__h5ad_legacy_names(out, context, file, table);
  COMP__TRY(comp__h5_open_group(&group, file, table));
  COMP__TRY(comp__h5ad_index_name(&index, group));
  COMP__TRY(comp__h5_open_dataset(&dataset, group, index));
  COMP__TRY(comp__h5_read_texts(out, context, dataset, true));
done:
  comp__h5_close(&dataset);
  comp__h5_close(&group);
  comp__free(index);
  return status;
}

comp_status comp__h5ad_read_table(comp_table *out, comp_context *context, hid_t file, const char *table) {
  reading r = {out, context, H5I_INVALID_HID, table, comp_table_row_count(out)};
  comp__strings columns = {0};
  char *index = NULL;
  comp_status status;
  if (comp__h5ad_is_legacy(file, table)) return comp__h5ad_legacy_table(out, context, file, table);
  COMP__TRY(comp__h5_open_group(&r.group, file, table));
  COMP__TRY(comp__h5ad_index_name(&index, r.group));
  COMP__TRY(list_columns(&columns, r.group, index));
  for (size_t i = 0; i < columns.count; i++) COMP__TRY(read_column(&r, comp__strings_get(&columns, i)));
done:
  comp__free(index);
  comp__strings_release(&columns);
  comp__h5_close(&r.group);
  return status;
}
