/*
 * penalty_mmd.c: maximum mean discrepancy between the conditions (VFAE, trVAE).
 *
 *   MMD^2(a, b) = mean k(x_a, x_a') + mean k(x_b, x_b') - 2 mean k(x_a, x_b),  k = mean_s exp(-|x - x'|^2 / (2 l_s^2))
 *
 * the biased statistic, averaged over the pairs of conditions that the batch holds. It is a weighted sum over all
 * ordered pairs of samples, and is computed in tiles of rows x columns: memory grows with the batch, not with its
 * square.
 */
#include <string.h>

#include "core/error.h"
#include "core/threads.h"
#include "model/chunks.h"
#include "nn/matmul.h"

enum { TILE = 256 };

/* trVAE's scales, as 2 l^2. */
static const double MULTI_SCALE[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1,   5,   10, 15,
                                     20,   25,   30,   35,   100,  1e3,  1e4, 1e5, 1e6};
enum { SCALES = sizeof MULTI_SCALE / sizeof *MULTI_SCALE };

typedef struct mmd_job {
  comp_context *context;
  const comp__kernels *kernels;
  const comp__penalty_input *input;
  comp__chunks chunks;
  float inverse[SCALES]; /* 1 / (2 l^2) */
  size_t scales;
  double present; /* conditions with at least one sample */
  double factor;  /* weight of the gradient; 0: only the value */
  float *x_t;     /* [dims, padded] */
  size_t padded;
  double *partial; /* [chunks] */
  float *gradient; /* [rows, dims] or NULL */
} mmd_job;

static size_t padded_rows(size_t rows) {
  return comp__pad_rows(rows) + TILE;
}

static size_t scratch_size(const comp__model_options *options, size_t rows, size_t dims, size_t conditions) {
  (void)options;
  return comp__chunks_size(rows, conditions) + comp__workspace_size(padded_rows(rows) * dims, sizeof(float)) +
         comp__workspace_size(rows + conditions, sizeof(double));
}

static void take_arrays(mmd_job *job, const comp__model_options *options, void *scratch) {
  const comp__penalty_input *in = job->input;
  comp__workspace workspace = {scratch, scratch_size(options, in->rows, in->dims, in->conditions), 0};
  comp__chunks_cut(&job->chunks, &workspace, in);
  job->padded = padded_rows(in->rows);
  job->x_t = comp__workspace_take(&workspace, job->padded * in->dims, sizeof(float));
  job->partial = comp__workspace_take(&workspace, in->rows + in->conditions, sizeof(double));
}

static void set_scales(mmd_job *job, const comp__model_options *options) {
  job->scales = options->multi_scale ? SCALES : 1;
  for (size_t s = 0; s < job->scales; s++)
    job->inverse[s] =
        (float)(1.0 / (options->multi_scale ? MULTI_SCALE[s] : 2.0 * options->mmd_scale * options->mmd_scale));
}

static void transpose(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  mmd_job *job = arg;
  const comp__penalty_input *in = job->input;
  for (size_t d = 0; d < in->dims; d++)
    for (size_t j = begin; j < end; j++)
      job->x_t[d * job->padded + j] = j < in->rows ? in->values[j * in->dims + d] : 0.0f;
}

static size_t block_size(const comp__penalty_input *in, size_t k) {
  return in->start[k + 1] - in->start[k];
}

/* The weight of an ordered pair: each condition is in present - 1 pairs, of which there are present (present - 1) / 2.
 */
static double pair_weight(const mmd_job *job, size_t a, size_t b) {
  double n_a = (double)block_size(job->input, a), n_b = (double)block_size(job->input, b);
  double pairs = job->present * (job->present - 1.0) / 2.0;
  return (a == b ? job->present - 1.0 : -1.0) / (pairs * n_a * n_b);
}

/* Distances of a chunk to one tile of columns become gradient factors in place; returns the weighted sum of the kernel.
 */
