/*
 * csv.h: text tables, inside. A table passes through three steps, one file each: csv_layout.c finds delimiter, header
 * and names; csv_split.c cuts the text into pieces of whole rows; csv_parse.c turns fields into columns on all threads.
 * csv.c makes tables and data sets of the columns. docs/formats.md states the rules.
 */
#ifndef COMP_IO_CSV_H
#define COMP_IO_CSV_H

#include <stdint.h>

#include "core/strings.h"
#include "io/options.h"
#include "io/text.h"

/* X is sparse when less than this part of it is not zero. */
#define COMP__CSV_SPARSE_BELOW 0.3

/* One field: its text without quotes and spaces around it. */
typedef struct comp__csv_field {
  const char *begin;
  const char *end;
  bool doubled; /* holds "" for each quote */
} comp__csv_field;

/* Why a field could not be read. */
typedef enum comp__csv_fault { COMP__CSV_GOOD, COMP__CSV_OPEN_QUOTE, COMP__CSV_AFTER_QUOTE } comp__csv_fault;

/* Text that means a missing value. */
typedef struct comp__csv_missing {
  comp__strings words;
  bool first[256]; /* bytes that one of them starts with */
} comp__csv_missing;

typedef struct comp__csv_layout {
  char delimiter;
  bool spaced;         /* each delimiter is followed by a space: spaces around fields mean nothing */
  char comment;        /* 0: none */
  size_t columns;      /* fields a row */
  comp__strings names; /* [columns] */
  bool *annotation;    /* [columns]: named "obs:..." (not part of the name): never in X */
  bool index;          /* the first column holds row names */
  const char *body;    /* the first row */
} comp__csv_layout;

typedef struct comp__csv_piece {
  const char *begin;
  const char *end;
  size_t first_row;
  size_t rows;
  comp_matrix *block;  /* its rows of X */
  size_t nonzeros;     /* in them */
  const char *missing; /* the first missing value of a column that is in X; NULL: none */
  size_t missing_row;
  size_t missing_col;
} comp__csv_piece;

typedef enum comp__csv_kind { COMP__CSV_NUMBER, COMP__CSV_BOOL, COMP__CSV_TEXT } comp__csv_kind;

/* What was seen in a column. */
enum {
  COMP__CSV_SAW_MISSING = 1,
  COMP__CSV_SAW_WHOLE = 2,
  COMP__CSV_SAW_REAL = 4,
  COMP__CSV_SAW_BOOL = 8,
  COMP__CSV_SAW_TEXT = 16
};

/* A value of a text column, in the text itself; begin NULL: missing. */
typedef struct comp__csv_value {
  const char *begin;
  uint32_t length;
  bool doubled;
} comp__csv_value;

typedef struct comp__csv_column {
  comp__csv_kind kind;
  _Atomic uint8_t seen;
  bool in_x;       /* numbers go to X, not to `numbers` */
  size_t x;        /* its column there */
  double *numbers; /* [rows], as the kind has it */
  int8_t *bools;
  comp__csv_value *values;
} comp__csv_column;

typedef struct comp__csv {
  comp_context *context;
  const comp__text *text;
  comp__csv_layout layout;
  comp__csv_missing missing;
  comp__csv_piece *pieces;
  size_t n_pieces;
  size_t rows;
  comp__csv_column *columns; /* [layout.columns] */
  bool want_x;               /* numeric columns go to X */
  size_t x_cols;
} comp__csv;

/* csv_layout.c. `first_is_index`: the first column holds row names, whatever it looks like. */
comp_status comp__csv_find_layout(comp__csv *csv, const comp__read_options *options, bool first_is_index);
comp_status comp__csv_set_missing(comp__csv_missing *missing, const char *more);
bool comp__csv_is_missing(const comp__csv_missing *missing, const char *begin, const char *end);

/* The start of the next row from p on, past empty lines and comments; `stop` when there is none. */
const char *comp__csv_skip(const comp__csv_layout *layout, const char *p, const char *stop);

/* The error for a field that starts at `place`. */
comp_status comp__csv_fail_field(const comp__text *text, const char *place, comp__csv_fault fault);

/* csv_split.c */
comp_status comp__csv_split(comp__csv *csv);

/* csv_parse.c: fills the columns and the blocks of the pieces. */
comp_status comp__csv_parse(comp__csv *csv);

/* csv.c */
void comp__csv_release(comp__csv *csv);

/* Reads a loaded text as a table (with csv.want_x false), or as a data set. They should be freed via comp_table_free()
 * and comp_dataset_free(). */
comp_status comp__csv_to_table(comp_table **out, comp_context *context, const comp__text *text,
                               const comp__read_options *options, bool first_is_index);
comp_status comp__csv_to_dataset(comp_dataset **out, comp_context *context, const comp__text *text,
                                 const comp__read_options *options);

/* Turns a string column into a categorical one when its values repeat enough (docs/formats.md). */
comp_status comp__csv_use_levels(comp_table *table, size_t column);

/* csv_write.c: the write slot of the format. */
comp_status comp__csv_write(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                            const comp__write_options *options);

static inline bool comp__csv_ends(const char *p, char delimiter) {
  return *p == delimiter || *p == '\n' || (*p == '\r' && p[1] == '\n');
}

/* A field in quotes, p at the first. Returns what follows the closing one. */
const char *comp__csv_read_quoted(comp__csv_field *out, comp__csv_fault *fault, const comp__csv_layout *layout,
                                  const char *p, const char *stop);

/* Reads the field that starts at p and returns the byte that ends it: a delimiter, a newline, or a carriage return
 * before one. NULL and *fault when it cannot be read. The text goes on to `stop`, where a newline stands. */
static inline const char *comp__csv_read_field(comp__csv_field *out, comp__csv_fault *fault,
                                               const comp__csv_layout *layout, const char *p, const char *stop) {
  const char delimiter = layout->delimiter;
  if (layout->spaced)
    while (*p == ' ') p++;
  if (*p == '"') return comp__csv_read_quoted(out, fault, layout, p, stop);
  out->begin = p;
  while (*p != delimiter && *p != '\n') p++;
  if (*p == '\n' && p > out->begin && p[-1] == '\r') p--;
  out->end = p;
  out->doubled = false;
  if (layout->spaced)
    while (out->end > out->begin && out->end[-1] == ' ') out->end--;
  return p;
}

/* After the last field of a row: the next line. */
static inline const char *comp__csv_next_line(const char *p) {
  return p + (*p == '\r') + 1;
}

#endif
