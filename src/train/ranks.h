/* ranks.h: a training that several processes share. Each has the same weights and optimiser, and works on its
 * shards of every batch; what they exchange is said in model/shards.h. */
#ifndef COMP_TRAIN_RANKS_H
#define COMP_TRAIN_RANKS_H

#include "train/training.h"

/* With options->over_ranks: joins the processes that a launcher started together (t->comm), and decides on the number
 * of shards where the options leave it open. */
comp_status comp__ranks_join(comp__training *t, comp__train_options *options);

/* Cuts batches as t->options say: t->shards. */
comp_status comp__ranks_cut(comp__training *t);

/* Before anything is read: an error on all ranks unless they have the same version, kind of CPU, options, conditions of
 * samples and, of a stream, the same file, as far as comp__stream_digest() tells. From then on they share the reading
 * of the stream (NULL: each has all data in memory). */
comp_status comp__ranks_compare_start(comp__training *t, const comp_groups *groups, comp__stream *stream);

/* An error on all ranks unless they have the same version, kernels, data (by its digest), options and checkpoint. */
comp_status comp__ranks_compare(comp__training *t, uint64_t digest);

/* After a step: t->stopped on all ranks if it is on one. It is asked after each epoch, and after every step when the
 * time is limited. After an epoch ranks also compare their weights, which each computes for itself. */
comp_status comp__ranks_agree(comp__training *t, bool epoch_ended);

#endif
