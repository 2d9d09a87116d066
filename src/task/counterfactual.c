/* counterfactual.c: encode, swap the condition, decode. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comp/task.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/threads.h"
#include "dist/comm.h"
#include "task/borrow.h"
#include "task/cells.h"
#include "task/coder.h"
#include "task/options.h"

void comp_counterfactual_layer_name(char out[COMP_LAYER_NAME_SIZE], const char *value) {
  snprintf(out, COMP_LAYER_NAME_SIZE, "counterfactual_%s", value);
  for (char *c = out; *c; c++)
    if (*c == '/') *c = '_';
}

void comp_prediction_release(comp_prediction *p) {
  if (!p) return;
  comp_matrix_free(p->values);
  comp_matrix_free(p->sd);
  comp_matrix_free(p->lower);
  comp_matrix_free(p->upper);
  comp__free(p->predicted);
  *p = (comp_prediction){0};
}

/* One thread's buffers. */
typedef struct scratch {
  float *to;      /* [max(draws, COMP__BLOCK_ROWS), features]: decoded under the other condition */
  float *own;     /* [COMP__BLOCK_ROWS, features]: under its own, for residuals */
  float *z;       /* [COMP__BLOCK_ROWS, latent]: draws */
  float *library; /* [COMP__BLOCK_ROWS] */
  float *column;  /* [draws]: the values of one feature */
  size_t *start;  /* [levels + 1] */
} scratch;

typedef struct job {
  comp_context *context;
  comp__coder *coder;
  const comp__aligned *aligned;
  const comp__counterfactual_options *options;
  comp_prediction *out;
  int32_t to;
  scratch *scratches;
  size_t offset; /* of the first row of this part */
} job;

static comp_status new_scratch(scratch *s, const comp_model *model, const comp__counterfactual_options *o) {
  size_t features = model->network.features, rows = COMP__BLOCK_ROWS, draws = o->samples;
  comp_status status;
  COMP__TRY(comp__alloc(&s->to, draws > rows ? draws : rows, features * sizeof(float)));
  if (o->residual) COMP__TRY(comp__alloc(&s->own, rows, features * sizeof(float)));
  COMP__TRY(comp__alloc(&s->start, model->network.conditions + 1, sizeof(size_t)));
  if (draws == 0) return COMP_OK;
  COMP__TRY(comp__alloc(&s->z, rows, model->network.options.latent * sizeof(float)));
  COMP__TRY(comp__alloc(&s->library, rows, sizeof(float)));
  COMP__TRY(comp__alloc(&s->column, draws, sizeof(float)));
done:
  return status;
}

static void release_scratch(scratch *s) {
  comp__free(s->to);
  comp__free(s->own);
  comp__free(s->z);
  comp__free(s->library);
  comp__free(s->column);
  comp__free(s->start);
}

/* Adds the sample's own values: x + to - own. */
static void make_residuals(float *to, const float *own, const float *x, size_t features) {
  for (size_t g = 0; g < features; g++) to[g] = x[g] + (to[g] - own[g]);
}

static void clip_row(float *row, size_t features) {
  for (size_t g = 0; g < features; g++) row[g] = row[g] > 0.0f ? row[g] : 0.0f;
}

/* All rows of one condition. */
static const size_t *one_condition(size_t *start, size_t levels, size_t code, size_t rows) {
  for (size_t k = 0; k <= levels; k++) start[k] = k <= code ? 0 : rows;
  return start;
}

/* ---- The mean path ---- */

static comp_status predict_means(const job *j, comp__block *b, scratch *s, int thread) {
  size_t features = j->aligned->model->network.features, levels = j->aligned->model->network.conditions;
  comp_status status;
  COMP__TRY(comp__block_decode(j->context, j->coder, s->to, b->mean,
                               one_condition(s->start, levels, (size_t)j->to, b->rows), b->library, b->rows, thread));
  if (s->own)
    COMP__TRY(comp__block_decode(j->context, j->coder, s->own, b->mean, b->start, b->library, b->rows, thread));
  for (size_t r = 0; r < b->rows; r++) {
    float *out = j->out->values->values + b->order[r] * features;
    if (s->own) {
      comp__aligned_row(out, j->aligned, b->order[r]);
      make_residuals(s->to + r * features, s->own + r * features, out, features);
    }
    if (j->options->clip) clip_row(s->to + r * features, features);
    memcpy(out, s->to + r * features, features * sizeof(float));
  }
done:
  return status;
}

