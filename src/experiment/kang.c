/* kang.c: stimulated and control blood cells: mixing, counterfactuals, gamma, and cell types that were never seen
 * stimulated. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comp/task.h"
#include "core/alloc.h"
#include "core/error.h"
#include "experiment/fit.h"
#include "experiment/lab.h"
#include "prep/options.h"
#include "task/options.h"

/* Of the paper's set: each is held out once. */
enum { CELL_TYPES = 8 };

#define TYPES(key, better, digits)                                                                                     \
  {key "/B", "B", better, digits}, {key "/CD14 Mono", "CD14 Mono", better, digits},                                    \
      {key "/CD16 Mono", "CD16 Mono", better, digits}, {key "/CD4 T", "CD4 T", better, digits},                        \
      {key "/CD8 T", "CD8 T", better, digits}, {key "/DC", "DC", better, digits}, {key "/NK", "NK", better, digits},   \
      {key "/T activated", "T activated", better, digits}, {                                                           \
    NULL, NULL, COMP_BETTER_LOWER, 0                                                                                   \
  }

static const comp__column model_columns[] = {{"kbet", "kBET", COMP_BETTER_LOWER, 4},
                                             {"m_kbet", "m-kBET", COMP_BETTER_LOWER, 4},
                                             {"s", "s", COMP_BETTER_ZERO, 4},
                                             {"s_label", "s~", COMP_BETTER_ZERO, 4},
                                             {"r_all", "r all", COMP_BETTER_HIGHER, 4},
                                             {"r_de", "r DE", COMP_BETTER_HIGHER, 4},
                                             {"mse_all", "MSE all", COMP_BETTER_LOWER, 4},
                                             {"mse_de", "MSE DE", COMP_BETTER_LOWER, 4},
                                             {NULL, NULL, COMP_BETTER_LOWER, 0}};
static const comp__column kbet_types[] = {TYPES("kbet", COMP_BETTER_LOWER, 4)};
static const comp__column s_types[] = {TYPES("s", COMP_BETTER_ZERO, 4)};
static const comp__column r_all_types[] = {TYPES("r_all", COMP_BETTER_HIGHER, 4)};
static const comp__column r_de_types[] = {TYPES("r_de", COMP_BETTER_HIGHER, 4)};
static const comp__column mse_de_types[] = {TYPES("mse_de", COMP_BETTER_LOWER, 4)};
static const comp__column holdout_columns[] = {{"change", "mean", COMP_BETTER_HIGHER, 3},
                                               TYPES("change", COMP_BETTER_HIGHER, 3)};

#define MEASURED                                                                                                       \
  "Kang et al., the cells of the paper that are in the file. k = 100, alpha = 0.1, on posterior means; m-kBET and s~ " \
  "over "                                                                                                              \
  "cell types of at least 150 cells with k = min(100, n/4). Counterfactuals from control to stimulated, 50 DE genes, " \
  "mean over eight types."

static const comp__table tables[] = {
    {"models", "Kang: five models", MEASURED, NULL, model_columns},
    {"types_kbet", "Kang: kBET of each cell type", MEASURED, "models", kbet_types},
    {"types_s", "Kang: s of each cell type", MEASURED, "models", s_types},
    {"types_r_all", "Kang: r over all genes, of each cell type", MEASURED, "models", r_all_types},
    {"types_r_de", "Kang: r over DE genes, of each cell type", MEASURED, "models", r_de_types},
    {"types_mse_de", "Kang: MSE over DE genes, of each cell type", MEASURED, "models", mse_de_types},
    {"gamma", "Kang: the weight of the penalty",
     MEASURED " Self left out: a cell's own posterior is no part of its mixture, at a learning rate of 1e-4 (the "
              "paper's preset: 1e-6, for both).",
     NULL, model_columns},
    {"mmd", "Kang: the weight of the MMD penalties", MEASURED, NULL, model_columns},
    {"holdout", "Kang: cell types that were never seen stimulated",
     "The stimulated cells of one type are not in the training data; Pearson correlation of the predicted with the "
     "true "
     "change of its mean, over 2,000 genes. Mean shift: the mean change of the other types.",
     NULL, holdout_columns},
    {NULL, NULL, NULL, NULL, NULL}};

