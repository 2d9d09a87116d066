/* attr_json.c: all attributes of an object as JSON, and JSON as attributes: texts, numbers, bools and lists of these.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/json.h"
#include "io/h5/attr_json.h"

/* More values of one attribute than are carried. */
enum { MOST_VALUES = 1 << 20 };

static herr_t note_name(hid_t object, const char *name, const H5A_info_t *info, void *arg) {
  (void)object;
  (void)info;
  return comp__strings_append(arg, name, strlen(name)) == COMP_OK ? 0 : -1;
}

static json_t *text_at(const comp__strings *texts, size_t i) {
  return json_string(comp__strings_get(texts, i));
}

/* The values of an attribute that are numbers or bools; NULL: there is no memory, or they cannot be read. */
static json_t *read_numbers(hid_t attribute, hid_t type, size_t count, bool scalar) {
  H5T_class_t class = H5Tget_class(type);
  bool boolean = comp__h5_is_bool(type);
  hid_t truth = boolean ? comp__h5_bool_type() : H5I_INVALID_HID;
  json_t *list = json_array();
  int64_t *values = NULL;
  bool good =
      comp__calloc(&values, count, sizeof *values) == COMP_OK && H5Aread(attribute,
                                                                         boolean                ? truth
                                                                         : class == H5T_INTEGER ? H5T_NATIVE_INT64
                                                                                                : H5T_NATIVE_DOUBLE,
                                                                         values) >= 0;
  if (!good) comp__h5_doubt(attribute, 0); /* the attribute would be left out */
  for (size_t i = 0; good && i < count; i++) {
    double real;
    memcpy(&real, &values[i], sizeof real);
    json_t *value = boolean                ? json_boolean(((const int8_t *)values)[i])
                    : class == H5T_INTEGER ? json_integer(values[i])
                                           : json_real(real);
    good = json_array_append_new(list, value) == 0;
  }
  comp__free(values);
  comp__h5_close(&truth);
  json_t *out = !good ? NULL : scalar ? json_incref(json_array_get(list, 0)) : json_incref(list);
  json_decref(list);
  return out;
}

static json_t *read_texts(hid_t object, const char *name, bool scalar) {
  comp__strings texts = {0};
  bool found;
  json_t *list = json_array(), *out = NULL;
  comp_status status = comp__h5_get_texts(&texts, &found, object, name);
  if (status == COMP_ERR_MEMORY) comp__h5_doubt(object, ENOMEM);
  if (status == COMP_OK && found) {
    for (size_t i = 0; i < texts.count; i++) json_array_append_new(list, text_at(&texts, i));
    if (json_array_size(list) == texts.count && (!scalar || texts.count == 1))
      out = scalar ? json_incref(json_array_get(list, 0)) : json_incref(list);
  }
  json_decref(list);
  comp__strings_release(&texts);
  return out;
}

/* NULL: it is of another kind. */
static json_t *read_attribute(hid_t object, const char *name) {
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  hid_t type = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
  hid_t space = attribute < 0 ? H5I_INVALID_HID : H5Aget_space(attribute);
  json_t *out = NULL;
  if (type < 0 || space < 0) comp__h5_doubt(object, 0);
  if (type >= 0 && space >= 0) {
    H5S_class_t kind = H5Sget_simple_extent_type(space);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    bool scalar = kind == H5S_SCALAR, listed = kind == H5S_SIMPLE && H5Sget_simple_extent_ndims(space) == 1;
    H5T_class_t class = H5Tget_class(type);
    if ((scalar || listed) && count >= 0 && count <= MOST_VALUES) {
      if (class == H5T_STRING)
        out = read_texts(object, name, scalar);
      else if (class == H5T_INTEGER || class == H5T_FLOAT || comp__h5_is_bool(type))
        out = read_numbers(attribute, type, (size_t)count, scalar);
    }
  }
  comp__h5_close(&space);
  comp__h5_close(&type);
  comp__h5_close(&attribute);
  H5Eclear2(H5E_DEFAULT);
  return out;
}

