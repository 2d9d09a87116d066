/* fit.c: see fit.h. */
#include "map/fit.h"

#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "map/counterparts.h"
#include "model/penalty.h"
#include "model/work.h"
#include "nn/kernels.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"
#include "train/shared.h"

/* As in model/forward.c. */
static const float EPSILON = 1e-5f, LEAST_SCALE = 1e-3f;

/* The blur of the penalty falls as in the default recipe, and the rate is in standard deviations of a unit. */
static const double BLUR_FROM = 2.0, BLUR_TO = 0.25, RATE = 0.03;

/* The penalty's weight, times that in training: a shift has less to give than all weights have. */
static const double GAMMA_FACTOR = 4.0;

/* The weight in training of a model that has no penalty of this kind. */
static const double OTHER_GAMMA = 10.0;

/* From the first share of the steps to the second, the ratios go over to those in z where these are larger. */
static const double Z_FROM = 0.1, Z_ALONE = 0.4;

/* A hidden layer in use: y -> leaky(factor y + offset). */
typedef struct layer {
  const comp__dense *dense;
  const float *weight;
  float *factor, *offset; /* [out] */
  float *act;             /* [rows, out] */
} layer;

struct comp__fit {
  const comp_model *model;
  const comp__network *network;
  size_t level, batch, hidden, latent, rows;
  const comp__sampled *query;
  const comp__posteriors *reference;
  const comp__kernels *kernels;
  comp__model_options options; /* of the penalty */
  layer encoder[COMP_MAX_HIDDEN], decoder[COMP_MAX_HIDDEN];
  float *first;              /* [query->n, encoder's first width]: products without the shift */
  float *values, *gradients; /* shift, row */
  size_t n_shift, n_row;
  float *bias;                                     /* [features]: of the output, with the condition's mean */
  float *output;                                   /* [rows, features] */
  float *sample, *d_sample;                        /* [rows] */
  double *row_loss;                                /* [rows] */
  float *d_a, *d_b;                                /* [rows, widest] */
  float *mean, *raw, *scale, *eps, *z, *d_z;       /* [rows, latent] of the query's part */
  float *d_mean, *d_raw;                           /* [rows, latent] */
  float *all_mean, *all_scale, *all_z;             /* [2 rows, latent]: both sides as the penalty sees them */
  float *pen_z, *pen_mean, *pen_scale, *pen_noise; /* [2 rows, latent] */
  void *scratch;
  const size_t *take; /* rows of the query in the step */
  float weight;
};

/* ---- Making one ------------------------------------------------------------------------------------------------ */

static comp_status init_layer(layer *l, const comp_model *model, const comp__hidden *hidden, size_t rows) {
  const size_t out = hidden->dense.out;
  comp_status status;
  l->dense = &hidden->dense;
  l->weight = model->params + hidden->dense.weight;
  COMP__TRY(comp__alloc(&l->factor, out, sizeof *l->factor));
  COMP__TRY(comp__alloc(&l->offset, out, sizeof *l->offset));
  COMP__TRY(comp__alloc(&l->act, rows * out, sizeof *l->act));
  for (size_t c = 0; c < out; c++) {
    l->factor[c] = model->params[hidden->gamma + c] / sqrtf(model->buffers[hidden->running_var + c] + EPSILON);
    l->offset[c] = model->params[hidden->beta + c] - model->buffers[hidden->running_mean + c] * l->factor[c];
  }
done:
  return status;
}

static void release_layer(layer *l) {
  comp__free(l->factor);
  comp__free(l->offset);
  comp__free(l->act);
}

/* The row of a condition in a layer's weight. */
static size_t condition_row(const comp__dense *dense, size_t level) {
  return dense->weight + (dense->in + level) * dense->out;
}

static comp_status first_products(comp_context *context, comp__fit *f) {
  const comp__dense *dense = f->encoder[0].dense;
  return comp__matmul_f32(context, f->first, dense->out, f->query->input, dense->in, f->encoder[0].weight, dense->out,
                          f->query->n, dense->out, dense->in, 0);
}

