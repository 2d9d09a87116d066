/*
 * anndata.h: the parts of AnnData in a tree (.h5ad, .zarr), for the files that read and write it.
 *
 * Three layouts are read. AnnData >= 0.8: every object says its encoding in attributes. 0.7: tables are groups, but
 * categories are under __categories. Before 0.7 ("legacy", HDF5 alone): a table is one compound dataset, and the
 * categories of its columns are in uns. The first is what is written.
 */
#ifndef COMP_IO_ANNDATA_H
#define COMP_IO_ANNDATA_H

#include "io/options.h"
#include "io/tree_matrix.h"

/* Which matrix and table the options ask for: X, a layer, or raw. Paths in the tree. */
typedef struct comp__anndata_paths {
  char x[256];
  char var[16];
} comp__anndata_paths;

/* An error when it is not there. */
comp_status comp__anndata_find_paths(comp__anndata_paths *out, const comp__tree *tree,
                                     const comp__read_options *options);

/* Reads the data set: comp__format.read() for a tree. It should be freed via comp_dataset_free(). */
comp_status comp__anndata_read(comp_dataset **out, comp_context *context, const comp__tree *tree,
                               const comp__read_options *options);

/* Opens X, or what the options ask for in its place, for reading block by block. It should be closed via
 * comp__tree_matrix_close(), also when it fails. */
comp_status comp__anndata_open_x(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                 const comp__read_options *options);

/* Whether an entry of layers or obsm is a matrix that can be held; *why says what it is otherwise. */
bool comp__anndata_can_hold(const char **why, const comp__tree *tree, const char *path, comp_slot slot);

/* Says why an entry is not used; damage is a warning. */
void comp__anndata_tell_not_used(comp_context *context, const comp__tree *tree, const char *path, const char *why);

/* For a look at a file, which goes on without what is damaged in layers and obsm: turns such a failure to read it into
 * a warning (`path` NULL: the message names what it is), and returns COMP_OK. Other failures are returned as they are.
 */
comp_status comp__anndata_pass_over(comp_context *context, const char *path, comp_status status);

/* The names of a group's members in one line, for messages. */
void comp__anndata_list_members(char *out, size_t size, const comp__tree *tree, const char *path);

/* Whether the table (obs, var) is of the layout from before 0.7. */
bool comp__anndata_is_legacy(const comp__tree *tree, const char *table);

/* The names of a table's rows: the index column. */
comp_status comp__anndata_read_names(comp__strings *out, comp_context *context, const comp__tree *tree,
                                     const char *table);

/* Adds all columns that can be held to `out`, which has as many rows as the table has names; an info message
 * names the others. */
comp_status comp__anndata_read_table(comp_table *out, comp_context *context, const comp__tree *tree, const char *table);

/* The name of the index column of a table that is a group. It should be freed via comp__free(). */
comp_status comp__anndata_index_name(char **out, const comp__tree *tree, const char *table);

/* Texts at a path: a list, or, of AnnData 0.11 and later, the values of a group of values and mask. `any` as in tree.h.
 */
comp_status comp__anndata_read_texts(comp__strings *out, comp_context *context, const comp__tree *tree,
                                     const char *path, bool any);

/* Adding columns from lists (anndata_table.c). Levels are copied. Categories of one name are one: they are merged, with
 * a warning, and `codes` get their numbers. `where` is the table, for messages. */
comp_status comp__table_add_texts(comp_table *table, const char *name, const comp__strings *values);
comp_status comp__table_add_codes(comp_table *table, comp_context *context, const char *where, const char *name,
                                  int32_t *codes, const comp__strings *levels);

/* For adding results to what is in a tree. They must be of its samples, in its order, and their layers of its features,
 * whose number is `*features`. A layer may hold measurements: a message says which of them are overwritten. */
comp_status comp__anndata_check_fit(size_t *features, comp_context *context, const comp_dataset *results,
                                    const comp__tree *tree);
void comp__anndata_tell_overwritten(comp_context *context, const comp_dataset *results, const comp__tree *tree,
                                    const char *path);

/* anndata_check.c: an error for a tree that holds several AnnData (MuData), which says what to do. */
comp_status comp__anndata_refuse_many(const comp__tree *tree);

/* Whether a part can be copied; the errors name it. Readers may go on without: a warning names the
 * first thing in a group that has lost its metadata; to copy such a group is an error. */
comp_status comp__anndata_tell_lost(comp_context *context, const comp__tree *tree, const char *path);
comp_status comp__anndata_check_lost(const comp__tree *tree, const char *path);

/* An entry of layers, obsm, obsp, varm or varp: its rows and columns (SIZE_MAX: any), and the row names of a table
 * (NULL: any), without which AnnData does not read it. */
typedef struct comp__anndata_fit {
  size_t rows;
  size_t cols;
  const comp__strings *names;
} comp__anndata_fit;
comp_status comp__anndata_check_member(comp_context *context, const comp__tree *tree, const char *path,
                                       const comp__anndata_fit *fit);
/* A table of so many rows (SIZE_MAX: any): all its columns are there. */
comp_status comp__anndata_check_table(comp_context *context, const comp__tree *tree, const char *path, size_t rows);
comp_status comp__anndata_check_raw(comp_context *context, const comp__tree *tree, size_t rows);

/* Whether the data set has member `name` of the group `path` (layers, obsm), so that it is written in any case. */
bool comp__anndata_is_held(const comp_dataset *dataset, const char *path, const char *name);

/* Before AnnData 0.7 the categories of a column were in uns: whether a name there is that of such a column of the data
 * set, which has them itself. */
bool comp__anndata_is_old_categories(const comp_dataset *dataset, const char *name);

#endif
