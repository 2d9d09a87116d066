/*
 * csv_write.c: a data set as a text table: row names, the columns of obs, the columns of X.
 *
 * Blocks of rows become text on all threads and are written in order; a gzipped file is one member a block, which every
 * gunzip joins.
 */
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "io/csv.h"
#include "io/number.h"
#include "io/sink.h"

enum {
  BLOCK_VALUES = 128 * 1024, /* values of X a block */
  ROUND_BLOCKS = 16,         /* blocks made before they are written */
  GZIP_LEVEL = 6
};

/* Growing text. */
typedef struct block {
  char *data;
  size_t size;
  size_t capacity;
  char *packed;
  size_t packed_size;
} block;

typedef struct writer {
  const comp_dataset *dataset;
  char delimiter;
  bool gzip;
  size_t step;  /* rows a block */
  size_t first; /* row of the round */
  size_t end;
  block blocks[ROUND_BLOCKS];
} writer;

static comp_status reserve(block *b, size_t more) {
  return comp__grow(&b->data, &b->capacity, b->size, b->size + more, 1);
}

static bool needs_quotes(const char *text, char delimiter) {
  size_t n = strlen(text);
  if (n == 0) return false;
  return strchr(text, delimiter) || strpbrk(text, "\"\r\n") || text[0] == ' ' || text[n - 1] == ' ';
}

static comp_status put_text(block *b, const char *text, char delimiter) {
  size_t n = strlen(text);
  comp_status status = reserve(b, 2 * n + 2);
  if (status != COMP_OK) return status;
  bool quotes = needs_quotes(text, delimiter);
  if (quotes) b->data[b->size++] = '"';
  for (size_t i = 0; i < n; i++) {
    b->data[b->size++] = text[i];
    if (text[i] == '"') b->data[b->size++] = '"';
  }
  if (quotes) b->data[b->size++] = '"';
  return COMP_OK;
}

static comp_status put_char(block *b, char c) {
  comp_status status = reserve(b, 1);
  if (status == COMP_OK) b->data[b->size++] = c;
  return status;
}

/* ------------------------------------------------------------------------------------------------------- header */

/* The text of a string or categorical value; NULL when missing. */
static const char *text_of(const comp_table *table, size_t col, size_t row) {
  if (comp_table_column_kind(table, col) == COMP_COLUMN_STRING) return comp_table_string(table, col, row);
  int32_t code = comp_table_code(table, col, row);
  return code < 0 ? NULL : comp_table_level_name(table, col, code);
}

static bool is_text(const comp_table *table, size_t col) {
  comp_column_kind kind = comp_table_column_kind(table, col);
  return kind == COMP_COLUMN_STRING || kind == COMP_COLUMN_CATEGORICAL;
}

/* Whether a reader would take an obs column for a feature: it looks like numbers. Such a one is marked with "obs:". */
static bool looks_numeric(const comp_table *table, size_t col) {
  size_t present = 0;
  if (comp_table_column_kind(table, col) == COMP_COLUMN_NUMBER) return true;
  if (!is_text(table, col)) return false;
  for (size_t row = 0; row < comp_table_row_count(table); row++) {
    const char *end, *text = text_of(table, col, row);
    double value;
    if (!text) continue;
    if (comp__number_parse(&value, &end, text) == COMP__NUMBER_NONE || *end) return false;
    present++;
  }
  return present > 0;
}

static comp_status put_obs_name(const writer *w, block *b, size_t col) {
  const comp_table *obs = w->dataset->obs;
  const char *name = comp_table_column_name(obs, col);
  const char delimiter = w->delimiter;
  if (!looks_numeric(obs, col) && comp_dataset_find_var(w->dataset, name) == COMP_NOT_FOUND)
    return put_text(b, name, delimiter);
  size_t size = strlen(name) + 5;
  char *marked;
  comp_status status = comp__alloc(&marked, size, 1);
  if (status != COMP_OK) return status;
  snprintf(marked, size, "obs:%s", name);
  status = put_text(b, marked, delimiter);
  comp__free(marked);
  return status;
}

/* The row names have an empty name, which every reader takes for an index. */
static comp_status put_header(const writer *w, block *b) {
  const comp_dataset *d = w->dataset;
  comp_status status = COMP_OK;
  for (size_t col = 0; col < comp_table_column_count(d->obs); col++) {
    COMP__TRY(put_char(b, w->delimiter));
    COMP__TRY(put_obs_name(w, b, col));
  }
  for (size_t col = 0; col < d->features; col++) {
    COMP__TRY(put_char(b, w->delimiter));
    COMP__TRY(put_text(b, comp__strings_get(&d->var_names, col), w->delimiter));
  }
  COMP__TRY(put_char(b, '\n'));
done:
  return status;
}

/* --------------------------------------------------------------------------------------------------------- rows */

