/* stream.c: windows of shuffled row blocks, the next one read while the current one is used. */
#include "train/stream.h"

#include <pthread.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "io/rows.h"
#include "train/ahead.h"

/* Blocks a window, when the file is long enough: the more, the better mixed. */
enum { BLOCKS_A_WINDOW = 32, LEAST_BLOCK = 64 };

/* Rows in memory. */
typedef struct window {
  uint64_t epoch;
  size_t number;
  comp_matrix *x;
  size_t *ids; /* [rows of a window] */
} window;

struct comp__stream {
  comp__rows *rows;
  size_t count, cols;
  size_t block, blocks; /* rows a block (the last may have fewer), and how many there are */
  size_t window_blocks;
  uint64_t seed;
  window current, next;
  bool begun; /* `next` is being read, or has been */
  /* What reads ahead: its thread, a context of its own (which says nothing), the order of the blocks, and the lock that
   * it holds while it reads. HDF5 knows one thread at a time. */
  comp__ahead *ahead;
  comp_context *reader;
  comp_context *caller; /* whose functions are called under the lock; NULL: not yet */
  size_t *order;        /* [blocks] */
  pthread_mutex_t reading;
};

size_t comp__stream_rows(const comp__stream *s) {
  return s->count;
}
size_t comp__stream_cols(const comp__stream *s) {
  return s->cols;
}
size_t comp__stream_windows(const comp__stream *s) {
  return (s->blocks + s->window_blocks - 1) / s->window_blocks;
}

size_t comp__stream_window_rows(const comp__stream *s, size_t number) {
  size_t left = s->blocks - number * s->window_blocks;
  return (left < s->window_blocks ? left : s->window_blocks) * s->block;
}

/* Bytes of a row, by the first rows of the file. */
static comp_status row_bytes(double *out, comp_context *context, comp__stream *s) {
  comp_matrix *sample;
  size_t n = s->count < 1000 ? s->count : 1000;
  comp_status status = comp__rows_read(&sample, context, s->rows, 0, n);
  if (status != COMP_OK) return status;
  size_t entry = sample->kind == COMP_CSR ? sizeof(float) + sizeof(int32_t) : sizeof(float);
  *out = 16.0 + (double)(comp_matrix_nnz(sample) * entry) / (double)n;
  comp_matrix_free(sample);
  return COMP_OK;
}