static double apply_kernel(const mmd_job *job, float *tile, size_t rows, size_t condition, size_t first,
                           size_t columns) {
  const comp__penalty_input *in = job->input;
  double sum = 0.0;
  for (size_t k = 0; k < in->conditions; k++) {
    size_t begin = in->start[k] > first ? in->start[k] : first, end = in->start[k + 1];
    if (end > first + columns) end = first + columns;
    if (begin >= end) continue;
    double weight = pair_weight(job, condition, k);
    for (size_t r = 0; r < rows; r++) {
      float *row = tile + r * TILE + (begin - first);
      sum += weight *
             (double)job->kernels->rbf(row, job->inverse, job->scales, (float)(weight * job->factor), end - begin);
    }
  }
  return sum;
}

/* dP/dx_i = 4 sum_j g_ij (x_i - x_j), g = weight dk/d(d2): twice for d2, twice because the sum holds (i, j) and (j, i).
 */
static comp_status add_gradient(const mmd_job *job, float *tile, size_t i0, size_t rows, size_t first, size_t columns) {
  const comp__penalty_input *in = job->input;
  for (size_t r = 0; r < rows; r++) {
    float sum = 0.0f, *row = tile + r * TILE;
    size_t self =
        i0 + r - first; /* x_i - x_i is 0, but the narrowest kernels' slope there is huge: it would only add noise */
    if (i0 + r >= first && self < columns) row[self] = 0.0f;
    for (size_t j = 0; j < columns; j++) {
      sum += row[j];
      row[j] *= -4.0f;
    }
    const float *x = in->values + (i0 + r) * in->dims;
    float *d = job->gradient + (i0 + r) * in->dims;
    for (size_t c = 0; c < in->dims; c++) d[c] += 4.0f * sum * x[c];
  }
  return comp__matmul_f32(job->context, job->gradient + i0 * in->dims, in->dims, tile, TILE,
                          in->values + first * in->dims, in->dims, rows, in->dims, columns, COMP__ACCUMULATE);
}

static comp_status run_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  mmd_job *job = arg;
  const comp__penalty_input *in = job->input;
  float tile[COMP__PAIR_ROWS * TILE];
  for (size_t c = begin; c < end; c++) {
    size_t i0 = job->chunks.begin[c], rows = job->chunks.begin[c + 1] - i0;
    job->partial[c] = 0.0;
    if (job->gradient) memset(job->gradient + i0 * in->dims, 0, rows * in->dims * sizeof(float));
    for (size_t first = 0; first < in->rows; first += TILE) {
      size_t columns = in->rows - first < TILE ? in->rows - first : TILE;
      job->kernels->distances(tile, TILE, in->values + i0 * in->dims, job->x_t, job->padded, in->dims, rows, first,
                              columns);
      job->partial[c] += apply_kernel(job, tile, rows, job->chunks.condition[c], first, columns);
      if (!job->gradient) continue;
      comp_status status = add_gradient(job, tile, i0, rows, first, columns);
      if (status != COMP_OK) return status;
    }
  }
  return COMP_OK;
}

static comp_status run(double *out, comp_context *context, const comp__model_options *options,
                       const comp__penalty_input *input, const comp__penalty_gradient *gradient, float weight,
                       void *scratch) {
  mmd_job job = {.context = context,
                 .kernels = comp__kernels_get(),
                 .input = input,
                 .factor = weight,
                 .gradient = gradient->values};
  *out = 0.0;
  if (gradient->values) memset(gradient->values, 0, input->rows * input->dims * sizeof(float));
  if (gradient->mean) memset(gradient->mean, 0, input->rows * input->dims * sizeof(float));
  if (gradient->scale) memset(gradient->scale, 0, input->rows * input->dims * sizeof(float));
  for (size_t k = 0; k < input->conditions; k++) job.present += block_size(input, k) > 0;
  if (job.present < 2.0) return COMP_OK; /* nothing to compare in this batch */
  take_arrays(&job, options, scratch);
  set_scales(&job, options);
  comp__parallel_for(context, job.padded, COMP__PAIR_PAD, transpose, &job);
  comp_status status = comp__parallel_try(context, job.chunks.count, 1, run_chunk, &job);
  for (size_t c = 0; status == COMP_OK && c < job.chunks.count; c++) *out += job.partial[c];
  return status;
}

const comp__penalty comp__penalty_mmd = {
    .name = "mmd",
    .help = "(maximum mean discrepancy between the conditions, with a Gaussian kernel)",
    .options = (const char *const[]){"mmd-scale", NULL},
    .scratch = scratch_size,
    .run = run,
};
