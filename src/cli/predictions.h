/* predictions.h: the part of `comp score` that asks what can be told from an embedding: columns, labels carried over
 * from one condition to another, differences between conditions. */
#ifndef CLI_PREDICTIONS_H
#define CLI_PREDICTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/opt.h"
#include "cli/session.h"
#include "comp/comp.h"

typedef struct cli_predict_options {
  opt_list columns; /* to be predicted */
  const char *train_on, *test_on;
  const char *classifier;  /* of transfer and fairness */
  const char *classifiers; /* of the columns: names, separated by commas; NULL: logistic and forest */
  bool fairness;
  int64_t folds, permutations, seed;
  const char *condition, *label;
} cli_predict_options;

/* A column told from an embedding. */
typedef struct cli_predicted {
  const char *column;
  size_t embedding;
  comp_predictability_result result;
  bool has_fairness;
  comp_fairness_result fairness;
} cli_predicted;

typedef struct cli_predictions {
  const cli_predict_options *options;
  const comp_score *score;  /* whose embeddings they are */
  cli_predicted *predicted; /* [columns, embeddings] */
  size_t n_predicted;
  comp_accuracy *transfer; /* [embeddings]; NULL: not asked for */
  size_t n_transfer;
  comp_groups conditions, labels;
} cli_predictions;

/* Whether anything of it was asked for. */
bool cli_predictions_wanted(const cli_predict_options *options);

/* Reads the names of `classifiers`: at most COMP_CLASSIFIER_KINDS. */
comp_status cli_predictions_kinds(comp_classifier_kind *out, size_t *n, const char *names);

/* Whether the conditions of --train-on and --test-on are there; 0, or an exit code after a message. */
int cli_predictions_check(cli_session *session, const char *path, const comp_dataset *dataset,
                          const cli_predict_options *options);

/* Trains and tests. `out` should be released via cli_predictions_release(), also when it fails. */
comp_status cli_predictions_run(cli_predictions *out, comp_context *context, const comp_dataset *dataset,
                                const comp_score *score, const cli_predict_options *options);
void cli_predictions_release(cli_predictions *predictions);

/* A table on stdout, whose columns are those of the scores. */
void cli_predictions_print(const cli_predictions *predictions, int name_width, int (*width)(const void *arg, size_t e),
                           const void *arg);

/* Members of a JSON object, each with a comma before it. */
void cli_predictions_put_json(FILE *out, const cli_predictions *predictions);

#endif