/* The vectors as the model has them. */
static comp_status start_values(comp_context *context, comp__fit *f) {
  const comp_model *m = f->model;
  const comp__dense *encoder = f->encoder[0].dense, *decoder = f->decoder[0].dense;
  comp_status status = COMP_OK;
  memset(f->values, 0, (f->n_shift + f->n_row) * sizeof *f->values);
  if (f->network->options.centred)
    status = comp__matmul_f32(context, f->values, encoder->out,
                              m->buffers + f->network->centre + f->level * f->network->features, encoder->in,
                              f->encoder[0].weight, encoder->out, 1, encoder->out, encoder->in, 0);
  for (size_t c = 0; c < f->n_shift; c++) {
    f->values[c] = -f->values[c];
    if (encoder->conditions) f->values[c] += m->params[condition_row(encoder, f->level) + c];
  }
  for (size_t c = 0; decoder->conditions && c < f->n_row; c++)
    f->values[f->n_shift + c] = m->params[condition_row(decoder, f->level) + c];
  for (size_t g = 0; g < f->network->features; g++) {
    f->bias[g] = m->params[f->network->output.bias + g];
    if (f->network->options.centred) f->bias[g] += m->buffers[f->network->centre + f->level * f->network->features + g];
  }
  return status;
}

static comp_status allocate(comp__fit *f) {
  const size_t latent = f->rows * f->latent, both = 2 * f->batch * f->latent;
  size_t widest = f->latent;
  comp_status status = COMP_OK;
  for (size_t l = 0; l < f->hidden; l++) {
    if (f->encoder[l].dense->out > widest) widest = f->encoder[l].dense->out;
    if (f->decoder[l].dense->out > widest) widest = f->decoder[l].dense->out;
  }
  float **small[] = {&f->mean, &f->raw, &f->scale, &f->eps, &f->z, &f->d_z, &f->d_mean, &f->d_raw};
  float **pairs[] = {&f->all_mean, &f->all_scale, &f->all_z, &f->pen_z, &f->pen_mean, &f->pen_scale, &f->pen_noise};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) COMP__TRY(comp__alloc(small[i], latent, sizeof(float)));
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) COMP__TRY(comp__alloc(pairs[i], both, sizeof(float)));
  COMP__TRY(comp__alloc(&f->first, f->query->n * f->n_shift, sizeof *f->first));
  COMP__TRY(comp__alloc(&f->values, f->n_shift + f->n_row, sizeof *f->values));
  COMP__TRY(comp__calloc(&f->gradients, f->n_shift + f->n_row, sizeof *f->gradients));
  COMP__TRY(comp__alloc(&f->bias, f->network->features, sizeof *f->bias));
  COMP__TRY(comp__alloc(&f->output, f->batch * f->network->features, sizeof *f->output));
  COMP__TRY(comp__calloc(&f->sample, f->batch, sizeof *f->sample));
  COMP__TRY(comp__calloc(&f->d_sample, f->batch, sizeof *f->d_sample));
  COMP__TRY(comp__alloc(&f->row_loss, f->batch, sizeof *f->row_loss));
  COMP__TRY(comp__alloc(&f->d_a, f->rows * widest, sizeof *f->d_a));
  COMP__TRY(comp__alloc(&f->d_b, f->rows * widest, sizeof *f->d_b));
  COMP__TRY(comp__alloc(&f->scratch, 1, comp__penalty_comp.scratch(&f->options, 2 * f->batch, f->latent, 2)));
done:
  return status;
}

comp_status comp__fit_new(comp__fit **out, comp_context *context, const comp_model *model, size_t level,
                          const comp__sampled *query, const comp__posteriors *reference, size_t batch) {
  comp__fit *f = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&f, 1, sizeof *f));
  f->model = model;
  f->network = &model->network;
  f->level = level;
  f->batch = batch;
  f->rows = batch > COMP__SAMPLED_BLOCK ? batch : COMP__SAMPLED_BLOCK;
  f->query = query;
  f->reference = reference;
  f->hidden = model->network.options.n_hidden;
  f->latent = model->network.options.latent;
  f->kernels = comp__kernels_get();
  f->options = model->network.options;
  f->options.learn_scale = true; /* posteriors of the reference are given as they are */
  for (size_t l = 0; l < f->hidden; l++) {
    COMP__TRY(init_layer(&f->encoder[l], model, &model->network.encoder[l], f->rows));
    COMP__TRY(init_layer(&f->decoder[l], model, &model->network.decoder[l], f->rows));
  }
  f->n_shift = f->encoder[0].dense->out;
  f->n_row = f->decoder[0].dense->out;
  COMP__TRY(allocate(f));
  COMP__TRY(first_products(context, f));
  COMP__TRY(start_values(context, f));
  *out = f;
  f = NULL;
