/* scores.h: how `comp score` shows its results. */
#ifndef CLI_SCORES_H
#define CLI_SCORES_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/predictions.h"
#include "comp/comp.h"

/* The results of one run. */
typedef struct cli_scores {
  const comp_score_options *options;
  const comp_score *score;                         /* of embeddings; NULL: none were scored */
  const comp_counterfactual_score *counterfactual; /* NULL: none */
  const char *counterfactual_json;                 /* the same as JSON */
  char *const *more_changes;                       /* [n_more_changes]: further changes of condition, as JSON */
  size_t n_more_changes;
  const cli_predictions *predictions; /* NULL: none */
  bool per_label;                     /* show labels and conditions, too */
  bool verbose;                       /* say what each number means */
} cli_scores;

/* A table on stdout. */
void cli_scores_print(const cli_scores *scores);

/* One JSON object. */
void cli_scores_put_json(FILE *out, const cli_scores *scores);

#endif
