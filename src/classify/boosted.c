/*
 * boosted.c: gradient boosted trees, by XGBoost in the module `boosted`.
 *
 * XGBoost sums over its own threads in an order that depends on their number. So a booster gets one thread, and the
 * threads are ours: the problems of several levels, or the folds of a cross-validation, share them.
 */
#include <string.h>

#include "classify/boosting.h"
#include "classify/learner.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/module.h"
#include "core/rng.h"
#include "core/threads.h"

enum { ROUNDS = 100, SCORE_ROWS = 1 << 16, STEP_BOOSTER = 5 /* of COMP__RNG_CLASSIFY */ };

typedef struct boosted {
  const comp__boosting *xgboost;
  size_t features, problems;
  void **models; /* [problems]; NULL: the level has no samples */
} boosted;

/* Says which step failed, if it did. */
static comp_status check(const comp__boosting *xgboost, comp_status status, const char *step) {
  if (status == COMP_OK) return COMP_OK;
  const char *message = xgboost->message();
  const size_t length = strcspn(message, "\n"); /* a stack trace follows */
  return comp__error(status, "XGBoost %s failed: %.*s", step, (int)length, message);
}

static void boosted_free(void *raw) {
  boosted *model = raw;
  if (!model) return;
  for (size_t i = 0; model->models && i < model->problems; i++)
    if (model->models[i]) model->xgboost->model_free(model->models[i]);
  comp__free(model->models);
  comp__free(model);
}

/* ---- data ---- */

/* One copy of the data for each thread that asks: XGBoost prepares it on first use, which is not safe to share. */
typedef struct copies {
  const comp__boosting *xgboost;
  float *dense; /* [n, features] */
  size_t n, features;
  void **matrices; /* [threads] */
  size_t threads;
} copies;

static void copies_release(copies *c) {
  for (size_t t = 0; c->matrices && t < c->threads; t++)
    if (c->matrices[t]) c->xgboost->matrix_free(c->matrices[t]);
  comp__free(c->matrices);
  comp__free(c->dense);
}

/* `c` should be released via copies_release(), also when it fails. */
static comp_status copies_init(copies *c, comp_context *context, const boosted *model, const comp__examples *e) {
  *c = (copies){.xgboost = model->xgboost,
                .n = e->n,
                .features = e->features,
                .threads = (size_t)comp_context_thread_count(context)};
  comp_status status = comp__alloc(&c->dense, e->n * e->features, sizeof *c->dense);
  if (status == COMP_OK) status = comp__calloc(&c->matrices, c->threads, sizeof *c->matrices);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < e->n; i++)
    memcpy(c->dense + i * e->features, e->x + e->rows[i] * e->features, e->features * sizeof *c->dense);
  return COMP_OK;
}

static comp_status copies_get(void **out, const copies *c, int thread) {
  void **own = &c->matrices[thread];
  comp_status status = COMP_OK;
  if (!*own) status = check(c->xgboost, c->xgboost->matrix_new(own, c->dense, c->n, c->features), "data");
  *out = *own;
  return status;
}

/* ---- training ---- */

static const char *const settings[] = {"depth 6, rate 0.3", "depth 3, rate 0.1", "depth 10, rate 0.1", NULL};
static const int depths[] = {6, 3, 10};
static const double rates[] = {0.3, 0.1, 0.1};

typedef struct fitting {
  comp_context *context;
  boosted *model;
  const comp__examples *train;
  size_t setting;
  uint64_t seed;
  copies copies;
} fitting;

/* The labels of a problem into a matrix; `*any` tells whether there is a positive one. */
static comp_status set_labels(void *matrix, const fitting *f, size_t problem, bool *any) {
  const comp__examples *e = f->train;
  const comp__boosting *xgboost = f->model->xgboost;
  float *labels;
  comp_status status = comp__alloc(&labels, e->n, sizeof *labels);
  if (status != COMP_OK) return status;
  *any = false;
  for (size_t i = 0; i < e->n; i++) {
    const bool positive = comp__positive(e, problem, i);
    labels[i] = positive ? 1.0f : 0.0f;
    *any |= positive;
  }
  status = check(xgboost, xgboost->matrix_set_labels(matrix, labels, e->n), "labels");
  comp__free(labels);
  return status;
}

