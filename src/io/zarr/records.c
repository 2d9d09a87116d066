/*
 * records.c: lists of records: types of several fields, which NumPy calls structured. Version 2 lists the fields as the
 * dtype, [["a", "<f4"], ...]; version 3 has the type "struct" with {"name": ..., "data_type": ...} a field, and before
 * that "structured" with pairs. Fields lie one behind the other.
 */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/zarr/array.h"
#include "io/zarr/sink.h"

/* More fields than HDF5 has room for in the header of a dataset; and bytes of a record. */
enum { MOST_FIELDS = 500, MOST_BYTES = 1 << 24 };

/* ---- metadata ---- */

/* The name and type of a field; false: it is none that is read here. */
static bool parse_field(const char **name, comp__zarr_type *type, const json_t *field, int version) {
  bool pair = json_is_array(field) && json_array_size(field) == 2;
  const json_t *value = pair ? json_array_get(field, 1) : json_object_get(field, "data_type");
  *name = json_string_value(pair ? json_array_get(field, 0) : json_object_get(field, "name"));
  if (!*name || strlen(*name) != json_string_length(pair ? json_array_get(field, 0) : json_object_get(field, "name")))
    return false;
  if (version == 3)
    comp__zarr_type_v3(type, value);
  else
    comp__zarr_type_v2(type, json_is_string(value) ? json_string_value(value) : "");
  return type->kind <= COMP__ZARR_BYTES && type->kind != COMP__ZARR_TEXT && type->number.size > 0 && (*name)[0];
}

static bool is_taken(const comp__zarr_meta *meta, const char *name) {
  for (size_t i = 0; i < meta->n_fields; i++)
    if (strcmp(meta->fields[i].name, name) == 0) return true;
  return false;
}

comp_status comp__zarr_read_fields(comp__zarr_meta *out, const json_t *list, int version) {
  size_t n = json_array_size(list), size = 0;
  out->type = (comp__zarr_type){COMP__ZARR_OTHER, {COMP__NUMBER_OTHER, 0, false}};
  if (n == 0 || n > MOST_FIELDS) return COMP_OK;
  comp_status status = comp__calloc(&out->fields, n, sizeof *out->fields);
  for (size_t i = 0; i < n && status == COMP_OK; i++) {
    comp__zarr_field *field = &out->fields[i];
    const char *name;
    if (!parse_field(&name, &field->type, json_array_get(list, i), version) || is_taken(out, name)) return COMP_OK;
    field->offset = size;
    size += field->type.number.size;
    if (size > MOST_BYTES) return COMP_OK;
    status = comp__strdup(&field->name, name);
    if (status == COMP_OK) out->n_fields++;
  }
  if (status == COMP_OK) out->type = (comp__zarr_type){COMP__ZARR_RECORDS, {COMP__NUMBER_RAW, size, false}};
  return status;
}

bool comp__zarr_fill_is_zero(const json_t *fill) {
  const char *name;
  json_t *value;
  if (json_is_string(fill)) { /* base64 of zeros, or no text */
    const char *text = json_string_value(fill);
    return text[strspn(text, "A=")] == '\0';
  }
  json_object_foreach((json_t *)fill, name, value) {
    if (!comp__zarr_fill_is_zero(value)) return false;
  }
  return !json_is_true(fill) && json_number_value(fill) == 0;
}

/* ---- reading ---- */

static comp_status load_numbers(comp__tree_value *out, comp__zarr_type type, unsigned char *data, size_t n) {
  comp__as as;
  out->type = comp__stored_of(&as, type.number, type.kind == COMP__ZARR_BOOL);
  comp_status status = comp__alloc(&out->numbers, n, comp__as_size(as));
  if (status != COMP_OK) return status;
  if (type.number.swap) comp__numbers_swap(data, type.number.size, n);
  if (comp__numbers_convert(out->numbers, as, data, type.number, n) < n)
    return comp__error(COMP_ERR_FORMAT, "it has a number outside of what is possible");
  comp__stored_narrow(out->numbers, out->type, as, n);
  return COMP_OK;
}

static comp_status load_field(comp__tree_value *out, const comp__zarr_field *field, const unsigned char *records,
                              size_t size, size_t n) {
  unsigned char *data = NULL;
  size_t width = field->type.number.size;
  comp_status status;
  COMP__TRY(comp__alloc(&data, n, width));
  for (size_t i = 0; i < n; i++) memcpy(data + i * width, records + i * size + field->offset, width);
  out->count = n;
  out->is_text = field->type.kind == COMP__ZARR_UNICODE || field->type.kind == COMP__ZARR_BYTES;
  COMP__TRY(out->is_text ? comp__zarr_append_fixed(&out->texts, field->type, data, n)
                         : load_numbers(out, field->type, data, n));
done:
  comp__free(data);
  return status == COMP_OK ? status : comp__error_context(status, "field '%s'", field->name);
}

