/*
 * io.h: data files.
 *
 * Read: .h5ad (AnnData, also from before 0.8 and 0.7), .zarr, 10x .h5 (Cell Ranger 2 and 3), MEX folders, .csv and .tsv
 * (also gzipped), each with a table of samples beside it if there is one (`metadata`). Written: .h5ad, .zarr, .csv,
 * .tsv (.gz), .npy. The format of an input is found by looking into it; the format of an output by its name.
 * docs/formats.md says what exactly is accepted.
 */
#ifndef COMP_IO_H
#define COMP_IO_H

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"

/* Reads a data file of any known format. Text tables: columns that hold numbers only become X, the others obs. Options
 * are of the kind "read"; with "skip-x" comp_dataset_x() is NULL. It should be freed via comp_dataset_free(). */
COMP_API comp_status comp_dataset_read(comp_dataset **out, comp_context *context, const char *path,
                                       const comp_options *options);

/* A look at a data file, of which little is read: `*out` gets all names and tables, and `*some` those of some samples
 * with their X, layers and obsm: 16 blocks of 256 samples, spread evenly over the file. `*some` is NULL when nothing
 * was left out, so that all is in `*out`: X takes less than 64 MB, or the format cannot be read in parts (text, MEX,
 * CSC). Options are of the kind "read". Both should be freed via comp_dataset_free(). */
COMP_API comp_status comp_dataset_glance(comp_dataset **out, comp_dataset **some, comp_context *context,
                                         const char *path, const comp_options *options);

/* Reads a text table with every column as it is: numbers, bools, strings. Row names, where the table has them, are its
 * first column. Of the options (kind "read") only those of text tables count. It should be freed via
 * comp_table_free(). */
COMP_API comp_status comp_table_read(comp_table **out, comp_context *context, const char *path,
                                     const comp_options *options);

/* Joins the columns of a table file to obs by sample name, in any order. Samples without a row get missing values; a
 * warning counts what did not match, and it is an error when nothing did. */
COMP_API comp_status comp_dataset_join_metadata(comp_context *context, comp_dataset *dataset, const char *path);

/* Writes a data set as a new file, by its name: .h5ad, .zarr (a folder, which must not be there yet), .zarr.zip, .csv,
 * .tsv, .csv.gz, .tsv.gz, .npy (X alone). The file appears complete or not at all. Options are of the kind "write". */
COMP_API comp_status comp_dataset_write(comp_context *context, const comp_dataset *dataset, const char *path,
                                        const comp_options *options);

/* Writes `out_path` = the file `in_path` plus results: the columns of `results`' obs, its layers, obsm and record. All
 * else is carried over unchanged from an .h5ad to an .h5ad and from a .zarr folder to a .zarr folder; otherwise the
 * input is read and written as the one or the other. `results` needs no X, and must have the samples of the input in
 * their order. in_path and out_path may be the same (not of a zip file). Options are of the kind "read". */
COMP_API comp_status comp_dataset_update(comp_context *context, const comp_dataset *results, const char *in_path,
                                         const char *out_path, const comp_options *options);

/* Whether comp_dataset_update() could write a file of that name now, for a check before long work. Changes nothing. */
COMP_API comp_status comp_dataset_check_update(const char *out_path);

/* Whether comp_dataset_write() could write a file of that name with these options (kind "write") now, for a check
 * before long work: an option that only another format has is an error. `*format` (NULL is allowed) gets the name of
 * its format, as comp_file_format() gives it. Changes nothing. */
COMP_API comp_status comp_dataset_check_write(const char **format, const char *path, const comp_options *options);

/* The name of the format that a file seems to have, such as "h5ad"; owned by the library. An error when none fits. */
COMP_API comp_status comp_file_format(const char **out, const char *path);

#endif
