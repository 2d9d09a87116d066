/*
 * csv_parse.c: fields to columns, on all threads.
 *
 * The kinds of the columns are guessed from the first rows, and all rows are read accordingly: a number in one go,
 * without looking for the end of its field first. What does not fit is noted, and then everything is read once more
 * with the right kinds, which is rare.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "io/csv.h"
#include "io/number.h"

enum { SAMPLE_ROWS = 100 };

/* ------------------------------------------------------------------------------------------------------- fields */

/* 0 or 1, or -1 when the text is no truth value. */
static int parse_bool(const char *begin, const char *end) {
  size_t n = (size_t)(end - begin);
  if (n == 4 && (!memcmp(begin, "True", 4) || !memcmp(begin, "true", 4) || !memcmp(begin, "TRUE", 4))) return 1;
  if (n == 5 && (!memcmp(begin, "False", 5) || !memcmp(begin, "false", 5) || !memcmp(begin, "FALSE", 5))) return 0;
  return -1;
}

/* A number that fills its field, but for spaces. */
static comp__number_kind parse_whole_field(double *out, const comp__csv_field *field) {
  const char *p = field->begin, *end = field->end;
  while (p < end && *p == ' ') p++;
  while (end > p && end[-1] == ' ') end--;
  const char *after;
  comp__number_kind kind = comp__number_parse(out, &after, p);
  return after == end ? kind : COMP__NUMBER_NONE;
}

static uint8_t number_seen(comp__number_kind kind) {
  return kind == COMP__NUMBER_WHOLE ? COMP__CSV_SAW_WHOLE : COMP__CSV_SAW_REAL;
}

/* What a field is, with its value when it is a number or a bool. */
static uint8_t classify(double *number, int *truth, const comp__csv *csv, const comp__csv_field *field) {
  *number = NAN;
  *truth = -1;
  if (comp__csv_is_missing(&csv->missing, field->begin, field->end)) return COMP__CSV_SAW_MISSING;
  double value;
  comp__number_kind kind = parse_whole_field(&value, field);
  if (kind != COMP__NUMBER_NONE) {
    *number = value;
    return number_seen(kind);
  }
  *truth = parse_bool(field->begin, field->end);
  return *truth >= 0 ? COMP__CSV_SAW_BOOL : COMP__CSV_SAW_TEXT;
}

static comp__csv_kind kind_of(uint8_t seen) {
  bool number = seen & (COMP__CSV_SAW_WHOLE | COMP__CSV_SAW_REAL), truth = seen & COMP__CSV_SAW_BOOL;
  if ((seen & COMP__CSV_SAW_TEXT) || number == truth) return COMP__CSV_TEXT; /* both, or neither */
  return number ? COMP__CSV_NUMBER : COMP__CSV_BOOL;
}

/* --------------------------------------------------------------------------------------------------------- rows */

/* Where one piece puts what it reads. */
typedef struct job {
  comp__csv *csv;
  comp__csv_piece *piece;
  const char *stop;
  float *x;      /* the piece's rows of X, NULL when X is not wanted */
  uint8_t *seen; /* [columns] */
} job;

static comp_status fail_ragged(const job *j, const char *row) {
  const comp__csv *csv = j->csv;
  comp__csv_field field;
  comp__csv_fault fault;
  size_t found = 1;
  for (const char *p = row; (p = comp__csv_read_field(&field, &fault, &csv->layout, p, j->stop)); found++)
    if (*p++ != csv->layout.delimiter) break;
  return comp__error(
      COMP_ERR_FORMAT,
      "%s, line %zu: the line has %zu field%s, and %zu are expected: is a separator or a quote missing or too many?",
      csv->text->name, comp__text_line(csv->text, row), found, found == 1 ? "" : "s", csv->layout.columns);
}

static void store_number(const job *j, const comp__csv_column *column, size_t row, double value) {
  if (column->in_x)
    j->x[row * j->csv->x_cols + column->x] = (float)value;
  else
    column->numbers[j->piece->first_row + row] = value;
}

static void note_missing(const job *j, const char *place, size_t row, size_t col) {
  comp__csv_piece *piece = j->piece;
  if (piece->missing) return;
  piece->missing = place;
  piece->missing_row = piece->first_row + row;
  piece->missing_col = col;
}

