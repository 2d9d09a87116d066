/*
 * logistic.c: logistic regression by liblinear's trust region method, the one of its solvers that needs no random
 * numbers. Features are standardised here, by the training rows; one problem runs on one thread.
 */
#include <linear.h>

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>

#include "classify/learner.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"

static const double penalty_c[] = {1.0, 0.01};
static const double STOP = 1e-4;
/* The constant feature that makes the intercept. liblinear shrinks its weight as any other; the larger the constant,
 * the less of that is seen. */
static const double BIAS = 10.0;

typedef struct logistic {
  size_t features, problems;
  double *means, *inverse; /* [features] */
  double *weights;         /* [problems, features + 1], the intercept last; for features as they come */
} logistic;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void say_nothing(const char *text) {
  (void)text;
}

static void silence(void) {
  set_print_string_function(say_nothing);
}

static void logistic_free(void *raw) {
  logistic *model = raw;
  if (!model) return;
  comp__free(model->weights);
  comp__free(model->inverse);
  comp__free(model->means);
  comp__free(model);
}

static void standardise(logistic *model, const comp__examples *e) {
  const size_t d = e->features;
  memset(model->means, 0, d * sizeof *model->means);
  memset(model->inverse, 0, d * sizeof *model->inverse);
  for (size_t i = 0; i < e->n; i++)
    for (size_t j = 0; j < d; j++) model->means[j] += (double)e->x[e->rows[i] * d + j];
  for (size_t j = 0; j < d; j++) model->means[j] /= (double)e->n;
  for (size_t i = 0; i < e->n; i++)
    for (size_t j = 0; j < d; j++) {
      const double difference = (double)e->x[e->rows[i] * d + j] - model->means[j];
      model->inverse[j] += difference * difference;
    }
  for (size_t j = 0; j < d; j++) {
    const double deviation = sqrt(model->inverse[j] / (double)e->n);
    model->inverse[j] = deviation > 1e-12 * fabs(model->means[j]) ? 1.0 / deviation : 0.0;
  }
}

/* The training rows as liblinear wants them. */
typedef struct rows {
  struct feature_node **starts; /* [n] */
  struct feature_node *nodes;   /* zeros are left out */
} rows;

static void rows_release(rows *r) {
  comp__free(r->starts);
  comp__free(r->nodes);
}

/* It should be released via rows_release(), also when it fails. */
static comp_status rows_init(rows *r, const logistic *model, const comp__examples *e) {
  const size_t d = e->features;
  size_t count;
  *r = (rows){0};
  if (!comp__size_mul(&count, e->n, d + 2)) count = SIZE_MAX;
  comp_status status = comp__alloc(&r->starts, e->n, sizeof(void *));
  if (status == COMP_OK) status = comp__alloc(&r->nodes, count, sizeof *r->nodes);
  if (status != COMP_OK) return status;
  struct feature_node *at = r->nodes;
  for (size_t i = 0; i < e->n; i++) {
    r->starts[i] = at;
    for (size_t j = 0; j < d; j++) {
      const double value = ((double)e->x[e->rows[i] * d + j] - model->means[j]) * model->inverse[j];
      if (value != 0.0) *at++ = (struct feature_node){(int)j + 1, value};
    }
    *at++ = (struct feature_node){(int)d + 1, BIAS};
    *at++ = (struct feature_node){-1, 0.0};
  }
  return COMP_OK;
}

typedef struct fitting {
  comp_context *context;
  logistic *model;
  const comp__examples *train;
  double c;
  rows rows;
} fitting;

/* Weights for standardised features become weights for features as they come. */
static void keep_weights(logistic *model, size_t problem, const struct model *fitted) {
  const size_t d = model->features;
  const double sign = fitted->label[0] == 1 ? 1.0 : -1.0;
  double *out = model->weights + problem * (d + 1);
  out[d] = sign * fitted->w[d] * BIAS;
  for (size_t j = 0; j < d; j++) {
    out[j] = sign * fitted->w[j] * model->inverse[j];
    out[d] -= out[j] * model->means[j];
  }
}