static comp_status prepare(comp__lab *lab) {
  static const char *const keep[] = {"in_paper_set=True"};
  comp__prep_options prep = comp__prep_defaults();
  prep.filter.keep = keep;
  prep.filter.n_keep = 1;
  prep.normalize = prep.log1p = true;
  prep.hvg.flavor = COMP_HVG_SEURAT;
  prep.hvg.n = 2000;
  return comp__lab_read(lab, "kang", "kang_ifnb.h5ad", &prep);
}

static comp_status plan_sweep(comp__plan *plan, const comp__lab *lab, const char *table, const char *model,
                              const double *gammas, size_t n, bool leave_self_out) {
  for (size_t g = 0; g < n; g++)
    for (size_t s = 0; s < lab->options->n_seeds; s++) {
      comp__trial trial = {.gamma = gammas[g], .seed = lab->options->seeds[s], .leave_self_out = leave_self_out};
      if (strcmp(table, "holdout") == 0) trial.fits = CELL_TYPES;
      snprintf(trial.table, sizeof trial.table, "%s", table);
      snprintf(trial.model, sizeof trial.model, "%s", model);
      snprintf(trial.row, sizeof trial.row, "%s%sgamma %g%s", strcmp(model, "comp") == 0 ? "" : model,
               strcmp(model, "comp") == 0 ? "" : ", ", gammas[g], leave_self_out ? ", self left out" : "");
      comp_status status = comp__plan_add(plan, lab, &trial);
      if (status != COMP_OK) return status;
    }
  return COMP_OK;
}

static comp_status plan(comp__plan *out, const comp__lab *lab, const char *table) {
  static const double gammas[] = {0.25, 0.5, 1, 5, 10, 15, 20};
  static const double mmd_gammas[] = {10, 100, 1000, 1e4, 1e5};
  comp_status status;
  if (strcmp(table, "models") == 0) return comp__plan_models(out, lab, table, comp__lab_models);
  if (strcmp(table, "gamma") == 0) {
    status = plan_sweep(out, lab, table, "comp", gammas, sizeof gammas / sizeof *gammas, false);
    return status == COMP_OK ? plan_sweep(out, lab, table, "comp", gammas, sizeof gammas / sizeof *gammas, true)
                             : status;
  }
  if (strcmp(table, "mmd") == 0) {
    status = plan_sweep(out, lab, table, "vfae", mmd_gammas, sizeof mmd_gammas / sizeof *mmd_gammas, false);
    return status == COMP_OK
               ? plan_sweep(out, lab, table, "trvae", mmd_gammas, sizeof mmd_gammas / sizeof *mmd_gammas, false)
               : status;
  }
  return plan_sweep(out, lab, table, "comp", (const double[]){1}, 1, false);
}

static comp_status recipe(comp__train_options *out, const comp__lab *lab, const comp__trial *trial) {
  comp_status status = comp__lab_recipe(out, lab, trial, "paper-kang");
  if (status == COMP_OK && trial->leave_self_out) {
    out->model.include_self = false;
    if (strcmp(lab->options->preset, "paper") != 0)
      out->rate = 1e-4; /* larger rates diverge: the penalty has no floor without the own posterior */
  }
  return status;
}

/* ---- Cell types that were never seen stimulated ---------------------------------------------------------------- */

typedef struct cells {
  comp_groups stim, types;
  int32_t control, stimulated; /* codes of stim */
} cells;

