/*
 * classify.h: how well a column of obs can be predicted from an embedding: classifiers and their measures.
 *
 * Three classifiers have one interface: logistic regression, a random forest, and boosted trees. They are used by:
 *
 *   comp_predictability()  cross-validated accuracy of a column, beside the floor of always saying the commonest level,
 *                          with a permutation test on request                       "is the condition still in there?"
 *   comp_holdout()         accuracy on a held-out part                              "sex and income from Adult"
 *   comp_transfer()        train on one condition, test on another                  "cell lines named after tumours"
 *   comp_fairness()        what a classifier of the target does to each group       "parity and equalised odds"
 *
 *     comp_groups sex;                                         from comp_table_groups()
 *     comp_predictability_result result;
 *     if (comp_predictability(&result, context, z, sex.codes, sex.n_levels, NULL) != COMP_OK)
 *       puts(comp_error_message());
 *     printf("%g, floor %g\n", result.scores[0].accuracy, result.majority);
 *     comp_predictability_release(&result);
 *
 * Options are of the kind "classify". Everywhere: `z` has one row a sample, dense or CSR (made dense inside). `codes`
 * holds one level a sample, 0 .. n_levels - 1, or -1 when it is not known: such samples are left out. A value of z that
 * is not finite in a sample that is used, a code out of range, or fewer than two levels with samples is an error.
 * Results are the same bytes at any number of threads and depend on the seed alone. Arrays of a result are owned by it
 * until its release function; rates of nothing (a group without samples) are NaN.
 */
#ifndef COMP_CLASSIFY_H
#define COMP_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/matrix.h"
#include "comp/options.h"

/* ---- Classifiers ----------------------------------------------------------------------------------------------- */

typedef enum comp_classifier_kind {
  COMP_CLASSIFIER_LOGISTIC, /* features standardised, L2 penalty with C = 1 (as scikit-learn's default), one level
                               against the rest */
  COMP_CLASSIFIER_FOREST,   /* 100 trees grown out on samples of the rows, sqrt(features) tried at each node; the mean
                               of their votes. As scikit-learn's RandomForestClassifier, with thresholds from 256
                               quantiles of each feature */
  COMP_CLASSIFIER_BOOSTED   /* 100 rounds of boosted trees of depth 6, rate 0.3, one level against the rest */
} comp_classifier_kind;

#define COMP_CLASSIFIER_KINDS 3

/* "logistic", "forest", "boosted"; the same in sentences ("random forest"); what it is, in one line; and the module
 * that it needs (comp/machine.h), NULL: none. Each is NULL past the last kind. */
COMP_API const char *comp_classifier_kind_name(comp_classifier_kind kind);
COMP_API const char *comp_classifier_kind_title(comp_classifier_kind kind);
COMP_API const char *comp_classifier_kind_help(comp_classifier_kind kind);
COMP_API const char *comp_classifier_kind_module(comp_classifier_kind kind);

/* The kind of that name; the message of the error lists the names. */
COMP_API comp_status comp_classifier_kind_parse(comp_classifier_kind *out, const char *name);

typedef struct comp_classifier comp_classifier;

/* Trains on the rows of z whose code is not -1. A level without samples is never predicted.
 * It should be freed via comp_classifier_free(). */
COMP_API comp_status comp_classifier_fit(comp_classifier **out, comp_context *context, comp_classifier_kind kind,
                                         const comp_matrix *z, const int32_t *codes, size_t n_levels, uint64_t seed);

/* NULL is allowed. */
COMP_API void comp_classifier_free(comp_classifier *classifier);

/* The probability of each level for each row: out[rows, n_levels], rows that sum to 1. z has as many columns as the one
 * that was trained on. */
COMP_API comp_status comp_classifier_probabilities(float *out, comp_context *context, const comp_classifier *classifier,
                                                   const comp_matrix *z);

/* The most probable level of each row: out[rows]. Of two that are equal, the lower. */
COMP_API comp_status comp_classifier_predict(int32_t *out, comp_context *context, const comp_classifier *classifier,
                                             const comp_matrix *z);

/* ---- Predictability: cross-validated --------------------------------------------------------------------------- */

/* Of one classifier. */
typedef struct comp_predictability_score {
  comp_classifier_kind classifier;
  double accuracy;           /* share of the samples whose level was predicted while they were held out */
  double deviation;          /* standard deviation of the folds' accuracies (folds - 1) */
  double balanced_accuracy;  /* mean over levels of the share of their samples that were found; floor 1 / n_levels */
  double permuted_accuracy;  /* mean accuracy over permutations: what chance gives; NaN without them */
  double permuted_deviation; /* standard deviation of the same; NaN with fewer than two */
  double p_value;            /* (1 + permutations with at least this accuracy) / (1 + permutations); NaN without them */
} comp_predictability_score;

