/* options.h: what is measured (kind "score"). */
#ifndef COMP_SCORE_OPTIONS_H
#define COMP_SCORE_OPTIONS_H

#include "classify/options.h"
#include "comp/score.h"
#include "metrics/options.h"

typedef struct comp__scores_options {
  comp__score_options score;                         /* of embeddings; also condition, label and seed of all */
  comp__classify_options classify;                   /* how columns and labels are predicted */
  comp__counterfactual_score_options counterfactual; /* what all changes of condition share */
  const char *const *columns;                        /* to be predicted */
  size_t n_columns;
  bool protect;                   /* the condition is to be hidden */
  const char *unseen;             /* column that is true where columns are predicted; NULL: everywhere */
  const char *audit;              /* file of comp audit --json; NULL: none */
  bool fairness;                  /* what a classifier of a column does to each condition */
  const char *train_on, *test_on; /* conditions between which the label is carried over; NULL: not */
  const char *const *layers, *const *from, *const *to; /* one of each a change of condition */
  size_t n_layers, n_from, n_to;
  size_t max_samples; /* embeddings are scored on so many samples at most; 0: on all */
} comp__scores_options;

/* Names, in the order of the enums; they end with NULL. */
extern const char *const comp__scope_names[], *const comp__small_names[];

extern const comp__options_kind comp__scores_kind;

/* The defaults, for code that sets fields: min_label among them. */
comp__scores_options comp__scores_defaults(void);

/* Whether embeddings are scored. */
bool comp__scores_has_embeddings(const comp__scores_options *options);

/* The options of one change of condition. */
comp__counterfactual_score_options comp__scores_change(const comp__scores_options *options, size_t index);

/* As the public function, with plain options. */
comp_status comp__scores_run(comp_scores **out, comp_context *context, const comp_dataset *dataset,
                             const comp__scores_options *options);

#endif
