/* boosted.c: the module `boosted`, the only caller of XGBoost. */
#include "classify/boosting.h"

#include <xgboost/c_api.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/module.h"

static const char *message(void) {
  return XGBGetLastError();
}

/* From XGBoost's status. */
static comp_status outcome(int failed) {
  if (!failed) return COMP_OK;
  return strstr(message(), "bad_alloc") ? COMP_ERR_MEMORY : COMP_ERR_UNAVAILABLE;
}

static comp_status matrix_new(void **out, const float *values, size_t rows, size_t features) {
  *out = NULL;
  return outcome(XGDMatrixCreateFromMat_omp(values, rows, features, NAN, out, 1));
}

static void matrix_free(void *matrix) {
  XGDMatrixFree(matrix);
}

static comp_status matrix_set_labels(void *matrix, const float *labels, size_t rows) {
  return outcome(XGDMatrixSetFloatInfo(matrix, "label", labels, rows));
}

static void model_free(void *model) {
  XGBoosterFree(model);
}

/* One round is a step down the logistic loss; every setting that matters is named. */
static comp_status set_up(BoosterHandle booster, int depth, double rate, uint64_t seed) {
  char text[32], depth_text[32], rate_text[32];
  snprintf(text, sizeof text, "%d", (int)(seed >> 33)); /* it takes 31 bits */
  snprintf(depth_text, sizeof depth_text, "%d", depth);
  snprintf(rate_text, sizeof rate_text, "%.3g", rate);
  const char *const settings[][2] = {{"nthread", "1"},
                                     {"verbosity", "0"},
                                     {"tree_method", "hist"},
                                     {"max_bin", "256"},
                                     {"objective", "binary:logistic"},
                                     {"learning_rate", rate_text},
                                     {"max_depth", depth_text},
                                     {"seed", text}};
  comp_status status = COMP_OK;
  for (size_t i = 0; i < sizeof settings / sizeof *settings && status == COMP_OK; i++)
    status = outcome(XGBoosterSetParam(booster, settings[i][0], settings[i][1]));
  return status;
}

static comp_status model_new(void **out, void *matrix, int depth, double rate, uint64_t seed) {
  BoosterHandle booster = NULL;
  *out = NULL;
  comp_status status = outcome(XGBoosterCreate(&matrix, 1, &booster));
  if (status == COMP_OK) status = set_up(booster, depth, rate, seed);
  if (status == COMP_OK)
    *out = booster;
  else if (booster)
    XGBoosterFree(booster);
  return status;
}

static comp_status model_grow(void *model, int round, void *matrix) {
  return outcome(XGBoosterUpdateOneIter(model, round, matrix));
}

static comp_status model_predict(const float **out, void *model, void *matrix) {
  static const char how[] = "{\"type\": 0, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, "
                            "\"strict_shape\": false}";
  const bst_ulong *shape;
  bst_ulong dimensions;
  return outcome(XGBoosterPredictFromDMatrix(model, matrix, how, &shape, &dimensions, out));
}

static const comp__boosting table = {
    .matrix_new = matrix_new,
    .matrix_free = matrix_free,
    .matrix_set_labels = matrix_set_labels,
    .model_new = model_new,
    .model_free = model_free,
    .model_grow = model_grow,
    .model_predict = model_predict,
    .message = message,
};
COMP__MODULE_EXPORT(table, "XGBoost " COMP_LIBRARY_VERSION);
