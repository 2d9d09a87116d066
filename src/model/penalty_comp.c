/*
 * penalty_comp.c: the Contrastive Mixture of Posteriors penalty and its first step P0.
 *
 *   P = 1/B sum_i [ log mean_{j in own} q(z_i | j) - log mean_{j in other} q(z_i | j) ]
 *
 * The kernels work in tiles with a running log sum exp: nothing of size B x B exists. A row whose own or other mixture
 * is empty counts 0. The backward pass runs over a number of row stripes fixed by the batch, each with gradient arrays
 * of its own, added up in order: the same bytes at any thread count.
 *
 * Ranks that share a batch share out the stripes: each computes the log sums of its own rows, gets those of the others,
 * and does the same with the gradients of its stripes. So a rank has the bytes of a process that does all of them.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/threads.h"
#include "model/chunks.h"
#include "model/penalty.h"
#include "nn/kernels.h"

/* Row stripes of the backward pass, by the size of the batch alone: as many threads can work on it, and each costs
 * gradient arrays of O(rows x dims). A small batch has few runs of rows to share out. */
static size_t stripes_of(size_t rows) {
  return rows < 4096 ? 8 : 16;
}

/* A sample of less weight stays in the mixtures with this one, so that no mixture is empty; its own row counts 0. */
static const float LEAST_WEIGHT = 1e-6f;

/* In mixtures a sample counts with this power of its weight: it
 * brings back the ratio of its population's shares. The weight itself says how much a sample is pulled, and is smaller.
 * In mixtures it would reverse the compositions: rare populations of one condition would be pulled to rare ones of the
 * other, of whatever type. */
static const float MIXTURE_POWER = 1.0f / COMP__WEIGHT_STEEPNESS;

/* A sample whose weight is nearer to 1 than this has no part in the second pass. */
static const float LEAST_REST = 1e-3f;

typedef struct comp_job {
  const comp__kernels *kernels;
  const comp__penalty_input *input;
  const comp__model_options *options;
  comp__pairs pairs;
  bool contrast; /* with the own mixture; P0 has none */
  float power;   /* of a sample's weight: its weight in mixtures */
  bool learned;
  comp__chunks chunks;
  float *mean_t, *half_inv_t, *offset;
  float *lse_own, *lse_other, *weight_own, *weight_other; /* [rows] */
  float *stripes; /* [stripes] x (d_mean_t [dims, padded], then, when learned, d_half_inv_t and d_offset) */
  size_t stripe_count, stripe_size;
  size_t stripe_of[COMP__MOST_RANKS + 1], row_of[COMP__MOST_RANKS + 1]; /* with which each rank begins */
  const comp__penalty_gradient *gradient;
} comp_job;

/* Floats of one stripe's gradient arrays. */
static size_t stripe_floats(size_t padded, size_t dims, bool learned) {
  return padded * (learned ? 2 * dims + 1 : dims);
}

static size_t pass_size(const comp__model_options *options, size_t rows, size_t dims, size_t conditions) {
  size_t padded = comp__pad_rows(rows);
  return comp__chunks_size(rows, conditions) + 2 * comp__workspace_size(padded * dims, sizeof(float)) +
         comp__workspace_size(padded, sizeof(float)) + 4 * comp__workspace_size(rows, sizeof(float)) +
         comp__workspace_size(stripes_of(rows) * stripe_floats(padded, dims, options->learn_scale), sizeof(float));
}

/* A pass, and behind it the rows of a second one. */
enum { ROW_ARRAYS = 6 };
static size_t scratch_size(const comp__model_options *options, size_t rows, size_t dims, size_t conditions) {
  return pass_size(options, rows, dims, conditions) + ROW_ARRAYS * comp__workspace_size(rows * dims, sizeof(float)) +
         comp__workspace_size(rows, sizeof(float)) + comp__workspace_size(rows, sizeof(size_t));
}

