/* wrap.c: matrices of the caller's arrays: borrowed where they are what the library computes with, else converted. */
#include <assert.h>
#include <math.h>
#include <stdatomic.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"
#include "core/threads.h"

static const char *const type_names[] = {"float32", "float64", "int32", "int64", NULL};
COMP__ENUM_NAMES(comp_number_type, type_names, "type of numbers")

enum { ROW_CHUNK = 256, VALUE_CHUNK = 1 << 16 };

static bool is_index(comp_number_type type) {
  return type == COMP_INT32 || type == COMP_INT64;
}

static comp_status check_type(comp_number_type type, bool index, const char *what) {
  if (is_index(type) || (!index && (type == COMP_FLOAT32 || type == COMP_FLOAT64))) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "%s: %d is not a type of numbers that %s can have", what, (int)type,
                     index ? "indices" : "values");
}

static comp_status check_array(const void *array, size_t n, const char *what) {
  if (array || n == 0) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "%s is NULL, but should have %zu entries", what, n);
}

/* ---- Values ---- */

static void convert(float *to, const void *from, comp_number_type type, size_t begin, size_t n) {
  switch (type) {
  case COMP_FLOAT32:
    for (size_t i = 0; i < n; i++) to[i] = ((const float *)from)[begin + i];
    break;
  case COMP_FLOAT64:
    for (size_t i = 0; i < n; i++) to[i] = (float)((const double *)from)[begin + i];
    break;
  case COMP_INT32:
    for (size_t i = 0; i < n; i++) to[i] = (float)((const int32_t *)from)[begin + i];
    break;
  case COMP_INT64:
    for (size_t i = 0; i < n; i++) to[i] = (float)((const int64_t *)from)[begin + i];
    break;
  }
}

typedef struct conversion {
  float *to; /* [rows, cols] */
  const void *from;
  comp_number_type type;
  size_t cols, ld; /* of `from` */
} conversion;

static void convert_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const conversion *c = arg;
  for (size_t row = begin; row < end; row++) convert(c->to + row * c->cols, c->from, c->type, row * c->ld, c->cols);
}

static void convert_values(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const conversion *c = arg;
  convert(c->to + begin, c->from, c->type, begin, end - begin);
}

/* A double beyond the range of float has become infinite, so this finds it too. */
static comp_status check_finite(comp_context *context, const comp_matrix *matrix) {
  size_t row, col;
  if (!comp__matrix_find_nonfinite(&row, &col, context, matrix)) return COMP_OK;
  return comp__error(COMP_ERR_DATA,
                     "row %zu, column %zu: the value is not a finite number, or too large for a 32-bit float", row,
                     col);
}

/* ---- Ownership ---- */

/* The last step: from here on the matrix gives the caller's memory back. Nothing can fail after it. */
static void hand_over(comp_matrix **out, comp_matrix *matrix, comp_release_fn release, void *user) {
  matrix->release = release;
  matrix->user = user;
  if (!matrix->borrowed && release) release(user);
  *out = matrix;
}

/* A failure leaves the memory to the caller: nothing is released. */
static void discard(comp_matrix *matrix) {
  if (matrix) matrix->release = NULL;
  comp_matrix_free(matrix);
}

static comp_status new_matrix(comp_matrix **out, comp_matrix_kind kind, size_t rows, size_t cols) {
  *out = NULL;
  if (cols > INT32_MAX)
    return comp__error(COMP_ERR_DATA, "a matrix of %zu columns is too wide: at most %d", cols, INT32_MAX);
  comp_status status = comp__calloc(out, 1, sizeof **out);
  if (status != COMP_OK) return status;
  **out = (comp_matrix){.kind = kind, .rows = rows, .cols = cols};
  return COMP_OK;
}

/* ---- Dense ---- */

