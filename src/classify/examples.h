/* examples.h: checked and dense data for classifiers, and its division into parts. */
#ifndef COMP_CLASSIFY_EXAMPLES_H
#define COMP_CLASSIFY_EXAMPLES_H

#include "classify/learner.h"

/* The samples whose level is known. */
typedef struct comp__labelled {
  comp__examples all;
  comp_matrix *dense; /* when the data was not: what all.x points into */
  size_t *rows;       /* [all.n], ascending */
  size_t *counts;     /* [n_levels] */
  size_t n_used;      /* levels with samples */
} comp__labelled;

/* Checks codes and values, as comp/classify.h says. It should be released via comp__labelled_release(). */
comp_status comp__labelled_init(comp__labelled *out, comp_context *context, const comp_matrix *z, const int32_t *codes,
                                size_t n_levels);

/* All rows, without levels: for prediction. It should be released via comp__labelled_release(). */
comp_status comp__labelled_init_rows(comp__labelled *out, comp_context *context, const comp_matrix *z, size_t n_levels);
void comp__labelled_release(comp__labelled *labelled);

/* folds[n] for the rows of `all`: 0 .. n_folds - 1, each with nearly the same number of every stratum. strata[n] is 0
 * .. n_strata - 1. */
comp_status comp__folds(size_t *folds, const size_t *strata, size_t n, size_t n_strata, size_t n_folds, uint64_t seed);

/* test[n]: whether a row is in the held-out part, of which every stratum has its share. */
comp_status comp__split(bool *test, const size_t *strata, size_t n, size_t n_strata, double share, uint64_t seed);

#endif
