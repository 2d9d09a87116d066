/*
 * chunks.c: reading chunks as they are stored, and undoing their filters on all threads.
 *
 * One batch after the other: the calling thread asks HDF5 for the stored bytes of some chunks, then all threads decode
 * them into the result. Memory beyond the result: one batch, and two chunks a thread.
 */
#include <libdeflate.h>
#include <liblzf/lzf.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "io/h5/array.h"

enum { BATCH_BYTES = 4 << 20, BATCH_CHUNKS = 512 };

/* Chunks beyond this are decoded one at a time: two of them a thread would be too much. */
enum { LARGE_CHUNK = 64 << 20 };

typedef struct stored_chunk {
  size_t row; /* where it starts in the dataset */
  size_t col;
  size_t offset;    /* into the batch's bytes */
  size_t size;      /* 0: not stored, made of fill values */
  unsigned skipped; /* bit i: filter i was not applied */
} stored_chunk;

/* What a thread needs for itself; made when it is first used. */
typedef struct scratch {
  unsigned char *a;
  unsigned char *b;
  struct libdeflate_decompressor *inflater;
} scratch;

typedef struct reading {
  comp_context *context;
  const comp__h5_array *array;
  comp__as as;
  size_t first;
  size_t rows;
  char *out;
  size_t chunk_numbers;
  size_t chunk_bytes;
  size_t capacity; /* of scratch: a chunk and the checksums that filters may have added */
  unsigned char fill[8];
  unsigned char *bytes;
  size_t bytes_capacity;
  size_t bytes_used;
  stored_chunk chunks[BATCH_CHUNKS];
  size_t n_chunks;
  scratch *scratches;
  size_t n_scratches;
} reading;

static comp_status damaged(const reading *r, const stored_chunk *chunk, const char *what) {
  return comp__error(COMP_ERR_FORMAT, "%s: the chunk of row %zu, column %zu %s: the file is damaged", r->array->where,
                     chunk->row, chunk->col, what);
}

