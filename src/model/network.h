/*
 * network.h: the one network behind all models: encoder, posterior, decoder, likelihood, forward and backward.
 *
 *   hidden layer = dense (no bias: the normalisation takes it out again) -> BatchNorm -> LeakyReLU
 *   encoder      [x, onehot(c)] -> hidden layers -> mean of z, and the scale when it is learned
 *   decoder      [z, onehot(c)] -> hidden layers -> output: what the likelihood makes the distribution of x from
 *   target       z -> one logit a class, where a target is to be predicted from z (target.h); only training needs it
 *
 * A centred model reads x - m and adds m, the centre of the condition, to the output.
 *
 * A one-hot condition is never built: the weight rows of the conditions are added to the samples that have them. Nor is
 * a centred input x - m, which may be sparse no more: (x - m) w is x w less a row m w of the condition.
 */
#ifndef COMP_MODEL_NETWORK_H
#define COMP_MODEL_NETWORK_H

#include "comp/matrix.h"
#include "core/alloc.h"
#include "model/likelihood.h"
#include "model/options.h"
#include "model/params.h"

/* A dense layer: weight [in (+ conditions), out], bias [out] or none. */
typedef struct comp__dense {
  size_t in, out;
  size_t conditions; /* the weight has this many rows, one a condition, behind those of the inputs; 0: none */
  bool has_bias;
  size_t weight, bias; /* offsets into the parameters */
} comp__dense;

/* A hidden layer. */
typedef struct comp__hidden {
  comp__dense dense;
  size_t gamma, beta;               /* offsets into the parameters */
  size_t running_mean, running_var; /* offsets into the buffers */
} comp__hidden;

typedef struct comp__network {
  comp__model_options options;
  const comp__likelihood *likelihood;
  size_t features, conditions;
  size_t added;         /* the last conditions, which were added to a trained model (map/extend.h) */
  comp__layout params;  /* trained */
  comp__layout buffers; /* running statistics, and means of conditions */
  comp__hidden encoder[COMP_MAX_HIDDEN], decoder[COMP_MAX_HIDDEN];
  size_t centre; /* offset into the buffers: the mean of what is read of each condition [conditions, features]; only of
                  * a centred model */
  comp__dense mean, scale;  /* posterior; scale only when it is learned */
  comp__dense output;       /* one number a feature */
  comp__dense sample_layer; /* one number a sample, where the likelihood has such a layer */
  comp__dense target;       /* one logit a class, where there is a target */
  size_t feature_vector;    /* offset into the parameters [features], where the likelihood has such a vector */
} comp__network;

/* Lays out all tensors. It should be released via comp__network_release(). */
comp_status comp__network_init(comp__network *network, const comp__model_options *options, size_t features,
                               size_t conditions);
void comp__network_release(comp__network *network);

/* The flat vectors of a network in training. */
typedef struct comp__state {
  float *params, *grads; /* [params.size] */
  float *buffers;        /* [buffers.size] */
  uint16_t *half;        /* [params.size] params in bf16, or NULL in f32 */
} comp__state;

/* Samples, sorted by condition. */
typedef struct comp__batch {
  size_t rows;
  const comp_matrix *x;       /* [rows, features], dense or CSR: what the likelihood is of */
  const comp_matrix *input;   /* what the encoder reads: x itself, or normalised counts; of the same kind */
  const comp_matrix *input_t; /* its transpose, when it is CSR and gradients are wanted */
  const size_t *start;        /* [conditions + 1]: block k holds rows start[k] .. start[k + 1] - 1 */
  const uint64_t *ids;        /* [rows]: what the noise of a sample depends on */
  const float *library;       /* [rows]: total counts; only of counts */
  const float *weight;        /* [rows]: how much samples count in the penalty, 0 .. 1; NULL: all 1 */
  const int32_t *target;      /* [rows]: class of each sample, -1: not known; NULL: of none. Only with a target */
  const size_t *take;         /* [rows]: row i of the batch is row take[i] of x; NULL: x holds just the batch, in order.
                               * Dense x alone, and input is x */
} comp__batch;

/* Row i of a dense batch, as the encoder reads it and the likelihood is of. */
static inline const float *comp__batch_row(const comp__batch *batch, const comp_matrix *x, size_t i) {
  return comp_matrix_const_values(x) + (batch->take ? batch->take[i] : i) * comp_matrix_cols(x);
}

typedef struct comp__losses {
  double total, likelihood, kl, penalty, target; /* means over the batch; likelihood is the negative log-likelihood;
                                                  * penalty and target without their weights */
} comp__losses;

/* Where a step spends its time. */
typedef enum comp__phase {
  COMP__PHASE_GATHER,
  COMP__PHASE_PRODUCT,
  COMP__PHASE_SPARSE,
  COMP__PHASE_NORM,
  COMP__PHASE_LIKELIHOOD,
  COMP__PHASE_LATENT,
  COMP__PHASE_PENALTY,
  COMP__PHASE_ADAM,
  COMP__PHASES
} comp__phase;

const char *comp__phase_name(comp__phase phase);

/* Everything that a step writes, for batches of at most `rows`. It should be freed via comp__work_free(). */
typedef struct comp__work comp__work;
comp_status comp__work_new(comp__work **out, const comp__network *network, size_t rows, bool bf16, bool training);
void comp__work_free(comp__work *work);

/* A batch in shards (shards.h). */
typedef struct comp__shards comp__shards;

/* Seconds spent by phase since the work was made; the caller may add its own. */
double *comp__work_seconds(comp__work *work);

/* The penalty at one step. Both may change while training, and are given apart from the options for that reason. */
typedef struct comp__pull {
  double gamma; /* its weight */
  double blur;  /* CoMP: standard deviation of the noise that z and all posteriors get in the penalty; 0: none */
} comp__pull;

/* Loss and gradients of one batch: state->grads is written, running statistics are updated. */
comp_status comp__network_step(comp__losses *out, comp_context *context, const comp__network *network,
                               const comp__state *state, const comp__batch *batch, comp__work *work, comp__pull pull,
                               uint64_t seed, uint64_t step);

/* Only the running statistics, which move towards those of the batch by `momentum`: 1 replaces them. */
comp_status comp__network_statistics(comp_context *context, const comp__network *network, const comp__state *state,
                                     const comp__batch *batch, comp__work *work, float momentum, uint64_t seed,
                                     uint64_t step);

/* Loss with the running statistics, no gradients. */
comp_status comp__network_evaluate(comp__losses *out, comp_context *context, const comp__network *network,
                                   const comp__state *state, const comp__batch *batch, comp__work *work,
                                   comp__pull pull, uint64_t seed, uint64_t step);

/* Posterior means (and scales, unless NULL) [rows, latent] with the running statistics. */
comp_status comp__network_encode(comp_context *context, const comp__network *network, const comp__state *state,
                                 const comp__batch *batch, comp__work *work, float *mean, float *scale);

/* Expected features [rows, features] of z [rows, latent] under the conditions of batch->start. */
comp_status comp__network_decode(comp_context *context, const comp__network *network, const comp__state *state,
                                 const comp__batch *batch, comp__work *work, const float *z, float *out);

#endif
