/*
 * mtx.c: Matrix Market files, transposed to CSR while they are read.
 *
 * The text passes through two buffers: while the pieces of one are parsed on all threads, the other is read and
 * inflated. Each piece gives its entries as (row, value) pairs and the columns as runs. Files are nearly always sorted
 * by column, and then the pairs in file order are the CSR arrays already; else they are sorted at the end.
 */
#include "io/mtx.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "io/number.h"

enum {
  BUFFER_SIZE = COMP__BLOCK_SIZE(4 * 1024 * 1024, 128),
  PIECE_SIZE = COMP__BLOCK_SIZE(256 * 1024, 16),
  MOST_PIECES = BUFFER_SIZE / PIECE_SIZE + 1,
  LONGEST_LINE = BUFFER_SIZE / 4,
  SHORTEST_ENTRY = 4, /* bytes of "1 1\n" */
  LONGEST_INDEX = 18, /* digits that cannot overflow */
  ROW_CHUNK = 256
};

typedef enum field { FIELD_INTEGER, FIELD_REAL, FIELD_PATTERN } field;

/* Entries that follow each other in one column of the file. */
typedef struct run {
  int64_t col;
  size_t count;
} run;

typedef struct run_list {
  run *items;
  size_t count;
  size_t capacity;
} run_list;

/* Part of a buffer, whole lines, and what was found in it. */
typedef struct piece {
  const char *begin;
  const char *end;
  int32_t *rows;
  float *values;
  size_t capacity;
  size_t count;
  run_list runs;
  size_t offset; /* of its first entry in the whole */
  comp_status status;
  const char *bad;   /* the line that could not be read */
  char message[160]; /* why */
} piece;

typedef struct buffer {
  char *data;
  size_t size;
} buffer;

typedef struct reader {
  comp_context *context;
  comp__source *source;
  comp__mtx_header header;
  field field;
  size_t buffer_size;
  buffer buffers[2];
  int current;        /* the buffer that is being parsed */
  size_t begin;       /* what of it is not parsed yet */
  bool at_end;        /* of the file */
  comp_status refill; /* of the other buffer */
  char refill_message[512];
  size_t lines; /* before `begin` */
  piece pieces[MOST_PIECES];
  size_t n_pieces;
  comp_matrix *matrix; /* filled in file order */
  size_t capacity;     /* of its arrays */
  size_t count;
  run_list runs;
} reader;

static comp_status add_run(run_list *runs, run item) {
  if (runs->count > 0 && runs->items[runs->count - 1].col == item.col) {
    runs->items[runs->count - 1].count += item.count;
    return COMP_OK;
  }
  comp_status status = comp__grow(&runs->items, &runs->capacity, runs->count, runs->count + 1, sizeof *runs->items);
  if (status == COMP_OK) runs->items[runs->count++] = item;
  return status;
}

/* ------------------------------------------------------------------------------------------------------- buffers */

/* Fills a buffer behind its first `kept` bytes, which are there already. A last line without an end gets one. */
static comp_status fill(reader *r, buffer *b, size_t kept) {
  size_t got, room = r->buffer_size - kept;
  comp_status status = comp__source_read(r->source, b->data + kept, room, &got);
  if (status != COMP_OK) return status;
  b->size = kept + got;
  r->at_end = got < room;
  if (r->at_end && b->size > 0 && b->data[b->size - 1] != '\n') b->data[b->size++] = '\n';
  b->data[b->size] = '\0';
  return COMP_OK;
}

/* The end of the last whole line from `begin` on. */
static size_t last_line_end(const buffer *b, size_t begin) {
  const char *newline = memrchr(b->data + begin, '\n', b->size - begin);
  return newline ? (size_t)(newline - b->data) + 1 : begin;
}

/* --------------------------------------------------------------------------------------------------------- header */

static comp_status fail_line(const reader *r, size_t line, const char *what) {
  return comp__error(COMP_ERR_FORMAT, "%s, line %zu: %s", comp__source_name(r->source), line, what);
}

static bool next_word(const char **p, char *word, size_t size) {
  while (**p == ' ' || **p == '\t') (*p)++;
  size_t n = 0;
  for (; **p && !strchr(" \t\r\n", **p); (*p)++)
    if (n + 1 < size) word[n++] = **p;
  word[n] = '\0';
  return n > 0;
}

