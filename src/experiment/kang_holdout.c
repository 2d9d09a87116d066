/* kang_holdout.c: cell types that were never seen stimulated. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "baseline/options.h"
#include "comp/task.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "experiment/kang.h"
#include "score/options.h"
#include "task/options.h"

/* One type that is left out. */
typedef struct study {
  comp__lab *lab;
  const comp__trial *trial;
  comp__figures *out;
  comp_groups stim, types;
  int32_t control, stimulated; /* codes of stim */
  int32_t type;
  comp_dataset *seen;  /* all but its stimulated cells */
  comp_dataset *cells; /* its cells, to score with */
  size_t *place;       /* [cells]: the row of a control cell in `seen` */
  comp_matrix *layer;  /* [cells, genes]: a prediction */
  const float *x;      /* [cells, genes] */
  comp_matrix *dense;
} study;

static const struct {
  const char *measure, *column;
} columns[] = {{"r_change_all", "change"}, {"r_change_top", "top"},        {"mse_all", "mse"},
               {"e_distance", "e"},        {"wasserstein", "wasserstein"}, {"common_de", "common"}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- Scores ---- */

static comp_status add_values(const study *s, const char *row, const comp_counterfactual_values *values) {
  comp_status status = COMP_OK;
  for (size_t m = 0; m < comp_counterfactual_measure_count() && status == COMP_OK; m++)
    for (size_t c = 0; c < COLUMNS && status == COMP_OK; c++) {
      char column[sizeof s->out->items->column];
      double value = comp_counterfactual_measure_value(values, m);
      if (isnan(value) || strcmp(comp_counterfactual_measure_at(m)->name, columns[c].measure) != 0) continue;
      snprintf(column, sizeof column, "%s/%s", columns[c].column, s->types.levels[s->type]);
      status = comp__figures_add(s->out, row, column, value);
    }
  return status;
}

/* Scores what is in the layer; with `others` also no change and the noise ceiling. */
static comp_status score(study *s, const char *row, bool others) {
  comp__counterfactual_score_options options = comp__scores_defaults().counterfactual;
  comp_counterfactual_score *result = NULL;
  comp_matrix *layer = NULL;
  comp_status status;
  COMP__TRY(comp_matrix_select(&layer, s->lab->context, s->layer, NULL, 0, NULL, 0));
  COMP__TRY(comp_dataset_set_matrix(s->cells, COMP_SLOT_LAYERS, "predicted", layer));
  options.condition = "stim";
  options.label = NULL;
  options.layer = "predicted";
  options.from = s->stim.levels[s->control];
  options.to = s->stim.levels[s->stimulated];
  COMP__TRY(comp__counterfactual_score_run(&result, s->lab->context, s->cells, &options));
  const comp_counterfactual_values *values = comp_counterfactual_score_mean(result)->values;
  COMP__TRY(add_values(s, row, &values[COMP_PREDICTOR_MODEL]));
  if (others) COMP__TRY(add_values(s, "no change", &values[COMP_PREDICTOR_NO_CHANGE]));
  if (others) COMP__TRY(add_values(s, "noise ceiling", &values[COMP_PREDICTOR_CEILING]));
done:
  comp__counterfactual_score_free(result);
  return status;
}

/* The layer becomes the rows of `values` [seen, genes] for the control cells. */
static void take_rows(study *s, const comp_matrix *values) {
  size_t genes = s->layer->cols;
  memcpy(s->layer->values, s->x, s->layer->rows * genes * sizeof(float));
  for (size_t i = 0; i < s->layer->rows; i++)
    if (s->place[i] != SIZE_MAX)
      memcpy(s->layer->values + i * genes, values->values + s->place[i] * genes, genes * sizeof(float));
}

/* ---- Ways to predict ---- */

/* The ways to predict from the model. */
static const struct {
  const char *name;
  bool residual, borrow, cells;
} ways[] = {{"decoded", false, false, false},
            {"residual", true, false, false},
            {"cells", true, false, true},
            {"borrowed", true, true, false},
            {"borrowed, cells", true, true, true}};
enum { WAYS = sizeof ways / sizeof *ways };

static comp_status score_way(study *s, const comp_model *model, size_t way) {
  comp_prediction prediction = {0};
  comp__counterfactual_options options = comp__counterfactual_defaults();
  char row[sizeof s->out->items->row];
  options.from = s->stim.levels[s->control];
  options.to = s->stim.levels[s->stimulated];
  options.residual = ways[way].residual;
  options.borrow = ways[way].borrow;
  options.cells = ways[way].cells;
  options.seed = s->trial->seed;
  comp_status status = comp__counterfactual(&prediction, s->lab->context, model, s->seen, &options);
  snprintf(row, sizeof row, "comp, %s, %s", s->trial->row, ways[way].name);
  if (status == COMP_OK) take_rows(s, prediction.values);
  if (status == COMP_OK) status = score(s, row, way == 0);
  comp_prediction_release(&prediction);
  return status;
}

/* Adds the rows of x whose type and condition are these to a mean [genes], each by `factor` over their number. */
static void add_mean(double *out, const study *s, const comp_matrix *x, int32_t type, int32_t stim, double factor) {
  size_t n = 0, genes = x->cols;
  for (size_t i = 0; i < x->rows; i++) n += s->types.codes[i] == type && s->stim.codes[i] == stim;
  for (size_t i = 0; i < x->rows; i++) {
    if (s->types.codes[i] != type || s->stim.codes[i] != stim) continue;
    if (x->kind == COMP_DENSE)
      for (size_t g = 0; g < genes; g++) out[g] += factor * (double)x->values[i * genes + g] / (double)n;
    else
      for (int64_t k = x->indptr[i]; k < x->indptr[i + 1]; k++)
        out[x->indices[k]] += factor * (double)x->values[k] / (double)n;
  }
}

/* The mean change of the other types, each counting once. */
static comp_status score_shift(study *s) {
  size_t genes = s->layer->cols;
  double *shift = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&shift, genes, sizeof *shift));
  for (int32_t t = 0; t < (int32_t)s->types.n_levels; t++) {
    double share = 1.0 / (double)(s->types.n_levels - 1);
    if (t == s->type) continue;
    add_mean(shift, s, comp_dataset_x(s->lab->dataset), t, s->stimulated, share);
    add_mean(shift, s, comp_dataset_x(s->lab->dataset), t, s->control, -share);
  }
  for (size_t i = 0; i < s->layer->rows; i++)
    for (size_t g = 0; g < genes; g++)
      s->layer->values[i * genes + g] = (float)((double)s->x[i * genes + g] + shift[g]);
  COMP__TRY(score(s, "mean shift", false));
