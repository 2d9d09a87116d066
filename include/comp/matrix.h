/*
 * matrix.h: a matrix of 32-bit floats, dense (row after row) or CSR (compressed sparse rows).
 *
 * Rows are samples, columns are features. A CSR matrix holds, for row i, the entries indptr[i] .. indptr[i + 1] - 1 of
 * `indices` (columns, ascending within a row, no repeats) and `values`.
 */
#ifndef COMP_MATRIX_H
#define COMP_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/status.h"

typedef struct comp_matrix comp_matrix;

typedef enum comp_matrix_kind { COMP_DENSE, COMP_CSR } comp_matrix_kind;

/* Creates a dense matrix of zeros. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_new_dense(comp_matrix **out, size_t rows, size_t cols);

/* Creates a CSR matrix with room for `nnz` entries and all indptr 0: the caller fills the three arrays.
 * It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_new_csr(comp_matrix **out, size_t rows, size_t cols, size_t nnz);

/* NULL is allowed. */
COMP_API void comp_matrix_free(comp_matrix *matrix);

COMP_API comp_matrix_kind comp_matrix_get_kind(const comp_matrix *matrix);
COMP_API size_t comp_matrix_rows(const comp_matrix *matrix);
COMP_API size_t comp_matrix_cols(const comp_matrix *matrix);

/* Stored entries: rows x cols when dense. */
COMP_API size_t comp_matrix_nnz(const comp_matrix *matrix);

/* The values: rows x cols of them when dense (row-major), nnz of them when CSR. Owned by the matrix. */
COMP_API float *comp_matrix_values(comp_matrix *matrix);
COMP_API const float *comp_matrix_const_values(const comp_matrix *matrix);

/* The CSR arrays, owned by the matrix; NULL when dense. */
COMP_API int64_t *comp_matrix_indptr(comp_matrix *matrix);
COMP_API int32_t *comp_matrix_indices(comp_matrix *matrix);
COMP_API const int64_t *comp_matrix_const_indptr(const comp_matrix *matrix);
COMP_API const int32_t *comp_matrix_const_indices(const comp_matrix *matrix);

/* Checks the CSR arrays (ascending indptr, columns in range, ascending, no repeats) and that every value is finite. */
COMP_API comp_status comp_matrix_check(comp_context *context, const comp_matrix *matrix);

/* Copies the given rows and columns, in the given order, as a matrix of the same kind. `rows` or `cols` may be NULL:
 * all of them. No column may be named twice. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_select(comp_matrix **out, comp_context *context, const comp_matrix *matrix,
                                        const size_t *rows, size_t n_rows, const size_t *cols, size_t n_cols);

/* Copies to a dense matrix. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_to_dense(comp_matrix **out, comp_context *context, const comp_matrix *matrix);

/* Copies to CSR, leaving zeros out. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_to_csr(comp_matrix **out, comp_context *context, const comp_matrix *matrix);

/* The transpose, of the same kind. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_transpose(comp_matrix **out, comp_context *context, const comp_matrix *matrix);

#endif