/* ---- Draws ---- */

static void swap(float *a, float *b) {
  float t = *a;
  *a = *b;
  *b = t;
}

/* Reorders values so that the k-th smallest is at k, none before it is larger and none after it smaller (Hoare). */
static void select_nth(float *v, ptrdiff_t n, ptrdiff_t k) {
  ptrdiff_t low = 0, high = n - 1;
  while (low < high) {
    float pivot = v[k];
    ptrdiff_t i = low, j = high;
    do {
      while (v[i] < pivot) i++;
      while (pivot < v[j]) j--;
      if (i <= j) swap(&v[i++], &v[j--]);
    } while (i <= j);
    if (j < k) low = i;
    if (k < i) high = j;
  }
}

/* The quantile q of n values, interpolated between its neighbours; reorders them. */
static float quantile(float *v, size_t n, double q) {
  double at = q * (double)(n - 1);
  size_t k = (size_t)at;
  double part = at - (double)k;
  select_nth(v, (ptrdiff_t)n, (ptrdiff_t)k);
  if (k + 1 >= n || part == 0.0) return v[k];
  float next = v[k + 1];
  for (size_t i = k + 2; i < n; i++) next = v[i] < next ? v[i] : next;
  return (float)((double)v[k] + part * ((double)next - (double)v[k]));
}

/* Mean, spread and quantiles of each feature over the draws [draws, features] of one sample. */
static void summarise(const job *j, const float *draws, float *column, size_t sample) {
  size_t features = j->aligned->model->network.features, n = j->options->samples, at = sample * features;
  double tail = 0.5 * (1.0 - j->options->interval);
  for (size_t g = 0; g < features; g++) {
    double sum = 0.0, squares = 0.0;
    for (size_t d = 0; d < n; d++) sum += column[d] = draws[d * features + g];
    double mean = sum / (double)n;
    for (size_t d = 0; d < n; d++) squares += ((double)column[d] - mean) * ((double)column[d] - mean);
    j->out->values->values[at + g] = (float)mean;
    j->out->sd->values[at + g] = (float)sqrt(squares / (double)(n - 1));
    j->out->lower->values[at + g] = quantile(column, n, tail);
    j->out->upper->values[at + g] = quantile(column, n, 1.0 - tail);
  }
}

static void draw(float *z, const job *j, const comp__block *b, size_t row, size_t number) {
  size_t latent = j->aligned->model->network.options.latent;
  comp__rng_fill_normal(z, latent, comp__rng_at(j->options->seed, COMP__RNG_POSTERIOR, number, b->order[row]), 0);
  for (size_t d = 0; d < latent; d++) z[d] = b->mean[row * latent + d] + b->scale[row * latent + d] * z[d];
}

/* The condition of a row of a block. */
static size_t condition_of(const comp__block *b, size_t row) {
  size_t k = 0;
  while (row >= b->start[k + 1]) k++;
  return k;
}

/* All draws of one sample, some at a time; they are left in s->to. */
static comp_status predict_draws(const job *j, comp__block *b, scratch *s, size_t row, int thread) {
  size_t features = j->aligned->model->network.features, levels = j->aligned->model->network.conditions;
  size_t latent = j->aligned->model->network.options.latent, n;
  float *x = j->out->values->values + b->order[row] * features; /* the place of the result holds x meanwhile */
  comp_status status = COMP_OK;
  if (s->own) comp__aligned_row(x, j->aligned, b->order[row]);
  for (size_t first = 0; first < j->options->samples; first += n) {
    n = j->options->samples - first < COMP__BLOCK_ROWS ? j->options->samples - first : COMP__BLOCK_ROWS;
    float *to = s->to + first * features;
    for (size_t d = 0; d < n; d++) {
      draw(s->z + d * latent, j, b, row, first + d);
      s->library[d] = b->library[row];
    }
    COMP__TRY(comp__block_decode(j->context, j->coder, to, s->z, one_condition(s->start, levels, (size_t)j->to, n),
                                 s->library, n, thread));
    if (s->own) {
      COMP__TRY(comp__block_decode(j->context, j->coder, s->own, s->z,
                                   one_condition(s->start, levels, condition_of(b, row), n), s->library, n, thread));
      for (size_t d = 0; d < n; d++) make_residuals(to + d * features, s->own + d * features, x, features);
    }
    for (size_t d = 0; j->options->clip && d < n; d++) clip_row(to + d * features, features);
  }
done:
  return status;
}