done:
  comp__free(shift);
  return status;
}

/* Arithmetic on the latent space of a VAE that was trained on the same cells. */
static comp_status score_scgen(study *s) {
  comp__baseline_options options = comp__baseline_defaults();
  comp__trial trial = *s->trial;
  comp_model *model = NULL;
  comp_dataset *results = NULL;
  char part[64];
  comp_status status;
  snprintf(trial.model, sizeof trial.model, "vae");
  snprintf(part, sizeof part, "%s-vae", s->types.levels[s->type]);
  COMP__TRY(comp__lab_fit(&model, s->lab, &trial, part, s->seen));
  options.condition = "stim";
  options.label = "cell_type";
  options.reference = s->stim.levels[s->control];
  options.to = s->stim.levels[s->stimulated];
  options.model = model;
  COMP__TRY(comp__baseline_method(&results, s->lab->context, s->seen, "scgen", &options));
  take_rows(s, comp_dataset_matrix(results, COMP_SLOT_LAYERS, "scgen_counterfactual"));
  COMP__TRY(score(s, "scgen", false));
done:
  comp_dataset_free(results);
  comp_model_free(model);
  return status;
}

/* ---- A type ---- */

/* Which cells are seen, and which are scored. */
static comp_status split(study *s) {
  const comp_dataset *all = s->lab->dataset;
  size_t n = comp_dataset_sample_count(all), n_seen = 0, n_cells = 0, *seen = NULL, *cells = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&seen, n, sizeof *seen));
  COMP__TRY(comp__alloc(&cells, n, sizeof *cells));
  COMP__TRY(comp__alloc(&s->place, n, sizeof *s->place));
  for (size_t i = 0; i < n; i++) {
    bool hidden = s->types.codes[i] == s->type && s->stim.codes[i] == s->stimulated;
    if (s->types.codes[i] == s->type) s->place[n_cells] = hidden ? SIZE_MAX : n_seen, cells[n_cells++] = i;
    if (!hidden) seen[n_seen++] = i;
  }
  COMP__TRY(comp_dataset_select(&s->seen, s->lab->context, all, seen, n_seen, NULL, 0));
  COMP__TRY(comp_dataset_select(&s->cells, s->lab->context, all, cells, n_cells, NULL, 0));
  COMP__TRY(comp_matrix_to_dense(&s->dense, s->lab->context, comp_dataset_x(s->cells)));
  s->x = s->dense->values;
  COMP__TRY(comp__matrix_new_dense_raw(&s->layer, n_cells, comp_dataset_feature_count(all)));
