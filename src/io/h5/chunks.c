/*
 * chunks.c: reading chunks as they are stored, and undoing their filters on all threads.
 *
 * One batch after the other: the calling thread asks HDF5 for the stored bytes of some chunks, then all threads decode
 * them into the result. Memory beyond the result: one batch, and two chunks a thread.
 */
#include <libdeflate.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "io/h5/array.h"
#include "io/h5/filters.h"

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

/* Undoes the filters, last first; the result is a whole chunk of numbers in a scratch block. */
static comp_status decode(const reading *r, const stored_chunk *chunk, scratch *s, unsigned char **out) {
  const unsigned char *data = r->bytes + chunk->offset;
  size_t size = chunk->size;
  for (int i = r->array->n_filters - 1; i >= 0; i--) {
    if (chunk->skipped >> i & 1) continue;
    const comp__h5_filter *filter = &r->array->filters[i];
    const char *wrong =
        comp__h5_undo(filter->id, filter->shuffle, s->inflater, &data, &size, data == s->a ? s->b : s->a, r->capacity);
    if (wrong) return damaged(r, chunk, wrong);
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
    /* So says HDF5 of a chunk that was never written, by two lines; more of them: it could not be looked up. */
    if (H5Eget_num(H5E_DEFAULT) > 2) comp__h5_doubt(r->array->dataset, 0);
    size = 0;
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
  H5D_fill_value_t defined;
  if (list < 0 || type < 0 || H5Pfill_value_defined(list, &defined) < 0 ||
      (defined != H5D_FILL_VALUE_UNDEFINED && H5Pget_fill_value(list, type, r->fill) < 0))
    comp__h5_doubt(r->array->dataset, 0);
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
