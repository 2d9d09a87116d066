/* forward.c: from a batch to its losses. */
#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "model/bound.h"
#include "model/dense.h"
#include "model/shards.h"
#include "model/target.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"

/* BatchNorm as PyTorch has it. */
static const float BN_MOMENTUM = 0.1f, BN_EPSILON = 1e-5f;

/* The least standard deviation of a learned posterior. */
static const float LEAST_SCALE = 1e-3f;

/* One part of a batch on its way, for the loops over rows. */
typedef struct pass {
  const comp__network *network;
  const comp__state *state;
  const comp__batch *batch;
  comp__work *work;
  uint64_t seed, step;
  bool training;
  float weight;        /* of one sample's likelihood in the loss */
  float target_weight; /* of one sample's cross-entropy */
  comp__batchnorm bn;
  comp__layer_work *layer;
  float momentum; /* of the running statistics */
  float *moments; /* [2, cols] of this part of the batch */
  const float *z; /* [rows, latent]: what the decoder reads */
  size_t first;   /* row of the batch that the current panel begins with */
  float *out;     /* [rows, features]: where a decoder's outputs go */
} pass;

/* All parts that this process has: they go through the layers together, because each normalisation needs the rows of
 * all of them. */
typedef struct batch_run {
  pass *parts;
  size_t count;
  comp__shards *shards; /* NULL: the one part is the whole batch */
} batch_run;

static comp__layer_work *layers_of(const pass *p, bool decoder) {
  return decoder ? p->work->decoder : p->work->encoder;
}

static void norm_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  const comp__kernels *kernels = p->work->kernels;
  if (p->training)
    kernels->batchnorm_forward(&p->bn, p->layer->xhat, p->work->y, p->layer->act, p->layer->act_half, begin,
                               end - begin);
  else
    kernels->batchnorm_eval(&p->bn, p->work->y, p->layer->act, p->layer->act_half, begin, end - begin);
}

static void moment_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  p->work->kernels->batchnorm_moments(&p->bn, p->layer->xhat, p->work->y, p->moments, p->moments + p->bn.cols, begin,
                                      end - begin);
}

static void apply_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  p->work->kernels->batchnorm_apply(&p->bn, p->layer->xhat, p->moments, p->layer->act, p->layer->act_half, begin,
                                    end - begin);
}

/* With the statistics of all shards. */
static comp_status normalise_shards(comp_context *context, batch_run *run) {
  comp__shards *shards = run->shards;
  const comp__batchnorm bn = run->parts[0].bn;
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    p->moments = comp__shards_moments(shards, i, bn.cols);
    comp__parallel_for(context, bn.cols, COMP__BN_COLUMNS, moment_columns, p);
  }
  comp_status status = comp__shards_statistics(context, shards, &bn);
  for (size_t i = 0; i < run->count && status == COMP_OK; i++) {
    pass *p = &run->parts[i];
    if (i > 0) memcpy(p->bn.inv_std, bn.inv_std, bn.cols * sizeof *bn.inv_std);
    p->moments = shards->mean;
    comp__parallel_for(context, bn.cols, COMP__BN_COLUMNS, apply_columns, p);
  }
  return status;
}

/* The products of layer l, which are in work->y, become its activations. */
static comp_status normalise(comp_context *context, batch_run *run, bool decoder, size_t l) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    const comp__state *s = p->state;
    const comp__hidden *hidden = decoder ? &p->network->decoder[l] : &p->network->encoder[l];
    p->layer = &layers_of(p, decoder)[l];
    p->bn = (comp__batchnorm){.rows = p->batch->rows,
                              .cols = hidden->dense.out,
                              .gamma = s->params + hidden->gamma,
                              .beta = s->params + hidden->beta,
                              .inv_std = p->layer->inv_std,
                              .running_mean = s->buffers + hidden->running_mean,
                              .running_var = s->buffers + hidden->running_var,
                              .momentum = p->momentum,
                              .epsilon = BN_EPSILON,
                              .slope = COMP__LEAKY_SLOPE};
    if (!run->shards) comp__parallel_for(context, hidden->dense.out, COMP__BN_COLUMNS, norm_columns, p);
  }
  if (run->shards) status = normalise_shards(context, run);
  comp__work_clock(run->parts[0].work, COMP__PHASE_NORM);
  return status;
}

