/* predict.c: see predict.h. */
#include "diagnose/predict.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"

enum { LEAST = 10, STEP_SHUFFLE = 8000000 };

/* Groups that are large enough, renumbered: every other sample of each is for training, the rest for testing. */
static comp_status divide(int32_t *train, int32_t *test, size_t *n_chosen, const int32_t *codes, size_t n,
                          size_t n_levels) {
  size_t *counts, *seen;
  comp_status status = comp__calloc(&counts, 2 * n_levels, sizeof *counts);
  if (status != COMP_OK) return status;
  seen = counts + n_levels;
  for (size_t i = 0; i < n; i++)
    if (codes[i] >= 0) counts[codes[i]]++;
  *n_chosen = 0;
  for (size_t k = 0; k < n_levels; k++) counts[k] = counts[k] >= LEAST ? ++*n_chosen : 0;
  for (size_t i = 0; i < n; i++) {
    train[i] = test[i] = -1;
    if (codes[i] < 0 || counts[codes[i]] == 0) continue;
    int32_t code = (int32_t)counts[codes[i]] - 1;
    *(seen[codes[i]]++ % 2 ? &train[i] : &test[i]) = code;
  }
  comp__free(counts);
  return COMP_OK;
}

/* What was tested: true and predicted groups of m samples. */
typedef struct outcome {
  int32_t *truth, *said, *shuffled;
  size_t m, n_levels;
  size_t *counts; /* [n_levels] */
} outcome;

static double balanced(const outcome *o, const int32_t *truth) {
  double sum = 0;
  for (size_t i = 0; i < o->m; i++) sum += truth[i] == o->said[i] ? 1 / (double)o->counts[truth[i]] : 0;
  return sum / (double)o->n_levels;
}

static void score(comp__classifier_score *out, outcome *o, size_t permutations, comp_classifier_kind kind,
                  uint64_t seed) {
  size_t right = 0, reached = 0;
  for (size_t i = 0; i < o->m; i++) right += o->truth[i] == o->said[i];
  *out = (comp__classifier_score){true, (double)right / (double)o->m, balanced(o, o->truth), NAN};
  if (permutations == 0) return;
  memcpy(o->shuffled, o->truth, o->m * sizeof *o->truth);
  for (size_t t = 0; t < permutations; t++) {
    comp__rng rng = comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_SHUFFLE + (uint64_t)kind, t);
    for (size_t i = o->m; i > 1; i--) {
      size_t j = (size_t)comp__rng_below(rng, i, i);
      int32_t swap = o->shuffled[i - 1];
      o->shuffled[i - 1] = o->shuffled[j];
      o->shuffled[j] = swap;
    }
    reached += balanced(o, o->shuffled) >= out->balanced - 1e-12;
  }
  out->p = (double)(1 + reached) / (double)(1 + permutations);
}

static comp_status try_kind(comp__classifier_score *out, comp_context *context, const comp_matrix *z,
                            const int32_t *train, const int32_t *test, int32_t *said, outcome *o,
                            comp_classifier_kind kind, size_t permutations, uint64_t seed) {
  comp_classifier *classifier;
  comp_status status = comp_classifier_fit(&classifier, context, kind, z, train, o->n_levels, seed);
  if (status != COMP_OK) return status;
  status = comp_classifier_predict(said, context, classifier, z);
  comp_classifier_free(classifier);
  if (status != COMP_OK) return status;
  for (size_t i = 0, m = 0; i < comp_matrix_rows(z); i++)
    if (test[i] >= 0) o->said[m++] = said[i];
  score(out, o, permutations, kind, seed);
  return comp__check_interrupt(context);
}

/* Over the classifiers that were asked. */
static void summarise(comp__prediction_check *out, const outcome *o, size_t permutations) {
  double chance = 1 / (double)out->n_levels, least = NAN, asked = 0, variance = 0;
  size_t most = 0;
  for (size_t k = 0; k < o->n_levels; k++) most = o->counts[k] > most ? o->counts[k] : most;
  out->majority = (double)most / (double)o->m;
  out->samples = o->m;
  for (size_t k = 0; k < COMP_CLASSIFIER_KINDS; k++) {
    if (!out->scores[k].done) continue;
    if (!out->scores[out->best].done || out->scores[k].balanced > out->scores[out->best].balanced) out->best = k;
    least = isnan(least) ? out->scores[k].p : fmin(least, out->scores[k].p);
    asked++;
  }
  out->gain = fmax(0, (out->scores[out->best].balanced - chance) / (1 - chance));
  out->p = fmin(1, asked * least);
  if (isnan(least)) out->p = NAN;
  out->least_p = permutations ? fmin(1, asked / (double)(permutations + 1)) : NAN;
  for (size_t k = 0; k < o->n_levels; k++) variance += chance * (1 - chance) / (double)o->counts[k];
  out->deviation = sqrt(variance) / (double)o->n_levels / (1 - chance);
  out->done = true;
}

comp_status comp__predict(comp__prediction_check *out, comp_context *context, const comp_matrix *z,
                          const int32_t *codes, size_t n_levels, unsigned kinds, size_t permutations, uint64_t seed) {
  comp_status status;
  size_t n = comp_matrix_rows(z);
  int32_t *all = NULL;
  outcome o = {0};
  *out = (comp__prediction_check){.p = NAN};
  COMP__TRY(comp__alloc(&all, 6 * n, sizeof *all));
  int32_t *train = all, *test = all + n, *said = all + 2 * n;
  o.truth = all + 3 * n;
  o.said = all + 4 * n;
  o.shuffled = all + 5 * n;
  COMP__TRY(divide(train, test, &out->n_levels, codes, n, n_levels));
  if (out->n_levels < 2) goto done;
  o.n_levels = out->n_levels;
  COMP__TRY(comp__calloc(&o.counts, o.n_levels, sizeof *o.counts));
  for (size_t i = 0; i < n; i++)
    if (test[i] >= 0) {
      o.truth[o.m++] = test[i];
      o.counts[test[i]]++;
    }
  for (int kind = 0; kind < COMP_CLASSIFIER_KINDS; kind++)
    if (kinds >> kind & 1)
      COMP__TRY(try_kind(&out->scores[kind], context, z, train, test, said, &o, (comp_classifier_kind)kind,
                         permutations, seed));
  summarise(out, &o, permutations);
done:
  comp__free(all);
  comp__free(o.counts);
  return status;
}
