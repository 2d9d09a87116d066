/* predict.c: see predict.h. */
#include "diagnose/predict.h"

#include <math.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

enum { LEAST = 10, FOLDS = 5, LEAST_PERMUTATIONS = 19 };

/* Groups that are large enough, numbered anew. */
static comp_status choose_groups(int32_t *chosen, size_t *n_chosen, const int32_t *codes, size_t n, size_t n_levels) {
  size_t *counts;
  comp_status status = comp__calloc(&counts, n_levels, sizeof *counts);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++)
    if (codes[i] >= 0) counts[codes[i]]++;
  *n_chosen = 0;
  for (size_t k = 0; k < n_levels; k++) counts[k] = counts[k] >= LEAST ? ++*n_chosen : 0;
  for (size_t i = 0; i < n; i++) chosen[i] = codes[i] >= 0 ? (int32_t)counts[codes[i]] - 1 : -1;
  comp__free(counts);
  return COMP_OK;
}

static comp_status run_one(comp__prediction_check *out, comp_context *context, const comp_matrix *z,
                           const int32_t *codes, size_t n_levels, comp_classifier_kind kind, size_t permutations,
                           uint64_t seed) {
  comp_predictability_options options = COMP_PREDICTABILITY_OPTIONS_INIT;
  comp_predictability_result result;
  options.classifiers = &kind;
  options.n_classifiers = 1;
  options.folds = FOLDS;
  options.n_permutations = permutations;
  options.seed = seed;
  comp_status status = comp_predictability(&result, context, z, codes, n_levels, &options);
  if (status != COMP_OK) return status;
  out->scores[kind] = result.scores[0];
  out->majority = result.majority;
  out->samples = result.samples;
  comp_predictability_release(&result);
  return comp__check_interrupt(context);
}

comp_status comp__predict(comp__prediction_check *out, comp_context *context, const comp_matrix *z,
                          const int32_t *codes, size_t n_levels, size_t permutations, uint64_t seed) {
  comp_status status;
  int32_t *chosen = NULL;
  size_t n = comp_matrix_rows(z);
  *out = (comp__prediction_check){.p = NAN};
  COMP__TRY(comp__alloc(&chosen, n, sizeof *chosen));
  COMP__TRY(choose_groups(chosen, &out->n_levels, codes, n, n_levels));
  if (out->n_levels < 2) goto done;
  size_t few = permutations ? permutations / 5 > LEAST_PERMUTATIONS ? permutations / 5 : LEAST_PERMUTATIONS : 0;
  for (int kind = 0; kind < COMP_CLASSIFIER_KINDS; kind++)
    COMP__TRY(run_one(out, context, z, chosen, out->n_levels, (comp_classifier_kind)kind,
                      kind == COMP_CLASSIFIER_LOGISTIC ? permutations : few, seed));
  double chance = 1 / (double)out->n_levels, least = 1;
  for (size_t k = 0; k < COMP_CLASSIFIER_KINDS; k++) {
    if (out->scores[k].balanced_accuracy > out->scores[out->best].balanced_accuracy) out->best = k;
    least = fmin(least, out->scores[k].p_value);
  }
  out->gain = fmax(0, (out->scores[out->best].balanced_accuracy - chance) / (1 - chance));
  if (permutations) out->p = fmin(1, COMP_CLASSIFIER_KINDS * least);
  out->done = true;
done:
  comp__free(chosen);
  return status;
}