done:
  comp__fit_free(f);
  return status;
}

void comp__fit_free(comp__fit *f) {
  if (!f) return;
  for (size_t l = 0; l < f->hidden; l++) {
    release_layer(&f->encoder[l]);
    release_layer(&f->decoder[l]);
  }
  void *blocks[] = {f->mean,      f->raw,      f->scale,     f->eps,       f->z,      f->d_z,      f->d_mean,
                    f->d_raw,     f->all_mean, f->all_scale, f->all_z,     f->pen_z,  f->pen_mean, f->pen_scale,
                    f->pen_noise, f->first,    f->values,    f->gradients, f->bias,   f->output,   f->sample,
                    f->d_sample,  f->row_loss, f->d_a,       f->d_b,       f->scratch};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) comp__free(blocks[i]);
  comp__free(f);
}

float *comp__fit_values(comp__fit *fit) {
  return fit->values;
}
const float *comp__fit_gradients(const comp__fit *fit) {
  return fit->gradients;
}
size_t comp__fit_shift_count(const comp__fit *fit) {
  return fit->n_shift;
}
size_t comp__fit_row_count(const comp__fit *fit) {
  return fit->n_row;
}

/* ---- Forward --------------------------------------------------------------------------------------------------- */

/* act = leaky(factor act + offset), in place; `add` [out] (may be NULL) comes before. */
static void activate(const layer *l, const float *add, size_t rows) {
  const size_t out = l->dense->out;
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < out; c++) {
      const float y = l->act[i * out + c] + (add ? add[c] : 0.0f), a = y * l->factor[c] + l->offset[c];
      l->act[i * out + c] = a > 0.0f ? a : COMP__LEAKY_SLOPE * a;
    }
}

static comp_status product(comp_context *context, const layer *l, const float *x, size_t rows) {
  return comp__matmul_f32(context, l->act, l->dense->out, x, l->dense->in, l->weight, l->dense->out, rows,
                          l->dense->out, l->dense->in, 0);
}

static comp_status head(comp_context *context, const comp__fit *f, const comp__dense *dense, float *out, const float *x,
                        size_t rows) {
  const float *params = f->model->params;
  comp_status status = comp__matmul_f32(context, out, dense->out, x, dense->in, params + dense->weight, dense->out,
                                        rows, dense->out, dense->in, 0);
  for (size_t i = 0; i < rows; i++)
    for (size_t d = 0; d < dense->out; d++) out[i * dense->out + d] += params[dense->bias + d];
  return status;
}

/* Posteriors of rows of the query: mean and scale. */
static comp_status encode(comp_context *context, comp__fit *f, const size_t *rows, size_t n) {
  const layer *first = &f->encoder[0], *last = &f->encoder[f->hidden - 1];
  const comp__model_options *o = &f->network->options;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < n; i++)
    memcpy(first->act + i * f->n_shift, f->first + rows[i] * f->n_shift, f->n_shift * sizeof(float));
  activate(first, f->values, n);
  for (size_t l = 1; l < f->hidden; l++) {
    COMP__TRY(product(context, &f->encoder[l], f->encoder[l - 1].act, n));
    activate(&f->encoder[l], NULL, n);
  }
  COMP__TRY(head(context, f, &f->network->mean, f->mean, last->act, n));
  if (o->learn_scale) COMP__TRY(head(context, f, &f->network->scale, f->raw, last->act, n));
  for (size_t i = 0; i < n * f->latent; i++)
    f->scale[i] = o->learn_scale ? LEAST_SCALE + comp__softplus(f->raw[i]) : (float)o->scale;
done:
  return status;
}

static double draw(comp__fit *f, size_t n, uint64_t seed, uint64_t step) {
  double kl = 0.0;
  for (size_t i = 0; i < n; i++) {
    comp__rng_fill_normal(f->eps + i * f->latent, f->latent,
                          comp__rng_at(seed, COMP__RNG_LATENT, step, (uint64_t)f->take[i]), 0);
    for (size_t d = i * f->latent; d < (i + 1) * f->latent; d++) {
      const double mean = f->mean[d], scale = f->scale[d];
      f->z[d] = f->mean[d] + f->scale[d] * f->eps[d];
      kl += 0.5 * (mean * mean + scale * scale - 1.0) - log(scale);
    }
  }
  return kl;
}

