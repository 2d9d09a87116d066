/* h5ad_update.h: adding to an .h5ad, for update.c, which knows nothing of HDF5. */
#ifndef COMP_IO_H5_H5AD_UPDATE_H
#define COMP_IO_H5_H5AD_UPDATE_H

#include "comp/dataset.h"

/* Whether the tables of a file are of the layout from before AnnData 0.7, which cannot be added to. */
comp_status comp__h5ad_needs_rewrite(bool *out, const char *path);

/* Writes to `out_path` a copy of the file `in_path` with the results added. */
comp_status comp__h5ad_update(comp_context *context, const comp_dataset *results, const char *in_path,
                              const char *out_path);

#endif
