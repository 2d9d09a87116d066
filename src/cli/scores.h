/* scores.h: how `comp score` shows its results. */
#ifndef CLI_SCORES_H
#define CLI_SCORES_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/predictions.h"
#include "cli/session.h"
#include "comp/comp.h"

/* Predictions of another condition, and their scores. */
typedef struct cli_change {
  const char *layer, *from, *to;
  comp_counterfactual_score *score; /* NULL: not scored */
  char *json;                       /* the same as JSON */
} cli_change;

/* Scores changes [n], the rest of the options being the same for all. One that cannot be scored is said to be so and
 * left out, unless it is all there is (`alone`: no embeddings are scored). Should be released via
 * cli_changes_release(). */
comp_status cli_changes_run(cli_session *session, const comp_dataset *dataset,
                            const comp_counterfactual_score_options *options, cli_change *changes, size_t n,
                            bool alone);
void cli_changes_release(cli_change *changes, size_t n);

/* The results of one run. */
typedef struct cli_scores {
  const comp_dataset *dataset;
  const comp_score_options *options;
  const comp_score *score;   /* of embeddings; NULL: none were scored */
  const cli_change *changes; /* [n_changes] */
  size_t n_changes;
  const cli_predictions *predictions; /* NULL: none */
  bool per_label;                     /* show labels and conditions, too */
  bool verbose;                       /* say what each number means */
} cli_scores;

/* A table on stdout. */
void cli_scores_print(const cli_scores *scores);

/* One JSON object, with what the numbers mean in it. */
comp_status cli_scores_put_json(FILE *out, const cli_scores *scores);

#endif
