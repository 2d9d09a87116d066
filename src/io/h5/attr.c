/* attr.c: HDF5 attributes: texts, pairs of sizes, bools. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/h5.h"

/* More values than any sane attribute has; HDF5 itself keeps most attributes below 64 KB. */
enum { MOST_VALUES = 1 << 20 };

/* An attribute that is being read. */
typedef struct attr {
  hid_t id;
  hid_t type;
  hid_t space;
  size_t count;
} attr;

static void close_attr(attr *a) {
  comp__h5_close(&a->space);
  comp__h5_close(&a->type);
  comp__h5_close(&a->id);
}

static comp_status bad_attr(hid_t object, const char *name, const char *what) {
  char where[256];
  comp__h5_where(object, where, sizeof where); /* clears what HDF5 had to say, which is not much of attributes */
  return comp__error(COMP_ERR_FORMAT, "attribute '%s' of %s %s", name, where, what);
}

/* *found = false and nothing to close when there is none. */
static comp_status open_attr(attr *a, bool *found, hid_t object, const char *name) {
  *a = (attr){H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID, 0};
  htri_t exists = H5Aexists(object, name);
  *found = exists > 0;
  if (exists < 0) {
    comp_status status = comp__h5_error(COMP_ERR_FORMAT, "attribute '%s' cannot be looked for", name);
    comp__h5_doubt(object, status == COMP_ERR_MEMORY ? ENOMEM : 0); /* the caller may go on as if there were none */
    return status;
  }
  if (!*found) return COMP_OK;
  a->id = H5Aopen(object, name, H5P_DEFAULT);
  a->type = a->id < 0 ? H5I_INVALID_HID : H5Aget_type(a->id);
  a->space = a->id < 0 ? H5I_INVALID_HID : H5Aget_space(a->id);
  hssize_t count = a->space < 0 ? -1 : H5Sget_simple_extent_npoints(a->space);
  if (a->type < 0 || count < 0) comp__h5_doubt(object, 0); /* as above */
  if (a->type < 0 || count < 0 || count > MOST_VALUES) {
    close_attr(a);
    return bad_attr(object, name, "cannot be read");
  }
  a->count = (size_t)count;
  return COMP_OK;
}

static comp_status read_texts(comp__strings *out, const attr *a) {
  char *buffer = NULL;
  size_t size = H5Tget_size(a->type);
  bool variable = H5Tis_variable_str(a->type) > 0;
  comp_status status;
  COMP__TRY(comp__calloc(&buffer, a->count, size));
  if (H5Aread(a->id, a->type, buffer) < 0) {
    status = comp__h5_error(COMP_ERR_FORMAT, "its text cannot be read");
    comp__h5_doubt(a->id, status == COMP_ERR_MEMORY ? ENOMEM : 0);
    goto done;
  }
  status = comp__h5_append_texts(out, a->type, buffer, size, a->count, 0);
  if (variable) H5Dvlen_reclaim(a->type, a->space, H5P_DEFAULT, buffer);
done:
  comp__free(buffer);
  return status;
}

comp_status comp__h5_get_texts(comp__strings *out, bool *found, hid_t object, const char *name) {
  attr a;
  comp_status status;
  COMP__TRY(open_attr(&a, found, object, name));
  if (!*found || a.count == 0) goto done; /* pandas stores an empty list of names as an empty list of floats */
  if (H5Tget_class(a.type) == H5T_STRING)
    status = read_texts(out, &a);
  else
    status = comp__error(COMP_ERR_FORMAT, "it is not text");
  if (status != COMP_OK) {
    char where[256];
    comp__error_context(status, "attribute '%s' of %s", name, comp__h5_where(object, where, sizeof where));
  }
done:
  close_attr(&a);
  return status;
}

comp_status comp__h5_get_text(char **out, hid_t object, const char *name) {
  comp__strings values = {0};
  bool found;
  *out = NULL;
  comp_status status;
  COMP__TRY(comp__h5_get_texts(&values, &found, object, name));
  if (!found) goto done;
  if (values.count != 1) {
    status = bad_attr(object, name, "is not one text");
    goto done;
  }
  const char *text = comp__strings_get(&values, 0);
  COMP__TRY(comp__strdup(out, text ? text : ""));
done:
  comp__strings_release(&values);
  return status;
}

