/* colors.h: a column of a table as colours, one a sample. */
#ifndef COMP_REPORT_COLORS_H
#define COMP_REPORT_COLORS_H

#include "comp/table.h"
#include "report/palette.h"

/* Zero-initialise to start. */
typedef struct comp__coloring {
  const char *name;
  bool categorical;
  comp_groups groups;  /* categorical */
  comp__color *levels; /* categorical: one a level */
  double min, max;     /* number */
  comp__color *colors; /* one a sample */
} comp__coloring;

/* Numbers with more than 20 values are a scale, all else categories. Missing values are grey. It should be released via
 * comp__coloring_release(), also when it fails. */
comp_status comp__coloring_init(comp__coloring *out, const comp_table *table, const char *column);
void comp__coloring_release(comp__coloring *coloring);

/* Whether a column is drawn as a scale. */
bool comp__column_is_scale(const comp_table *table, size_t column);

#endif
