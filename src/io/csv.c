/* csv.c: text tables as tables and data sets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "core/unique.h"
#include "io/csv.h"
#include "io/format.h"

void comp__csv_release(comp__csv *csv) {
  for (size_t col = 0; csv->columns && col < csv->layout.columns; col++) {
    comp__free(csv->columns[col].numbers);
    comp__free(csv->columns[col].bools);
    comp__free(csv->columns[col].values);
  }
  for (size_t i = 0; i < csv->n_pieces; i++) comp_matrix_free(csv->pieces[i].block);
  comp__free(csv->columns);
  comp__free(csv->pieces);
  comp__strings_release(&csv->layout.names);
  comp__free(csv->layout.annotation);
  comp__strings_release(&csv->missing.words);
  *csv = (comp__csv){0};
}

/* Everything up to the parsed columns. */
static comp_status read_columns(comp__csv *csv, const comp__read_options *options, bool first_is_index) {
  comp_status status;
  COMP__TRY(comp__text_check(csv->context, csv->text));
  COMP__TRY(comp__csv_set_missing(&csv->missing, options->missing));
  COMP__TRY(comp__csv_find_layout(csv, options, first_is_index));
  COMP__TRY(comp__csv_split(csv));
  COMP__TRY(comp__csv_parse(csv));
done:
  return status;
}

/* ----------------------------------------------------------------------------------------------- decimal commas */

/* [+-]digits[,digits]; *comma when there is one. */
static bool looks_decimal_comma(const comp__csv_value *value, bool *comma) {
  const char *p = value->begin, *end = p + value->length;
  if (p < end && (*p == '-' || *p == '+')) p++;
  size_t digits = 0, commas = 0;
  for (; p < end; p++) {
    if (*p >= '0' && *p <= '9')
      digits++;
    else if (*p == ',' && commas == 0 && digits > 0 && p + 1 < end)
      commas++;
    else
      return false;
  }
  *comma = commas > 0;
  return digits > 0;
}

/* A column whose every value is a number with a comma would silently become text: better to say so. */
static comp_status check_decimal_commas(const comp__csv *csv) {
  for (size_t col = csv->layout.index; col < csv->layout.columns; col++) {
    const comp__csv_column *column = &csv->columns[col];
    const comp__csv_value *example = NULL;
    if (column->kind != COMP__CSV_TEXT) continue;
    for (size_t row = 0; row < csv->rows; row++) {
      const comp__csv_value *value = &column->values[row];
      bool comma;
      if (!value->begin) continue;
      if (!looks_decimal_comma(value, &comma)) {
        example = NULL;
        break;
      }
      if (comma && !example) example = value;
    }
    if (example)
      return comp__error(COMP_ERR_DATA,
                         "%s, line %zu: column '%s' holds numbers with a comma, such as %.*s; only a decimal point is "
                         "read: export the table with points (or without separators of thousands)",
                         csv->text->name, comp__text_line(csv->text, example->begin),
                         comp__strings_get(&csv->layout.names, col), (int)example->length, example->begin);
  }
  return COMP_OK;
}

/* ------------------------------------------------------------------------------------------------------ columns */

static comp_status append_value(comp__strings *out, char *scratch, const comp__csv_value *value) {
  if (!value->begin || !value->doubled) return comp__strings_append(out, value->begin, value->length);
  size_t n = 0;
  for (size_t i = 0; i < value->length; i++) {
    scratch[n++] = value->begin[i];
    if (value->begin[i] == '"') i++;
  }
  return comp__strings_append(out, scratch, n);
}

/* The values of a text column as a list. */
static comp_status list_values(comp__strings *out, const comp__csv *csv, size_t col) {
  comp_status status;
  const comp__csv_value *values = csv->columns[col].values;
  char *scratch = NULL;
  size_t longest = 0;
  for (size_t row = 0; row < csv->rows; row++)
    if (values[row].doubled && values[row].length > longest) longest = values[row].length;
  COMP__TRY(comp__alloc(&scratch, longest, 1));
  for (size_t row = 0; row < csv->rows; row++) COMP__TRY(append_value(out, scratch, &values[row]));
done:
  comp__free(scratch);
  return status;
}

static comp_status add_text(comp_table *table, const comp__csv *csv, size_t col, const char *name) {
  comp_status status;
  comp__strings values = {0};
  const char **texts = NULL;
  COMP__TRY(list_values(&values, csv, col));
  COMP__TRY(comp__alloc(&texts, csv->rows, sizeof *texts));
  for (size_t row = 0; row < csv->rows; row++) texts[row] = comp__strings_get(&values, row);
  COMP__TRY(comp_table_add_strings(table, name, texts));
done:
  comp__free(texts);
  comp__strings_release(&values);
  return status;
}