/* A hidden layer that reads the one below it; the decoder's first reads z. */
static comp_status hidden_forward(comp_context *context, batch_run *run, bool decoder, size_t l) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < run->count && status == COMP_OK; i++) {
    pass *p = &run->parts[i];
    const comp__dense *dense = decoder ? &p->network->decoder[l].dense : &p->network->encoder[l].dense;
    const comp__layer_work *layers = layers_of(p, decoder);
    const float *x = l > 0 ? layers[l - 1].act : p->z;
    const uint16_t *x_half = l > 0 && comp__dense_half(p->work, dense) ? layers[l - 1].act_half : NULL;
    status = comp__dense_forward(context, dense, p->state, p->batch, p->work->y, x, x_half);
  }
  comp__work_clock(run->parts[0].work, COMP__PHASE_PRODUCT);
  return status == COMP_OK ? normalise(context, run, decoder, l) : status;
}

static void halve_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  size_t cols = p->network->features;
  for (size_t i = begin; i < end; i++)
    comp__f32_to_bf16(p->work->x_half + i * cols, comp__batch_row(p->batch, p->batch->input, i), cols);
}

typedef struct panel_job {
  const comp__batch *batch;
  float *to;
  size_t first;
} panel_job;

static void copy_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const panel_job *job = arg;
  size_t cols = comp_matrix_cols(job->batch->input);
  for (size_t i = begin; i < end; i++)
    memcpy(job->to + i * cols, comp__batch_row(job->batch, job->batch->input, job->first + i), cols * sizeof(float));
}

void comp__fill_x_panel(comp_context *context, const comp__batch *batch, comp__work *work, size_t first, size_t rows) {
  panel_job job = {batch, work->x_panel, first};
  comp__parallel_for(context, rows, 16, copy_rows, &job);
  comp__work_clock(work, COMP__PHASE_GATHER);
}

/* The product of the first layer in f32 on rows that lie apart: panel by panel. */
static comp_status first_product_panels(comp_context *context, pass *p) {
  const comp__hidden *hidden = &p->network->encoder[0];
  float *y = p->work->y;
  const size_t rows = p->batch->rows, panel = comp__panel_rows(rows, p->network->features);
  bool filled = comp__dense_fill(context, &hidden->dense, p->state, p->batch, y);
  comp_status status = COMP_OK;
  for (size_t first = 0; status == COMP_OK && first < rows; first += panel) {
    size_t count = rows - first < panel ? rows - first : panel;
    comp__fill_x_panel(context, p->batch, p->work, first, count);
    status = comp__dense_product(context, &hidden->dense, p->state, count, y + first * hidden->dense.out,
                                 p->work->x_panel, NULL, filled);
    comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  }
  return status;
}

/* The encoder's first layer reads the data itself. */
static comp_status first_product(comp_context *context, pass *p) {
  const comp__dense *dense = &p->network->encoder[0].dense;
  float *y = p->work->y;
  if (comp_matrix_get_kind(p->batch->input) == COMP_CSR) {
    comp__sparse_forward(context, dense, p->state, p->batch, p->work->kernels, y);
    comp__work_clock(p->work, COMP__PHASE_SPARSE);
    return COMP_OK;
  }
  bool half = comp__dense_half(p->work, dense);
  if (!half && p->batch->take) return first_product_panels(context, p);
  if (half) comp__parallel_for(context, p->batch->rows, 16, halve_rows, p);
  comp__work_clock(p->work, COMP__PHASE_GATHER);
  comp_status status = comp__dense_forward(context, dense, p->state, p->batch, y,
                                           comp_matrix_const_values(p->batch->input), half ? p->work->x_half : NULL);
  comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  return status;
}

