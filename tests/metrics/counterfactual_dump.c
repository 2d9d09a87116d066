/*
 * counterfactual_dump.c: the scores of a layer of predictions as JSON, for tests/oracle/test_counterfactual_score.py.
 * Not installed.
 *
 *   counterfactual_dump FILE.h5ad CONDITION FROM TO LABEL|- PAIR|- THREADS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "core/context.h"
#include "io/options.h"
#include "score/options.h"

static void need(comp_status status) {
  if (status == COMP_OK) return;
  fprintf(stderr, "counterfactual_dump: %s\n", comp_error_message());
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 8) return 2;
  comp__context_options context_options = comp__context_defaults();
  comp__read_options read = {0};
  comp__counterfactual_score_options o = comp__scores_defaults().counterfactual;
  comp_context *context;
  comp_dataset *dataset;
  comp_counterfactual_score *score;
  char *text;
  context_options.threads = atoi(argv[7]);
  o.condition = argv[2];
  o.from = argv[3];
  o.to = argv[4];
  if (strcmp(argv[5], "-") != 0) o.label = argv[5];
  if (strcmp(argv[6], "-") != 0) o.pair = argv[6];
  need(comp__context_new(&context, &context_options));
  need(comp__dataset_read(&dataset, context, argv[1], &read));
  need(comp__counterfactual_score_run(&score, context, dataset, &o));
  need(comp__counterfactual_score_json(&text, score));
  puts(text);
  comp_free(text);
  comp__counterfactual_score_free(score);
  comp_dataset_free(dataset);
  comp_context_free(context);
  return 0;
}
