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
#include "io/h5/records.h"

static comp_status read_field_numbers(double **out, const comp__h5_records *r, int field) {
  comp_status status = comp__alloc(out, r->rows, sizeof **out);
  return status == COMP_OK ? comp__h5_records_read(r, field, H5T_NATIVE_DOUBLE, *out) : status;
}

static comp_status read_field_bools(int8_t **out, const comp__h5_records *r, int field) {
  hid_t type = comp__h5_bool_type();
  comp_status status = comp__calloc(out, r->rows, 1);
  if (status == COMP_OK) status = comp__h5_records_read(r, field, type, *out);
  comp__h5_close(&type);
  return status;
}

comp_status comp__h5ad_legacy_names(comp__strings *out, comp_context *context, hid_t file, const char *table) {
  comp__h5_records r = COMP__H5_RECORDS_INIT;
  double *numbers = NULL;
  char text[40];
  comp_status status;
  COMP__TRY(comp__h5_records_open(&r, context, file, table));
  H5T_class_t class = H5Tget_member_class(r.type, 0);
  if (class == H5T_STRING) {
    status = comp__h5_records_texts(out, &r, 0);
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
  comp__h5_records_close(&r);
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

static comp_status add_numbers(comp_table *out, comp_context *context, const comp__h5_records *r, int field, hid_t file,
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
  COMP__TRY(comp__table_add_codes(out, context, r->where, name, codes, &levels));
done:
  comp__strings_release(&levels);
  comp__free(codes);
  comp__free(values);
  return status;
}

static comp_status add_bools(comp_table *out, const comp__h5_records *r, int field, const char *name) {
  int8_t *values = NULL;
  comp_status status = read_field_bools(&values, r, field);
  if (status == COMP_OK) status = comp_table_add_bools(out, name, values);
  comp__free(values);
  return status;
}

static comp_status add_texts(comp_table *out, const comp__h5_records *r, int field, const char *name) {
  comp__strings values = {0};
  comp_status status = comp__h5_records_texts(&values, r, field);
  if (status == COMP_OK) status = comp__table_add_texts(out, name, &values);
  comp__strings_release(&values);
  return status;
}

static comp_status add_field(comp_table *out, comp_context *context, const comp__h5_records *r, int field, hid_t file) {
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
  comp__h5_records r = COMP__H5_RECORDS_INIT;
  comp_status status;
  COMP__TRY(comp__h5_records_open(&r, context, file, table));
  if (r.rows != comp_table_row_count(out))
    COMP__FAIL(COMP_ERR_FORMAT, "%s has %zu rows, not %zu", r.where, r.rows, comp_table_row_count(out));
  for (int field = 1; field < r.fields; field++) COMP__TRY(add_field(out, context, &r, field, file));
done:
  comp__h5_records_close(&r);
  return status;
}

/* The columns of a field of obsm: 1 when it is a plain number; 0 when it is not made of numbers. */
static size_t field_width(const comp__h5_records *r, int field) {
  hid_t type = H5Tget_member_type(r->type, (unsigned)field), base = H5I_INVALID_HID;
  hsize_t dims[H5S_MAX_RANK] = {0};
  size_t width = 1;
  if (type >= 0 && H5Tget_class(type) == H5T_ARRAY) {
    base = H5Tget_super(type);
    width = H5Tget_array_ndims(type) == 1 && H5Tget_array_dims2(type, dims) == 1 ? (size_t)dims[0] : 0;
  }
  if (type < 0) comp__h5_doubt(r->dataset, 0);
  H5T_class_t class = H5Tget_class(base >= 0 ? base : type);
  comp__h5_close(&base);
  comp__h5_close(&type);
  return class == H5T_INTEGER || class == H5T_FLOAT ? width : 0;
}

static comp_status add_obsm(comp_dataset *dataset, comp_context *context, const comp__h5_records *r, int field) {
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
    COMP__TRY(comp__h5_records_read(r, field, type, matrix->values));
  else
    COMP__TRY(comp__h5_records_read(r, field, H5T_NATIVE_FLOAT, matrix->values));
  status = comp_dataset_set_matrix(dataset, COMP_SLOT_OBSM, name, matrix);
  matrix = NULL; /* taken over */
done:
  comp_matrix_free(matrix);
  comp__h5_close(&type);
  H5free_memory(name);
  return status;
}

comp_status comp__h5ad_legacy_obsm(comp_dataset *dataset, comp_context *context, hid_t file) {
  comp__h5_records r = COMP__H5_RECORDS_INIT;
  comp_status status;
  COMP__TRY(comp__h5_records_open(&r, context, file, "obsm"));
  if (r.rows != comp_dataset_sample_count(dataset))
    COMP__FAIL(COMP_ERR_FORMAT, "obsm has %zu rows, but there are %zu samples", r.rows,
               comp_dataset_sample_count(dataset));
  for (int field = 0; field < r.fields; field++) COMP__TRY(add_obsm(dataset, context, &r, field));
done:
  comp__h5_records_close(&r);
  return status;
}
