/* classify.c: what is measured with classifiers: predictability, held-out accuracy, transfer, fairness. */
#include <math.h>
#include <string.h>

#include "classify/examples.h"
#include "classify/learner.h"
#include "classify/options.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"

enum { STEP_PERMUTE = 3, STEP_SEED = 4 }; /* of COMP__RNG_CLASSIFY; examples.c has 0 and 1, forest.c 2, boosted.c 5 */

/* ---- predictability ---- */

static const char *const usual[] = {"logistic", "forest"};

/* The classifiers that are asked for, each once: out[COMP_CLASSIFIER_KINDS]. */
static comp_status list_kinds(comp_classifier_kind *out, size_t *n, const comp__classify_options *o) {
  const char *const *names = o->n_classifiers ? o->classifiers : usual;
  const size_t count = o->n_classifiers ? o->n_classifiers : sizeof usual / sizeof *usual;
  *n = 0;
  for (size_t i = 0; i < count; i++) {
    bool known = false;
    comp_classifier_kind kind;
    comp_status status = comp_classifier_kind_parse(&kind, names[i]);
    if (status != COMP_OK) return status;
    for (size_t k = 0; k < *n; k++) known = known || out[k] == kind;
    if (!known) out[(*n)++] = kind;
  }
  return COMP_OK;
}

/* A run is one pass of cross-validation: number 0 with the codes as they are, the others with shuffled ones. */
typedef struct validation {
  comp_context *context;
  const comp__labelled *data;
  comp_classifier_kind kind;
  size_t n_folds;
  uint64_t seed;
  size_t *folds;      /* [n] */
  bool *correct;      /* [n]: of run 0 */
  double *accuracies; /* [runs, n_folds] */
  size_t *hits;       /* [runs, n_folds] */
  int32_t **codes;    /* [runs]: by row of the matrix */
} validation;

/* One fold of one run. */
static comp_status validate(const validation *v, size_t run, size_t fold) {
  const comp__examples *all = &v->data->all;
  size_t *rows = NULL, *places = NULL, n_test = 0, n_train = 0;
  int32_t *predicted = NULL;
  comp_status status = comp__check_interrupt(v->context);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__alloc(&rows, all->n, sizeof *rows));
  COMP__TRY(comp__alloc(&places, all->n, sizeof *places));
  for (size_t i = 0; i < all->n; i++)
    if (v->folds[i] == fold)
      rows[all->n - ++n_test] = all->rows[i], places[n_test - 1] = i; /* the last of `rows`, from its end */
    else
      rows[n_train++] = all->rows[i];
  COMP__TRY(comp__alloc(&predicted, n_test, sizeof *predicted));
  comp__examples train = *all, test = *all;
  train.codes = test.codes = v->codes[run];
  train.rows = rows;
  train.n = n_train;
  test.rows = rows + n_train;
  test.n = n_test;
  const uint64_t seed = comp__rng_bits(comp__rng_at(v->seed, COMP__RNG_CLASSIFY, STEP_SEED, fold), run);
  COMP__TRY(comp__fit_predict(predicted, v->context, v->kind, &train, &test, seed));
  size_t hits = 0;
  for (size_t k = 0; k < n_test; k++) {
    const bool hit = predicted[n_test - 1 - k] == v->codes[run][all->rows[places[k]]];
    hits += hit;
    if (run == 0) v->correct[places[k]] = hit;
  }
  v->hits[run * v->n_folds + fold] = hits;
  v->accuracies[run * v->n_folds + fold] = n_test ? (double)hits / (double)n_test : 0.0;
done:
  comp__free(predicted);
  comp__free(places);
  comp__free(rows);
  return status;
}

static comp_status validate_some(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const validation *v = arg;
  comp_status status = COMP_OK;
  for (size_t k = begin; k < end && status == COMP_OK; k++) status = validate(v, k / v->n_folds, k % v->n_folds);
  return status;
}

