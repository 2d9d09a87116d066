/* update.h: adding results to a store that is a folder. */
#ifndef COMP_IO_ZARR_UPDATE_H
#define COMP_IO_ZARR_UPDATE_H

#include "comp/dataset.h"

/* Fills the empty folder `folder` with a copy of the store `in_path` and adds the results: columns of obs, layers,
 * obsm, and the record. `links`: files that are not changed are hard links to those of the store, which is about to be
 * replaced. Nothing is ever written to a file of the store itself. Consolidated metadata comes last. */
comp_status comp__zarr_update(comp_context *context, const comp_dataset *results, const char *in_path,
                              const char *folder, bool links);

/* A warning when the store is part of a larger one, whose consolidated metadata does not list what was added. */
void comp__zarr_tell_outer(comp_context *context, const char *path);

/* copy.c: copies all that is in one folder to another, empty one; symbolic links as they are. */
comp_status comp__zarr_copy_folder(const char *from_path, const char *to_path, bool links);

#endif
