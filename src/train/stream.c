/* stream.c: windows of shuffled row blocks. */
#include "train/stream.h"

#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "io/rows.h"

/* Blocks a window, when the file is long enough: the more, the better mixed. */
enum { BLOCKS_A_WINDOW = 32, LEAST_BLOCK = 64 };

struct comp__stream {
  comp__rows *rows;
  size_t count, cols;
  size_t block, blocks; /* rows a block (the last may have fewer), and how many there are */
  size_t window_blocks;
  uint64_t seed;
  size_t *order; /* [blocks] of the epoch that is drawn */
  uint64_t epoch;
  bool drawn;
  comp_matrix *x;
  size_t *ids; /* [rows of a window] */
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

size_t comp__stream_window_rows(const comp__stream *s, size_t window) {
  size_t left = s->blocks - window * s->window_blocks;
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

comp_status comp__stream_open(comp__stream **out, comp_context *context, const char *path,
                              const comp__read_options *options, size_t memory, uint64_t seed) {
  *out = NULL;
  comp__stream *s;
  double bytes;
  comp_status status = comp__calloc(&s, 1, sizeof *s);
  if (status != COMP_OK) return status;
  s->seed = seed;
  COMP__TRY(comp__rows_open(&s->rows, context, path, options));
  s->count = comp__rows_count(s->rows);
  s->cols = comp__rows_cols(s->rows);
  if (s->count == 0) COMP__FAIL(COMP_ERR_DATA, "'%s' has no samples", path);
  COMP__TRY(row_bytes(&bytes, context, s));
  /* Half for the window: while it is put together, its blocks are in memory twice. */
  double rows = (double)memory / 2.0 / bytes;
  s->block = (size_t)(rows / BLOCKS_A_WINDOW);
  if (s->block < LEAST_BLOCK) s->block = LEAST_BLOCK;
  if (s->block > s->count) s->block = s->count;
  s->blocks = (s->count + s->block - 1) / s->block;
  s->window_blocks = (size_t)(rows / (double)s->block);
  if (s->window_blocks < 1) s->window_blocks = 1;
  if (s->window_blocks > s->blocks) s->window_blocks = s->blocks;
  COMP__TRY(comp__alloc(&s->order, s->blocks, sizeof *s->order));
  COMP__TRY(comp__alloc(&s->ids, s->window_blocks * s->block, sizeof *s->ids));
  comp__info(context, "streaming: %zu windows of at most %zu samples, in blocks of %zu", comp__stream_windows(s),
             s->window_blocks * s->block, s->block);
  *out = s;
done:
  if (status != COMP_OK) comp__stream_close(s);
  return status;
}

void comp__stream_close(comp__stream *s) {
  if (!s) return;
  comp__rows_close(s->rows);
  comp_matrix_free(s->x);
  comp__free(s->order);
  comp__free(s->ids);
  comp__free(s);
}

static comp_status read_block(comp_matrix **out, comp_context *context, comp__stream *s, size_t block) {
  size_t begin = block * s->block, end = begin + s->block < s->count ? begin + s->block : s->count;
  return comp__rows_read(out, context, s->rows, begin, end);
}

comp_status comp__stream_window(const comp_matrix **x, const size_t **ids, comp_context *context, comp__stream *s,
                                uint64_t epoch, size_t window) {
  comp_status status = COMP_OK;
  if (!s->drawn || s->epoch != epoch) {
    comp__rng_permutation(s->order, s->blocks, comp__rng_at(s->seed, COMP__RNG_SHUFFLE, epoch, UINT64_MAX));
    s->epoch = epoch;
    s->drawn = true;
  }
  size_t first = window * s->window_blocks, n = s->blocks - first, row = 0;
  if (n > s->window_blocks) n = s->window_blocks;
  comp_matrix **blocks = NULL;
  comp_matrix_free(s->x);
  s->x = NULL;
  COMP__TRY(comp__calloc(&blocks, n, sizeof(void *)));
  for (size_t b = 0; b < n; b++) {
    COMP__TRY(read_block(&blocks[b], context, s, s->order[first + b]));
    for (size_t i = 0; i < blocks[b]->rows; i++) s->ids[row++] = s->order[first + b] * s->block + i;
  }
  COMP__TRY(comp__matrix_stack(&s->x, blocks, n));
  *x = s->x;
  *ids = s->ids;
done:
  for (size_t b = 0; blocks && b < n; b++) comp_matrix_free(blocks[b]);
  comp__free(blocks);
  return status;
}

comp_status comp__stream_scan(comp_context *context, comp__stream *s, comp__stream_fn fn, void *arg) {
  comp_status status = COMP_OK;
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
