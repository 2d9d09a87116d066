/*
 * forest.c: random forests and boosted trees, by XGBoost.
 *
 * XGBoost sums over its own threads in an order that depends on their number. So each of its boosters gets one thread,
 * and the threads are ours: a forest is several boosters of some trees each, with a seed of their own. A tree of the
 * forest is a regression on 0 and 1 without shrinkage: its splits are Gini's, and its leaves hold shares of the level.
 */
#include <xgboost/c_api.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "metrics/learner.h"

enum { FOREST_BOOSTERS = 10, FOREST_TREES = 10, BOOSTED_ROUNDS = 100 };

typedef struct forest {
  size_t features, problems;
  size_t boosters;       /* for each problem; their scores are averaged */
  bool boosted;          /* else a forest */
  BoosterHandle *models; /* [problems, boosters]; NULL: the level has no samples */
} forest;

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

static comp_status set(BoosterHandle booster, const char *name, const char *format, ...) COMP_PRINTF(3, 4);

static comp_status set(BoosterHandle booster, const char *name, const char *format, ...) {
  char value[64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(value, sizeof value, format, arguments);
  va_end(arguments);
  return XGBoosterSetParam(booster, name, value) == 0 ? COMP_OK : xgboost_failed("setting");
}

static void forest_free(void *raw) {
  forest *model = raw;
  if (!model) return;
  for (size_t i = 0; model->models && i < model->problems * model->boosters; i++)
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

static comp_status set_common(BoosterHandle booster, uint64_t seed) {
  comp_status status = COMP_OK;
  COMP__TRY(set(booster, "nthread", "1"));
  COMP__TRY(set(booster, "verbosity", "0"));
  COMP__TRY(set(booster, "tree_method", "hist"));
  COMP__TRY(set(booster, "max_bin", "256"));
  COMP__TRY(set(booster, "seed", "%d", (int)(seed >> 33))); /* it takes 31 bits */
done:
  return status;
}

/* sqrt(features) of them at a node, rounded down as scikit-learn does; XGBoost rounds a share down. */
static comp_status set_forest(BoosterHandle booster, size_t features) {
  const double tried = fmax(1.0, floor(sqrt((double)features)));
  comp_status status = COMP_OK;
  COMP__TRY(set(booster, "objective", "reg:squarederror"));
  COMP__TRY(set(booster, "base_score", "0"));
  COMP__TRY(set(booster, "learning_rate", "1"));
  COMP__TRY(set(booster, "num_parallel_tree", "%d", FOREST_TREES));
  COMP__TRY(set(booster, "subsample", "0.632")); /* the share of different rows in a bootstrap sample */
  COMP__TRY(set(booster, "colsample_bynode", "%.9g", fmin(1.0, (tried + 0.5) / (double)features)));
  COMP__TRY(set(booster, "max_depth", "%s", getenv("F_DEPTH") ? getenv("F_DEPTH") : "0"));
  COMP__TRY(set(booster, "min_child_weight", "%s", getenv("F_MCW") ? getenv("F_MCW") : "1"));
  COMP__TRY(set(booster, "lambda", "0"));
done:
  return status;
}

static comp_status set_boosted(BoosterHandle booster) {
  comp_status status = COMP_OK;
  COMP__TRY(set(booster, "objective", "binary:logistic"));
  COMP__TRY(set(booster, "learning_rate", "0.3"));
  COMP__TRY(set(booster, "max_depth", "6"));
done:
  return status;
}

typedef struct fitting {
  comp_context *context;
  forest *model;
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

static comp_status fit_unit(const fitting *f, size_t unit, int thread) {
  forest *model = f->model;
  const size_t problem = unit / model->boosters;
  DMatrixHandle matrix = NULL;
  BoosterHandle booster = NULL;
  bool any;
  comp_status status = comp__check_interrupt(f->context);
  if (status != COMP_OK) return status;
  COMP__TRY(copies_get(&matrix, &f->copies, thread));
  COMP__TRY(set_labels(matrix, f->train, problem, &any));
  if (!any) goto done;
  TRY_XGBOOST(XGBoosterCreate(&matrix, 1, &booster), "creation");
  COMP__TRY(set_common(booster, comp__rng_bits(comp__rng_at(f->seed, COMP__RNG_CLASSIFY, 2, unit), 0)));
  COMP__TRY(model->boosted ? set_boosted(booster) : set_forest(booster, model->features));
  for (int round = 0; round < (model->boosted ? BOOSTED_ROUNDS : 1); round++) {
    COMP__TRY(comp__check_interrupt(f->context));
    TRY_XGBOOST(XGBoosterUpdateOneIter(booster, round, matrix), "training");
  }
  model->models[unit] = booster;
  booster = NULL;
done:
  if (booster) XGBoosterFree(booster);
  return status;
}

static comp_status fit_units(void *arg, size_t begin, size_t end, int thread) {
  comp_status status = COMP_OK;
  for (size_t unit = begin; unit < end && status == COMP_OK; unit++) status = fit_unit(arg, unit, thread);
  return status;
}

static comp_status fit(void **out, comp_context *context, const comp__examples *train, uint64_t seed, bool boosted) {
  *out = NULL;
  forest *model;
  fitting f = {.context = context, .train = train, .seed = seed};
  comp_status status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  *model = (forest){.features = train->features,
                    .problems = comp__problems(train->n_levels),
                    .boosters = boosted ? 1 : FOREST_BOOSTERS,
                    .boosted = boosted};
  f.model = model;
  COMP__TRY(comp__calloc(&model->models, model->problems * model->boosters, sizeof *model->models));
  COMP__TRY(copies_init(&f.copies, context, train));
  COMP__TRY(comp__parallel_try(context, model->problems * model->boosters, 1, fit_units, &f));
  *out = model;
done:
  copies_release(&f.copies);
  if (status != COMP_OK) forest_free(model);
  return status;
}

static comp_status forest_fit(void **out, comp_context *context, const comp__examples *train, uint64_t seed) {
  return fit(out, context, train, seed, false);
}

static comp_status boosted_fit(void **out, comp_context *context, const comp__examples *train, uint64_t seed) {
  return fit(out, context, train, seed, true);
}

/* ---- prediction ---- */

enum { SCORE_ROWS = 1 << 16 };

typedef struct scoring {
  const forest *model;
  copies copies;
  float *partial; /* [problems x boosters, n] */
} scoring;

static comp_status score_unit(const scoring *s, size_t unit, int thread) {
  static const char how[] = "{\"type\": 0, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, "
                            "\"strict_shape\": false}";
  float *out = s->partial + unit * s->copies.n;
  const BoosterHandle booster = s->model->models[unit];
  DMatrixHandle matrix = NULL;
  const bst_ulong *shape;
  bst_ulong dimensions;
  const float *result;
  if (!booster) {
    memset(out, 0, s->copies.n * sizeof *out);
    return COMP_OK;
  }
  comp_status status = copies_get(&matrix, &s->copies, thread);
  if (status != COMP_OK) return status;
  if (XGBoosterPredictFromDMatrix(booster, matrix, how, &shape, &dimensions, &result) != 0)
    return xgboost_failed("prediction");
  memcpy(out, result, s->copies.n * sizeof *out);
  return COMP_OK;
}

static comp_status score_units(void *arg, size_t begin, size_t end, int thread) {
  comp_status status = COMP_OK;
  for (size_t unit = begin; unit < end && status == COMP_OK; unit++) status = score_unit(arg, unit, thread);
  return status;
}

static comp_status score_rows(float *scores, comp_context *context, const forest *model, const comp__examples *e) {
  const size_t problems = model->problems, boosters = model->boosters;
  scoring s = {.model = model};
  comp_status status = copies_init(&s.copies, context, e);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__alloc(&s.partial, problems * boosters * e->n, sizeof *s.partial));
  COMP__TRY(comp__parallel_try(context, problems * boosters, 1, score_units, &s));
  for (size_t i = 0; i < e->n; i++)
    for (size_t b = 0; b < problems; b++) {
      double sum = 0.0;
      for (size_t k = 0; k < boosters; k++) sum += (double)s.partial[(b * boosters + k) * e->n + i];
      scores[i * problems + b] = (float)fmin(fmax(sum / (double)boosters, 0.0), 1.0);
    }
done:
  comp__free(s.partial);
  copies_release(&s.copies);
  return status;
}

/* In pieces, so that memory does not grow with the rows. */
static comp_status forest_score(float *scores, comp_context *context, const void *raw, const comp__examples *e) {
  const forest *model = raw;
  comp_status status = COMP_OK;
  for (size_t at = 0; at < e->n && status == COMP_OK; at += SCORE_ROWS) {
    comp__examples piece = *e;
    piece.rows = e->rows + at;
    piece.n = e->n - at < SCORE_ROWS ? e->n - at : SCORE_ROWS;
    status = score_rows(scores + at * model->problems, context, model, &piece);
  }
  return status;
}

const comp__learner comp__learner_forest = {forest_fit, forest_score, forest_free, true};
const comp__learner comp__learner_boosted = {boosted_fit, forest_score, forest_free, false};
