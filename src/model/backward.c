/* backward.c: from the losses of a batch to the gradient of every parameter. */
#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "model/bound.h"
#include "model/dense.h"
#include "nn/matmul.h"

/* One call's arguments, for the loops over rows and columns. */
typedef struct pass {
  const comp__network *network;
  const comp__state *state;
  const comp__batch *batch;
  comp__work *work;
  float beta; /* weight of one sample's KL */
  comp__batchnorm bn;
  comp__batchnorm_gradient gradient;
  float *d; /* [rows, out] gradient by the last hidden activation */
} pass;

static void norm_columns(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const pass *p = arg;
  p->work->kernels->batchnorm_backward(&p->bn, &p->gradient, begin, end - begin);
}

/* `gradient` says where the gradient by a layer's activation is, and in which forms that by its product is wanted. */
static void normalise_backward(comp_context *context, pass *p, const comp__hidden *hidden,
                               const comp__layer_work *layer, comp__batchnorm_gradient gradient) {
  p->bn = (comp__batchnorm){.rows = p->batch->rows,
                            .cols = hidden->dense.out,
                            .gamma = p->state->params + hidden->gamma,
                            .beta = p->state->params + hidden->beta,
                            .inv_std = layer->inv_std,
                            .slope = COMP__LEAKY_SLOPE};
  p->gradient = gradient;
  p->gradient.d_gamma = p->state->grads + hidden->gamma;
  p->gradient.d_beta = p->state->grads + hidden->beta;
  p->gradient.xhat = layer->xhat;
  comp__parallel_for(context, hidden->dense.out, COMP__BN_COLUMNS, norm_columns, p);
  comp__work_clock(p->work, COMP__PHASE_NORM);
}

/* One hidden layer: d [rows, out] is the gradient by its activation; dx gets the one by its input. Products run in bf16
 * when x_half is given. */
static comp_status hidden_backward(comp_context *context, pass *p, const comp__hidden *hidden,
                                   const comp__layer_work *layer, float *d, float *dx, const float *x,
                                   const uint16_t *x_half) {
  comp_status status;
  uint16_t *d_half = x_half ? p->work->d_half : NULL;
  const bool only_half = x_half && !hidden->dense.conditions && !hidden->dense.has_bias;
  normalise_backward(
      context, p, hidden, layer,
      (comp__batchnorm_gradient){.d_y = only_half ? NULL : d, .d_half = d_half, .scratch = dx, .d_act = d});
  COMP__TRY(comp__dense_weight_gradient(context, &hidden->dense, p->state, p->batch, x, x_half, d, d_half));
  COMP__TRY(comp__dense_input_gradient(context, &hidden->dense, p->state, p->batch->rows, dx, d, d_half, false));
  comp__work_clock(p->work, COMP__PHASE_PRODUCT);
done:
  return status;
}

