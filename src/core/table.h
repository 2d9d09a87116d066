/* table.h: the inner side of comp/table.h: which columns are still what a file holds, and whether categories have an
 * order. */
#ifndef COMP_CORE_TABLE_H
#define COMP_CORE_TABLE_H

#include "comp/suggest.h"
#include "comp/table.h"

/* Marks the table and all its columns as read from a file, so that a writer can copy them from there, with all that a
 * comp_table does not keep (types, categories that are not text, whole numbers beyond 2^53). A column that is added or
 * replaced later is not marked; a selection of rows keeps the marks only when it is all of them. */
void comp__table_mark_file(comp_table *table);
/* Before that, of a column that has been read, but is not what the file holds: it is not marked. */
void comp__table_set_changed(comp_table *table, size_t column);
bool comp__table_from_file(const comp_table *table);
bool comp__table_column_from_file(const comp_table *table, size_t column);

/* Whether the levels of a categorical column have an order. */
void comp__table_set_ordered(comp_table *table, size_t column, bool ordered);
bool comp__table_ordered(const comp_table *table, size_t column);

/* out[rows]: whether the column of this name is true (or 1, yes) in a row. A column that is not there is an error, and
 * so is one that is true nowhere. */
comp_status comp__table_marks(bool *out, const comp_table *table, const char *name);

/* For a message: the level most like `value`, as comp__hint() has it. */
comp_hint comp__groups_hint(const comp_groups *groups, const char *value);

#endif
