/*
 * pca.h: principal components of a data set, what `comp pca` does.
 *
 *     comp_pca_options options = COMP_PCA_OPTIONS_INIT;
 *     options.components = 30;
 *     comp_pca pca;
 *     if (comp_pca_run(&pca, context, dataset, &options) != COMP_OK) puts(comp_error_message());
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/dataset.h"

typedef struct comp_pca_options {
  size_t components; /* at most the number of samples, and of features */
  bool scale;        /* divide every feature by its standard deviation (n - 1); constant ones become 0 */
  double clip;       /* with scale: the largest magnitude of a scaled value, before it is centred again; 0: no limit */
  const char *layer; /* take this layer; NULL: X */
  const char *key;   /* the name in obsm under which the scores are kept */
  uint64_t seed;     /* of the start of the iteration */
} comp_pca_options;

#define COMP_PCA_OPTIONS_INIT                                                                                          \
  { 50, false, 0.0, NULL, "X_pca", 0 }

/* Whether the options make sense on their own; the message names the bad one. */
COMP_API comp_status comp_pca_options_check(const comp_pca_options *options);

/* What was found, largest variance first. */
typedef struct comp_pca {
  size_t components;
  size_t features;
  double *variances;     /* [components]: of the scores, divided by n - 1 */
  double *ratios;        /* [components]: the same as shares of the total variance; 0 when that is 0 */
  float *loadings;       /* [components, features]: orthonormal rows */
  double total_variance; /* of all features, after scaling */
} comp_pca;

/* Computes components and puts the scores, [samples, components], into obsm, replacing a matrix of that name. On
 * failure the data set is as it was. It should be released via comp_pca_release(). */
COMP_API comp_status comp_pca_run(comp_pca *out, comp_context *context, comp_dataset *dataset,
                                  const comp_pca_options *options);

/* Frees what a comp_pca holds. */
COMP_API void comp_pca_release(comp_pca *pca);

#endif
