/* mtx.h: Matrix Market files of sparse matrices. */
#ifndef COMP_IO_MTX_H
#define COMP_IO_MTX_H

#include "comp/matrix.h"
#include "io/text.h"

typedef struct comp__mtx_header {
  size_t rows;
  size_t cols;
  size_t entries;
} comp__mtx_header;

/* Reads a "matrix coordinate integer|real|pattern general" and transposes it on the way: the columns of the file are
 * the rows of `*out`. `check` (may be NULL) looks at the sizes before anything is read; with `out` NULL only the head
 * is. It should be freed via comp_matrix_free(). */
comp_status comp__mtx_read(comp_matrix **out, comp_context *context, comp__source *source,
                           comp_status (*check)(const void *user, const comp__mtx_header *header), const void *user);

#endif
