/*
 * h5ad_legacy.c: tables of .h5ad files from before AnnData 0.7: one compound dataset, its first field the index; a
 * column of codes has its categories in uns/<column>_categories.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "io/anndata.h"
#include "io/h5/array.h"
#include "io/h5/h5ad.h"

/* A compound dataset of rows. */
typedef struct records {
  hid_t dataset;
  hid_t type;
  size_t rows;
  int fields;
  size_t size;                /* of a record */
  unsigned char *rows_stored; /* all records as they are stored; NULL: HDF5 reads them, field by field */
  char where[64];
} records;

/* Variable-length text within records is left to HDF5: how it is stored there cannot be asked. */
static bool has_variable_text(hid_t type, int fields) {
  bool found = false;
  for (int i = 0; i < fields && !found; i++) {
    hid_t member = H5Tget_member_type(type, (unsigned)i);
    found = member < 0 || H5Tis_variable_str(member) > 0 || H5Tdetect_class(member, H5T_VLEN) > 0;
    comp__h5_close(&member);
  }
  return found;
}

/* Reads all records at once, decoded here: HDF5 would decode every chunk once a field, and trusts damaged ones. */
static comp_status load_records(records *r, comp_context *context) {
  comp__h5_array array;
  comp_status status;
  COMP__TRY(comp__h5_array_open_raw(&array, r->dataset));
  if (!comp__h5_array_is_raw(&array)) goto done;
  COMP__TRY(comp__alloc(&r->rows_stored, r->rows, r->size));
  COMP__TRY(comp__h5_array_read(context, &array, COMP__AS_RAW, 0, r->rows, r->rows_stored));
done:
  comp__h5_array_close(&array);
  return status;
}

static comp_status open_records(records *r, comp_context *context, hid_t file, const char *path) {
  size_t shape[1] = {1};
  int rank;
  comp_status status;
  *r = (records){.dataset = H5I_INVALID_HID, .type = H5I_INVALID_HID};
  COMP__TRY(comp__h5_open_dataset(&r->dataset, file, path));
  comp__h5_where(r->dataset, r->where, sizeof r->where);
  COMP__TRY(comp__h5_shape(shape, &rank, 1, r->dataset));
  r->type = H5Dget_type(r->dataset);
  if (r->type < 0 || H5Tget_class(r->type) != H5T_COMPOUND || rank != 1)
    COMP__FAIL(COMP_ERR_FORMAT, "%s is neither a group nor a list of records", r->where);
  r->rows = shape[0];
  r->size = H5Tget_size(r->type);
  r->fields = H5Tget_nmembers(r->type);
  if (r->fields <= 0) COMP__FAIL(COMP_ERR_FORMAT, "%s has no columns", r->where);
  if (!has_variable_text(r->type, r->fields)) COMP__TRY(load_records(r, context));
done:
  return status;
}

static void close_records(records *r) {
  comp__free(r->rows_stored);
  comp__h5_close(&r->type);
  comp__h5_close(&r->dataset);
}

/* Converts one field of the stored records. */
static comp_status convert_field(const records *r, int field, hid_t type, void *out) {
  hid_t stored = H5Tget_member_type(r->type, (unsigned)field);
  size_t from = stored < 0 ? 0 : H5Tget_size(stored), to = H5Tget_size(type), offset;
  unsigned char *buffer = NULL;
  comp_status status;
  offset = H5Tget_member_offset(r->type, (unsigned)field);
  if (from == 0 || offset > r->size || from > r->size - offset)
    COMP__FAIL(COMP_ERR_FORMAT, "%s: field %d cannot be read", r->where, field);
  COMP__TRY(comp__alloc(&buffer, r->rows, from > to ? from : to));
  for (size_t i = 0; i < r->rows; i++) memcpy(buffer + i * from, r->rows_stored + i * r->size + offset, from);
  if (r->rows > 0 && H5Tconvert(stored, type, r->rows, buffer, NULL, H5P_DEFAULT) < 0) {
    status = comp__h5_error(COMP_ERR_FORMAT, "%s: field %d cannot be converted", r->where, field);
    goto done;
  }
  memcpy(out, buffer, r->rows * to);
done:
  comp__free(buffer);
  comp__h5_close(&stored);
  return status;
}