/* A learner that fills the threads by itself goes fold by fold; of others, the folds share the threads. */
static comp_status validate_all(validation *v, size_t runs) {
  const size_t jobs = runs * v->n_folds;
  comp_status status = COMP_OK;
  if (!comp__learner_of(v->kind)->many) {
    status = comp__parallel_try(v->context, jobs, 1, validate_some, v);
    if (status == COMP_OK) comp__progress_update(v->context, jobs, NULL);
    return status;
  }
  for (size_t k = 0; k < jobs && status == COMP_OK; k++) {
    status = validate_some(v, k, k + 1, 0);
    comp__progress_update(v->context, k + 1, NULL);
  }
  return status;
}

/* Mean and standard deviation (n - 1; NaN of fewer than two). */
static double mean_of(const double *values, size_t n, double *deviation) {
  double mean = 0.0, squares = 0.0;
  for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
  *deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
  return n ? mean : (double)NAN;
}

static double accuracy_of_run(const validation *v, size_t run) {
  size_t hits = 0;
  for (size_t fold = 0; fold < v->n_folds; fold++) hits += v->hits[run * v->n_folds + fold];
  return (double)hits / (double)v->data->all.n;
}

static double balanced(const validation *v) {
  const comp__examples *all = &v->data->all;
  double sum = 0.0;
  for (size_t level = 0; level < all->n_levels; level++) {
    size_t hits = 0;
    if (v->data->counts[level] == 0) continue;
    for (size_t i = 0; i < all->n; i++) hits += v->correct[i] && (size_t)all->codes[all->rows[i]] == level;
    sum += (double)hits / (double)v->data->counts[level];
  }
  return sum / (double)v->data->n_used;
}

static void summarise(comp_predictability_score *out, const validation *v, double *permuted, size_t runs) {
  *out = (comp_predictability_score){.classifier = v->kind, .accuracy = accuracy_of_run(v, 0)};
  mean_of(v->accuracies, v->n_folds, &out->deviation);
  out->balanced_accuracy = balanced(v);
  size_t as_good = 0;
  for (size_t run = 1; run < runs; run++) {
    permuted[run - 1] = accuracy_of_run(v, run);
    as_good += permuted[run - 1] >= out->accuracy;
  }
  out->permuted_accuracy = mean_of(permuted, runs - 1, &out->permuted_deviation);
  out->p_value = runs > 1 ? (double)(1 + as_good) / (double)runs : (double)NAN;
}

/* Codes of each run; run 0 has the caller's. They should be freed from number 1 on via comp__free(). */
static comp_status make_codes(validation *v, size_t runs, size_t rows) {
  const comp__examples *all = &v->data->all;
  size_t *order;
  comp_status status = comp__alloc(&order, all->n, sizeof *order);
  if (status != COMP_OK) return status;
  for (size_t run = 0; run < runs; run++) {
    COMP__TRY(comp__alloc(&v->codes[run], rows, sizeof *v->codes[run]));
    memcpy(v->codes[run], all->codes, rows * sizeof *v->codes[run]);
    if (run == 0) continue;
    comp__rng_permutation(order, all->n, comp__rng_at(v->seed, COMP__RNG_CLASSIFY, STEP_PERMUTE, run));
    for (size_t i = 0; i < all->n; i++) v->codes[run][all->rows[i]] = all->codes[all->rows[order[i]]];
  }
done:
  comp__free(order);
  return status;
}

static comp_status check_folds(comp_context *context, const comp__labelled *data, size_t folds) {
  size_t enough = 0, few = 0;
  for (size_t level = 0; level < data->all.n_levels; level++) {
    enough += data->counts[level] >= folds;
    few += data->counts[level] > 0 && data->counts[level] < folds;
  }
  if (data->all.n < folds)
    return comp__error(COMP_ERR_DATA, "%zu samples cannot be divided into %zu folds: ask for fewer", data->all.n,
                       folds);
  if (enough < 2)
    return comp__error(COMP_ERR_DATA,
                       "fewer than two levels have %zu samples, one for each fold: ask for fewer folds, or leave rare "
                       "levels out",
                       folds);
  if (few)
    comp__warn(context, "%zu level%s fewer than %zu samples, so that some folds lack %s", few,
               few == 1 ? " has" : "s have", folds, few == 1 ? "it" : "them");
  return COMP_OK;
}

