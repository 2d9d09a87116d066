/* chunks.h: a batch that is sorted by condition, cut into short runs of rows of one condition: what pairwise penalties
 * work on. */
#ifndef COMP_MODEL_CHUNKS_H
#define COMP_MODEL_CHUNKS_H

#include <stddef.h>

#include "core/alloc.h"
#include "model/penalty.h"
#include "nn/kernels.h"

typedef struct comp__chunks {
  size_t count;
  size_t *begin;     /* [count + 1] rows */
  size_t *condition; /* [count] */
} comp__chunks;

/* Bytes of workspace that the chunks of at most `rows` rows take. */
size_t comp__chunks_size(size_t rows, size_t conditions);

/* Cuts a batch into chunks of at most COMP__PAIR_ROWS rows. */
void comp__chunks_cut(comp__chunks *out, comp__workspace *workspace, const comp__penalty_input *input);

/* Rows rounded up to COMP__PAIR_PAD. */
static inline size_t comp__pad_rows(size_t rows) {
  return (rows + COMP__PAIR_PAD - 1) / COMP__PAIR_PAD * COMP__PAIR_PAD;
}

#endif