static comp_status fit_problem(const fitting *f, size_t problem, int thread) {
  const comp__boosting *xgboost = f->model->xgboost;
  const uint64_t seed = comp__rng_bits(comp__rng_at(f->seed, COMP__RNG_CLASSIFY, STEP_BOOSTER, problem), 0);
  void *matrix = NULL, *booster = NULL;
  bool any;
  comp_status status = COMP_OK;
  COMP__TRY(copies_get(&matrix, &f->copies, thread));
  COMP__TRY(set_labels(matrix, f, problem, &any));
  if (!any) goto done;
  COMP__TRY(
      check(xgboost, xgboost->model_new(&booster, matrix, depths[f->setting], rates[f->setting], seed), "creation"));
  for (int round = 0; round < ROUNDS; round++) {
    COMP__TRY(comp__check_interrupt(f->context));
    COMP__TRY(check(xgboost, xgboost->model_grow(booster, round, matrix), "training"));
  }
  f->model->models[problem] = booster;
  booster = NULL;
done:
  if (booster) xgboost->model_free(booster);
  return status;
}

static comp_status fit_problems(void *arg, size_t begin, size_t end, int thread) {
  comp_status status = COMP_OK;
  for (size_t problem = begin; problem < end && status == COMP_OK; problem++)
    status = fit_problem(arg, problem, thread);
  return status;
}

static comp_status boosted_fit(void **out, comp_context *context, const comp__examples *train, size_t setting,
                               uint64_t seed) {
  *out = NULL;
  boosted *model;
  const void *xgboost;
  fitting f = {.context = context, .train = train, .setting = setting, .seed = seed};
  comp_status status = comp__module_table(&xgboost, COMP__MODULE_BOOSTED, sizeof *model->xgboost);
  if (status == COMP_OK) status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  model->xgboost = xgboost;
  model->features = train->features;
  model->problems = comp__problems(train->n_levels);
  f.model = model;
  COMP__TRY(comp__calloc(&model->models, model->problems, sizeof *model->models));
  COMP__TRY(copies_init(&f.copies, context, model, train));
  COMP__TRY(comp__parallel_try(context, model->problems, 1, fit_problems, &f));
  *out = model;
done:
  copies_release(&f.copies);
  if (status != COMP_OK) boosted_free(model);
  return status;
}

/* ---- prediction ---- */

typedef struct scoring {
  const boosted *model;
  copies copies;
  float *scores; /* [n, problems] */
} scoring;

static comp_status score_problem(const scoring *s, size_t problem, int thread) {
  const comp__boosting *xgboost = s->model->xgboost;
  const size_t problems = s->model->problems;
  void *booster = s->model->models[problem], *matrix = NULL;
  const float *result = NULL;
  comp_status status = COMP_OK;
  if (booster) {
    COMP__TRY(copies_get(&matrix, &s->copies, thread));
    COMP__TRY(check(xgboost, xgboost->model_predict(&result, booster, matrix), "prediction"));
  }
  for (size_t i = 0; i < s->copies.n; i++) s->scores[i * problems + problem] = result ? result[i] : 0.0f;
done:
  return status;
}

static comp_status score_problems(void *arg, size_t begin, size_t end, int thread) {
  comp_status status = COMP_OK;
  for (size_t problem = begin; problem < end && status == COMP_OK; problem++)
    status = score_problem(arg, problem, thread);
  return status;
}

static comp_status score_piece(float *scores, comp_context *context, const boosted *model, const comp__examples *e) {
  scoring s = {.model = model, .scores = scores};
  comp_status status = copies_init(&s.copies, context, model, e);
  if (status != COMP_OK) return status;
  status = comp__parallel_try(context, model->problems, 1, score_problems, &s);
  copies_release(&s.copies);
  return status;
}

/* In pieces, so that memory does not grow with the rows. */
static comp_status boosted_score(float *scores, comp_context *context, const void *raw, const comp__examples *e) {
  const boosted *model = raw;
  comp_status status = COMP_OK;
  for (size_t at = 0; at < e->n && status == COMP_OK; at += SCORE_ROWS) {
    comp__examples piece = *e;
    piece.rows = e->rows + at;
    piece.n = e->n - at < SCORE_ROWS ? e->n - at : SCORE_ROWS;
    status = score_piece(scores + at * model->problems, context, model, &piece);
  }
  return status;
}

const comp__learner comp__learner_boosted = {
    .name = "boosted",
    .title = "boosted trees",
    .help = "100 rounds of trees of depth 6, by XGBoost",
    .module = "boosted",
    .settings = settings,
    .fit = boosted_fit,
    .score = boosted_score,
    .free = boosted_free,
};