static comp_status add_column(comp_table *table, const comp__csv *csv, size_t col) {
  const comp__csv_column *column = &csv->columns[col];
  const char *name = comp__strings_get(&csv->layout.names, col);
  switch (column->kind) {
  case COMP__CSV_NUMBER:
    return comp_table_add_numbers(table, name, column->numbers, !(column->seen & COMP__CSV_SAW_REAL));
  case COMP__CSV_BOOL:
    return comp_table_add_bools(table, name, column->bools);
  default:
    return add_text(table, csv, col, name);
  }
}

/* A last column without a name or a value comes of a delimiter at the end of each line: it is nobody's. */
static bool is_empty_tail(const comp__csv *csv, size_t col) {
  char made[32];
  snprintf(made, sizeof made, "column_%zu", col + 1);
  return col > 0 && col + 1 == csv->layout.columns && !(csv->columns[col].seen & ~COMP__CSV_SAW_MISSING) &&
         strcmp(comp__strings_get(&csv->layout.names, col), made) == 0;
}

comp_status comp__csv_to_table(comp_table **out, comp_context *context, const comp__text *text,
                               const comp__read_options *options, bool first_is_index) {
  comp_status status;
  comp__csv csv = {.context = context, .text = text};
  comp_table *table = NULL;
  *out = NULL;
  COMP__TRY(read_columns(&csv, options, first_is_index));
  COMP__TRY(check_decimal_commas(&csv));
  COMP__TRY(comp_table_new(&table, csv.rows));
  for (size_t col = 0; col < csv.layout.columns; col++)
    if (!is_empty_tail(&csv, col)) COMP__TRY(add_column(table, &csv, col));
  *out = table;
  table = NULL;
done:
  comp_table_free(table);
  comp__csv_release(&csv);
  return status;
}

comp_status comp__csv_use_levels(comp_table *table, size_t column) {
  if (comp_table_column_kind(table, column) != COMP_COLUMN_STRING) return COMP_OK;
  comp_groups groups;
  comp_status status = comp_table_groups(&groups, table, column);
  if (status != COMP_OK) return status;
  size_t present = 0;
  for (size_t i = 0; i < groups.n_levels; i++) present += groups.counts[i];
  if (groups.n_levels > 0 && groups.n_levels <= present / 2) {
    char *name;
    status =
        comp__strdup(&name, comp_table_column_name(table, column)); /* the column is replaced, and its name with it */
    if (status == COMP_OK)
      status =
          comp_table_add_categorical(table, name, groups.codes, (const char *const *)groups.levels, groups.n_levels);
    comp__free(name);
  }
  comp_groups_release(&groups);
  return status;
}

/* ------------------------------------------------------------------------------------------------------------ X */

static comp_status check_missing(const comp__csv *csv) {
  for (size_t i = 0; i < csv->n_pieces; i++) {
    const comp__csv_piece *piece = &csv->pieces[i];
    if (!piece->missing) continue;
    return comp__error(
        COMP_ERR_DATA,
        "%s, line %zu: the value of column '%s' is missing in row %zu, and X cannot have missing values; "
        "remove such rows first (comp prep --drop-missing does it for a table of numbers and names)",
        csv->text->name, comp__text_line(csv->text, piece->missing),
        comp__strings_get(&csv->layout.names, piece->missing_col), piece->missing_row + 1);
  }
  return COMP_OK;
}

typedef struct assembly {
  const comp__csv *csv;
  comp_matrix *x;
  int64_t *offsets; /* [pieces]: first entry, when sparse */
} assembly;

static void copy_dense(const assembly *a, const comp__csv_piece *piece) {
  const comp_matrix *block = piece->block;
  size_t cols = a->x->cols;
  float *to = a->x->values + piece->first_row * cols;
  if (block->kind == COMP_DENSE) {
    memcpy(to, block->values, piece->rows * cols * sizeof *to);
    return;
  }
  memset(to, 0, piece->rows * cols * sizeof *to);
  for (size_t row = 0; row < piece->rows; row++)
    for (int64_t k = block->indptr[row]; k < block->indptr[row + 1]; k++)
      to[row * cols + (size_t)block->indices[k]] = block->values[k];
}

