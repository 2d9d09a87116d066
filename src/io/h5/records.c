/* records.c: reading and writing datasets of records. */
#include "io/h5/records.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/array.h"

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
static comp_status load_records(comp__h5_records *r, comp_context *context) {
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

comp_status comp__h5_records_open(comp__h5_records *r, comp_context *context, hid_t file, const char *path) {
  size_t shape[1] = {1};
  int rank;
  comp_status status;
  *r = (comp__h5_records)COMP__H5_RECORDS_INIT;
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

void comp__h5_records_close(comp__h5_records *r) {
  comp__free(r->rows_stored);
  comp__h5_close(&r->type);
  comp__h5_close(&r->dataset);
}

/* Converts one field of the stored records. */
static comp_status convert_field(const comp__h5_records *r, int field, hid_t type, void *out) {
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

comp_status comp__h5_records_read(const comp__h5_records *r, int field, hid_t type, void *out) {
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

comp_status comp__h5_records_texts(comp__strings *out, const comp__h5_records *r, int field) {
  hid_t type = H5Tget_member_type(r->type, (unsigned)field), space = H5I_INVALID_HID;
  char *buffer = NULL;
  comp_status status;
  size_t size = type < 0 ? 0 : H5Tget_size(type);
  if (size == 0) COMP__FAIL(COMP_ERR_FORMAT, "%s has a field without a size", r->where);
  COMP__TRY(comp__calloc(&buffer, r->rows, size));
  COMP__TRY(comp__h5_records_read(r, field, type, buffer));
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

/* ---- all fields ---- */

static bool is_plain(hid_t type) {
  H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
  return class == H5T_STRING || class == H5T_INTEGER || class == H5T_FLOAT || (type >= 0 && comp__h5_is_bool(type));
}

int comp__h5_records_plain(hid_t type) {
  int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0, plain = n > 0;
  for (int i = 0; i < n && plain > 0; i++) {
    hid_t member = H5Tget_member_type(type, (unsigned)i);
    plain = member < 0 ? -1 : is_plain(member);
    comp__h5_close(&member);
  }
  return plain;
}

hid_t comp__h5_stored_type(comp__stored type, hid_t boolean) {
  const hid_t types[] = {[COMP__STORED_BOOL] = boolean,          [COMP__STORED_I8] = H5T_NATIVE_INT8,
                         [COMP__STORED_I16] = H5T_NATIVE_INT16,  [COMP__STORED_I32] = H5T_NATIVE_INT32,
                         [COMP__STORED_I64] = H5T_NATIVE_INT64,  [COMP__STORED_U8] = H5T_NATIVE_UINT8,
                         [COMP__STORED_U16] = H5T_NATIVE_UINT16, [COMP__STORED_U32] = H5T_NATIVE_UINT32,
                         [COMP__STORED_U64] = H5T_NATIVE_UINT64, [COMP__STORED_F32] = H5T_NATIVE_FLOAT,
                         [COMP__STORED_F64] = H5T_NATIVE_DOUBLE};
  return types[type];
}

/* The type in which a field is written again. */
static comp__stored stored_of(hid_t type) {
  comp__number number = {COMP__NUMBER_FLOAT, H5Tget_size(type), false};
  comp__as as;
  if (comp__h5_is_bool(type)) return COMP__STORED_BOOL;
  if (H5Tget_class(type) == H5T_INTEGER)
    number.kind = H5Tget_sign(type) == H5T_SGN_NONE ? COMP__NUMBER_UINT : COMP__NUMBER_INT;
  if (number.size != 1 && number.size != 2 && number.size != 4) number.size = 8; /* HDF5 converts odd ones */
  return comp__stored_of(&as, number, false);
}

static comp_status load_field(comp__tree_value *out, comp__strings *names, const comp__h5_records *r, int field) {
  hid_t type = H5Tget_member_type(r->type, (unsigned)field), boolean = comp__h5_bool_type();
  char *name = H5Tget_member_name(r->type, (unsigned)field);
  comp_status status = COMP_OK;
  if (!name || !is_plain(type)) COMP__FAIL(COMP_ERR_FORMAT, "%s: field %d cannot be read", r->where, field);
  if (!comp__utf8_valid(name, strlen(name), NULL))
    COMP__FAIL(COMP_ERR_FORMAT, "%s: the name of field %d is not valid UTF-8", r->where, field);
  COMP__TRY(comp__strings_append(names, name, strlen(name)));
  out->count = r->rows;
  out->is_text = H5Tget_class(type) == H5T_STRING;
  if (out->is_text) {
    status = comp__h5_records_texts(&out->texts, r, field);
    goto done;
  }
  out->type = stored_of(type);
  COMP__TRY(comp__alloc(&out->numbers, r->rows, comp__stored_size(out->type)));
  COMP__TRY(comp__h5_records_read(r, field, comp__h5_stored_type(out->type, boolean), out->numbers));
done:
  H5free_memory(name);
  comp__h5_close(&boolean);
  comp__h5_close(&type);
  return status;
}

comp_status comp__h5_records_load(comp__tree_value *out, comp_context *context, hid_t file, const char *path) {
  comp__h5_records r = COMP__H5_RECORDS_INIT;
  comp_status status;
  COMP__TRY(comp__h5_records_open(&r, context, file, path));
  COMP__TRY(comp__calloc(&out->fields, (size_t)r.fields, sizeof *out->fields));
  out->n_fields = (size_t)r.fields;
  for (int i = 0; i < r.fields; i++) COMP__TRY(load_field(&out->fields[i], &out->names, &r, i));
done:
  comp__h5_records_close(&r);
  return status;
}

/* The type of records in memory and in the file: one field behind the other; texts are pointers in memory. */
static hid_t make_type(const comp__tree_value *value, hid_t text, hid_t boolean) {
  size_t size = 0, offset = 0;
  for (size_t i = 0; i < value->n_fields; i++)
    size += value->fields[i].is_text ? sizeof(char *) : comp__stored_size(value->fields[i].type);
  hid_t type = H5Tcreate(H5T_COMPOUND, size);
  for (size_t i = 0; i < value->n_fields; i++) {
    const comp__tree_value *f = &value->fields[i];
    hid_t member = f->is_text ? text : comp__h5_stored_type(f->type, boolean);
    if (H5Tinsert(type, comp__strings_get(&value->names, i), offset, member) < 0) comp__h5_close(&type);
    offset += f->is_text ? sizeof(char *) : comp__stored_size(f->type);
  }
  return type;
}

static void fill_records(unsigned char *to, size_t size, const comp__tree_value *value) {
  for (size_t i = 0; i < value->n_fields; i++) {
    const comp__tree_value *f = &value->fields[i];
    size_t width = f->is_text ? sizeof(char *) : comp__stored_size(f->type);
    for (size_t row = 0; row < value->count; row++) {
      const char *text = f->is_text ? comp__strings_get(&f->texts, row) : NULL;
      if (f->is_text && !text) text = "";
      memcpy(to + row * size, f->is_text ? (const void *)&text : (const char *)f->numbers + row * width, width);
    }
    to += width;
  }
}

comp_status comp__h5_records_write(hid_t file, const char *path, const comp__tree_value *value) {
  hid_t text = comp__h5_text_type(), boolean = comp__h5_bool_type(), type = make_type(value, text, boolean);
  hid_t links = comp__h5_link_list(), list = comp__h5_dataset_list(), space, dataset = H5I_INVALID_HID;
  hsize_t rows = value->count;
  unsigned char *records = NULL;
  comp_status status;
  space = H5Screate_simple(1, &rows, NULL);
  size_t size = type < 0 ? 1 : H5Tget_size(type);
  COMP__TRY(comp__alloc(&records, value->count, size));
  if (type >= 0) fill_records(records, size, value);
  dataset = type < 0 ? type : H5Dcreate2(file, path, type, space, links, list, H5P_DEFAULT);
  if (dataset < 0 || (rows > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, records) < 0))
    status = comp__h5_error(COMP_ERR_IO, "cannot write '%s'", path);
  else
    status = comp__h5_end(&dataset);
done:
  comp__free(records);
  comp__h5_close(&dataset);
  comp__h5_close(&space);
  comp__h5_close(&list);
  comp__h5_close(&links);
  comp__h5_close(&type);
  comp__h5_close(&boolean);
  comp__h5_close(&text);
  return status;
}
