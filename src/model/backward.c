/* backward.c: from the losses of a batch to the gradient of every parameter. */
#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "model/bound.h"
#include "model/dense.h"
#include "model/shards.h"
#include "nn/matmul.h"

/* One part of a batch on its way back, for the loops over rows and columns. */
typedef struct pass {
  const comp__network *network;
  const comp__state *state;
  const comp__batch *batch;
  comp__work *work;
  float beta; /* weight of one sample's KL */
  float rows; /* of the whole batch */
  comp__batchnorm bn;
  comp__batchnorm_gradient gradient;
  float *d;                      /* [rows, out] gradient by the last hidden activation */
  float *at, *spare;             /* where the gradient on its way is, and the other buffer */
  const float *mean, *mean_xhat; /* [cols]: of the gradients before the activation, over all shards */
} pass;

/* All parts that this process has: see forward.c. */
typedef struct batch_run {
  pass *parts;
  size_t count;
  comp__shards *shards;
} batch_run;

static void norm_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  p->work->kernels->batchnorm_backward(&p->bn, &p->gradient, begin, end - begin);
}

static void sum_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  p->work->kernels->batchnorm_backward_sums(&p->bn, &p->gradient, begin, end - begin);
}

static void apply_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  p->work->kernels->batchnorm_backward_apply(&p->bn, &p->gradient, p->mean, p->mean_xhat, begin, end - begin);
}

/* With the sums over all shards. */
static comp_status normalise_shards(comp_context *context, batch_run *run) {
  const size_t cols = run->parts[0].bn.cols;
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    float *sums = comp__shards_moments(run->shards, i, cols);
    comp__parallel_for(context, cols, COMP__BN_COLUMNS, sum_columns, p);
    memcpy(sums, p->gradient.d_beta, cols * sizeof *sums);
    memcpy(sums + cols, p->gradient.d_gamma, cols * sizeof *sums);
  }
  comp_status status = comp__shards_means(context, run->shards, cols);
  for (size_t i = 0; i < run->count && status == COMP_OK; i++) {
    pass *p = &run->parts[i];
    p->mean = run->shards->mean;
    p->mean_xhat = run->shards->variance;
    comp__parallel_for(context, cols, COMP__BN_COLUMNS, apply_columns, p);
  }
  return status;
}

/* p->gradient says where the gradient by the activation of layer l is, and in which forms that by its product is
 * wanted. */
static comp_status normalise_backward(comp_context *context, batch_run *run, bool decoder, size_t l) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    const comp__hidden *hidden = decoder ? &p->network->decoder[l] : &p->network->encoder[l];
    const comp__layer_work *layer = decoder ? &p->work->decoder[l] : &p->work->encoder[l];
    p->bn = (comp__batchnorm){.rows = p->batch->rows,
                              .cols = hidden->dense.out,
                              .gamma = p->state->params + hidden->gamma,
                              .beta = p->state->params + hidden->beta,
                              .inv_std = layer->inv_std,
                              .slope = COMP__LEAKY_SLOPE};
    p->gradient.d_gamma = p->state->grads + hidden->gamma;
    p->gradient.d_beta = p->state->grads + hidden->beta;
    p->gradient.xhat = layer->xhat;
    if (!run->shards) comp__parallel_for(context, hidden->dense.out, COMP__BN_COLUMNS, norm_columns, p);
  }
  if (run->shards) status = normalise_shards(context, run);
  comp__work_clock(run->parts[0].work, COMP__PHASE_NORM);
  return status;
}

static void swap(float **a, float **b) {
  float *kept = *a;
  *a = *b;
  *b = kept;
}

/* Hidden layer l above another one: p->at [rows, out] is the gradient by its activation, and becomes the one by its
 * input. Products run in bf16 where the layer's do. */
static comp_status hidden_backward(comp_context *context, batch_run *run, bool decoder, size_t l) {
  comp_status status;
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    const comp__dense *dense = decoder ? &p->network->decoder[l].dense : &p->network->encoder[l].dense;
    const bool half = comp__dense_half(p->work, dense), only_half = half && !dense->conditions && !dense->has_bias;
    p->gradient = (comp__batchnorm_gradient){
        .d_y = only_half ? NULL : p->at, .d_half = half ? p->work->d_half : NULL, .scratch = p->spare, .d_act = p->at};
  }
  COMP__TRY(normalise_backward(context, run, decoder, l));
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    const comp__dense *dense = decoder ? &p->network->decoder[l].dense : &p->network->encoder[l].dense;
    const comp__layer_work *below = decoder ? &p->work->decoder[l - 1] : &p->work->encoder[l - 1];
    const uint16_t *d_half = p->gradient.d_half;
    COMP__TRY(comp__dense_weight_gradient(context, dense, p->state, p->batch, below->act,
                                          d_half ? below->act_half : NULL, p->at, d_half));
    COMP__TRY(comp__dense_input_gradient(context, dense, p->state, p->batch->rows, p->spare, p->at, d_half, false));
    swap(&p->at, &p->spare);
  }
  comp__work_clock(run->parts[0].work, COMP__PHASE_PRODUCT);
