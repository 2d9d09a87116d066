/* match.h: which populations of two conditions belong together, by their expression. Pure arithmetic. */
#ifndef COMP_TASK_MATCH_H
#define COMP_TASK_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"

enum { COMP__MATCH_MOST = 24 };

/* Means of populations. */
typedef struct comp__populations {
  size_t count, features;
  double *mean; /* [count, features] */
  size_t sizes[COMP__MATCH_MOST];
} comp__populations;

/* What is found for the populations of the first condition. */
typedef struct comp__matching {
  bool matched[COMP__MATCH_MOST]; /* a population of the second condition belongs to it */
  double *change;                 /* [count, features], of those that are matched */
} comp__matching;

/*
 * Each population v of `to` belongs to the population u of `from` whose expected expression C_u + E_u is nearest to its
 * own, S_v. The change D_u is the mean of the S_v that belong to u (by size), minus C_u. The expected change E_u is the
 * mean of D over the populations near u, by exp(-d / d_min), d the squared distance of expressions, d_min that of the
 * nearest other one; itself at d_min / 2. E starts as the difference of the means over populations; 8 rounds, or until
 * nothing changes.
 *
 * The result should be released via comp__matching_release(), also when this fails.
 */
comp_status comp__match(comp__matching *out, const comp__populations *from, const comp__populations *to);
void comp__matching_release(comp__matching *matching);

#endif
