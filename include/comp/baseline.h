/*
 * baseline.h: the methods that CoMP is set against, as rows of one table.
 *
 *     comp_baseline_options options = COMP_BASELINE_OPTIONS_INIT;
 *     options.condition = "stim";
 *     comp_dataset *results;
 *     if (comp_baseline_run(&results, context, dataset, "harmony", &options) != COMP_OK) puts(comp_error_message());
 *     const comp_matrix *embedding = comp_dataset_get(results, COMP_SLOT_OBSM, "X_harmony");
 *
 * Every method gives an embedding (obsm/X_NAME); some give a corrected matrix too (layers/NAME). docs/baselines.md
 * states each method and what it was compared with. Values should be logged or standardised. The same data, options and
 * seed give the same bytes at any number of threads.
 */
#ifndef COMP_BASELINE_H
#define COMP_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/matrix.h"
#include "comp/model.h"

/* A row of the table. */
typedef struct comp_baseline_method {
  const char *name;
  const char *summary;        /* one line */
  const char *takes;          /* the options below that it reads besides `condition`, separated by spaces */
  const char *embedding;      /* what it writes to obsm */
  const char *layer;          /* what it writes to layers; NULL: nothing */
  const char *counterfactual; /* a further layer: every sample as it would be under another condition; NULL: none */
  size_t components;          /* the default of `components`; 0: it takes none */
  bool no_condition;          /* it corrects nothing, and needs no `condition` */
} comp_baseline_method;

COMP_API size_t comp_baseline_count(void);
COMP_API const comp_baseline_method *comp_baseline_at(size_t index);

/* The row of that name; an unknown name is an error that suggests the nearest. */
COMP_API comp_status comp_baseline_find(const comp_baseline_method **out, const char *name);

/* A method reads the fields that its row names in `takes`, and no others. */
typedef struct comp_baseline_options {
  const char *condition; /* the obs column whose effect is removed; NULL: only for methods that need none */
  const char *label;     /* scgen: the obs column within which conditions are balanced; NULL: none */
  /* combat: obs columns whose effect is kept; harmony: further columns whose effect is removed. A column of numbers is
   * a slope in combat, else every value is a level. */
  const char *const *covariates;
  size_t n_covariates;
  const char *to;           /* scgen: the value of `condition` to predict; NULL: of two, the one that is no reference */
  const char *reference;    /* the value of `condition` that the others are moved to; NULL: the method's choice */
  const char *const *order; /* mnn: values of `condition` in the order in which they are merged; NULL: largest first */
  size_t n_order;
  const char *rep;   /* an entry of obsm to start from; NULL: principal components of X */
  size_t components; /* principal components; 0: the method's default */
  size_t k;          /* mutual neighbours; 0: the method's default */
  uint64_t seed;

  bool nonparametric; /* combat: the prior is the empirical distribution */
  bool mean_only;     /* combat: batches differ in their means alone */

  double theta;       /* harmony: weight of diversity */
  double sigma;       /* harmony: width of soft assignment */
  double lambda;      /* harmony: ridge penalty */
  double tau;         /* harmony: smaller theta for levels with few samples: expected samples a cluster; 0: off */
  double block;       /* harmony: share of the samples that is updated at once */
  size_t clusters;    /* harmony: 0: the lesser of samples / 30 and 100 */
  size_t max_iter;    /* harmony: rounds of clustering and correction */
  size_t max_cluster; /* harmony: steps of one clustering */
  double epsilon_cluster, epsilon_harmony; /* harmony: relative change of the objective that ends them */
  const comp_matrix *centroids;            /* harmony: [clusters, components], where clustering starts; NULL: k-means */

  const comp_model *model; /* scgen: a vae that was fitted to the same features; NULL: one is fitted */
} comp_baseline_options;

#define COMP_BASELINE_OPTIONS_INIT                                                                                     \
  {                                                                                                                    \
    .theta = 2.0, .sigma = 0.1, .lambda = 1.0, .block = 0.05, .max_iter = 10, .max_cluster = 20,                       \
    .epsilon_cluster = 1e-5, .epsilon_harmony = 1e-4                                                                   \
  }

/* Checks every field that `method` reads; the message names the first bad one. */
COMP_API comp_status comp_baseline_options_check(const comp_baseline_method *method,
                                                 const comp_baseline_options *options);

/* The most principal components that can be had of x: of features that vary, and of samples less one. */
COMP_API comp_status comp_baseline_most_components(size_t *out, const comp_matrix *x);

/* Runs a method. `*out` is a data set without X that has the samples and features of `dataset` and holds the results
 * alone, as comp_dataset_update() takes them. It should be freed via comp_dataset_free(). */
COMP_API comp_status comp_baseline_run(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                                       const char *method, const comp_baseline_options *options);

#endif