done:
  return status;
}

/* d_activation += d_sample_i * w: what the likelihood's own layer asks of the last hidden layer. */
static void add_sample_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  const comp__dense *dense = &p->network->sample_layer;
  const float *w = p->state->params + dense->weight;
  for (size_t i = begin; i < end; i++)
    for (size_t c = 0; c < dense->in; c++) p->d[i * dense->in + c] += p->work->d_sample[i] * w[c];
}

comp_status comp__output_backward(comp_context *context, const comp__network *network, const comp__state *state,
                                  comp__work *w, size_t first, size_t rows) {
  const comp__dense *dense = &network->output;
  const comp__layer_work *last = &w->decoder[network->options.n_hidden - 1];
  const bool half = comp__dense_half(w, dense), add = first > 0;
  const uint16_t *d_half = half ? w->output_half : NULL;
  comp_status status;
  comp__column_sums(context, state->grads + dense->bias, comp__blocks_of_matrix(w->output, dense->out), 0, rows,
                    dense->out, add);
  COMP__TRY(comp__dense_weight_product(context, dense, state, rows, last->act + first * dense->in,
                                       half ? last->act_half + first * dense->in : NULL, w->output, d_half, add));
  COMP__TRY(
      comp__dense_input_gradient(context, dense, state, rows, w->d_a + first * dense->in, w->output, d_half, false));
  comp__work_clock(w, COMP__PHASE_PRODUCT);
done:
  return status;
}

/* Gradients of the likelihood's own parameters, and what its own layer asks of the last hidden layer: d holds what the
 * output asks of it. */
static comp_status likelihood_backward(comp_context *context, pass *p, float *d) {
  const comp__network *n = p->network;
  comp__work *w = p->work;
  const comp__layer_work *last = &w->decoder[n->options.n_hidden - 1];
  comp_status status = COMP_OK;
  if (w->d_sample) {
    COMP__TRY(
        comp__dense_weight_gradient(context, &n->sample_layer, p->state, p->batch, last->act, NULL, w->d_sample, NULL));
    p->d = d;
    comp__parallel_for(context, p->batch->rows, COMP__ROW_CHUNK, add_sample_rows, p);
  }
  if (w->d_vector) {
    size_t chunks = (p->batch->rows + COMP__ROW_CHUNK - 1) / COMP__ROW_CHUNK;
    comp__column_sums(context, p->state->grads + n->feature_vector, comp__blocks_of_matrix(w->d_vector, n->features), 0,
                      chunks, n->features, false);
  }
  comp__work_clock(w, COMP__PHASE_LIKELIHOOD);
done:
  return status;
}

typedef struct add_job {
  float *to;
  const float *from;
} add_job;

static void add_values(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const add_job *job = arg;
  for (size_t i = begin; i < end; i++) job->to[i] += job->from[i];
}

/* The target's layer, whose gradients by the logits the forward pass has left: adds to d_z. */
static comp_status target_backward(comp_context *context, const pass *p) {
  const comp__dense *dense = &p->network->target;
  const comp__work *w = p->work;
  if (!w->logits) return COMP_OK;
  comp_status status = comp__dense_weight_gradient(context, dense, p->state, p->batch, w->z, NULL, w->logits, NULL);
  if (status == COMP_OK)
    status = comp__dense_input_gradient(context, dense, p->state, p->batch->rows, w->d_z, w->logits, NULL, true);
  return status;
}

/* Down to d_z, the gradient by z of likelihood, of the target and of a penalty at the decoder's first hidden layer. */
static comp_status decoder_backward(comp_context *context, batch_run *run) {
  const comp__network *n = run->parts[0].network;
  comp_status status;
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    p->at = p->work->d_a;
    p->spare = p->work->d_b;
    COMP__TRY(likelihood_backward(context, p, p->at)); /* the forward pass has left the output's part there */
  }
  for (size_t l = n->options.n_hidden - 1; l > 0; l--) COMP__TRY(hidden_backward(context, run, true, l));
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    if (p->work->penalty && n->options.place == COMP_PLACE_HIDDEN) {
      add_job job = {p->at, p->work->pen_values};
      comp__parallel_for(context, p->batch->rows * n->decoder[0].dense.out, 8192, add_values, &job);
    }
    p->gradient = (comp__batchnorm_gradient){.d_y = p->at, .scratch = p->spare, .d_act = p->at};
  }
  /* The first layer's input is z: always f32, as it is narrow. */
  COMP__TRY(normalise_backward(context, run, true, 0));
  for (size_t i = 0; i < run->count; i++) {
    const pass *p = &run->parts[i];
    const comp__dense *dense = &n->decoder[0].dense;
    COMP__TRY(comp__dense_weight_gradient(context, dense, p->state, p->batch, p->work->z, NULL, p->at, NULL));
    COMP__TRY(comp__dense_input_gradient(context, dense, p->state, p->batch->rows, p->work->d_z, p->at, NULL, false));
    COMP__TRY(target_backward(context, p));
  }
  comp__work_clock(run->parts[0].work, COMP__PHASE_PRODUCT);