done:
  comp__free(seen);
  comp__free(cells);
  return status;
}

static void release_type(study *s) {
  comp_dataset_free(s->seen);
  comp_dataset_free(s->cells);
  comp_matrix_free(s->dense);
  comp_matrix_free(s->layer);
  comp__free(s->place);
  s->seen = s->cells = NULL;
  s->dense = s->layer = NULL;
  s->place = NULL;
}

static comp_status run_type(study *s) {
  comp_model *model = NULL;
  comp_status status;
  COMP__TRY(split(s));
  COMP__TRY(comp__lab_fit(&model, s->lab, s->trial, s->types.levels[s->type], s->seen));
  for (size_t way = 0; way < WAYS; way++) COMP__TRY(score_way(s, model, way));
  COMP__TRY(score_shift(s));
  if (comp__listed(s->lab->options->models, "vae")) COMP__TRY(score_scgen(s));
done:
  comp_model_free(model);
  release_type(s);
  return status;
}

/* ---- Means over types ---- */

static comp_status add_means(comp__figures *out) {
  size_t count = out->count;
  for (size_t i = 0; i < count; i++) {
    char row[sizeof out->items->row], column[sizeof out->items->column];
    size_t n = 0, length = strcspn(out->items[i].column, "/");
    double sum = 0;
    bool first = true;
    snprintf(row, sizeof row, "%s", out->items[i].row);
    snprintf(column, sizeof column, "%.*s", (int)length, out->items[i].column);
    for (size_t j = 0; j < count; j++) {
      if (strcmp(out->items[j].row, row) != 0) continue;
      if (strncmp(out->items[j].column, column, length) != 0 || out->items[j].column[length] != '/') continue;
      if (j < i) first = false;
      sum += out->items[j].value;
      n++;
    }
    comp_status status = first ? comp__figures_add(out, row, column, sum / (double)n) : COMP_OK;
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp__kang_holdout(comp__figures *out, comp__lab *lab, const comp__trial *trial) {
  study s = {.lab = lab, .trial = trial, .out = out};
  size_t stim, types;
  const comp_table *obs = comp_dataset_obs(lab->dataset);
  comp_status status;
  COMP__TRY(comp_table_require(&stim, obs, "stim"));
  COMP__TRY(comp_table_require(&types, obs, "cell_type"));
  COMP__TRY(comp_table_groups(&s.stim, obs, stim));
  COMP__TRY(comp_table_groups(&s.types, obs, types));
  s.control = strcmp(s.stim.levels[0], "CTRL") == 0 ? 0 : 1;
  s.stimulated = 1 - s.control;
  for (s.type = 0; s.type < (int32_t)s.types.n_levels; s.type++) COMP__TRY(run_type(&s));
  COMP__TRY(add_means(out));
done:
  comp_groups_release(&s.types);
  comp_groups_release(&s.stim);
  return status;
}