/* Reads one field of all records as values of `type`. */
static comp_status read_field(const records *r, int field, hid_t type, void *out) {
  if (r->rows_stored) return convert_field(r, field, type, out);
  comp_status status = comp__h5_check_data(r->dataset);
  if (status != COMP_OK) return comp__error_context(status, "%s", r->where);
  char *name = H5Tget_member_name(r->type, (unsigned)field);
  hid_t memory = H5Tcreate(H5T_COMPOUND, H5Tget_size(type));
  bool good = name && memory >= 0 && H5Tinsert(memory, name, 0, type) >= 0 &&
              H5Dread(r->dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0;
  status =
      good ? COMP_OK : comp__h5_error(COMP_ERR_FORMAT, "%s: field '%s' cannot be read", r->where, name ? name : "?");
  comp__h5_close(&memory);
  H5free_memory(name);
  return status;
}

static comp_status read_field_numbers(double **out, const records *r, int field) {
  comp_status status = comp__alloc(out, r->rows, sizeof **out);
  return status == COMP_OK ? read_field(r, field, H5T_NATIVE_DOUBLE, *out) : status;
}

static comp_status read_field_texts(comp__strings *out, const records *r, int field) {
  hid_t type = H5Tget_member_type(r->type, (unsigned)field), space = H5I_INVALID_HID;
  char *buffer = NULL;
  comp_status status;
  size_t size = type < 0 ? 0 : H5Tget_size(type);
  if (size == 0) COMP__FAIL(COMP_ERR_FORMAT, "%s has a field without a size", r->where);
  COMP__TRY(comp__calloc(&buffer, r->rows, size));
  COMP__TRY(read_field(r, field, type, buffer));
  status = comp__h5_append_texts(out, type, buffer, size, r->rows, 0);
  if (status != COMP_OK) comp__error_context(status, "%s", r->where);
  if (H5Tis_variable_str(type) > 0) {
    space = H5Dget_space(r->dataset);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, buffer);
  }
done:
  comp__h5_close(&space);
  comp__free(buffer);
  comp__h5_close(&type);
  return status;
}

static comp_status read_field_bools(int8_t **out, const records *r, int field) {
  hid_t type = comp__h5_bool_type();
  comp_status status = comp__calloc(out, r->rows, 1);
  if (status == COMP_OK) status = read_field(r, field, type, *out);
  comp__h5_close(&type);
  return status;
}

comp_status comp__h5ad_legacy_names(comp__strings *out, comp_context *context, hid_t file, const char *table) {
  records r;
  double *numbers = NULL;
  char text[40];
  comp_status status;
  COMP__TRY(open_records(&r, context, file, table));
  H5T_class_t class = H5Tget_member_class(r.type, 0);
  if (class == H5T_STRING) {
    status = read_field_texts(out, &r, 0);
    goto done;
  }
  if (class != H5T_INTEGER && class != H5T_FLOAT)
    COMP__FAIL(COMP_ERR_FORMAT, "%s: its index is neither text nor numbers", r.where);
  COMP__TRY(read_field_numbers(&numbers, &r, 0));
  for (size_t i = 0; i < r.rows; i++) {
    snprintf(text, sizeof text, "%.17g", numbers[i]);
    COMP__TRY(comp__strings_append(out, text, strlen(text)));
  }
done:
  comp__free(numbers);
  close_records(&r);
  return status;
}

/* The categories of a column in uns; `found` when they are there and every code fits them. As AnnData does it: other
 * tables may have a column of the same name that is not categorical. */
static comp_status find_levels(comp__strings *levels, bool *found, comp_context *context, hid_t file,
                               const char *column, const double *codes, size_t n) {
  char path[512];
  hid_t dataset = H5I_INVALID_HID;
  comp_status status = COMP_OK;
  *found = false;
  int length = snprintf(path, sizeof path, "uns/%s_categories", column);
  if (length >= (int)sizeof path || comp__h5_find(file, path) != COMP__H5_DATASET) return COMP_OK;
  COMP__TRY(comp__h5_open_dataset(&dataset, file, path));
  COMP__TRY(comp__h5_read_texts(levels, context, dataset, true));
  *found = true;
  for (size_t i = 0; i < n; i++) *found &= codes[i] >= -1 && codes[i] < (double)levels->count;
done:
  comp__h5_close(&dataset);
  return status;
}

static comp_status add_numbers(comp_table *out, comp_context *context, const records *r, int field, hid_t file,
                               const char *name) {
  comp__strings levels = {0};
  double *values = NULL;
  int32_t *codes = NULL;
  bool categorical = false, integer = H5Tget_member_class(r->type, (unsigned)field) == H5T_INTEGER;
  comp_status status;
  COMP__TRY(read_field_numbers(&values, r, field));
  if (integer) COMP__TRY(find_levels(&levels, &categorical, context, file, name, values, r->rows));
  if (!categorical) {
    status = comp_table_add_numbers(out, name, values, integer);
    goto done;
  }
  COMP__TRY(comp__alloc(&codes, r->rows, sizeof *codes));
  for (size_t i = 0; i < r->rows; i++) codes[i] = (int32_t)values[i];
  COMP__TRY(comp__table_add_codes(out, name, codes, &levels));
done:
  comp__strings_release(&levels);
  comp__free(codes);
  comp__free(values);
  return status;
}

