/*
 * csv_split.c: cutting a text table into pieces of whole rows, about equal in bytes, for the threads.
 *
 * Without a quote in the text every line is a row and all cores look for the cuts. A quoted field may hold newlines, so
 * that with quotes the rows can only be found from the top.
 */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/threads.h"
#include "io/csv.h"

enum { PIECE_SIZE = COMP__BLOCK_SIZE(1024 * 1024, 24) };

static comp_status add_piece(comp__csv *csv, size_t *capacity, const char *begin, const char *end, size_t rows) {
  comp_status status = comp__grow(&csv->pieces, capacity, csv->n_pieces, csv->n_pieces + 1, sizeof *csv->pieces);
  if (status == COMP_OK) csv->pieces[csv->n_pieces++] = (comp__csv_piece){.begin = begin, .end = end, .rows = rows};
  return status;
}

/* Where the row at p ends: the start of the next line. NULL and *fault when it cannot be read. */
static const char *skip_row(const comp__csv *csv, comp__csv_fault *fault, const char **place, const char *p,
                            const char *stop) {
  for (;;) {
    comp__csv_field field;
    *place = p;
    p = comp__csv_read_field(&field, fault, &csv->layout, p, stop);
    if (!p) return NULL;
    if (*p != csv->layout.delimiter) return comp__csv_next_line(p);
    p++;
  }
}

static comp_status split_quoted(comp__csv *csv) {
  const char *stop = csv->text->data + csv->text->size, *begin = csv->layout.body;
  comp_status status = COMP_OK;
  size_t capacity = 0, rows = 0;
  for (const char *p = begin; p < stop;) {
    comp__csv_fault fault;
    const char *place, *next = skip_row(csv, &fault, &place, p, stop);
    if (!next) return comp__csv_fail_field(csv->text, place, fault);
    rows++;
    p = comp__csv_skip(&csv->layout, next, stop);
    if (p - begin >= PIECE_SIZE || p >= stop) {
      COMP__TRY(add_piece(csv, &capacity, begin, p, rows));
      begin = p;
      rows = 0;
    }
  }
done:
  return status;
}

static void count_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)end;
  (void)thread;
  comp__csv *csv = arg;
  comp__csv_piece *piece = &csv->pieces[begin];
  for (const char *p = piece->begin; p < piece->end;) {
    p = comp__csv_skip(&csv->layout, p, piece->end);
    if (p >= piece->end) break;
    piece->rows++;
    p = (const char *)rawmemchr(p, '\n') + 1;
  }
}

static comp_status split_lines(comp__csv *csv) {
  const char *stop = csv->text->data + csv->text->size;
  comp_status status = COMP_OK;
  size_t capacity = 0;
  for (const char *p = csv->layout.body; p < stop;) {
    const char *end = stop - p <= PIECE_SIZE ? stop : (const char *)rawmemchr(p + PIECE_SIZE, '\n') + 1;
    if (end > stop) end = stop; /* the newline that was added behind the text */
    COMP__TRY(add_piece(csv, &capacity, p, end, 0));
    p = end;
  }
  comp__parallel_for(csv->context, csv->n_pieces, 1, count_rows, csv);
done:
  return status;
}

comp_status comp__csv_split(comp__csv *csv) {
  size_t left = (size_t)(csv->text->data + csv->text->size - csv->layout.body);
  bool quotes = memchr(csv->layout.body, '"', left) != NULL;
  comp_status status = quotes ? split_quoted(csv) : split_lines(csv);
  if (status != COMP_OK) return status;
  csv->rows = 0;
  for (size_t i = 0; i < csv->n_pieces; i++) {
    csv->pieces[i].first_row = csv->rows;
    csv->rows += csv->pieces[i].rows;
  }
  return COMP_OK;
}
