/*
 * perceptron.c: the attacker that is a network: two hidden layers of rectified units, one sigmoid a problem, trained
 * with Adam on batches. Its products are those of the models (nn/matmul.h), so that the same seed gives the same bytes.
 */
#include <math.h>
#include <string.h>

#include "audit/attack.h"
#include "audit/scaled.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/threads.h"
#include "nn/matmul.h"

enum { BATCH = 256, LAYERS = 3, STEP_WEIGHTS = 2, STEP_ORDER = 3 /* of COMP__RNG_AUDIT */ };

static const char *const settings[] = {"64, 64 units", "128, 128 units, longer", NULL};
static const size_t widths[] = {64, 128}, steps_of[] = {1000, 2000};

typedef struct perceptron {
  comp__scaling scaling;
  size_t sizes[LAYERS + 1]; /* features, width, width, problems */
  size_t offsets[LAYERS];   /* of a layer's weight [in, out], then its bias [out] */
  size_t n_params;
  float *params;
} perceptron;

static void perceptron_free(void *raw) {
  perceptron *model = raw;
  if (!model) return;
  comp__scaling_release(&model->scaling);
  comp__free(model->params);
  comp__free(model);
}

/* Activations of a batch. */
typedef struct work {
  float *a[LAYERS + 1]; /* [batch, sizes[l]]: the input, hidden layers, logits */
  float *d[LAYERS + 1]; /* their gradients */
} work;

static void work_release(work *w) {
  for (size_t l = 0; l <= LAYERS; l++) {
    comp__free(w->a[l]);
    comp__free(w->d[l]);
  }
}

static comp_status work_init(work *w, const perceptron *model) {
  comp_status status = COMP_OK;
  *w = (work){0};
  for (size_t l = 0; l <= LAYERS && status == COMP_OK; l++) {
    status = comp__alloc(&w->a[l], BATCH * model->sizes[l], sizeof(float));
    if (status == COMP_OK) status = comp__alloc(&w->d[l], BATCH * model->sizes[l], sizeof(float));
  }
  return status;
}

static comp_status forward(comp_context *context, const perceptron *model, work *w, size_t rows) {
  comp_status status = COMP_OK;
  for (size_t l = 0; l < LAYERS && status == COMP_OK; l++) {
    const size_t in = model->sizes[l], out = model->sizes[l + 1];
    const float *weight = model->params + model->offsets[l], *bias = weight + in * out;
    for (size_t i = 0; i < rows; i++) memcpy(w->a[l + 1] + i * out, bias, out * sizeof *bias);
    status = comp__matmul_f32(context, w->a[l + 1], out, w->a[l], in, weight, out, rows, out, in, COMP__ACCUMULATE);
    if (l + 1 == LAYERS) break;
    for (size_t k = 0; k < rows * out; k++) w->a[l + 1][k] = fmaxf(w->a[l + 1][k], 0.0f);
  }
  return status;
}

/* From d[LAYERS], the gradient of the logits. */
static comp_status backward(comp_context *context, const perceptron *model, work *w, float *gradient, size_t rows) {
  comp_status status = COMP_OK;
  for (size_t l = LAYERS; l-- > 0 && status == COMP_OK;) {
    const size_t in = model->sizes[l], out = model->sizes[l + 1];
    float *dw = gradient + model->offsets[l], *db = dw + in * out;
    memset(db, 0, out * sizeof *db);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < out; j++) db[j] += w->d[l + 1][i * out + j];
    status = comp__matmul_f32(context, dw, out, w->a[l], in, w->d[l + 1], out, in, out, rows, COMP__TRANS_A);
    if (l == 0 || status != COMP_OK) break;
    status = comp__matmul_f32(context, w->d[l], in, w->d[l + 1], out, model->params + model->offsets[l], out, rows, in,
                              out, COMP__TRANS_B);
    for (size_t k = 0; k < rows * in; k++)
      if (!(w->a[l][k] > 0.0f)) w->d[l][k] = 0.0f;
  }
  return status;
}

static float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

typedef struct adam {
  float *gradient, *m, *v; /* [params] */
} adam;

static void adam_step(float *params, adam *o, size_t n, size_t step, double rate) {
  const double first = 1 - pow(0.9, (double)step), second = 1 - pow(0.999, (double)step);
  for (size_t k = 0; k < n; k++) {
    const float g = o->gradient[k] + 1e-4f * params[k];
    o->m[k] += 0.1f * (g - o->m[k]);
    o->v[k] += 0.001f * (g * g - o->v[k]);
    params[k] -= (float)(rate * ((double)o->m[k] / first) / (sqrt((double)o->v[k] / second) + 1e-8));
  }
}

static void start(perceptron *model, uint64_t seed) {
  for (size_t l = 0; l < LAYERS; l++) {
    const size_t in = model->sizes[l], out = model->sizes[l + 1];
    float *weight = model->params + model->offsets[l];
    comp__rng_fill_normal(weight, in * out, comp__rng_at(seed, COMP__RNG_AUDIT, STEP_WEIGHTS, l), 0);
    const float scale = (float)sqrt(2.0 / (double)(in ? in : 1));
    for (size_t k = 0; k < in * out; k++) weight[k] *= scale;
  }
}

