/* sink.c: compressed datasets, written front to back. */
#include "io/h5/sink.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"

/* The size of a chunk, and how many are compressed at a time: this bounds the memory of an open sink to some 8 MB. */
enum { CHUNK_BYTES = 256 << 10, BATCH_CHUNKS = 16 };

/* What compressing a batch needs. */
struct comp__h5_packer {
  int level;
  size_t element;
  size_t chunk_bytes;
  size_t bound; /* the most that a compressed chunk can take */
  const char *from;
  char *packed; /* BATCH_CHUNKS x bound */
  size_t sizes[BATCH_CHUNKS];
  size_t threads;
  char *shuffled; /* threads x chunk_bytes */
  struct libdeflate_compressor **compressors;
};

static void packer_free(struct comp__h5_packer *p) {
  if (!p) return;
  for (size_t i = 0; p->compressors && i < p->threads; i++)
    if (p->compressors[i]) libdeflate_free_compressor(p->compressors[i]);
  comp__free(p->compressors);
  comp__free(p->shuffled);
  comp__free(p->packed);
  comp__free(p);
}

static comp_status packer_new(struct comp__h5_packer **out, const comp__h5_sink *sink, size_t threads) {
  struct comp__h5_packer *p = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&p, 1, sizeof *p));
  p->level = sink->level;
  p->element = sink->element;
  p->chunk_bytes = sink->chunk_rows * sink->row_bytes;
  p->bound = libdeflate_zlib_compress_bound(NULL, p->chunk_bytes);
  p->threads = threads;
  COMP__TRY(comp__calloc(&p->compressors, threads, sizeof(void *)));
  COMP__TRY(comp__alloc(&p->shuffled, threads, p->chunk_bytes));
  COMP__TRY(comp__alloc(&p->packed, BATCH_CHUNKS, p->bound));
  *out = p;
done:
  if (status != COMP_OK) packer_free(p);
  return status;
}

/* Bytes grouped by their place within an element: counts and indices then compress far better. */
static void shuffle(char *to, const char *from, size_t n, size_t element) {
  for (size_t byte = 0; byte < element; byte++)
    for (size_t i = 0; i < n; i++) to[byte * n + i] = from[i * element + byte];
}

static comp_status pack_chunks(void *arg, size_t begin, size_t end, int thread) {
  struct comp__h5_packer *p = arg;
  struct libdeflate_compressor **compressor = &p->compressors[thread];
  if (!*compressor) *compressor = libdeflate_alloc_compressor(p->level);
  if (!*compressor) return comp__error(COMP_ERR_MEMORY, "out of memory");
  for (size_t i = begin; i < end; i++) {
    const char *from = p->from + i * p->chunk_bytes;
    if (p->element > 1) {
      char *shuffled = p->shuffled + (size_t)thread * p->chunk_bytes;
      shuffle(shuffled, from, p->chunk_bytes / p->element, p->element);
      from = shuffled;
    }
    p->sizes[i] = libdeflate_zlib_compress(*compressor, from, p->chunk_bytes, p->packed + i * p->bound, p->bound);
    if (p->sizes[i] == 0) return comp__error(COMP_ERR_NUMERIC, "a chunk could not be compressed");
  }
  return COMP_OK;
}

static size_t chunk_rows_for(size_t rows, size_t row_bytes) {
  size_t chunk = CHUNK_BYTES / row_bytes;
  if (chunk == 0) chunk = 1;
  return rows < chunk ? rows : chunk;
}

/* Negative: it cannot be made. Chunks are packed here: without one of the filters in the list they would be read as
 * other numbers. */
static hid_t creation_list(const comp__h5_sink *sink, const hsize_t *chunk, int rank) {
  hid_t list = comp__h5_dataset_list();
  bool chunked = sink->chunk_rows > 0, packed = chunked && sink->level > 0, good = list >= 0;
  if (chunked) good = good && H5Pset_chunk(list, rank, chunk) >= 0 && H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0;
  if (packed && sink->element > 1) good = good && H5Pset_shuffle(list) >= 0;
  if (packed) good = good && H5Pset_deflate(list, (unsigned)sink->level) >= 0;
  if (!good) comp__h5_close(&list);
  return list;
}

