/* forward.c: from a batch to its losses. */
#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "model/bound.h"
#include "model/dense.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"

/* BatchNorm as PyTorch has it. */
static const float BN_MOMENTUM = 0.1f, BN_EPSILON = 1e-5f;

/* The least standard deviation of a learned posterior. */
static const float LEAST_SCALE = 1e-3f;

/* One call's arguments, for the loops over rows. */
typedef struct pass {
  const comp__network *network;
  const comp__state *state;
  const comp__batch *batch;
  comp__work *work;
  uint64_t seed, step;
  bool training;
  float weight; /* of one sample's likelihood in the loss */
  comp__batchnorm bn;
  comp__layer_work *layer;
  float momentum; /* of the running statistics */
  size_t first;   /* row of the batch that the current panel begins with */
  float *out;     /* [rows, features]: where a decoder's outputs go */
} pass;

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

static void normalise(comp_context *context, pass *p, const comp__hidden *hidden, comp__layer_work *layer) {
  const comp__state *s = p->state;
  p->bn = (comp__batchnorm){.rows = p->batch->rows,
                            .cols = hidden->dense.out,
                            .gamma = s->params + hidden->gamma,
                            .beta = s->params + hidden->beta,
                            .inv_std = layer->inv_std,
                            .running_mean = s->buffers + hidden->running_mean,
                            .running_var = s->buffers + hidden->running_var,
                            .momentum = p->momentum,
                            .epsilon = BN_EPSILON,
                            .slope = COMP__LEAKY_SLOPE};
  p->layer = layer;
  comp__parallel_for(context, hidden->dense.out, COMP__BN_COLUMNS, norm_columns, p);
  comp__work_clock(p->work, COMP__PHASE_NORM);
}

