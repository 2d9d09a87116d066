/* tenx.h: 10x .h5 files, for the reader and the row blocks. */
#ifndef COMP_IO_H5_TENX_H
#define COMP_IO_H5_TENX_H

#include "io/h5/h5.h"
#include "io/tree_matrix.h"

typedef struct comp__tenx {
  hid_t group;    /* what holds the matrix; close via comp__h5_close() */
  bool version3;  /* Cell Ranger 3 or later */
  char path[512]; /* of the group */
} comp__tenx;

/* Whether an open HDF5 file is of this kind. */
bool comp__tenx_is(hid_t file);

comp_status comp__tenx_open(comp__tenx *out, hid_t file);

/* The matrix as cells x genes. It should be closed via comp__tree_matrix_close(), also when it fails. */
comp_status comp__tenx_open_matrix(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                   const comp__tenx *tenx);

#endif
