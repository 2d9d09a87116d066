/*
 * attack.h: how well do attackers find an attribute? Each of them chooses its setting by cross-validation within the
 * training samples, learns on all of them, and is measured on the others.
 */
#ifndef COMP_AUDIT_ATTACK_H
#define COMP_AUDIT_ATTACK_H

#include "classify/learner.h"

extern const comp__learner comp__attacker_nearest;    /* nearest.c */
extern const comp__learner comp__attacker_perceptron; /* perceptron.c */

/* The attackers by number, the cheapest first; NULL past the last. And by name; NULL: there is none. */
const comp__learner *comp__attacker_at(size_t index);
const comp__learner *comp__attacker_find(const char *name);
enum { COMP__ATTACKERS = 5 };

/* A number with an interval that holds, for all attackers of one audit together, with 95 %. */
typedef struct comp__measured {
  double value, low, high;
} comp__measured;

typedef struct comp__attack {
  const comp__learner *attacker;
  const char *setting;
  comp__measured accuracy; /* of the most probable level */
  comp__measured balanced; /* of the level whose probability exceeds its share by most */
  comp__measured auroc;    /* of several levels: the mean of each against the rest */
} comp__attack;

/* Both parts have samples of two levels or more. `among` is how many attackers there are in all. */
comp_status comp__attack_run(comp__attack *out, comp_context *context, const comp__learner *attacker,
                             const comp__examples *train, const comp__examples *test, size_t among, uint64_t seed);

/* The share of pairs, a positive and another, that `scores` puts in the right order, and its standard error (DeLong).
 */
comp_status comp__auroc(double *value, double *error, const float *scores, const bool *positive, size_t n);

#endif
