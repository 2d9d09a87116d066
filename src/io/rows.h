/*
 * rows.h: reading a data file block by block, for data larger than memory.
 */
#ifndef COMP_IO_ROWS_H
#define COMP_IO_ROWS_H

#include "io/options.h"

typedef struct comp__rows comp__rows;

/* Opens X (or options->layer, or raw) of an .h5ad or zarr store (CSR or dense) or a 10x .h5 (whose columns are cells:
 * also row blocks here) for reading in blocks. It should be freed via comp__rows_close(). */
comp_status comp__rows_open(comp__rows **out, comp_context *context, const char *path,
                            const comp__read_options *options);

size_t comp__rows_count(const comp__rows *rows);
size_t comp__rows_cols(const comp__rows *rows);
comp_matrix_kind comp__rows_kind(const comp__rows *rows);

/* Entries of rows begin .. end - 1: of a dense matrix all values. */
size_t comp__rows_entries(const comp__rows *rows, size_t begin, size_t end);

/* The bytes that all rows would take in memory. */
size_t comp__rows_bytes(const comp__rows *rows);

/* Reads rows begin .. end - 1, checked as a whole read would be. A file that was changed since it was opened is an
 * error. It should be freed via comp_matrix_free(). */
comp_status comp__rows_read(comp_matrix **out, comp_context *context, comp__rows *rows, size_t begin, size_t end);

/* The same to rows `row` .. of a matrix of their kind, whose entries begin at `at` and that has room for them. */
comp_status comp__rows_read_to(comp_matrix *to, size_t row, size_t at, comp_context *context, comp__rows *rows,
                               size_t begin, size_t end);

void comp__rows_close(comp__rows *rows);

#endif
