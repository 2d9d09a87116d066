/* stream.c: windows of shuffled row blocks, the next one read while the current one is used. */
#include "train/stream.h"

#include <pthread.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "io/rows.h"
#include "train/ahead.h"
#include "train/spread.h"

/* Blocks a window, when the file is long enough: the more, the better mixed. */
enum { BLOCKS_A_WINDOW = 32, LEAST_BLOCK = 64 };

/* The first rows: how large rows are, and whether ranks have the same ones. */
enum { SAMPLE_ROWS = 1000 };

/* Rows in memory. */
typedef struct window {
  uint64_t epoch;
  size_t number;
  comp_matrix *x;                    /* this rank's rows of it */
  size_t room_rows, room_entries;    /* of x, which is used again: new memory costs a fifth of the reading */
  size_t *ids;                       /* [rows of a window] */
  size_t part[COMP__MOST_RANKS + 1]; /* where the rows of each rank begin, and the window ends */
} window;

struct comp__stream {
  comp__rows *rows;
  size_t count, cols;
  size_t block, blocks; /* rows a block (the last may have fewer), and how many there are */
  size_t window_blocks;
  uint64_t seed;
  bool kept; /* one window, all rows in their order, read once */
  comp__comm *comm;
  comp__spread *spread; /* NULL: this process reads all */
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
  size_t n = s->count < SAMPLE_ROWS ? s->count : SAMPLE_ROWS;
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

/* A block of kept rows has about so many bytes, and a multiple of KEPT_UNIT rows, so that who works on blocks of rows
 * in a pass over them has the same blocks as with data in memory. */
enum { KEPT_BYTES = 8 << 20, KEPT_UNIT = 256 };

/* Cuts the file into the blocks of one window. */
static void cut_kept(comp__stream *s) {
  s->block = (size_t)((double)s->count * KEPT_BYTES / ((double)comp__rows_bytes(s->rows) + 1.0));
  s->block = s->block < KEPT_UNIT ? KEPT_UNIT : s->block / KEPT_UNIT * KEPT_UNIT;
  s->blocks = s->window_blocks = (s->count + s->block - 1) / s->block;
}

/* Cuts the file into blocks and windows. */
static comp_status cut_file(comp__stream *s, comp_context *context, size_t memory) {
  double bytes;
  comp_status status = row_bytes(&bytes, context, s);
  if (status != COMP_OK) return status;
  /* Half for the window, half for the next one. */
  double rows = (double)memory / 2.0 / bytes;
  s->block = (size_t)(rows / BLOCKS_A_WINDOW);
  if (s->block < LEAST_BLOCK) s->block = LEAST_BLOCK;
  if (s->block > s->count) s->block = s->count;
  s->blocks = (s->count + s->block - 1) / s->block;
  s->window_blocks = (size_t)(rows / (double)s->block);
  if (s->window_blocks < 1) s->window_blocks = 1;
  if (s->window_blocks > s->blocks) s->window_blocks = s->blocks;
  return COMP_OK;
}

comp_status comp__stream_open(comp__stream **out, comp_context *context, const char *path,
                              const comp__read_options *options, size_t memory, uint64_t seed) {
  *out = NULL;
  comp__stream *s;
  comp_status status = comp__calloc(&s, 1, sizeof *s);
  if (status != COMP_OK) return status;
  s->seed = seed;
  s->kept = memory == COMP__STREAM_KEPT;
  init_lock(&s->reading);
  COMP__TRY(comp__rows_open(&s->rows, context, path, options));
  s->count = comp__rows_count(s->rows);
  s->cols = comp__rows_cols(s->rows);
  if (s->count == 0) COMP__FAIL(COMP_ERR_DATA, "'%s' has no samples", path);
  if (s->kept)
    cut_kept(s);
  else
    COMP__TRY(cut_file(s, context, memory));
  COMP__TRY(comp__alloc(&s->order, s->blocks, sizeof *s->order));
  COMP__TRY(comp__alloc(&s->current.ids, s->window_blocks * s->block, sizeof *s->current.ids));
  COMP__TRY(comp__alloc(&s->next.ids, s->window_blocks * s->block, sizeof *s->next.ids));
  COMP__TRY(new_reader(s));
  if (!s->kept)
    comp__info(context, "streaming: %zu window%s of at most %zu samples, in blocks of %zu", comp__stream_windows(s),
               comp__stream_windows(s) == 1 ? "" : "s", s->window_blocks * s->block, s->block);
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
  comp__spread_free(s->spread);
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

/* Rows of a window that lie together in the file: those of block `block` of which this rank has a part. */
typedef struct stretch {
  size_t begin, end; /* in the file */
} stretch;

/* What this rank has of a block whose first row is row `row` of the window. */
static stretch own_of(const comp__stream *s, const window *w, size_t block, size_t row) {
  const size_t rank = comp__comm_rank(s->comm), first = block * s->block, n = block_end(s, block) - first;
  const size_t begin = w->part[rank] > row ? w->part[rank] - row : 0;
  const size_t end = w->part[rank + 1] > row ? w->part[rank + 1] - row : 0;
  return (stretch){first + (begin < n ? begin : n), first + (end < n ? end : n)};
}

/* Names the rows of a window, and says who has which. */
static void list_rows(const comp__stream *s, window *w, const size_t *blocks, size_t n) {
  const size_t ranks = comp__comm_ranks(s->comm);
  size_t rows = 0;
  for (size_t b = 0; b < n; b++)
    for (size_t id = blocks[b] * s->block; id < block_end(s, blocks[b]); id++) w->ids[rows++] = id;
  for (size_t r = 0; r <= ranks; r++) w->part[r] = comp__comm_cut(rows, r, ranks);
}

static comp_status new_matrix(comp_matrix **out, const comp__stream *s, size_t rows, size_t entries) {
  if (comp__rows_kind(s->rows) == COMP_CSR) return comp_matrix_new_csr(out, rows, s->cols, entries);
  return comp__matrix_new_dense_raw(out, rows, s->cols);
}

/* Makes x of what is there if that is enough, else new, with an eighth to spare: windows differ little. Memory that
 * nothing was written to takes no place. */
static comp_status use_room(window *w, const comp__stream *s, size_t rows, size_t entries) {
  if (!w->x || rows > w->room_rows || entries > w->room_entries) {
    comp_matrix_free(w->x);
    w->x = NULL;
    w->room_rows = rows + rows / 8;
    w->room_entries = entries + entries / 8;
    comp_status status = new_matrix(&w->x, s, w->room_rows, w->room_entries);
    if (status != COMP_OK) return status;
  }
  w->x->rows = rows;
  return COMP_OK;
}

/* Room for this rank's rows of a window: read one block after the other, none is in memory twice. */
static comp_status make_room(window *w, const comp__stream *s, const size_t *blocks, size_t n) {
  size_t rows = 0, entries = 0, row = 0;
  for (size_t b = 0; b < n; b++) {
    const stretch own = own_of(s, w, blocks[b], row);
    rows += own.end - own.begin;
    entries += comp__rows_entries(s->rows, own.begin, own.end);
    row += block_end(s, blocks[b]) - blocks[b] * s->block;
  }
  if (!s->kept) return use_room(w, s, rows, entries);
  comp_matrix_free(w->x); /* of a reading that was interrupted */
  w->x = NULL;
  /* As data in memory: in a scratch file where it is too large. The caller waits meanwhile. */
  if (comp__rows_kind(s->rows) == COMP_CSR) return comp__matrix_new_csr_in(&w->x, s->caller, rows, s->cols, entries);
  return comp__matrix_new_dense_in(&w->x, s->caller, rows, s->cols);
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
  size_t first = w->number * s->window_blocks, n = s->blocks - first, row = 0, own_row = 0, at = 0;
  comp_status status;
  if (n > s->window_blocks) n = s->window_blocks;
  if (s->kept)
    for (size_t b = 0; b < n; b++) s->order[b] = b;
  else
    comp__rng_permutation(s->order, s->blocks, comp__rng_at(s->seed, COMP__RNG_SHUFFLE, w->epoch, UINT64_MAX));
  list_rows(s, w, s->order + first, n);
  COMP__TRY(make_room(w, s, s->order + first, n));
  for (size_t b = 0; b < n && !atomic_load(stop); b++) {
    const stretch own = own_of(s, w, s->order[first + b], row);
    row += block_end(s, s->order[first + b]) - s->order[first + b] * s->block;
    if (own.begin == own.end) continue;
    pthread_mutex_lock(&s->reading);
    status = comp__rows_read_to(w->x, own_row, at, s->reader, s->rows, own.begin, own.end);
    pthread_mutex_unlock(&s->reading);
    if (status != COMP_OK) goto done;
    at += comp__rows_entries(s->rows, own.begin, own.end);
    own_row += own.end - own.begin;
  }
done:
  return status;
}

static void begin_next(comp__stream *s, uint64_t epoch, size_t number) {
  s->next.epoch = epoch;
  s->next.number = number;
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
  if (s->kept && s->current.x) goto there;
  if (s->begun && (s->next.epoch != epoch || s->next.number != number)) forget_next(s);
  if (!s->begun) begin_next(s, epoch, number);
  status = comp__ahead_wait(s->ahead, context);
  s->begun = status == COMP_ERR_INTERRUPTED; /* then it may still run */
  if (status != COMP_OK) return status;
  window old = s->current;
  s->current = s->next;
  s->next = old;
  const bool last = number + 1 == comp__stream_windows(s);
  if (!s->kept) begin_next(s, last ? epoch + 1 : epoch, last ? 0 : number + 1); /* over the old one */
there:
  *x = s->current.x;
  *ids = s->current.ids;
  return COMP_OK;
}

size_t comp__stream_rows_now(const comp__stream *s) {
  return s->current.part[comp__comm_ranks(s->comm)];
}

bool comp__stream_is_kept(const comp__stream *s) {
  return s->kept;
}

/* ---- Over ranks ---- */

comp_status comp__stream_share(comp__stream *s, comp__comm *comm) {
  if (comp__comm_ranks(comm) == 1) return COMP_OK;
  s->comm = comm;
  return comp__spread_new(&s->spread, comm);
}

bool comp__stream_is_shared(const comp__stream *s) {
  return s->spread != NULL;
}

static size_t length_of(const void *arg, size_t row) {
  const comp__stream *s = arg;
  return comp__rows_entries(s->rows, s->current.ids[row], s->current.ids[row] + 1);
}

comp_status comp__stream_take(const comp_matrix **out, comp_context *context, comp__stream *s, const size_t *rows,
                              const size_t *from, const size_t *to) {
  const comp__spread_window now = {s->current.x, s->current.part, length_of, s};
  return comp__spread_take(out, context, s->spread, &now, rows, from, to);
}

comp_status comp__stream_digest(uint64_t *out, comp_context *context, comp__stream *s) {
  const size_t n = s->count < SAMPLE_ROWS ? s->count : SAMPLE_ROWS;
  comp_matrix *first;
  comp_status status = comp__rows_read(&first, context, s->rows, 0, n);
  if (status != COMP_OK) return status;
  const size_t shape[] = {s->count, s->cols, comp__rows_kind(s->rows)};
  uint64_t digest = comp__mix(1, shape, sizeof shape);
  for (size_t i = 0; first->kind == COMP_CSR && i < s->count; i++) {
    const size_t length = comp__rows_entries(s->rows, i, i + 1);
    digest = comp__mix(digest, &length, sizeof length);
  }
  if (first->kind == COMP_CSR) digest = comp__mix(digest, first->indices, comp_matrix_nnz(first) * sizeof(int32_t));
  *out = comp__mix(digest, first->values, comp_matrix_nnz(first) * sizeof(float));
  comp_matrix_free(first);
  return COMP_OK;
}

/* Who has which of rows begin .. end - 1 in a pass: part [ranks + 1]. Kept rows are with their rank already. */
static void share_rows(size_t *part, const comp__stream *s, size_t begin, size_t end) {
  const size_t ranks = comp__comm_ranks(s->comm);
  for (size_t r = 0; r <= ranks; r++) {
    const size_t kept = s->current.part[r];
    part[r] = !s->kept ? begin + comp__comm_cut(end - begin, r, ranks) : kept < begin ? begin : kept > end ? end : kept;
  }
}

/* Puts this rank's rows, begin .. end - 1 of the file, to row `row` of `to`, whose entries begin at `at`. */
static comp_status put_own(comp_matrix *to, comp_context *context, comp__stream *s, size_t begin, size_t end,
                           size_t row, size_t at) {
  comp_matrix *own;
  if (begin == end) return COMP_OK;
  if (s->kept) {
    const size_t first = begin - s->current.part[comp__comm_rank(s->comm)];
    const size_t from = comp__matrix_row_begin(s->current.x, first);
    const size_t n = comp__matrix_row_begin(s->current.x, first + end - begin) - from;
    memcpy(to->values + at, s->current.x->values + from, n * sizeof *to->values);
    if (to->kind == COMP_CSR) memcpy(to->indices + at, s->current.x->indices + from, n * sizeof *to->indices);
    return COMP_OK;
  }
  comp_status status = comp__rows_read(&own, context, s->rows, begin, end);
  if (status != COMP_OK) return status;
  put_block(to, own, row, at);
  comp_matrix_free(own);
  return COMP_OK;
}

/* Rows begin .. end - 1 of the file: each rank has a part of them, which the others get from it. */
static comp_status read_together(comp_matrix **out, comp_context *context, comp__stream *s, size_t begin, size_t end) {
  const size_t rank = comp__comm_rank(s->comm), ranks = comp__comm_ranks(s->comm), n = end - begin;
  size_t part[COMP__MOST_RANKS + 1], entry[COMP__MOST_RANKS + 1];
  comp_matrix *all = NULL;
  comp_status status;
  *out = NULL;
  if (!s->spread) return comp__rows_read(out, context, s->rows, begin, end);
  share_rows(part, s, begin, end);
  for (size_t r = 0; r <= ranks; r++) entry[r] = comp__rows_entries(s->rows, begin, part[r]);
  COMP__TRY(new_matrix(&all, s, n, entry[ranks]));
  COMP__TRY(put_own(all, context, s, part[rank], part[rank + 1], part[rank] - begin, entry[rank]));
  COMP__TRY(comp__comm_collect(s->comm, context, all->values, entry, sizeof *all->values, COMP__TO_ALL));
  if (all->kind == COMP_CSR) {
    COMP__TRY(comp__comm_collect(s->comm, context, all->indices, entry, sizeof *all->indices, COMP__TO_ALL));
    for (size_t i = 0; i < n; i++) all->indptr[i + 1] = (int64_t)comp__rows_entries(s->rows, begin, begin + i + 1);
  }
  *out = all;
  return COMP_OK;
done:
  comp_matrix_free(all);
  return status;
}

/* ---- Passes over the file ---- */

comp_status comp__stream_scan(comp_context *context, comp__stream *s, comp__stream_fn fn, void *arg) {
  const size_t step = s->block, *ids;
  const comp_matrix *x;
  comp_status status = s->kept ? comp__stream_window(&x, &ids, context, s, 0, 0) : COMP_OK;
  if (s->begun) forget_next(s);
  comp__progress_begin(context, "looking through the data", "samples", s->count);
  for (size_t begin = 0; status == COMP_OK && begin < s->count; begin += step) {
    const size_t end = s->count - begin < step ? s->count : begin + step;
    comp_matrix *block = NULL;
    status = read_together(&block, context, s, begin, end);
    if (status == COMP_OK) status = fn(arg, block, begin);
    if (status == COMP_OK) status = comp__check_interrupt(context);
    if (block) comp__progress_update(context, end, NULL);
    comp_matrix_free(block);
  }
  comp__progress_end(context);
  return status;
}

comp_status comp__scan(comp_context *context, const comp_matrix *x, comp__stream *stream, comp__stream_fn fn,
                       void *arg) {
  return stream ? comp__stream_scan(context, stream, fn, arg) : fn(arg, x, 0);
}