comp_status comp__h5_sink_open(comp__h5_sink *out, hid_t parent, const char *path, hid_t type, size_t rows, size_t cols,
                               bool flat, int level) {
  *out = (comp__h5_sink)COMP__H5_SINK_INIT;
  out->element = H5Tget_size(type);
  out->flat = flat;
  out->level = level;
  out->growing = rows == COMP__H5_GROWING;
  if (!comp__size_mul(&out->row_bytes, out->element, flat ? 1 : cols) || out->row_bytes > (size_t)1 << 31)
    return comp__error(COMP_ERR_DATA, "'%s' has too many columns to be written: %zu", path, cols);
  if (out->row_bytes > 0) out->chunk_rows = chunk_rows_for(rows, out->row_bytes);
  hsize_t dims[2] = {out->growing ? 0 : rows, cols}, most[2] = {H5S_UNLIMITED, cols},
          chunk[2] = {out->chunk_rows, cols};
  int rank = flat ? 1 : 2;
  hid_t space = H5Screate_simple(rank, dims, out->growing ? most : NULL), links = comp__h5_link_list();
  hid_t list = creation_list(out, chunk, rank);
  out->dataset = H5Dcreate2(parent, path, type, space, links, list, H5P_DEFAULT);
  comp__h5_close(&list);
  comp__h5_close(&links);
  comp__h5_close(&space);
  if (out->dataset < 0) return comp__h5_error(COMP_ERR_IO, "cannot write '%s'", path);
  return COMP_OK;
}

static comp_status grow(comp__h5_sink *sink, size_t rows) {
  hsize_t dims[2] = {sink->written + rows, sink->row_bytes / sink->element};
  if (sink->growing && H5Dset_extent(sink->dataset, dims) < 0) return comp__h5_error(COMP_ERR_IO, "cannot write");
  return COMP_OK;
}

/* Writes the pending rows; only the last batch may end within a chunk, which is then filled up with zeros. */
static comp_status flush(comp_context *context, comp__h5_sink *sink) {
  size_t chunk_bytes = sink->chunk_rows * sink->row_bytes;
  size_t chunks = (sink->pending + sink->chunk_rows - 1) / sink->chunk_rows, used = sink->pending * sink->row_bytes;
  comp_status status;
  COMP__TRY(comp__check_interrupt(context));
  memset(sink->buffer + used, 0, chunks * chunk_bytes - used);
  if (sink->level > 0) {
    if (!sink->packer) COMP__TRY(packer_new(&sink->packer, sink, (size_t)comp_context_thread_count(context)));
    assert(sink->packer);
    sink->packer->from = sink->buffer;
    COMP__TRY(comp__parallel_try(context, chunks, 1, pack_chunks, sink->packer));
  }
  COMP__TRY(grow(sink, sink->pending));
  for (size_t i = 0; i < chunks; i++) {
    hsize_t offset[2] = {sink->written + i * sink->chunk_rows, 0};
    const char *bytes = sink->packer ? sink->packer->packed + i * sink->packer->bound : sink->buffer + i * chunk_bytes;
    if (H5Dwrite_chunk(sink->dataset, H5P_DEFAULT, 0, offset, sink->packer ? sink->packer->sizes[i] : chunk_bytes,
                       bytes) < 0) {
      status = comp__h5_error(COMP_ERR_IO, "cannot write");
      goto done;
    }
  }
  COMP__TRY(comp__h5_written(sink->dataset));
  sink->written += sink->pending;
  sink->pending = 0;
done:
  return status;
}

comp_status comp__h5_sink_append(comp_context *context, comp__h5_sink *sink, const void *rows, size_t count) {
  const char *from = rows;
  size_t room = BATCH_CHUNKS * sink->chunk_rows;
  comp_status status = COMP_OK;
  if (sink->row_bytes == 0) return COMP_OK; /* no columns, no chunks */
  if (!sink->buffer && count > 0) COMP__TRY(comp__alloc(&sink->buffer, room, sink->row_bytes));
  while (count > 0) {
    size_t n = room - sink->pending < count ? room - sink->pending : count;
    memcpy(sink->buffer + sink->pending * sink->row_bytes, from, n * sink->row_bytes);
    sink->pending += n;
    from += n * sink->row_bytes;
    count -= n;
    if (sink->pending == room) COMP__TRY(flush(context, sink));
  }
done:
  return status;
}

comp_status comp__h5_sink_finish(comp_context *context, comp__h5_sink *sink) {
  comp_status status = sink->pending > 0 ? flush(context, sink) : COMP_OK;
  comp__free(sink->buffer);
  packer_free(sink->packer);
  sink->buffer = NULL;
  sink->packer = NULL;
  return status == COMP_OK ? comp__h5_end(&sink->dataset) : status;
}

void comp__h5_sink_release(comp__h5_sink *sink) {
  comp__h5_close(&sink->dataset);
  comp__free(sink->buffer);
  packer_free(sink->packer);
  *sink = (comp__h5_sink)COMP__H5_SINK_INIT;
}

comp_status comp__h5_write_list(comp_context *context, hid_t parent, const char *path, hid_t type, const void *values,
                                size_t count, int level, bool encoded) {
  comp__h5_sink sink;
  comp_status status;
  COMP__TRY(comp__h5_sink_open(&sink, parent, path, type, count, 0, true, level));
  if (encoded) COMP__TRY(comp__h5_put_encoding(sink.dataset, "array", "0.2.0"));
  COMP__TRY(comp__h5_sink_append(context, &sink, values, count));
  COMP__TRY(comp__h5_sink_finish(context, &sink));
done:
  comp__h5_sink_release(&sink);
  return status;
}
