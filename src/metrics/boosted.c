/*
 * boosted.c: gradient boosted trees, by XGBoost.
 *
 * XGBoost sums over its own threads in an order that depends on their number. So a booster gets one thread, and the
 * threads are ours: the problems of several levels, or the folds of a cross-validation, share them.
 */
#include <xgboost/c_api.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "metrics/learner.h"

enum { ROUNDS = 100, SCORE_ROWS = 1 << 16, STEP_BOOSTER = 5 /* of COMP__RNG_CLASSIFY */ };

typedef struct boosted {
  size_t features, problems;
  BoosterHandle *models; /* [problems]; NULL: the level has no samples */
} boosted;

static comp_status xgboost_failed(const char *what) {
  const char *message = XGBGetLastError();
  const size_t length = strcspn(message, "\n"); /* a stack trace follows */
  return comp__error(strstr(message, "bad_alloc") ? COMP_ERR_MEMORY : COMP_ERR_UNAVAILABLE, "XGBoost %s failed: %.*s",
                     what, (int)length, message);
}

/* Needs `comp_status status` and a label `done`. */
#define TRY_XGBOOST(call, what)                                                                                        \
  do {                                                                                                                 \
    if ((call) != 0) {                                                                                                 \
      status = xgboost_failed(what);                                                                                   \
      goto done;                                                                                                       \
    }                                                                                                                  \
  } while (0)

static void boosted_free(void *raw) {
  boosted *model = raw;
  if (!model) return;
  for (size_t i = 0; model->models && i < model->problems; i++)
    if (model->models[i]) XGBoosterFree(model->models[i]);
  comp__free(model->models);
  comp__free(model);
}

/* ---- data ---- */

/* One copy of the data for each thread that asks: XGBoost prepares it on first use, which is not safe to share. */
typedef struct copies {
  float *dense; /* [n, features] */
  size_t n, features;
  DMatrixHandle *matrices; /* [threads] */
  size_t threads;
} copies;

static void copies_release(copies *c) {
  for (size_t t = 0; c->matrices && t < c->threads; t++)
    if (c->matrices[t]) XGDMatrixFree(c->matrices[t]);
  comp__free(c->matrices);
  comp__free(c->dense);
}

static comp_status copies_init(copies *c, comp_context *context, const comp__examples *e) {
  *c = (copies){.n = e->n, .features = e->features, .threads = (size_t)comp_context_threads(context)};
  comp_status status = comp__alloc(&c->dense, e->n * e->features, sizeof *c->dense);
  if (status == COMP_OK) status = comp__calloc(&c->matrices, c->threads, sizeof *c->matrices);
  if (status != COMP_OK) {
    copies_release(c);
    return status;
  }
  for (size_t i = 0; i < e->n; i++)
    memcpy(c->dense + i * e->features, e->x + e->rows[i] * e->features, e->features * sizeof *c->dense);
  return COMP_OK;
}

static comp_status copies_get(DMatrixHandle *out, const copies *c, int thread) {
  DMatrixHandle *own = &c->matrices[thread];
  if (!*own && XGDMatrixCreateFromMat_omp(c->dense, c->n, c->features, NAN, own, 1) != 0) {
    *own = NULL;
    return xgboost_failed("data");
  }
  *out = *own;
  return COMP_OK;
}

/* ---- training ---- */

