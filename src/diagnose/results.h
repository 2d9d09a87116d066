/* results.h: all numbers of a diagnosis, on their way from the checks (diagnose.c) to the findings (src/verdict) and to
 * JSON (json.c). */
#ifndef COMP_DIAGNOSE_RESULTS_H
#define COMP_DIAGNOSE_RESULTS_H

#include <jansson.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/model.h"
#include "comp/table.h"
#include "diagnose/correction.h"
#include "diagnose/identify.h"
#include "diagnose/independence.h"
#include "diagnose/options.h"
#include "diagnose/predict.h"
#include "diagnose/settings.h"
#include "diagnose/stability.h"
#include "diagnose/unshared.h"

typedef struct comp__results {
  comp__diagnose_options options;
  const comp_model *model;
  size_t n, dims, models, conditions;
  size_t *counts;           /* [conditions]: samples */
  size_t features, missing; /* of the model, and of them those that the data lacks */
  comp_groups labels;       /* n_levels 0: no labels */
  comp__identify identify;
  comp__independence independence;
  comp__null null;            /* the divergence against shuffled conditions */
  comp__null null_shared;     /* without samples that have no counterpart; rows 0: there are none, or too many */
  comp__estimate information; /* at least */
  comp__estimate bound;       /* over batches as in training */
  size_t batch;               /* their size */
  comp__prediction_check condition_means, condition_draws;
  bool stable;             /* whether several models were compared */
  comp__settings settings; /* in which the models differ, besides the seed */
  comp__stability stability;
  comp__fates fates;
  comp__strays strays;
  comp__unshared unshared;
  comp__prediction_check label_before, label_after; /* from principal components of the data, and from z */
  double reconstruction, reconstruction_against;    /* explained variance without the strays; NaN: not asked for */
} comp__results;

/* Makes all checks. It should be released via comp__results_release(), also when it fails. */
comp_status comp__results_run(comp__results *out, comp_context *context, const comp_dataset *dataset,
                              const comp_model *const *models, size_t n_models, const comp__diagnose_options *options);
void comp__results_release(comp__results *results);

/* The results as JSON text, with the findings (a list, which is taken over) and the worst level in it. It should be
 * freed via comp__free(). */
comp_status comp__results_json(char **out, const comp__results *results, json_t *findings, const char *worst);

#endif
