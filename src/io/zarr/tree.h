/*
 * tree.h: a zarr store as a tree (io/tree.h).
 *
 * Metadata is read where it is, node by node, and kept. What `.zmetadata` or the root's zarr.json repeat of it
 * ("consolidated") counts only for a node that has a folder, but no metadata of its own: it may be older than the
 * store.
 */
#ifndef COMP_IO_ZARR_TREE_H
#define COMP_IO_ZARR_TREE_H

#include <jansson.h>

#include "io/tree.h"
#include "io/zarr/array.h"

/* It should be freed via comp__tree_free(). */
comp_status comp__zarr_tree_open(comp__tree **out, const char *path);

/* Whether a store has metadata at its root: a folder or zip file without is no zarr store. */
comp_status comp__zarr_is(bool *out, const char *path);

/* Parts of a tree of this kind: its store, its version (2 or 3), and the metadata and attributes of a node, which may
 * be NULL (owned by the tree). */
const comp__zarr_store *comp__zarr_tree_store(const comp__tree *tree);
int comp__zarr_tree_version(const comp__tree *tree);
const json_t *comp__zarr_tree_metadata(const comp__tree *tree, const char *path);
const json_t *comp__zarr_tree_attributes(const comp__tree *tree, const char *path);

/* Consolidated metadata of a group as it is stored now: the whole of `.zmetadata`, or of zarr.json, to be changed and
 * freed via json_decref(); *out = NULL when there is none. The list in it is by keys (version 2), or by paths below the
 * group. */
comp_status comp__zarr_tree_consolidated(json_t **out, const comp__tree *tree, const char *group);
json_t *comp__zarr_consolidated_list(const json_t *whole, int version);

#endif