static void centre_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  size_t out = p->network->encoder[0].dense.out, k = 0;
  for (size_t i = begin; i < end; i++) {
    while (i >= p->batch->start[k + 1]) k++;
    const float *row = p->work->centre_rows + k * out;
    float *y = p->work->y + i * out;
    for (size_t c = 0; c < out; c++) y[c] -= row[c];
  }
}

/* The rows of some conditions. */
static comp_status centre_product(comp_context *context, pass *p, size_t first, size_t count) {
  const comp__network *n = p->network;
  const comp__dense *dense = &n->encoder[0].dense;
  return comp__matmul_f32(context, p->work->centre_rows + first * dense->out, dense->out,
                          p->state->buffers + n->centre + first * dense->in, dense->in,
                          p->state->params + dense->weight, dense->out, count, dense->out, dense->in, 0);
}

/* Conditions that were added to the model have products of their own: those of the others keep their shape, and so
 * their bytes. */
static comp_status centre(comp_context *context, pass *p) {
  const comp__network *n = p->network;
  const size_t trained = n->conditions - n->added;
  comp_status status = centre_product(context, p, 0, trained);
  for (size_t k = trained; status == COMP_OK && k < n->conditions; k++) status = centre_product(context, p, k, 1);
  if (status == COMP_OK) comp__parallel_for(context, p->batch->rows, 64, centre_rows, p);
  comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  return status;
}

static comp_status first_layer(comp_context *context, batch_run *run) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < run->count && status == COMP_OK; i++) {
    pass *p = &run->parts[i];
    status = first_product(context, p);
    if (status == COMP_OK && p->network->options.centred) status = centre(context, p);
  }
  return status == COMP_OK ? normalise(context, run, false, 0) : status;
}

/* Mean and raw scale of z. */
static comp_status posterior(comp_context *context, pass *p) {
  const comp__network *n = p->network;
  comp__work *w = p->work;
  const float *act = w->encoder[n->options.n_hidden - 1].act;
  comp_status status = comp__dense_forward(context, &n->mean, p->state, p->batch, w->mean, act, NULL);
  if (status == COMP_OK && n->options.learn_scale)
    status = comp__dense_forward(context, &n->scale, p->state, p->batch, w->raw, act, NULL);
  comp__work_clock(w, COMP__PHASE_PRODUCT);
  return status;
}

static comp_status encode(comp_context *context, batch_run *run) {
  const size_t layers = run->parts[0].network->options.n_hidden;
  comp_status status = first_layer(context, run);
  for (size_t l = 1; status == COMP_OK && l < layers; l++) status = hidden_forward(context, run, false, l);
  for (size_t i = 0; i < run->count && status == COMP_OK; i++) status = posterior(context, &run->parts[i]);
  return status;
}

static comp_status decode(comp_context *context, batch_run *run) {
  const size_t layers = run->parts[0].network->options.n_hidden;
  comp_status status = COMP_OK;
  for (size_t l = 0; status == COMP_OK && l < layers; l++) status = hidden_forward(context, run, true, l);
  return status;
}

/* The output's product without its bias, which the likelihood adds, for some rows. */
static comp_status output_product(comp_context *context, pass *p, float *out, size_t first, size_t rows) {
  const comp__dense *dense = &p->network->output;
  comp__layer_work *last = &p->work->decoder[p->network->options.n_hidden - 1];
  const uint16_t *half = comp__dense_half(p->work, dense) ? last->act_half + first * dense->in : NULL;
  comp_status status =
      comp__dense_product(context, dense, p->state, rows, out, last->act + first * dense->in, half, false);
  comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  return status;
}