/* The strata of the rows of `all`: their levels. */
static void strata_of(size_t *strata, const comp__examples *all) {
  for (size_t i = 0; i < all->n; i++) strata[i] = (size_t)all->codes[all->rows[i]];
}

static comp_status validation_init(validation *v, size_t runs, size_t rows) {
  const comp__examples *all = &v->data->all;
  size_t *strata = NULL;
  comp_status status = COMP_OK;
  COMP__TRY(comp__calloc(&v->codes, runs, sizeof *v->codes));
  COMP__TRY(comp__alloc(&v->folds, all->n, sizeof *v->folds));
  COMP__TRY(comp__calloc(&v->correct, all->n, sizeof *v->correct));
  COMP__TRY(comp__calloc(&v->accuracies, runs * v->n_folds, sizeof *v->accuracies));
  COMP__TRY(comp__calloc(&v->hits, runs * v->n_folds, sizeof *v->hits));
  COMP__TRY(comp__alloc(&strata, all->n, sizeof *strata));
  strata_of(strata, all);
  COMP__TRY(comp__folds(v->folds, strata, all->n, all->n_levels, v->n_folds, v->seed));
  COMP__TRY(make_codes(v, runs, rows));
done:
  comp__free(strata);
  return status;
}

static void validation_release(validation *v, size_t runs) {
  for (size_t run = 0; v->codes && run < runs; run++) comp__free(v->codes[run]);
  comp__free(v->codes);
  comp__free(v->hits);
  comp__free(v->accuracies);
  comp__free(v->correct);
  comp__free(v->folds);
}

comp_status comp__predictability(comp_predictability_result *out, comp_context *context, const comp_matrix *z,
                                 const int32_t *codes, size_t n_levels, const comp__classify_options *options) {
  *out = (comp_predictability_result){0};
  comp_classifier_kind kinds[COMP_CLASSIFIER_KINDS];
  size_t n_kinds;
  const size_t runs = options->permutations + 1;
  comp__labelled data = {0};
  double *permuted = NULL;
  validation v = {.context = context, .data = &data, .n_folds = options->folds, .seed = options->seed};
  comp_status status = list_kinds(kinds, &n_kinds, options);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__labelled_init(&data, context, z, codes, n_levels));
  COMP__TRY(check_folds(context, &data, options->folds));
  COMP__TRY(validation_init(&v, runs, comp_matrix_rows(z)));
  COMP__TRY(comp__alloc(&permuted, runs, sizeof *permuted));
  COMP__TRY(comp__calloc(&out->scores, n_kinds, sizeof *out->scores));
  for (size_t k = 0; k < n_kinds; k++) {
    v.kind = kinds[k];
    comp__progress_begin(context, comp_classifier_kind_name(v.kind), "folds", runs * v.n_folds);
    COMP__TRY(validate_all(&v, runs));
    summarise(&out->scores[k], &v, permuted, runs);
  }
  size_t largest = 0;
  for (size_t level = 0; level < n_levels; level++)
    if (data.counts[level] > largest) largest = data.counts[level];
  out->samples = data.all.n;
  out->n_levels = data.n_used;
  out->majority = (double)largest / (double)data.all.n;
  out->folds = options->folds;
  out->n_permutations = options->permutations;
  out->n_scores = n_kinds;
done:
  comp__progress_end(context);
  comp__free(permuted);
  validation_release(&v, runs);
  comp__labelled_release(&data);
  if (status != COMP_OK) comp_predictability_release(out);
  return status;
}

