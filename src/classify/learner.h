/*
 * learner.h: what a classifier is made of. A classifier is one file with a row (comp__learner), its place in the table
 * of classifier.c, and a value of comp_classifier_kind.
 *
 * A learner solves binary problems: number b is level b against the rest, and of two levels there is one problem, level
 * 1 against level 0 (comp__problems()). It gives scores in 0 .. 1, from which classifier.c makes probabilities.
 */
#ifndef COMP_CLASSIFY_LEARNER_H
#define COMP_CLASSIFY_LEARNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/classify.h"

/* Some rows of a dense matrix, and their levels. */
typedef struct comp__examples {
  const float *x; /* [.., features] */
  size_t features;
  const size_t *rows; /* [n] */
  size_t n;
  const int32_t *codes; /* by row of x, none of them -1; not used in prediction */
  size_t n_levels;
} comp__examples;

typedef struct comp__learner {
  const char *name;            /* as on the command line */
  const char *title;           /* in sentences: "random forest" */
  const char *help;            /* what it is, in one line */
  const char *module;          /* that it needs (core/module.h); NULL: none */
  const char *const *settings; /* in words, the usual one first; they end with NULL */
  /* Trains, with one of the settings. `*out` should be freed via free(). At least two levels have samples. */
  comp_status (*fit)(void **out, comp_context *context, const comp__examples *train, size_t setting, uint64_t seed);
  /* scores[n, problems]. */
  comp_status (*score)(float *scores, comp_context *context, const void *model, const comp__examples *rows);
  void (*free)(void *model);
  bool many; /* whether fit() alone keeps many threads busy */
} comp__learner;

extern const comp__learner comp__learner_logistic; /* logistic.c */
extern const comp__learner comp__learner_forest;   /* forest.c */
extern const comp__learner comp__learner_boosted;  /* boosted.c */

static inline size_t comp__problems(size_t n_levels) {
  return n_levels == 2 ? 1 : n_levels;
}

/* Whether row is a positive example of a problem. */
static inline bool comp__positive(const comp__examples *e, size_t problem, size_t i) {
  const size_t level = e->n_levels == 2 ? 1 : problem;
  return (size_t)e->codes[e->rows[i]] == level;
}

/* Trains on some rows and predicts others: predicted[test->n]. */
comp_status comp__fit_predict(int32_t *predicted, comp_context *context, comp_classifier_kind kind,
                              const comp__examples *train, const comp__examples *test, uint64_t seed);

/* The row of a kind; NULL when there is none of that number. */
const comp__learner *comp__learner_of(comp_classifier_kind kind);

#endif
