/*
 * counterparts.h: which samples of different conditions are alike, before anything is trained.
 *
 * Conditions differ by what they do to samples and by what they are made of. Their means mix both: where one condition
 * has more of a population, its mean lies nearer to it, and taking the means off moves like populations away from each
 * other. So conditions are laid on each other by pairs of samples that are alike, the mutual nearest neighbours, first
 * as a whole, then population by population (docs/maths.md).
 */
#ifndef COMP_TRAIN_COUNTERPARTS_H
#define COMP_TRAIN_COUNTERPARTS_H

#include "train/members.h"

typedef struct comp__counterparts {
  size_t members, conditions, features, dims;
  float *centre;  /* [conditions, features]: samples that match overlap when it is subtracted */
  float *axes;    /* [dims, features], orthonormal rows */
  float *places;  /* [members, dims]: less the centre, along the axes */
  float *matched; /* [members, dims]: the same, after each population moved to its partners */
} comp__counterparts;

/* It should be released via comp__counterparts_release(). A condition that matches no other has its mean as centre. */
comp_status comp__counterparts_find(comp__counterparts *out, comp_context *context, comp__members *members);
void comp__counterparts_release(comp__counterparts *counterparts);

/* The places [n, dims] of other rows [n, features], which are changed. codes [n] are their conditions; the place of a
 * row without one (-1) has no meaning. */
comp_status comp__counterparts_place(float *out, comp_context *context, const comp__counterparts *counterparts,
                                     float *rows, const int32_t *codes, size_t n);

#endif
