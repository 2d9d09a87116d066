/* h5_tree.h: an HDF5 file as a tree (io/tree.h). */
#ifndef COMP_IO_H5_H5_TREE_H
#define COMP_IO_H5_H5_TREE_H

#include "io/h5/h5.h"
#include "io/tree.h"

typedef struct comp__h5_tree {
  comp__tree tree;
  hid_t id;
  comp__h5_file file; /* of a tree that opened it itself */
} comp__h5_tree;

/* The tree of an open file (or group), which must live longer and stays the caller's. */
comp__h5_tree comp__h5_tree_of(hid_t file);

/* Opens a file for reading. It should be freed via comp__tree_free(). */
comp_status comp__h5_tree_open(comp__tree **out, const char *path);

/* The file of a tree of this kind. */
hid_t comp__h5_tree_file(const comp__tree *tree);

#endif