static comp_status put_obs(const writer *w, block *b, size_t row) {
  const comp_table *obs = w->dataset->obs;
  comp_status status = COMP_OK;
  char buffer[64];
  for (size_t col = 0; col < comp_table_column_count(obs); col++) {
    COMP__TRY(put_char(b, w->delimiter));
    const char *text =
        is_text(obs, col) ? text_of(obs, col, row) : comp_table_format(obs, col, row, buffer, sizeof buffer);
    if (text) COMP__TRY(put_text(b, text, w->delimiter));
  }
done:
  return status;
}

static void put_number(block *b, char delimiter, float value) {
  b->data[b->size++] = delimiter;
  if (value == 0.0f && !signbit(value))
    b->data[b->size++] = '0';
  else if (!isnan(value)) /* which becomes an empty field */
    b->size += comp__number_format(b->data + b->size, value);
}

static comp_status put_x(const writer *w, block *b, size_t row) {
  const comp_matrix *x = w->dataset->x;
  comp_status status = reserve(b, x->cols * (COMP__NUMBER_SIZE + 1));
  if (status != COMP_OK) return status;
  if (x->kind == COMP_DENSE) {
    for (size_t col = 0; col < x->cols; col++) put_number(b, w->delimiter, x->values[row * x->cols + col]);
    return COMP_OK;
  }
  int64_t k = x->indptr[row], end = x->indptr[row + 1];
  for (size_t col = 0; col < x->cols; col++) {
    bool stored = k < end && x->indices[k] == (int32_t)col;
    put_number(b, w->delimiter, stored ? x->values[k] : 0.0f);
    k += stored;
  }
  return COMP_OK;
}

static comp_status pack(block *b) {
  comp_status status = COMP_OK;
  struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
  if (!compressor) return comp__error(COMP_ERR_MEMORY, "out of memory: could not start to compress");
  size_t bound = libdeflate_gzip_compress_bound(compressor, b->size);
  COMP__TRY(comp__alloc(&b->packed, bound, 1));
  b->packed_size = libdeflate_gzip_compress(compressor, b->data, b->size, b->packed, bound);
done:
  libdeflate_free_compressor(compressor);
  return status;
}

static comp_status make_block(void *arg, size_t begin, size_t end, int thread) {
  (void)end;
  (void)thread;
  const writer *w = arg;
  block *b = &((writer *)arg)->blocks[begin];
  comp_status status = COMP_OK;
  size_t row = w->first + begin * w->step, stop = row + w->step < w->end ? row + w->step : w->end;
  b->size = 0;
  if (row == 0) COMP__TRY(put_header(w, b));
  for (; row < stop; row++) {
    COMP__TRY(put_text(b, comp__strings_get(&w->dataset->obs_names, row), w->delimiter));
    COMP__TRY(put_obs(w, b, row));
    COMP__TRY(put_x(w, b, row));
    COMP__TRY(put_char(b, '\n'));
  }
  if (w->gzip) COMP__TRY(pack(b));
done:
  return status;
}

static comp_status write_blocks(writer *w, comp__sink *sink, size_t count) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < count; i++) {
    block *b = &w->blocks[i];
    COMP__TRY(comp__sink_write(sink, w->gzip ? b->packed : b->data, w->gzip ? b->packed_size : b->size));
    comp__free(b->packed);
    b->packed = NULL;
  }
done:
  return status;
}

static comp_status write_rows(writer *w, comp_context *context, comp__sink *sink) {
  comp_status status = COMP_OK;
  w->end = w->dataset->samples;
  do { /* once at least, for the header */
    size_t left = w->end - w->first, blocks = left / w->step + (left % w->step != 0);
    if (blocks > ROUND_BLOCKS) blocks = ROUND_BLOCKS;
    if (blocks == 0) blocks = 1;
    COMP__TRY(comp__parallel_try(context, blocks, 1, make_block, w));
    COMP__TRY(write_blocks(w, sink, blocks));
    COMP__TRY(comp__check_interrupt(context));
    w->first += blocks * w->step;
  } while (w->first < w->end);
done:
  return status;
}

static bool name_ends(const char *name, const char *suffix) {
  size_t n = strlen(name), m = strlen(suffix);
  return n >= m && strcasecmp(name + n - m, suffix) == 0;
}

comp_status comp__csv_write(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                            const comp__write_options *options) {
  (void)options;
  comp_status status;
  comp__sink sink = COMP__SINK_INIT;
  writer w = {.dataset = dataset, .gzip = name_ends(name, ".gz")};
  w.delimiter = name_ends(name, ".tsv") || name_ends(name, ".tsv.gz") ? '\t' : ',';
  if (!dataset->x) COMP__FAIL(COMP_ERR_DATA, "cannot write %s: the data set has no X", name);
  w.step = BLOCK_VALUES / (dataset->features + 1) + 1;
  COMP__TRY(comp__sink_open(&sink, path, name));
  COMP__TRY(write_rows(&w, context, &sink));
  COMP__TRY(comp__sink_close(&sink));
done:
  comp__sink_abort(&sink);
  for (size_t i = 0; i < ROUND_BLOCKS; i++) {
    comp__free(w.blocks[i].data);
    comp__free(w.blocks[i].packed);
  }
  return status;
}
