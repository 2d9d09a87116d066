/* attack.c: the table of attackers, the choice of settings, and what is measured of one. */
#include "audit/attack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classify/examples.h"
#include "core/alloc.h"
#include "core/error.h"

static const comp__learner *const attackers[] = {&comp__learner_logistic, &comp__attacker_nearest,
                                                 &comp__attacker_perceptron, &comp__learner_forest,
                                                 &comp__learner_boosted};
_Static_assert(sizeof attackers / sizeof *attackers == COMP__ATTACKERS, "a row for each");

const comp__learner *comp__attacker_at(size_t index) {
  return index < COMP__ATTACKERS ? attackers[index] : NULL;
}

const comp__learner *comp__attacker_find(const char *name) {
  for (size_t i = 0; i < COMP__ATTACKERS; i++)
    if (strcmp(attackers[i]->name, name) == 0) return attackers[i];
  return NULL;
}

/* ---- Area under the curve ---- */

typedef struct ranked {
  float score;
  size_t place;
} ranked;

static int by_score(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? -1 : 1;
  return x->place < y->place ? -1 : 1;
}

comp_status comp__auroc(double *value, double *error, const float *scores, const bool *positive, size_t n) {
  ranked *order;
  double sums[2] = {0}, squares[2] = {0};
  size_t counts[2] = {0}, below[2] = {0};
  *value = *error = NAN;
  for (size_t i = 0; i < n; i++) counts[positive[i]]++;
  if (!counts[0] || !counts[1]) return COMP_OK;
  comp_status status = comp__alloc(&order, n, sizeof *order);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) order[i] = (ranked){scores[i], i};
  qsort(order, n, sizeof *order, by_score);
  for (size_t begin = 0, end; begin < n; begin = end) {
    size_t equal[2] = {0};
    for (end = begin; end < n && order[end].score == order[begin].score; end++) equal[positive[order[end].place]]++;
    for (int c = 0; c < 2; c++) { /* the share of the other class that each of these is above */
      const double share = ((double)below[!c] + 0.5 * (double)equal[!c]) / (double)counts[!c];
      sums[c] += share * (double)equal[c];
      squares[c] += share * share * (double)equal[c];
    }
    for (int c = 0; c < 2; c++) below[c] += equal[c];
  }
  comp__free(order);
  *value = sums[1] / (double)counts[1];
  double variance = 0;
  for (int c = 0; c < 2; c++) {
    const double m = (double)counts[c], mean = sums[c] / m;
    if (counts[c] > 1) variance += (squares[c] / m - mean * mean) / (m - 1);
  }
  *error = sqrt(fmax(variance, 0));
  return COMP_OK;
}

/* ---- What is measured ---- */

static double normal_tail(double z) {
  return 0.5 * erfc(z / sqrt(2));
}

/* How many standard errors make an interval that misses with this probability on either side. */
static double errors_for(double tail) {
  double low = 0, high = 10;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    if (normal_tail(middle) > tail)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static comp__measured with_error(double value, double error, double z) {
  return (comp__measured){value, fmax(value - z * error, 0), fmin(value + z * error, 1)};
}

/* Wilson's interval of a share of n. */
static comp__measured share_of(double share, double n, double z) {
  const double scale = 1 / (1 + z * z / n), centre = scale * (share + z * z / (2 * n)),
               half = scale * z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return (comp__measured){share, fmin(fmax(centre - half, 0), share), fmax(fmin(centre + half, 1), share)};
}

static float score_at(const float *scores, size_t i, size_t level, size_t n_levels) {
  if (n_levels > 2) return scores[i * n_levels + level];
  return level == 1 ? scores[i] : 1.0f - scores[i];
}

/* The level with the largest score, over weights[n_levels]. */
static size_t choose(const float *scores, size_t i, size_t n_levels, const double *weights) {
  size_t best = 0;
  for (size_t k = 1; k < n_levels; k++)
    if ((double)score_at(scores, i, k, n_levels) * weights[k] >
        (double)score_at(scores, i, best, n_levels) * weights[best])
      best = k;
  return best;
}

static comp_status mean_auroc(double *value, double *error, const comp__examples *test, const float *scores) {
  const size_t levels = test->n_levels;
  bool *positive = NULL;
  float *own = NULL;
  double sum = 0, squares = 0, used = 0;
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&positive, test->n, sizeof *positive));
  COMP__TRY(comp__alloc(&own, test->n, sizeof *own));
  for (size_t k = levels == 2 ? 1 : 0; k < levels; k++) {
    double one, its;
    for (size_t i = 0; i < test->n; i++) {
      positive[i] = (size_t)test->codes[test->rows[i]] == k;
      own[i] = score_at(scores, i, k, levels);
    }
    COMP__TRY(comp__auroc(&one, &its, own, positive, test->n));
    if (isnan(one)) continue;
    sum += one;
    squares += its * its;
    used++;
  }
  *value = sum / used;
  *error = sqrt(squares) / used;
done:
  comp__free(own);
  comp__free(positive);
  return status;
}

