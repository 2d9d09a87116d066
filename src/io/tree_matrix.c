/* tree_matrix.c: dense and sparse matrices of a tree. */
#include "io/tree_matrix.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"

enum { ROW_CHUNK = 256 };

/* The shape and format of a sparse group, from the attributes of AnnData 0.7 and later or of h5sparse before. */
static comp_status read_sparse_attributes(comp__tree_matrix *m, const comp__tree *tree, const char *path) {
  char *format = NULL;
  size_t shape[2];
  bool found;
  comp_status status;
  COMP__TRY(tree->ops->get_text(&format, tree, path, "encoding-type"));
  if (!format) COMP__TRY(tree->ops->get_text(&format, tree, path, "h5sparse_format"));
  if (!format)
    COMP__FAIL(COMP_ERR_FORMAT,
               "%s is a group without an 'encoding-type': it is not known whether it is a csr_matrix or a csc_matrix",
               m->where);
  bool csr = strcmp(format, "csr_matrix") == 0 || strcmp(format, "csr") == 0;
  m->by_column = strcmp(format, "csc_matrix") == 0 || strcmp(format, "csc") == 0;
  if (!csr && !m->by_column)
    COMP__FAIL(COMP_ERR_FORMAT,
               "%s is of encoding '%s', which is not a matrix known here (csr_matrix, csc_matrix, array)", m->where,
               format);
  COMP__TRY(tree->ops->get_pair(shape, &found, tree, path, "shape"));
  if (!found) COMP__TRY(tree->ops->get_pair(shape, &found, tree, path, "h5sparse_shape"));
  if (!found) COMP__FAIL(COMP_ERR_FORMAT, "%s has no attribute 'shape'", m->where);
  m->rows = shape[0];
  m->cols = shape[1];
done:
  comp__free(format);
  return status;
}

static comp_status check_indptr(const comp__tree_matrix *m, size_t major) {
  if (m->indptr[0] != 0)
    return comp__error(COMP_ERR_FORMAT, "%s/indptr starts at %lld, not 0", m->where, (long long)m->indptr[0]);
  for (size_t i = 0; i < major; i++)
    if (m->indptr[i + 1] < m->indptr[i])
      return comp__error(COMP_ERR_FORMAT, "%s/indptr is not ascending: %lld after %lld at %zu", m->where,
                         (long long)m->indptr[i + 1], (long long)m->indptr[i], i + 1);
  if (m->values.rows != m->indices.rows || (uint64_t)m->indptr[major] != m->values.rows)
    return comp__error(COMP_ERR_FORMAT,
                       "%s: indptr ends at %lld, but there are %zu values in data and %zu in indices: the file is "
                       "damaged or not complete",
                       m->where, (long long)m->indptr[major], m->values.rows, m->indices.rows);
  return COMP_OK;
}

static comp_status open_list(comp__tree_array *out, const comp__tree *tree, const char *group, const char *name) {
  comp__tree_path path;
  comp_status status = comp__tree_join(&path, group, name);
  return status == COMP_OK ? comp__tree_open_list(out, tree, path.text) : status;
}

static comp_status open_sparse(comp__tree_matrix *m, comp_context *context, const comp__tree *tree, const char *group) {
  comp__tree_array pointers = {0};
  size_t major = m->by_column ? m->cols : m->rows;
  comp_status status;
  m->kind = COMP_CSR;
  COMP__TRY(open_list(&m->values, tree, group, "data"));
  COMP__TRY(open_list(&m->indices, tree, group, "indices"));
  COMP__TRY(open_list(&pointers, tree, group, "indptr"));
  if (pointers.rows != major + 1)
    COMP__FAIL(COMP_ERR_FORMAT, "%s has %zu numbers, but a matrix of %zu x %zu needs %zu", pointers.where,
               pointers.rows, m->rows, m->cols, major + 1);
  COMP__TRY(comp__alloc(&m->indptr, pointers.rows, sizeof *m->indptr));
  COMP__TRY(tree->ops->read(context, &pointers, COMP__AS_I64, 0, pointers.rows, m->indptr));
  COMP__TRY(check_indptr(m, major));
done:
  if (pointers.tree) tree->ops->close(&pointers);
  return status;
}

comp_status comp__tree_matrix_open_csr(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                       const char *path, size_t rows, size_t cols) {
  *out = (comp__tree_matrix){.rows = rows, .cols = cols};
  snprintf(out->where, sizeof out->where, "%s", path);
  return open_sparse(out, context, tree, path);
}