comp_status comp_matrix_wrap_dense(comp_matrix **out, comp_context *context, const void *values, comp_number_type type,
                                   size_t rows, size_t cols, size_t ld, comp_release_fn release, void *user) {
  COMP__NEED_OUT(out, context, values || !rows || !cols);
  *out = NULL;
  comp_status status;
  comp_matrix *matrix = NULL;
  size_t count;
  COMP__TRY(check_type(type, false, "type"));
  if (ld < cols) COMP__FAIL(COMP_ERR_ARGUMENT, "ld: %zu is less than the %zu columns of a row", ld, cols);
  if (!comp__size_mul(&count, rows, ld) || !comp__size_mul(&count, rows, cols))
    COMP__FAIL(COMP_ERR_ARGUMENT, "a matrix of %zu x %zu is larger than memory can be", rows, cols);
  COMP__TRY(check_array(values, count, "values"));
  COMP__TRY(new_matrix(&matrix, COMP_DENSE, rows, cols));
  if (type == COMP_FLOAT32 && values && (ld == cols || rows < 2)) {
    matrix->values = (float *)(uintptr_t)values;
    matrix->borrowed = COMP__BORROWED_VALUES;
  } else {
    COMP__TRY(comp__alloc(&matrix->values, count, sizeof(float)));
    conversion c = {matrix->values, values, type, cols, ld};
    comp__parallel_for(context, rows, ROW_CHUNK, convert_rows, &c);
  }
  COMP__TRY(check_finite(context, matrix));
  hand_over(out, matrix, release, user);
  return COMP_OK;
done:
  discard(matrix);
  return status;
}

/* ---- CSR ---- */

static comp_status wrap_indptr(comp_matrix *matrix, const void *indptr, comp_number_type type, size_t nnz) {
  const size_t rows = matrix->rows;
  if (type == COMP_INT64) {
    matrix->indptr = (int64_t *)(uintptr_t)indptr;
    matrix->borrowed |= COMP__BORROWED_INDPTR;
  } else {
    comp_status status = comp__alloc(&matrix->indptr, rows + 1, sizeof *matrix->indptr);
    if (status != COMP_OK) return status;
    for (size_t row = 0; row <= rows; row++) matrix->indptr[row] = ((const int32_t *)indptr)[row];
  }
  if (matrix->indptr[0] != 0)
    return comp__error(COMP_ERR_FORMAT, "indptr starts at %lld, not 0", (long long)matrix->indptr[0]);
  for (size_t row = 0; row < rows; row++)
    if (matrix->indptr[row + 1] < matrix->indptr[row])
      return comp__error(COMP_ERR_FORMAT, "indptr descends at row %zu (%lld after %lld)", row,
                         (long long)matrix->indptr[row + 1], (long long)matrix->indptr[row]);
  if ((uint64_t)matrix->indptr[rows] == nnz) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "indptr ends at %lld, but there are %zu entries", (long long)matrix->indptr[rows],
                     nnz);
}

typedef struct index_scan {
  const comp_matrix *matrix;
  const void *from;
  comp_number_type type;
  bool copy;            /* into matrix->indices, which are not `from` */
  atomic_bool unsorted; /* a row whose indices do not ascend was seen */
} index_scan;

/* The usual case, without branches, so that it becomes vector code. */
static bool ascends_within(const int32_t *indices, int64_t n, size_t cols) {
  bool good = n == 0 || (uint32_t)indices[0] < cols;
  for (int64_t k = 1; k < n; k++) good &= (indices[k] > indices[k - 1]) & ((uint32_t)indices[k] < (uint32_t)cols);
  return good;
}

static comp_status scan_row(index_scan *s, size_t row) {
  const comp_matrix *m = s->matrix;
  int64_t last = -1;
  if (!s->copy && ascends_within(m->indices + m->indptr[row], m->indptr[row + 1] - m->indptr[row], m->cols))
    return COMP_OK;
  for (int64_t k = m->indptr[row]; k < m->indptr[row + 1]; k++) {
    int64_t col = s->type == COMP_INT64 ? ((const int64_t *)s->from)[k] : ((const int32_t *)s->from)[k];
    if (col < 0 || col >= (int64_t)m->cols)
      return comp__error(COMP_ERR_FORMAT, "row %zu holds column index %lld, but there are %zu columns", row,
                         (long long)col, m->cols);
    if (col == last)
      return comp__error(COMP_ERR_FORMAT, "row %zu holds column %lld twice: add up repeated entries first", row,
                         (long long)col);
    if (col < last) atomic_store_explicit(&s->unsorted, true, memory_order_relaxed);
    if (s->copy) m->indices[k] = (int32_t)col;
    last = col;
  }
  return COMP_OK;
}