comp_status comp_predictability(comp_predictability_result *out, comp_context *context, const comp_matrix *z,
                                const int32_t *codes, size_t n_levels, const comp_options *options) {
  COMP__NEED_OUT(out, context, z, codes);
  comp__classify_options resolved;
  *out = (comp_predictability_result){0};
  comp_status status = comp__options_resolve(&resolved, &comp__classify_kind, options);
  return status == COMP_OK ? comp__predictability(out, context, z, codes, n_levels, &resolved) : status;
}

void comp_predictability_release(comp_predictability_result *result) {
  if (!result) return;
  comp__free(result->scores);
  *result = (comp_predictability_result){0};
}

/* ---- one split ---- */

/* Two parts of some data, and what was predicted for the second. */
typedef struct trial {
  comp__examples train, test;
  size_t *rows; /* train, then test */
  int32_t *predicted;
} trial;

static void trial_release(trial *t) {
  comp__free(t->predicted);
  comp__free(t->rows);
}

/* Rows for which in_test[i] go to the test, i counting the rows of `all`. It should be released via trial_release(),
 * also when it fails. */
static comp_status trial_init(trial *t, const comp__examples *all, const bool *in_test) {
  *t = (trial){.train = *all, .test = *all};
  comp_status status = comp__alloc(&t->rows, all->n, sizeof *t->rows);
  if (status != COMP_OK) return status;
  size_t at = 0;
  for (size_t i = 0; i < all->n; i++)
    if (!in_test[i]) t->rows[at++] = all->rows[i];
  t->train.n = at;
  for (size_t i = 0; i < all->n; i++)
    if (in_test[i]) t->rows[at++] = all->rows[i];
  t->train.rows = t->rows;
  t->test.rows = t->rows + t->train.n;
  t->test.n = at - t->train.n;
  return comp__alloc(&t->predicted, t->test.n, sizeof *t->predicted);
}

static comp_status count_parts(comp_accuracy *out, const trial *t) {
  const size_t n_levels = t->train.n_levels;
  size_t trained = 0;
  comp_status status = COMP_OK;
  COMP__TRY(comp__calloc(&out->train_counts, n_levels, sizeof *out->train_counts));
  COMP__TRY(comp__calloc(&out->test_counts, n_levels, sizeof *out->test_counts));
  COMP__TRY(comp__calloc(&out->found, n_levels, sizeof *out->found));
  COMP__TRY(comp__calloc(&out->correct, n_levels, sizeof *out->correct));
  for (size_t i = 0; i < t->train.n; i++) out->train_counts[t->train.codes[t->train.rows[i]]]++;
  for (size_t i = 0; i < t->test.n; i++) out->test_counts[t->test.codes[t->test.rows[i]]]++;
  out->n_levels = n_levels;
  out->n_train = t->train.n;
  out->n_test = t->test.n;
  for (size_t level = 0; level < n_levels; level++) {
    trained += out->train_counts[level] > 0;
    if (out->train_counts[level] == 0) out->unseen += out->test_counts[level];
  }
  if (t->test.n == 0) COMP__FAIL(COMP_ERR_DATA, "no sample is left to test on");
  if (trained < 2)
    COMP__FAIL(COMP_ERR_DATA, "the %zu samples to train on have fewer than two levels: there is nothing to learn",
               t->train.n);
done:
  return status;
}

static void fill_accuracy(comp_accuracy *out, const trial *t) {
  size_t hits = 0, commonest = 0, levels = 0;
  for (size_t i = 0; i < t->test.n; i++) {
    const int32_t truth = t->test.codes[t->test.rows[i]];
    if (t->predicted[i] != truth) continue;
    hits++;
    out->found[truth] += 1.0;
  }
  for (size_t level = 0; level < out->n_levels; level++) {
    size_t said = 0;
    for (size_t i = 0; i < t->test.n; i++) said += (size_t)t->predicted[i] == level;
    out->correct[level] = said ? out->found[level] / (double)said : (double)NAN;
    out->found[level] = out->test_counts[level] ? out->found[level] / (double)out->test_counts[level] : (double)NAN;
    if (out->test_counts[level]) {
      out->balanced_accuracy += out->found[level];
      levels++;
    }
    if (out->train_counts[level] > out->train_counts[commonest]) commonest = level;
  }
  out->accuracy = (double)hits / (double)out->n_test;
  out->balanced_accuracy /= (double)levels;
  out->majority = (double)out->test_counts[commonest] / (double)out->n_test;
}