/* HDF5's Fletcher checksum: sums of big-endian 16-bit words, an odd byte at the end as the high half of one. */
static uint32_t fletcher32(const unsigned char *data, size_t size) {
  uint32_t sum1 = 0, sum2 = 0;
  size_t words = size / 2;
  while (words > 0) {
    size_t n = words > 360 ? 360 : words; /* as many as cannot overflow 32 bits */
    words -= n;
    for (; n > 0; n--, data += 2) {
      sum1 += (uint32_t)(data[0] << 8 | data[1]);
      sum2 += sum1;
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
  }
  if (size % 2) {
    sum1 += (uint32_t)data[0] << 8;
    sum2 += sum1;
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
  }
  sum1 = (sum1 & 0xffff) + (sum1 >> 16);
  sum2 = (sum2 & 0xffff) + (sum2 >> 16);
  return sum2 << 16 | sum1;
}

static bool checksum_fits(const unsigned char *data, size_t size) {
  uint32_t sum = fletcher32(data, size), low = (uint32_t)data[size] | (uint32_t)data[size + 1] << 8;
  uint32_t stored = low | (uint32_t)data[size + 2] << 16 | (uint32_t)data[size + 3] << 24;
  /* HDF5 before 1.6.3 wrote the bytes of each half in the other order, and its readers accept both. */
  uint32_t old = (sum & 0x00ff00ffu) << 8 | (sum & 0xff00ff00u) >> 8;
  return sum == stored || old == stored;
}

/* Bytes that were grouped by their place within an element go back to their elements. */
static void unshuffle(unsigned char *to, const unsigned char *from, size_t size, size_t element) {
  size_t n = size / element, rest = n * element;
  if (element == 4) {
    for (size_t i = 0; i < n; i++) {
      to[i * 4] = from[i];
      to[i * 4 + 1] = from[n + i];
      to[i * 4 + 2] = from[2 * n + i];
      to[i * 4 + 3] = from[3 * n + i];
    }
  } else {
    for (size_t byte = 0; byte < element; byte++)
      for (size_t i = 0; i < n; i++) to[i * element + byte] = from[byte * n + i];
  }
  memcpy(to + rest, from + rest, size - rest);
}

static comp_status open_scratch(scratch *s, size_t capacity) {
  if (s->inflater) return COMP_OK;
  comp_status status;
  COMP__TRY(comp__alloc(&s->a, capacity, 1));
  COMP__TRY(comp__alloc(&s->b, capacity, 1));
  s->inflater = libdeflate_alloc_decompressor();
  if (!s->inflater) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
done:
  return status;
}

/* Undoes one filter: *data and *size change to the result, in one of the two scratch blocks or in place. */
static comp_status undo(const reading *r, const stored_chunk *chunk, const comp__h5_filter *filter, scratch *s,
                        const unsigned char **data, size_t *size) {
  unsigned char *to = *data == s->a ? s->b : s->a;
  switch (filter->id) {
  case H5Z_FILTER_FLETCHER32:
    if (*size < 4 || !checksum_fits(*data, *size - 4)) return damaged(r, chunk, "fails its checksum");
    *size -= 4;
    return COMP_OK;
  case H5Z_FILTER_SHUFFLE:
    if (*size > r->capacity) return damaged(r, chunk, "is too long");
    if (filter->shuffle <= 1) return COMP_OK;
    unshuffle(to, *data, *size, filter->shuffle);
    break;
  case H5Z_FILTER_DEFLATE:
    if (libdeflate_zlib_decompress(s->inflater, *data, *size, to, r->capacity, size) != LIBDEFLATE_SUCCESS)
      return damaged(r, chunk, "cannot be decompressed");
    break;
  default: /* lzf */
    if (*size > UINT32_MAX || r->capacity > UINT32_MAX) return damaged(r, chunk, "is too long");
    *size = lzf_decompress(*data, (unsigned)*size, to, (unsigned)r->capacity);
    if (*size == 0) return damaged(r, chunk, "cannot be decompressed");
    break;
  }
  *data = to;
  return COMP_OK;
}

/* Undoes the filters, last first; the result is a whole chunk of numbers in a scratch block. */
static comp_status decode(const reading *r, const stored_chunk *chunk, scratch *s, unsigned char **out) {
  const unsigned char *data = r->bytes + chunk->offset;
  size_t size = chunk->size;
  for (int i = r->array->n_filters - 1; i >= 0; i--) {
    if (chunk->skipped >> i & 1) continue;
    comp_status status = undo(r, chunk, &r->array->filters[i], s, &data, &size);
    if (status != COMP_OK) return status;
  }
  if (size != r->chunk_bytes) return damaged(r, chunk, "has the wrong length");
  *out = data == s->b ? s->b : s->a;
  if (data != s->a && data != s->b) memcpy(s->a, data, size); /* no filter: byte swapping needs a block of our own */
  return COMP_OK;
}

/* The rows and columns of a chunk that were asked for. */
typedef struct part {
  size_t begin;
  size_t end;
  size_t cols;
} part;

static part wanted_part(const reading *r, const stored_chunk *chunk) {
  const comp__h5_array *a = r->array;
  part p = {chunk->row > r->first ? chunk->row : r->first, chunk->row + a->chunk_rows, a->chunk_cols};
  if (p.end > r->first + r->rows) p.end = r->first + r->rows;
  if (p.cols > a->cols - chunk->col) p.cols = a->cols - chunk->col;
  return p;
}

/* Where a number goes in the result. */
static char *place_of(const reading *r, size_t row, size_t col) {
  size_t size = r->as == COMP__AS_RAW ? r->array->number.size : comp__as_size(r->as);
  return r->out + ((row - r->first) * r->array->cols + col) * size;
}

/* Converts what was asked for of a decoded chunk to its place in the result. */
static comp_status place(const reading *r, const stored_chunk *chunk, const unsigned char *numbers) {
  const comp__h5_array *a = r->array;
  part p = wanted_part(r, chunk);
  size_t rows_at_once = a->cols == a->chunk_cols ? p.end - p.begin : 1; /* whole rows lie one after the other */
  for (size_t row = p.begin; row < p.end; row += rows_at_once) {
    const unsigned char *from = numbers + (row - chunk->row) * a->chunk_cols * a->number.size;
    size_t n = rows_at_once * p.cols;
    size_t good = comp__numbers_convert(place_of(r, row, chunk->col), r->as, from, a->number, n);
    if (good < n) return comp__h5_misfit(a, row * a->cols + chunk->col + good);
  }
  return COMP_OK;
}

/* A chunk that was never written. */
static comp_status place_fill(const reading *r, const stored_chunk *chunk) {
  part p = wanted_part(r, chunk);
  if (r->as == COMP__AS_RAW) {
    memset(place_of(r, p.begin, 0), 0, (p.end - p.begin) * r->array->number.size);
    return COMP_OK;
  }
  unsigned char value[8], *fill = value;
  memcpy(value, r->fill, sizeof value);
  if (r->array->number.swap) comp__numbers_swap(value, r->array->number.size, 1);
  for (size_t row = p.begin; row < p.end; row++)
    for (size_t col = 0; col < p.cols; col++)
      if (comp__numbers_convert(place_of(r, row, chunk->col + col), r->as, fill, r->array->number, 1) < 1)
        return comp__h5_misfit(r->array, row * r->array->cols + chunk->col + col);
  return COMP_OK;
}

static comp_status decode_one(const reading *r, const stored_chunk *chunk, scratch *s) {
  unsigned char *numbers = NULL;
  if (chunk->size == 0) return place_fill(r, chunk);
  comp_status status = open_scratch(s, r->capacity);
  if (status == COMP_OK) status = decode(r, chunk, s, &numbers);
  if (status != COMP_OK) return status;
  if (r->array->number.swap) comp__numbers_swap(numbers, r->array->number.size, r->chunk_numbers);
  return place(r, chunk, numbers);
}

static comp_status decode_chunks(void *arg, size_t begin, size_t end, int thread) {
  const reading *r = arg;
  comp_status status = COMP_OK;
  for (size_t i = begin; i < end && status == COMP_OK; i++)
    status = decode_one(r, &r->chunks[i], &r->scratches[thread]);
  return status;
}

static comp_status decode_batch(reading *r) {
  comp_status status = comp__check_interrupt(r->context);
  if (status == COMP_OK && r->chunk_bytes > LARGE_CHUNK)
    status = decode_chunks(r, 0, r->n_chunks, 0);
  else if (status == COMP_OK)
    status = comp__parallel_try(r->context, r->n_chunks, 1, decode_chunks, r);
  r->n_chunks = 0;
  r->bytes_used = 0;
  return status;
}

/* Room for a batch: no more than all chunks take together, since most datasets are small. */
static size_t batch_capacity(const reading *r, size_t chunk) {
  hsize_t all = H5Dget_storage_size(r->array->dataset);
  size_t room = all < BATCH_BYTES ? (size_t)all : BATCH_BYTES;
  return room > chunk ? room : chunk;
}

/* Puts one chunk's stored bytes into the batch; a full batch is decoded first. */
static comp_status fetch(reading *r, size_t row, size_t col) {
  hsize_t offset[2] = {row, col}, size = 0;
  stored_chunk chunk = {row, col, 0, 0, 0};
  comp_status status = COMP_OK;
  if (H5Dget_chunk_storage_size(r->array->dataset, offset, &size) < 0) {
    size = 0; /* so says HDF5 of a chunk that was never written */
    H5Eclear2(H5E_DEFAULT);
  }
  /* No filter here lengthens a chunk by much, nor shortens it by more than 1032:1. */
  if (size > 2 * r->capacity + 4096 || (size > 0 && r->chunk_bytes / 1100 > size + 1024))
    return damaged(r, &chunk, "claims a length that it cannot have");
  if (r->n_chunks == BATCH_CHUNKS || (r->n_chunks > 0 && r->bytes_used + size > r->bytes_capacity))
    COMP__TRY(decode_batch(r));
  if (r->bytes_used + size > r->bytes_capacity) {
    comp__free(r->bytes);
    r->bytes = NULL;
    r->bytes_capacity = batch_capacity(r, (size_t)size);
    COMP__TRY(comp__alloc(&r->bytes, r->bytes_capacity, 1));
  }
  chunk.offset = r->bytes_used;
  chunk.size = (size_t)size;
  if (size > 0 && H5Dread_chunk(r->array->dataset, H5P_DEFAULT, offset, &chunk.skipped, r->bytes + r->bytes_used) < 0)
    return comp__h5_error(COMP_ERR_FORMAT, "%s: the chunk of row %zu, column %zu cannot be read", r->array->where, row,
                          col);
  r->bytes_used += (size_t)size;
  r->chunks[r->n_chunks++] = chunk;
done:
  return status;
}

/* The value of numbers that were never written, as stored. */
static void read_fill(reading *r) {
  if (r->array->number.kind == COMP__NUMBER_RAW) return; /* no text: all zero */
  hid_t list = H5Dget_create_plist(r->array->dataset), type = H5Dget_type(r->array->dataset);
  if (list >= 0 && type >= 0) H5Pget_fill_value(list, type, r->fill);
  comp__h5_close(&type);
  comp__h5_close(&list);
}

static comp_status measure(reading *r) {
  const comp__h5_array *a = r->array;
  size_t slack = 4 * COMP__H5_MOST_FILTERS;
  if (!comp__size_mul(&r->chunk_numbers, a->chunk_rows, a->chunk_cols) ||
      !comp__size_mul(&r->chunk_bytes, r->chunk_numbers, a->number.size) || r->chunk_bytes > UINT32_MAX)
    return comp__error(COMP_ERR_FORMAT, "%s has impossibly large chunks", a->where);
  r->capacity = r->chunk_bytes + slack;
  r->n_scratches = (size_t)comp_context_thread_count(r->context);
  return comp__calloc(&r->scratches, r->n_scratches, sizeof *r->scratches);
}

static void release(reading *r) {
  for (size_t i = 0; r->scratches && i < r->n_scratches; i++) {
    comp__free(r->scratches[i].a);
    comp__free(r->scratches[i].b);
    if (r->scratches[i].inflater) libdeflate_free_decompressor(r->scratches[i].inflater);
  }
  comp__free(r->scratches);
  comp__free(r->bytes);
  comp__free(r);
}

comp_status comp__h5_chunks_read(comp_context *context, const comp__h5_array *array, comp__as as, size_t first,
                                 size_t rows, void *out) {
  reading *r = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&r, 1, sizeof *r));
  r->context = context;
  r->array = array;
  r->as = as;
  r->first = first;
  r->rows = rows;
  r->out = out;
  COMP__TRY(measure(r));
  read_fill(r);
  for (size_t row = first - first % array->chunk_rows; row < first + rows; row += array->chunk_rows)
    for (size_t col = 0; col < array->cols; col += array->chunk_cols) COMP__TRY(fetch(r, row, col));
  COMP__TRY(decode_batch(r));
done:
  if (r) release(r);
  return status;
}