bool comp__h5_text_is(hid_t object, const char *name, const char *value) {
  char *text;
  comp_status status = comp__h5_get_text(&text, object, name);
  if (status == COMP_ERR_MEMORY || status == COMP_ERR_IO) comp__h5_doubt(object, status == COMP_ERR_IO ? EIO : ENOMEM);
  if (status != COMP_OK) return false;
  bool same = text && strcmp(text, value) == 0;
  comp__free(text);
  return same;
}

bool comp__h5_has_attr(hid_t object, const char *name) {
  htri_t exists = H5Aexists(object, name);
  if (exists < 0) comp__h5_doubt(object, 0);
  return exists > 0;
}

comp_status comp__h5_get_pair(size_t out[2], bool *found, hid_t object, const char *name) {
  attr a;
  long long values[2];
  comp_status status;
  COMP__TRY(open_attr(&a, found, object, name));
  if (!*found) goto done;
  if (H5Tget_class(a.type) != H5T_INTEGER || a.count != 2)
    status = bad_attr(object, name, "is not two whole numbers");
  else if (H5Aread(a.id, H5T_NATIVE_LLONG, values) < 0)
    status = bad_attr(object, name, "cannot be read");
  else if (values[0] < 0 || values[1] < 0)
    status = bad_attr(object, name, "holds a negative size");
  else {
    out[0] = (size_t)values[0];
    out[1] = (size_t)values[1];
  }
done:
  close_attr(&a);
  return status;
}

/* Replaces an attribute. `type` is for memory and file alike. */
static comp_status put(hid_t object, const char *name, hid_t type, hid_t space, const void *values) {
  char where[256];
  comp__h5_where(object, where, sizeof where);
  hid_t names = comp__h5_attribute_list(), id = H5I_INVALID_HID;
  comp_status status = COMP_OK;
  htri_t exists = H5Aexists(object, name);
  if (exists == 0 || (exists > 0 && H5Adelete(object, name) >= 0))
    id = H5Acreate2(object, name, type, space, names, H5P_DEFAULT);
  if (id < 0 || (values && H5Awrite(id, type, values) < 0))
    status = comp__h5_error(COMP_ERR_IO, "cannot write attribute '%s' of %s", name, where);
  comp__h5_close(&id);
  comp__h5_close(&names);
  return status;
}

comp_status comp__h5_put_text(hid_t object, const char *name, const char *value) {
  hid_t type = comp__h5_text_type(), space = H5Screate(H5S_SCALAR);
  comp_status status = put(object, name, type, space, &value);
  comp__h5_close(&type);
  comp__h5_close(&space);
  return status;
}

comp_status comp__h5_put_texts(hid_t object, const char *name, const comp__strings *values) {
  const char **pointers = NULL;
  hsize_t count = values->count;
  hid_t type = comp__h5_text_type(), space = H5Screate_simple(1, &count, NULL);
  comp_status status;
  COMP__TRY(comp__alloc(&pointers, values->count, sizeof *pointers));
  for (size_t i = 0; i < values->count; i++) pointers[i] = comp__strings_get(values, i);
  COMP__TRY(put(object, name, type, space, count > 0 ? pointers : NULL));
done:
  comp__h5_close(&type);
  comp__h5_close(&space);
  comp__free(pointers);
  return status;
}

comp_status comp__h5_put_pair(hid_t object, const char *name, const size_t values[2]) {
  int64_t pair[2] = {(int64_t)values[0], (int64_t)values[1]};
  hsize_t two = 2;
  hid_t space = H5Screate_simple(1, &two, NULL);
  comp_status status = put(object, name, H5T_NATIVE_INT64, space, pair);
  comp__h5_close(&space);
  return status;
}

comp_status comp__h5_put_bool(hid_t object, const char *name, bool value) {
  signed char byte = value;
  hid_t type = comp__h5_bool_type(), space = H5Screate(H5S_SCALAR);
  comp_status status = put(object, name, type, space, &byte);
  comp__h5_close(&type);
  comp__h5_close(&space);
  return status;
}

comp_status comp__h5_put_encoding(hid_t object, const char *type, const char *version) {
  comp_status status = comp__h5_put_text(object, "encoding-type", type);
  return status == COMP_OK ? comp__h5_put_text(object, "encoding-version", version) : status;
}