/* Scales, noise and KL of some rows. */
static void sample_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  comp__work *w = p->work;
  size_t latent = p->network->options.latent;
  float fixed = (float)p->network->options.scale;
  for (size_t i = begin; i < end; i++) {
    comp__rng rng = comp__rng_at(p->seed, COMP__RNG_LATENT, p->step, p->batch->ids[i]);
    comp__rng_fill_normal(w->eps + i * latent, latent, rng, 0);
    double kl = 0.0;
    for (size_t d = i * latent; d < (i + 1) * latent; d++) {
      float scale = fixed;
      if (w->scale) w->scale[d] = scale = LEAST_SCALE + comp__softplus(w->raw[d]);
      w->z[d] = w->mean[d] + scale * w->eps[d];
      kl += 0.5 * ((double)w->mean[d] * w->mean[d] + (double)scale * scale - 1.0) - log((double)scale);
    }
    w->row_kl[i] = kl;
  }
}

/* A dot product in 16 fixed lanes. */
static float dot(const float *a, const float *b, size_t n) {
  float lanes[16] = {0}, sum = 0.0f;
  size_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (size_t l = 0; l < 16; l++) lanes[l] += a[i + l] * b[i + l];
  for (size_t l = 0; l < 16; l++) sum += lanes[l];
  for (; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* The output's bias, and for a centred model what each condition adds to it. */
static void add_centres(const pass *p) {
  const comp__network *n = p->network;
  const float *bias = p->state->params + n->output.bias, *centre = p->state->buffers + n->centre;
  for (size_t k = 0; n->options.centred && k < n->conditions; k++)
    for (size_t g = 0; g < n->features; g++)
      p->work->centre_bias[k * n->features + g] = bias[g] + centre[k * n->features + g];
}

/* Of row i, after add_centres(). */
static const float *bias_of(const pass *p, size_t i) {
  size_t k = 0;
  if (!p->network->options.centred) return p->state->params + p->network->output.bias;
  while (i >= p->batch->start[k + 1]) k++;
  return p->work->centre_bias + k * p->network->features;
}

/* Row i of the batch as X has it. */
static void set_values(comp__likelihood_row *row, const comp__batch *batch, size_t i) {
  const comp_matrix *x = batch->x;
  if (comp_matrix_get_kind(x) == COMP_DENSE) {
    row->value = comp__batch_row(batch, x, i);
    row->stored = comp_matrix_cols(x);
    return;
  }
  const int64_t *indptr = comp_matrix_const_indptr(x);
  row->index = comp_matrix_const_indices(x) + indptr[i];
  row->value = comp_matrix_const_values(x) + indptr[i];
  row->stored = (size_t)(indptr[i + 1] - indptr[i]);
}

/* What the likelihood's own layer gives for row i. */
static float sample_output(const pass *p, size_t i) {
  const comp__dense *dense = &p->network->sample_layer;
  const float *act = p->work->decoder[p->network->options.n_hidden - 1].act, *params = p->state->params;
  return dot(act + i * dense->in, params + dense->weight, dense->in) + params[dense->bias];
}

/* Likelihood of some rows of the panel; output becomes the gradient by it when training. */
static void likelihood_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  const comp__network *n = p->network;
  const comp__likelihood *likelihood = n->likelihood;
  comp__work *w = p->work;
  const size_t cols = n->features;
  comp__likelihood_row row = {.kernels = w->kernels, .features = cols, .weight = p->weight, .training = p->training};
  if (likelihood->feature_vector) {
    row.vector = p->state->params + n->feature_vector;
    if (p->training) row.d_vector = w->d_vector + (p->first + begin) / COMP__ROW_CHUNK * cols;
    if (p->training) memset(row.d_vector, 0, cols * sizeof *row.d_vector);
  }
  for (size_t r = begin; r < end; r++) {
    const size_t i = p->first + r;
    set_values(&row, p->batch, i);
    row.output = w->output + r * cols;
    row.bias = bias_of(p, i);
    if (likelihood->counts) row.library = p->batch->library[i];
    if (likelihood->sample_layer) row.sample = sample_output(p, i);
    if (p->training && w->output_half) row.half = w->output_half + r * cols;
    if (p->training && w->d_sample) row.d_sample = &w->d_sample[i];
    w->row_likelihood[i] = likelihood->loss(&row);
  }
}

/* Likelihood, and when training the gradients of the output layer, panel by panel: what is as wide as the data never
 * exists for the whole batch, and stays in the cache between its uses. */
static comp_status output_layer(comp_context *context, pass *p) {
  const size_t rows = p->batch->rows, panel = comp__panel_rows(rows, p->network->features);
  comp_status status = COMP_OK;
  add_centres(p);
  for (size_t first = 0; first < rows; first += panel) {
    size_t count = rows - first < panel ? rows - first : panel;
    p->first = first;
    COMP__TRY(output_product(context, p, p->work->output, first, count));
    comp__parallel_for(context, count, COMP__ROW_CHUNK, likelihood_rows, p);
    comp__work_clock(p->work, COMP__PHASE_LIKELIHOOD);
    if (p->training) COMP__TRY(comp__output_backward(context, p->network, p->state, p->work, first, count));
  }
done:
  return status;
}

/* Cross-entropy of some rows; logits become the gradient by them when training. */
static void target_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  const size_t classes = p->network->options.classes;
  for (size_t i = begin; i < end; i++) {
    float *logits = p->work->logits + i * classes;
    const int32_t label = p->batch->target ? p->batch->target[i] : -1;
    p->work->row_target[i] = comp__target_forward(logits, label, classes);
    if (p->training) comp__target_backward(logits, label, classes, p->target_weight);
  }
}

