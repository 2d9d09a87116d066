/*
 * fit.h: a new condition of a trained model whose weights do not change.
 *
 * Two vectors are fitted: the shift that the products of the encoder's first layer get for samples of the new condition
 * (its row of the weight, less the mean of a centred model times the weight), and the decoder's row for it. Batch
 * normalisation has its running statistics, as in use. With I the samples of the new condition in a batch and R samples
 * of the reference, whose posteriors are constants, the loss is
 *
 *   1/|I| sum_I [ -log p(x_i | z_i) + beta KL_i ]  +  gamma P(I, R)
 *
 * P is CoMP's penalty of two conditions, with weights (counterparts.h): a population that the other side lacks is not
 * pulled. The products of the first layer without the shift are computed once, so that a step reads no data but for the
 * likelihood.
 */
#ifndef COMP_MAP_FIT_H
#define COMP_MAP_FIT_H

#include "map/sampled.h"
#include "model/trained.h"

/* Posteriors of samples of the reference. */
typedef struct comp__posteriors {
  size_t n;
  const float *mean;  /* [n, latent] */
  const float *scale; /* [n, latent] */
} comp__posteriors;

typedef struct comp__fit comp__fit;

/* For level `level` of the model, whose samples `query` are. Batches have at most `batch` samples of each side. All
 * arguments must outlive it. It should be freed via comp__fit_free(). */
comp_status comp__fit_new(comp__fit **out, comp_context *context, const comp_model *model, size_t level,
                          const comp__sampled *query, const comp__posteriors *reference, size_t batch);
void comp__fit_free(comp__fit *fit);

/* The fitted vectors and their gradients, one behind the other: shift [encoder's first width], row [decoder's first
 * width]. */
float *comp__fit_values(comp__fit *fit);
const float *comp__fit_gradients(const comp__fit *fit);
size_t comp__fit_shift_count(const comp__fit *fit);
size_t comp__fit_row_count(const comp__fit *fit);

/* Samples of a step: rows of the query and of the reference, and weights of the penalty [n_reference + n_query]. */
typedef struct comp__fit_batch {
  const size_t *reference, *query;
  size_t n_reference, n_query;
  const float *weight;
} comp__fit_batch;

/* Loss and gradients of a step. */
comp_status comp__fit_step(comp__losses *out, comp_context *context, comp__fit *fit, const comp__fit_batch *batch,
                           comp__pull pull, uint64_t seed, uint64_t step);

/* Posterior means of all samples of the query: z [query->n, latent]. */
comp_status comp__fit_encode(float *z, comp_context *context, comp__fit *fit);

/* Runs `steps` steps of Adam. ratio [reference->n + query->n] is of the data (counterparts.h); it becomes the one in
 * use at the end. */
comp_status comp__fit_run(comp_context *context, comp__fit *fit, float *ratio, size_t steps, uint64_t seed);

/* Puts the fitted vectors into the model: its rows for the level. */
comp_status comp__fit_store(comp_context *context, const comp__fit *fit, comp_model *model);

#endif