static comp_status parse_banner(reader *r, const char *line) {
  char words[5][32];
  const char *p = line;
  for (int i = 0; i < 5; i++) next_word(&p, words[i], sizeof words[i]);
  if (strcasecmp(words[0], "%%MatrixMarket") != 0)
    return fail_line(r, 1, "a Matrix Market file must start with %%MatrixMarket");
  if (strcasecmp(words[1], "matrix") != 0 || strcasecmp(words[2], "coordinate") != 0)
    return fail_line(r, 1, "only 'matrix coordinate' (sparse) Matrix Market files can be read");
  if (strcasecmp(words[4], "general") != 0)
    return fail_line(r, 1, "only 'general' Matrix Market files can be read, not symmetric ones");
  if (strcasecmp(words[3], "integer") == 0)
    r->field = FIELD_INTEGER;
  else if (strcasecmp(words[3], "real") == 0 || strcasecmp(words[3], "double") == 0)
    r->field = FIELD_REAL;
  else if (strcasecmp(words[3], "pattern") == 0)
    r->field = FIELD_PATTERN;
  else
    return fail_line(r, 1, "only integer, real and pattern Matrix Market files can be read");
  return COMP_OK;
}

static const char *skip_space(const char *p) {
  while (*p == ' ' || *p == '\t') p++;
  return p;
}

/* The end of a line: nothing but a carriage return may stand before its newline. NULL when something does. */
static const char *end_line(const char *p) {
  p = skip_space(p);
  if (*p == '\r') p++;
  return *p == '\n' ? p + 1 : NULL;
}

/* A whole number without a sign; NULL when there is none, or it is absurdly long. */
static const char *parse_index(int64_t *out, const char *p) {
  const char *start = p;
  int64_t value = 0;
  unsigned digit;
  while ((digit = (unsigned)(*p - '0')) < 10) {
    value = (int64_t)((uint64_t)value * 10 + digit);
    p++;
  }
  *out = value;
  return p == start || p - start > LONGEST_INDEX ? NULL : p;
}

static comp_status parse_sizes(reader *r, const char *line) {
  int64_t sizes[3];
  const char *p = line;
  for (int i = 0; i < 3; i++)
    if (!(p = parse_index(&sizes[i], skip_space(p))))
      return fail_line(r, r->lines + 1, "three sizes are expected: rows, columns, entries");
  if (!end_line(p)) return fail_line(r, r->lines + 1, "three sizes are expected: rows, columns, entries");
  if (sizes[0] > INT32_MAX) return fail_line(r, r->lines + 1, "more rows than 2147483647 cannot be read");
  r->header = (comp__mtx_header){(size_t)sizes[0], (size_t)sizes[1], (size_t)sizes[2]};
  return COMP_OK;
}

/* The first lines of the file: the banner, comments, the sizes. */
static comp_status parse_head(reader *r) {
  comp_status status;
  buffer *b = &r->buffers[0];
  COMP__TRY(fill(r, b, 0));
  if (b->size == 0) COMP__FAIL(COMP_ERR_FORMAT, "%s is empty", comp__source_name(r->source));
  COMP__TRY(parse_banner(r, b->data));
  for (;;) {
    const char *line = b->data + r->begin, *newline = memchr(line, '\n', b->size - r->begin);
    if (!newline) COMP__FAIL(COMP_ERR_FORMAT, "%s ends before the line of sizes", comp__source_name(r->source));
    bool sizes = *line != '%' && !end_line(line);
    if (sizes) COMP__TRY(parse_sizes(r, line));
    r->begin = (size_t)(newline - b->data) + 1;
    r->lines++;
    if (sizes) break;
  }
done:
  return status;
}

/* -------------------------------------------------------------------------------------------------------- parsing */

static comp_status fail_entry(piece *p, const char *line, const char *what) {
  p->bad = line;
  snprintf(p->message, sizeof p->message, "%s", what);
  return COMP_ERR_FORMAT;
}

static comp_status explain_entry(const reader *r, piece *p, const char *line, int64_t row, int64_t col) {
  char text[160];
  const char *what = row < 1 || (uint64_t)row > r->header.rows ? "row" : "column";
  bool is_row = what[0] == 'r';
  snprintf(text, sizeof text, "%s %lld is outside of 1 .. %zu", what, (long long)(is_row ? row : col),
           is_row ? r->header.rows : r->header.cols);
  return fail_entry(p, line, text);
}

