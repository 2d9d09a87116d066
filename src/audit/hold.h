/* hold.h: samples that are kept out of training, to measure on. */
#ifndef COMP_AUDIT_HOLD_H
#define COMP_AUDIT_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

/* The column of obs that marks samples which a model was not trained on, unless another one is named. */
#define COMP__UNSEEN "comp_unseen"

/* held[n]: a random share of the samples with a code (0 .. n_levels - 1; -1: none, which is never held), with the same
 * mix of codes. Of a share of at most one half, each code with two samples keeps one that is not held. */
comp_status comp__hold_out(bool *held, const int32_t *codes, size_t n, size_t n_levels, double share, uint64_t seed);

#endif
