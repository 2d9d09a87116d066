/*
 * shards.h: a step on a batch that is cut into a fixed number of shards, which one or several ranks share out.
 *
 * A batch is sorted by condition; a shard is a run of neighbouring rows of it, and may lack conditions. Each shard has
 * its own products and gradients. What couples samples is that of the whole batch: the statistics of the normalisation,
 * the bound on lengths and the penalty. Sums over rows are made in each shard and then added over shards in a fixed
 * order. So all bytes depend on the number of shards, and neither on the ranks that share them nor on their threads.
 * One shard is the whole batch, and gives the bytes of comp__network_step() but for the normalisation's sums.
 */
#ifndef COMP_MODEL_SHARDS_H
#define COMP_MODEL_SHARDS_H

#include "dist/comm.h"
#include "model/work.h"

/* As many as ranks at most (dist/comm.h). */
enum { COMP__MOST_SHARDS = COMP__MOST_RANKS };

/* Losses that are sums over rows: likelihood, KL, target. */
enum { COMP__SUMS = 3 };

struct comp__shards {
  comp__comm *comm;
  size_t total, first, count;           /* shards of a batch; those of this rank */
  comp__work *work[COMP__MOST_SHARDS];  /* [count] */
  comp__state state[COMP__MOST_SHARDS]; /* [count] with gradients of their own */
  float *grads[COMP__MOST_SHARDS];      /* [count] */
  comp__workspace workspace;            /* of all that follows */
  float *moments;                       /* [total, 2, widest layer] of each shard */
  float *mean, *variance;               /* [widest layer] of all shards */
  float *values, *means, *scales;       /* [rows, widest]: what the penalty reads of the whole batch */
  float *d_values, *d_means, *d_scales; /* its gradients */
  float *lengths, *spare_lengths;       /* [rows] */
  double *sums;                         /* [total, COMP__SUMS] */
  float *buffers;                       /* [buffers.size]: as they were before the step */
  float *tree;                          /* scratch of comp__tree_sum() */
  void *penalty_scratch;
  /* Of the current step: */
  const comp__batch *all;               /* the whole batch, without its data */
  size_t begin[COMP__MOST_SHARDS + 1];  /* first row of each shard */
  size_t of_rank[COMP__MOST_RANKS + 1]; /* first row of each rank */
};

/* For batches of at most `rows` rows and at least `total`. `total` is a power of two; the number of ranks (comm NULL:
 * one) divides it. Time is counted on the clock of `clock`. It should be freed via comp__shards_free(). */
comp_status comp__shards_new(comp__shards **out, comp__comm *comm, const comp__network *network, size_t total,
                             size_t rows, comp__work *clock);
void comp__shards_free(comp__shards *shards);

/* Row of a batch with which shard s of `total` begins. */
static inline size_t comp__shard_begin(size_t rows, size_t s, size_t total) {
  return comp__comm_cut(rows, s, total);
}

/*
 * As comp__network_step(). `all` has rows, start and weight of the whole batch; batches [shards->count] are the shards
 * of this rank, with data. A call that fails, as when other ranks are gone, leaves the state as it was, but for the
 * gradients.
 */
comp_status comp__shards_step(comp__losses *out, comp_context *context, const comp__network *network,
                              const comp__state *state, const comp__batch *all, const comp__batch *batches,
                              comp__shards *shards, comp__pull pull, uint64_t seed, uint64_t step);

/* ---- For forward.c and backward.c; shard i is the i-th of this rank -------------------------------------------- */

/* Rows of the whole batch. */
size_t comp__parts_rows(const comp__parts *parts);

/* Where shard i puts two vectors of `cols` floats: mean and variance, or two sums. */
float *comp__shards_moments(comp__shards *shards, size_t i, size_t cols);

/* From the means and variances of all shards: shards->mean and bn->inv_std; updates the running statistics. */
comp_status comp__shards_statistics(comp_context *context, comp__shards *shards, const comp__batchnorm *bn);

/* From two sums of each shard to means over all rows: shards->mean and shards->variance. */
comp_status comp__shards_means(comp_context *context, comp__shards *shards, size_t cols);

/* Puts what the penalty reads of shard i in its place among the whole batch's. */
void comp__shards_put(comp__shards *shards, size_t i, const comp__penalty_input *view);

/* The penalty of the whole batch; each shard's work gets its rows of the gradients. `view` is that of any shard. */
comp_status comp__shards_penalty(double *out, comp_context *context, comp__shards *shards,
                                 const comp__model_options *options, const comp__penalty_input *view, float weight);

/* The loss of the bound on lengths, which are in each shard's work; sets its limit there. */
comp_status comp__shards_bound(double *out, comp_context *context, comp__shards *shards, double bound);

/* Where shard i puts its sums over rows; and these over all shards. */
double *comp__shards_sums(comp__shards *shards, size_t i);
comp_status comp__shards_sum(double out[COMP__SUMS], comp_context *context, comp__shards *shards);

#endif
