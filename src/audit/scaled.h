/* scaled.h: standardised copies of rows, for attackers that measure distances. */
#ifndef COMP_AUDIT_SCALED_H
#define COMP_AUDIT_SCALED_H

#include "classify/learner.h"
#include "comp/matrix.h"

typedef struct comp__scaling {
  size_t features;
  float *mean, *inverse; /* [features]; a constant feature has the inverse 0 */
} comp__scaling;

/* Of these rows. It should be released via comp__scaling_release(). */
comp_status comp__scaling_init(comp__scaling *out, const comp__examples *rows);
void comp__scaling_release(comp__scaling *scaling);

/* The rows less the mean, over the standard deviation: dense [n, features]. It should be freed via comp_matrix_free().
 */
comp_status comp__scaling_apply(comp_matrix **out, const comp__scaling *scaling, const comp__examples *rows);

#endif
