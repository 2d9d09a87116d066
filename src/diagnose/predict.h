/*
 * predict.h: how well can groups be predicted from points? Classifiers (comp/classify.h) are trained on one half of the
 * samples and asked about the other.
 *
 * p is that of the permutation test of "predictions have nothing to do with the groups": the groups of the tested half
 * are shuffled, the predictions stay. The halves are apart, so the test is exact, and nothing is trained twice.
 */
#ifndef COMP_DIAGNOSE_PREDICT_H
#define COMP_DIAGNOSE_PREDICT_H

#include <stdbool.h>

#include "comp/classify.h"

/* What one classifier made of the tested half. */
typedef struct comp__classifier_score {
  bool done;
  double accuracy, balanced; /* balanced: mean over groups of the share of their samples that were found */
  double p;                  /* of the balanced accuracy */
} comp__classifier_score;

/* Zero-initialise to start. */
typedef struct comp__prediction_check {
  bool done; /* false: too few samples of too few groups */
  comp__classifier_score scores[COMP_CLASSIFIER_KINDS];
  double majority;          /* accuracy of always saying the commonest group */
  size_t samples, n_levels; /* tested samples, and groups */
  size_t best;              /* the classifier with the largest balanced accuracy */
  double gain;      /* of it: (balanced accuracy - 1 / n) / (1 - 1 / n): 0 for chance, 1 for certainty; at least 0 */
  double p;         /* the smallest, times the number of classifiers */
  double least_p;   /* what p would be if no permutation reached the score */
  double deviation; /* of the gain of a guess, over samples: what chance alone makes of it */
} comp__prediction_check;

/* Predicts codes [rows] (below n_levels; -1: not known) from z. Groups with fewer than 10 samples are left out. The
 * bits of `kinds` say which classifiers (1 << COMP_CLASSIFIER_LOGISTIC, ...). */
comp_status comp__predict(comp__prediction_check *out, comp_context *context, const comp_matrix *z,
                          const int32_t *codes, size_t n_levels, unsigned kinds, size_t permutations, uint64_t seed);

#endif