static comp_status fit_problem(const fitting *f, size_t problem) {
  const comp__examples *e = f->train;
  const size_t d = e->features;
  double *y = NULL;
  comp_status status = comp__check_interrupt(f->context);
  if (status == COMP_OK) status = comp__alloc(&y, e->n, sizeof *y);
  if (status != COMP_OK) return status;
  size_t positives = 0;
  for (size_t i = 0; i < e->n; i++) {
    const bool positive = comp__positive(e, problem, i);
    y[i] = positive ? 1.0 : -1.0;
    positives += positive;
  }
  if (positives == 0) { /* a level without samples: never */
    double *out = f->model->weights + problem * (d + 1);
    memset(out, 0, d * sizeof *out);
    out[d] = -INFINITY;
    goto done;
  }
  const struct problem data = {.l = (int)e->n, .n = (int)d + 1, .y = y, .x = f->rows.starts, .bias = BIAS};
  const struct parameter how = {.solver_type = L2R_LR, .eps = STOP, .C = f->c};
  const char *complaint = check_parameter(&data, &how);
  if (complaint) COMP__FAIL(COMP_ERR_NUMERIC, "logistic regression: %s", complaint);
  const int host = omp_get_max_threads(); /* liblinear's vector sums may be OpenMP's; the setting is this thread's */
  omp_set_num_threads(1);
  struct model *fitted = train(&data, &how);
  omp_set_num_threads(host);
  if (!fitted) COMP__FAIL(COMP_ERR_MEMORY, "logistic regression: out of memory");
  keep_weights(f->model, problem, fitted);
  free_and_destroy_model(&fitted);
done:
  comp__free(y);
  return status;
}

static comp_status fit_problems(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_status status = COMP_OK;
  for (size_t problem = begin; problem < end && status == COMP_OK; problem++) status = fit_problem(arg, problem);
  return status;
}

static const char *const settings[] = {"C = 1", "C = 0.01", NULL};

static comp_status logistic_fit(void **out, comp_context *context, const comp__examples *train, size_t setting,
                                uint64_t seed) {
  (void)seed;
  *out = NULL;
  pthread_once(&once, silence);
  const size_t d = train->features, problems = comp__problems(train->n_levels);
  if (train->n > INT32_MAX || d + 1 > INT32_MAX)
    return comp__error(COMP_ERR_ARGUMENT, "logistic regression: %zu samples x %zu features are too many", train->n, d);
  fitting f = {.context = context, .train = train, .c = penalty_c[setting]};
  logistic *model;
  comp_status status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  model->features = d;
  model->problems = problems;
  COMP__TRY(comp__alloc(&model->means, d, sizeof *model->means));
  COMP__TRY(comp__alloc(&model->inverse, d, sizeof *model->inverse));
  COMP__TRY(comp__alloc(&model->weights, problems * (d + 1), sizeof *model->weights));
  standardise(model, train);
  f.model = model;
  COMP__TRY(rows_init(&f.rows, model, train));
  COMP__TRY(comp__parallel_try(context, problems, 1, fit_problems, &f));
  *out = model;
done:
  rows_release(&f.rows);
  if (status != COMP_OK) logistic_free(model);
  return status;
}

static comp_status logistic_score(float *scores, comp_context *context, const void *raw, const comp__examples *e) {
  (void)context;
  const logistic *model = raw;
  const size_t d = model->features;
  for (size_t i = 0; i < e->n; i++) {
    const float *x = e->x + e->rows[i] * d;
    for (size_t b = 0; b < model->problems; b++) {
      const double *w = model->weights + b * (d + 1);
      double sum = w[d];
      for (size_t j = 0; j < d; j++) sum += w[j] * (double)x[j];
      scores[i * model->problems + b] = (float)(1.0 / (1.0 + exp(-sum)));
    }
  }
  return COMP_OK;
}

const comp__learner comp__learner_logistic = {
    .name = "logistic",
    .title = "logistic regression",
    .help = "standardised features, L2 penalty with C = 1",
    .settings = settings,
    .fit = logistic_fit,
    .score = logistic_score,
    .free = logistic_free,
};
