/* embed.c: trains on an array of the program's own and scores the embedding. The same source is C17 and C++17. */
#include <stdio.h>
#include <stdlib.h>

#include "comp/comp.h"

enum { SAMPLES = 400, FEATURES = 20 };
static float x[SAMPLES * FEATURES];
static int32_t batch[SAMPLES];

int main(void) {
  const char *const batches[] = {"first", "second"};
  comp_options *train = NULL, *scoring = NULL;
  comp_context *context = NULL;
  comp_matrix *matrix = NULL, *z = NULL;
  comp_dataset *data = NULL;
  comp_model *model = NULL;
  comp_scores *scores = NULL;
  for (int i = 0; i < SAMPLES * FEATURES; i++) {
    batch[i / FEATURES] = i / FEATURES % 2; /* a batch effect: the second batch is shifted */
    x[i] = (float)rand() / (float)RAND_MAX + (float)batch[i / FEATURES];
  }
  int failed = comp_context_new(&context, NULL) || comp_options_new(&train, "train") ||
               comp_options_new(&scoring, "score") || comp_options_set(scoring, "condition", "batch") ||
               comp_matrix_wrap_dense(&matrix, context, x, COMP_FLOAT32, SAMPLES, FEATURES, FEATURES, NULL, NULL) ||
               comp_dataset_new(&data, matrix, NULL, NULL) ||
               comp_table_add_categorical(comp_dataset_obs(data), "batch", batch, batches, 2);
  failed = failed || comp_options_set(train, "condition", "batch") || comp_options_set(train, "hidden", "64") ||
           comp_options_set_int(train, "epochs", 100) || /* a small network, to be quick */
           comp_train(&model, context, data, train) || comp_embed(&z, NULL, context, model, data, NULL) ||
           comp_dataset_set_matrix(data, COMP_SLOT_OBSM, "X_comp", z) ||
           comp_scores_run(&scores, context, data, scoring);
  if (failed) fprintf(stderr, "%s\n", comp_error_message());
  const comp_score *score = failed ? NULL : comp_scores_embeddings(scores);
  for (size_t m = 0; !failed && m < comp_score_metric_count(score); m++)
    printf("%s %.3f\n", comp_score_metric_at(score, m)->name, comp_score_value(score, m, 0));
  comp_scores_free(scores), comp_options_free(train), comp_options_free(scoring), comp_model_free(model),
      comp_dataset_free(data), comp_context_free(context);
  return failed;
}
