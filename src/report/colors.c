/* colors.c: colours of samples by a column. */
#include "report/colors.h"

#include <math.h>

#include "core/alloc.h"
#include "core/error.h"

bool comp__column_is_scale(const comp_table *table, size_t column) {
  enum { FEW = 20 };
  if (comp_table_column_kind(table, column) != COMP_COLUMN_NUMBER) return false;
  if (!comp_table_is_integer(table, column)) return true;
  double seen[FEW];
  size_t n = 0;
  for (size_t i = 0; i < comp_table_row_count(table); i++) {
    double value = comp_table_number(table, column, i);
    size_t k = 0;
    if (isnan(value)) continue;
    while (k < n && seen[k] != value) k++;
    if (k < n) continue;
    if (n == FEW) return true;
    seen[n++] = value;
  }
  return false;
}

static void color_numbers(comp__coloring *out, const comp_table *table, size_t column) {
  out->min = INFINITY;
  out->max = -INFINITY;
  for (size_t i = 0; i < comp_table_row_count(table); i++) {
    double value = comp_table_number(table, column, i);
    if (!isfinite(value)) continue;
    out->min = fmin(out->min, value);
    out->max = fmax(out->max, value);
  }
  if (!(out->min <= out->max)) out->min = out->max = 0;
  double span = out->max > out->min ? out->max - out->min : 1;
  for (size_t i = 0; i < comp_table_row_count(table); i++) {
    double value = comp_table_number(table, column, i);
    out->colors[i] = isfinite(value) ? comp__viridis((value - out->min) / span) : COMP__COLOR_MISSING;
  }
}

comp_status comp__coloring_init(comp__coloring *out, const comp_table *table, const char *column) {
  *out = (comp__coloring){.name = column};
  size_t index;
  comp_status status;
  COMP__TRY(comp_table_require(&index, table, column));
  COMP__TRY(comp__alloc(&out->colors, comp_table_row_count(table), sizeof *out->colors));
  out->categorical = !comp__column_is_scale(table, index);
  if (!out->categorical) {
    color_numbers(out, table, index);
    goto done;
  }
  COMP__TRY(comp_table_groups(&out->groups, table, index));
  if (out->groups.n_levels > 500)
    COMP__FAIL(COMP_ERR_DATA, "obs column '%s' has %zu different values: too many to distinguish by colour", column,
               out->groups.n_levels);
  COMP__TRY(comp__palette(&out->levels, out->groups.n_levels, COMP__ON_LIGHT));
  for (size_t i = 0; i < comp_table_row_count(table); i++)
    out->colors[i] = out->groups.codes[i] < 0 ? COMP__COLOR_MISSING : out->levels[out->groups.codes[i]];
done:
  return status;
}

void comp__coloring_release(comp__coloring *coloring) {
  comp_groups_release(&coloring->groups);
  comp__free(coloring->levels);
  comp__free(coloring->colors);
  *coloring = (comp__coloring){0};
}
