/*
 * options.h: how a data file is read and written: the kinds "read" and "write".
 */
#ifndef COMP_IO_OPTIONS_H
#define COMP_IO_OPTIONS_H

#include "comp/io.h"
#include "core/options.h"

/* All zero: the defaults. */
typedef struct comp__read_options {
  const char *metadata; /* a .csv/.tsv table whose columns are joined to obs by sample name; NULL: none */
  const char *layer;    /* read this layer as X; NULL: X itself */
  bool raw;             /* read raw/X (and raw/var) instead of X */
  bool skip_x;          /* names and tables only: comp_dataset_x() is NULL */
  bool skip_slots;      /* leave layers and obsm out */
  bool skip_layers;     /* leave layers out */
  bool skip_damaged;    /* leave out layers and entries of obsm that are damaged, with a warning */
  bool copy;            /* read only to be written again: no warning about values that do not fit floats */
  bool transpose;       /* a text table holds features as rows, samples as columns */
  bool no_header;       /* a text table has no line of column names */
  const char *names;    /* column names for a text table without a header, separated by commas; NULL: "0", "1", ... */
  const char *missing;  /* further text that means a missing value, separated by commas, such as "?" */
  char comment;         /* lines of a text table that start with this are skipped; 0: none */
} comp__read_options;

typedef struct comp__write_options {
  const char *carry_from; /* .h5ad and .zarr: what the data set does not hold (uns, ...) is copied from this .h5ad or
                             .zarr; a message names what is left behind; NULL: nothing */
  bool unchanged;         /* samples, features and X are those of carry_from: X is copied, too, with its type */
  int compression;        /* level 0 .. 9 of gzip (.h5ad) or zstd (.zarr) */
  int zarr;               /* .zarr only: the version of the format, 2 or 3 */
  bool shards;            /* .zarr only: chunks are kept together in shards; then the version is 3 */
} comp__write_options;

extern const comp__options_kind comp__read_kind, comp__write_kind;

comp__write_options comp__write_defaults(void);

/* As the public functions (comp/io.h), whose names have one '_'. NULL: the defaults. */
comp_status comp__dataset_read(comp_dataset **out, comp_context *context, const char *path,
                               const comp__read_options *options);
/* `small`: an X of at most so many bytes is read whole. */
comp_status comp__dataset_glance(comp_dataset **out, comp_dataset **some, comp_context *context, const char *path,
                                 const comp__read_options *options, size_t small);
comp_status comp__table_read(comp_table **out, comp_context *context, const char *path,
                             const comp__read_options *options);
comp_status comp__dataset_write(comp_context *context, const comp_dataset *dataset, const char *path,
                                const comp__write_options *options);
/* in_path may be NULL: it is not known yet. */
comp_status comp__dataset_check_update(const char *in_path, const char *out_path);
comp_status comp__dataset_update(comp_context *context, const comp_dataset *results, const char *in_path,
                                 const char *out_path, const comp__read_options *options);

#endif