done:
  return status;
}

/* Gradients by mean and raw scale of some rows: through z, by the KL, and by a penalty at z. */
static void latent_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  comp__work *w = p->work;
  const comp__model_options *o = &p->network->options;
  bool penalty = w->penalty && o->place == COMP_PLACE_Z;
  for (size_t d = begin * o->latent; d < end * o->latent; d++) {
    const float pull = penalty ? w->pen_values[d] : 0.0f;
    float posterior = penalty && w->penalty->needs_posteriors ? w->pen_mean[d] : 0.0f;
    w->d_mean[d] = w->d_z[d] + pull + posterior + p->beta * w->mean[d];
    if (!w->scale) continue;
    /* The penalty's scale is sqrt(scale^2 + blur^2). */
    const float slope = penalty && w->blur > 0.0 ? w->scale[d] / w->blur_scale[d] : 1.0f;
    float d_scale = (w->d_z[d] + slope * pull) * w->eps[d] + p->beta * (w->scale[d] - 1.0f / w->scale[d]);
    if (penalty && w->penalty->needs_posteriors) d_scale += slope * w->pen_scale[d];
    w->d_raw[d] = d_scale / (1.0f + expf(-w->raw[d]));
  }
}

/* What the bound on lengths adds to the gradients by the means of some rows. */
static void bound_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  const comp__work *w = p->work;
  const size_t latent = p->network->options.latent;
  for (size_t i = begin; i < end; i++) {
    const float slope = comp__bound_slope(w->lengths[i], w->length_limit) / p->rows;
    for (size_t d = i * latent; slope > 0.0f && d < (i + 1) * latent; d++) w->d_mean[d] += slope * w->mean[d];
  }
}

/* The first layer's weights in f32 from rows that lie apart: panel by panel, in order. */
static comp_status first_weight_panels(comp_context *context, pass *p, const float *d) {
  const comp__dense *dense = &p->network->encoder[0].dense;
  const size_t rows = p->batch->rows, panel = comp__panel_rows(rows, p->network->features);
  comp_status status = COMP_OK;
  comp__dense_constant_gradients(context, dense, p->state, p->batch, comp__blocks_of_matrix(d, dense->out));
  for (size_t first = 0; status == COMP_OK && first < rows; first += panel) {
    size_t count = rows - first < panel ? rows - first : panel;
    if (panel < rows) comp__fill_x_panel(context, p->batch, p->work, first, count); /* else it is still there */
    status = comp__dense_weight_product(context, dense, p->state, count, p->work->x_panel, NULL, d + first * dense->out,
                                        NULL, first > 0);
    comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  }
  return status;
}

/* What the rows that centring took off ask of the first layer's weights. */
static comp_status centre_backward(comp_context *context, pass *p, comp__blocks d) {
  const comp__network *n = p->network;
  const comp__dense *dense = &n->encoder[0].dense;
  float *rows = p->work->centre_rows;
  for (size_t k = 0; k < n->conditions; k++)
    comp__column_sums(context, rows + k * dense->out, d, p->batch->start[k], p->batch->start[k + 1], dense->out, false);
  for (size_t i = 0; i < n->conditions * dense->out; i++) rows[i] = -rows[i];
  return comp__matmul_f32(context, p->state->grads + dense->weight, dense->out, p->state->buffers + n->centre,
                          dense->in, rows, dense->out, dense->in, dense->out, n->conditions,
                          COMP__TRANS_A | COMP__ACCUMULATE);
}

static bool is_sparse(const pass *p) {
  return comp_matrix_get_kind(p->batch->input) == COMP_CSR;
}

