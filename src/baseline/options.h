/* options.h: how methods are run (kind "baseline"). */
#ifndef COMP_BASELINE_OPTIONS_H
#define COMP_BASELINE_OPTIONS_H

#include "comp/baseline.h"
#include "core/options.h"

/* A method reads the fields that its row names in `takes`, and no others. */
typedef struct comp__baseline_options {
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
  double alpha;       /* harmony2: ridge penalty, by samples that are expected of a level in a cluster */
  double prune;       /* harmony2: share of its samples below which a level is not corrected in a cluster */
  double tau;         /* harmony: smaller theta for levels with few samples: expected samples a cluster; 0: off */
  double block;       /* harmony: share of the samples that is updated at once */
  size_t clusters;    /* harmony: 0: the lesser of samples / 30 and 100 */
  size_t max_iter;    /* harmony: rounds of clustering and correction */
  size_t max_cluster; /* harmony: steps of one clustering; 0: the method's default */
  const comp_matrix *centroids; /* harmony: [clusters, components], where clustering starts; NULL: k-means */

  const comp_model *model; /* scgen: a vae that was fitted to the same features; NULL: one is fitted */
} comp__baseline_options;

extern const comp__options_kind comp__baseline_kind;
comp__baseline_options comp__baseline_defaults(void);

/* As the public function, with plain options. */
comp_status comp__baseline_method(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                                  const char *method, const comp__baseline_options *options);

#endif