comp_status comp__tree_matrix_open(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                   const char *path) {
  comp_status status;
  *out = (comp__tree_matrix){0};
  snprintf(out->where, sizeof out->where, "%s", path);
  if (tree->ops->find(tree, path) == COMP__NODE_GROUP) {
    COMP__TRY(read_sparse_attributes(out, tree, path));
    COMP__TRY(open_sparse(out, context, tree, path));
  } else {
    COMP__TRY(tree->ops->open(&out->values, tree, path));
    out->kind = COMP_DENSE;
    out->rows = out->values.rows;
    out->cols = out->values.cols;
  }
done:
  return status;
}

void comp__tree_matrix_close(comp__tree_matrix *matrix) {
  if (matrix->values.tree) matrix->values.tree->ops->close(&matrix->values);
  if (matrix->indices.tree) matrix->indices.tree->ops->close(&matrix->indices);
  comp__free(matrix->indptr);
  matrix->indptr = NULL;
}

/* Looking through the rows of a CSR matrix that was read. */
typedef struct row_check {
  comp_matrix *matrix;
  const comp__tree_matrix *source;
  size_t first; /* the number of its first row in the file */
  atomic_size_t sorted;
} row_check;

static int compare_packed(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Sorts a row by column: index and value packed into one number each. */
static comp_status sort_row(int32_t *indices, float *values, size_t n) {
  uint64_t *packed;
  comp_status status = comp__alloc(&packed, n, sizeof *packed);
  if (status != COMP_OK) return status;
  for (size_t k = 0; k < n; k++) {
    uint32_t bits;
    memcpy(&bits, &values[k], sizeof bits);
    packed[k] = (uint64_t)(uint32_t)indices[k] << 32 | bits;
  }
  qsort(packed, n, sizeof *packed, compare_packed);
  for (size_t k = 0; k < n; k++) {
    uint32_t bits = (uint32_t)packed[k];
    indices[k] = (int32_t)(packed[k] >> 32);
    memcpy(&values[k], &bits, sizeof bits);
  }
  comp__free(packed);
  return COMP_OK;
}

static comp_status repeated(const row_check *check, size_t row, int32_t index) {
  const comp__tree_matrix *m = check->source;
  return comp__error(COMP_ERR_FORMAT, "%s: %s %zu holds index %d twice; in Python, X.sum_duplicates() would merge them",
                     m->where, m->by_column ? "column" : "row", check->first + row, index);
}

static comp_status check_row(row_check *check, size_t row) {
  comp_matrix *matrix = check->matrix;
  const comp__tree_matrix *m = check->source;
  int32_t *indices = matrix->indices + matrix->indptr[row];
  size_t n = (size_t)(matrix->indptr[row + 1] - matrix->indptr[row]);
  int descents = 0; /* an int: with a bool the loop is three times as long */
  for (size_t k = 1; k < n; k++) descents |= indices[k] <= indices[k - 1];
  /* Where they ascend, the ends tell of all between them. */
  if (!descents && (n == 0 || (indices[0] >= 0 && (size_t)indices[n - 1] < matrix->cols))) return COMP_OK;
  for (size_t k = 0; k < n; k++)
    if (indices[k] < 0 || (size_t)indices[k] >= matrix->cols)
      return comp__error(COMP_ERR_FORMAT, "%s/indices: %s %zu holds %d, outside of 0 .. %lld: the file is damaged",
                         m->where, m->by_column ? "column" : "row", check->first + row, indices[k],
                         (long long)matrix->cols - 1);
  comp_status status = sort_row(indices, matrix->values + matrix->indptr[row], n);
  if (status != COMP_OK) return status;
  for (size_t k = 1; k < n; k++)
    if (indices[k] == indices[k - 1]) return repeated(check, row, indices[k]);
  atomic_fetch_add(&check->sorted, 1);
  return COMP_OK;
}

static comp_status check_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_status status = COMP_OK;
  for (size_t row = begin; row < end && status == COMP_OK; row++) status = check_row(arg, row);
  return status;
}

