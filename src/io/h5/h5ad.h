/*
 * h5ad.h: the parts of an .h5ad file, for the files that read and write it.
 *
 * Three layouts are read. AnnData >= 0.8: every object says its encoding in attributes. 0.7: tables are groups, but
 * categories are under __categories. Before 0.7 ("legacy"): a table is one compound dataset, and the categories of its
 * columns are in uns. The first is what is written.
 */
#ifndef COMP_IO_H5_H5AD_H
#define COMP_IO_H5_H5AD_H

#include "comp/dataset.h"
#include "io/h5/matrix.h"
#include "io/options.h"

/* Which matrix and table the options ask for: X, a layer, or raw. Paths in the file. */
typedef struct comp__h5ad_paths {
  char x[256];
  char var[16];
} comp__h5ad_paths;

/* An error when it is not there. */
comp_status comp__h5ad_find_paths(comp__h5ad_paths *out, hid_t file, const comp__read_options *options);

/* Whether the table (obs, var) is of the layout from before 0.7. */
bool comp__h5ad_is_legacy(hid_t file, const char *table);

/* The names of a table's rows: the index column. */
comp_status comp__h5ad_read_names(comp__strings *out, comp_context *context, hid_t file, const char *table);

/* Adds all columns that can be held to `out`, which has as many rows as the table has names; an info
 * message names the others. */
comp_status comp__h5ad_read_table(comp_table *out, comp_context *context, hid_t file, const char *table);

/* The name of the index column of a table that is a group. It should be freed via comp__free(). */
comp_status comp__h5ad_index_name(char **out, hid_t group);

/* Adding columns from lists (h5ad_table.c). Levels are copied. */
comp_status comp__table_add_texts(comp_table *table, const char *name, const comp__strings *values);
comp_status comp__table_add_codes(comp_table *table, const char *name, const int32_t *codes,
                                  const comp__strings *levels);

/* The same for the layout from before 0.7 (h5ad_legacy.c). */
comp_status comp__h5ad_legacy_names(comp__strings *out, comp_context *context, hid_t file, const char *table);
comp_status comp__h5ad_legacy_table(comp_table *out, comp_context *context, hid_t file, const char *table);

/* obsm of that layout: one compound dataset, a field a matrix. */
comp_status comp__h5ad_legacy_obsm(comp_dataset *dataset, comp_context *context, hid_t file);

#endif
