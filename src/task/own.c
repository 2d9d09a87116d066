/* own.c: samples decoded under their own condition, in blocks. */
#include "task/own.h"

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "dist/comm.h"
#include "task/coder.h"

typedef struct job {
  comp_context *context;
  comp__coder *coder;
  const comp__aligned *aligned;
  const int8_t *only;
  comp__own_fn *fn;
  void *arg;
  float *own;    /* [threads, COMP__BLOCK_ROWS, features] */
  size_t offset; /* of the first row of this part */
} job;

static comp_status decode_rows(void *arg, size_t begin, size_t end, int thread) {
  const job *j = arg;
  const size_t features = j->aligned->model->network.features;
  float *own = j->own + (size_t)thread * COMP__BLOCK_ROWS * features;
  comp__block *b;
  comp_status status;
  COMP__TRY(comp__block_read(&b, j->coder, j->aligned, begin + j->offset, end + j->offset, j->only, thread));
  if (b->rows == 0) return COMP_OK;
  COMP__TRY(comp__block_encode(j->context, j->coder, b, thread));
  COMP__TRY(comp__block_decode(j->context, j->coder, own, b->mean, b->start, b->library, b->rows, thread));
  for (size_t r = 0; r < b->rows; r++) j->fn(j->arg, b->order[r], own + r * features, thread);
done:
  return status;
}

comp_status comp__decode_own(comp_context *context, const comp__aligned *aligned, comp_precision precision,
                             const int8_t *only, comp__own_fn *fn, void *arg, const char *what) {
  const size_t threads = (size_t)comp_context_thread_count(context), part = threads * 8 * COMP__BLOCK_ROWS;
  job j = {.context = context, .aligned = aligned, .only = only, .fn = fn, .arg = arg};
  comp__comm *comm = comp__comm_of(context);
  size_t begin[COMP__MOST_RANKS + 1];
  comp_status status;
  comp__comm_share(begin, comm, aligned->samples, COMP__BLOCK_ROWS);
  const size_t end = begin[comp__comm_rank(comm) + 1];
  j.offset = begin[comp__comm_rank(comm)];
  comp__progress_begin(context, what, "samples", aligned->samples);
  COMP__TRY(comp__coder_new(&j.coder, context, aligned->model, precision));
  COMP__TRY(comp__alloc(&j.own, threads * COMP__BLOCK_ROWS, aligned->model->network.features * sizeof *j.own));
  for (; j.offset < end; j.offset += part) {
    size_t left = end - j.offset;
    comp__progress_update(context, j.offset, NULL);
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(comp__parallel_try(context, left < part ? left : part, COMP__BLOCK_ROWS, decode_rows, &j));
  }
  comp__progress_update(context, aligned->samples, NULL);
done:
  comp__progress_end(context);
  comp__free(j.own);
  comp__coder_free(j.coder);
  return status;
}