static comp_status scan_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_status status = COMP_OK;
  for (size_t row = begin; row < end && status == COMP_OK; row++) status = scan_row(arg, row);
  return status;
}

static comp_status wrap_indices(bool *unsorted, comp_matrix *matrix, comp_context *context, const void *indices,
                                comp_number_type type, size_t nnz) {
  comp_status status = COMP_OK;
  if (type == COMP_INT32 && indices) {
    matrix->indices = (int32_t *)(uintptr_t)indices;
    matrix->borrowed |= COMP__BORROWED_INDICES;
  } else
    status = comp__alloc(&matrix->indices, nnz, sizeof *matrix->indices);
  if (status != COMP_OK) return status;
  index_scan scan = {matrix, indices, type, matrix->indices != indices, false};
  status = comp__parallel_try(context, matrix->rows, ROW_CHUNK, scan_rows, &scan);
  *unsorted = atomic_load(&scan.unsorted);
  return status;
}

static comp_status wrap_values(comp_matrix *matrix, comp_context *context, const void *values, comp_number_type type,
                               size_t nnz) {
  if (type == COMP_FLOAT32 && values) {
    matrix->values = (float *)(uintptr_t)values;
    matrix->borrowed |= COMP__BORROWED_VALUES;
  } else {
    comp_status status = comp__alloc(&matrix->values, nnz, sizeof *matrix->values);
    if (status != COMP_OK) return status;
    conversion c = {matrix->values, values, type, 0, 0};
    comp__parallel_for(context, nnz, VALUE_CHUNK, convert_values, &c);
  }
  return check_finite(context, matrix);
}

/* Transposing twice sorts every row, in time that is linear in the entries. */
static comp_status sort_rows(comp_matrix **matrix, comp_context *context) {
  comp_matrix *across = NULL, *sorted = NULL;
  comp_status status;
  COMP__TRY(comp_matrix_transpose(&across, context, *matrix));
  COMP__TRY(comp_matrix_transpose(&sorted, context, across));
  index_scan scan = {sorted, sorted->indices, COMP_INT32, false, false};
  COMP__TRY(comp__parallel_try(context, sorted->rows, ROW_CHUNK, scan_rows, &scan)); /* repeats are neighbours now */
  discard(*matrix);
  *matrix = sorted;
  sorted = NULL;
done:
  comp_matrix_free(across);
  comp_matrix_free(sorted);
  return status;
}

comp_status comp_matrix_wrap_csr(comp_matrix **out, comp_context *context, const void *values, comp_number_type type,
                                 const void *indices, comp_number_type indices_type, const void *indptr,
                                 comp_number_type indptr_type, size_t rows, size_t cols, size_t nnz,
                                 comp_release_fn release, void *user) {
  COMP__NEED_OUT(out, context, values || !nnz, indices || !nnz, indptr);
  *out = NULL;
  comp_status status;
  comp_matrix *matrix = NULL;
  bool unsorted;
  COMP__TRY(check_type(type, false, "type"));
  COMP__TRY(check_type(indices_type, true, "indices_type"));
  COMP__TRY(check_type(indptr_type, true, "indptr_type"));
  if (rows > SIZE_MAX / 16) COMP__FAIL(COMP_ERR_ARGUMENT, "a matrix of %zu rows is larger than memory can be", rows);
  COMP__TRY(check_array(indptr, rows + 1, "indptr"));
  COMP__TRY(check_array(indices, nnz, "indices"));
  COMP__TRY(check_array(values, nnz, "values"));
  COMP__TRY(new_matrix(&matrix, COMP_CSR, rows, cols));
  COMP__TRY(wrap_indptr(matrix, indptr, indptr_type, nnz));
  COMP__TRY(wrap_indices(&unsorted, matrix, context, indices, indices_type, nnz));
  COMP__TRY(wrap_values(matrix, context, values, type, nnz));
  if (unsorted) COMP__TRY(sort_rows(&matrix, context));
  hand_over(out, matrix, release, user);
  return COMP_OK;
done:
  discard(matrix);
  return status;
}
