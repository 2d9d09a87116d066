/* dense.c: dense layers. The condition's one-hot part of the input is a row of the weight, added to each sample before
 * the product. */
#include "model/dense.h"

#include <string.h>

#include "core/threads.h"
#include "nn/matmul.h"

enum { COLUMNS = 64, ROWS = 128 }; /* a task of a sparse product; of column sums COLUMNS */

static const float *condition_row(const comp__dense *dense, const comp__state *state, size_t condition) {
  return state->params + dense->weight + (dense->in + condition) * dense->out;
}

typedef struct fill_job {
  const comp__dense *dense;
  const comp__state *state;
  const comp__batch *batch;
  float *y;
} fill_job;

/* Whether there is something that is the same for all inputs of a condition. No layer has both. */
static bool has_constant(const comp__dense *dense) {
  return dense->conditions || dense->has_bias;
}

/* It for row i; *condition is at most that of the row, and becomes it. */
static const float *constant_row(const fill_job *job, size_t i, size_t *condition) {
  if (!job->dense->conditions) return job->state->params + job->dense->bias;
  while (i >= job->batch->start[*condition + 1]) (*condition)++;
  return condition_row(job->dense, job->state, *condition);
}

static void fill_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const fill_job *job = arg;
  size_t out = job->dense->out, k = 0;
  for (size_t i = begin; i < end; i++) memcpy(job->y + i * out, constant_row(job, i, &k), out * sizeof(float));
}

bool comp__dense_fill(comp_context *context, const comp__dense *dense, const comp__state *state,
                      const comp__batch *batch, float *y) {
  if (!has_constant(dense)) return false;
  fill_job job = {dense, state, batch, y};
  comp__parallel_for(context, batch->rows, 64, fill_rows, &job);
  return true;
}

comp_status comp__dense_product(comp_context *context, const comp__dense *dense, const comp__state *state, size_t rows,
                                float *y, const float *x, const uint16_t *x_half, bool add) {
  unsigned flags = add ? COMP__ACCUMULATE : 0;
  if (x_half)
    return comp__matmul_bf16(context, y, dense->out, x_half, dense->in, state->half + dense->weight, dense->out, rows,
                             dense->out, dense->in, flags);
  return comp__matmul_f32(context, y, dense->out, x, dense->in, state->params + dense->weight, dense->out, rows,
                          dense->out, dense->in, flags);
}

comp_status comp__dense_forward(comp_context *context, const comp__dense *dense, const comp__state *state,
                                const comp__batch *batch, float *y, const float *x, const uint16_t *x_half) {
  bool filled = comp__dense_fill(context, dense, state, batch, y);
  return comp__dense_product(context, dense, state, batch->rows, y, x, x_half, filled);
}

comp_status comp__dense_input_gradient(comp_context *context, const comp__dense *dense, const comp__state *state,
                                       size_t rows, float *dx, const float *dy, const uint16_t *dy_half, bool add) {
  unsigned flags = COMP__TRANS_B | (add ? COMP__ACCUMULATE : 0);
  if (dy_half)
    return comp__matmul_bf16(context, dx, dense->in, dy_half, dense->out, state->half + dense->weight, dense->out, rows,
                             dense->in, dense->out, flags);
  return comp__matmul_f32(context, dx, dense->in, dy, dense->out, state->params + dense->weight, dense->out, rows,
                          dense->in, dense->out, flags);
}

typedef struct sums_job {
  const comp__kernels *kernels;
  float *out;
  comp__blocks y;
  size_t begin, end;
  bool add;
} sums_job;

static void sum_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const sums_job *job = arg;
  job->kernels->sum_rows(job->out + begin, comp__blocks_behind(job->y, begin), job->begin, job->end, end - begin,
                         job->add);
}

void comp__column_sums(comp_context *context, float *out, comp__blocks y, size_t begin, size_t end, size_t cols,
                       bool add) {
  sums_job job = {comp__kernels_get(), out, y, begin, end, add};
  comp__parallel_for(context, cols, COLUMNS, sum_columns, &job);
}

