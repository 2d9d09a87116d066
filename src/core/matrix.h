/* matrix.h: the inner side of comp/matrix.h. */
#ifndef COMP_CORE_MATRIX_H
#define COMP_CORE_MATRIX_H

#include "comp/matrix.h"
#include "core/paged.h"

struct comp_matrix {
  comp_matrix_kind kind;
  size_t rows;
  size_t cols;
  float *values;     /* [rows * cols] when dense, [nnz] when CSR */
  int64_t *indptr;   /* [rows + 1], CSR only */
  int32_t *indices;  /* [nnz], CSR only */
  unsigned borrowed; /* COMP__BORROWED_*: the arrays that are the caller's and must not be written to or freed */
  comp_release_fn release;
  void *user;    /* of release */
  bool narrowed; /* read from numbers of another type than float: what a file holds may be more than this */
  comp__paged *paged_values, *paged_indices; /* where these arrays are in a scratch file; NULL: in memory */
};

enum { COMP__BORROWED_VALUES = 1, COMP__BORROWED_INDICES = 2, COMP__BORROWED_INDPTR = 4 };

/* Before writing to a matrix in place: one that borrows gets memory of its own and gives the caller's back. */
comp_status comp__matrix_own(comp_context *context, comp_matrix *matrix);

/* As comp_matrix_new_dense(), not initialised. */
comp_status comp__matrix_new_dense_raw(comp_matrix **out, size_t rows, size_t cols);

/* The same and comp_matrix_new_csr() for what may be as large as X: in a scratch file where it is too large for the
 * memory of the context (core/paged.h). Nothing but matrix.c needs to know. */
comp_status comp__matrix_new_dense_in(comp_matrix **out, comp_context *context, size_t rows, size_t cols);
comp_status comp__matrix_new_csr_in(comp_matrix **out, comp_context *context, size_t rows, size_t cols, size_t nnz);

/* One below the other: n >= 1 matrices of one kind and width. It should be freed via comp_matrix_free(). */
comp_status comp__matrix_stack(comp_matrix **out, comp_matrix *const *parts, size_t n);

/* Where the values of a row begin; of row `rows`, where they end. */
static inline size_t comp__matrix_row_begin(const comp_matrix *matrix, size_t row) {
  return matrix->kind == COMP_CSR ? (size_t)matrix->indptr[row] : row * matrix->cols;
}

/* The first value that is not finite: true and its place, or false. */
bool comp__matrix_find_nonfinite(size_t *row, size_t *col, comp_context *context, const comp_matrix *matrix);

#endif
