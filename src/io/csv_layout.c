/* csv_layout.c: what a text table looks like: delimiter, header, names, row names, missing values. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "io/csv.h"

enum { SAMPLE_ROWS = 20 };

/* ------------------------------------------------------------------------------------------------------ missing */

static const char *const MISSING[] = {"NA", "N/A", "NaN", "nan", "null", "NULL", "None", NULL};

static comp_status add_missing(comp__csv_missing *missing, const char *word, size_t length) {
  if (length > 0) missing->first[(unsigned char)word[0]] = true;
  return comp__strings_append(&missing->words, word, length);
}

comp_status comp__csv_set_missing(comp__csv_missing *missing, const char *more) {
  comp_status status = COMP_OK;
  for (size_t i = 0; MISSING[i]; i++) COMP__TRY(add_missing(missing, MISSING[i], strlen(MISSING[i])));
  for (const char *p = more; p && *p;) {
    size_t n = strcspn(p, ",");
    COMP__TRY(add_missing(missing, p, n));
    p += n + (p[n] == ',');
  }
done:
  return status;
}

bool comp__csv_is_missing(const comp__csv_missing *missing, const char *begin, const char *end) {
  if (begin == end) return true;
  if (!missing->first[(unsigned char)*begin]) return false;
  size_t length = (size_t)(end - begin);
  for (size_t i = 0; i < missing->words.count; i++) {
    const char *word = comp__strings_get(&missing->words, i);
    if (strncmp(word, begin, length) == 0 && word[length] == '\0') return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------------------- fields */

const char *comp__csv_read_quoted(comp__csv_field *out, comp__csv_fault *fault, const comp__csv_layout *layout,
                                  const char *p, const char *stop) {
  out->begin = ++p;
  out->doubled = false;
  for (;; p += 2) {
    p = p < stop ? memchr(p, '"', (size_t)(stop - p)) : NULL;
    if (!p) {
      *fault = COMP__CSV_OPEN_QUOTE;
      return NULL;
    }
    if (p[1] != '"') break;
    out->doubled = true;
  }
  out->end = p++;
  while (*p == ' ' && layout->delimiter != ' ') p++;
  if (comp__csv_ends(p, layout->delimiter)) return p;
  *fault = COMP__CSV_AFTER_QUOTE;
  return NULL;
}

comp_status comp__csv_fail_field(const comp__text *text, const char *place, comp__csv_fault fault) {
  size_t line = comp__text_line(text, place);
  if (fault == COMP__CSV_OPEN_QUOTE)
    return comp__error(COMP_ERR_FORMAT, "%s, line %zu: a quote (\") is opened here and never closed", text->name, line);
  return comp__error(
      COMP_ERR_FORMAT,
      "%s, line %zu: text follows a closing quote; a quote inside of a quoted field must be doubled (\"\")", text->name,
      line);
}

const char *comp__csv_skip(const comp__csv_layout *layout, const char *p, const char *stop) {
  while (p < stop) {
    const char *q = p;
    if (!layout->comment || *q != layout->comment) {
      while (*q == ' ') q++;
      if (*q != '\n' && !(*q == '\r' && q[1] == '\n')) return p;
    }
    p = (const char *)rawmemchr(q, '\n') + 1;
  }
  return stop;
}

/* ---------------------------------------------------------------------------------------------------- delimiter */

typedef struct sample {
  size_t fields;
  bool spaced; /* a space after each delimiter, and there is one */
} sample;

/* Counts the fields of the row at p, and returns the next line; NULL when it cannot be read. */
static const char *count_fields(sample *out, const comp__csv_layout *layout, const char *p, const char *stop) {
  comp__csv_field field;
  comp__csv_fault fault;
  *out = (sample){0, true};
  for (;;) {
    p = comp__csv_read_field(&field, &fault, layout, p, stop);
    if (!p) return NULL;
    out->fields++;
    if (*p != layout->delimiter) break;
    p++;
    out->spaced &= *p == ' ';
  }
  out->spaced &= out->fields > 1;
  return comp__csv_next_line(p);
}

/* Whether the first rows agree on a number of fields (the header may have one less, but not only one) when they are
 * read with this delimiter and spacing. `first` gets the fields of the first line. */
static bool rows_agree(const comp__csv_layout *layout, const comp__text *text, bool header, size_t *first) {
  const char *stop = text->data + text->size, *p = comp__csv_skip(layout, text->data, stop);
  size_t expected = 0;
  bool agree = true;
  *first = 0;
  for (size_t row = 0; row < SAMPLE_ROWS && p < stop; row++) {
    sample s;
    p = count_fields(&s, layout, p, stop);
    if (!p) return false;
    if (row == 0) *first = s.fields;
    if (row == 0 || (row == 1 && header && *first > 1 && s.fields == *first + 1)) expected = s.fields;
    agree &= s.fields == expected && (s.spaced || !layout->spaced);
    p = comp__csv_skip(layout, p, stop);
  }
  return agree && expected > 1;
}

static bool named_tsv(const char *name) {
  size_t n = strlen(name);
  if (n > 3 && strcasecmp(name + n - 3, ".gz") == 0) n -= 3;
  return n >= 4 && (strncasecmp(name + n - 4, ".tsv", 4) == 0 || strncasecmp(name + n - 4, ".tab", 4) == 0);
}

/* The first delimiter at which the first rows agree; a comma comes last, since it may also be inside of numbers. When
 * they agree at none, the one that cuts the first line most: the row that is off is then named by the parser. */
static void find_delimiter(comp__csv_layout *layout, const comp__text *text, bool header) {
  static const char candidates[] = "\t;|,";
  char best = named_tsv(text->name) ? '\t' : ',';
  size_t most = 1;
  for (const char *c = candidates; *c; c++) {
    if (*c == layout->comment) continue;
    size_t first;
    layout->delimiter = *c;
    layout->spaced = *c != '\t';
    if (layout->spaced && rows_agree(layout, text, header, &first)) return;
    layout->spaced = false;
    if (rows_agree(layout, text, header, &first)) return;
    if (first > most) {
      best = *c;
      most = first;
    }
  }
  layout->delimiter = best;
  layout->spaced = false;
}

/* -------------------------------------------------------------------------------------------------------- names */

/* What a first column of row names is called, in any case. */
static const char *const INDEX_NAMES[] = {
    "",         "index",     "id",         "ids",       "name",      "names",       "row",          "rowname",
    "rownames", "row_names", "sample",     "samples",   "sample_id", "sampleid",    "sample_name",  "cell",
    "cells",    "cell_id",   "cellid",     "cell_name", "barcode",   "barcodes",    "cell_barcode", "obs_names",
    "gene",     "genes",     "gene_id",    "geneid",    "gene_name", "gene_symbol", "symbol",       "hgnc_symbol",
    "feature",  "features",  "feature_id", "probe",     "probe_id",  "var_names",   "unnamed: 0",   NULL};

static bool names_index(const char *name) {
  for (size_t i = 0; INDEX_NAMES[i]; i++)
    if (strcasecmp(name, INDEX_NAMES[i]) == 0) return true;
  return false;
}

/* Appends a field's text, with doubled quotes made single. */
static comp_status append_field(comp__strings *out, const comp__csv_field *field) {
  if (!field->doubled) return comp__strings_append(out, field->begin, (size_t)(field->end - field->begin));
  char *copy;
  comp_status status = comp__alloc(&copy, (size_t)(field->end - field->begin), 1);
  if (status != COMP_OK) return status;
  size_t n = 0;
  for (const char *p = field->begin; p < field->end; p++) {
    copy[n++] = *p;
    if (*p == '"') p++;
  }
  status = comp__strings_append(out, copy, n);
  comp__free(copy);
  return status;
}

/* The fields of the header line. */
static comp_status read_header(comp__strings *out, const char **next, const comp__csv *csv, const char *p) {
  const char *stop = csv->text->data + csv->text->size;
  for (;;) {
    comp__csv_field field;
    comp__csv_fault fault;
    const char *end = comp__csv_read_field(&field, &fault, &csv->layout, p, stop);
    if (!end) return comp__csv_fail_field(csv->text, p, fault);
    comp_status status = append_field(out, &field);
    if (status != COMP_OK) return status;
    if (*end != csv->layout.delimiter) {
      *next = comp__csv_next_line(end);
      return COMP_OK;
    }
    p = end + 1;
  }
}

static comp_status split_names(comp__strings *out, const char *names) {
  for (const char *p = names;;) {
    size_t n = strcspn(p, ",");
    while (n > 0 && *p == ' ') {
      p++;
      n--;
    }
    comp_status status = comp__strings_append(out, p, n);
    if (status != COMP_OK) return status;
    if (p[n] == '\0') return COMP_OK;
    p += n + 1;
  }
}

/* Names of a table without a header: given ones, or "0", "1", ... */
static comp_status make_names(comp__strings *out, const comp__csv *csv, const char *names) {
  comp_status status = COMP_OK;
  if (names) {
    COMP__TRY(split_names(out, names));
    if (out->count != csv->layout.columns)
      COMP__FAIL(COMP_ERR_ARGUMENT, "%zu column names were given, but %s has %zu columns", out->count, csv->text->name,
                 csv->layout.columns);
    return COMP_OK;
  }
  for (size_t i = 0; i < csv->layout.columns; i++) {
    char name[32];
    int n = snprintf(name, sizeof name, "%zu", i);
    COMP__TRY(comp__strings_append(out, name, (size_t)n));
  }
done:
  return status;
}

/* From the raw header to one name a column: "obs:" is taken off and noted, an empty name is made one. */
static comp_status finish_names(comp__csv_layout *layout, const comp__strings *raw) {
  comp_status status;
  size_t shift = layout->columns - raw->count; /* 1: the column of row names has no name */
  COMP__TRY(comp__calloc(&layout->annotation, layout->columns, sizeof *layout->annotation));
  for (size_t i = 0; i < layout->columns; i++) {
    const char *name = i < shift ? "" : comp__strings_get(raw, i - shift);
    char made[32];
    if (i > 0 && strncmp(name, "obs:", 4) == 0 && name[4]) {
      layout->annotation[i] = true;
      name += 4;
    } else if (!*name) {
      if (i == 0)
        snprintf(made, sizeof made, "index");
      else
        snprintf(made, sizeof made, "column_%zu", i + 1);
      name = made;
    }
    COMP__TRY(comp__strings_append(&layout->names, name, strlen(name)));
  }
done:
  return status;
}

/* No two columns may have one name. In a data set an annotation and a feature may: they go to different places. */
static comp_status check_names(const comp__csv *csv) {
  comp_status status;
  const comp__csv_layout *layout = &csv->layout;
  comp__strings marked = {0};
  comp__string_index index = {0};
  size_t duplicate;
  for (size_t i = 0; i < layout->columns; i++) {
    const char *name = comp__strings_get(&layout->names, i);
    char text[256];
    if (csv->want_x && layout->annotation[i] && snprintf(text, sizeof text, "obs:%s", name) < (int)sizeof text)
      name = text;
    COMP__TRY(comp__strings_append(&marked, name, strlen(name)));
  }
  COMP__TRY(comp__string_index_init(&index, &marked, &duplicate));
  if (duplicate != SIZE_MAX) {
    const char *name = comp__strings_get(&marked, duplicate);
    status = comp__error(COMP_ERR_DATA, "%s: columns %zu and %zu have the same name, '%s'", csv->text->name,
                         comp__string_index_find(&index, name) + 1, duplicate + 1, name);
  }
done:
  comp__string_index_release(&index);
  comp__strings_release(&marked);
  return status;
}

/* ------------------------------------------------------------------------------------------------------- layout */

/* The number of columns is that of the first row below the header. */
static comp_status count_columns(comp__csv *csv, const char *row, const char *header, size_t names) {
  const comp__text *text = csv->text;
  sample s;
  if (!count_fields(&s, &csv->layout, row, text->data + text->size)) {
    s.fields = names; /* the parser will say what is wrong with the row */
  }
  csv->layout.columns = s.fields;
  if (!header || names == s.fields || names + 1 == s.fields) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT,
                     "%s: the header (line %zu) has %zu fields but the first row (line %zu) has %zu; is the first line "
                     "really a header?",
                     text->name, comp__text_line(text, header), names, comp__text_line(text, row), s.fields);
}

static comp_status fail_empty(const comp__text *text, bool header) {
  if (memchr(text->data, '\r', text->size) && !memchr(text->data, '\n', text->size))
    return comp__error(COMP_ERR_FORMAT,
                       "%s: its lines end with carriage returns alone; convert it first: tr '\\r' '\\n'", text->name);
  if (header)
    return comp__error(COMP_ERR_DATA, "%s holds a header and no rows (a table without a header must be read as such)",
                       text->name);
  return comp__error(COMP_ERR_DATA, "%s is empty", text->name);
}

comp_status comp__csv_find_layout(comp__csv *csv, const comp__read_options *options, bool first_is_index) {
  comp_status status;
  comp__csv_layout *layout = &csv->layout;
  const comp__text *text = csv->text;
  const char *stop = text->data + text->size, *header = NULL, *row;
  comp__strings raw = {0};
  layout->comment = options->comment;
  row = comp__csv_skip(layout, text->data, stop);
  if (row == stop) {
    status = fail_empty(text, false);
    goto done;
  }
  find_delimiter(layout, text, !options->no_header);
  if (!options->no_header) {
    header = row;
    COMP__TRY(read_header(&raw, &row, csv, header));
    row = comp__csv_skip(layout, row, stop);
    if (row >= stop) {
      status = fail_empty(text, true);
      goto done;
    }
  }
  COMP__TRY(count_columns(csv, row, header, raw.count));
  if (!header) COMP__TRY(make_names(&raw, csv, options->names));
  layout->index = first_is_index || raw.count < layout->columns || (header && names_index(comp__strings_get(&raw, 0)));
  COMP__TRY(finish_names(layout, &raw));
  COMP__TRY(check_names(csv));
  layout->body = row;
done:
  comp__strings_release(&raw);
  return status;
}
