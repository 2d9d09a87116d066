/* unshared.h: which samples belong to populations that other conditions lack. Training does not pull these. */
#ifndef COMP_DIAGNOSE_UNSHARED_H
#define COMP_DIAGNOSE_UNSHARED_H

#include "diagnose/latent.h"

/* Zero-initialise to start. */
typedef struct comp__unshared {
  size_t *alone;    /* [conditions]: samples without counterpart */
  size_t *by_label; /* [labels, conditions]: those that have the label; NULL: there are no labels */
  bool *is;         /* [samples] */
  size_t count;
} comp__unshared;

/* Measured in z, as training does it (neighbors/overlap.h). Labels are codes, -1 where they are not known; NULL: none.
 * It should be released via comp__unshared_release(). */
comp_status comp__unshared_find(comp__unshared *out, comp_context *context, const comp__latent *latent,
                                const size_t *counts, const int32_t *labels, size_t n_labels);
void comp__unshared_release(comp__unshared *unshared);

#endif