/* The likelihood of some rows; output becomes the gradient by it. */
static void likelihood_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp__fit *f = arg;
  const comp__network *n = f->network;
  const comp__likelihood *likelihood = n->likelihood;
  const float *act = f->decoder[f->hidden - 1].act, *params = f->model->params;
  comp__likelihood_row row = {.kernels = f->kernels,
                              .features = n->features,
                              .stored = n->features,
                              .bias = f->bias,
                              .weight = f->weight,
                              .training = true};
  if (likelihood->feature_vector) row.vector = params + n->feature_vector;
  for (size_t i = begin; i < end; i++) {
    row.value = f->query->x + f->take[i] * n->features;
    row.output = f->output + i * n->features;
    row.d_sample = &f->d_sample[i];
    if (f->query->library) row.library = f->query->library[f->take[i]];
    if (likelihood->sample_layer) {
      const comp__dense *dense = &n->sample_layer;
      double sum = params[dense->bias];
      for (size_t c = 0; c < dense->in; c++) sum += (double)act[i * dense->in + c] * (double)params[dense->weight + c];
      row.sample = (float)sum;
    }
    f->row_loss[i] = likelihood->loss(&row);
  }
}

static comp_status decode(comp_context *context, comp__fit *f, size_t n) {
  const comp__dense *output = &f->network->output;
  comp_status status;
  COMP__TRY(product(context, &f->decoder[0], f->z, n));
  activate(&f->decoder[0], f->decoder[0].dense->conditions ? f->values + f->n_shift : NULL, n);
  for (size_t l = 1; l < f->hidden; l++) {
    COMP__TRY(product(context, &f->decoder[l], f->decoder[l - 1].act, n));
    activate(&f->decoder[l], NULL, n);
  }
  COMP__TRY(comp__matmul_f32(context, f->output, output->out, f->decoder[f->hidden - 1].act, output->in,
                             f->model->params + output->weight, output->out, n, output->out, output->in, 0));
  comp__parallel_for(context, n, COMP__ROW_CHUNK, likelihood_rows, f);
done:
  return status;
}

/* Both sides as the penalty sees them: the reference first. */
static comp_status run_penalty(double *out, comp_context *context, comp__fit *f, const comp__fit_batch *b,
                               comp__pull pull, uint64_t seed, uint64_t step) {
  const size_t latent = f->latent, nr = b->n_reference, start[] = {0, nr, nr + b->n_query};
  const float blur = (float)pull.blur;
  for (size_t i = 0; i < nr; i++) {
    float *eps = f->pen_noise + i * latent;
    comp__rng_fill_normal(eps, latent, comp__rng_at(seed, COMP__RNG_POSTERIOR, step, (uint64_t)b->reference[i]), 0);
    for (size_t d = 0; d < latent; d++) {
      const size_t from = b->reference[i] * latent + d, to = i * latent + d;
      f->all_mean[to] = f->reference->mean[from];
      f->all_scale[to] = hypotf(f->reference->scale[from], blur);
      f->all_z[to] = f->all_mean[to] + f->all_scale[to] * eps[d];
    }
  }
  for (size_t d = 0; d < b->n_query * latent; d++) {
    const size_t to = nr * latent + d;
    f->all_mean[to] = f->mean[d];
    f->all_scale[to] = hypotf(f->scale[d], blur);
    f->all_z[to] = f->all_mean[to] + f->all_scale[to] * f->eps[d];
  }
  const comp__penalty_input input = {.rows = start[2],
                                     .dims = latent,
                                     .conditions = 2,
                                     .start = start,
                                     .values = f->all_z,
                                     .mean = f->all_mean,
                                     .scale = f->all_scale,
                                     .weight = b->weight};
  const comp__penalty_gradient gradient = {f->pen_z, f->pen_mean, f->pen_scale};
  return comp__penalty_comp.run(out, context, &f->options, &input, &gradient, (float)pull.gamma, f->scratch);
}

/* ---- Backward -------------------------------------------------------------------------------------------------- */

/* d_act becomes d_y; sums over rows go to `sums` [out] unless it is NULL. */
static void activate_backward(const layer *l, float *d, float *sums, size_t rows) {
  const size_t out = l->dense->out;
  if (sums) memset(sums, 0, out * sizeof *sums);
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < out; c++) {
      d[i * out + c] *= l->factor[c] * (l->act[i * out + c] > 0.0f ? 1.0f : COMP__LEAKY_SLOPE);
      if (sums) sums[c] += d[i * out + c];
    }
}