typedef struct comp_predictability_result {
  size_t samples;  /* that were used: code not -1 */
  size_t n_levels; /* that have samples */
  double majority; /* share of the commonest level: the accuracy of knowing nothing */
  size_t folds, n_permutations;
  size_t n_scores;
  comp_predictability_score *scores; /* [n_scores], in the order of the options */
} comp_predictability_result;

/* Each of "folds" parts, of equal size and mix of levels, is predicted from the others by each of "classifiers"; the
 * same with "permutations" shuffled codes, for p. Fewer samples than folds, or fewer than two levels with as many
 * samples as folds, is an error. Levels with fewer are kept, with a warning: some folds lack them. It should be
 * released via comp_predictability_release(). */
COMP_API comp_status comp_predictability(comp_predictability_result *out, comp_context *context, const comp_matrix *z,
                                         const int32_t *codes, size_t n_levels, const comp_options *options);
COMP_API void comp_predictability_release(comp_predictability_result *result);

/* ---- One split: held out, transfer, fairness ------------------------------------------------------------------- */

typedef struct comp_accuracy {
  size_t n_train, n_test;
  size_t unseen;            /* test samples of levels that training lacks: all of them count as wrong */
  double accuracy;          /* on the test samples */
  double balanced_accuracy; /* mean of `found` over levels with test samples */
  double majority;          /* accuracy of always saying the commonest level of training */
  size_t n_levels;
  size_t *train_counts; /* [n_levels] */
  size_t *test_counts;  /* [n_levels] */
  double *found;        /* [n_levels]: share of the level's test samples that were found (recall) */
  double *correct;      /* [n_levels]: share of the predictions of the level that were right (precision) */
} comp_accuracy;

/* Trains "classifier" on one part, tests on the rest, of "test-share". It should be released via
 * comp_accuracy_release(). */
COMP_API comp_status comp_holdout(comp_accuracy *out, comp_context *context, const comp_matrix *z, const int32_t *codes,
                                  size_t n_levels, const comp_options *options);

/* Trains on all samples of one condition, tests on all of another: can labels be carried over? Training samples of
 * fewer than two labels, or a condition without samples, is an error; a label that only the test has is counted in
 * `unseen`, with a warning. "test-share" is not used. It should be released via comp_accuracy_release(). */
COMP_API comp_status comp_transfer(comp_accuracy *out, comp_context *context, const comp_matrix *z,
                                   const int32_t *conditions, int32_t train_condition, int32_t test_condition,
                                   const int32_t *labels, size_t n_labels, const comp_options *options);
COMP_API void comp_accuracy_release(comp_accuracy *accuracy);

/* Of one group, on the test samples. */
typedef struct comp_fairness_group {
  size_t n_test;
  double accuracy;
  double *selected;        /* [n_levels]: share predicted to be of the level */
  double *true_positives;  /* [n_levels]: share of the level's samples predicted to be of it */
  double *false_positives; /* [n_levels]: share of the other samples predicted to be of it */
} comp_fairness_group;

typedef struct comp_fairness_result {
  comp_accuracy target; /* of the classifier over all groups */
  size_t n_groups;
  comp_fairness_group *groups; /* [n_groups] */
  double parity_gap;           /* demographic parity: the largest difference of `selected` between two groups */
  double odds_gap;             /* equalised odds: the largest difference of `true_positives` or `false_positives` */
  double accuracy_gap;         /* the largest difference of `accuracy` */
} comp_fairness_result;

/*
 * Trains a classifier of the target on one part and looks at what it does to the groups of a protected attribute in the
 * rest. The classifier does not see the groups. Gaps are over all pairs of groups and all levels of the target (of two
 * levels, either gives the same); rates of nothing are left out. The split keeps the mix of target and group. Samples
 * whose target or group is -1 are left out. It should be released via comp_fairness_release().
 */
COMP_API comp_status comp_fairness(comp_fairness_result *out, comp_context *context, const comp_matrix *z,
                                   const int32_t *targets, size_t n_levels, const int32_t *groups, size_t n_groups,
                                   const comp_options *options);
COMP_API void comp_fairness_release(comp_fairness_result *result);

#endif
