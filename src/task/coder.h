/*
 * coder.h: encoder and decoder of a trained model over any number of rows, in blocks of fixed size, one block a thread.
 *
 *     comp__aligned aligned = {0};
 *     comp__coder *coder;
 *     comp__align(&aligned, context, model, dataset, COMP__CONDITIONS_ALL);
 *     comp__coder_new(&coder, context, model, COMP_PRECISION_F32);
 *     comp__encode(context, coder, &aligned, mean, scale);
 *     comp__decode(context, coder, out, mean, aligned.codes, NULL, rows);
 *
 * Batch normalisation uses the running statistics, so that a row depends on nothing but itself. So the ranks of a
 * context that was joined (dist/comm.h) share blocks out: comp__encode() gives all rows to all of them.
 */
#ifndef COMP_TASK_CODER_H
#define COMP_TASK_CODER_H

#include "core/matrix.h"
#include "task/aligned.h"
#include "train/options.h"

/* Rows of a block. */
enum { COMP__BLOCK_ROWS = 256 };

typedef struct comp__coder comp__coder;

/* Buffers for each thread of the context. It should be freed via comp__coder_free(). */
comp_status comp__coder_new(comp__coder **out, comp_context *context, const comp_model *model,
                            comp_precision precision);
void comp__coder_free(comp__coder *coder);

/* Posteriors of all rows: mean and scale (NULL: not wanted) [samples, latent]. A result that is not finite is an error.
 */
comp_status comp__encode(comp_context *context, comp__coder *coder, const comp__aligned *aligned, float *mean,
                         float *scale);

/* Expected features out [rows, features] of z [rows, latent] under codes [rows] (NULL: all of `code`). library [rows]:
 * total counts, for a negative binomial model only. */
comp_status comp__decode(comp_context *context, comp__coder *coder, float *out, const float *z, const int32_t *codes,
                         int32_t code, const float *library, size_t rows);

/*
 * One block after the other, for whoever combines the steps: all on the thread whose number is given, from inside a
 * chunk of comp__parallel_try().
 */
typedef struct comp__block {
  size_t rows;
  size_t *order;     /* [rows]: samples, sorted by condition */
  size_t *start;     /* [levels + 1] */
  comp_matrix x;     /* [rows, features]: as the model's likelihood sees it; of the kind of the data */
  comp_matrix input; /* what the encoder reads: x, or normalised counts */
  float *library;    /* [rows]: total counts, negative binomial only */
  float *mean;       /* [rows, latent] */
  float *scale;      /* [rows, latent] */
} comp__block;

/* Fills a block with those of the samples begin .. end - 1 (at most COMP__BLOCK_ROWS) that are marked in `only`
 * [samples] (NULL: all) and have a condition, where conditions were read. Owned by the coder, valid until the next call
 * for this thread. */
comp_status comp__block_read(comp__block **out, comp__coder *coder, const comp__aligned *aligned, size_t begin,
                             size_t end, const int8_t *only, int thread);

/* Fills mean and scale. */
comp_status comp__block_encode(comp_context *context, comp__coder *coder, comp__block *block, int thread);

/* out [rows, features] of z [rows, latent], at most COMP__BLOCK_ROWS rows, rows start[k] .. start[k + 1] - 1 under
 * condition k. */
comp_status comp__block_decode(comp_context *context, comp__coder *coder, float *out, const float *z,
                               const size_t *start, const float *library, size_t rows, int thread);

/* What stands in for features that the data lacks, by feature: their mean, or in a centred model of values that of the
 * sample's condition, so that nothing is left of it. */
const float *comp__aligned_fill(const comp__aligned *aligned, size_t sample);

/* Writes the row of one sample as the model's likelihood sees it: [features], dense. */
void comp__aligned_row(float *out, const comp__aligned *aligned, size_t sample);

#endif