/* What z says of the target, where there is one. */
static comp_status target_layer(comp_context *context, pass *p) {
  if (!p->work->logits) return COMP_OK;
  comp_status status =
      comp__dense_forward(context, &p->network->target, p->state, p->batch, p->work->logits, p->work->z, NULL);
  if (status == COMP_OK) comp__parallel_for(context, p->batch->rows, COMP__ROW_CHUNK, target_rows, p);
  comp__work_clock(p->work, COMP__PHASE_LIKELIHOOD);
  return status;
}

static double sum_of(const double *values, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  return sum;
}

/* What noise of standard deviation `blur` makes of z and of the posteriors of some rows. The noise of z is lengthened
 * in place of adding another: together they would have the same distribution. */
static void blur_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  comp__work *w = p->work;
  const comp__model_options *o = &p->network->options;
  const float blur = (float)w->blur;
  for (size_t d = begin * o->latent; d < end * o->latent; d++) {
    float wide = hypotf(w->scale ? w->scale[d] : (float)o->scale, blur);
    if (w->scale) w->blur_scale[d] = wide;
    w->blur_z[d] = w->mean[d] + wide * w->eps[d];
  }
}

/* What the penalty reads of a part of a batch. */
static comp__penalty_input penalty_view(const pass *p) {
  const comp__model_options *o = &p->network->options;
  const comp__work *w = p->work;
  const bool hidden = o->place == COMP_PLACE_HIDDEN, blurred = w->blur > 0.0;
  return (comp__penalty_input){.rows = p->batch->rows,
                               .dims = hidden ? p->network->decoder[0].dense.out : o->latent,
                               .conditions = p->network->conditions,
                               .start = p->batch->start,
                               .values = hidden    ? w->decoder[0].act
                                         : blurred ? w->blur_z
                                                   : w->z,
                               .mean = hidden ? NULL : w->mean,
                               .scale = hidden                ? NULL
                                        : blurred && w->scale ? w->blur_scale
                                                              : w->scale,
                               .fixed_scale = blurred ? hypot(o->scale, w->blur) : o->scale,
                               .weight = p->batch->weight};
}

