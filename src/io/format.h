/*
 * format.h: the table of file formats. A format is one file in this folder and one row in format.c.
 */
#ifndef COMP_IO_FORMAT_H
#define COMP_IO_FORMAT_H

#include <sys/stat.h>

#include "io/options.h"
#include "io/tree_matrix.h"

/* What a format's probe may look at. */
typedef struct comp__peek {
  const char *path;
  bool folder;
  const unsigned char *head; /* the first bytes, gunzipped when `gzip`; empty for a folder */
  size_t head_size;
  bool gzip;
} comp__peek;

typedef struct comp__format {
  const char *name;        /* for messages and comp_file_format(): "h5ad" */
  const char *description; /* "AnnData" */
  const char *extensions;  /* of outputs, separated by spaces: ".csv .csv.gz"; NULL when it cannot be written */
  /* Whether this looks like such a file. Asked in the order of the table. An error: it could not be found out. */
  comp_status (*probe)(bool *is, const comp__peek *peek);
  /* Reads it whole. Everything about metadata joins, checks of X and names is done by the caller. */
  comp_status (*read)(comp_dataset **out, comp_context *context, const char *path, const comp__read_options *options);
  /* Writes to a temporary name (`path`); `name` is the final one, for its extension. NULL when it cannot be written. */
  comp_status (*write)(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                       const comp__write_options *options);
  /* Opens X for reading block by block (rows.h): `out` is of `*tree`, and both are the caller's, also when it fails.
   * NULL: it is X of the AnnData in open_tree, or cannot be read so where that is NULL, too. */
  comp_status (*open_x)(comp__tree **tree, comp__tree_matrix *out, comp_context *context, const char *path,
                        const comp__read_options *options);
  /* Opens the file as a tree, which should be freed via comp__tree_free(). NULL when it is none. */
  comp_status (*open_tree)(comp__tree **out, const char *path);
  bool folder; /* what is written is a folder: `write` gets the name of an empty one */
} comp__format;

/* The format of a file, by its content. */
comp_status comp__format_of_input(const comp__format **out, const char *path);

/* The format of an output, by its name. */
comp_status comp__format_of_output(const comp__format **out, const char *name);

/* An error when the output would be in the folder that is the input, or below it. */
comp_status comp__format_check_outside(const char *in_path, const char *out_path);

/* COMP_ERR_IO when this file (a folder is not looked at) has other times or another size than before: another program
 * writes to it. One that was replaced is fine: who has it open reads the old one. */
comp_status comp__format_check_unchanged(const char *path, const struct stat *before);

/* The error of a value that is not finite, naming its sample and feature, and the layer where one is read as X. */
comp_status comp__format_bad_value(const comp_dataset *names, const comp__read_options *options, size_t row,
                                   size_t col);

/* The rows, one file each. */
extern const comp__format comp__format_h5ad;     /* h5/h5ad.c */
extern const comp__format comp__format_tenx_h5;  /* h5/tenx.c */
extern const comp__format comp__format_zarr;     /* zarr/zarr.c */
extern const comp__format comp__format_zarr_zip; /* the same; written only */
extern const comp__format comp__format_mex;      /* mex.c */
extern const comp__format comp__format_csv;      /* csv.c */
extern const comp__format comp__format_npy;      /* npy.c */

#endif