/* dx = d w^T. */
static comp_status input_gradient(comp_context *context, const comp__fit *f, const comp__dense *dense, float *dx,
                                  const float *d, size_t rows, unsigned flags) {
  return comp__matmul_f32(context, dx, dense->in, d, dense->out, f->model->params + dense->weight, dense->out, rows,
                          dense->in, dense->out, COMP__TRANS_B | flags);
}

static void exchange(float **a, float **b) {
  float *kept = *a;
  *a = *b;
  *b = kept;
}

static comp_status decoder_backward(comp_context *context, comp__fit *f, size_t n) {
  const comp__network *net = f->network;
  float *d = f->d_a, *dx = f->d_b;
  comp_status status;
  COMP__TRY(input_gradient(context, f, &net->output, d, f->output, n, 0));
  if (net->likelihood->sample_layer)
    for (size_t i = 0; i < n; i++)
      for (size_t c = 0; c < net->sample_layer.in; c++)
        d[i * net->sample_layer.in + c] += f->d_sample[i] * f->model->params[net->sample_layer.weight + c];
  for (size_t l = f->hidden - 1; l > 0; l--) {
    activate_backward(&f->decoder[l], d, NULL, n);
    COMP__TRY(input_gradient(context, f, f->decoder[l].dense, dx, d, n, 0));
    exchange(&d, &dx);
  }
  activate_backward(&f->decoder[0], d, f->gradients + f->n_shift, n);
  COMP__TRY(input_gradient(context, f, f->decoder[0].dense, f->d_z, d, n, 0));
done:
  return status;
}

/* As latent_rows() of model/backward.c. */
static void latent_backward(comp__fit *f, size_t n, size_t n_reference, float beta) {
  const size_t from = n_reference * f->latent;
  for (size_t d = 0; d < n * f->latent; d++) {
    const float pull = f->pen_z[from + d];
    f->d_mean[d] = f->d_z[d] + pull + f->pen_mean[from + d] + beta * f->mean[d];
    if (!f->network->options.learn_scale) continue;
    const float slope = f->scale[d] / f->all_scale[from + d];
    const float d_scale = (f->d_z[d] + slope * pull) * f->eps[d] + slope * f->pen_scale[from + d] +
                          beta * (f->scale[d] - 1.0f / f->scale[d]);
    f->d_raw[d] = d_scale / (1.0f + expf(-f->raw[d]));
  }
}

static comp_status encoder_backward(comp_context *context, comp__fit *f, size_t n) {
  float *d = f->d_a, *dx = f->d_b;
  comp_status status;
  COMP__TRY(input_gradient(context, f, &f->network->mean, d, f->d_mean, n, 0));
  if (f->network->options.learn_scale)
    COMP__TRY(input_gradient(context, f, &f->network->scale, d, f->d_raw, n, COMP__ACCUMULATE));
  for (size_t l = f->hidden - 1; l > 0; l--) {
    activate_backward(&f->encoder[l], d, NULL, n);
    COMP__TRY(input_gradient(context, f, f->encoder[l].dense, dx, d, n, 0));
    exchange(&d, &dx);
  }
  activate_backward(&f->encoder[0], d, f->gradients, n);
done:
  return status;
}

comp_status comp__fit_step(comp__losses *out, comp_context *context, comp__fit *f, const comp__fit_batch *batch,
                           comp__pull pull, uint64_t seed, uint64_t step) {
  const comp__model_options *o = &f->network->options;
  const size_t n = batch->n_query;
  double weight = 1.0 / (double)n, likelihood = 0.0;
  comp_status status;
  if (o->reduction == COMP_REDUCTION_MEAN) weight /= (double)f->network->features;
  f->weight = (float)weight;
  f->take = batch->query;
  COMP__TRY(encode(context, f, batch->query, n));
  out->kl = draw(f, n, seed, step) / (double)n;
  COMP__TRY(decode(context, f, n));
  for (size_t i = 0; i < n; i++) likelihood += f->row_loss[i];
  out->likelihood = likelihood * weight;
  COMP__TRY(run_penalty(&out->penalty, context, f, batch, pull, seed, step));
  out->total = out->likelihood + o->beta * out->kl + pull.gamma * out->penalty;
  COMP__TRY(decoder_backward(context, f, n));
  latent_backward(f, n, batch->n_reference, (float)(o->beta / (double)n));
  COMP__TRY(encoder_backward(context, f, n));
done:
  return status;
}

