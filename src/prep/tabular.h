/*
 * tabular.h: how a table is encoded. A plan is made from a table, or read from a record, and then applied to tables.
 */
#ifndef COMP_PREP_TABULAR_H
#define COMP_PREP_TABULAR_H

#include <jansson.h>
#include <stdbool.h>

#include "core/strings.h"
#include "prep/options.h"

/* A column of the table that gives features. */
typedef struct comp__encoded {
  char *name;
  bool category;
  comp__strings levels; /* sorted; empty for numbers */
} comp__encoded;

/* One feature: a column, or one level of it, and how it is standardised. */
typedef struct comp__feature {
  char *name;
  size_t column; /* into the plan's columns */
  size_t level;
  double mean, sd; /* sd 0: constant */
} comp__feature;

typedef struct comp__tabular {
  comp__encoded *columns;
  size_t n_columns, columns_capacity;
  comp__feature *features;
  size_t n_features, features_capacity;
  comp__strings merge; /* "COLUMN=V1,V2:NEW" */
  comp__strings obs;   /* columns that go to obs */
  char *names;         /* column with the row names, or NULL */
  comp_missing missing;
  bool standardize;
} comp__tabular;

void comp__tabular_release(comp__tabular *plan);
comp_status comp__tabular_add_column(comp__tabular *plan, const char *name, bool category);
comp_status comp__tabular_add_feature(comp__tabular *plan, const char *name, size_t column, size_t level);

/* To and from a step of the record. The JSON should be freed via json_decref(); the plan via
 * comp__tabular_release(), also when reading it failed. */
json_t *comp__tabular_to_json(const comp__tabular *plan);
comp_status comp__tabular_from_json(comp__tabular *plan, const json_t *step);

/* tabular_table.c: work on tables. */

/* Checks the form of a merge, and when it is good cuts a copy of it (to be freed via comp__free()) into its parts. */
typedef struct comp__merge {
  char *column, *values, *to; /* `values` still has its commas; column owns all three */
} comp__merge;
comp_status comp__merge_parse(comp__merge *out, const char *text);

/* Replaces values in a column, which becomes one of strings. Warns when none is there. */
comp_status comp__merge_apply(comp_table *table, comp_context *context, const char *text);

/* Whether a value is missing. */
bool comp__is_missing(const comp_table *table, size_t column, size_t row);

/* The text of a value of any kind; NULL when missing. `buffer` is used for numbers and bools. */
const char *comp__text_of(const comp_table *table, size_t column, size_t row, char *buffer, size_t size);

/* All rows of a table. It should be freed via comp_table_free(). */
comp_status comp__table_copy(comp_table **out, const comp_table *table);

#endif