comp_status comp__h5_get_attributes(json_t **out, hid_t object) {
  comp__strings names = {0};
  comp_status status = COMP_OK;
  hsize_t at = 0;
  comp__json_start();
  *out = json_object();
  if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, note_name, &names) < 0) {
    status = comp__h5_error(COMP_ERR_FORMAT, "its attributes cannot be read");
    goto done;
  }
  for (size_t i = 0; i < names.count; i++) {
    json_t *value = read_attribute(object, comp__strings_get(&names, i));
    if (value) json_object_set_new(*out, comp__strings_get(&names, i), value);
  }
  if (!*out || comp__json_lost()) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
done:
  comp__strings_release(&names);
  if (status == COMP_OK) return COMP_OK;
  json_decref(*out);
  *out = NULL;
  return status;
}

/* ---- writing ---- */

static comp_status put_texts(hid_t object, const char *name, const json_t *list) {
  comp__strings values = {0};
  comp_status status = COMP_OK;
  for (size_t i = 0; i < json_array_size(list) && status == COMP_OK; i++) {
    const char *text = json_string_value(json_array_get(list, i));
    status = comp__strings_append(&values, text, strlen(text));
  }
  if (status == COMP_OK) status = comp__h5_put_texts(object, name, &values);
  comp__strings_release(&values);
  return status;
}

/* A number, or a list of numbers. */
static comp_status put_numbers(hid_t object, const char *name, const json_t *json) {
  size_t n = json_is_array(json) ? json_array_size(json) : 1;
  hsize_t count = n;
  double *reals = NULL;
  int64_t *whole = NULL;
  bool integers = true, good = false;
  comp_status status;
  COMP__TRY(comp__alloc(&reals, n, sizeof *reals));
  COMP__TRY(comp__alloc(&whole, n, sizeof *whole));
  for (size_t i = 0; i < n; i++) {
    const json_t *value = json_is_array(json) ? json_array_get(json, i) : json;
    integers = integers && json_is_integer(value);
    reals[i] = json_number_value(value);
    whole[i] = json_integer_value(value);
  }
  hid_t space = json_is_array(json) ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
  hid_t names = comp__h5_attribute_list();
  hid_t attribute = H5Acreate2(object, name, integers ? H5T_STD_I64LE : H5T_IEEE_F64LE, space, names, H5P_DEFAULT);
  if (attribute >= 0)
    good = H5Awrite(attribute, integers ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                    integers ? (const void *)whole : (const void *)reals) >= 0;
  comp__h5_close(&attribute);
  comp__h5_close(&names);
  comp__h5_close(&space);
  if (!good) status = comp__h5_error(COMP_ERR_IO, "cannot write attribute '%s'", name);
done:
  comp__free(reals);
  comp__free(whole);
  return status;
}

static bool all_of(const json_t *list, bool text) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *value = json_array_get(list, i);
    if (!(text ? json_is_string(value) : json_is_number(value))) return false;
  }
  return true;
}

comp_status comp__h5_put_attributes(hid_t object, const json_t *attributes) {
  const char *name;
  json_t *value;
  comp_status status = COMP_OK;
  json_object_foreach((json_t *)attributes, name, value) {
    if (json_is_string(value))
      COMP__TRY(comp__h5_put_text(object, name, json_string_value(value)));
    else if (json_is_boolean(value))
      COMP__TRY(comp__h5_put_bool(object, name, json_is_true(value)));
    else if (json_is_array(value) && all_of(value, true))
      COMP__TRY(put_texts(object, name, value));
    else if (json_is_number(value) || (json_is_array(value) && all_of(value, false)))
      COMP__TRY(put_numbers(object, name, value));
    /* Others, such as objects, have no place in HDF5. */
  }
done:
  return status;
}