static comp_status run_trial(comp_accuracy *out, comp_context *context, trial *t, const comp__classify_options *o) {
  *out = (comp_accuracy){0};
  comp_status status = COMP_OK;
  COMP__TRY(count_parts(out, t));
  COMP__TRY(comp__fit_predict(t->predicted, context, o->classifier, &t->train, &t->test, o->seed));
  fill_accuracy(out, t);
done:
  if (status != COMP_OK) comp_accuracy_release(out);
  return status;
}

comp_status comp__holdout(comp_accuracy *out, comp_context *context, const comp_matrix *z, const int32_t *codes,
                          size_t n_levels, const comp__classify_options *options) {
  *out = (comp_accuracy){0};
  comp__labelled data = {0};
  trial t = {0};
  size_t *strata = NULL;
  bool *in_test = NULL;
  comp_status status;
  COMP__TRY(comp__labelled_init(&data, context, z, codes, n_levels));
  COMP__TRY(comp__alloc(&strata, data.all.n, sizeof *strata));
  COMP__TRY(comp__alloc(&in_test, data.all.n, sizeof *in_test));
  strata_of(strata, &data.all);
  COMP__TRY(comp__split(in_test, strata, data.all.n, n_levels, options->test_share, options->seed));
  COMP__TRY(trial_init(&t, &data.all, in_test));
  COMP__TRY(run_trial(out, context, &t, options));
done:
  trial_release(&t);
  comp__free(in_test);
  comp__free(strata);
  comp__labelled_release(&data);
  return status;
}

/* A copy of `codes` in which what keep() refuses is -1. */
static comp_status copy_codes(int32_t **out, const int32_t *codes, size_t n) {
  comp_status status = comp__alloc(out, n, sizeof **out);
  if (status == COMP_OK) memcpy(*out, codes, n * sizeof **out);
  return status;
}

comp_status comp__transfer(comp_accuracy *out, comp_context *context, const comp_matrix *z, const int32_t *conditions,
                           int32_t train_condition, int32_t test_condition, const int32_t *labels, size_t n_labels,
                           const comp__classify_options *options) {
  *out = (comp_accuracy){0};
  const size_t rows = comp_matrix_rows(z);
  comp__labelled data = {0};
  trial t = {0};
  int32_t *codes = NULL;
  bool *in_test = NULL;
  comp_status status;
  if (train_condition == test_condition)
    return comp__error(COMP_ERR_ARGUMENT, "the conditions to train on and to test on are the same");
  COMP__TRY(copy_codes(&codes, labels, rows));
  COMP__TRY(comp__alloc(&in_test, rows, sizeof *in_test));
  for (size_t i = 0; i < rows; i++)
    if (conditions[i] != train_condition && conditions[i] != test_condition) codes[i] = -1;
  COMP__TRY(comp__labelled_init(&data, context, z, codes, n_labels));
  for (size_t i = 0; i < data.all.n; i++) in_test[i] = conditions[data.all.rows[i]] == test_condition;
  COMP__TRY(trial_init(&t, &data.all, in_test));
  COMP__TRY(run_trial(out, context, &t, options));
  if (out->unseen)
    comp__warn(context, "%zu of %zu test samples have labels that the training samples lack: they count as wrong",
               out->unseen, out->n_test);
done:
  trial_release(&t);
  comp__free(in_test);
  comp__free(codes);
  comp__labelled_release(&data);
  return status;
}

