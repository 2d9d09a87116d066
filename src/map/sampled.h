/* sampled.h: some samples as the network reads them, dense. */
#ifndef COMP_MAP_SAMPLED_H
#define COMP_MAP_SAMPLED_H

#include "task/aligned.h"

/* Zero-initialise to start. */
typedef struct comp__sampled {
  size_t n, features;
  size_t *rows;   /* [n]: samples of the data, sorted by condition and then by place */
  size_t *start;  /* [levels + 1]: those of level k are start[k] .. start[k + 1] - 1 */
  size_t levels;  /* of the model */
  float *x;       /* [n, features]: what the likelihood is of */
  float *input;   /* [n, features]: what the encoder reads, before centring; x itself unless the data is counts */
  float *library; /* [n]: total counts; NULL unless the data is counts */
  const int32_t *missing; /* [n_missing]: features that the data lacks, which were filled in; not owned */
  size_t n_missing;
} comp__sampled;

/* Samples that are encoded together. */
enum { COMP__SAMPLED_BLOCK = 512 };

/* How many samples are kept of data with so many features. */
size_t comp__sampled_most(size_t features);

/* Chooses at most about `most` of the samples whose code is in first .. last - 1, of each level its share, and reads
 * them. It should be released via comp__sampled_release(). */
comp_status comp__sampled_read(comp__sampled *out, comp_context *context, const comp__aligned *aligned, size_t first,
                               size_t last, size_t most);
void comp__sampled_release(comp__sampled *sampled);

/* A row of dense or CSR data: out [columns]. */
void comp__dense_row(float *out, const comp_matrix *x, size_t row);

#endif