/* Takes the arrays of a job from its scratch memory: as many as pass_size() counts. */
static void take_arrays(comp_job *job, void *scratch) {
  const comp__penalty_input *in = job->input;
  size_t padded = comp__pad_rows(in->rows);
  comp__workspace workspace = {scratch, pass_size(job->options, in->rows, in->dims, in->conditions), 0};
  comp__chunks_cut(&job->chunks, &workspace, in);
  job->mean_t = comp__workspace_take(&workspace, padded * in->dims, sizeof(float));
  job->half_inv_t = comp__workspace_take(&workspace, padded * in->dims, sizeof(float));
  job->offset = comp__workspace_take(&workspace, padded, sizeof(float));
  job->lse_own = comp__workspace_take(&workspace, in->rows, sizeof(float));
  job->lse_other = comp__workspace_take(&workspace, in->rows, sizeof(float));
  job->weight_own = comp__workspace_take(&workspace, in->rows, sizeof(float));
  job->weight_other = comp__workspace_take(&workspace, in->rows, sizeof(float));
  job->stripe_size = stripe_floats(padded, in->dims, job->learned);
  job->stripe_count = stripes_of(in->rows);
  job->stripes = comp__workspace_take(&workspace, job->stripe_count * job->stripe_size, sizeof(float));
}

/* Transposes the posteriors, 64 at a time. */
static void pack_posteriors(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_job *job = arg;
  const comp__penalty_input *in = job->input;
  size_t padded = job->pairs.padded;
  for (size_t j = begin; j < end; j++) {
    bool real = j < in->rows;
    float offset = 0.0f;
    for (size_t d = 0; d < in->dims; d++) {
      job->mean_t[d * padded + j] = real ? in->mean[j * in->dims + d] : 0.0f;
      if (!job->learned) continue;
      float scale = real ? in->scale[j * in->dims + d] : 1.0f;
      job->half_inv_t[d * padded + j] = 0.5f / (scale * scale);
      offset -= logf(scale);
    }
    if (real && in->weight) offset += job->power * logf(fmaxf(in->weight[j], LEAST_WEIGHT));
    job->offset[j] = real ? offset : -3.0e38f;
  }
}

/* The first stripe of a rank, and the first chunk of a stripe: bounds depend on the batch alone. */
static size_t first_stripe(const comp_job *job, size_t rank) {
  return comp__comm_cut(job->stripe_count, rank, comp__comm_ranks(job->input->comm));
}

static size_t first_chunk(const comp_job *job, size_t stripe) {
  return stripe * job->chunks.count / job->stripe_count;
}

/* Rows, and stripes, with which each rank begins. */
static void find_bounds(comp_job *job) {
  for (size_t r = 0; r <= comp__comm_ranks(job->input->comm); r++) {
    job->stripe_of[r] = first_stripe(job, r);
    job->row_of[r] = job->chunks.begin[first_chunk(job, job->stripe_of[r])];
  }
}

/* Chunks begin .. end - 1 of those of this rank. */
static void forward_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_job *job = arg;
  const size_t *start = job->input->start;
  const size_t first = first_chunk(job, job->stripe_of[comp__comm_rank(job->input->comm)]);
  for (size_t c = first + begin; c < first + end; c++) {
    size_t k = job->chunks.condition[c];
    job->kernels->mixture_forward(&job->pairs, job->chunks.begin[c], job->chunks.begin[c + 1], start[k], start[k + 1],
                                  !job->options->include_self, job->lse_own, job->lse_other);
  }
}

/* How many samples rows begin .. end - 1 count for in mixtures. */
static double count_of(const comp_job *job, size_t begin, size_t end) {
  const float *weight = job->input->weight;
  if (!weight) return (double)(end - begin);
  double sum = 0.0;
  for (size_t i = begin; i < end; i++) sum += pow((double)fmaxf(weight[i], LEAST_WEIGHT), (double)job->power);
  return sum;
}

