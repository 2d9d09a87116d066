/*
 * dist.h: processes that were started together, by mpirun or srun: their number and that of this one.
 *
 * comp_train() with the option over-ranks trains one model with all of them: each works on its part of every batch, and
 * each ends with the same model, of the same bytes as one process with the same number of shards. Who calls it writes
 * the model once, on rank 0.
 */
#ifndef COMP_DIST_H
#define COMP_DIST_H

#include <stddef.h>

#include "comp/export.h"

/* How many processes the launcher started together, at least 1; which of them this is, from 0. Read from the
 * environment: MPI need not be installed. */
COMP_API size_t comp_rank_count(void);
COMP_API size_t comp_rank(void);

#endif
