/*
 * matrix.h: a matrix of 32-bit floats, dense (row after row) or CSR (compressed sparse rows).
 *
 * Rows are samples, columns are features. A CSR matrix holds, for row i, the entries indptr[i] .. indptr[i + 1] - 1 of
 * `indices` (columns, ascending within a row, no repeats) and `values`.
 *
 * A matrix has memory of its own, or borrows the caller's (comp_matrix_wrap_dense(), comp_matrix_wrap_csr()), which the
 * library then never writes to.
 */
#ifndef COMP_MATRIX_H
#define COMP_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/status.h"

typedef struct comp_matrix comp_matrix;

typedef enum comp_matrix_kind { COMP_DENSE, COMP_CSR } comp_matrix_kind;

/* "dense", "csr"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_matrix_kind_name(comp_matrix_kind kind);
COMP_API comp_status comp_matrix_kind_parse(comp_matrix_kind *out, const char *name);

/* Creates a dense matrix of zeros. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_new_dense(comp_matrix **out, size_t rows, size_t cols);

/* Creates a CSR matrix with room for `nnz` entries and all indptr 0: the caller fills the three arrays.
 * It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_matrix_new_csr(comp_matrix **out, size_t rows, size_t cols, size_t nnz);

/* What the caller's arrays hold. */
typedef enum comp_number_type { COMP_FLOAT32, COMP_FLOAT64, COMP_INT32, COMP_INT64 } comp_number_type;

/* "float32", "float64", "int32", "int64"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_number_type_name(comp_number_type type);
COMP_API comp_status comp_number_type_parse(comp_number_type *out, const char *name);

/* Gives the caller's memory back. Called once, on the thread that makes the call after which it is not needed. */
typedef void (*comp_release_fn)(void *user);

/*
 * Wraps the caller's arrays. Arrays of the types that the library computes with are borrowed, not copied:
 *
 *   dense  float32 values, and ld = cols
 *   CSR    float32 values, int32 indices, int64 indptr, each for itself, if the indices ascend within each row
 *
 * Others are converted, in parallel: values to float32 (whole numbers beyond 2^24 are rounded), indices to int32,
 * indptr to int64. Rows whose indices do not ascend are sorted in a copy. The borrowed arrays must neither move nor
 * change until `release` is called: comp_matrix_free() calls it, or this function itself when it borrowed nothing.
 * `release` may be NULL.
 *
 * Everything is checked: values must be finite and in the range of float32, indptr must start at 0, not descend and end
 * at `nnz`, indices must be columns, and no row may hold a column twice. COMP_ERR_DATA and COMP_ERR_FORMAT name the row
 * and column, counted from 0. On failure *out is NULL and `release` is not called: the memory stays the caller's.
 *
 * The matrix should be freed via comp_matrix_free().
 */

/* Row i is values[i * ld] .. values[i * ld + cols - 1]; `ld` is at least `cols`. */
COMP_API comp_status comp_matrix_wrap_dense(comp_matrix **out, comp_context *context, const void *values,
                                            comp_number_type type, size_t rows, size_t cols, size_t ld,
                                            comp_release_fn release, void *user);

/* `values` and `indices` have `nnz` entries, `indptr` has rows + 1; the last two are int32 or int64. */
COMP_API comp_status comp_matrix_wrap_csr(comp_matrix **out, comp_context *context, const void *values,
                                          comp_number_type type, const void *indices, comp_number_type indices_type,
                                          const void *indptr, comp_number_type indptr_type, size_t rows, size_t cols,
                                          size_t nnz, comp_release_fn release, void *user);

/* Whether any of its arrays is the caller's. Functions that change a data set in place copy such a matrix first. */
COMP_API bool comp_matrix_is_borrowed(const comp_matrix *matrix);

/* NULL is allowed. Calls the release function of a matrix that borrows. */
COMP_API void comp_matrix_free(comp_matrix *matrix);

COMP_API comp_matrix_kind comp_matrix_get_kind(const comp_matrix *matrix);
COMP_API size_t comp_matrix_rows(const comp_matrix *matrix);
COMP_API size_t comp_matrix_cols(const comp_matrix *matrix);

/* Stored entries: rows x cols when dense. */
COMP_API size_t comp_matrix_nnz(const comp_matrix *matrix);

/* The values: rows x cols of them when dense (row-major), nnz of them when CSR. Owned by the matrix. Of a matrix that
 * borrows, only comp_matrix_const_values() gives them: the other is NULL. */
COMP_API float *comp_matrix_values(comp_matrix *matrix);
COMP_API const float *comp_matrix_const_values(const comp_matrix *matrix);

/* The CSR arrays, owned by the matrix; NULL when dense. The ones that may be written to are NULL too when the matrix
 * borrows. */
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
