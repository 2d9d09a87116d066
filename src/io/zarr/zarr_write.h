/* zarr_write.h: writing a data set as AnnData in a zarr store. */
#ifndef COMP_IO_ZARR_ZARR_WRITE_H
#define COMP_IO_ZARR_ZARR_WRITE_H

#include "comp/matrix.h"
#include "io/options.h"
#include "io/zarr/sink.h"

/* The slot of the format table: `path` is an empty folder. */
comp_status comp__zarr_write(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                             const comp__write_options *options);

/* The same as a zip file at `path`, whose final name is `name`: a folder beside that is packed. */
comp_status comp__zarr_write_zip(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                                 const comp__write_options *options);

/* zip_write.c: packs all that is in a folder into a zip file, called `name` in messages. */
comp_status comp__zarr_pack(const char *path, const char *folder, const char *name);

/* Parts, which update.c writes too: a group with its encoding; a matrix, and whether its name can be one. */
comp_status comp__zarr_write_group(comp__zarr_sink *sink, const char *path, const char *type, const char *version);
comp_status comp__zarr_write_matrix(comp__zarr_sink *sink, const char *folder, const char *name,
                                    const comp_matrix *matrix);
comp_status comp__zarr_check_matrix_name(const char *name);

#endif