static comp_status learn(perceptron *model, comp_context *context, const comp__examples *train, const comp_matrix *x,
                         size_t steps, uint64_t seed) {
  const size_t n = train->n, features = model->sizes[0], problems = model->sizes[LAYERS];
  const size_t batch = n < BATCH ? n : BATCH;
  size_t *order = NULL, at = n, epoch = 0;
  adam o = {0};
  work w = {0};
  comp_status status;
  COMP__TRY(work_init(&w, model));
  COMP__TRY(comp__alloc(&order, n, sizeof *order));
  COMP__TRY(comp__alloc(&o.gradient, model->n_params, sizeof(float)));
  COMP__TRY(comp__calloc(&o.m, model->n_params, sizeof(float)));
  COMP__TRY(comp__calloc(&o.v, model->n_params, sizeof(float)));
  for (size_t step = 1; step <= steps; step++) {
    if (at + batch > n) {
      comp__rng_permutation(order, n, comp__rng_at(seed, COMP__RNG_AUDIT, STEP_ORDER, epoch++));
      at = 0;
      COMP__TRY(comp__check_interrupt(context));
    }
    for (size_t i = 0; i < batch; i++)
      memcpy(w.a[0] + i * features, x->values + order[at + i] * features, features * sizeof(float));
    COMP__TRY(forward(context, model, &w, batch));
    for (size_t i = 0; i < batch; i++)
      for (size_t b = 0; b < problems; b++) {
        const float y = comp__positive(train, b, order[at + i]) ? 1.0f : 0.0f;
        w.d[LAYERS][i * problems + b] = (sigmoid(w.a[LAYERS][i * problems + b]) - y) / (float)batch;
      }
    COMP__TRY(backward(context, model, &w, o.gradient, batch));
    adam_step(model->params, &o, model->n_params, step,
              3e-3 * 0.5 * (1 + cos(3.14159265358979 * (double)step / (double)steps)));
    at += batch;
  }
done:
  work_release(&w);
  comp__free(order);
  comp__free(o.gradient);
  comp__free(o.m);
  comp__free(o.v);
  return status;
}

/* Products of so few rows are not worth several threads: all steps run on one. */
typedef struct lesson {
  perceptron *model;
  comp_context *context;
  const comp__examples *train;
  const comp_matrix *x;
  size_t steps;
  uint64_t seed;
} lesson;

static comp_status learn_here(void *arg, size_t begin, size_t end, int thread) {
  (void)begin;
  (void)end;
  (void)thread;
  const lesson *l = arg;
  return learn(l->model, l->context, l->train, l->x, l->steps, l->seed);
}

/* No more steps than make 60 epochs, of few samples some hundreds. */
static size_t steps_for(size_t setting, size_t n) {
  enum { EPOCHS = 60, FEWEST = 300 };
  const size_t steps = EPOCHS * (n / BATCH + 1);
  if (steps < FEWEST) return FEWEST;
  return steps < steps_of[setting] ? steps : steps_of[setting];
}

static comp_status perceptron_fit(void **out, comp_context *context, const comp__examples *train, size_t setting,
                                  uint64_t seed) {
  perceptron *model;
  comp_matrix *x = NULL;
  *out = NULL;
  comp_status status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  const size_t sizes[LAYERS + 1] = {train->features, widths[setting], widths[setting], comp__problems(train->n_levels)};
  memcpy(model->sizes, sizes, sizeof sizes);
  for (size_t l = 0; l < LAYERS; l++) {
    model->offsets[l] = model->n_params;
    model->n_params += (sizes[l] + 1) * sizes[l + 1];
  }
  COMP__TRY(comp__calloc(&model->params, model->n_params, sizeof *model->params));
  COMP__TRY(comp__scaling_init(&model->scaling, train));
  COMP__TRY(comp__scaling_apply(&x, &model->scaling, train));
  start(model, seed);
  lesson l = {model, context, train, x, steps_for(setting, train->n), seed};
  COMP__TRY(comp__parallel_try(context, 1, 1, learn_here, &l));
  *out = model;
done:
  comp_matrix_free(x);
  if (status != COMP_OK) perceptron_free(model);
  return status;
}

static comp_status perceptron_score(float *scores, comp_context *context, const void *raw, const comp__examples *e) {
  const perceptron *model = raw;
  const size_t features = model->sizes[0], problems = model->sizes[LAYERS];
  comp_matrix *x = NULL;
  work w = {0};
  comp_status status;
  COMP__TRY(work_init(&w, model));
  COMP__TRY(comp__scaling_apply(&x, &model->scaling, e));
  for (size_t at = 0; at < e->n; at += BATCH) {
    const size_t rows = e->n - at < BATCH ? e->n - at : BATCH;
    memcpy(w.a[0], x->values + at * features, rows * features * sizeof(float));
    COMP__TRY(forward(context, model, &w, rows));
    for (size_t k = 0; k < rows * problems; k++) scores[at * problems + k] = sigmoid(w.a[LAYERS][k]);
  }
done:
  work_release(&w);
  comp_matrix_free(x);
  return status;
}

const comp__learner comp__attacker_perceptron = {
    .name = "mlp",
    .title = "neural network",
    .help = "two hidden layers, features standardised",
    .settings = settings,
    .fit = perceptron_fit,
    .score = perceptron_score,
    .free = perceptron_free,
    .many = true,
};
