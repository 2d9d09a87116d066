/*
 * told.h: what classifiers tell from a representation: the condition, which should be hidden, and other columns, which
 * should be kept. From the lists "predict" and "fairness" of what comp score --json writes (docs/formats.md).
 */
#ifndef COMP_REPORT_TOLD_H
#define COMP_REPORT_TOLD_H

#include <jansson.h>

#include "report/gather.h"

/* How well a column is found by guessing from another one alone; all NaN when one of the columns is not in the data. */
typedef struct comp__guess {
  double accuracy; /* share of right guesses */
  double balanced; /* mean over the conditions of the share found, by the guess that is best at it */
  double gap;      /* the largest difference between two conditions of the share of a value of the other column */
} comp__guess;

/* The best classifier of one column on one embedding. Texts are those of the subject's scores. */
typedef struct comp__told {
  const char *column;
  const char *classifier; /* with the highest accuracy; NULL: none was tried */
  double accuracy;
  const char *balanced_classifier; /* with the highest mean over values of the share found */
  double balanced;
  double majority; /* accuracy of always saying the commonest value */
  size_t levels, samples, tried;
  json_t *classifiers; /* their results, as the file has them; NULL: none */
} comp__told;

/* The column as told from an embedding; `classifier` NULL when there is nothing of it. */
comp__told comp__told_find(const comp__scores *scores, const char *column, const char *embedding);

/* The condition guessed from a column of the samples. */
comp_status comp__told_guess(comp__guess *out, const comp__subject *subject, const char *column);

/* What people call a classifier: "a random forest". */
const char *comp__classifier_words(const char *name);

/* The page's section: an object of "predict", "fairness" and what can be guessed without the representation; null when
 * no classifier was tried. The caller owns it. */
comp_status comp__gather_told(json_t **out, const comp__subject *subject);

#endif