/* Sums the rows and turns them into weights: the derivative of weight x P by each log sum exp. */
static double finish_forward(comp_job *job, float weight) {
  const comp__penalty_input *in = job->input;
  /* log q has the constant -D (log sigma + log(2 pi) / 2), which cancels between the mixtures; P0 keeps it. */
  double constant = -0.5 * (double)in->dims * log(2.0 * M_PI), total = 0.0;
  const double all = count_of(job, 0, in->rows);
  if (!job->learned) constant -= (double)in->dims * log(in->fixed_scale);
  for (size_t k = 0; k < in->conditions; k++) {
    const size_t own_rows = in->start[k + 1] - in->start[k];
    const bool alone = own_rows == (job->options->include_self ? 0 : 1);
    const bool usable = own_rows < in->rows && !(job->contrast && alone);
    const double own = count_of(job, in->start[k], in->start[k + 1]), log_other = usable ? log(all - own) : 0.0;
    for (size_t i = in->start[k]; i < in->start[k + 1]; i++) {
      const float share = in->weight && in->weight[i] < LEAST_WEIGHT ? 0.0f : in->weight ? in->weight[i] : 1.0f;
      const float pull = usable ? share * weight / (float)in->rows : 0.0f;
      job->weight_own[i] = job->contrast ? pull : 0.0f;
      job->weight_other[i] = -pull;
      if (!usable || share == 0.0f) continue;
      double row = -(job->lse_other[i] - log_other);
      if (job->contrast)
        row += job->lse_own[i] - log(job->options->include_self ? own : own - count_of(job, i, i + 1));
      else
        row -= constant;
      total += (double)share * row;
    }
  }
  return total / (double)in->rows;
}

/* Stripes begin .. end - 1 of those of this rank. */
static void backward_stripe(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_job *job = arg;
  const size_t *start = job->input->start;
  const size_t own = job->stripe_of[comp__comm_rank(job->input->comm)];
  for (size_t s = own + begin; s < own + end; s++) {
    float *d_mean = job->stripes + s * job->stripe_size, *d_half = NULL, *d_offset = NULL;
    memset(d_mean, 0, job->stripe_size * sizeof *d_mean);
    if (job->learned) {
      d_half = d_mean + job->pairs.padded * job->pairs.dims;
      d_offset = d_half + job->pairs.padded * job->pairs.dims;
    }
    for (size_t c = first_chunk(job, s); c < first_chunk(job, s + 1); c++) {
      size_t k = job->chunks.condition[c];
      job->kernels->mixture_backward(&job->pairs, job->chunks.begin[c], job->chunks.begin[c + 1], start[k],
                                     start[k + 1], !job->options->include_self, job->lse_own, job->lse_other,
                                     job->weight_own, job->weight_other, job->gradient->values, d_mean, d_half,
                                     d_offset);
    }
  }
}

static float stripe_sum(const comp_job *job, size_t at) {
  float sum = job->stripes[at];
  for (size_t s = 1; s < job->stripe_count; s++) sum += job->stripes[s * job->stripe_size + at];
  return sum;
}

/* Adds the stripes and transposes back; the scale's gradient by the chain rule: half_inv = 1 / (2 sigma^2), offset =
 * -sum log sigma. */
static void gather_gradients(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_job *job = arg;
  size_t dims = job->pairs.dims, padded = job->pairs.padded;
  for (size_t j = begin; j < end; j++) {
    float by_offset = job->learned ? stripe_sum(job, 2 * dims * padded + j) : 0.0f;
    for (size_t d = 0; d < dims; d++) {
      job->gradient->mean[j * dims + d] = stripe_sum(job, d * padded + j);
      if (!job->learned) continue;
      float scale = job->input->scale[j * dims + d];
      float by_half = stripe_sum(job, (dims + d) * padded + j);
      job->gradient->scale[j * dims + d] = -by_half / (scale * scale * scale) - by_offset / scale;
    }
  }
}

