/* text.c: HDF5 datasets of text, and numbers as text. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/array.h"
#include "io/h5/heap.h"

/* Values that are in memory as HDF5 gave them, before they are copied: bounds the memory of long lists. */
enum { BATCH = 1 << 16, BATCH_BYTES = 8 << 20 };

/* The length of a fixed-size text without its padding. */
static size_t padded_length(const char *text, size_t size, H5T_str_t padding) {
  size_t length = strnlen(text, size);
  if (padding == H5T_STR_SPACEPAD)
    while (length > 0 && text[length - 1] == ' ') length--;
  return length;
}

comp_status comp__h5_append_texts(comp__strings *out, hid_t type, const void *buffer, size_t stride, size_t n,
                                  size_t first) {
  bool variable = H5Tis_variable_str(type) > 0;
  size_t size = H5Tget_size(type);
  H5T_str_t padding = H5Tget_strpad(type);
  for (size_t i = 0; i < n; i++) {
    const char *at = (const char *)buffer + i * stride, *text = at;
    if (variable) memcpy(&text, at, sizeof text);
    size_t length = !text ? 0 : variable ? strlen(text) : padded_length(text, size, padding);
    if (!comp__utf8_valid(text ? text : "", length, NULL))
      return comp__error(COMP_ERR_FORMAT, "row %zu is not valid UTF-8 text", first + i);
    comp_status status = comp__strings_append(out, text ? text : "", length);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* A dataset of text that is being read. */
typedef struct text_source {
  hid_t dataset;
  hid_t type;
  char where[256];
  bool variable;
  comp__h5_array stored;
  comp__h5_heap heap;
  bool from_heap; /* variable-length text is found here, not by HDF5 */
} text_source;

static comp_status open_source(text_source *s, hid_t dataset) {
  *s = (text_source){.dataset = dataset, .stored = COMP__H5_ARRAY_INIT};
  comp__h5_where(dataset, s->where, sizeof s->where);
  s->type = H5Dget_type(dataset);
  if (s->type < 0 || H5Tget_class(s->type) != H5T_STRING)
    return comp__error(COMP_ERR_FORMAT, "%s does not hold text", s->where);
  s->variable = H5Tis_variable_str(s->type) > 0;
  s->from_heap = comp__h5_heap_open(&s->heap, dataset) && s->variable;
  return comp__h5_array_open_raw(&s->stored, dataset);
}

static void close_source(text_source *s) {
  comp__h5_heap_release(&s->heap);
  comp__h5_array_close(&s->stored);
  comp__h5_close(&s->type);
}

/* Appends the texts of n stored references. */
static comp_status append_references(comp__strings *out, comp__h5_heap *heap, const unsigned char *references,
                                     size_t first, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const char *text;
    size_t length;
    comp_status status = comp__h5_heap_text(heap, references + i * COMP__H5_REFERENCE, &text, &length);
    if (status != COMP_OK) return status;
    if (!comp__utf8_valid(text, length, NULL))
      return comp__error(COMP_ERR_FORMAT, "row %zu is not valid UTF-8 text", first + i);
    status = comp__strings_append(out, text, length);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* Values first .. first + n - 1 through HDF5: small datasets in an object header, odd filters. */
static comp_status read_by_hdf5(comp__strings *out, const text_source *s, void *buffer, size_t first, size_t n) {
  hsize_t start = first, count = n;
  comp_status status = comp__h5_check_data(s->dataset);
  if (status != COMP_OK) return status;
  hid_t from = H5Dget_space(s->dataset), to = H5Screate_simple(1, &count, NULL);
  memset(buffer, 0, n * H5Tget_size(s->type));
  if (H5Sget_simple_extent_ndims(from) == 1) H5Sselect_hyperslab(from, H5S_SELECT_SET, &start, NULL, &count, NULL);
  if (H5Dread(s->dataset, s->type, to, from, H5P_DEFAULT, buffer) < 0)
    status = comp__h5_error(COMP_ERR_FORMAT, "it cannot be read");
  else
    status = comp__h5_append_texts(out, s->type, buffer, H5Tget_size(s->type), n, first);
  if (s->variable) H5Dvlen_reclaim(s->type, to, H5P_DEFAULT, buffer);
  comp__h5_close(&from);
  comp__h5_close(&to);
  return status;
}

static comp_status read_batch(comp__strings *out, comp_context *context, text_source *s, void *buffer, size_t first,
                              size_t n) {
  bool raw = comp__h5_array_is_raw(&s->stored) && s->from_heap == s->variable;
  if (!raw && s->variable && s->from_heap) /* HDF5 would trust what may be damaged; nobody is known to write it */
    return comp__error(COMP_ERR_UNAVAILABLE,
                       "it is stored in an unusual way; write the file again with h5py or AnnData");
  if (!raw) return read_by_hdf5(out, s, buffer, first, n);
  comp_status status = comp__h5_array_read(context, &s->stored, COMP__AS_RAW, first, n, buffer);
  if (status != COMP_OK) return status;
  if (s->variable) return append_references(out, &s->heap, buffer, first, n);
  return comp__h5_append_texts(out, s->type, buffer, s->stored.number.size, n, first);
}

static comp_status read_texts(comp__strings *out, comp_context *context, hid_t dataset) {
  text_source s;
  void *buffer = NULL;
  comp_status status;
  COMP__TRY(open_source(&s, dataset));
  size_t n = s.stored.rows, size = s.stored.number.size; /* in the file; in memory 8 bytes of a pointer are enough */
  size_t batch = BATCH_BYTES / size < BATCH ? BATCH_BYTES / size : BATCH;
  if (batch == 0) batch = 1;
  if (batch > n) batch = n;
  COMP__TRY(comp__alloc(&buffer, batch, size));
  for (size_t first = 0; first < n && status == COMP_OK; first += batch)
    status = read_batch(out, context, &s, buffer, first, first + batch <= n ? batch : n - first);
  if (status != COMP_OK) comp__error_context(status, "%s", s.where);
done:
  comp__free(buffer);
  close_source(&s);
  return status;
}

static comp_status read_numbers_as_text(comp__strings *out, comp_context *context, hid_t dataset) {
  comp__h5_array array;
  void *values = NULL;
  comp_status status;
  COMP__TRY(comp__h5_array_open(&array, dataset, "."));
  if (array.rank != 1) COMP__FAIL(COMP_ERR_FORMAT, "%s has %d dimensions, not 1", array.where, array.rank);
  const comp__as as = comp__as_text(array.number, array.boolean);
  COMP__TRY(comp__alloc(&values, array.rows, comp__as_size(as)));
  COMP__TRY(comp__h5_array_read(context, &array, as, 0, array.rows, values));
  COMP__TRY(comp__numbers_append_texts(out, values, as, array.rows, array.boolean));
done:
  comp__free(values);
  comp__h5_array_close(&array);
  return status;
}

comp_status comp__h5_read_texts(comp__strings *out, comp_context *context, hid_t dataset, bool any) {
  hid_t type = H5Dget_type(dataset);
  bool text = type >= 0 && H5Tget_class(type) == H5T_STRING;
  comp__h5_close(&type);
  return text || !any ? read_texts(out, context, dataset) : read_numbers_as_text(out, context, dataset);
}

comp_status comp__h5_read_text(char **out, comp_context *context, hid_t dataset) {
  comp__strings values = {0};
  *out = NULL;
  comp_status status;
  COMP__TRY(comp__h5_read_texts(&values, context, dataset, false));
  if (values.count != 1) {
    char where[256];
    COMP__FAIL(COMP_ERR_FORMAT, "%s holds %zu texts, not one", comp__h5_where(dataset, where, sizeof where),
               values.count);
  }
  COMP__TRY(comp__strdup(out, comp__strings_get(&values, 0)));
done:
  comp__strings_release(&values);
  return status;
}

/* Creates a dataset of text; not compressed: the texts themselves are in HDF5's heap, which cannot be. */
static comp_status create_texts(hid_t *out, hid_t parent, const char *path, hid_t type, hid_t space,
                                const char *encoding) {
  hid_t links = comp__h5_link_list(), list = comp__h5_dataset_list();
  *out = H5Dcreate2(parent, path, type, space, links, list, H5P_DEFAULT);
  comp__h5_close(&list);
  comp__h5_close(&links);
  if (*out < 0) return comp__h5_error(COMP_ERR_IO, "cannot write '%s'", path);
  return comp__h5_put_encoding(*out, encoding, "0.2.0");
}

static comp_status write_batch(hid_t dataset, hid_t type, const char **pointers, size_t first, size_t n) {
  hsize_t start = first, count = n;
  hid_t to = H5Dget_space(dataset), from = H5Screate_simple(1, &count, NULL);
  bool good = to >= 0 && from >= 0 && H5Sselect_hyperslab(to, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0 &&
              H5Dwrite(dataset, type, from, to, H5P_DEFAULT, pointers) >= 0;
  comp__h5_close(&from);
  comp__h5_close(&to);
  return good ? COMP_OK : comp__h5_error(COMP_ERR_IO, "cannot write text");
}

comp_status comp__h5_write_texts(hid_t parent, const char *path, const comp__strings *values) {
  const char **pointers = NULL;
  hsize_t count = values->count;
  size_t batch = values->count < BATCH ? values->count : BATCH;
  hid_t type = comp__h5_text_type(), space = H5Screate_simple(1, &count, NULL), dataset = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(create_texts(&dataset, parent, path, type, space, "string-array"));
  COMP__TRY(comp__alloc(&pointers, batch, sizeof *pointers));
  for (size_t first = 0; first < values->count; first += batch) {
    size_t n = first + batch <= values->count ? batch : values->count - first;
    for (size_t i = 0; i < n; i++) {
      const char *text = comp__strings_get(values, first + i);
      pointers[i] = text ? text : "";
    }
    COMP__TRY(write_batch(dataset, type, pointers, first, n));
  }
  COMP__TRY(comp__h5_end(&dataset));
done:
  comp__free(pointers);
  comp__h5_close(&dataset);
  comp__h5_close(&space);
  comp__h5_close(&type);
  return status;
}

comp_status comp__h5_write_text(hid_t parent, const char *path, const char *value) {
  hid_t type = comp__h5_text_type(), space = H5Screate(H5S_SCALAR), dataset = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(create_texts(&dataset, parent, path, type, space, "string"));
  if (H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0)
    status = comp__h5_error(COMP_ERR_IO, "cannot write '%s'", path);
  else
    status = comp__h5_end(&dataset);
done:
  comp__h5_close(&dataset);
  comp__h5_close(&space);
  comp__h5_close(&type);
  return status;
}
