/* utility.h: what predictions of a target are worth, and how differently they treat groups. */
#ifndef COMP_AUDIT_UTILITY_H
#define COMP_AUDIT_UTILITY_H

#include "classify/learner.h"

/* The largest difference between two groups, and two standard errors of it. */
typedef struct comp__gap {
  double value, error;
} comp__gap;

typedef struct comp__utility {
  const char *classifier; /* in words */
  size_t samples;
  double accuracy, low, high; /* with a 95 % interval */
  double balanced, majority;
  comp__gap parity, odds, opportunity;
  double accuracy_gap; /* the largest difference between two groups */
} comp__utility;

/* The true and the predicted values of samples, and their groups: [n] each. */
typedef struct comp__judged {
  const int32_t *predicted, *truth, *groups;
  size_t n, n_levels, n_groups;
  size_t favoured; /* the level whose true positive rates are compared */
} comp__judged;

comp_status comp__utility_measure(comp__utility *out, const comp__judged *judged);

#endif