/* The mean of the rows of x whose type and condition are these; rows[i] is the sample that row i is of (NULL: i). */
static comp_status mean_of(double *out, comp__lab *lab, const comp_matrix *x, const size_t *rows, const cells *c,
                           int32_t type, int32_t stim) {
  comp_status status;
  comp_matrix *selected = NULL, *dense = NULL;
  size_t *picked = NULL, n = 0, features = comp_matrix_cols(x);
  COMP__TRY(comp__alloc(&picked, comp_matrix_rows(x), sizeof *picked));
  for (size_t i = 0; i < comp_matrix_rows(x); i++) {
    size_t sample = rows ? rows[i] : i;
    if (c->types.codes[sample] == type && c->stim.codes[sample] == stim) picked[n++] = i;
  }
  COMP__TRY(comp_matrix_select(&selected, lab->context, x, picked, n, NULL, 0));
  COMP__TRY(comp_matrix_to_dense(&dense, lab->context, selected));
  memset(out, 0, features * sizeof *out);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < features; j++)
      out[j] += (double)comp_matrix_const_values(dense)[i * features + j] / (double)n;
done:
  comp_matrix_free(dense);
  comp_matrix_free(selected);
  comp__free(picked);
  return status;
}

static double correlation(const double *a, const double *b, size_t n) {
  double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
  for (size_t j = 0; j < n; j++) {
    mean_a += a[j] / (double)n;
    mean_b += b[j] / (double)n;
  }
  for (size_t j = 0; j < n; j++) {
    aa += (a[j] - mean_a) * (a[j] - mean_a);
    bb += (b[j] - mean_b) * (b[j] - mean_b);
    ab += (a[j] - mean_a) * (b[j] - mean_b);
  }
  return ab / sqrt(aa * bb);
}

/* The three ways to predict from a model. */
typedef enum way { DECODED, RESIDUAL, BORROWED, WAYS } way;
static const char *const way_names[WAYS] = {"decoded", "residual", "borrowed"};

/* What a model that never saw the stimulated cells of a type predicts for it. */
static comp_status predict_change(double *change, comp__lab *lab, const comp_model *model, const comp_dataset *seen,
                                  const size_t *rows, const cells *c, int32_t type, way how, const double *control) {
  comp_prediction prediction = {0};
  comp__counterfactual_options options = comp__counterfactual_defaults();
  options.from = c->stim.levels[c->control];
  options.to = c->stim.levels[c->stimulated];
  options.residual = how != DECODED;
  options.borrow = how == BORROWED;
  comp_status status;
  COMP__TRY(comp__counterfactual(&prediction, lab->context, model, seen, &options));
  COMP__TRY(mean_of(change, lab, prediction.values, rows, c, type, c->control));
  for (size_t j = 0; j < comp_dataset_feature_count(seen); j++) change[j] -= control[j];
done:
  comp_prediction_release(&prediction);
  return status;
}

/* Row "comp, borrowed" or "mean shift": one type's correlation, and its part of the mean over types. */
static comp_status add_change(comp__figures *out, const char *row, const cells *c, int32_t type, double r) {
  char column[sizeof out->items->column];
  snprintf(column, sizeof column, "change/%s", c->types.levels[type]);
  return comp__figures_add(out, row, column, r);
}

static comp_status holdout_type(comp__figures *out, comp__lab *lab, const comp__trial *trial, const cells *c,
                                int32_t type) {
  comp_status status;
  comp_dataset *seen = NULL;
  comp_model *model = NULL;
  size_t *rows = NULL, n = 0, features = comp_dataset_feature_count(lab->dataset);
  double *work = NULL;
  const comp_matrix *x = comp_dataset_x(lab->dataset);
  COMP__TRY(comp__alloc(&rows, comp_dataset_sample_count(lab->dataset), sizeof *rows));
  COMP__TRY(comp__calloc(&work, 5 * features, sizeof *work));
  double *control = work, *truth = work + features, *change = work + 2 * features, *shift = work + 3 * features,
         *other = work + 4 * features;
  for (size_t i = 0; i < comp_dataset_sample_count(lab->dataset); i++)
    if (c->types.codes[i] != type || c->stim.codes[i] != c->stimulated) rows[n++] = i;
  COMP__TRY(comp_dataset_select(&seen, lab->context, lab->dataset, rows, n, NULL, 0));
  COMP__TRY(comp__lab_fit(&model, lab, trial, c->types.levels[type], seen));
  COMP__TRY(mean_of(control, lab, x, NULL, c, type, c->control));
  COMP__TRY(mean_of(truth, lab, x, NULL, c, type, c->stimulated));
  for (size_t j = 0; j < features; j++) truth[j] -= control[j];
  for (int how = 0; how < WAYS; how++) {
    char row[sizeof out->items->row];
    COMP__TRY(predict_change(change, lab, model, seen, rows, c, type, (way)how, control));
    snprintf(row, sizeof row, "comp, %s, %s", trial->row, way_names[how]);
    COMP__TRY(add_change(out, row, c, type, correlation(change, truth, features)));
  }
  for (int32_t t = 0; t < (int32_t)c->types.n_levels; t++) {
    if (t == type) continue;
    COMP__TRY(mean_of(change, lab, x, NULL, c, t, c->stimulated));
    COMP__TRY(mean_of(other, lab, x, NULL, c, t, c->control));
    for (size_t j = 0; j < features; j++) shift[j] += change[j] - other[j];
  }
  COMP__TRY(add_change(out, "mean shift", c, type, correlation(shift, truth, features)));
done:
  comp__free(work);
  comp__free(rows);
  comp_model_free(model);
  comp_dataset_free(seen);
  return status;
}