/* ---- All rows ---- */

/* What is not predicted keeps its own values. */
static void keep_row(const job *j, size_t sample) {
  size_t features = j->aligned->model->network.features, at = sample * features;
  comp_prediction *p = j->out;
  comp__aligned_row(p->values->values + at, j->aligned, sample);
  if (!p->sd) return;
  memset(p->sd->values + at, 0, features * sizeof(float));
  memcpy(p->lower->values + at, p->values->values + at, features * sizeof(float));
  memcpy(p->upper->values + at, p->values->values + at, features * sizeof(float));
}

static comp_status predict_rows(void *arg, size_t begin, size_t end, int thread) {
  const job *j = arg;
  scratch *s = &j->scratches[thread];
  comp__block *b;
  comp_status status;
  begin += j->offset, end += j->offset;
  COMP__TRY(comp__block_read(&b, j->coder, j->aligned, begin, end, j->out->predicted, thread));
  COMP__TRY(comp__block_encode(j->context, j->coder, b, thread));
  for (size_t i = begin; i < end; i++)
    if (!j->out->predicted[i]) keep_row(j, i);
  if (j->options->samples == 0) return predict_means(j, b, s, thread);
  for (size_t r = 0; r < b->rows; r++) {
    COMP__TRY(predict_draws(j, b, s, r, thread));
    summarise(j, s->to, s->column, b->order[r]);
  }
done:
  return status;
}

static comp_status new_prediction(comp_prediction *p, comp_context *context, const comp__aligned *f,
                                  const comp__counterfactual_options *o) {
  size_t features = f->model->network.features;
  comp_status status;
  COMP__TRY(comp__matrix_new_dense_in(&p->values, context, f->samples, features));
  if (o->samples > 0) {
    COMP__TRY(comp__matrix_new_dense_in(&p->sd, context, f->samples, features));
    COMP__TRY(comp__matrix_new_dense_in(&p->lower, context, f->samples, features));
    COMP__TRY(comp__matrix_new_dense_in(&p->upper, context, f->samples, features));
  }
  COMP__TRY(comp__alloc(&p->predicted, f->samples, sizeof *p->predicted));
done:
  return status;
}

/* Which samples: those of `from` (-1: all). */
static comp_status mark(comp_prediction *p, const comp__aligned *f, int32_t from) {
  for (size_t i = 0; i < f->samples; i++) {
    p->predicted[i] = from < 0 || f->codes[i] == from;
    p->n_predicted += (size_t)p->predicted[i];
  }
  if (p->n_predicted > 0) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "no sample has the value '%s' in column '%s'",
                     comp_model_level_name(f->model, (size_t)from), f->model->condition);
}

static comp_status run(comp_prediction *out, comp_context *context, const comp__aligned *aligned,
                       const comp__counterfactual_options *o, int32_t to) {
  int threads = comp_context_thread_count(context);
  job j = {.context = context, .aligned = aligned, .options = o, .out = out, .to = to};
  /* Draws cost as much as so many rows. */
  size_t part = (size_t)threads * 8 * COMP__BLOCK_ROWS;
  comp__comm *comm = comp__comm_of(context);
  size_t begin[COMP__MOST_RANKS + 1];
  comp__comm_share(begin, comm, aligned->samples, COMP__BLOCK_ROWS);
  const size_t end = begin[comp__comm_rank(comm) + 1];
  j.offset = begin[comp__comm_rank(comm)];
  comp_status status;
  COMP__TRY(comp__coder_new(&j.coder, context, aligned->model, o->precision));
  COMP__TRY(comp__calloc(&j.scratches, (size_t)threads, sizeof *j.scratches));
  for (int t = 0; t < threads; t++) COMP__TRY(new_scratch(&j.scratches[t], aligned->model, o));
  comp__progress_begin(context, "predicting", "samples", aligned->samples);
  for (; j.offset < end; j.offset += part) {
    size_t left = end - j.offset;
    comp__progress_update(context, j.offset, NULL);
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(
        comp__parallel_try(context, left < part ? left : part, o->samples ? 16 : COMP__BLOCK_ROWS, predict_rows, &j));
  }
  comp__progress_update(context, aligned->samples, NULL);
done:
  comp__progress_end(context);
  for (int t = 0; j.scratches && t < threads; t++) release_scratch(&j.scratches[t]);
  comp__free(j.scratches);
  comp__coder_free(j.coder);
  return status;
}

