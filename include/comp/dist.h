/*
 * dist.h: processes that were started together, by mpirun or srun: their number and that of this one.
 *
 * comp_train() with the option over-ranks trains one model with all of them: each works on its part of every batch, and
 * each ends with the same model, of the same bytes as one process with the same number of shards. Who calls it writes
 * the model once, on rank 0.
 *
 * comp_context_join_ranks() does the same for embeddings, predictions and the search for neighbours: calls with a
 * context that was joined share their rows out. Every process must then make the same calls with the same data. The
 * functions that write a file (comp_embed_file(), comp_counterfactual_file()) do so on rank 0.
 */
#ifndef COMP_DIST_H
#define COMP_DIST_H

#include <stddef.h>

#include <stdbool.h>

#include "comp/context.h"
#include "comp/export.h"

/* How many processes the launcher started together, at least 1; which of them this is, from 0. Read from the
 * environment: MPI need not be installed. */
COMP_API size_t comp_rank_count(void);
COMP_API size_t comp_rank(void);

/* Joins all processes that a launcher started together; does nothing for one alone. `work` is a text that must be the
 * same on all of them, such as the command line (may be NULL). Embeddings are then complete on every rank, the results
 * of comp_counterfactual() on rank 0 alone. A failure here, or in a later call, is one for all:
 * comp_context_tell_ranks() says so to the others, whose calls end with COMP_ERR_INTERRUPTED and this message. */
COMP_API comp_status comp_context_join_ranks(comp_context *context, const char *work);

/* Whether the context was joined to others (may be NULL); if so, the others get the message. */
COMP_API bool comp_context_tell_ranks(comp_context *context, const char *message);

#endif