/* A field of a number or bool column that is not simply what is expected. */
static const char *read_other(const job *j, comp__csv_fault *fault, const char *p, size_t row, size_t col) {
  const comp__csv_column *column = &j->csv->columns[col];
  comp__csv_field field;
  double number;
  int truth;
  const char *end = comp__csv_read_field(&field, fault, &j->csv->layout, p, j->stop);
  if (!end) return NULL;
  uint8_t seen = classify(&number, &truth, j->csv, &field);
  j->seen[col] |= seen;
  if (column->kind == COMP__CSV_BOOL)
    column->bools[j->piece->first_row + row] = (int8_t)truth;
  else {
    store_number(j, column, row, number);
    if (seen == COMP__CSV_SAW_MISSING && column->in_x) note_missing(j, p, row, col);
  }
  return end;
}

static const char *read_number(const job *j, comp__csv_fault *fault, const char *p, size_t row, size_t col) {
  double value;
  const char *end, *begin = p;
  if (j->csv->layout.spaced)
    while (*p == ' ') p++;
  comp__number_kind kind = comp__number_parse_short(&value, &end, p);
  if (kind == COMP__NUMBER_NONE || !comp__csv_ends(end, j->csv->layout.delimiter) ||
      j->csv->missing.first[(unsigned char)*p]) /* -99 may be a number that means none */
    return read_other(j, fault, begin, row, col);
  j->seen[col] |= number_seen(kind);
  store_number(j, &j->csv->columns[col], row, value);
  return end;
}

static const char *read_text(const job *j, comp__csv_fault *fault, const char *p, size_t row, size_t col) {
  const comp__csv *csv = j->csv;
  comp__csv_field field;
  const char *end = comp__csv_read_field(&field, fault, &csv->layout, p, j->stop);
  if (!end) return NULL;
  bool name = col == 0 && csv->layout.index; /* a name is never missing */
  comp__csv_value *value = &csv->columns[col].values[j->piece->first_row + row];
  if (!name && comp__csv_is_missing(&csv->missing, field.begin, field.end)) {
    *value = (comp__csv_value){NULL, 0, false};
    j->seen[col] |= COMP__CSV_SAW_MISSING;
    return end;
  }
  size_t length = (size_t)(field.end - field.begin);
  if (length > UINT32_MAX) length = UINT32_MAX;
  *value = (comp__csv_value){field.begin, (uint32_t)length, field.doubled};
  j->seen[col] |= COMP__CSV_SAW_TEXT;
  return end;
}

/* One row from p on; *next is the next line. */
static comp_status read_row(const job *j, const char **next, const char *p, size_t row) {
  const comp__csv *csv = j->csv;
  const char *start = p;
  size_t columns = csv->layout.columns;
  for (size_t col = 0;; p++) {
    comp__csv_fault fault = COMP__CSV_GOOD;
    const char *end;
    switch (csv->columns[col].kind) {
    case COMP__CSV_NUMBER:
      end = read_number(j, &fault, p, row, col);
      break;
    case COMP__CSV_BOOL:
      end = read_other(j, &fault, p, row, col);
      break;
    default:
      end = read_text(j, &fault, p, row, col);
    }
    if (!end) return comp__csv_fail_field(csv->text, p, fault);
    p = end;
    bool more = *p == csv->layout.delimiter;
    if (++col == columns || !more) {
      if (more || col < columns) return fail_ragged(j, start);
      break;
    }
  }
  *next = comp__csv_next_line(p);
  return COMP_OK;
}

/* ------------------------------------------------------------------------------------------------------- pieces */

static size_t count_nonzeros(const float *values, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += values[i] != 0.0f;
  return count;
}

/* Many zeros are not worth their memory until all pieces are there. */
static comp_status finish_block(comp__csv *csv, comp__csv_piece *piece, comp_matrix **block) {
  size_t n = (*block)->rows * (*block)->cols;
  piece->nonzeros = count_nonzeros((*block)->values, n);
  if ((double)piece->nonzeros < COMP__CSV_SPARSE_BELOW * (double)n) {
    comp_status status = comp_matrix_to_csr(&piece->block, csv->context, *block);
    if (status != COMP_OK) return status;
  } else {
    piece->block = *block;
    *block = NULL;
  }
  return COMP_OK;
}