/* The value after the two indices; NULL when it is none. */
static const char *parse_value(float *out, const reader *r, const char *p) {
  if (r->field == FIELD_PATTERN) {
    *out = 1.0f;
    return p;
  }
  int64_t whole;
  const char *end = parse_index(&whole, p);
  if (end && *end != '.' && *end != 'e' && *end != 'E') { /* nearly always, in counts */
    *out = (float)whole;
    return end;
  }
  double value;
  if (comp__number_parse(&value, &end, p) == COMP__NUMBER_NONE) return NULL;
  *out = (float)value;
  return end;
}

static comp_status parse_piece(const reader *r, piece *p) {
  const uint64_t rows = r->header.rows, cols = r->header.cols;
  run now = {-1, 0};
  comp_status status = COMP_OK;
  p->count = 0;
  p->runs.count = 0;
  for (const char *next, *line = p->begin; line < p->end; line = next) {
    int64_t row, col;
    float value;
    const char *s = parse_index(&row, skip_space(line));
    if (!s || (*s != ' ' && *s != '\t')) {
      next = *line == '%' ? (const char *)rawmemchr(line, '\n') + 1 : end_line(line);
      if (next) continue;
      return fail_entry(p, line, "an entry must be a row, a column and a value, with spaces between");
    }
    s = parse_index(&col, skip_space(s));
    if (s) s = parse_value(&value, r, skip_space(s));
    next = s ? end_line(s) : NULL;
    if (!next) return fail_entry(p, line, "an entry must be a row, a column and a value, with spaces between");
    if ((uint64_t)row - 1 >= rows || (uint64_t)col - 1 >= cols) return explain_entry(r, p, line, row, col);
    if (col != now.col) {
      if (now.count > 0) COMP__TRY(add_run(&p->runs, now));
      now = (run){col, 0};
    }
    p->rows[p->count] = (int32_t)(row - 1);
    p->values[p->count++] = value;
    now.count++;
  }
  if (now.count > 0) COMP__TRY(add_run(&p->runs, now));
done:
  return status;
}

/* Room for the most entries that the bytes can hold. */
static comp_status reserve_piece(piece *p) {
  size_t most = (size_t)(p->end - p->begin) / SHORTEST_ENTRY + 1;
  if (most <= p->capacity) return COMP_OK;
  comp__free(p->rows);
  comp__free(p->values);
  p->rows = NULL;
  p->values = NULL;
  p->capacity = 0;
  comp_status status = comp__alloc(&p->rows, most, sizeof *p->rows);
  if (status == COMP_OK) status = comp__alloc(&p->values, most, sizeof *p->values);
  if (status == COMP_OK) p->capacity = most;
  return status;
}

/* Item 0 reads on into the other buffer; the others parse the pieces of this one. */
static void run_item(void *arg, size_t begin, size_t end, int thread) {
  (void)end;
  (void)thread;
  reader *r = arg;
  if (begin > 0) {
    piece *p = &r->pieces[begin - 1];
    p->status = reserve_piece(p);
    if (p->status == COMP_OK) p->status = parse_piece(r, p);
    if (p->status != COMP_OK && !p->bad) fail_entry(p, p->begin, comp_error_message());
    return;
  }
  if (r->at_end) return;
  buffer *from = &r->buffers[r->current], *to = &r->buffers[1 - r->current];
  size_t whole = last_line_end(from, r->begin), kept = from->size - whole;
  memcpy(to->data, from->data + whole, kept);
  r->refill = fill(r, to, kept);
  if (r->refill != COMP_OK) snprintf(r->refill_message, sizeof r->refill_message, "%s", comp_error_message());
}

static void cut_pieces(reader *r, size_t end) {
  const buffer *b = &r->buffers[r->current];
  const char *p = b->data + r->begin, *stop = b->data + end;
  for (r->n_pieces = 0; p < stop; r->n_pieces++) {
    const char *cut = stop - p <= PIECE_SIZE ? stop : (const char *)rawmemchr(p + PIECE_SIZE - 1, '\n') + 1;
    piece *item = &r->pieces[r->n_pieces];
    item->begin = p;
    item->end = p = cut;
    item->status = COMP_OK;
    item->bad = NULL;
  }
}

static comp_status report_piece(const reader *r, const piece *p) {
  const char *start = r->buffers[r->current].data + r->begin;
  if (p->status != COMP_ERR_FORMAT) return comp__error(p->status, "%s: %s", comp__source_name(r->source), p->message);
  return fail_line(r, r->lines + comp__count_lines(start, p->bad) + 1, p->message);
}