void comp__dense_constant_gradients(comp_context *context, const comp__dense *dense, const comp__state *state,
                                    const comp__batch *batch, comp__blocks dy) {
  if (dense->has_bias) comp__column_sums(context, state->grads + dense->bias, dy, 0, batch->rows, dense->out, false);
  float *rows = state->grads + dense->weight + dense->in * dense->out;
  for (size_t k = 0; k < dense->conditions; k++)
    comp__column_sums(context, rows + k * dense->out, dy, batch->start[k], batch->start[k + 1], dense->out, false);
}

comp_status comp__dense_weight_product(comp_context *context, const comp__dense *dense, const comp__state *state,
                                       size_t rows, const float *x, const uint16_t *x_half, const float *dy,
                                       const uint16_t *dy_half, bool add) {
  unsigned flags = COMP__TRANS_A | (add ? COMP__ACCUMULATE : 0);
  float *dw = state->grads + dense->weight;
  if (x_half && dy_half)
    return comp__matmul_bf16(context, dw, dense->out, x_half, dense->in, dy_half, dense->out, dense->in, dense->out,
                             rows, flags);
  return comp__matmul_f32(context, dw, dense->out, x, dense->in, dy, dense->out, dense->in, dense->out, rows, flags);
}

comp_status comp__dense_weight_gradient(comp_context *context, const comp__dense *dense, const comp__state *state,
                                        const comp__batch *batch, const float *x, const uint16_t *x_half,
                                        const float *dy, const uint16_t *dy_half) {
  comp__dense_constant_gradients(context, dense, state, batch, comp__blocks_of_matrix(dy, dense->out));
  return comp__dense_weight_product(context, dense, state, batch->rows, x, x_half, dy, dy_half, false);
}

/* A sparse product out[r] = sum_k value[k] in[index[k]] in tasks of some rows and COLUMNS columns, column blocks
 * outermost: the block of `in` that all rows read stays in the cache. */
typedef struct sparse_job {
  const comp__kernels *kernels;
  const comp_matrix *x;
  comp__blocks in;
  float *out; /* [rows of x, cols] */
  size_t cols, row_tasks;
  const fill_job *fill; /* what each row begins with; NULL: zero */
} sparse_job;

static void sparse_task(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const sparse_job *job = arg;
  const int64_t *indptr = comp_matrix_const_indptr(job->x);
  const int32_t *indices = comp_matrix_const_indices(job->x);
  const float *values = comp_matrix_const_values(job->x);
  size_t total = comp_matrix_rows(job->x);
  for (size_t t = begin; t < end; t++) {
    size_t col = t / job->row_tasks * COLUMNS, row = t % job->row_tasks * ROWS, k = 0;
    size_t n = job->cols - col < COLUMNS ? job->cols - col : COLUMNS, last = row + ROWS < total ? row + ROWS : total;
    const comp__blocks in = comp__blocks_behind(job->in, col);
    for (size_t r = row; r < last; r++) {
      const float *from = job->fill ? constant_row(job->fill, r, &k) + col : NULL;
      job->kernels->gather_rows(job->out + r * job->cols + col, from, indices + indptr[r], values + indptr[r],
                                (size_t)(indptr[r + 1] - indptr[r]), &in, n);
    }
  }
}

static void sparse_product(comp_context *context, sparse_job *job) {
  size_t col_tasks = (job->cols + COLUMNS - 1) / COLUMNS;
  job->row_tasks = (comp_matrix_rows(job->x) + ROWS - 1) / ROWS;
  comp__parallel_for(context, job->row_tasks * col_tasks, 1, sparse_task, job);
}

void comp__sparse_forward(comp_context *context, const comp__dense *dense, const comp__state *state,
                          const comp__batch *batch, const comp__kernels *kernels, float *y) {
  const fill_job fill = {dense, state, batch, y};
  sparse_job job = {.kernels = kernels,
                    .x = batch->input,
                    .in = comp__blocks_of_matrix(state->params + dense->weight, dense->out),
                    .out = y,
                    .cols = dense->out,
                    .fill = has_constant(dense) ? &fill : NULL};
  sparse_product(context, &job);
}

void comp__sparse_weight_gradient(comp_context *context, const comp__dense *dense, const comp__state *state,
                                  const comp__batch *batch, const comp__kernels *kernels, comp__blocks dy) {
  comp__dense_constant_gradients(context, dense, state, batch, dy);
  sparse_job job = {
      .kernels = kernels, .x = batch->input_t, .in = dy, .out = state->grads + dense->weight, .cols = dense->out};
  sparse_product(context, &job);
}