/* ---- The run --------------------------------------------------------------------------------------------------- */

comp_status comp__fit_encode(float *z, comp_context *context, comp__fit *f) {
  size_t rows[COMP__SAMPLED_BLOCK];
  comp_status status = COMP_OK;
  for (size_t first = 0; first < f->query->n && status == COMP_OK; first += COMP__SAMPLED_BLOCK) {
    const size_t left = f->query->n - first, n = left < COMP__SAMPLED_BLOCK ? left : COMP__SAMPLED_BLOCK;
    for (size_t i = 0; i < n; i++) rows[i] = first + i;
    status = encode(context, f, rows, n);
    memcpy(z + first * f->latent, f->mean, n * f->latent * sizeof *z);
  }
  return status;
}

/* What a run changes. */
typedef struct run {
  comp_context *context;
  comp__fit *fit;
  float *first, *now, *fresh, *z; /* ratios; z of both sides */
  size_t *reference, *query;      /* permutations */
  float *weight;
  double *m, *v, *unit; /* Adam; the standard deviation of each unit */
  size_t steps;
} run;

static comp_status measure(run *r, size_t step) {
  comp__fit *f = r->fit;
  const size_t nr = f->reference->n, n = nr + f->query->n;
  const double done = (double)step / (double)r->steps;
  const float part = (float)fmax(0.0, fmin(1.0, (done - Z_FROM) / (Z_ALONE - Z_FROM)));
  comp_status status = comp__fit_encode(r->z + nr * f->latent, r->context, f);
  if (status == COMP_OK) status = comp__counterparts_in_z(r->fresh, r->context, r->z, nr, f->query->n, f->latent);
  for (size_t i = 0; i < n && status == COMP_OK; i++)
    r->now[i] = r->first[i] + part * fmaxf(0.0f, r->fresh[i] - r->first[i]);
  return status;
}

static void adam(run *r, size_t step) {
  comp__fit *f = r->fit;
  const double t = (double)step + 1.0, done = (double)step / (double)r->steps;
  const double warm = fmin(1.0, (done + 1.0 / (double)r->steps) / 0.1);
  const double rate = RATE * warm * 0.5 * (1.0 + cos(M_PI * done));
  for (size_t i = 0; i < f->n_shift + f->n_row; i++) {
    const double g = (double)f->gradients[i] * r->unit[i];
    r->m[i] = 0.9 * r->m[i] + 0.1 * g;
    r->v[i] = 0.999 * r->v[i] + 0.001 * g * g;
    const double m = r->m[i] / (1.0 - pow(0.9, t)), v = r->v[i] / (1.0 - pow(0.999, t));
    f->values[i] -= (float)(r->unit[i] * rate * m / (sqrt(v) + 1e-8));
  }
}

static comp_status one_step(run *r, size_t step, uint64_t seed) {
  comp__fit *f = r->fit;
  const size_t nr = f->reference->n, nq = f->query->n;
  comp__fit_batch batch = {.reference = r->reference,
                           .query = r->query,
                           .n_reference = nr < f->batch ? nr : f->batch,
                           .n_query = nq < f->batch ? nq : f->batch,
                           .weight = r->weight};
  const double done = r->steps > 1 ? (double)step / (double)(r->steps - 1) : 1.0;
  const comp__model_options *o = &f->network->options;
  const comp__penalty *penalty = comp__penalty_find(o->penalty);
  const comp__pull pull = {GAMMA_FACTOR * (penalty && penalty->needs_posteriors ? o->gamma : OTHER_GAMMA),
                           BLUR_FROM * pow(BLUR_TO / BLUR_FROM, done)};
  comp__losses losses;
  comp__rng_permutation(r->reference, nr, comp__rng_at(seed, COMP__RNG_SHUFFLE, step, 0));
  comp__rng_permutation(r->query, nq, comp__rng_at(seed, COMP__RNG_SHUFFLE, step, 1));
  for (size_t i = 0; i < batch.n_reference; i++) r->weight[i] = comp__counterpart_weight(r->now[r->reference[i]]);
  for (size_t i = 0; i < batch.n_query; i++)
    r->weight[batch.n_reference + i] = comp__counterpart_weight(r->now[nr + r->query[i]]);
  comp_status status = comp__fit_step(&losses, r->context, f, &batch, pull, seed, step);
  if (status != COMP_OK) return status;
  if (!isfinite(losses.total))
    return comp__error(COMP_ERR_NUMERIC, "the fit of the new condition diverged: values of X are too large, or the "
                                         "model file is damaged");
  comp__debug(r->context, "step %zu: %g = likelihood %g, KL %g, penalty %g", step, losses.total, losses.likelihood,
              losses.kl, losses.penalty);
  adam(r, step);
  return COMP_OK;
}