static comp_status parse_piece(void *arg, size_t begin, size_t end, int thread) {
  (void)end;
  (void)thread;
  comp_status status;
  comp__csv *csv = arg;
  comp__csv_piece *piece = &csv->pieces[begin];
  comp_matrix *block = NULL;
  job j = {csv, piece, csv->text->data + csv->text->size, NULL, NULL};
  const char *p = piece->begin;
  COMP__TRY(comp__check_interrupt(csv->context));
  COMP__TRY(comp__calloc(&j.seen, csv->layout.columns, 1));
  if (csv->x_cols > 0) {
    COMP__TRY(comp__matrix_new_dense_raw(&block, piece->rows, csv->x_cols));
    j.x = block->values;
  }
  piece->missing = NULL;
  for (size_t row = 0; row < piece->rows; row++) {
    p = comp__csv_skip(&csv->layout, p, piece->end);
    COMP__TRY(read_row(&j, &p, p, row));
  }
  for (size_t col = 0; col < csv->layout.columns; col++) atomic_fetch_or(&csv->columns[col].seen, j.seen[col]);
  if (block) COMP__TRY(finish_block(csv, piece, &block));
done:
  comp_matrix_free(block);
  comp__free(j.seen);
  return status;
}

/* ------------------------------------------------------------------------------------------------------ columns */

static void release_values(comp__csv *csv) {
  for (size_t col = 0; col < csv->layout.columns; col++) {
    comp__csv_column *column = &csv->columns[col];
    comp__free(column->numbers);
    comp__free(column->bools);
    comp__free(column->values);
    column->numbers = NULL;
    column->bools = NULL;
    column->values = NULL;
  }
  for (size_t i = 0; i < csv->n_pieces; i++) {
    comp_matrix_free(csv->pieces[i].block);
    csv->pieces[i].block = NULL;
  }
}

static comp_status allocate_values(comp__csv *csv) {
  comp_status status = COMP_OK;
  release_values(csv);
  csv->x_cols = 0;
  for (size_t col = 0; col < csv->layout.columns; col++) {
    comp__csv_column *column = &csv->columns[col];
    column->in_x = csv->want_x && column->kind == COMP__CSV_NUMBER && !csv->layout.annotation[col];
    if (column->in_x)
      column->x = csv->x_cols++;
    else if (column->kind == COMP__CSV_NUMBER)
      COMP__TRY(comp__alloc(&column->numbers, csv->rows, sizeof *column->numbers));
    else if (column->kind == COMP__CSV_BOOL)
      COMP__TRY(comp__alloc(&column->bools, csv->rows, sizeof *column->bools));
    else
      COMP__TRY(comp__alloc(&column->values, csv->rows, sizeof *column->values));
  }
done:
  return status;
}

/* Looks at the first rows. A row that cannot be read ends the sample: reading all will say what is wrong. */
static void guess_kinds(comp__csv *csv) {
  const char *stop = csv->text->data + csv->text->size, *p = csv->layout.body;
  for (size_t row = 0; row < SAMPLE_ROWS && p < stop; row++) {
    for (size_t col = 0; col < csv->layout.columns; col++) {
      comp__csv_field field;
      comp__csv_fault fault;
      double number;
      int truth;
      const char *end = comp__csv_read_field(&field, &fault, &csv->layout, p, stop);
      if (!end) return;
      csv->columns[col].seen |= classify(&number, &truth, csv, &field);
      p = end;
      if (*p != csv->layout.delimiter) break;
      if (col + 1 < csv->layout.columns) p++;
    }
    p = comp__csv_skip(&csv->layout, rawmemchr(p, '\n') + 1, stop);
  }
}

/* Sets the kinds by what was seen; `*changed` when that is news. */
static void set_kinds(comp__csv *csv, bool first, bool *changed) {
  *changed = false;
  for (size_t col = 0; col < csv->layout.columns; col++) {
    comp__csv_column *column = &csv->columns[col];
    uint8_t seen = column->seen;
    comp__csv_kind kind = kind_of(seen);
    if (first && !(seen & ~COMP__CSV_SAW_MISSING)) kind = COMP__CSV_NUMBER; /* the kind that learns most */
    if (col == 0 && csv->layout.index) kind = COMP__CSV_TEXT;
    *changed |= kind != column->kind;
    column->kind = kind;
  }
}

comp_status comp__csv_parse(comp__csv *csv) {
  comp_status status;
  bool changed;
  COMP__TRY(comp__calloc(&csv->columns, csv->layout.columns, sizeof *csv->columns));
  guess_kinds(csv);
  set_kinds(csv, true, &changed);
  do {
    COMP__TRY(allocate_values(csv));
    COMP__TRY(comp__parallel_try(csv->context, csv->n_pieces, 1, parse_piece, csv));
    set_kinds(csv, false, &changed);
  } while (changed);
done:
  return status;
}