/* The means over types go to their own column. */
static comp_status add_means(comp__figures *out) {
  size_t count = out->count;
  for (size_t i = 0; i < count; i++) {
    size_t n = 0;
    double sum = 0;
    char row[sizeof out->items->row];
    bool first = true;
    snprintf(row, sizeof row, "%s", out->items[i].row);
    for (size_t j = 0; j < count; j++) {
      if (strcmp(out->items[j].row, row) != 0) continue;
      if (j < i) first = false;
      sum += out->items[j].value;
      n++;
    }
    comp_status status = first ? comp__figures_add(out, row, "change", sum / (double)n) : COMP_OK;
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status run_holdout(comp__figures *out, comp__lab *lab, const comp__trial *trial) {
  cells c = {0};
  size_t stim, types;
  const comp_table *obs = comp_dataset_obs(lab->dataset);
  comp_status status;
  COMP__TRY(comp_table_require(&stim, obs, "stim"));
  COMP__TRY(comp_table_require(&types, obs, "cell_type"));
  COMP__TRY(comp_table_groups(&c.stim, obs, stim));
  COMP__TRY(comp_table_groups(&c.types, obs, types));
  c.control = strcmp(c.stim.levels[0], "CTRL") == 0 ? 0 : 1;
  c.stimulated = 1 - c.control;
  for (int32_t type = 0; type < (int32_t)c.types.n_levels; type++) COMP__TRY(holdout_type(out, lab, trial, &c, type));
  COMP__TRY(add_means(out));
done:
  comp_groups_release(&c.types);
  comp_groups_release(&c.stim);
  return status;
}

/* ---- Models ---------------------------------------------------------------------------------------------------- */

static comp_status run(comp__figures *out, comp__lab *lab, const comp__trial *trial) {
  comp_model *model = NULL;
  comp_status status;
  if (strcmp(trial->table, "holdout") == 0) return run_holdout(out, lab, trial);
  if (trial->model[0]) COMP__TRY(comp__lab_fit(&model, lab, trial, NULL, lab->dataset));
  COMP__TRY(comp__lab_embed(lab, trial, model, "z"));
  COMP__TRY(comp__lab_score(out, lab, trial, "z", 100, 0.1, 150, true));
  if (model) COMP__TRY(comp__lab_counterfactual(out, lab, trial, model, "CTRL", "STIM", NULL));
done:
  comp_model_free(model);
  return status;
}

const comp__experiment comp__experiment_kang = {
    .name = "kang",
    .summary = "blood cells with and without interferon: mixing, counterfactuals, gamma, types never seen stimulated",
    .condition = "stim",
    .label = "cell_type",
    .gammas = {.vfae = 1e4, .trvae = 1e5, .comp = 12}, /* tables gamma and mmd have what was tried */
    .tables = tables,
    .prepare = prepare,
    .plan = plan,
    .recipe = recipe,
    .run = run,
};