/* Standard deviations of the units that the vectors are added to; 0 keeps a vector as it is. */
static void units(run *r) {
  const comp__fit *f = r->fit;
  const comp__hidden *encoder = &f->network->encoder[0], *decoder = &f->network->decoder[0];
  for (size_t c = 0; c < f->n_shift; c++)
    r->unit[c] = encoder->dense.conditions ? sqrt((double)f->model->buffers[encoder->running_var + c]) : 0.0;
  for (size_t c = 0; c < f->n_row; c++)
    r->unit[f->n_shift + c] =
        decoder->dense.conditions ? sqrt((double)f->model->buffers[decoder->running_var + c]) : 0.0;
}

comp_status comp__fit_run(comp_context *context, comp__fit *fit, float *ratio, size_t steps, uint64_t seed) {
  const size_t nr = fit->reference->n, n = nr + fit->query->n, values = fit->n_shift + fit->n_row;
  run r = {.context = context, .fit = fit, .now = ratio, .steps = steps};
  comp_status status;
  COMP__TRY(comp__alloc(&r.first, n, sizeof *r.first));
  COMP__TRY(comp__alloc(&r.fresh, n, sizeof *r.fresh));
  COMP__TRY(comp__alloc(&r.z, n * fit->latent, sizeof *r.z));
  COMP__TRY(comp__alloc(&r.reference, nr, sizeof *r.reference));
  COMP__TRY(comp__alloc(&r.query, fit->query->n, sizeof *r.query));
  COMP__TRY(comp__alloc(&r.weight, 2 * fit->batch, sizeof *r.weight));
  COMP__TRY(comp__calloc(&r.m, values, sizeof *r.m));
  COMP__TRY(comp__calloc(&r.v, values, sizeof *r.v));
  COMP__TRY(comp__calloc(&r.unit, values, sizeof *r.unit));
  memcpy(r.first, ratio, n * sizeof *r.first);
  memcpy(r.z, fit->reference->mean, nr * fit->latent * sizeof *r.z);
  units(&r);
  comp__progress_begin(context, "fitting", "steps", steps);
  for (size_t step = 0; step < steps && status == COMP_OK; step++) {
    comp__progress_update(context, step, NULL);
    status = comp__check_interrupt(context);
    if (status == COMP_OK && comp__shared_is_due(step, steps)) status = measure(&r, step);
    if (status == COMP_OK) status = one_step(&r, step, seed);
  }
  if (status == COMP_OK) status = measure(&r, steps);
  comp__progress_end(context);
done:
  comp__free(r.first);
  comp__free(r.fresh);
  comp__free(r.z);
  comp__free(r.reference);
  comp__free(r.query);
  comp__free(r.weight);
  comp__free(r.m);
  comp__free(r.v);
  comp__free(r.unit);
  return status;
}

comp_status comp__fit_store(comp_context *context, const comp__fit *f, comp_model *model) {
  const comp__network *n = &model->network;
  const comp__dense *encoder = &n->encoder[0].dense, *decoder = &n->decoder[0].dense;
  float *mean = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&mean, f->n_shift, sizeof *mean));
  if (n->options.centred)
    COMP__TRY(comp__matmul_f32(context, mean, encoder->out, model->buffers + n->centre + f->level * n->features,
                               encoder->in, model->params + encoder->weight, encoder->out, 1, encoder->out, encoder->in,
                               0));
  for (size_t c = 0; encoder->conditions && c < f->n_shift; c++)
    model->params[condition_row(encoder, f->level) + c] = f->values[c] + mean[c];
  for (size_t c = 0; decoder->conditions && c < f->n_row; c++)
    model->params[condition_row(decoder, f->level) + c] = f->values[f->n_shift + c];
done:
  comp__free(mean);
  return status;
}
