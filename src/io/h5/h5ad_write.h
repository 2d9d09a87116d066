/* h5ad_write.h: the inner side of writing .h5ad files: parts of the writer, tables, carrying over, updating. */
#ifndef COMP_IO_H5_H5AD_WRITE_H
#define COMP_IO_H5_H5AD_WRITE_H

#include "io/h5/h5.h"
#include "io/h5/h5ad_writer.h"
#include "io/options.h"
#include "io/tree_sink.h"

/* A writer on a file that the caller names and keeps: a new one, or one that exists and is changed (a matrix that is
 * added then replaces one of its name). It should be freed via comp__h5ad_writer_free(), which leaves the file. */
comp_status comp__h5ad_writer_create(comp__h5ad_writer **out, const char *path, size_t rows, size_t cols,
                                     int compression);
comp_status comp__h5ad_writer_edit(comp__h5ad_writer **out, const char *path, size_t rows, size_t cols,
                                   int compression);

/* The open file, owned by the writer. */
hid_t comp__h5ad_writer_file(const comp__h5ad_writer *writer);

/* Completes the matrices and closes the file, without writing tables. */
comp_status comp__h5ad_writer_end(comp_context *context, comp__h5ad_writer *writer);

/* Which matrices are written. The others are copied from a file. */
typedef enum comp__h5ad_which {
  COMP__H5AD_ALL,
  COMP__H5AD_NEW,    /* those that no file holds */
  COMP__H5AD_FLOATS, /* those, and those that a file holds as floats, too */
  COMP__H5AD_MISSING /* those that are not in the new file yet */
} comp__h5ad_which;

/* Writes layers and obsm of a data set, and X when `x`. */
comp_status comp__h5ad_write_matrices(comp_context *context, comp__h5ad_writer *writer, const comp_dataset *dataset,
                                      bool x, comp__h5ad_which which);

/* Replaces uns/comp/record. NULL: nothing. */
comp_status comp__h5ad_write_record(hid_t file, const char *record);

/* Makes the groups that AnnData expects, where they are missing. */
comp_status comp__h5ad_make_groups(hid_t file);

/* Writes a table; `table` may be NULL (h5ad_table_write.c). */
comp_status comp__h5ad_write_table(comp_context *context, hid_t file, const char *path, const comp__strings *names,
                                   const comp_table *table, int compression);

/* Adds the columns to a table that is in the file, in place of columns of the same name. */
comp_status comp__h5ad_add_columns(comp_context *context, hid_t file, const char *path, const comp_table *table,
                                   int compression);

/* comp__anndata_carry() (io/carry.h) to `file`. `as_is`: what is carried is an .h5ad, too, and objects are copied by
 * HDF5. */
comp_status comp__h5ad_carry(comp_context *context, hid_t file, const char *path, const comp_dataset *dataset,
                             const comp__write_options *options, bool as_is);

/* How HDF5 copies (h5ad_carry.c), and the file of a sink of this format. */
extern const comp__tree_copier comp__h5ad_copier;
hid_t comp__h5ad_sink_file(const comp__tree_sink *sink);

/* Writes a data set whole: the slot of the format table. */
comp_status comp__h5ad_write(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                             const comp__write_options *options);

#endif
