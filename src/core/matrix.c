/* matrix.c: dense and CSR matrices: making, checking, selecting, converting. */
#include "core/matrix.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/options.h"
#include "core/threads.h"

static const char *const kind_names[] = {"dense", "csr", NULL};
COMP__ENUM_NAMES(comp_matrix_kind, kind_names, "kind of matrix")

/* Rows a chunk in loops over rows. */
enum { ROW_CHUNK = 256 };

static comp_status new_matrix(comp_matrix **out, comp_matrix_kind kind, size_t rows, size_t cols) {
  *out = NULL;
  if (cols > INT32_MAX)
    return comp__error(COMP_ERR_DATA, "a matrix of %zu columns is too wide: at most %d", cols, INT32_MAX);
  comp_matrix *matrix;
  comp_status status = comp__calloc(&matrix, 1, sizeof *matrix);
  if (status != COMP_OK) return status;
  matrix->kind = kind;
  matrix->rows = rows;
  matrix->cols = cols;
  *out = matrix;
  return COMP_OK;
}

/* ---- Arrays ---- */

/* Gives memory, or a place in a scratch file to a matrix that takes `all` bytes. Where nobody chose how much memory to
 * take, a disk without room is no reason to fail: memory is tried then. Zeros only in a file. */
static comp_status new_array(void *out, comp__paged **paged, comp_context *context, size_t count, size_t size,
                             size_t all) {
  comp__pager *pager = context ? comp__context_pager(context) : NULL;
  void *block;
  size_t bytes;
  *paged = NULL;
  if (!pager || count == 0 || !comp__pager_wants(pager, all) || !comp__size_mul(&bytes, count, size))
    return comp__alloc(out, count, size);
  comp_status status = comp__paged_new(paged, &block, pager, bytes);
  if (status != COMP_OK && !comp__pager_asked(pager)) return comp__alloc(out, count, size);
  if (status == COMP_OK) memcpy(out, &block, sizeof block);
  return status;
}

static void free_array(void *array, comp__paged *paged) {
  if (paged)
    comp__paged_free(paged);
  else
    comp__free(array);
}

static void tell_paged(comp_context *context, const comp_matrix *matrix, size_t bytes) {
  if (!matrix->paged_values || comp__in_parallel_loop()) return;
  comp__debug(context, "a matrix of %zu x %zu (%zu MB) is in a scratch file in %s", matrix->rows, matrix->cols,
              (bytes >> 20) + 1, comp__scratch_folder());
}

/* Room for `nnz` entries, in place of what is there. */
static comp_status give_entries(comp_matrix *matrix, comp_context *context, size_t nnz) {
  comp_status status;
  size_t bytes;
  if (!comp__size_mul(&bytes, nnz, sizeof *matrix->values + sizeof *matrix->indices)) bytes = SIZE_MAX;
  free_array(matrix->indices, matrix->paged_indices);
  free_array(matrix->values, matrix->paged_values);
  matrix->indices = NULL;
  matrix->values = NULL;
  matrix->paged_indices = matrix->paged_values = NULL;
  COMP__TRY(new_array(&matrix->indices, &matrix->paged_indices, context, nnz, sizeof *matrix->indices, bytes));
  COMP__TRY(new_array(&matrix->values, &matrix->paged_values, context, nnz, sizeof *matrix->values, bytes));
  if (context) tell_paged(context, matrix, bytes);
done:
  return status;
}

/* ---- Making and freeing ---- */

comp_status comp__matrix_new_dense_in(comp_matrix **out, comp_context *context, size_t rows, size_t cols) {
  comp_matrix *matrix;
  comp_status status = new_matrix(&matrix, COMP_DENSE, rows, cols);
  *out = NULL;
  if (status != COMP_OK) return status;
  size_t count, bytes;
  if (!comp__size_mul(&count, rows, cols)) count = SIZE_MAX; /* comp__alloc() refuses it */
  if (!comp__size_mul(&bytes, count, sizeof(float))) bytes = SIZE_MAX;
  status = new_array(&matrix->values, &matrix->paged_values, context, count, sizeof(float), bytes);
  if (status != COMP_OK) {
    comp_matrix_free(matrix);
    return comp__error_context(status, "a dense matrix of %zu x %zu", rows, cols);
  }
  if (context) tell_paged(context, matrix, bytes);
  *out = matrix;
  return COMP_OK;
}

comp_status comp__matrix_new_dense_raw(comp_matrix **out, size_t rows, size_t cols) {
  return comp__matrix_new_dense_in(out, NULL, rows, cols);
}

