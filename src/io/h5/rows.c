/* rows.c: row blocks of .h5ad and 10x .h5 files. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "io/format.h"
#include "io/h5/h5ad.h"
#include "io/h5/tenx.h"
#include "io/rows.h"

struct comp__rows {
  char *path;
  char *layer; /* copy of options.layer, which the caller may free */
  comp__read_options options;
  comp__h5_file file;
  comp__tenx tenx;
  comp__h5_matrix matrix;
};

static comp_status open_matrix(comp__rows *rows, comp_context *context) {
  comp__h5ad_paths paths;
  if (comp__tenx_is(rows->file.id)) {
    comp_status status = comp__tenx_open(&rows->tenx, rows->file.id);
    return status == COMP_OK ? comp__tenx_open_matrix(&rows->matrix, context, &rows->tenx) : status;
  }
  comp_status status = comp__h5ad_find_paths(&paths, rows->file.id, &rows->options);
  return status == COMP_OK ? comp__h5_matrix_open(&rows->matrix, context, rows->file.id, paths.x) : status;
}

comp_status comp__rows_open(comp__rows **out, comp_context *context, const char *path,
                            const comp__read_options *options) {
  static const comp__read_options defaults = {0};
  comp__rows *rows = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&rows, 1, sizeof *rows));
  rows->file = (comp__h5_file)COMP__H5_FILE_INIT;
  rows->tenx.group = H5I_INVALID_HID;
  rows->matrix = (comp__h5_matrix)COMP__H5_MATRIX_INIT;
  rows->options = options ? *options : defaults;
  COMP__TRY(comp__strdup(&rows->path, path));
  COMP__TRY(comp__strdup(&rows->layer, rows->options.layer));
  rows->options.layer = rows->layer;
  rows->options.metadata = NULL;
  COMP__TRY(comp__h5_open(&rows->file, path, false));
  COMP__TRY(open_matrix(rows, context));
  if (rows->matrix.by_column)
    COMP__FAIL(COMP_ERR_UNAVAILABLE,
               "%s is stored by columns (csc_matrix) and cannot be read block by block; "
               "rewrite it with `comp convert` first",
               rows->matrix.where);
  COMP__TRY(comp__h5_certain(rows->file.id));
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

/* The names are not kept, so the error of a bad value reads them now. */
static comp_status name_bad_value(comp_context *context, const comp__rows *rows, size_t row, size_t col) {
  comp__read_options options = rows->options;
  comp_dataset *names;
  options.skip_x = options.skip_slots = true;
  const comp__format *format = rows->tenx.group >= 0 ? &comp__format_tenx_h5 : &comp__format_h5ad;
  comp_status status = format->read(&names, context, rows->path, &options);
  if (status != COMP_OK) return status;
  if (row < comp_dataset_sample_count(names) && col < comp_dataset_feature_count(names))
    status = comp__format_bad_value(names, row, col);
  else
    status = comp__error(COMP_ERR_DATA, "row %zu, column %zu is not a finite number", row + 1, col + 1);
  comp_dataset_free(names);
  return status;
}

comp_status comp__rows_read(comp_matrix **out, comp_context *context, comp__rows *rows, size_t begin, size_t end) {
  size_t row, col;
  comp_matrix *matrix = NULL;
  comp_status status = COMP_OK;
  *out = NULL;
  if (begin > end || end > rows->matrix.rows)
    return comp__error(COMP_ERR_ARGUMENT, "rows %zu .. %zu were asked for, but there are %zu", begin, end,
                       rows->matrix.rows);
  COMP__TRY(comp__h5_matrix_read(&matrix, context, &rows->matrix, begin, end));
  if (comp__matrix_find_nonfinite(&row, &col, context, matrix))
    COMP__TRY(name_bad_value(context, rows, begin + row, col));
  COMP__TRY(comp__h5_certain(rows->file.id));
  *out = matrix;
done:
  if (status == COMP_OK) return COMP_OK;
  comp_matrix_free(matrix);
  return comp__error_context(status, "%s", rows->path);
}

void comp__rows_close(comp__rows *rows) {
  if (!rows) return;
  comp__h5_matrix_close(&rows->matrix);
  comp__h5_close(&rows->tenx.group);
  comp__h5_close_file(&rows->file);
  comp__free(rows->path);
  comp__free(rows->layer);
  comp__free(rows);
}