/* The penalty over all conditions. */
static comp_status run_pass(double *out, comp_context *context, const comp__model_options *options,
                            const comp__penalty_input *input, const comp__penalty_gradient *gradient, float weight,
                            float power, void *scratch, bool contrast) {
  comp__comm *comm = input->comm;
  const size_t rank = comp__comm_rank(comm), row_bytes = input->dims * sizeof(float);
  comp_status status = COMP_OK;
  comp_job job = {.kernels = comp__kernels_get(),
                  .input = input,
                  .options = options,
                  .contrast = contrast,
                  .power = power,
                  .learned = input->scale != NULL,
                  .gradient = gradient};
  take_arrays(&job, scratch);
  find_bounds(&job);
  job.pairs = (comp__pairs){.count = input->rows,
                            .padded = comp__pad_rows(input->rows),
                            .dims = input->dims,
                            .z = input->values,
                            .mean_t = job.mean_t,
                            .half_inv_t = job.learned ? job.half_inv_t : NULL,
                            .half_inv = (float)(0.5 / (input->fixed_scale * input->fixed_scale)),
                            .offset = job.offset};
  comp__parallel_for(context, job.pairs.padded, COMP__PAIR_PAD, pack_posteriors, &job);
  const size_t stripes = job.stripe_of[rank + 1] - job.stripe_of[rank];
  const size_t chunks = first_chunk(&job, job.stripe_of[rank + 1]) - first_chunk(&job, job.stripe_of[rank]);
  comp__parallel_for(context, chunks, 1, forward_chunk, &job);
  COMP__TRY(comp__comm_gather(comm, context, job.lse_own, job.row_of, sizeof *job.lse_own));
  COMP__TRY(comp__comm_gather(comm, context, job.lse_other, job.row_of, sizeof *job.lse_other));
  *out = finish_forward(&job, weight);
  if (!gradient->values) return COMP_OK;
  comp__parallel_for(context, stripes, 1, backward_stripe, &job);
  COMP__TRY(comp__comm_gather(comm, context, gradient->values, job.row_of, row_bytes));
  COMP__TRY(comp__comm_gather(comm, context, job.stripes, job.stripe_of, job.stripe_size * sizeof *job.stripes));
  comp__parallel_for(context, input->rows, COMP__PAIR_PAD, gather_gradients, &job);
done:
  return status;
}

/* ---- Samples without counterpart ------------------------------------------------------------------------------- */

/* The rows of one condition that the first pass left alone, in two halves. */
typedef struct remainder {
  comp__penalty_input input;
  comp__penalty_gradient gradient;
  float *values, *mean, *scale, *weight;
  size_t *row; /* of the batch */
} remainder_rows;

static void take_remainder(remainder_rows *r, const comp__penalty_input *in, const comp__penalty_gradient *gradient,
                           const comp__model_options *options, void *scratch) {
  const size_t before = pass_size(options, in->rows, in->dims, in->conditions), size = in->rows * in->dims;
  comp__workspace workspace = {(char *)scratch + before,
                               scratch_size(options, in->rows, in->dims, in->conditions) - before, 0};
  float **arrays[ROW_ARRAYS] = {&r->values,          &r->mean,          &r->scale,
                                &r->gradient.values, &r->gradient.mean, &r->gradient.scale};
  for (size_t a = 0; a < ROW_ARRAYS; a++) *arrays[a] = comp__workspace_take(&workspace, size, sizeof(float));
  r->weight = comp__workspace_take(&workspace, in->rows, sizeof(float));
  r->row = comp__workspace_take(&workspace, in->rows, sizeof(size_t));
  if (!gradient->values) r->gradient = (comp__penalty_gradient){0};
}

static void copy_row(remainder_rows *r, const comp__penalty_input *in, size_t to, size_t from) {
  const size_t bytes = in->dims * sizeof(float);
  memcpy(r->values + to * in->dims, in->values + from * in->dims, bytes);
  memcpy(r->mean + to * in->dims, in->mean + from * in->dims, bytes);
  if (in->scale) memcpy(r->scale + to * in->dims, in->scale + from * in->dims, bytes);
  r->weight[to] = 1.0f - in->weight[from];
  r->row[to] = from;
}

