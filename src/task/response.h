/* response.h: the change of a population that was never seen changed, from those that were. Pure arithmetic; borrow.h
 * has the formulas. */
#ifndef COMP_TASK_RESPONSE_H
#define COMP_TASK_RESPONSE_H

#include <stddef.h>

#include "comp/status.h"

enum { COMP__RESPONSE_TERMS = 4, COMP__RESPONSE_MOST = 24 };

typedef struct comp__response {
  size_t populations, features;
  double *expression;                 /* [populations, features] */
  double *change;                     /* [populations, features] */
  double *fold;                       /* [populations, features]: logarithms of the factors by which levels change */
  double *apart;                      /* [populations, populations]: squared distances of expressions */
  double terms[COMP__RESPONSE_TERMS]; /* b1 .. b4 */
  size_t fitted_on;                   /* populations that could be predicted from others; 0: terms are 1, 0, 0, 0 */
} comp__response;

/* Room for so many populations, all 0. It should be released via comp__response_release(), also when this fails. */
comp_status comp__response_init(comp__response *response, size_t populations, size_t features);
void comp__response_release(comp__response *response);

/* Fills `fold` and `apart`, once expression and change are there. */
void comp__response_measure(comp__response *response);

/* The squared distance to the nearest population. */
double comp__response_nearest(const comp__response *response, const float *expression);

/* Finds the terms: each population from those at a squared distance of at least `radius`. */
comp_status comp__response_fit(comp__response *response, double radius);

/* change [features] of a sample of this expression [features]. room: [(COMP__RESPONSE_TERMS + 1) * features]. */
void comp__response_predict(const comp__response *response, float *change, const float *expression, double *room);

#endif