static comp_status add_bools(comp_table *out, const records *r, int field, const char *name) {
  int8_t *values = NULL;
  comp_status status = read_field_bools(&values, r, field);
  if (status == COMP_OK) status = comp_table_add_bools(out, name, values);
  comp__free(values);
  return status;
}

static comp_status add_texts(comp_table *out, const records *r, int field, const char *name) {
  comp__strings values = {0};
  comp_status status = read_field_texts(&values, r, field);
  if (status == COMP_OK) status = comp__table_add_texts(out, name, &values);
  comp__strings_release(&values);
  return status;
}

static comp_status add_field(comp_table *out, comp_context *context, const records *r, int field, hid_t file) {
  char *name = H5Tget_member_name(r->type, (unsigned)field);
  hid_t type = H5Tget_member_type(r->type, (unsigned)field);
  comp_status status = COMP_OK;
  if (!name || type < 0) COMP__FAIL(COMP_ERR_FORMAT, "%s: column %d cannot be read", r->where, field);
  H5T_class_t class = H5Tget_class(type);
  if (class == H5T_STRING)
    status = add_texts(out, r, field, name);
  else if (class == H5T_INTEGER || class == H5T_FLOAT)
    status = add_numbers(out, context, r, field, file, name);
  else if (comp__h5_is_bool(type))
    status = add_bools(out, r, field, name);
  else
    comp__info(context, "%s/%s is left out: it holds neither text nor numbers", r->where, name);
done:
  comp__h5_close(&type);
  H5free_memory(name);
  return status;
}

comp_status comp__h5ad_legacy_table(comp_table *out, comp_context *context, hid_t file, const char *table) {
  records r;
  comp_status status;
  COMP__TRY(open_records(&r, context, file, table));
  if (r.rows != comp_table_row_count(out))
    COMP__FAIL(COMP_ERR_FORMAT, "%s has %zu rows, not %zu", r.where, r.rows, comp_table_row_count(out));
  for (int field = 1; field < r.fields; field++) COMP__TRY(add_field(out, context, &r, field, file));
done:
  close_records(&r);
  return status;
}

/* The columns of a field of obsm: 1 when it is a plain number; 0 when it is not made of numbers. */
static size_t field_width(const records *r, int field) {
  hid_t type = H5Tget_member_type(r->type, (unsigned)field), base = H5I_INVALID_HID;
  hsize_t dims[H5S_MAX_RANK] = {0};
  size_t width = 1;
  if (type >= 0 && H5Tget_class(type) == H5T_ARRAY) {
    base = H5Tget_super(type);
    width = H5Tget_array_ndims(type) == 1 && H5Tget_array_dims2(type, dims) == 1 ? (size_t)dims[0] : 0;
  }
  H5T_class_t class = H5Tget_class(base >= 0 ? base : type);
  comp__h5_close(&base);
  comp__h5_close(&type);
  return class == H5T_INTEGER || class == H5T_FLOAT ? width : 0;
}

static comp_status add_obsm(comp_dataset *dataset, comp_context *context, const records *r, int field) {
  char *name = H5Tget_member_name(r->type, (unsigned)field);
  size_t width = field_width(r, field);
  hsize_t dims = width;
  hid_t type = H5I_INVALID_HID;
  comp_matrix *matrix = NULL;
  comp_status status = COMP_OK;
  if (!name) COMP__FAIL(COMP_ERR_FORMAT, "%s: field %d cannot be read", r->where, field);
  if (width == 0) {
    comp__info(context, "%s/%s is left out: it is not a matrix of numbers", r->where, name);
    goto done;
  }
  type = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &dims);
  COMP__TRY(comp_matrix_new_dense(&matrix, r->rows, width));
  if (H5Tget_member_class(r->type, (unsigned)field) == H5T_ARRAY)
    COMP__TRY(read_field(r, field, type, matrix->values));
  else
    COMP__TRY(read_field(r, field, H5T_NATIVE_FLOAT, matrix->values));
  status = comp_dataset_set_matrix(dataset, COMP_SLOT_OBSM, name, matrix);
  matrix = NULL; /* taken over */
done:
  comp_matrix_free(matrix);
  comp__h5_close(&type);
  H5free_memory(name);
  return status;
}

comp_status comp__h5ad_legacy_obsm(comp_dataset *dataset, comp_context *context, hid_t file) {
  records r;
  comp_status status;
  COMP__TRY(open_records(&r, context, file, "obsm"));
  if (r.rows != comp_dataset_sample_count(dataset))
    COMP__FAIL(COMP_ERR_FORMAT, "obsm has %zu rows, but there are %zu samples", r.rows,
               comp_dataset_sample_count(dataset));
  for (int field = 0; field < r.fields; field++) COMP__TRY(add_obsm(dataset, context, &r, field));
done:
  close_records(&r);
  return status;
}