/* All zero: what is in a file is so already. */
static comp_status new_zeros(comp_matrix **out, comp_context *context, size_t rows, size_t cols) {
  comp_status status = comp__matrix_new_dense_in(out, context, rows, cols);
  if (status == COMP_OK && !(*out)->paged_values) memset((*out)->values, 0, rows * cols * sizeof(float));
  return status;
}

comp_status comp_matrix_new_dense(comp_matrix **out, size_t rows, size_t cols) {
  COMP__NEED(out);
  return new_zeros(out, NULL, rows, cols);
}

comp_status comp__matrix_new_csr_in(comp_matrix **out, comp_context *context, size_t rows, size_t cols, size_t nnz) {
  comp_matrix *matrix;
  comp_status status = new_matrix(&matrix, COMP_CSR, rows, cols);
  *out = NULL;
  if (status != COMP_OK) return status;
  size_t pointers;
  if (!comp__size_add(&pointers, rows, 1)) pointers = SIZE_MAX;
  COMP__TRY(comp__calloc(&matrix->indptr, pointers, sizeof *matrix->indptr));
  COMP__TRY(give_entries(matrix, context, nnz));
  *out = matrix;
done:
  if (status == COMP_OK) return COMP_OK;
  comp_matrix_free(matrix);
  return comp__error_context(status, "a sparse matrix of %zu x %zu with %zu entries", rows, cols, nnz);
}

comp_status comp_matrix_new_csr(comp_matrix **out, size_t rows, size_t cols, size_t nnz) {
  COMP__NEED(out);
  return comp__matrix_new_csr_in(out, NULL, rows, cols, nnz);
}

void comp_matrix_free(comp_matrix *matrix) {
  if (!matrix) return;
  if (!(matrix->borrowed & COMP__BORROWED_VALUES)) free_array(matrix->values, matrix->paged_values);
  if (!(matrix->borrowed & COMP__BORROWED_INDICES)) free_array(matrix->indices, matrix->paged_indices);
  if (!(matrix->borrowed & COMP__BORROWED_INDPTR)) comp__free(matrix->indptr);
  if (matrix->borrowed && matrix->release) matrix->release(matrix->user);
  comp__free(matrix);
}

bool comp_matrix_is_borrowed(const comp_matrix *matrix) {
  return matrix->borrowed != 0;
}

comp_status comp__matrix_own(comp_context *context, comp_matrix *matrix) {
  if (!matrix->borrowed) return COMP_OK;
  comp_matrix *copy;
  comp_status status = comp_matrix_select(&copy, context, matrix, NULL, 0, NULL, 0);
  if (status != COMP_OK) return status;
  comp_matrix borrowed = *matrix;
  *matrix = *copy;
  *copy = borrowed;
  comp_matrix_free(copy);
  return COMP_OK;
}

comp_matrix_kind comp_matrix_get_kind(const comp_matrix *matrix) {
  return matrix->kind;
}
size_t comp_matrix_rows(const comp_matrix *matrix) {
  return matrix->rows;
}
size_t comp_matrix_cols(const comp_matrix *matrix) {
  return matrix->cols;
}

size_t comp_matrix_nnz(const comp_matrix *matrix) {
  return matrix->kind == COMP_CSR ? (size_t)matrix->indptr[matrix->rows] : matrix->rows * matrix->cols;
}

float *comp_matrix_values(comp_matrix *matrix) {
  return matrix->borrowed ? NULL : matrix->values;
}
const float *comp_matrix_const_values(const comp_matrix *matrix) {
  return matrix->values;
}
int64_t *comp_matrix_indptr(comp_matrix *matrix) {
  return matrix->borrowed ? NULL : matrix->indptr;
}
int32_t *comp_matrix_indices(comp_matrix *matrix) {
  return matrix->borrowed ? NULL : matrix->indices;
}
const int64_t *comp_matrix_const_indptr(const comp_matrix *matrix) {
  return matrix->indptr;
}
const int32_t *comp_matrix_const_indices(const comp_matrix *matrix) {
  return matrix->indices;
}

static comp_status check_row(const comp_matrix *matrix, size_t row) {
  int64_t last = -1;
  for (int64_t k = matrix->indptr[row]; k < matrix->indptr[row + 1]; k++) {
    int64_t col = matrix->indices[k];
    if (col < 0 || col >= (int64_t)matrix->cols)
      return comp__error(COMP_ERR_FORMAT, "row %zu holds column index %lld, outside of 0 .. %lld", row, (long long)col,
                         (long long)matrix->cols - 1);
    if (col <= last)
      return comp__error(COMP_ERR_FORMAT, "row %zu: column indices %s (%lld after %lld)", row,
                         col == last ? "repeat" : "are not ascending", (long long)col, (long long)last);
    last = col;
  }
  return COMP_OK;
}