static comp_status run_penalty(double *out, comp_context *context, const batch_run *run, comp__pull pull) {
  const comp__penalty *penalty = run->parts[0].work->penalty;
  *out = 0.0;
  if (!penalty) return COMP_OK;
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    p->work->blur = penalty->needs_posteriors ? pull.blur : 0.0;
    if (p->work->blur > 0.0) comp__parallel_for(context, p->batch->rows, COMP__ROW_CHUNK, blur_rows, p);
    const comp__penalty_input view = penalty_view(p);
    if (run->shards) comp__shards_put(run->shards, i, &view);
  }
  const pass *p = &run->parts[0];
  comp__work *w = p->work;
  const comp__model_options *o = &p->network->options;
  const comp__penalty_input input = penalty_view(p);
  if (run->shards) return comp__shards_penalty(out, context, run->shards, o, &input, (float)pull.gamma);
  comp__penalty_gradient gradient = {0};
  if (p->training) gradient = (comp__penalty_gradient){w->pen_values, w->pen_mean, w->pen_scale};
  if (o->place == COMP_PLACE_HIDDEN) gradient.mean = gradient.scale = NULL;
  return penalty->run(out, context, o, &input, &gradient, (float)pull.gamma, w->penalty_scratch);
}

/* What the bound on lengths adds to the loss of a step. Validation has none: it compares models, and moves none. */
static comp_status bound_loss(double *out, comp_context *context, const batch_run *run) {
  comp__work *w = run->parts[0].work;
  const comp__model_options *o = &run->parts[0].network->options;
  *out = 0.0;
  if (!run->parts[0].training || !w->lengths) return COMP_OK;
  for (size_t i = 0; i < run->count; i++)
    comp__bound_lengths(run->parts[i].work->lengths, run->parts[i].work->mean, run->parts[i].batch->rows, o->latent);
  if (run->shards) return comp__shards_bound(out, context, run->shards, o->bound);
  const size_t rows = run->parts[0].batch->rows;
  w->length_limit = (float)o->bound * comp__bound_quantile(w->spare_lengths, w->lengths, rows);
  *out = comp__bound_loss(w->lengths, rows, (double)w->length_limit) / (double)rows;
  return COMP_OK;
}

/* Sums over the rows of the whole batch: likelihood, KL and cross-entropy of the target. */
static comp_status sum_losses(double out[COMP__SUMS], comp_context *context, const batch_run *run) {
  for (size_t i = 0; i < run->count; i++) {
    const comp__work *w = run->parts[i].work;
    const size_t rows = run->parts[i].batch->rows;
    double *sums = run->shards ? comp__shards_sums(run->shards, i) : out;
    sums[0] = sum_of(w->row_likelihood, rows);
    sums[1] = sum_of(w->row_kl, rows);
    sums[2] = w->row_target ? sum_of(w->row_target, rows) : 0.0;
  }
  return run->shards ? comp__shards_sum(out, context, run->shards) : COMP_OK;
}

/* The parts of a batch, as passes over them. */
static batch_run run_of(pass *passes, const pass *like, const comp__parts *parts) {
  for (size_t i = 0; i < parts->count; i++) {
    passes[i] = *like;
    passes[i].state = &parts->state[i];
    passes[i].batch = &parts->batch[i];
    passes[i].work = parts->work[i];
    passes[i].z = parts->work[i]->z;
  }
  return (batch_run){passes, parts->count, parts->shards};
}