/* Whole numbers from 2^24 on do not all fit a float, doubles can become infinite: that must not go unnoticed. */
static void note_type(comp_context *context, const comp__tree_matrix *m, comp_matrix *matrix) {
  const float most = 16777216;
  size_t n = matrix->kind == COMP_CSR ? (size_t)matrix->indptr[matrix->rows] : matrix->rows * matrix->cols, unfit = 0;
  matrix->narrowed = m->values.integer || m->values.bytes > 4;
  if (m->told || !matrix->narrowed || m->values.bytes < 4) return;
  if (m->values.integer)
    for (size_t i = 0; i < n; i++) unfit += fabsf(matrix->values[i]) >= most;
  else
    for (size_t i = 0; i < n; i++) unfit += isinf(matrix->values[i]) != 0;
  if (unfit == 0) return;
  comp__warn(context,
             m->values.integer
                 ? "%s: %zu whole numbers are 16,777,216 or more; comp computes with 32-bit floats, which round them"
                 : "%s: %zu values are infinite, or too large for the 32-bit floats that comp computes with",
             m->where, unfit);
  ((comp__tree_matrix *)m)->told = true; /* once */
}

/* Entries and values of rows begin .. end - 1 to a CSR matrix that has room for them. */
static comp_status fill_sparse(comp_matrix *matrix, comp_context *context, const comp__tree_matrix *m, size_t begin,
                               size_t end) {
  comp_status status;
  const size_t first = (size_t)m->indptr[begin], nnz = (size_t)(m->indptr[end] - m->indptr[begin]);
  for (size_t row = 0; row <= end - begin; row++) matrix->indptr[row] = m->indptr[begin + row] - m->indptr[begin];
  COMP__TRY(m->values.tree->ops->read(context, &m->indices, COMP__AS_I32, first, nnz, matrix->indices));
  COMP__TRY(m->values.tree->ops->read(context, &m->values, COMP__AS_F32, first, nnz, matrix->values));
  row_check check = {matrix, m, begin, 0};
  COMP__TRY(comp__parallel_try(context, matrix->rows, ROW_CHUNK, check_rows, &check));
  size_t sorted = atomic_load(&check.sorted);
  if (sorted > 0)
    comp__info(context, "%s: the indices of %zu %s were not ascending, and have been sorted", m->where, sorted,
               m->by_column ? "columns" : "rows");
  note_type(context, m, matrix);
done:
  return status;
}

static comp_status read_sparse(comp_matrix **out, comp_context *context, const comp__tree_matrix *m, size_t begin,
                               size_t end) {
  const size_t nnz = (size_t)(m->indptr[end] - m->indptr[begin]);
  *out = NULL;
  comp_status status = comp__matrix_new_csr_in(out, context, end - begin, m->by_column ? m->rows : m->cols, nnz);
  if (status != COMP_OK) return status;
  status = fill_sparse(*out, context, m, begin, end);
  if (status == COMP_OK) return COMP_OK;
  comp_matrix_free(*out);
  *out = NULL;
  return status;
}

static comp_status read_by_column(comp_matrix **out, comp_context *context, const comp__tree_matrix *m) {
  comp_matrix *columns;
  *out = NULL;
  comp_status status = read_sparse(&columns, context, m, 0, m->cols);
  if (status != COMP_OK) return status;
  status = comp_matrix_transpose(out, context, columns);
  if (status == COMP_OK) (*out)->narrowed = columns->narrowed;
  comp_matrix_free(columns);
  return status;
}

comp_status comp__tree_matrix_fill(comp_matrix *matrix, comp_context *context, const comp__tree_matrix *m, size_t begin,
                                   size_t end) {
  if (m->kind == COMP_CSR) return fill_sparse(matrix, context, m, begin, end);
  comp_status status = m->values.tree->ops->read(context, &m->values, COMP__AS_F32, begin, end - begin, matrix->values);
  if (status == COMP_OK) note_type(context, m, matrix);
  return status;
}

comp_status comp__tree_matrix_read(comp_matrix **out, comp_context *context, const comp__tree_matrix *m, size_t begin,
                                   size_t end) {
  if (m->by_column) return read_by_column(out, context, m);
  if (m->kind == COMP_CSR) return read_sparse(out, context, m, begin, end);
  comp_status status = comp__matrix_new_dense_in(out, context, end - begin, m->cols);
  if (status != COMP_OK) return status;
  status = comp__tree_matrix_fill(*out, context, m, begin, end);
  if (status == COMP_OK) return COMP_OK;
  comp_matrix_free(*out);
  *out = NULL;
  return status;
}