/* A function of the caller's may call the library, which then calls another one. */
static void init_lock(pthread_mutex_t *lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

static comp_status new_reader(comp__stream *s) {
  comp__context_options options = comp__context_defaults();
  options.threads = 1;
  options.log_level = COMP_LOG_NONE;
  comp_status status = comp__context_new(&s->reader, &options);
  return status == COMP_OK ? comp__ahead_new(&s->ahead) : status;
}

comp_status comp__stream_open(comp__stream **out, comp_context *context, const char *path,
                              const comp__read_options *options, size_t memory, uint64_t seed) {
  *out = NULL;
  comp__stream *s;
  double bytes;
  comp_status status = comp__calloc(&s, 1, sizeof *s);
  if (status != COMP_OK) return status;
  s->seed = seed;
  init_lock(&s->reading);
  COMP__TRY(comp__rows_open(&s->rows, context, path, options));
  s->count = comp__rows_count(s->rows);
  s->cols = comp__rows_cols(s->rows);
  if (s->count == 0) COMP__FAIL(COMP_ERR_DATA, "'%s' has no samples", path);
  COMP__TRY(row_bytes(&bytes, context, s));
  /* Half for the window, half for the next one. */
  double rows = (double)memory / 2.0 / bytes;
  s->block = (size_t)(rows / BLOCKS_A_WINDOW);
  if (s->block < LEAST_BLOCK) s->block = LEAST_BLOCK;
  if (s->block > s->count) s->block = s->count;
  s->blocks = (s->count + s->block - 1) / s->block;
  s->window_blocks = (size_t)(rows / (double)s->block);
  if (s->window_blocks < 1) s->window_blocks = 1;
  if (s->window_blocks > s->blocks) s->window_blocks = s->blocks;
  COMP__TRY(comp__alloc(&s->order, s->blocks, sizeof *s->order));
  COMP__TRY(comp__alloc(&s->current.ids, s->window_blocks * s->block, sizeof *s->current.ids));
  COMP__TRY(comp__alloc(&s->next.ids, s->window_blocks * s->block, sizeof *s->next.ids));
  COMP__TRY(new_reader(s));
  comp__info(context, "streaming: %zu windows of at most %zu samples, in blocks of %zu", comp__stream_windows(s),
             s->window_blocks * s->block, s->block);
  *out = s;
done:
  if (status != COMP_OK) comp__stream_close(s);
  return status;
}

static void release_window(window *w) {
  comp_matrix_free(w->x);
  comp__free(w->ids);
}

void comp__stream_close(comp__stream *s) {
  if (!s) return;
  comp__ahead_free(s->ahead);
  if (s->caller) comp__context_guard(s->caller, NULL);
  comp_context_free(s->reader);
  comp__rows_close(s->rows);
  release_window(&s->current);
  release_window(&s->next);
  pthread_mutex_destroy(&s->reading);
  comp__free(s->order);
  comp__free(s);
}

static size_t block_end(const comp__stream *s, size_t block) {
  size_t end = (block + 1) * s->block;
  return end < s->count ? end : s->count;
}

static comp_status read_block(comp_matrix **out, comp_context *context, comp__stream *s, size_t block) {
  return comp__rows_read(out, context, s->rows, block * s->block, block_end(s, block));
}

/* Room for all blocks of a window: read one after the other, none is in memory twice. */
static comp_status make_room(comp_matrix **out, const comp__stream *s, const size_t *blocks, size_t n) {
  size_t rows = 0, entries = 0;
  for (size_t b = 0; b < n; b++) {
    rows += block_end(s, blocks[b]) - blocks[b] * s->block;
    entries += comp__rows_entries(s->rows, blocks[b] * s->block, block_end(s, blocks[b]));
  }
  if (comp__rows_kind(s->rows) == COMP_CSR) return comp_matrix_new_csr(out, rows, s->cols, entries);
  return comp__matrix_new_dense_raw(out, rows, s->cols);
}

/* Copies a block to row `row` of the window, whose entries begin at `at`. */
static void put_block(comp_matrix *to, const comp_matrix *block, size_t row, size_t at) {
  size_t n = comp_matrix_nnz(block);
  memcpy(to->values + at, block->values, n * sizeof *to->values);
  if (to->kind == COMP_DENSE) return;
  memcpy(to->indices + at, block->indices, n * sizeof *to->indices);
  for (size_t i = 0; i < block->rows; i++) to->indptr[row + i + 1] = (int64_t)at + block->indptr[i + 1];
}

/* Reads s->next; on the thread that reads ahead. */
static comp_status read_next(void *arg, const atomic_bool *stop) {
  comp__stream *s = arg;
  window *w = &s->next;
  size_t first = w->number * s->window_blocks, n = s->blocks - first, row = 0, at = 0;
  comp_status status;
  if (n > s->window_blocks) n = s->window_blocks;
  comp__rng_permutation(s->order, s->blocks, comp__rng_at(s->seed, COMP__RNG_SHUFFLE, w->epoch, UINT64_MAX));
  COMP__TRY(make_room(&w->x, s, s->order + first, n));
  for (size_t b = 0; b < n && !atomic_load(stop); b++) {
    comp_matrix *block;
    pthread_mutex_lock(&s->reading);
    status = read_block(&block, s->reader, s, s->order[first + b]);
    pthread_mutex_unlock(&s->reading);
    if (status != COMP_OK) goto done;
    put_block(w->x, block, row, at);
    at += comp_matrix_nnz(block);
    for (size_t i = 0; i < block->rows; i++) w->ids[row++] = s->order[first + b] * s->block + i;
    comp_matrix_free(block);
  }
done:
  return status;
}

static void begin_next(comp__stream *s, uint64_t epoch, size_t number) {
  s->next.epoch = epoch;
  s->next.number = number;
  comp_matrix_free(s->next.x);
  s->next.x = NULL;
  s->begun = true;
  comp__ahead_start(s->ahead, read_next, s);
}

/* What was read ahead is not wanted: after a stop, say. It is read again when it is. */
static void forget_next(comp__stream *s) {
  (void)comp__ahead_wait(s->ahead, NULL);
  s->begun = false;
}

comp_status comp__stream_window(const comp_matrix **x, const size_t **ids, comp_context *context, comp__stream *s,
                                uint64_t epoch, size_t number) {
  comp_status status;
  if (!s->caller) comp__context_guard(s->caller = context, &s->reading);
  if (s->begun && (s->next.epoch != epoch || s->next.number != number)) forget_next(s);
  if (!s->begun) begin_next(s, epoch, number);
  status = comp__ahead_wait(s->ahead, context);
  s->begun = status == COMP_ERR_INTERRUPTED; /* then it may still run */
  if (status != COMP_OK) return status;
  window old = s->current;
  s->current = s->next;
  s->next = old;
  const bool last = number + 1 == comp__stream_windows(s);
  begin_next(s, last ? epoch + 1 : epoch, last ? 0 : number + 1); /* frees the old one first */
  *x = s->current.x;
  *ids = s->current.ids;
  return COMP_OK;
}

comp_status comp__stream_scan(comp_context *context, comp__stream *s, comp__stream_fn fn, void *arg) {
  comp_status status = COMP_OK;
  if (s->begun) forget_next(s);
  comp__progress_begin(context, "looking through the data", "samples", s->count);
  for (size_t b = 0; status == COMP_OK && b < s->blocks; b++) {
    comp_matrix *block = NULL;
    status = read_block(&block, context, s, b);
    if (status == COMP_OK) status = fn(arg, block, b * s->block);
    if (status == COMP_OK) status = comp__check_interrupt(context);
    if (block) comp__progress_update(context, b * s->block + block->rows, NULL);
    comp_matrix_free(block);
  }
  comp__progress_end(context);
  return status;
}

comp_status comp__scan(comp_context *context, const comp_matrix *x, comp__stream *stream, comp__stream_fn fn,
                       void *arg) {
  return stream ? comp__stream_scan(context, stream, fn, arg) : fn(arg, x, 0);
}