comp_status comp_holdout(comp_accuracy *out, comp_context *context, const comp_matrix *z, const int32_t *codes,
                         size_t n_levels, const comp_options *options) {
  COMP__NEED_OUT(out, context, z, codes);
  comp__classify_options resolved;
  *out = (comp_accuracy){0};
  comp_status status = comp__options_resolve(&resolved, &comp__classify_kind, options);
  return status == COMP_OK ? comp__holdout(out, context, z, codes, n_levels, &resolved) : status;
}

comp_status comp_transfer(comp_accuracy *out, comp_context *context, const comp_matrix *z, const int32_t *conditions,
                          int32_t train_condition, int32_t test_condition, const int32_t *labels, size_t n_labels,
                          const comp_options *options) {
  COMP__NEED_OUT(out, context, z, conditions, labels);
  comp__classify_options resolved;
  *out = (comp_accuracy){0};
  comp_status status = comp__options_resolve(&resolved, &comp__classify_kind, options);
  if (status != COMP_OK) return status;
  return comp__transfer(out, context, z, conditions, train_condition, test_condition, labels, n_labels, &resolved);
}

void comp_accuracy_release(comp_accuracy *accuracy) {
  if (!accuracy) return;
  comp__free(accuracy->train_counts);
  comp__free(accuracy->test_counts);
  comp__free(accuracy->found);
  comp__free(accuracy->correct);
  *accuracy = (comp_accuracy){0};
}

/* ---- fairness ---- */

static double share(size_t part, size_t whole) {
  return whole ? (double)part / (double)whole : (double)NAN;
}

static comp_status group_init(comp_fairness_group *out, const trial *t, const int32_t *groups, size_t group) {
  const size_t n_levels = t->test.n_levels;
  size_t *said = NULL, *are = NULL, *both = NULL, hits = 0; /* [n_levels]: predicted, true, and both */
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&out->selected, n_levels, sizeof *out->selected));
  COMP__TRY(comp__alloc(&out->true_positives, n_levels, sizeof *out->true_positives));
  COMP__TRY(comp__alloc(&out->false_positives, n_levels, sizeof *out->false_positives));
  COMP__TRY(comp__calloc(&said, n_levels, sizeof *said));
  COMP__TRY(comp__calloc(&are, n_levels, sizeof *are));
  COMP__TRY(comp__calloc(&both, n_levels, sizeof *both));
  for (size_t i = 0; i < t->test.n; i++) {
    const size_t row = t->test.rows[i];
    if ((size_t)groups[row] != group) continue;
    const int32_t truth = t->test.codes[row];
    out->n_test++;
    said[t->predicted[i]]++;
    are[truth]++;
    if (t->predicted[i] != truth) continue;
    both[truth]++;
    hits++;
  }
  out->accuracy = share(hits, out->n_test);
  for (size_t level = 0; level < n_levels; level++) {
    out->selected[level] = share(said[level], out->n_test);
    out->true_positives[level] = share(both[level], are[level]);
    out->false_positives[level] = share(said[level] - both[level], out->n_test - are[level]);
  }
done:
  comp__free(both);
  comp__free(are);
  comp__free(said);
  return status;
}

typedef struct range {
  double least, most;
} range;

static void widen(range *r, double value) {
  if (isnan(value)) return;
  r->least = fmin(r->least, value);
  r->most = fmax(r->most, value);
}

static double width(range r) {
  return r.most > r.least ? r.most - r.least : 0.0;
}

static void fill_gaps(comp_fairness_result *out) {
  const range empty = {INFINITY, -INFINITY};
  range accuracy = empty;
  for (size_t g = 0; g < out->n_groups; g++) widen(&accuracy, out->groups[g].accuracy);
  out->accuracy_gap = width(accuracy);
  for (size_t level = 0; level < out->target.n_levels; level++) {
    range selected = empty, true_positives = empty, false_positives = empty;
    for (size_t g = 0; g < out->n_groups; g++) {
      widen(&selected, out->groups[g].selected[level]);
      widen(&true_positives, out->groups[g].true_positives[level]);
      widen(&false_positives, out->groups[g].false_positives[level]);
    }
    out->parity_gap = fmax(out->parity_gap, width(selected));
    out->odds_gap = fmax(out->odds_gap, fmax(width(true_positives), width(false_positives)));
  }
}