comp_status comp__forward(comp__losses *out, comp_context *context, const comp__network *network,
                          const comp__parts *parts, comp__pull pull, uint64_t seed, uint64_t step, bool training) {
  const comp__model_options *o = &network->options;
  const double rows = (double)comp__parts_rows(parts);
  double weight = 1.0 / rows, sums[COMP__SUMS] = {0}, bound = 0.0;
  if (o->reduction == COMP_REDUCTION_MEAN) weight /= (double)network->features;
  pass passes[COMP__MOST_SHARDS];
  const pass like = {.network = network,
                     .seed = seed,
                     .step = step,
                     .training = training,
                     .weight = (float)weight,
                     .target_weight = (float)(o->target_weight / rows),
                     .momentum = BN_MOMENTUM};
  batch_run run = run_of(passes, &like, parts);
  comp_status status;
  COMP__TRY(encode(context, &run));
  for (size_t i = 0; i < run.count; i++)
    comp__parallel_for(context, passes[i].batch->rows, COMP__ROW_CHUNK, sample_rows, &passes[i]);
  comp__work_clock(passes[0].work, COMP__PHASE_LATENT);
  COMP__TRY(decode(context, &run));
  for (size_t i = 0; i < run.count; i++) COMP__TRY(output_layer(context, &passes[i]));
  for (size_t i = 0; i < run.count; i++) COMP__TRY(target_layer(context, &passes[i]));
  COMP__TRY(run_penalty(&out->penalty, context, &run, pull));
  comp__work_clock(passes[0].work, COMP__PHASE_PENALTY);
  COMP__TRY(sum_losses(sums, context, &run));
  COMP__TRY(bound_loss(&bound, context, &run));
  out->likelihood = sums[0] / rows * weight * rows;
  out->kl = sums[1] / rows;
  out->target = sums[2] / rows;
  out->total = out->likelihood + o->beta * out->kl + pull.gamma * out->penalty + bound;
  if (o->classes > 0) out->total += o->target_weight * out->target;
done:
  return status;
}

comp_status comp__network_statistics(comp_context *context, const comp__network *network, const comp__state *state,
                                     const comp__batch *batch, comp__work *work, float momentum, uint64_t seed,
                                     uint64_t step) {
  pass p = {.network = network,
            .state = state,
            .batch = batch,
            .work = work,
            .seed = seed,
            .step = step,
            .training = true,
            .momentum = momentum,
            .z = work->z};
  batch_run run = {&p, 1, NULL};
  comp_status status = encode(context, &run);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, batch->rows, COMP__ROW_CHUNK, sample_rows, &p);
  return decode(context, &run);
}

comp_status comp__network_evaluate(comp__losses *out, comp_context *context, const comp__network *network,
                                   const comp__state *state, const comp__batch *batch, comp__work *work,
                                   comp__pull pull, uint64_t seed, uint64_t step) {
  const comp__parts whole = {1, batch, &work, state, NULL};
  return comp__forward(out, context, network, &whole, pull, seed, step, false);
}

comp_status comp__network_encode(comp_context *context, const comp__network *network, const comp__state *state,
                                 const comp__batch *batch, comp__work *work, float *mean, float *scale) {
  pass p = {.network = network, .state = state, .batch = batch, .work = work};
  batch_run run = {&p, 1, NULL};
  comp_status status = encode(context, &run);
  if (status != COMP_OK) return status;
  size_t count = batch->rows * network->options.latent;
  memcpy(mean, work->mean, count * sizeof *mean);
  for (size_t i = 0; scale && i < count; i++)
    scale[i] = work->raw ? LEAST_SCALE + comp__softplus(work->raw[i]) : (float)network->options.scale;
  return COMP_OK;
}

/* Adds the bias and turns outputs into expected values. */
static void finish_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  const comp__likelihood *likelihood = p->network->likelihood;
  const size_t cols = p->network->features;
  for (size_t i = begin; i < end; i++) {
    float *row = p->out + i * cols;
    const float *bias = bias_of(p, i);
    for (size_t g = 0; g < cols; g++) row[g] += bias[g];
    if (likelihood->mean) likelihood->mean(row, likelihood->counts ? p->batch->library[i] : 0.0f, cols);
  }
}

comp_status comp__network_decode(comp_context *context, const comp__network *network, const comp__state *state,
                                 const comp__batch *batch, comp__work *work, const float *z, float *out) {
  pass p = {.network = network, .state = state, .batch = batch, .work = work, .z = z, .out = out};
  batch_run run = {&p, 1, NULL};
  comp_status status = decode(context, &run);
  if (status == COMP_OK) status = output_product(context, &p, out, 0, batch->rows);
  if (status != COMP_OK) return status;
  add_centres(&p);
  comp__parallel_for(context, batch->rows, COMP__ROW_CHUNK, finish_rows, &p);
  return COMP_OK;
}