/* Every second row is of the first half: rows come in a random order. */
static size_t choose_remainder(remainder_rows *r, const comp__penalty_input *in, size_t k, size_t *start) {
  size_t n = 0;
  for (size_t half = 0; half < 2; half++) {
    start[half] = n;
    size_t seen = 0;
    for (size_t i = in->start[k]; i < in->start[k + 1]; i++) {
      if (1.0f - in->weight[i] < LEAST_REST) continue;
      if (seen++ % 2 == half) copy_row(r, in, n++, i);
    }
  }
  return start[2] = n;
}

static void add_rows(float *to, const float *from, const remainder_rows *r, size_t n, size_t dims) {
  for (size_t i = 0; to && i < n; i++)
    for (size_t d = 0; d < dims; d++) to[r->row[i] * dims + d] += from[i * dims + d];
}

/* The part of a sample's weight that the first pass left out. The population of such a sample has no counterpart in
 * other conditions, so the two halves of the population are aligned with each other. This keeps its samples together,
 * as the first pass does for shared populations. Without it they spread out, and their nearest neighbours are samples
 * of denser populations. */
static comp_status run_remainder(double *out, comp_context *context, const comp__model_options *options,
                                 const comp__penalty_input *in, const comp__penalty_gradient *gradient, float weight,
                                 void *scratch, bool contrast) {
  remainder_rows r = {0};
  double sum = 0.0;
  take_remainder(&r, in, gradient, options, scratch);
  for (size_t k = 0; k < in->conditions; k++) {
    size_t start[3];
    const size_t n = choose_remainder(&r, in, k, start);
    if (n < 2) continue;
    const double share = (double)n / (double)in->rows;
    double value;
    r.input = (comp__penalty_input){.rows = n,
                                    .dims = in->dims,
                                    .conditions = 2,
                                    .start = start,
                                    .values = r.values,
                                    .mean = r.mean,
                                    .scale = in->scale ? r.scale : NULL,
                                    .fixed_scale = in->fixed_scale,
                                    .weight = r.weight,
                                    .comm = in->comm};
    comp_status status = run_pass(&value, context, options, &r.input, &r.gradient, (float)(share * (double)weight),
                                  1.0f, scratch, contrast);
    if (status != COMP_OK) return status;
    sum += share * value;
    add_rows(gradient->values, r.gradient.values, &r, n, in->dims);
    add_rows(gradient->mean, r.gradient.mean, &r, n, in->dims);
    if (in->scale) add_rows(gradient->scale, r.gradient.scale, &r, n, in->dims);
  }
  *out += sum;
  return COMP_OK;
}

static comp_status run(double *out, comp_context *context, const comp__model_options *options,
                       const comp__penalty_input *input, const comp__penalty_gradient *gradient, float weight,
                       void *scratch, bool contrast) {
  comp_status status = run_pass(out, context, options, input, gradient, weight, MIXTURE_POWER, scratch, contrast);
  if (status != COMP_OK || !input->weight) return status;
  return run_remainder(out, context, options, input, gradient, weight, scratch, contrast);
}

static comp_status run_comp(double *out, comp_context *context, const comp__model_options *options,
                            const comp__penalty_input *input, const comp__penalty_gradient *gradient, float weight,
                            void *scratch) {
  return run(out, context, options, input, gradient, weight, scratch, true);
}

static comp_status run_p0(double *out, comp_context *context, const comp__model_options *options,
                          const comp__penalty_input *input, const comp__penalty_gradient *gradient, float weight,
                          void *scratch) {
  return run(out, context, options, input, gradient, weight, scratch, false);
}

const comp__penalty comp__penalty_comp = {
    .name = "comp",
    .help = "(contrastive mixture of posteriors: log q(z | c) - log q(z | not c))",
    .needs_posteriors = true,
    .options = (const char *const[]){"align", "blur", "leave-self-out", NULL},
    .scratch = scratch_size,
    .run = run_comp,
};

const comp__penalty comp__penalty_comp_p0 = {
    .name = "comp-p0",
    .help = "(the second part of comp alone: -log q(z | not c))",
    .needs_posteriors = true,
    .options = (const char *const[]){"align", "blur", NULL},
    .scratch = scratch_size,
    .run = run_p0,
};