/* One round is a step down the logistic loss; every setting that matters is named. */
static comp_status set_up(BoosterHandle booster, uint64_t seed) {
  char text[32];
  snprintf(text, sizeof text, "%d", (int)(seed >> 33)); /* it takes 31 bits */
  const char *const settings[][2] = {{"nthread", "1"},
                                     {"verbosity", "0"},
                                     {"tree_method", "hist"},
                                     {"max_bin", "256"},
                                     {"objective", "binary:logistic"},
                                     {"learning_rate", "0.3"},
                                     {"max_depth", "6"},
                                     {"seed", text}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (XGBoosterSetParam(booster, settings[i][0], settings[i][1]) != 0) return xgboost_failed("setting");
  return COMP_OK;
}

typedef struct fitting {
  comp_context *context;
  boosted *model;
  const comp__examples *train;
  uint64_t seed;
  copies copies;
} fitting;

/* The labels of a problem into a matrix; `*any` tells whether there is a positive one. */
static comp_status set_labels(DMatrixHandle matrix, const comp__examples *e, size_t problem, bool *any) {
  float *labels;
  comp_status status = comp__alloc(&labels, e->n, sizeof *labels);
  if (status != COMP_OK) return status;
  *any = false;
  for (size_t i = 0; i < e->n; i++) {
    const bool positive = comp__positive(e, problem, i);
    labels[i] = positive ? 1.0f : 0.0f;
    *any |= positive;
  }
  if (XGDMatrixSetFloatInfo(matrix, "label", labels, e->n) != 0) status = xgboost_failed("labels");
  comp__free(labels);
  return status;
}

static comp_status fit_problem(const fitting *f, size_t problem, int thread) {
  DMatrixHandle matrix = NULL;
  BoosterHandle booster = NULL;
  bool any;
  comp_status status = COMP_OK;
  COMP__TRY(copies_get(&matrix, &f->copies, thread));
  COMP__TRY(set_labels(matrix, f->train, problem, &any));
  if (!any) goto done;
  TRY_XGBOOST(XGBoosterCreate(&matrix, 1, &booster), "creation");
  COMP__TRY(set_up(booster, comp__rng_bits(comp__rng_at(f->seed, COMP__RNG_CLASSIFY, STEP_BOOSTER, problem), 0)));
  for (int round = 0; round < ROUNDS; round++) {
    COMP__TRY(comp__check_interrupt(f->context));
    TRY_XGBOOST(XGBoosterUpdateOneIter(booster, round, matrix), "training");
  }
  f->model->models[problem] = booster;
  booster = NULL;
done:
  if (booster) XGBoosterFree(booster);
  return status;
}

static comp_status fit_problems(void *arg, size_t begin, size_t end, int thread) {
  comp_status status = COMP_OK;
  for (size_t problem = begin; problem < end && status == COMP_OK; problem++)
    status = fit_problem(arg, problem, thread);
  return status;
}

static comp_status boosted_fit(void **out, comp_context *context, const comp__examples *train, uint64_t seed) {
  *out = NULL;
  boosted *model;
  fitting f = {.context = context, .train = train, .seed = seed};
  comp_status status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  model->features = train->features;
  model->problems = comp__problems(train->n_levels);
  f.model = model;
  COMP__TRY(comp__calloc(&model->models, model->problems, sizeof *model->models));
  COMP__TRY(copies_init(&f.copies, context, train));
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
  static const char how[] = "{\"type\": 0, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, "
                            "\"strict_shape\": false}";
  const size_t problems = s->model->problems;
  const BoosterHandle booster = s->model->models[problem];
  DMatrixHandle matrix = NULL;
  const bst_ulong *shape;
  bst_ulong dimensions;
  const float *result = NULL;
  if (booster) {
    comp_status status = copies_get(&matrix, &s->copies, thread);
    if (status != COMP_OK) return status;
    if (XGBoosterPredictFromDMatrix(booster, matrix, how, &shape, &dimensions, &result) != 0)
      return xgboost_failed("prediction");
  }
  for (size_t i = 0; i < s->copies.n; i++) s->scores[i * problems + problem] = result ? result[i] : 0.0f;
  return COMP_OK;
}

static comp_status score_problems(void *arg, size_t begin, size_t end, int thread) {
  comp_status status = COMP_OK;
  for (size_t problem = begin; problem < end && status == COMP_OK; problem++)
    status = score_problem(arg, problem, thread);
  return status;
}

static comp_status score_piece(float *scores, comp_context *context, const boosted *model, const comp__examples *e) {
  scoring s = {.model = model, .scores = scores};
  comp_status status = copies_init(&s.copies, context, e);
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

const comp__learner comp__learner_boosted = {boosted_fit, boosted_score, boosted_free, false};