/* Brings the rows of all ranks to the first, which writes them. */
static comp_status collect(comp_prediction *p, comp_context *context) {
  comp_matrix *const matrices[] = {p->values, p->sd, p->lower, p->upper};
  comp__comm *comm = comp__comm_of(context);
  size_t begin[COMP__MOST_RANKS + 1];
  comp_status status = COMP_OK;
  comp__comm_share(begin, comm, p->values->rows, COMP__BLOCK_ROWS);
  for (size_t i = 0; status == COMP_OK && i < sizeof matrices / sizeof *matrices; i++)
    if (matrices[i])
      status = comp__comm_collect(comm, context, matrices[i]->values, begin, matrices[i]->cols * sizeof(float),
                                  COMP__TO_FIRST);
  return status;
}

static comp__conditions conditions_of(const comp_model *model, const comp__counterfactual_options *o) {
  const comp__model_options *m = &model->network.options;
  if (o->borrow) return COMP__CONDITIONS_ALL;
  if (o->from) return COMP__CONDITIONS_SOME;
  return comp__encoder_needs_condition(model) || (o->residual && m->decoder_sees_condition) ? COMP__CONDITIONS_ALL
                                                                                            : COMP__CONDITIONS_NONE;
}

comp_status comp__counterfactual(comp_prediction *out, comp_context *context, const comp_model *model,
                                 const comp_dataset *dataset, const comp__counterfactual_options *options) {
  *out = (comp_prediction){0};
  comp__aligned aligned = {0};
  int32_t to, from = -1;
  comp_status status;
  COMP__TRY(comp__options_check(&comp__counterfactual_kind, options));
  COMP__TRY(comp__model_find_level(&to, model, options->to, COMP_ERR_ARGUMENT, "to:"));
  if (options->from) COMP__TRY(comp__model_find_level(&from, model, options->from, COMP_ERR_ARGUMENT, "from:"));
  if (from == to)
    COMP__FAIL(COMP_ERR_ARGUMENT, "from: '%s' is also the condition to predict (to): nothing would change",
               options->from);
  COMP__TRY(comp__align(&aligned, context, model, dataset, conditions_of(model, options)));
  if (!model->network.options.decoder_sees_condition)
    comp__warn(context, "this model's decoder does not see the condition: the result is a reconstruction, the same "
                        "under every condition");
  COMP__TRY(new_prediction(out, context, &aligned, options));
  COMP__TRY(mark(out, &aligned, from));
  comp__counterfactual_options first = *options;
  if (options->borrow || options->cells) first.clip = false; /* a change that was cut off is no change to work with */
  COMP__TRY(run(out, context, &aligned, &first, to));
  if (options->borrow) COMP__TRY(comp__borrow(out, context, &aligned, options, to));
  if (options->cells) COMP__TRY(comp__as_cells(out, context, &aligned, options, to));
  for (size_t i = 0; options->clip && !first.clip && i < aligned.samples; i++)
    if (out->predicted[i]) clip_row(out->values->values + i * model->network.features, model->network.features);
  COMP__TRY(collect(out, context));
done:
  comp__aligned_release(&aligned);
  if (status != COMP_OK) comp_prediction_release(out);
  return status;
}

comp_status comp_counterfactual(comp_prediction *out, comp_context *context, const comp_model *model,
                                const comp_dataset *dataset, const comp_options *options) {
  COMP__NEED_OUT(out, context, model, dataset);
  comp__counterfactual_options plain;
  *out = (comp_prediction){0};
  comp_status status = comp__options_resolve(&plain, &comp__counterfactual_kind, options);
  return status == COMP_OK ? comp__counterfactual(out, context, model, dataset, &plain) : status;
}
