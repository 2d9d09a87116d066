/* array.c: opening a dataset of numbers, and reading it where HDF5 has to do the work. */
#include "io/h5/array.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "io/h5/heap.h"

/* Bytes that are read at a time, and numbers that a thread converts at a time. */
enum { BLOCK_BYTES = 4 << 20, CONVERT_CHUNK = 1 << 16 };

static bool machine_is_little_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 1;
}

/* IEEE floats of 2, 4 and 8 bytes; anything else is left to HDF5. */
static bool is_ieee(hid_t type, size_t size) {
  size_t sign, exponent, exponent_size, mantissa, mantissa_size;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) < 0) return false;
  size_t wanted = size == 2 ? 5 : size == 4 ? 8 : 11;
  return (size == 2 || size == 4 || size == 8) && sign == size * 8 - 1 && mantissa == 0 && exponent_size == wanted &&
         mantissa_size == size * 8 - 1 - wanted && exponent == mantissa_size &&
         H5Tget_ebias(type) == ((size_t)1 << (wanted - 1)) - 1 && H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

/* How a type of class INTEGER or FLOAT is stored. */
static comp__number describe(hid_t type) {
  comp__number number = {COMP__NUMBER_OTHER, H5Tget_size(type), false};
  H5T_class_t class = H5Tget_class(type);
  H5T_order_t order = H5Tget_order(type);
  bool whole = H5Tget_precision(type) == number.size * 8 && H5Tget_offset(type) == 0;
  bool usual = number.size == 1 || number.size == 2 || number.size == 4 || number.size == 8;
  if (!whole || !usual || (order != H5T_ORDER_LE && order != H5T_ORDER_BE)) return number;
  if (class == H5T_INTEGER)
    number.kind = H5Tget_sign(type) == H5T_SGN_NONE ? COMP__NUMBER_UINT : COMP__NUMBER_INT;
  else if (is_ieee(type, number.size))
    number.kind = COMP__NUMBER_FLOAT;
  number.swap = number.size > 1 && (order == H5T_ORDER_LE) != machine_is_little_endian();
  return number;
}

static comp_status find_type(comp__h5_array *a) {
  hid_t type = H5Dget_type(a->dataset), base = H5I_INVALID_HID;
  comp_status status = COMP_OK;
  if (type < 0) COMP__FAIL(COMP_ERR_FORMAT, "%s has no readable type", a->where);
  a->boolean = comp__h5_is_bool(type);
  if (a->boolean) base = H5Tget_super(type);
  H5T_class_t class = H5Tget_class(base >= 0 ? base : type);
  if (class != H5T_INTEGER && class != H5T_FLOAT) COMP__FAIL(COMP_ERR_FORMAT, "%s does not hold numbers", a->where);
  a->integer = class == H5T_INTEGER;
  a->number = describe(base >= 0 ? base : type);
done:
  comp__h5_close(&base);
  comp__h5_close(&type);
  return status;
}

comp_status comp__h5_array_type(comp__number *out, bool *boolean, hid_t dataset) {
  comp__h5_array array = {.dataset = dataset};
  comp__h5_where(dataset, array.where, sizeof array.where);
  comp_status status = find_type(&array);
  *out = array.number;
  if (status == COMP_OK && array.integer && out->kind == COMP__NUMBER_OTHER)
    *out = (comp__number){COMP__NUMBER_INT, 8, false}; /* of an odd length: HDF5 converts it */
  *boolean = array.boolean;
  return status;
}

static bool read_filters(comp__h5_array *a, hid_t list) {
  a->n_filters = H5Pget_nfilters(list);
  if (a->n_filters < 0 || a->n_filters > COMP__H5_MOST_FILTERS) return false;
  for (int i = 0; i < a->n_filters; i++) {
    unsigned flags, values[8] = {0};
    size_t n_values = 8;
    H5Z_filter_t id = H5Pget_filter2(list, (unsigned)i, &flags, &n_values, values, 0, NULL, NULL);
    a->filters[i] = (comp__h5_filter){id, id == H5Z_FILTER_SHUFFLE && n_values > 0 ? values[0] : 1};
    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32 && id != COMP__H5_LZF)
      return false;
  }
  return true;
}