static comp_status hidden_forward(comp_context *context, pass *p, const comp__hidden *hidden, comp__layer_work *layer,
                                  const float *x, const uint16_t *x_half) {
  bool half = comp__dense_half(p->work, &hidden->dense) && x_half;
  comp_status status =
      comp__dense_forward(context, &hidden->dense, p->state, p->batch, p->work->y, x, half ? x_half : NULL);
  comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  if (status == COMP_OK) normalise(context, p, hidden, layer);
  return status;
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

static comp_status first_layer(comp_context *context, pass *p) {
  comp_status status = first_product(context, p);
  if (status == COMP_OK && p->network->options.centred) status = centre(context, p);
  if (status == COMP_OK) normalise(context, p, &p->network->encoder[0], &p->work->encoder[0]);
  return status;
}

static comp_status encode(comp_context *context, pass *p) {
  const comp__network *n = p->network;
  comp__work *w = p->work;
  size_t last = n->options.n_hidden - 1;
  comp_status status = first_layer(context, p);
  for (size_t l = 1; status == COMP_OK && l <= last; l++)
    status =
        hidden_forward(context, p, &n->encoder[l], &w->encoder[l], w->encoder[l - 1].act, w->encoder[l - 1].act_half);
  if (status == COMP_OK)
    status = comp__dense_forward(context, &n->mean, p->state, p->batch, w->mean, w->encoder[last].act, NULL);
  if (status == COMP_OK && n->options.learn_scale)
    status = comp__dense_forward(context, &n->scale, p->state, p->batch, w->raw, w->encoder[last].act, NULL);
  comp__work_clock(w, COMP__PHASE_PRODUCT);
  return status;
}

static comp_status decode(comp_context *context, pass *p, const float *z) {
  const comp__network *n = p->network;
  comp__work *w = p->work;
  size_t last = n->options.n_hidden - 1;
  comp_status status = hidden_forward(context, p, &n->decoder[0], &w->decoder[0], z, NULL);
  for (size_t l = 1; status == COMP_OK && l <= last; l++)
    status =
        hidden_forward(context, p, &n->decoder[l], &w->decoder[l], w->decoder[l - 1].act, w->decoder[l - 1].act_half);
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

static double mean_of(const double *values, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  return sum / (double)n;
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

static comp_status run_penalty(double *out, comp_context *context, const pass *p, comp__pull pull) {
  const comp__model_options *o = &p->network->options;
  comp__work *w = p->work;
  *out = 0.0;
  if (!w->penalty) return COMP_OK;
  bool hidden = o->place == COMP_PLACE_HIDDEN;
  comp__penalty_input input = {.rows = p->batch->rows,
                               .dims = hidden ? p->network->decoder[0].dense.out : o->latent,
                               .conditions = p->network->conditions,
                               .start = p->batch->start,
                               .values = hidden ? w->decoder[0].act : w->z,
                               .mean = hidden ? NULL : w->mean,
                               .scale = hidden ? NULL : w->scale,
                               .fixed_scale = o->scale,
                               .weight = p->batch->weight};
  w->blur = w->penalty->needs_posteriors ? pull.blur : 0.0;
  if (w->blur > 0.0) {
    comp__parallel_for(context, input.rows, COMP__ROW_CHUNK, blur_rows, (void *)p);
    input.values = w->blur_z;
    if (w->scale) input.scale = w->blur_scale;
    input.fixed_scale = hypot(o->scale, w->blur);
  }
  comp__penalty_gradient gradient = {0};
  if (p->training)
    gradient = (comp__penalty_gradient){w->pen_values, hidden ? NULL : w->pen_mean, hidden ? NULL : w->pen_scale};
  return w->penalty->run(out, context, o, &input, &gradient, (float)pull.gamma, w->penalty_scratch);
}

/* What the bound on lengths adds to the loss of a step. Validation has none: it compares models, and moves none. */
static double bound_loss(const pass *p) {
  comp__work *w = p->work;
  const size_t rows = p->batch->rows;
  if (!p->training || !w->lengths) return 0.0;
  comp__bound_lengths(w->lengths, w->mean, rows, p->network->options.latent);
  w->length_limit = (float)p->network->options.bound * comp__bound_quantile(w->spare_lengths, w->lengths, rows);
  return comp__bound_loss(w->lengths, rows, (double)w->length_limit) / (double)rows;
}

comp_status comp__forward(comp__losses *out, comp_context *context, const comp__network *network,
                          const comp__state *state, const comp__batch *batch, comp__work *work, comp__pull pull,
                          uint64_t seed, uint64_t step, bool training) {
  const comp__model_options *o = &network->options;
  double weight = 1.0 / (double)batch->rows;
  if (o->reduction == COMP_REDUCTION_MEAN) weight /= (double)network->features;
  pass p = {.network = network,
            .state = state,
            .batch = batch,
            .work = work,
            .seed = seed,
            .step = step,
            .training = training,
            .weight = (float)weight,
            .momentum = BN_MOMENTUM};
  comp_status status;
  COMP__TRY(encode(context, &p));
  comp__parallel_for(context, batch->rows, COMP__ROW_CHUNK, sample_rows, &p);
  comp__work_clock(work, COMP__PHASE_LATENT);
  COMP__TRY(decode(context, &p, work->z));
  COMP__TRY(output_layer(context, &p));
  COMP__TRY(run_penalty(&out->penalty, context, &p, pull));
  comp__work_clock(work, COMP__PHASE_PENALTY);
  out->likelihood = mean_of(work->row_likelihood, batch->rows) * weight * (double)batch->rows;
  out->kl = mean_of(work->row_kl, batch->rows);
  out->total = out->likelihood + o->beta * out->kl + pull.gamma * out->penalty + bound_loss(&p);
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
            .momentum = momentum};
  comp_status status = encode(context, &p);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, batch->rows, COMP__ROW_CHUNK, sample_rows, &p);
  return decode(context, &p, work->z);
}

comp_status comp__network_evaluate(comp__losses *out, comp_context *context, const comp__network *network,
                                   const comp__state *state, const comp__batch *batch, comp__work *work,
                                   comp__pull pull, uint64_t seed, uint64_t step) {
  return comp__forward(out, context, network, state, batch, work, pull, seed, step, false);
}

comp_status comp__network_encode(comp_context *context, const comp__network *network, const comp__state *state,
                                 const comp__batch *batch, comp__work *work, float *mean, float *scale) {
  pass p = {.network = network, .state = state, .batch = batch, .work = work};
  comp_status status = encode(context, &p);
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
  pass p = {.network = network, .state = state, .batch = batch, .work = work, .out = out};
  comp_status status = decode(context, &p, z);
  if (status == COMP_OK) status = output_product(context, &p, out, 0, batch->rows);
  if (status != COMP_OK) return status;
  add_centres(&p);
  comp__parallel_for(context, batch->rows, COMP__ROW_CHUNK, finish_rows, &p);
  return COMP_OK;
}