static void swap(float **a, float **b) {
  float *kept = *a;
  *a = *b;
  *b = kept;
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

/* Down to d_z, the gradient by z of likelihood and of a penalty at the decoder's first hidden layer. */
static comp_status decoder_backward(comp_context *context, pass *p) {
  const comp__network *n = p->network;
  comp__work *w = p->work;
  float *d = w->d_a, *dx = w->d_b;
  comp_status status;
  COMP__TRY(likelihood_backward(context, p, d)); /* the forward pass has left the output's part in d */
  for (size_t l = n->options.n_hidden - 1; l > 0; l--) {
    const comp__layer_work *below = &w->decoder[l - 1];
    bool half = comp__dense_half(w, &n->decoder[l].dense);
    COMP__TRY(
        hidden_backward(context, p, &n->decoder[l], &w->decoder[l], d, dx, below->act, half ? below->act_half : NULL));
    swap(&d, &dx);
  }
  if (w->penalty && n->options.place == COMP_PLACE_HIDDEN) {
    add_job job = {d, w->pen_values};
    comp__parallel_for(context, p->batch->rows * n->decoder[0].dense.out, 8192, add_values, &job);
  }
  /* The first layer's input is z: always f32, as it is narrow. */
  normalise_backward(context, p, &n->decoder[0], &w->decoder[0],
                     (comp__batchnorm_gradient){.d_y = d, .scratch = dx, .d_act = d});
  COMP__TRY(comp__dense_weight_gradient(context, &n->decoder[0].dense, p->state, p->batch, w->z, NULL, d, NULL));
  COMP__TRY(
      comp__dense_input_gradient(context, &n->decoder[0].dense, p->state, p->batch->rows, w->d_z, d, NULL, false));
  comp__work_clock(w, COMP__PHASE_PRODUCT);
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
    const float slope = comp__bound_slope(w->lengths[i], w->length_limit) / (float)p->batch->rows;
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

/* The encoder's first layer, whose input is the data: d is the gradient by its activation, `spare` the other buffer. */
static comp_status first_backward(comp_context *context, pass *p, float *d, float *spare) {
  const comp__dense *dense = &p->network->encoder[0].dense;
  const comp__work *w = p->work;
  const bool sparse = comp_matrix_get_kind(p->batch->input) == COMP_CSR, half = !sparse && comp__dense_half(w, dense);
  const comp__blocks d_y =
      sparse ? comp__blocks_of_blocked(spare, p->batch->rows) : comp__blocks_of_matrix(d, dense->out);
  comp_status status = COMP_OK;
  normalise_backward(context, p, &p->network->encoder[0], &w->encoder[0],
                     (comp__batchnorm_gradient){.d_y = sparse ? NULL : d,
                                                .d_half = half ? w->d_half : NULL,
                                                .blocked = sparse,
                                                .scratch = spare,
                                                .d_act = d});
  if (sparse) {
    comp__sparse_weight_gradient(context, dense, p->state, p->batch, w->kernels, d_y);
    comp__work_clock(p->work, COMP__PHASE_SPARSE);
  } else if (!half && p->batch->take) {
    status = first_weight_panels(context, p, d);
  } else {
    status = comp__dense_weight_gradient(context, dense, p->state, p->batch, comp_matrix_const_values(p->batch->input),
                                         half ? w->x_half : NULL, d, half ? w->d_half : NULL);
  }
  if (status == COMP_OK && p->network->options.centred) status = centre_backward(context, p, d_y);
  comp__work_clock(p->work, COMP__PHASE_PRODUCT);
  return status;
}

static comp_status encoder_backward(comp_context *context, pass *p) {
  const comp__network *n = p->network;
  comp__work *w = p->work;
  size_t last = n->options.n_hidden - 1;
  float *d = w->d_a, *dx = w->d_b;
  const float *act = w->encoder[last].act;
  comp_status status;
  COMP__TRY(comp__dense_weight_gradient(context, &n->mean, p->state, p->batch, act, NULL, w->d_mean, NULL));
  COMP__TRY(comp__dense_input_gradient(context, &n->mean, p->state, p->batch->rows, d, w->d_mean, NULL, false));
  if (w->scale) {
    COMP__TRY(comp__dense_weight_gradient(context, &n->scale, p->state, p->batch, act, NULL, w->d_raw, NULL));
    COMP__TRY(comp__dense_input_gradient(context, &n->scale, p->state, p->batch->rows, d, w->d_raw, NULL, true));
  }
  comp__work_clock(w, COMP__PHASE_PRODUCT);
  for (size_t l = last; l > 0; l--) {
    const comp__layer_work *below = &w->encoder[l - 1];
    bool half = comp__dense_half(w, &n->encoder[l].dense);
    COMP__TRY(
        hidden_backward(context, p, &n->encoder[l], &w->encoder[l], d, dx, below->act, half ? below->act_half : NULL));
    swap(&d, &dx);
  }
  COMP__TRY(first_backward(context, p, d, dx));
done:
  return status;
}

comp_status comp__network_step(comp__losses *out, comp_context *context, const comp__network *network,
                               const comp__state *state, const comp__batch *batch, comp__work *work, comp__pull pull,
                               uint64_t seed, uint64_t step) {
  comp_status status;
  pass p = {.network = network,
            .state = state,
            .batch = batch,
            .work = work,
            .beta = (float)(network->options.beta / (double)batch->rows)};
  work->since = comp__seconds();
  COMP__TRY(comp__forward(out, context, network, state, batch, work, pull, seed, step, true));
  COMP__TRY(decoder_backward(context, &p));
  comp__parallel_for(context, batch->rows, COMP__ROW_CHUNK, latent_rows, &p);
  if (work->lengths) comp__parallel_for(context, batch->rows, COMP__ROW_CHUNK, bound_rows, &p);
  comp__work_clock(work, COMP__PHASE_LATENT);
  COMP__TRY(encoder_backward(context, &p));
done:
  return status;
}