static void copy_piece(void *arg, size_t begin, size_t end, int thread) {
  (void)end;
  (void)thread;
  const reader *r = arg;
  const piece *p = &r->pieces[begin];
  memcpy(r->matrix->indices + p->offset, p->rows, p->count * sizeof *p->rows);
  memcpy(r->matrix->values + p->offset, p->values, p->count * sizeof *p->values);
}

/* Appends what the pieces hold, in order. */
static comp_status collect(reader *r) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < r->n_pieces; i++) {
    piece *p = &r->pieces[i];
    if (p->status != COMP_OK) return report_piece(r, p);
    if (p->count > r->capacity - r->count)
      return comp__error(COMP_ERR_FORMAT, "%s holds more entries than the %zu that it announces",
                         comp__source_name(r->source), r->header.entries);
    p->offset = r->count;
    r->count += p->count;
    for (size_t k = 0; k < p->runs.count; k++) COMP__TRY(add_run(&r->runs, p->runs.items[k]));
  }
  comp__parallel_for(r->context, r->n_pieces, 1, copy_piece, r);
done:
  return status;
}

static comp_status parse_entries(reader *r) {
  comp_status status;
  for (;;) {
    buffer *b = &r->buffers[r->current];
    bool last = r->at_end;
    size_t end = last_line_end(b, r->begin);
    if (end == r->begin && b->size - r->begin > LONGEST_LINE)
      return fail_line(r, r->lines + 1, "the line is longer than an entry can be");
    cut_pieces(r, end);
    comp__parallel_for(r->context, r->n_pieces + 1, 1, run_item, r);
    COMP__TRY(collect(r));
    if (r->refill != COMP_OK) COMP__FAIL(r->refill, "%s", r->refill_message);
    if (last) return COMP_OK;
    r->lines += comp__count_lines(b->data + r->begin, b->data + end);
    r->current = 1 - r->current;
    r->begin = 0;
    comp__progress_update(r->context, r->count, NULL);
    COMP__TRY(comp__check_interrupt(r->context));
  }
done:
  return status;
}

/* -------------------------------------------------------------------------------------------------------- sorting */

static bool runs_ascend(const run_list *runs) {
  for (size_t i = 1; i < runs->count; i++)
    if (runs->items[i].col <= runs->items[i - 1].col) return false;
  return true;
}

static void count_columns(reader *r) {
  int64_t *indptr = r->matrix->indptr;
  for (size_t i = 0; i < r->runs.count; i++) indptr[r->runs.items[i].col] += (int64_t)r->runs.items[i].count;
  for (size_t i = 0; i < r->header.cols; i++) indptr[i + 1] += indptr[i];
}

/* Brings the entries of each column together, in file order. */
static comp_status scatter(reader *r) {
  comp_status status;
  comp_matrix *sorted = NULL;
  int64_t *next = NULL;
  size_t from = 0;
  COMP__TRY(comp__matrix_new_csr_in(&sorted, r->context, r->header.cols, r->header.rows, r->count));
  COMP__TRY(comp__alloc(&next, r->header.cols + 1, sizeof *next));
  memcpy(next, r->matrix->indptr, (r->header.cols + 1) * sizeof *next);
  memcpy(sorted->indptr, next, (r->header.cols + 1) * sizeof *next);
  for (size_t i = 0; i < r->runs.count; i++) {
    const run *item = &r->runs.items[i];
    int64_t to = next[item->col - 1];
    memcpy(sorted->indices + to, r->matrix->indices + from, item->count * sizeof *sorted->indices);
    memcpy(sorted->values + to, r->matrix->values + from, item->count * sizeof *sorted->values);
    next[item->col - 1] += (int64_t)item->count;
    from += item->count;
  }
  comp_matrix_free(r->matrix);
  r->matrix = sorted;
done:
  comp__free(next);
  return status;
}

typedef struct entry {
  int32_t col;
  float value;
} entry;

static int compare_entries(const void *a, const void *b) {
  int32_t x = ((const entry *)a)->col, y = ((const entry *)b)->col;
  return (x > y) - (x < y);
}

