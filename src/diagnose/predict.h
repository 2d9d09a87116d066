/* predict.h: how well can groups be told from points? Three classifiers, cross-validated (comp/classify.h). */
#ifndef COMP_DIAGNOSE_PREDICT_H
#define COMP_DIAGNOSE_PREDICT_H

#include "comp/classify.h"

/* Zero-initialise to start. */
typedef struct comp__prediction_check {
  bool done; /* false: too few samples of too few groups */
  comp_predictability_score scores[COMP_CLASSIFIER_KINDS];
  double majority; /* accuracy of knowing nothing */
  size_t samples, n_levels;
  size_t best; /* the classifier with the largest balanced accuracy */
  double gain; /* of it: (balanced accuracy - 1 / n) / (1 - 1 / n): 0 for chance, 1 for certainty; at least 0 */
  double p;    /* the smallest of the three, times three; NaN without permutations */
} comp__prediction_check;

/* Predicts codes [rows] (below n_levels; -1: not known) from z. Groups with fewer than 10 samples are left out. With
 * permutations: that many for logistic regression, and a fifth (at least 19) for the trees. */
comp_status comp__predict(comp__prediction_check *out, comp_context *context, const comp_matrix *z,
                          const int32_t *codes, size_t n_levels, size_t permutations, uint64_t seed);

#endif
