/*
 * tree_matrix.h: matrices of a tree, whole or by blocks of rows: dense arrays, and groups of data, indices, indptr.
 */
#ifndef COMP_IO_TREE_MATRIX_H
#define COMP_IO_TREE_MATRIX_H

#include "comp/matrix.h"
#include "io/tree.h"

/* An open matrix. Zero-initialise to start. */
typedef struct comp__tree_matrix {
  char where[128]; /* its path, for messages */
  comp_matrix_kind kind;
  bool told;      /* that values do not fit floats; set before reading: nothing is said */
  bool by_column; /* CSC: stored column by column; it can be read whole only */
  size_t rows;
  size_t cols;
  comp__tree_array values;
  comp__tree_array indices; /* sparse only */
  int64_t *indptr;          /* sparse only, checked: [rows + 1], or [cols + 1] when by_column */
} comp__tree_matrix;

/* Opens the matrix at that path: an array, or a sparse group of AnnData's layout (also from before 0.7).
 * It should be closed via comp__tree_matrix_close(), also when it fails. */
comp_status comp__tree_matrix_open(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                   const char *path);

/* Opens data, indices and indptr of a group as a CSR matrix of this shape. It should be closed via
 * comp__tree_matrix_close(), also when it fails. */
comp_status comp__tree_matrix_open_csr(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                       const char *path, size_t rows, size_t cols);

void comp__tree_matrix_close(comp__tree_matrix *matrix);

/* Reads rows begin .. end - 1 (of a by_column matrix: all). Indices of a row that are not ascending are sorted, which
 * an info message tells; indices out of range or repeated are an error. Values become
 * floats; a warning counts those that do not fit, once. The matrix should be freed via comp_matrix_free(). */
comp_status comp__tree_matrix_read(comp_matrix **out, comp_context *context, const comp__tree_matrix *matrix,
                                   size_t begin, size_t end);

/* The same to a matrix of end - begin rows, of the kind of the one in the file, that has room for their entries; not by
 * column. */
comp_status comp__tree_matrix_fill(comp_matrix *out, comp_context *context, const comp__tree_matrix *matrix,
                                   size_t begin, size_t end);

#endif
