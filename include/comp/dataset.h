/*
 * dataset.h: samples x features with what is known of both, after AnnData.
 *
 *   X       the matrix                     layers  further matrices of the same shape, by name
 *   obs     a table, one row a sample      obsm    dense matrices with one row a sample (embeddings), by name
 *   var     a table, one row a feature     record  what this program did to the data (JSON text), kept in uns/comp
 *   raw     X and var of all features, where X holds some of them (optional)
 *
 * A data set owns everything in it.
 */
#ifndef COMP_DATASET_H
#define COMP_DATASET_H

#include <stddef.h>

#include "comp/matrix.h"
#include "comp/table.h"

typedef struct comp_dataset comp_dataset;

/* Makes a data set of a matrix and the names of its rows and columns (copied; NULL: "0", "1", ...), with empty obs and
 * var tables. Takes the matrix over, also when it fails. It should be freed via comp_dataset_free(). */
COMP_API comp_status comp_dataset_new(comp_dataset **out, comp_matrix *x, const char *const *obs_names,
                                      const char *const *var_names);

/* The same without X, for embeddings and tables alone: comp_dataset_x() is NULL. `features` may be 0. It should be
 * freed via comp_dataset_free(). */
COMP_API comp_status comp_dataset_new_without_x(comp_dataset **out, size_t samples, size_t features,
                                                const char *const *obs_names, const char *const *var_names);

/* NULL is allowed. */
COMP_API void comp_dataset_free(comp_dataset *dataset);

COMP_API size_t comp_dataset_sample_count(const comp_dataset *dataset);
COMP_API size_t comp_dataset_feature_count(const comp_dataset *dataset);

/* The parts, owned by the data set. X may be NULL. */
COMP_API comp_matrix *comp_dataset_x(const comp_dataset *dataset);
COMP_API comp_table *comp_dataset_obs(const comp_dataset *dataset);
COMP_API comp_table *comp_dataset_var(const comp_dataset *dataset);
COMP_API const char *comp_dataset_obs_name(const comp_dataset *dataset, size_t i);
COMP_API const char *comp_dataset_var_name(const comp_dataset *dataset, size_t j);

/* All names in one call: the pointers are written to the caller's array, [samples] or [features]; the text is owned by
 * the data set and valid until its names are set again. */
COMP_API void comp_dataset_obs_names(const char **out, const comp_dataset *dataset);
COMP_API void comp_dataset_var_names(const char **out, const comp_dataset *dataset);

/* Replaces all names, which are copied: UTF-8, none NULL. On failure they are as they were. */
COMP_API comp_status comp_dataset_set_obs_names(comp_dataset *dataset, const char *const *names);
COMP_API comp_status comp_dataset_set_var_names(comp_dataset *dataset, const char *const *names);

/* The index of a feature by name, or COMP_NOT_FOUND. */
COMP_API size_t comp_dataset_find_var(const comp_dataset *dataset, const char *name);

/* Replaces X by a matrix of the same shape. Takes it over, also when it fails. */
COMP_API comp_status comp_dataset_set_x(comp_dataset *dataset, comp_matrix *x);

/* Matrices by name, in layers or obsm. */
typedef enum comp_slot { COMP_SLOT_LAYERS, COMP_SLOT_OBSM } comp_slot;

/* "layers", "obsm"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_slot_name(comp_slot slot);
COMP_API comp_status comp_slot_parse(comp_slot *out, const char *name);

COMP_API size_t comp_dataset_matrix_count(const comp_dataset *dataset, comp_slot slot);
COMP_API const char *comp_dataset_matrix_name(const comp_dataset *dataset, comp_slot slot, size_t index);

/* The matrix of that name, owned by the data set; NULL when there is none. */
COMP_API comp_matrix *comp_dataset_matrix(const comp_dataset *dataset, comp_slot slot, const char *name);

/* Adds or replaces a matrix. Takes it over, also when it fails. */
COMP_API comp_status comp_dataset_set_matrix(comp_dataset *dataset, comp_slot slot, const char *name,
                                             comp_matrix *matrix);

/* Removes a matrix; nothing happens when there is none of that name. */
COMP_API void comp_dataset_remove_matrix(comp_dataset *dataset, comp_slot slot, const char *name);

/* What this program did to the data so far, as JSON text; NULL when nothing, and to forget it. Owned by the data set.
 */
COMP_API const char *comp_dataset_record(const comp_dataset *dataset);
COMP_API comp_status comp_dataset_set_record(comp_dataset *dataset, const char *json);

/* The part with all features, from before some were chosen: its X and var; NULL: there is none. Owned by the data set.
 * Readers leave it in its file: see the option raw of the kind "read". */
COMP_API const comp_dataset *comp_dataset_raw(const comp_dataset *dataset);

/* Copies the given samples and features with everything that belongs to them. `rows` or `cols` may be NULL: all of
 * them. The raw part is copied for all of its features. It should be freed via comp_dataset_free(). */
COMP_API comp_status comp_dataset_select(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                                         const size_t *rows, size_t n_rows, const size_t *cols, size_t n_cols);

#endif
