/* options.h: how a column is predicted (kind "classify"). */
#ifndef COMP_CLASSIFY_OPTIONS_H
#define COMP_CLASSIFY_OPTIONS_H

#include "comp/classify.h"
#include "core/options.h"

typedef struct comp__classify_options {
  const char *const *classifiers; /* names, of cross-validation; none: logistic and forest */
  size_t n_classifiers;
  size_t folds;                    /* parts of equal size and mix of levels; each is predicted from the others */
  size_t permutations;             /* the same with shuffled codes, this often, for p; 0: no test */
  comp_classifier_kind classifier; /* of one split */
  double test_share;               /* of one split: the part that is tested on, with the same mix of levels */
  uint64_t seed;                   /* of folds, splits, forests and permutations */
} comp__classify_options;

/* Rows of a table whose struct is `owner`; `of` is what stands before the names of the members, such as "classify." in
 * the kind "score", or nothing. */
/* clang-format off */
#define COMP__CLASSIFY_ROWS(owner, of)                                                                                 \
  {"classifiers", .type = COMP_OPTION_NAMES, COMP__LIST(owner, of classifiers, of n_classifiers),                      \
   .metavar = "A,B,...", .group = "Classifiers", .unset = "logistic,forest",                                           \
   .help = "what cross-validation uses: logistic, forest, boosted"},                                                   \
  {"folds", .type = COMP_OPTION_INT, COMP__FIELD(owner, of folds), .metavar = "N", .group = "Classifiers",             \
   .value = "5", .min = 2, .max = 1000, .help = "parts of the cross-validation"},                                      \
  {"permutations", .type = COMP_OPTION_INT, COMP__FIELD(owner, of permutations), .metavar = "N",                       \
   .group = "Classifiers", .value = "0", .max = 1e6,                                                                   \
   .help = "test the accuracy against so many shuffled columns, which takes so many times as long; 0: no test"},       \
  {"classifier", .type = COMP_OPTION_CHOICE, COMP__FIELD(owner, of classifier), .metavar = "NAME",                     \
   .group = "Classifiers", .value = "forest", .choice_at = comp__classifier_at,                                        \
   .help = "what is used where samples are split once: another condition, fairness, a held-out part"},                 \
  {"test-share", .type = COMP_OPTION_REAL, COMP__FIELD(owner, of test_share), .metavar = "X", .group = "Classifiers",  \
   .value = "0.3", .min = 1e-6, .max = 0.999999, .help = "the part that is held out, with the same mix of values"}
/* clang-format on */

/* The name of a classifier; NULL past the last. */
const char *comp__classifier_at(size_t index);

extern const comp__options_kind comp__classify_kind;
comp__classify_options comp__classify_defaults(void);

/* Checks the names of classifiers. */
comp_status comp__classify_check(const comp__classify_options *options);

/* As the public functions, with plain options. */
comp_status comp__predictability(comp_predictability_result *out, comp_context *context, const comp_matrix *z,
                                 const int32_t *codes, size_t n_levels, const comp__classify_options *options);
comp_status comp__holdout(comp_accuracy *out, comp_context *context, const comp_matrix *z, const int32_t *codes,
                          size_t n_levels, const comp__classify_options *options);
comp_status comp__transfer(comp_accuracy *out, comp_context *context, const comp_matrix *z, const int32_t *conditions,
                           int32_t train_condition, int32_t test_condition, const int32_t *labels, size_t n_labels,
                           const comp__classify_options *options);
comp_status comp__fairness(comp_fairness_result *out, comp_context *context, const comp_matrix *z,
                           const int32_t *targets, size_t n_levels, const int32_t *groups, size_t n_groups,
                           const comp__classify_options *options);

#endif