static comp_status sort_row(comp_matrix *matrix, size_t row) {
  size_t begin = (size_t)matrix->indptr[row], n = (size_t)matrix->indptr[row + 1] - begin;
  entry *entries;
  comp_status status = comp__alloc(&entries, n, sizeof *entries);
  if (status != COMP_OK) return status;
  for (size_t k = 0; k < n; k++) entries[k] = (entry){matrix->indices[begin + k], matrix->values[begin + k]};
  qsort(entries, n, sizeof *entries, compare_entries);
  for (size_t k = 0; k < n; k++) {
    matrix->indices[begin + k] = entries[k].col;
    matrix->values[begin + k] = entries[k].value;
  }
  comp__free(entries);
  return COMP_OK;
}

static bool row_ascends(const comp_matrix *matrix, size_t row) {
  bool ascends = true;
  for (int64_t k = matrix->indptr[row] + 1; k < matrix->indptr[row + 1]; k++)
    ascends &= matrix->indices[k] > matrix->indices[k - 1];
  return ascends;
}

static comp_status sort_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  reader *r = arg;
  comp_matrix *matrix = r->matrix;
  for (size_t row = begin; row < end; row++) {
    if (row_ascends(matrix, row)) continue;
    comp_status status = sort_row(matrix, row);
    if (status != COMP_OK) return status;
    for (int64_t k = matrix->indptr[row] + 1; k < matrix->indptr[row + 1]; k++)
      if (matrix->indices[k] == matrix->indices[k - 1])
        return comp__error(COMP_ERR_FORMAT, "%s holds the entry of row %d, column %zu twice",
                           comp__source_name(r->source), matrix->indices[k] + 1, row + 1);
  }
  return COMP_OK;
}

static comp_status sort_entries(reader *r) {
  comp_status status = COMP_OK;
  count_columns(r);
  if (!runs_ascend(&r->runs)) COMP__TRY(scatter(r));
  COMP__TRY(comp__parallel_try(r->context, r->header.cols, ROW_CHUNK, sort_rows, r));
done:
  return status;
}

/* ---------------------------------------------------------------------------------------------------------- whole */

static void release(reader *r) {
  for (int i = 0; i < 2; i++) comp__free(r->buffers[i].data);
  for (size_t i = 0; i < MOST_PIECES; i++) {
    comp__free(r->pieces[i].rows);
    comp__free(r->pieces[i].values);
    comp__free(r->pieces[i].runs.items);
  }
  comp__free(r->runs.items);
  comp_matrix_free(r->matrix);
  comp__free(r);
}

/* An announced number of entries is believed only as far as the file could hold them. */
static comp_status make_matrix(reader *r) {
  size_t most = comp__source_limit(r->source) / SHORTEST_ENTRY + 1;
  r->capacity = r->header.entries;
  if (r->capacity > most)
    return comp__error(COMP_ERR_FORMAT, "%s announces %zu entries, more than a file of its size can hold",
                       comp__source_name(r->source), r->header.entries);
  return comp__matrix_new_csr_in(&r->matrix, r->context, r->header.cols, r->header.rows, r->capacity);
}

static comp_status read_body(comp_matrix **out, reader *r) {
  comp_status status;
  COMP__TRY(make_matrix(r));
  comp__progress_begin(r->context, "reading the matrix", "entries", r->header.entries);
  status = parse_entries(r);
  comp__progress_end(r->context);
  if (status != COMP_OK) return status;
  if (r->count < r->header.entries)
    COMP__FAIL(COMP_ERR_FORMAT, "%s announces %zu entries but holds only %zu: is it cut short?",
               comp__source_name(r->source), r->header.entries, r->count);
  COMP__TRY(sort_entries(r));
  *out = r->matrix;
  r->matrix = NULL;
done:
  return status;
}

comp_status comp__mtx_read(comp_matrix **out, comp_context *context, comp__source *source,
                           comp_status (*check)(const void *user, const comp__mtx_header *header), const void *user) {
  comp_status status;
  reader *r = NULL;
  if (out) *out = NULL;
  COMP__TRY(comp__calloc(&r, 1, sizeof *r));
  r->context = context;
  r->source = source;
  size_t limit = comp__source_limit(source); /* a small file needs no large buffers */
  r->buffer_size = limit < BUFFER_SIZE ? limit + 1 : BUFFER_SIZE;
  for (int i = 0; i < 2; i++) COMP__TRY(comp__alloc(&r->buffers[i].data, r->buffer_size + 2, 1));
  COMP__TRY(parse_head(r));
  if (check) COMP__TRY(check(user, &r->header));
  if (out) COMP__TRY(read_body(out, r));
done:
  if (r) release(r);
  return status;
}