static comp_status check_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  for (size_t row = begin; row < end; row++) {
    comp_status status = check_row(arg, row);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp_matrix_check(comp_context *context, const comp_matrix *matrix) {
  COMP__NEED(context, matrix);
  if (matrix->kind == COMP_CSR) {
    if (matrix->indptr[0] != 0)
      return comp__error(COMP_ERR_FORMAT, "indptr starts at %lld, not 0", (long long)matrix->indptr[0]);
    for (size_t row = 0; row < matrix->rows; row++)
      if (matrix->indptr[row + 1] < matrix->indptr[row])
        return comp__error(COMP_ERR_FORMAT, "indptr descends at row %zu (%lld after %lld)", row,
                           (long long)matrix->indptr[row + 1], (long long)matrix->indptr[row]);
    comp_status status = comp__parallel_try(context, matrix->rows, ROW_CHUNK, check_rows, (void *)(uintptr_t)matrix);
    if (status != COMP_OK) return status;
  }
  size_t row, col;
  if (comp__matrix_find_nonfinite(&row, &col, context, matrix))
    return comp__error(COMP_ERR_DATA, "row %zu, column %zu is not a finite number", row + 1, col + 1);
  return COMP_OK;
}

typedef struct nonfinite_search {
  const float *values;
  atomic_size_t first; /* lowest place found so far */
} nonfinite_search;

enum { VALUE_CHUNK = 1 << 16 };

static void search_nonfinite(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  nonfinite_search *search = arg;
  if (begin >= atomic_load(&search->first)) return;
  int bad = 0; /* an int vectorises better than a bool; NaN is bad, too */
  for (size_t i = begin; i < end; i++) bad |= !(fabsf(search->values[i]) <= 3.402823466e38f);
  if (!bad) return;
  size_t i = begin;
  while (isfinite(search->values[i])) i++;
  size_t known = atomic_load(&search->first);
  while (i < known && !atomic_compare_exchange_weak(&search->first, &known, i)) {
  }
}

bool comp__matrix_find_nonfinite(size_t *row, size_t *col, comp_context *context, const comp_matrix *matrix) {
  size_t n = comp_matrix_nnz(matrix);
  nonfinite_search search = {matrix->values, n};
  comp__parallel_for(context, n, VALUE_CHUNK, search_nonfinite, &search);
  size_t place = atomic_load(&search.first);
  if (place >= n) return false;
  if (matrix->kind == COMP_DENSE) {
    *row = place / matrix->cols;
    *col = place % matrix->cols;
    return true;
  }
  size_t low = 0, high = matrix->rows; /* the row whose entries hold the place */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if ((size_t)matrix->indptr[middle] <= place)
      low = middle;
    else
      high = middle;
  }
  *row = low;
  *col = (size_t)matrix->indices[place];
  return true;
}

/* What selecting rows and columns shares between its passes. */
typedef struct selection {
  const comp_matrix *from;
  comp_matrix *to;
  const size_t *rows;
  const size_t *cols;
  const int32_t *new_col; /* [from->cols]: column in `to` or -1; NULL: all columns are kept */
  bool ascending;         /* kept columns keep their order: no sorting needed */
} selection;

static size_t source_row(const selection *s, size_t row) {
  return s->rows ? s->rows[row] : row;
}

static void select_dense(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const selection *s = arg;
  for (size_t row = begin; row < end; row++) {
    const float *from = s->from->values + source_row(s, row) * s->from->cols;
    float *to = s->to->values + row * s->to->cols;
    if (!s->cols)
      memcpy(to, from, s->to->cols * sizeof *to);
    else
      for (size_t col = 0; col < s->to->cols; col++) to[col] = from[s->cols[col]];
  }
}

static void count_selected(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const selection *s = arg;
  for (size_t row = begin; row < end; row++) {
    size_t from = source_row(s, row);
    int64_t count = s->from->indptr[from + 1] - s->from->indptr[from];
    if (s->new_col) {
      count = 0;
      for (int64_t k = s->from->indptr[from]; k < s->from->indptr[from + 1]; k++)
        count += s->new_col[s->from->indices[k]] >= 0;
    }
    s->to->indptr[row + 1] = count;
  }
}

/* Insertion sort: rows come nearly sorted, and only a reordering of columns gets here at all. */
static void sort_row(int32_t *indices, float *values, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    int32_t index = indices[i];
    float value = values[i];
    int64_t j = i;
    for (; j > 0 && indices[j - 1] > index; j--) {
      indices[j] = indices[j - 1];
      values[j] = values[j - 1];
    }
    indices[j] = index;
    values[j] = value;
  }
}

