/*
 * pca.h: principal components of a data set, what `comp pca` does.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "pca");
 *     comp_options_set_int(options, "components", 30);
 *     comp_pca pca;
 *     if (comp_pca_run(&pca, context, dataset, options) != COMP_OK) puts(comp_error_message());
 *     ...                                          the scores are in obsm/X_pca now
 *     comp_pca_release(&pca);
 *
 * Features are centred (and scaled), but sparse data is never made dense as a whole. With at most 512 features or 512
 * samples the result is exact to single precision; beyond, it comes from an iteration that goes on until the residual
 * of every component is below 1e-4 of its variance. The sign of a component is such that its loading of largest
 * magnitude is positive. The same bytes at any number of threads.
 */
#ifndef COMP_PCA_H
#define COMP_PCA_H

#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"

/* What was found, largest variance first. */
typedef struct comp_pca {
  size_t components;
  size_t features;
  double *variances;     /* [components]: of the scores, divided by n - 1 */
  double *ratios;        /* [components]: the same as shares of the total variance; 0 when that is 0 */
  float *loadings;       /* [components, features]: orthonormal rows */
  double total_variance; /* of all features, after scaling */
} comp_pca;

/* Options are of the kind "pca". Computes components and puts the scores, [samples, components], into obsm, replacing a
 * matrix of that name. On failure the data set is as it was. It should be released via comp_pca_release(). */
COMP_API comp_status comp_pca_run(comp_pca *out, comp_context *context, comp_dataset *dataset,
                                  const comp_options *options);

/* Frees what a comp_pca holds. */
COMP_API void comp_pca_release(comp_pca *pca);

#endif