static comp_status measure(comp__attack *out, const comp__examples *train, const comp__examples *test,
                           const float *scores, double z) {
  const size_t levels = test->n_levels;
  double *weights = NULL, *even = NULL, *found = NULL, *counts = NULL;
  size_t hits = 0;
  comp_status status;
  COMP__TRY(comp__calloc(&weights, levels, sizeof *weights));
  COMP__TRY(comp__alloc(&even, levels, sizeof *even));
  COMP__TRY(comp__calloc(&found, levels, sizeof *found));
  COMP__TRY(comp__calloc(&counts, levels, sizeof *counts));
  for (size_t i = 0; i < train->n; i++) weights[train->codes[train->rows[i]]]++;
  for (size_t k = 0; k < levels; k++) {
    weights[k] = weights[k] > 0 ? 1 / weights[k] : 0;
    even[k] = 1;
  }
  for (size_t i = 0; i < test->n; i++) {
    const size_t truth = (size_t)test->codes[test->rows[i]];
    hits += choose(scores, i, levels, even) == truth;
    counts[truth]++;
    found[truth] += choose(scores, i, levels, weights) == truth;
  }
  double balanced = 0, variance = 0, used = 0;
  for (size_t k = 0; k < levels; k++) {
    if (!(counts[k] > 0)) continue;
    const double share = found[k] / counts[k];
    balanced += share;
    variance += share * (1 - share) / counts[k];
    used++;
  }
  double auroc, error;
  COMP__TRY(mean_auroc(&auroc, &error, test, scores));
  out->accuracy = share_of((double)hits / (double)test->n, (double)test->n, z);
  out->balanced = with_error(balanced / used, sqrt(variance) / used, z);
  out->auroc = with_error(auroc, error, z);
done:
  comp__free(weights);
  comp__free(even);
  comp__free(found);
  comp__free(counts);
  return status;
}

/* ---- Settings ---- */

enum { FOLDS = 3, MOST_ROWS = 6000 };

static comp_status fit_and_score(float **scores, comp_context *context, const comp__learner *a,
                                 const comp__examples *train, const comp__examples *test, size_t setting,
                                 uint64_t seed) {
  void *model = NULL;
  comp_status status = comp__alloc(scores, test->n * comp__problems(test->n_levels), sizeof **scores);
  if (status == COMP_OK) status = a->fit(&model, context, train, setting, seed);
  if (status == COMP_OK) status = a->score(*scores, context, model, test);
  if (model) a->free(model);
  return status;
}

/* The mean area under the curve of one fold. */
static comp_status try_fold(double *out, comp_context *context, const comp__learner *a, const comp__examples *all,
                            const size_t *folds, size_t fold, size_t setting, uint64_t seed) {
  size_t *rows = NULL;
  float *scores = NULL;
  comp__examples train = *all, test = *all;
  double error;
  comp_status status;
  COMP__TRY(comp__alloc(&rows, all->n, sizeof *rows));
  train.rows = rows;
  train.n = 0;
  for (size_t i = 0; i < all->n; i++)
    if (folds[i] != fold) rows[train.n++] = all->rows[i];
  test.rows = rows + train.n;
  test.n = 0;
  for (size_t i = 0; i < all->n; i++)
    if (folds[i] == fold) rows[train.n + test.n++] = all->rows[i];
  COMP__TRY(fit_and_score(&scores, context, a, &train, &test, setting, seed));
  COMP__TRY(mean_auroc(out, &error, &test, scores));
done:
  comp__free(scores);
  comp__free(rows);
  return status;
}

/* The setting that predicts best within the training samples, of which many are enough. */
static comp_status choose_setting(size_t *out, comp_context *context, const comp__learner *a,
                                  const comp__examples *train, uint64_t seed) {
  size_t *folds = NULL, *strata = NULL, *rows = NULL;
  comp__examples some = *train;
  double best = -1;
  comp_status status = COMP_OK;
  *out = 0;
  const size_t step = (train->n + MOST_ROWS - 1) / MOST_ROWS;
  COMP__TRY(comp__alloc(&rows, train->n, sizeof *rows));
  some.rows = rows;
  some.n = 0;
  for (size_t i = 0; i < train->n; i += step) rows[some.n++] = train->rows[i];
  COMP__TRY(comp__alloc(&folds, some.n, sizeof *folds));
  COMP__TRY(comp__alloc(&strata, some.n, sizeof *strata));
  for (size_t i = 0; i < some.n; i++) strata[i] = (size_t)some.codes[rows[i]];
  COMP__TRY(comp__folds(folds, strata, some.n, some.n_levels, FOLDS, seed));
  for (size_t setting = 0; a->settings[setting]; setting++) {
    double sum = 0;
    for (size_t fold = 0; fold < FOLDS; fold++) {
      double one;
      COMP__TRY(try_fold(&one, context, a, &some, folds, fold, setting, seed));
      sum += isnan(one) ? 0.5 : one;
    }
    if (sum <= best) continue;
    best = sum;
    *out = setting;
  }
done:
  comp__free(strata);
  comp__free(folds);
  comp__free(rows);
  return status;
}

comp_status comp__attack_run(comp__attack *out, comp_context *context, const comp__learner *attacker,
                             const comp__examples *train, const comp__examples *test, size_t among, uint64_t seed) {
  float *scores = NULL;
  size_t setting;
  comp_status status;
  *out = (comp__attack){.attacker = attacker};
  COMP__TRY(choose_setting(&setting, context, attacker, train, seed));
  out->setting = attacker->settings[setting];
  COMP__TRY(fit_and_score(&scores, context, attacker, train, test, setting, seed));
  COMP__TRY(measure(out, train, test, scores, errors_for(0.025 / (double)among)));
done:
  comp__free(scores);
  return status;
}