static void copy_sparse(const assembly *a, const comp__csv_piece *piece, int64_t next) {
  const comp_matrix *block = piece->block;
  for (size_t row = 0; row < piece->rows; row++) {
    if (block->kind == COMP_CSR) {
      size_t n = (size_t)(block->indptr[row + 1] - block->indptr[row]);
      memcpy(a->x->indices + next, block->indices + block->indptr[row], n * sizeof *block->indices);
      memcpy(a->x->values + next, block->values + block->indptr[row], n * sizeof *block->values);
      next += (int64_t)n;
    } else {
      const float *values = block->values + row * block->cols;
      for (size_t col = 0; col < block->cols; col++) {
        if (values[col] == 0.0f) continue;
        a->x->indices[next] = (int32_t)col;
        a->x->values[next++] = values[col];
      }
    }
    a->x->indptr[piece->first_row + row + 1] = next;
  }
}

static void assemble_piece(void *arg, size_t begin, size_t end, int thread) {
  (void)end;
  (void)thread;
  const assembly *a = arg;
  comp__csv_piece *piece = &a->csv->pieces[begin];
  if (a->x->kind == COMP_DENSE)
    copy_dense(a, piece);
  else
    copy_sparse(a, piece, a->offsets[begin]);
  comp_matrix_free(piece->block);
  piece->block = NULL;
}

/* The blocks of the pieces as one matrix. */
static comp_status assemble_x(comp_matrix **out, comp__csv *csv) {
  comp_status status;
  assembly a = {csv, NULL, NULL};
  size_t nonzeros = 0;
  COMP__TRY(comp__alloc(&a.offsets, csv->n_pieces, sizeof *a.offsets));
  for (size_t i = 0; i < csv->n_pieces; i++) {
    a.offsets[i] = (int64_t)nonzeros;
    nonzeros += csv->pieces[i].nonzeros;
  }
  if ((double)nonzeros < COMP__CSV_SPARSE_BELOW * (double)csv->rows * (double)csv->x_cols)
    COMP__TRY(comp__matrix_new_csr_in(&a.x, csv->context, csv->rows, csv->x_cols, nonzeros));
  else
    COMP__TRY(comp__matrix_new_dense_in(&a.x, csv->context, csv->rows, csv->x_cols));
  comp__parallel_for(csv->context, csv->n_pieces, 1, assemble_piece, &a);
  *out = a.x;
done:
  comp__free(a.offsets);
  return status;
}

/* ----------------------------------------------------------------------------------------------------- data set */

static bool all_different(comp_status *status, const comp__strings *names) {
  comp__string_index index = {0};
  size_t duplicate = 0;
  *status = comp__string_index_init(&index, names, &duplicate);
  comp__string_index_release(&index);
  return *status == COMP_OK && duplicate == SIZE_MAX;
}

/* A first column of text, all different, beside nothing but numbers holds names too, whatever it is called. */
static comp_status find_index(bool *out, const comp__csv *csv) {
  const comp__csv_column *first = &csv->columns[0];
  comp_status status = COMP_OK;
  *out = csv->layout.index;
  if (*out || first->kind != COMP__CSV_TEXT || (first->seen & COMP__CSV_SAW_MISSING) || csv->x_cols == 0)
    return COMP_OK;
  if (csv->layout.columns - 1 != csv->x_cols) return COMP_OK;
  comp__strings names = {0};
  COMP__TRY(list_values(&names, csv, 0));
  *out = all_different(&status, &names);
done:
  comp__strings_release(&names);
  return status;
}

