/* rows.c: row blocks of .h5ad, zarr and 10x .h5 files. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "io/anndata.h"
#include "io/format.h"
#include "io/rows.h"

struct comp__rows {
  char *path;
  char *layer; /* copy of options.layer, which the caller may free */
  comp__read_options options;
  const comp__format *format;
  comp__tree *tree;
  comp__tree_matrix matrix;
  struct stat opened; /* the file when it was opened */
};

comp_status comp__rows_open(comp__rows **out, comp_context *context, const char *path,
                            const comp__read_options *options) {
  static const comp__read_options defaults = {0};
  comp__rows *rows = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&rows, 1, sizeof *rows));
  rows->options = options ? *options : defaults;
  COMP__TRY(comp__strdup(&rows->path, path));
  COMP__TRY(comp__strdup(&rows->layer, rows->options.layer));
  rows->options.layer = rows->layer;
  rows->options.metadata = NULL;
  if (stat(path, &rows->opened) != 0) COMP__TRY(comp__error_errno("cannot open"));
  COMP__TRY(comp__format_of_input(&rows->format, path));
  if (!rows->format->open_x && !rows->format->open_tree)
    COMP__FAIL(COMP_ERR_UNAVAILABLE, "it is %s, which cannot be read block by block; comp convert makes an .h5ad of it",
               rows->format->description);
  if (rows->format->open_x) {
    COMP__TRY(rows->format->open_x(&rows->tree, &rows->matrix, context, path, &rows->options));
  } else {
    COMP__TRY(rows->format->open_tree(&rows->tree, path));
    COMP__TRY(comp__anndata_open_x(&rows->matrix, context, rows->tree, &rows->options));
  }
  if (rows->matrix.by_column)
    COMP__FAIL(COMP_ERR_UNAVAILABLE,
               "%s is stored by columns (csc_matrix) and cannot be read block by block; "
               "rewrite it with `comp convert` first",
               rows->matrix.where);
  COMP__TRY(rows->tree->ops->certain(rows->tree));
  *out = rows;
done:
  if (status == COMP_OK) return COMP_OK;
  comp__rows_close(rows);
  return comp__error_context(status, "%s", path);
}

size_t comp__rows_count(const comp__rows *rows) {
  return rows->matrix.rows;
}
size_t comp__rows_cols(const comp__rows *rows) {
  return rows->matrix.cols;
}
comp_matrix_kind comp__rows_kind(const comp__rows *rows) {
  return rows->matrix.kind;
}
size_t comp__rows_entries(const comp__rows *rows, size_t begin, size_t end) {
  const comp__tree_matrix *m = &rows->matrix;
  return m->kind == COMP_DENSE ? (end - begin) * m->cols : (size_t)(m->indptr[end] - m->indptr[begin]);
}
size_t comp__rows_bytes(const comp__rows *rows) {
  const comp__tree_matrix *m = &rows->matrix;
  const size_t entries = comp__rows_entries(rows, 0, m->rows);
  if (m->kind == COMP_DENSE) return entries * sizeof(float);
  return entries * (sizeof(float) + sizeof(int32_t)) + (m->rows + 1) * sizeof(int64_t);
}

/* The names are not kept, so the error of a bad value reads them now. */
static comp_status name_bad_value(comp_context *context, const comp__rows *rows, size_t row, size_t col) {
  comp__read_options options = rows->options;
  comp_dataset *names;
  options.skip_x = options.skip_slots = true;
  comp_status status = rows->format->read(&names, context, rows->path, &options);
  if (status != COMP_OK) return status;
  if (row < comp_dataset_sample_count(names) && col < comp_dataset_feature_count(names))
    status = comp__format_bad_value(names, &rows->options, row, col);
  else
    status = comp__error(COMP_ERR_DATA, "row %zu, column %zu is not a finite number", row + 1, col + 1);
  comp_dataset_free(names);
  return status;
}

/* Reads rows to `room`, or where it is NULL to a matrix of its own. */
static comp_status read_rows(comp_matrix **out, comp_matrix *room, comp_context *context, comp__rows *rows,
                             size_t begin, size_t end) {
  size_t row, col;
  comp_matrix *matrix = room;
  comp_status status = COMP_OK;
  if (begin > end || end > rows->matrix.rows)
    return comp__error(COMP_ERR_ARGUMENT, "rows %zu .. %zu were asked for, but there are %zu", begin, end,
                       rows->matrix.rows);
  status = room ? comp__tree_matrix_fill(room, context, &rows->matrix, begin, end)
                : comp__tree_matrix_read(&matrix, context, &rows->matrix, begin, end);
  if (status != COMP_ERR_INTERRUPTED && comp__format_check_unchanged(rows->path, &rows->opened) != COMP_OK)
    status = COMP_ERR_IO; /* the better reason */
  if (status != COMP_OK) goto done;
  if (comp__matrix_find_nonfinite(&row, &col, context, matrix))
    COMP__TRY(name_bad_value(context, rows, begin + row, col));
  COMP__TRY(rows->tree->ops->certain(rows->tree));
  if (out) *out = matrix;
done:
  if (status == COMP_OK) return COMP_OK;
  if (!room) comp_matrix_free(matrix);
  return comp__error_context(status, "%s", rows->path);
}

comp_status comp__rows_read(comp_matrix **out, comp_context *context, comp__rows *rows, size_t begin, size_t end) {
  *out = NULL;
  return read_rows(out, NULL, context, rows, begin, end);
}

comp_status comp__rows_read_to(comp_matrix *to, size_t row, size_t at, comp_context *context, comp__rows *rows,
                               size_t begin, size_t end) {
  comp_matrix part = {.kind = to->kind, .rows = end - begin, .cols = to->cols, .values = to->values + at};
  comp_status status;
  if (to->kind == COMP_CSR) {
    part.indices = to->indices + at;
    COMP__TRY(comp__alloc(&part.indptr, part.rows + 1, sizeof *part.indptr));
  }
  COMP__TRY(read_rows(NULL, &part, context, rows, begin, end));
  for (size_t i = 0; to->kind == COMP_CSR && i < part.rows; i++)
    to->indptr[row + i + 1] = (int64_t)at + part.indptr[i + 1];
done:
  comp__free(part.indptr);
  return status;
}

void comp__rows_close(comp__rows *rows) {
  if (!rows) return;
  comp__tree_matrix_close(&rows->matrix);
  comp__tree_free(rows->tree);
  comp__free(rows->path);
  comp__free(rows->layer);
  comp__free(rows);
}