/* Chunks of a shape and with filters that are known here can be decoded here. */
static comp_status find_layout(comp__h5_array *a) {
  hid_t list = H5Dget_create_plist(a->dataset);
  comp_status status = COMP_OK;
  hsize_t chunk[2] = {1, 1};
  unsigned options = 0;
  if (list < 0) COMP__TRY(comp__h5_error(COMP_ERR_FORMAT, "%s has no readable layout", a->where));
  H5D_layout_t layout = H5Pget_layout(list);
  if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(list) > 0))
    COMP__FAIL(COMP_ERR_UNAVAILABLE, "%s is kept in another file; write it as one file first", a->where);
  a->chunked = layout == H5D_CHUNKED;
  a->contiguous = layout == H5D_CONTIGUOUS;
  if (!a->chunked) goto done;
  if (H5Pget_chunk(list, 2, chunk) != a->rank || chunk[0] == 0 || chunk[1] == 0)
    COMP__FAIL(COMP_ERR_FORMAT, "%s has no readable chunks", a->where);
  a->chunk_rows = (size_t)chunk[0];
  a->chunk_cols = a->rank == 2 ? (size_t)chunk[1] : 1;
  bool plain = H5Pget_chunk_opts(list, &options) >= 0 && options == 0;
  a->direct = read_filters(a, list) && plain && a->number.kind != COMP__NUMBER_OTHER;
done:
  comp__h5_close(&list);
  if (status != COMP_OK) H5Eclear2(H5E_DEFAULT);
  return status;
}

comp_status comp__h5_array_open(comp__h5_array *out, hid_t parent, const char *path) {
  *out = (comp__h5_array)COMP__H5_ARRAY_INIT;
  size_t shape[2] = {0, 1};
  comp_status status;
  COMP__TRY(comp__h5_open_dataset(&out->dataset, parent, path));
  comp__h5_where(out->dataset, out->where, sizeof out->where);
  COMP__TRY(comp__h5_shape(shape, &out->rank, 2, out->dataset));
  if (out->rank == 0) COMP__FAIL(COMP_ERR_FORMAT, "%s is a single value, not a list", out->where);
  out->rows = shape[0];
  out->cols = shape[1];
  COMP__TRY(find_type(out));
  COMP__TRY(find_layout(out));
done:
  return status;
}

comp_status comp__h5_array_open_raw(comp__h5_array *out, hid_t dataset) {
  *out = (comp__h5_array)COMP__H5_ARRAY_INIT;
  size_t shape[1] = {1};
  comp_status status;
  out->dataset = dataset;
  H5Iinc_ref(dataset);
  comp__h5_where(dataset, out->where, sizeof out->where);
  COMP__TRY(comp__h5_shape(shape, &out->rank, 1, dataset));
  out->rows = shape[0];
  out->cols = 1;
  hid_t type = H5Dget_type(dataset);
  out->number = (comp__number){COMP__NUMBER_RAW, type < 0 ? 0 : H5Tget_size(type), false};
  if (type >= 0 && H5Tis_variable_str(type) > 0) out->number.size = COMP__H5_REFERENCE; /* the type is of memory */
  comp__h5_close(&type);
  if (out->number.size == 0) COMP__FAIL(COMP_ERR_FORMAT, "%s has no readable type", out->where);
  COMP__TRY(find_layout(out));
done:
  return status;
}

bool comp__h5_array_is_raw(const comp__h5_array *array) {
  return array->rank <= 1 && array->number.kind == COMP__NUMBER_RAW && (array->direct || array->contiguous);
}

/* Reads what is stored in one piece, from the place in the file. */
static comp_status read_contiguous(const comp__h5_array *a, size_t first, size_t rows, void *out) {
  comp__h5_heap heap;
  comp_status status;
  if (comp__h5_heap_open(&heap, a->dataset))
    status = comp__h5_heap_read_stored(&heap, a->dataset, a->number.size, first, rows, out);
  else
    status = comp__error(COMP_ERR_UNAVAILABLE, "%s cannot be read as it is stored", a->where);
  comp__h5_heap_release(&heap);
  return status;
}

void comp__h5_array_close(comp__h5_array *array) {
  comp__h5_close(&array->dataset);
}

comp_status comp__h5_misfit(const comp__h5_array *array, size_t row) {
  return comp__error(COMP_ERR_FORMAT, "%s: number %zu is outside of what is possible there", array->where, row);
}

