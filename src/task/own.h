/* own.h: samples decoded under their own condition, one after the other. */
#ifndef COMP_TASK_OWN_H
#define COMP_TASK_OWN_H

#include "task/aligned.h"
#include "train/options.h"

/* Gets what the decoder expects of a sample under its own condition: own [features]. Called from several threads, once
 * for each sample, in any order; `thread` is the number of the thread. */
typedef void comp__own_fn(void *arg, size_t sample, const float *own, int thread);

/* Decodes the samples that are marked in `only` [samples] and have a condition. `what` names the work for progress. Of
 * several ranks each decodes its rows: those of comp__comm_share() with units of COMP__BLOCK_ROWS. */
comp_status comp__decode_own(comp_context *context, const comp__aligned *aligned, comp_precision precision,
                             const int8_t *only, comp__own_fn *fn, void *arg, const char *what);

#endif