static void copy_selected(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const selection *s = arg;
  for (size_t row = begin; row < end; row++) {
    size_t from = source_row(s, row);
    int64_t at = s->to->indptr[row];
    for (int64_t k = s->from->indptr[from]; k < s->from->indptr[from + 1]; k++) {
      int32_t col = s->new_col ? s->new_col[s->from->indices[k]] : s->from->indices[k];
      if (col < 0) continue;
      s->to->indices[at] = col;
      s->to->values[at++] = s->from->values[k];
    }
    int64_t first = s->to->indptr[row];
    if (!s->ascending) sort_row(s->to->indices + first, s->to->values + first, at - first);
  }
}

/* Turns per-row counts, stored one place ahead, into row starts. */
static void accumulate(int64_t *indptr, size_t rows) {
  for (size_t row = 0; row < rows; row++) indptr[row + 1] += indptr[row];
}

static comp_status select_csr(selection *s, comp_matrix **out, comp_context *context, size_t n_rows, size_t n_cols) {
  comp_status status = COMP_OK;
  int32_t *new_col = NULL;
  if (s->cols) {
    COMP__TRY(comp__alloc(&new_col, s->from->cols, sizeof *new_col));
    memset(new_col, -1, s->from->cols * sizeof *new_col);
    for (size_t col = 0; col < n_cols; col++) {
      assert(new_col[s->cols[col]] == -1);
      new_col[s->cols[col]] = (int32_t)col;
      if (col > 0 && s->cols[col] < s->cols[col - 1]) s->ascending = false;
    }
    s->new_col = new_col;
  }
  COMP__TRY(comp_matrix_new_csr(&s->to, n_rows, n_cols, 0));
  comp__parallel_for(context, n_rows, ROW_CHUNK, count_selected, s);
  accumulate(s->to->indptr, n_rows);
  size_t nnz = (size_t)s->to->indptr[n_rows];
  COMP__TRY(give_entries(s->to, context, nnz));
  comp__parallel_for(context, n_rows, ROW_CHUNK, copy_selected, s);
  *out = s->to;
done:
  comp__free(new_col);
  if (status != COMP_OK) comp_matrix_free(s->to);
  return status;
}

comp_status comp_matrix_select(comp_matrix **out, comp_context *context, const comp_matrix *matrix, const size_t *rows,
                               size_t n_rows, const size_t *cols, size_t n_cols) {
  COMP__NEED_OUT(out, context, matrix);
  *out = NULL;
  if (!rows) n_rows = matrix->rows;
  if (!cols) n_cols = matrix->cols;
  selection s = {.from = matrix, .rows = rows, .cols = cols, .ascending = true};
  if (matrix->kind == COMP_CSR) return select_csr(&s, out, context, n_rows, n_cols);
  comp_status status = comp__matrix_new_dense_in(&s.to, context, n_rows, n_cols);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, n_rows, ROW_CHUNK, select_dense, &s);
  *out = s.to;
  return COMP_OK;
}

typedef struct conversion {
  const comp_matrix *from;
  comp_matrix *to;
} conversion;

static void scatter_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const conversion *c = arg;
  for (size_t row = begin; row < end; row++) {
    float *to = c->to->values + row * c->to->cols;
    for (int64_t k = c->from->indptr[row]; k < c->from->indptr[row + 1]; k++)
      to[c->from->indices[k]] = c->from->values[k];
  }
}

comp_status comp_matrix_to_dense(comp_matrix **out, comp_context *context, const comp_matrix *matrix) {
  COMP__NEED_OUT(out, context, matrix);
  if (matrix->kind == COMP_DENSE) return comp_matrix_select(out, context, matrix, NULL, 0, NULL, 0);
  comp_status status = new_zeros(out, context, matrix->rows, matrix->cols);
  if (status != COMP_OK) return status;
  conversion c = {matrix, *out};
  comp__parallel_for(context, matrix->rows, ROW_CHUNK, scatter_rows, &c);
  return COMP_OK;
}

static void count_nonzeros(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const conversion *c = arg;
  for (size_t row = begin; row < end; row++) {
    const float *from = c->from->values + row * c->from->cols;
    int64_t count = 0;
    for (size_t col = 0; col < c->from->cols; col++) count += from[col] != 0.0f;
    c->to->indptr[row + 1] = count;
  }
}

