/* predictions.h: what classifiers predict from embeddings: columns, labels carried over from one condition to another,
 * differences between conditions. */
#ifndef COMP_SCORE_PREDICTIONS_H
#define COMP_SCORE_PREDICTIONS_H

#include "score/options.h"

/* A column predicted from an embedding. */
typedef struct comp__predicted {
  comp_score_prediction shown; /* points to what follows */
  char *column;
  comp_predictability_result result;
  comp_fairness_result fairness;
} comp__predicted;

typedef struct comp__predictions {
  comp__predicted *predicted; /* [columns, embeddings] */
  size_t n_predicted;
  comp_accuracy *transfer; /* [embeddings]; NULL: not asked for */
  size_t n_transfer;
  comp_groups conditions, labels;
} comp__predictions;

/* Whether any of it was asked for. */
bool comp__predictions_wanted(const comp__scores_options *options);

/* Whether columns and conditions are in the data: to be asked before anything is computed. */
comp_status comp__predictions_look(const comp_dataset *dataset, const comp__scores_options *options);

/* Trains and tests, on the embeddings that were scored. `out` should be
 * released via comp__predictions_release(), also when it fails. */
comp_status comp__predictions_run(comp__predictions *out, comp_context *context, const comp_dataset *dataset,
                                  const comp_score *score, const comp__scores_options *options);
void comp__predictions_release(comp__predictions *predictions);

#endif
