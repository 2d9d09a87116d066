/* zarr_write.h: writing a data set as AnnData in a zarr store. */
#ifndef COMP_IO_ZARR_ZARR_WRITE_H
#define COMP_IO_ZARR_ZARR_WRITE_H

#include "io/options.h"

/* The slot of the format table: `path` is an empty folder. */
comp_status comp__zarr_write(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                             const comp__write_options *options);

#endif
