/* together.h: reference and query as one data set, to be looked at. */
#ifndef COMP_MAP_TOGETHER_H
#define COMP_MAP_TOGETHER_H

#include "task/aligned.h"

/* The two sides. */
typedef struct comp__sides {
  const comp__aligned *reference, *query;
  const comp_dataset *reference_data, *query_data; /* as the caller gave them: tables and names */
  const comp_matrix *z_reference, *z;              /* [samples, latent] */
  const comp_table *obs;                           /* the mapping's columns of the query */
  const char *label;                               /* the column that was transferred; NULL: none */
} comp__sides;

/*
 * The reference's samples, then the query's. X has the features of the model, as the model reads them; obsm/X_comp is
 * the embedding. Columns of obs: comp_role ("reference", "query" or
 * "query, not in the reference"), the condition, the label (of the query where it has the
 * column), and those of the mapping, which are missing in the reference. A sample of the query whose name the
 * reference has gets the name NAME-query. It should be freed via comp_dataset_free().
 */
comp_status comp__map_together(comp_dataset **out, const comp__sides *sides);

#endif