/* The target's codes, -1 where the group is not known; an error when fewer than two groups are left. */
static comp_status join_codes(int32_t **out, const int32_t *targets, const int32_t *groups, size_t n_groups, size_t n) {
  int32_t first = -1;
  bool several = false;
  comp_status status = copy_codes(out, targets, n);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) {
    if (groups[i] < -1 || (groups[i] >= 0 && (size_t)groups[i] >= n_groups))
      return comp__error(COMP_ERR_ARGUMENT, "sample %zu has the group %d, and there are %zu", i + 1, (int)groups[i],
                         n_groups);
    if (groups[i] < 0) (*out)[i] = -1;
    if ((*out)[i] == -1) continue;
    if (first < 0) first = groups[i];
    several |= groups[i] != first;
  }
  if (!several)
    return comp__error(COMP_ERR_DATA, "all samples are of one group: fairness needs at least two to compare");
  return COMP_OK;
}

comp_status comp__fairness(comp_fairness_result *out, comp_context *context, const comp_matrix *z,
                           const int32_t *targets, size_t n_levels, const int32_t *groups, size_t n_groups,
                           const comp__classify_options *options) {
  *out = (comp_fairness_result){0};
  comp__labelled data = {0};
  trial t = {0};
  int32_t *codes = NULL;
  size_t *strata = NULL;
  bool *in_test = NULL;
  comp_status status;
  COMP__TRY(join_codes(&codes, targets, groups, n_groups, comp_matrix_rows(z)));
  COMP__TRY(comp__labelled_init(&data, context, z, codes, n_levels));
  COMP__TRY(comp__alloc(&strata, data.all.n, sizeof *strata));
  COMP__TRY(comp__alloc(&in_test, data.all.n, sizeof *in_test));
  for (size_t i = 0; i < data.all.n; i++) {
    const size_t row = data.all.rows[i];
    strata[i] = (size_t)codes[row] * n_groups + (size_t)groups[row];
  }
  COMP__TRY(comp__split(in_test, strata, data.all.n, n_levels * n_groups, options->test_share, options->seed));
  COMP__TRY(trial_init(&t, &data.all, in_test));
  COMP__TRY(run_trial(&out->target, context, &t, options));
  COMP__TRY(comp__calloc(&out->groups, n_groups, sizeof *out->groups));
  out->n_groups = n_groups;
  for (size_t g = 0; g < n_groups; g++) COMP__TRY(group_init(&out->groups[g], &t, groups, g));
  fill_gaps(out);
done:
  trial_release(&t);
  comp__free(in_test);
  comp__free(strata);
  comp__free(codes);
  comp__labelled_release(&data);
  if (status != COMP_OK) comp_fairness_release(out);
  return status;
}

comp_status comp_fairness(comp_fairness_result *out, comp_context *context, const comp_matrix *z,
                          const int32_t *targets, size_t n_levels, const int32_t *groups, size_t n_groups,
                          const comp_options *options) {
  COMP__NEED_OUT(out, context, z, targets, groups);
  comp__classify_options resolved;
  *out = (comp_fairness_result){0};
  comp_status status = comp__options_resolve(&resolved, &comp__classify_kind, options);
  return status == COMP_OK ? comp__fairness(out, context, z, targets, n_levels, groups, n_groups, &resolved) : status;
}

void comp_fairness_release(comp_fairness_result *result) {
  if (!result) return;
  for (size_t g = 0; result->groups && g < result->n_groups; g++) {
    comp__free(result->groups[g].selected);
    comp__free(result->groups[g].true_positives);
    comp__free(result->groups[g].false_positives);
  }
  comp__free(result->groups);
  comp_accuracy_release(&result->target);
  *result = (comp_fairness_result){0};
}