/* The weights of the encoder's first layer, whose input is the data. */
static comp_status first_weights(comp_context *context, pass *p) {
  const comp__dense *dense = &p->network->encoder[0].dense;
  const comp__work *w = p->work;
  const bool sparse = is_sparse(p);
  const uint16_t *d_half = p->gradient.d_half;
  const comp__blocks d_y =
      sparse ? comp__blocks_of_blocked(p->spare, p->batch->rows) : comp__blocks_of_matrix(p->at, dense->out);
  comp_status status = COMP_OK;
  if (sparse) {
    comp__sparse_weight_gradient(context, dense, p->state, p->batch, w->kernels, d_y);
    comp__work_clock(p->work, COMP__PHASE_SPARSE);
  } else if (!d_half && p->batch->take) {
    status = first_weight_panels(context, p, p->at);
  } else {
    status = comp__dense_weight_gradient(context, dense, p->state, p->batch, comp_matrix_const_values(p->batch->input),
                                         d_half ? w->x_half : NULL, p->at, d_half);
  }
  if (status == COMP_OK && p->network->options.centred) status = centre_backward(context, p, d_y);
  comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  return status;
}

static comp_status first_backward(comp_context *context, batch_run *run) {
  for (size_t i = 0; i < run->count; i++) {
    pass *p = &run->parts[i];
    const bool sparse = is_sparse(p), half = !sparse && comp__dense_half(p->work, &p->network->encoder[0].dense);
    p->gradient = (comp__batchnorm_gradient){.d_y = sparse ? NULL : p->at,
                                             .d_half = half ? p->work->d_half : NULL,
                                             .blocked = sparse,
                                             .scratch = p->spare,
                                             .d_act = p->at};
  }
  comp_status status = normalise_backward(context, run, false, 0);
  for (size_t i = 0; i < run->count && status == COMP_OK; i++) status = first_weights(context, &run->parts[i]);
  return status;
}

/* From the gradients by mean and raw scale of z to the one by the last hidden layer. */
static comp_status posterior_backward(comp_context *context, pass *p) {
  const comp__network *n = p->network;
  comp__work *w = p->work;
  const float *act = w->encoder[n->options.n_hidden - 1].act;
  comp_status status;
  p->at = w->d_a;
  p->spare = w->d_b;
  COMP__TRY(comp__dense_weight_gradient(context, &n->mean, p->state, p->batch, act, NULL, w->d_mean, NULL));
  COMP__TRY(comp__dense_input_gradient(context, &n->mean, p->state, p->batch->rows, p->at, w->d_mean, NULL, false));
  if (w->scale) {
    COMP__TRY(comp__dense_weight_gradient(context, &n->scale, p->state, p->batch, act, NULL, w->d_raw, NULL));
    COMP__TRY(comp__dense_input_gradient(context, &n->scale, p->state, p->batch->rows, p->at, w->d_raw, NULL, true));
  }
  comp__work_clock(w, COMP__PHASE_PRODUCT);
done:
  return status;
}

static comp_status encoder_backward(comp_context *context, batch_run *run) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < run->count && status == COMP_OK; i++) status = posterior_backward(context, &run->parts[i]);
  for (size_t l = run->parts[0].network->options.n_hidden - 1; l > 0 && status == COMP_OK; l--)
    status = hidden_backward(context, run, false, l);
  return status == COMP_OK ? first_backward(context, run) : status;
}

comp_status comp__step_parts(comp__losses *out, comp_context *context, const comp__network *network,
                             const comp__parts *parts, comp__pull pull, uint64_t seed, uint64_t step) {
  const size_t rows = comp__parts_rows(parts);
  pass passes[COMP__MOST_SHARDS];
  batch_run run = {passes, parts->count, parts->shards};
  comp_status status;
  for (size_t i = 0; i < parts->count; i++)
    passes[i] = (pass){.network = network,
                       .state = &parts->state[i],
                       .batch = &parts->batch[i],
                       .work = parts->work[i],
                       .beta = (float)(network->options.beta / (double)rows),
                       .rows = (float)rows};
  parts->work[0]->clock->since = comp__seconds();
  COMP__TRY(comp__forward(out, context, network, parts, pull, seed, step, true));
  COMP__TRY(decoder_backward(context, &run));
  for (size_t i = 0; i < run.count; i++) {
    comp__parallel_for(context, passes[i].batch->rows, COMP__ROW_CHUNK, latent_rows, &passes[i]);
    if (passes[i].work->lengths)
      comp__parallel_for(context, passes[i].batch->rows, COMP__ROW_CHUNK, bound_rows, &passes[i]);
  }
  comp__work_clock(passes[0].work, COMP__PHASE_LATENT);
  COMP__TRY(encoder_backward(context, &run));
done:
  return status;
}

comp_status comp__network_step(comp__losses *out, comp_context *context, const comp__network *network,
                               const comp__state *state, const comp__batch *batch, comp__work *work, comp__pull pull,
                               uint64_t seed, uint64_t step) {
  const comp__parts whole = {1, batch, &work, state, NULL};
  return comp__step_parts(out, context, network, &whole, pull, seed, step);
}