/* Names of the rows: the index column, or "0", "1", ... */
static comp_status row_names(comp__strings *out, const comp__csv *csv, bool index) {
  if (index) return list_values(out, csv, 0);
  for (size_t row = 0; row < csv->rows; row++) {
    char name[32];
    int n = snprintf(name, sizeof name, "%zu", row);
    comp_status status = comp__strings_append(out, name, (size_t)n);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status x_names(comp__strings *out, const comp__csv *csv) {
  for (size_t col = 0; col < csv->layout.columns; col++) {
    if (!csv->columns[col].in_x) continue;
    const char *name = comp__strings_get(&csv->layout.names, col);
    comp_status status = comp__strings_append(out, name, strlen(name));
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* The columns that are not in X, as a table of its rows. */
static comp_status add_annotations(comp_table *table, const comp__csv *csv, bool index) {
  for (size_t col = index; col < csv->layout.columns; col++) {
    if (csv->columns[col].in_x || is_empty_tail(csv, col)) continue;
    comp_status status = add_column(table, csv, col);
    if (status != COMP_OK) return status;
    status = comp__csv_use_levels(table, comp_table_find(table, comp__strings_get(&csv->layout.names, col)));
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* Genes as rows: rows and columns change places, and gene names must differ. */
static comp_status turn(comp_context *context, comp__strings *rows, comp__strings *cols, comp_matrix **x,
                        const char *name) {
  comp__strings swap = *rows;
  comp_matrix *turned;
  size_t changed;
  *rows = *cols;
  *cols = swap;
  comp_status status = comp__strings_make_unique(cols, &changed);
  if (status != COMP_OK) return status;
  if (changed > 0)
    comp__warn(context, "%s: %zu feature names repeat an earlier one and got a number (-1, -2, ...)", name, changed);
  if (!*x) return COMP_OK;
  status = comp_matrix_transpose(&turned, context, *x);
  if (status != COMP_OK) return status;
  comp_matrix_free(*x);
  *x = turned;
  return COMP_OK;
}

static comp_status make_dataset(comp_dataset **out, comp__csv *csv, const comp__read_options *options) {
  comp_status status;
  comp__strings rows = {0}, cols = {0};
  comp_matrix *x = NULL;
  comp_dataset *dataset = NULL;
  bool index;
  COMP__TRY(find_index(&index, csv));
  COMP__TRY(row_names(&rows, csv, index));
  COMP__TRY(x_names(&cols, csv));
  if (!options->skip_x) COMP__TRY(assemble_x(&x, csv));
  if (options->transpose) COMP__TRY(turn(csv->context, &rows, &cols, &x, csv->text->name));
  COMP__TRY(comp__dataset_new(&dataset, &rows, &cols));
  COMP__TRY(add_annotations(options->transpose ? dataset->var : dataset->obs, csv, index));
  dataset->x = x;
  x = NULL;
  *out = dataset;
  dataset = NULL;
done:
  comp__strings_release(&rows);
  comp__strings_release(&cols);
  comp_matrix_free(x);
  comp_dataset_free(dataset);
  return status;
}

comp_status comp__csv_to_dataset(comp_dataset **out, comp_context *context, const comp__text *text,
                                 const comp__read_options *options) {
  comp_status status;
  comp__csv csv = {.context = context, .text = text, .want_x = true};
  *out = NULL;
  COMP__TRY(read_columns(&csv, options, false));
  COMP__TRY(check_decimal_commas(&csv));
  COMP__TRY(check_missing(&csv));
  if (csv.x_cols == 0)
    COMP__FAIL(
        COMP_ERR_DATA,
        "%s: no column holds numbers only, so that there is no X (does it mark missing values in some way of its "
        "own?)",
        text->name);
  COMP__TRY(make_dataset(out, &csv, options));
done:
  comp__csv_release(&csv);
  return status;
}

/* ------------------------------------------------------------------------------------------------------- format */

static comp_status read_csv(comp_dataset **out, comp_context *context, const char *path,
                            const comp__read_options *options) {
  comp_status status;
  comp__text text = {0};
  *out = NULL;
  COMP__TRY(comp__text_check_options(path, options));
  COMP__TRY(comp__text_open(&text, path));
  COMP__TRY(comp__csv_to_dataset(out, context, &text, options));
done:
  comp__text_release(&text);
  return status;
}

comp_status comp__table_read(comp_table **out, comp_context *context, const char *path,
                             const comp__read_options *options) {
  static const comp__read_options defaults = {0};
  comp__text text = {0};
  *out = NULL;
  if (!options) options = &defaults;
  comp_status status = comp__text_open(&text, path);
  if (status == COMP_OK) status = comp__csv_to_table(out, context, &text, options, false);
  comp__text_release(&text);
  return status;
}

comp_status comp_table_read(comp_table **out, comp_context *context, const char *path, const comp_options *options) {
  COMP__NEED_OUT(out, context, path);
  comp__read_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__read_kind, options);
  return status == COMP_OK ? comp__table_read(out, context, path, &plain) : status;
}

/* The last format to be asked: whatever could be text. */
static comp_status probe_csv(bool *is, const comp__peek *peek) {
  *is = !peek->folder && !memchr(peek->head_size ? (const char *)peek->head : "x", '\0', peek->head_size);
  return COMP_OK;
}

const comp__format comp__format_csv = {
    .name = "csv",
    .description = "text table (comma, tab, semicolon)",
    .extensions = ".csv .tsv .csv.gz .tsv.gz",
    .probe = probe_csv,
    .read = read_csv,
    .write = comp__csv_write,
};
