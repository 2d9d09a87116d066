/* embedding.h: which matrices of a data set are maps of its samples, and what to call them. */
#ifndef COMP_REPORT_EMBEDDING_H
#define COMP_REPORT_EMBEDDING_H

#include "comp/dataset.h"

/* The obsm matrix of that name; an error that lists what there is when there is none, or when it has fewer than two
 * columns or a value that is not finite. */
comp_status comp__embedding_require(const comp_matrix **out, const comp_dataset *dataset, const char *name);

/* A pair "NAME_before" and "NAME" is called Before and After; else a map is called by its name. */
const char *comp__embedding_title(const char *const *names, size_t n_names, size_t index);

/* The range of column `dim` (0 or 1). */
void comp__embedding_range(double *min, double *max, const comp_matrix *embedding, size_t dim);

#endif
