/*
 * record.h: the record of what was done, as JSON: an object whose member "prep" is
 *
 *   {"version": 1, "steps": [{"step": "normalize_total", "target_sum": 1e4}, {"step": "log1p"}, ...]}
 *
 * in the order in which it was done. Members of the record that belong to others are left alone. The steps:
 *
 *   filter           keep, drop_genes, drop_empty_genes, min_gene_counts, min_gene_cells, min_cell_counts, and
 *                    min_cell_genes
 *   to_counts        condition (column by which the samples were looked at; null: none)
 *   normalize_total  target_sum (the number that was used)
 *   log1p
 *   hvg              flavor, n, batch, bins, span
 *   subset           features (names, in their order)
 *   tabular          merge, obs, columns (name, kind, levels), features ([name, column, level, mean, sd]), names,
 *                    missing, standardize
 */
#ifndef COMP_PREP_RECORD_H
#define COMP_PREP_RECORD_H

#include <jansson.h>
#include <stdbool.h>

#include "comp/dataset.h"

/* Reads a record; `text` NULL gives an empty object. It should be freed via json_decref(). */
comp_status comp__record_parse(json_t **out, const char *text);

/* Adds a step to the record of a data set. Takes the step over; NULL (jansson's failure) is out of memory. */
comp_status comp__record_step(comp_dataset *dataset, json_t *step);

/* The steps of a record, borrowed from it; NULL when there are none. */
json_t *comp__record_steps(const json_t *record);

/* The last step of that name, borrowed; NULL when there is none. */
json_t *comp__record_find(const json_t *record, const char *step);

/* Whether the data set's own record holds such a step, after the last step to_counts, which undoes others. */
bool comp__record_has(const comp_dataset *dataset, const char *step);

/* Whether the last step of the data set's own record that changed the scale of X (to_counts, normalize_total, log1p) is
 * that one. */
bool comp__record_last_is(const comp_dataset *dataset, const char *step);

/* The names of all features as a JSON list; NULL when out of memory. */
json_t *comp__record_features(const comp_dataset *dataset);

#endif