static void gather_nonzeros(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const conversion *c = arg;
  for (size_t row = begin; row < end; row++) {
    const float *from = c->from->values + row * c->from->cols;
    int64_t at = c->to->indptr[row];
    for (size_t col = 0; col < c->from->cols; col++) {
      if (from[col] == 0.0f) continue;
      c->to->indices[at] = (int32_t)col;
      c->to->values[at++] = from[col];
    }
  }
}

comp_status comp_matrix_to_csr(comp_matrix **out, comp_context *context, const comp_matrix *matrix) {
  COMP__NEED_OUT(out, context, matrix);
  if (matrix->kind == COMP_CSR) return comp_matrix_select(out, context, matrix, NULL, 0, NULL, 0);
  *out = NULL;
  conversion c = {matrix, NULL};
  comp_status status = comp_matrix_new_csr(&c.to, matrix->rows, matrix->cols, 0);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, matrix->rows, ROW_CHUNK, count_nonzeros, &c);
  accumulate(c.to->indptr, matrix->rows);
  size_t nnz = (size_t)c.to->indptr[matrix->rows];
  COMP__TRY(give_entries(c.to, context, nnz));
  comp__parallel_for(context, matrix->rows, ROW_CHUNK, gather_nonzeros, &c);
  *out = c.to;
done:
  if (status != COMP_OK) comp_matrix_free(c.to);
  return status;
}

static void transpose_dense(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const conversion *c = arg;
  for (size_t row = begin; row < end; row++)
    for (size_t col = 0; col < c->to->cols; col++)
      c->to->values[row * c->to->cols + col] = c->from->values[col * c->from->cols + row];
}

/* A counting sort by column; one thread, as it is bound by memory. */
static comp_status transpose_csr(comp_matrix **out, comp_context *context, const comp_matrix *matrix) {
  comp_status status = comp__matrix_new_csr_in(out, context, matrix->cols, matrix->rows, comp_matrix_nnz(matrix));
  if (status != COMP_OK) return status;
  comp_matrix *to = *out;
  int64_t nnz = (int64_t)comp_matrix_nnz(matrix);
  for (int64_t k = 0; k < nnz; k++) to->indptr[matrix->indices[k] + 1]++;
  accumulate(to->indptr, to->rows);
  for (size_t row = 0; row < matrix->rows; row++)
    for (int64_t k = matrix->indptr[row]; k < matrix->indptr[row + 1]; k++) {
      int64_t at = to->indptr[matrix->indices[k]]++;
      to->indices[at] = (int32_t)row;
      to->values[at] = matrix->values[k];
    }
  /* Each start has moved to its row's end: shift them back by one row. */
  memmove(to->indptr + 1, to->indptr, to->rows * sizeof *to->indptr);
  to->indptr[0] = 0;
  return COMP_OK;
}

comp_status comp_matrix_transpose(comp_matrix **out, comp_context *context, const comp_matrix *matrix) {
  COMP__NEED_OUT(out, context, matrix);
  *out = NULL;
  if (matrix->kind == COMP_CSR) {
    if (matrix->rows > INT32_MAX)
      return comp__error(COMP_ERR_DATA, "a matrix of %zu rows is too long to transpose", matrix->rows);
    return transpose_csr(out, context, matrix);
  }
  comp_status status = comp__matrix_new_dense_in(out, context, matrix->cols, matrix->rows);
  if (status != COMP_OK) return status;
  conversion c = {matrix, *out};
  comp__parallel_for(context, matrix->cols, 16, transpose_dense, &c);
  return COMP_OK;
}

comp_status comp__matrix_stack(comp_matrix **out, comp_matrix *const *parts, size_t n) {
  size_t rows = 0, nnz = 0, row = 0, at = 0, cols = parts[0]->cols;
  bool sparse = parts[0]->kind == COMP_CSR;
  for (size_t p = 0; p < n; p++) {
    assert(parts[p]->kind == parts[0]->kind && parts[p]->cols == cols);
    rows += parts[p]->rows;
    nnz += comp_matrix_nnz(parts[p]);
  }
  comp_status status = sparse ? comp_matrix_new_csr(out, rows, cols, nnz) : comp__matrix_new_dense_raw(out, rows, cols);
  if (status != COMP_OK) return status;
  for (size_t p = 0; p < n; p++) {
    size_t count = comp_matrix_nnz(parts[p]);
    memcpy((*out)->values + at, parts[p]->values, count * sizeof(float));
    if (sparse) {
      memcpy((*out)->indices + at, parts[p]->indices, count * sizeof(int32_t));
      for (size_t i = 0; i < parts[p]->rows; i++) (*out)->indptr[row + i + 1] = (int64_t)at + parts[p]->indptr[i + 1];
    }
    row += parts[p]->rows;
    at += count;
  }
  return COMP_OK;
}
