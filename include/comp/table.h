/*
 * table.h: a table of named columns, as in the `obs` and `var` of an AnnData file: what is known of each sample or
 * feature.
 *
 * A column is of one of four kinds, and any of its values may be missing:
 *   string       missing: NULL
 *   categorical  a code into a list of levels; missing: code -1
 *   number       a double; missing: NaN. A column may be marked as made of whole numbers, which only matters for output
 *   bool         0 or 1; missing: -1
 */
#ifndef COMP_TABLE_H
#define COMP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

typedef struct comp_table comp_table;

typedef enum comp_column_kind {
  COMP_COLUMN_STRING,
  COMP_COLUMN_CATEGORICAL,
  COMP_COLUMN_NUMBER,
  COMP_COLUMN_BOOL
} comp_column_kind;

/* "string", "categorical", "number", "bool"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_column_kind_name(comp_column_kind kind);
COMP_API comp_status comp_column_kind_parse(comp_column_kind *out, const char *name);

/* Returned by comp_table_find() when there is no such column. */
#define COMP_NOT_FOUND ((size_t)-1)

/* Creates a table without columns. It should be freed via comp_table_free(). */
COMP_API comp_status comp_table_new(comp_table **out, size_t rows);

/* NULL is allowed. */
COMP_API void comp_table_free(comp_table *table);

COMP_API size_t comp_table_row_count(const comp_table *table);
COMP_API size_t comp_table_column_count(const comp_table *table);

/* The index of a column, or COMP_NOT_FOUND. */
COMP_API size_t comp_table_find(const comp_table *table, const char *name);

/* As comp_table_find(), but a missing column is an error whose message suggests the nearest name. */
COMP_API comp_status comp_table_require(size_t *out, const comp_table *table, const char *name);

COMP_API const char *comp_table_column_name(const comp_table *table, size_t column);
COMP_API comp_column_kind comp_table_column_kind(const comp_table *table, size_t column);

/* Reading a value. The column must be of the kind that the function names. Strings are owned by the table. */
COMP_API const char *comp_table_string(const comp_table *table, size_t column, size_t row);
COMP_API int32_t comp_table_code(const comp_table *table, size_t column, size_t row);
COMP_API double comp_table_number(const comp_table *table, size_t column, size_t row);
COMP_API int comp_table_bool(const comp_table *table, size_t column, size_t row);

/* The levels of a categorical column. */
COMP_API size_t comp_table_level_count(const comp_table *table, size_t column);
COMP_API const char *comp_table_level_name(const comp_table *table, size_t column, int32_t code);

/*
 * Reading a whole column in one call. A column that does not exist, or is of another kind, is COMP_ERR_ARGUMENT.
 *
 * Numbers, codes and bools are the table's own array [rows]: it is valid until the column is replaced or removed, or
 * the table freed. Of strings and levels, the pointers are written to the caller's array ([rows], [levels]); the text
 * is owned by the table and valid as long.
 */
COMP_API comp_status comp_table_numbers(const double **out, const comp_table *table, size_t column);
COMP_API comp_status comp_table_codes(const int32_t **out, const comp_table *table, size_t column);
COMP_API comp_status comp_table_bools(const int8_t **out, const comp_table *table, size_t column);
COMP_API comp_status comp_table_strings(const char **out, const comp_table *table, size_t column);
COMP_API comp_status comp_table_level_names(const char **out, const comp_table *table, size_t column);

/* Whether a number column holds whole numbers only. */
COMP_API bool comp_table_is_integer(const comp_table *table, size_t column);

/* Adding a column; one of that name is replaced. The values are copied: `rows` of them. On failure the
 * table is as it was. Text should be UTF-8. Codes must be -1 or a level's, bools -1, 0 or 1; no level is missing. */
COMP_API comp_status comp_table_add_strings(comp_table *table, const char *name, const char *const *values);
COMP_API comp_status comp_table_add_categorical(comp_table *table, const char *name, const int32_t *codes,
                                                const char *const *levels, size_t n_levels);
COMP_API comp_status comp_table_add_numbers(comp_table *table, const char *name, const double *values, bool integer);
COMP_API comp_status comp_table_add_bools(comp_table *table, const char *name, const int8_t *values);

/* Removes a column that exists. */
COMP_API void comp_table_remove(comp_table *table, size_t column);

/* Copies the given rows. It should be freed via comp_table_free(). */
COMP_API comp_status comp_table_select(comp_table **out, const comp_table *table, const size_t *rows, size_t n_rows);

/* Writes any value as text into `buffer` and returns it; "" when missing. Numbers get the shortest form that reads back
 * the same. */
COMP_API const char *comp_table_format(const comp_table *table, size_t column, size_t row, char *buffer, size_t size);

/* A view of any column as groups: codes (-1 when missing) and the names of the levels in use, sorted (a categorical
 * column keeps its own order; whole numbers sort as numbers). This is how a condition or label column is read. */
typedef struct comp_groups {
  size_t rows;
  size_t n_levels;
  int32_t *codes; /* [rows] */
  char **levels;  /* [n_levels] */
  size_t *counts; /* [n_levels] */
} comp_groups;

/* Makes the groups of a column. They should be released via comp_groups_release(). */
COMP_API comp_status comp_table_groups(comp_groups *out, const comp_table *table, size_t column);

/* Frees what a comp_groups holds. */
COMP_API void comp_groups_release(comp_groups *groups);

#endif