/* Reads rows through HDF5, as values of `type`. */
static comp_status read_slab(const comp__h5_array *a, hid_t type, size_t first, size_t rows, void *out) {
  hsize_t start[2] = {first, 0}, count[2] = {rows, a->cols};
  comp_status status = comp__h5_check_data(a->dataset);
  if (status != COMP_OK) return comp__error_context(status, "%s", a->where);
  hid_t from = H5Dget_space(a->dataset), to = H5Screate_simple(a->rank, count, NULL);
  bool good = from >= 0 && to >= 0 && H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dread(a->dataset, type, to, from, H5P_DEFAULT, out) >= 0;
  comp__h5_close(&from);
  comp__h5_close(&to);
  if (good) return COMP_OK;
  return comp__h5_error(COMP_ERR_FORMAT, "%s cannot be read", a->where);
}

static hid_t native_type(comp__as as) {
  switch (as) {
  case COMP__AS_F32:
    return H5T_NATIVE_FLOAT;
  case COMP__AS_F64:
    return H5T_NATIVE_DOUBLE;
  case COMP__AS_I32:
    return H5T_NATIVE_INT32;
  case COMP__AS_I64:
    return H5T_NATIVE_INT64;
  case COMP__AS_U64:
    return H5T_NATIVE_UINT64;
  case COMP__AS_RAW:
    break;
  }
  return H5I_INVALID_HID;
}

typedef struct conversion {
  const comp__h5_array *array;
  comp__as as;
  char *from;
  char *to;
  size_t first; /* the number of the first value in the dataset, for messages */
} conversion;

static comp_status convert_part(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const conversion *c = arg;
  comp__number number = c->array->number;
  char *from = c->from + begin * number.size;
  if (number.swap) comp__numbers_swap(from, number.size, end - begin);
  size_t good = comp__numbers_convert(c->to + begin * comp__as_size(c->as), c->as, from, number, end - begin);
  if (good == end - begin) return COMP_OK;
  return comp__h5_misfit(c->array, c->first + begin + good);
}

static bool same_type(comp__number number, comp__as as) {
  return !number.swap && number.kind == comp__as_kind(as) && number.size == comp__as_size(as);
}

/* Rows a block: enough for BLOCK_BYTES, and whole chunks, since HDF5 decodes a chunk again for every block it is in. */
static size_t block_rows(const comp__h5_array *a) {
  size_t bytes = a->number.size * (a->cols > 0 ? a->cols : 1);
  size_t rows = BLOCK_BYTES / bytes;
  if (rows == 0) rows = 1;
  if (!a->chunked) return rows;
  return rows < a->chunk_rows ? a->chunk_rows : rows - rows % a->chunk_rows;
}

/* Contiguous or compact storage, odd filters, odd types: HDF5 reads, and the conversion that it would do on one thread
 * is done here where possible. */
static comp_status read_blocks(comp_context *context, const comp__h5_array *a, comp__as as, size_t first, size_t rows,
                               char *out) {
  char *buffer = NULL;
  hid_t stored = H5I_INVALID_HID;
  bool native = a->number.kind == COMP__NUMBER_OTHER || same_type(a->number, as);
  size_t step = block_rows(a), out_row = a->cols * comp__as_size(as);
  comp_status status = COMP_OK;
  if (step > rows) step = rows;
  if (!native) {
    stored = H5Dget_type(a->dataset);
    COMP__TRY(comp__alloc(&buffer, step * a->cols, a->number.size));
  }
  for (size_t at = 0; at < rows; at += step) {
    size_t n = at + step <= rows ? step : rows - at;
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(read_slab(a, native ? native_type(as) : stored, first + at, n, native ? out + at * out_row : buffer));
    if (native) continue;
    conversion c = {a, as, buffer, out + at * out_row, (first + at) * a->cols};
    COMP__TRY(comp__parallel_try(context, n * a->cols, CONVERT_CHUNK, convert_part, &c));
  }
done:
  comp__h5_close(&stored);
  comp__free(buffer);
  return status;
}

comp_status comp__h5_array_read(comp_context *context, const comp__h5_array *array, comp__as as, size_t first,
                                size_t rows, void *out) {
  bool to_integer = as == COMP__AS_I32 || as == COMP__AS_I64 || as == COMP__AS_U64;
  if (to_integer && !array->integer)
    return comp__error(COMP_ERR_FORMAT, "%s holds floats, where whole numbers are needed", array->where);
  if (rows == 0 || array->cols == 0) return COMP_OK;
  if (as == COMP__AS_RAW && !array->direct) return read_contiguous(array, first, rows, out);
  if (array->direct) return comp__h5_chunks_read(context, array, as, first, rows, out);
  return read_blocks(context, array, as, first, rows, out);
}
