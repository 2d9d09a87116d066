/* classifier.c: the table of classifiers, and one trained one: levels from the scores of its binary problems. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "classify/examples.h"
#include "classify/learner.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"

static const comp__learner *const learners[] = {
    [COMP_CLASSIFIER_LOGISTIC] = &comp__learner_logistic,
    [COMP_CLASSIFIER_FOREST] = &comp__learner_forest,
    [COMP_CLASSIFIER_BOOSTED] = &comp__learner_boosted,
};
static_assert(sizeof learners / sizeof *learners == COMP_CLASSIFIER_KINDS, "a row for each kind");

struct comp_classifier {
  const comp__learner *learner;
  void *model;
  size_t features, n_levels;
};

const comp__learner *comp__learner_of(comp_classifier_kind kind) {
  return (size_t)kind < COMP_CLASSIFIER_KINDS ? learners[kind] : NULL;
}

const char *comp_classifier_kind_name(comp_classifier_kind kind) {
  const comp__learner *learner = comp__learner_of(kind);
  return learner ? learner->name : NULL;
}
const char *comp_classifier_kind_title(comp_classifier_kind kind) {
  const comp__learner *learner = comp__learner_of(kind);
  return learner ? learner->title : NULL;
}
const char *comp_classifier_kind_help(comp_classifier_kind kind) {
  const comp__learner *learner = comp__learner_of(kind);
  return learner ? learner->help : NULL;
}
const char *comp_classifier_kind_module(comp_classifier_kind kind) {
  const comp__learner *learner = comp__learner_of(kind);
  return learner ? learner->module : NULL;
}

/* "logistic, forest and boosted" */
static void list_names(char *text, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < COMP_CLASSIFIER_KINDS && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s",
                             i == 0                           ? ""
                             : i == COMP_CLASSIFIER_KINDS - 1 ? " and "
                                                              : ", ",
                             learners[i]->name);
}

comp_status comp_classifier_kind_parse(comp_classifier_kind *out, const char *name) {
  COMP__NEED(out, name);
  char names[256];
  for (size_t i = 0; i < COMP_CLASSIFIER_KINDS; i++)
    if (strcmp(learners[i]->name, name) == 0) {
      *out = (comp_classifier_kind)i;
      return COMP_OK;
    }
  list_names(names, sizeof names);
  return comp__error(COMP_ERR_ARGUMENT, "there is no classifier '%s'; there are %s", name, names);
}

/* Scores of binary problems become probabilities, in place of out[n, n_levels]. One of several levels is right: the
 * scores are shares of their sum, as liblinear and scikit-learn have it. */
static void to_probabilities(float *out, const float *scores, size_t n, size_t n_levels) {
  const size_t problems = comp__problems(n_levels);
  for (size_t i = 0; i < n; i++) {
    float *p = out + i * n_levels;
    const float *s = scores + i * problems;
    if (n_levels == 2) {
      p[1] = s[0];
      p[0] = 1.0f - s[0];
      continue;
    }
    double sum = 0.0;
    for (size_t b = 0; b < problems; b++) sum += (double)s[b];
    for (size_t b = 0; b < problems; b++) p[b] = (float)(sum > 0.0 ? (double)s[b] / sum : 1.0 / (double)n_levels);
  }
}

static int32_t most_probable(const float *scores, size_t n_levels) {
  if (n_levels == 2) return scores[0] > 0.5f;
  size_t best = 0;
  for (size_t b = 1; b < n_levels; b++)
    if (scores[b] > scores[best]) best = b;
  return (int32_t)best;
}

static comp_status predict(int32_t *predicted, comp_context *context, const comp__learner *learner, const void *model,
                           const comp__examples *rows) {
  const size_t problems = comp__problems(rows->n_levels);
  float *scores;
  comp_status status = comp__alloc(&scores, rows->n * problems, sizeof *scores);
  if (status != COMP_OK) return status;
  status = learner->score(scores, context, model, rows);
  for (size_t i = 0; i < rows->n && status == COMP_OK; i++)
    predicted[i] = most_probable(scores + i * problems, rows->n_levels);
  comp__free(scores);
  return status;
}

comp_status comp__fit_predict(int32_t *predicted, comp_context *context, comp_classifier_kind kind,
                              const comp__examples *train, const comp__examples *test, uint64_t seed) {
  const comp__learner *learner = learners[kind];
  void *model;
  comp_status status = learner->fit(&model, context, train, 0, seed);
  if (status != COMP_OK) return status;
  status = predict(predicted, context, learner, model, test);
  learner->free(model);
  return status;
}

/* ---- the door ---- */

comp_status comp_classifier_fit(comp_classifier **out, comp_context *context, comp_classifier_kind kind,
                                const comp_matrix *z, const int32_t *codes, size_t n_levels, uint64_t seed) {
  COMP__NEED_OUT(out, context, z, codes);
  *out = NULL;
  comp__labelled data = {0};
  comp_classifier *classifier = NULL;
  comp_status status = comp__labelled_init(&data, context, z, codes, n_levels);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__calloc(&classifier, 1, sizeof *classifier));
  classifier->learner = learners[kind];
  classifier->features = data.all.features;
  classifier->n_levels = n_levels;
  COMP__TRY(classifier->learner->fit(&classifier->model, context, &data.all, 0, seed));
  *out = classifier;
done:
  comp__labelled_release(&data);
  if (status != COMP_OK) comp_classifier_free(classifier);
  return status;
}

void comp_classifier_free(comp_classifier *classifier) {
  if (!classifier) return;
  if (classifier->model) classifier->learner->free(classifier->model);
  comp__free(classifier);
}

/* Scores [rows, problems] of all rows. They should be freed via comp__free(). */
static comp_status score_all(float **out, comp_context *context, const comp_classifier *classifier,
                             const comp_matrix *z) {
  comp__labelled data = {0};
  float *scores = NULL;
  if (z->cols != classifier->features)
    return comp__error(COMP_ERR_ARGUMENT, "the classifier was trained on %zu features, and these rows have %zu",
                       classifier->features, z->cols);
  comp_status status = comp__labelled_init_rows(&data, context, z, classifier->n_levels);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__alloc(&scores, z->rows * comp__problems(classifier->n_levels), sizeof *scores));
  COMP__TRY(classifier->learner->score(scores, context, classifier->model, &data.all));
  *out = scores;
done:
  comp__labelled_release(&data);
  if (status != COMP_OK) comp__free(scores);
  return status;
}

comp_status comp_classifier_probabilities(float *out, comp_context *context, const comp_classifier *classifier,
                                          const comp_matrix *z) {
  COMP__NEED(out, context, classifier, z);
  float *scores;
  comp_status status = score_all(&scores, context, classifier, z);
  if (status != COMP_OK) return status;
  to_probabilities(out, scores, z->rows, classifier->n_levels);
  comp__free(scores);
  return COMP_OK;
}

comp_status comp_classifier_predict(int32_t *out, comp_context *context, const comp_classifier *classifier,
                                    const comp_matrix *z) {
  COMP__NEED(out, context, classifier, z);
  float *scores;
  comp_status status = score_all(&scores, context, classifier, z);
  if (status != COMP_OK) return status;
  const size_t problems = comp__problems(classifier->n_levels);
  for (size_t i = 0; i < z->rows; i++) out[i] = most_probable(scores + i * problems, classifier->n_levels);
  comp__free(scores);
  return COMP_OK;
}