comp_status comp__zarr_records_load(comp__tree_value *out, comp_context *context, const comp__zarr_array *array) {
  const comp__zarr_meta *meta = &array->meta;
  unsigned char *records = NULL;
  comp_status status;
  if (meta->rank != 1)
    COMP__FAIL(COMP_ERR_FORMAT, "%s: records of %d dimensions are not read, only lists", array->path, meta->rank);
  COMP__TRY(comp__alloc(&records, meta->shape[0], meta->type.number.size));
  COMP__TRY(comp__zarr_array_read(context, array, COMP__AS_RAW, 0, meta->shape[0], records));
  COMP__TRY(comp__calloc(&out->fields, meta->n_fields, sizeof *out->fields));
  out->n_fields = meta->n_fields;
  for (size_t i = 0; i < meta->n_fields; i++) {
    const comp__zarr_field *field = &meta->fields[i];
    COMP__TRY(comp__strings_append(&out->names, field->name, strlen(field->name)));
    status = load_field(&out->fields[i], field, records, meta->type.number.size, meta->shape[0]);
    if (status != COMP_OK) {
      comp__error_context(status, "%s", array->path);
      goto done;
    }
  }
done:
  comp__free(records);
  return status;
}

/* ---- writing ---- */

/* The next code point of valid UTF-8; 0 at its end. */
static uint32_t next_code(const char **text) {
  const unsigned char *at = (const unsigned char *)*text;
  if (at[0] == 0) return 0;
  size_t more = at[0] < 0x80 ? 0 : at[0] < 0xe0 ? 1 : at[0] < 0xf0 ? 2 : 3;
  uint32_t code = more == 0 ? at[0] : at[0] & (0x3fu >> more);
  for (size_t i = 1; i <= more; i++) code = code << 6 | (at[i] & 0x3fu);
  *text += more + 1;
  return code;
}

static size_t longest(const comp__strings *texts) {
  size_t most = 1; /* NumPy has no text of length 0 */
  for (size_t i = 0; i < texts->count; i++) {
    const char *text = comp__strings_get(texts, i);
    size_t n = 0;
    while (text && next_code(&text) != 0) n++;
    if (n > most) most = n;
  }
  return most;
}

/* Bytes of a field. */
static size_t width_of(const comp__tree_value *field) {
  return field->is_text ? longest(&field->texts) * 4 : comp__stored_size(field->type);
}

static void pack_field(unsigned char *to, size_t size, const comp__tree_value *field, size_t width) {
  for (size_t row = 0; row < field->count; row++, to += size) {
    if (!field->is_text) {
      memcpy(to, (const char *)field->numbers + row * width, width);
      continue;
    }
    const char *text = comp__strings_get(&field->texts, row);
    uint32_t code;
    for (size_t i = 0; text && (code = next_code(&text)) != 0; i++) memcpy(to + i * 4, &code, 4);
  }
}

/* Adds what the metadata says of a field. */
static comp_status describe(comp__zarr_packed *out, const char *name, const comp__tree_value *field, size_t width,
                            int version) {
  char unicode[32];
  snprintf(unicode, sizeof unicode, "<U%zu", width / 4);
  const char *type = field->is_text ? unicode : comp__zarr_type_name(field->type, version);
  json_t *list = version == 2 ? out->type : json_object_get(json_object_get(out->type, "configuration"), "fields");
  json_t *text =
      json_pack("{s:s, s:{s:I}}", "name", "fixed_length_utf32", "configuration", "length_bytes", (json_int_t)width);
  json_t *entry = version == 2     ? json_pack("[s, s]", name, type)
                  : field->is_text ? json_pack("{s:s, s:O}", "name", name, "data_type", text)
                                   : json_pack("{s:s, s:s}", "name", name, "data_type", type);
  json_t *zero = field->is_text                                                       ? json_string("")
                 : field->type == COMP__STORED_BOOL                                   ? json_false()
                 : field->type == COMP__STORED_F32 || field->type == COMP__STORED_F64 ? json_real(0)
                                                                                      : json_integer(0);
  int failed = json_array_append_new(list, entry);
  if (version == 3)
    failed |= json_object_set_new(out->fill, name, zero);
  else
    json_decref(zero);
  json_decref(text);
  return failed ? comp__error(COMP_ERR_MEMORY, "out of memory") : COMP_OK;
}

comp_status comp__zarr_records_pack(comp__zarr_packed *out, const comp__tree_value *value, int version) {
  size_t *widths = NULL, offset = 0;
  comp_status status;
  *out = (comp__zarr_packed){0};
  out->type = version == 2 ? json_array() : json_pack("{s:s, s:{s:[]}}", "name", "struct", "configuration", "fields");
  out->fill = version == 2 ? json_null() : json_object();
  if (!out->type || !out->fill) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(comp__alloc(&widths, value->n_fields, sizeof *widths));
  for (size_t i = 0; i < value->n_fields; i++) {
    widths[i] = width_of(&value->fields[i]);
    out->size += widths[i];
    COMP__TRY(describe(out, comp__strings_get(&value->names, i), &value->fields[i], widths[i], version));
  }
  COMP__TRY(comp__calloc(&out->data, value->count, out->size));
  for (size_t i = 0; i < value->n_fields; offset += widths[i++])
    pack_field(out->data + offset, out->size, &value->fields[i], widths[i]);
done:
  comp__free(widths);
  return status;
}

void comp__zarr_packed_release(comp__zarr_packed *packed) {
  comp__free(packed->data);
  json_decref(packed->type);
  json_decref(packed->fill);
}
