/* counterfactual.c: predictions of another condition against real samples of it, label by label. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/task.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"
#include "core/rng.h"
#include "core/table.h"
#include "metrics/options.h"
#include "metrics/prediction.h"
#include "prep/options.h"

struct comp_counterfactual_score {
  char *from, *to, *layer;
  char **names;
  comp_counterfactual_label *labels;
  size_t n_labels;
  comp_counterfactual_label mean;
};

/* ---- The predictions ---- */

static const char *const predictor_names[] = {"prediction", "no change", "mean shift", "ceiling", NULL};
COMP__ENUM_NAMES(comp_predictor, predictor_names, "predictor")

const char *comp_predictor_key(comp_predictor predictor) {
  static const char *const keys[COMP_PREDICTORS] = {"prediction", "no_change", "mean_shift", "ceiling"};
  return (unsigned)predictor < COMP_PREDICTORS ? keys[predictor] : NULL;
}

/* ---- The measures, by number ---- */

typedef struct measure_row {
  comp_score_metric info;
  size_t offset; /* of its value */
} measure_row;

#define FAMILY     "counterfactual"
#define LOWER      COMP_BETTER_LOWER
#define HIGHER     COMP_BETTER_HIGHER
#define AT(member) offsetof(comp_counterfactual_values, member)
static const char CHANGE_HELP[] =
    "Pearson's r of the predicted change with the real change: predicting no change gives no credit here.";
static const char R2_HELP[] = "Share of the variance between genes that the prediction explains.";
static const char SINGLE_HELP[] =
    "Root of the mean squared error of single samples, where it is known what they would be.";

/* clang-format off */
static const measure_row measures[] = {
    {{"r_all", "r of means, all genes", "r of means, all", FAMILY,
      "Pearson correlation of predicted and real means, all genes",
      "Pearson's r over all genes between the mean of real and of predicted samples of a condition.",
      HIGHER, -1, 1, false}, AT(r_all)},
    {{"mse_all", "MSE, all genes", "MSE, all", FAMILY,
      "mean squared difference of the means, all genes",
      "Mean squared error of the predicted mean over all genes.",
      LOWER, 0, INFINITY, false}, AT(mse_all)},
    {{"r2_all", "R\u00b2, all genes", "R\u00b2, all", FAMILY,
      "share of the real means' variance that is predicted, all genes", R2_HELP,
      HIGHER, -INFINITY, 1, false}, AT(r2_all)},
    {{"r_change_all", "r of the change, all genes", "r of the change, all", FAMILY,
      "Pearson correlation of predicted and real changes from control, all genes", CHANGE_HELP,
      HIGHER, -1, 1, false}, AT(r_change_all)},
    {{"r_de", "r of means, top DE genes", "r of means, top DE", FAMILY,
      "as r_all, over the top DE genes",
      "Pearson's r over the top DE genes between the conditions (Wilcoxon; genes that are higher in the target condition): "
      "the harder test.",
      HIGHER, -1, 1, false}, AT(r_de)},
    {{"mse_de", "MSE, top DE genes", "MSE, top DE", FAMILY,
      "as mse_all, over the top DE genes",
      "Mean squared error of the predicted mean over the top DE genes.",
      LOWER, 0, INFINITY, false}, AT(mse_de)},
    {{"r2_de", "R\u00b2, top DE genes", "R\u00b2, top DE", FAMILY,
      "as r2_all, over the top DE genes", R2_HELP,
      HIGHER, -INFINITY, 1, false}, AT(r2_de)},
    {{"r_change_de", "r of the change, top DE genes", "r of the change, top DE", FAMILY,
      "as r_change_all, over the top DE genes", CHANGE_HELP,
      HIGHER, -1, 1, false}, AT(r_change_de)},
    {{"r_change_top", "r of the change, top DE genes up or down", "r of the change, DE up or down", FAMILY,
      "as r_change_all, over the top DE genes (Wilcoxon, up or down)", CHANGE_HELP,
      HIGHER, -1, 1, false}, AT(r_change_top)},
    {{"e_distance", "energy distance", NULL, FAMILY,
      "energy distance of predicted and real samples, all genes: twice the mean distance between the two, less the mean "
      "distances within each; 0 when they spread alike, and lower is better",
      "Energy distance between predicted and real samples: 0 when their distributions are the same. Predictions vary "
      "less than real samples do, which counts against them here.",
      LOWER, 0, INFINITY, false}, AT(e_distance)},
    {{"wasserstein", "Wasserstein distance, mean over genes", "Wasserstein distance", FAMILY,
      "mean over genes of the Wasserstein-1 distance of predicted and real values of the gene",
      "How far predicted values of a gene are from real ones, as distributions, in the mean over genes.",
      LOWER, 0, INFINITY, false}, AT(wasserstein)},
    {{"common_de", "common DE genes", NULL, FAMILY,
      "share of the top DE genes of real samples that are top DE genes of predicted ones, each against control",
      "Share of the top DE genes (Wilcoxon, real samples against control) that are also found with predicted samples.",
      HIGHER, 0, 1, false}, AT(common_de)},
    {{"rmse_truth", "error of single samples against the truth", "error of single samples, truth", FAMILY,
      "error of single samples against the truth layer", SINGLE_HELP,
      LOWER, 0, INFINITY, false}, AT(rmse_truth)},
    {{"rmse_pair", "error of single samples against their pair", "error of single samples, pairs", FAMILY,
      "error of single samples against their real pair", SINGLE_HELP,
      LOWER, 0, INFINITY, false}, AT(rmse_pair)},
};
/* clang-format on */
enum { MEASURES = sizeof measures / sizeof *measures };

size_t comp_counterfactual_measure_count(void) {
  return MEASURES;
}
const comp_score_metric *comp_counterfactual_measure_at(size_t measure) {
  return measure < MEASURES ? &measures[measure].info : NULL;
}

static double *member(comp_counterfactual_values *values, size_t measure) {
  return (double *)((char *)values + measures[measure].offset);
}

double comp_counterfactual_measure_value(const comp_counterfactual_values *values, size_t measure) {
  return measure < MEASURES ? *(const double *)((const char *)values + measures[measure].offset) : NAN;
}

/* ---- Rows of matrices ---- */

/* Adds `factor` times row i to sums [cols]. */
static void add_row(double *sums, const comp_matrix *m, size_t i, double factor) {
  if (m->kind == COMP_DENSE) {
    for (size_t g = 0; g < m->cols; g++) sums[g] += factor * (double)m->values[i * m->cols + g];
    return;
  }
  for (int64_t k = m->indptr[i]; k < m->indptr[i + 1]; k++) sums[m->indices[k]] += factor * (double)m->values[k];
}

static void row_mean(double *out, const comp_matrix *m, const size_t *rows, size_t n) {
  memset(out, 0, m->cols * sizeof *out);
  for (size_t i = 0; i < n; i++) add_row(out, m, rows[i], 1.0);
  for (size_t g = 0; g < m->cols; g++) out[g] /= (double)n;
}

/* ---- What a label is scored with ---- */

typedef struct task {
  comp_context *context;
  const comp__counterfactual_score_options *options;
  int32_t from, to;                         /* codes of the condition */
  const comp_matrix *x, *predicted, *truth; /* truth: NULL when there is none */
  bool log_truth;
  const double *shift;      /* [genes] */
  const comp_groups *pairs; /* NULL: none */
  comp_counterfactual_score *score;
  const comp_de *de;
  size_t **control, **target; /* [labels] rows */
} task;

/* A way to predict the rows of the controls: a matrix, and what is added to each row. */
typedef struct way {
  const comp_matrix *matrix;
  const double *shift; /* NULL: nothing */
} way;

static way way_of(const task *t, int predictor) {
  return (way){predictor == COMP_PREDICTOR_MODEL ? t->predicted : t->x,
               predictor == COMP_PREDICTOR_MEAN_SHIFT ? t->shift : NULL};
}

static void way_row(double *out, way w, size_t i) {
  memset(out, 0, w.matrix->cols * sizeof *out);
  add_row(out, w.matrix, i, 1.0);
  for (size_t g = 0; w.shift && g < w.matrix->cols; g++) out[g] += w.shift[g];
}

/* ---- Means ---- */

/* Over the genes `list` [n], or all with NULL. */
typedef struct genes {
  const size_t *list;
  size_t n;
} genes;

static size_t gene_at(genes over, size_t k) {
  return over.list ? over.list[k] : k;
}

/* Correlation of a - base and b - base (base NULL: 0); NaN when one of them is constant. */
static double pearson(const double *a, const double *b, const double *base, genes over) {
  double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
  for (size_t k = 0; k < over.n; k++) {
    size_t g = gene_at(over, k);
    ma += a[g] - (base ? base[g] : 0.0);
    mb += b[g] - (base ? base[g] : 0.0);
  }
  ma /= (double)over.n;
  mb /= (double)over.n;
  for (size_t k = 0; k < over.n; k++) {
    size_t g = gene_at(over, k);
    double u = a[g] - (base ? base[g] : 0.0) - ma, v = b[g] - (base ? base[g] : 0.0) - mb;
    aa += u * u;
    bb += v * v;
    ab += u * v;
  }
  return aa > 0.0 && bb > 0.0 ? ab / sqrt(aa * bb) : (double)NAN;
}

/* mse, and r2 with the variance of the real values. */
static double squared_error(double *r2, const double *p, const double *t, genes over) {
  double mean = 0, error = 0, spread = 0;
  for (size_t k = 0; k < over.n; k++) mean += t[gene_at(over, k)];
  mean /= (double)over.n;
  for (size_t k = 0; k < over.n; k++) {
    size_t g = gene_at(over, k);
    error += (p[g] - t[g]) * (p[g] - t[g]);
    spread += (t[g] - mean) * (t[g] - mean);
  }
  *r2 = spread > 0.0 ? 1.0 - error / spread : (double)NAN;
  return error / (double)over.n;
}

/* Over which genes a label is scored. */
typedef struct genes_of {
  genes all, de, top;
} genes_of;

static void score_means(comp_counterfactual_values *v, const double *p, const double *t, const double *c, genes_of of) {
  const genes all = of.all, de = of.de;
  v->r_all = pearson(p, t, NULL, all);
  v->r_de = pearson(p, t, NULL, de);
  v->mse_all = squared_error(&v->r2_all, p, t, all);
  v->mse_de = squared_error(&v->r2_de, p, t, de);
  v->r_change_all = pearson(p, t, c, all);
  v->r_change_de = pearson(p, t, c, de);
  v->r_change_top = pearson(p, t, c, of.top);
}

/* ---- Cells ---- */

/* Dense rows [n, genes] of a way. */
static comp_status fill_rows(comp__samples *out, way w, const size_t *rows, size_t n, double *row) {
  *out = (comp__samples){NULL, n, w.matrix->cols};
  comp_status status = comp__alloc(&out->rows, n, out->genes * sizeof(float));
  for (size_t i = 0; status == COMP_OK && i < n; i++) {
    way_row(row, w, rows[i]);
    for (size_t g = 0; g < out->genes; g++) out->rows[i * out->genes + g] = (float)row[g];
  }
  return status;
}

/* At most max_cells of the rows, drawn, in their order. */
static comp_status draw_cells(size_t **out, size_t *n_out, const size_t *rows, size_t n, const task *t, size_t label,
                              uint64_t side) {
  size_t most = t->options->max_cells, *order = NULL;
  bool *taken = NULL;
  comp_status status;
  *n_out = most && n > most ? most : n;
  COMP__TRY(comp__alloc(out, *n_out, sizeof **out));
  COMP__TRY(comp__alloc(&order, n, sizeof *order));
  COMP__TRY(comp__calloc(&taken, n, sizeof *taken));
  comp__rng_permutation(order, n, comp__rng_at(t->options->seed, COMP__RNG_METRICS, side, label));
  for (size_t i = 0; i < *n_out; i++) taken[*n_out == n ? i : order[i]] = true;
  for (size_t i = 0, at = 0; i < n; i++)
    if (taken[i]) (*out)[at++] = rows[i];
done:
  comp__free(order);
  comp__free(taken);
  return status;
}

/* The share of the label's top genes that the samples have, too. */
static comp_status score_common(double *out, const task *t, comp__samples samples, comp__samples control,
                                const size_t *top, size_t n_top) {
  double *scores = NULL;
  size_t *found = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&scores, samples.genes, sizeof *scores));
  COMP__TRY(comp__alloc(&found, n_top, sizeof *found));
  COMP__TRY(comp__samples_de(scores, t->context, samples, control));
  COMP__TRY(comp__top_genes(found, n_top, scores, samples.genes));
  *out = comp__share_common(found, top, n_top);
done:
  comp__free(scores);
  comp__free(found);
  return status;
}

/* Samples that stand for the real ones of `to`. */
static comp_status score_samples(comp_counterfactual_values *v, const task *t, comp__samples samples,
                                 comp__samples real, comp__samples control, const size_t *top, size_t n_top) {
  comp_status status;
  COMP__TRY(comp__check_interrupt(t->context));
  COMP__TRY(comp__energy_distance(&v->e_distance, t->context, samples, real));
  COMP__TRY(comp__wasserstein(&v->wasserstein, t->context, samples, real));
  COMP__TRY(score_common(&v->common_de, t, samples, control, top, n_top));
done:
  return status;
}

/* Drawn rows of a way, dense. */
static comp_status draw_rows(comp__samples *out, const task *t, way w, const size_t *rows, size_t n, size_t label,
                             uint64_t side, double *row) {
  size_t *drawn = NULL, count;
  comp_status status = draw_cells(&drawn, &count, rows, n, t, label, side);
  if (status == COMP_OK) status = fill_rows(out, w, drawn, count, row);
  comp__free(drawn);
  return status;
}

static comp_status score_cells(const task *t, comp_counterfactual_label *l, size_t label, const size_t *top,
                               size_t n_top, double *row) {
  comp__samples control = {0}, real = {0}, samples = {0};
  comp_status status;
  COMP__TRY(draw_rows(&control, t, (way){t->x, NULL}, t->control[label], l->n_from, label, 0, row));
  COMP__TRY(draw_rows(&real, t, (way){t->x, NULL}, t->target[label], l->n_to, label, 1, row));
  for (int p = 0; p < COMP_PREDICTOR_CEILING; p++) {
    COMP__TRY(draw_rows(&samples, t, way_of(t, p), t->control[label], l->n_from, label, 0, row));
    COMP__TRY(score_samples(&l->values[p], t, samples, real, control, top, n_top));
    if (p == COMP_PREDICTOR_NO_CHANGE) l->values[p].common_de = 0.0; /* all scores are 0: no gene is DE */
    comp__free(samples.rows);
    samples.rows = NULL;
  }
done:
  comp__free(control.rows);
  comp__free(real.rows);
  comp__free(samples.rows);
  return status;
}

/* ---- The noise ceiling ---- */

/* Half of the target's samples against the other half. buffers: [3, genes]; c the mean of the controls. */
static comp_status score_ceiling(const task *t, comp_counterfactual_label *l, size_t label, const double *c,
                                 genes_of of, double *buffers) {
  size_t n = l->n_to, first = n / 2, genes_n = t->x->cols, *order = NULL;
  comp_counterfactual_values *v = &l->values[COMP_PREDICTOR_CEILING];
  comp__samples control = {0}, half = {0}, other = {0};
  double *p = buffers, *real = p + genes_n, *row = real + genes_n;
  const way x = {t->x, NULL};
  comp_status status;
  for (size_t m = 0; m < MEASURES; m++) *member(v, m) = (double)NAN;
  if (n < 4) return COMP_OK;
  COMP__TRY(comp__alloc(&order, n, sizeof *order));
  comp__rng_permutation(order, n, comp__rng_at(t->options->seed, COMP__RNG_METRICS, 2, label));
  for (size_t i = 0; i < n; i++) order[i] = t->target[label][order[i]];
  row_mean(p, t->x, order, first);
  row_mean(real, t->x, order + first, n - first);
  score_means(v, p, real, c, of);
  COMP__TRY(draw_rows(&control, t, x, t->control[label], l->n_from, label, 0, row));
  COMP__TRY(draw_rows(&half, t, x, order, first, label, 3, row));
  COMP__TRY(draw_rows(&other, t, x, order + first, n - first, label, 4, row));
  COMP__TRY(score_samples(v, t, half, other, control, of.top.list, of.top.n));
done:
  comp__free(control.rows);
  comp__free(half.rows);
  comp__free(other.rows);
  comp__free(order);
  return status;
}

/* ---- Single samples ---- */

static void score_truth(const task *t, comp_counterfactual_label *l, size_t label, double *row, double *truth) {
  size_t genes_n = t->x->cols;
  for (int p = 0; p < COMP_PREDICTOR_CEILING; p++) {
    double squares = 0.0;
    for (size_t i = 0; i < l->n_from; i++) {
      way_row(row, way_of(t, p), t->control[label][i]);
      way_row(truth, (way){t->truth, NULL}, t->control[label][i]);
      for (size_t g = 0; g < genes_n; g++) {
        double d = row[g] - (t->log_truth ? log1p(truth[g]) : truth[g]);
        squares += d * d;
      }
    }
    l->values[p].rmse_truth = sqrt(squares / ((double)l->n_from * (double)genes_n));
  }
}

/* Adds up the rows of one pair; gives how many there are. */
static size_t pair_mean(double *out, double *row, way w, const size_t *rows, size_t n, const int32_t *codes,
                        int32_t code) {
  size_t count = 0, genes_n = w.matrix->cols;
  memset(out, 0, genes_n * sizeof *out);
  for (size_t i = 0; i < n; i++) {
    if (codes[rows[i]] != code) continue;
    way_row(row, w, rows[i]);
    for (size_t g = 0; g < genes_n; g++) out[g] += row[g];
    count++;
  }
  for (size_t g = 0; count && g < genes_n; g++) out[g] /= (double)count;
  return count;
}

static void score_pairs(const task *t, comp_counterfactual_label *l, size_t label, double *row, double *mean,
                        double *real) {
  size_t genes_n = t->x->cols;
  const int32_t *codes = t->pairs->codes;
  double squares[COMP_PREDICTORS] = {0};
  for (size_t k = 0; k < t->pairs->n_levels; k++) {
    if (!pair_mean(real, row, (way){t->x, NULL}, t->target[label], l->n_to, codes, (int32_t)k)) continue;
    if (!pair_mean(mean, row, way_of(t, 0), t->control[label], l->n_from, codes, (int32_t)k)) continue;
    l->n_pairs++;
    for (int p = 0; p < COMP_PREDICTOR_CEILING; p++) {
      if (p > 0) pair_mean(mean, row, way_of(t, p), t->control[label], l->n_from, codes, (int32_t)k);
      for (size_t g = 0; g < genes_n; g++) squares[p] += (mean[g] - real[g]) * (mean[g] - real[g]);
    }
  }
  for (int p = 0; l->n_pairs && p < COMP_PREDICTOR_CEILING; p++)
    l->values[p].rmse_pair = sqrt(squares[p] / ((double)l->n_pairs * (double)genes_n));
}

/* ---- A label ---- */

static comp_status score_label(const task *t, size_t label) {
  comp_counterfactual_label *l = &t->score->labels[label];
  size_t genes_n = t->x->cols, n_de = t->options->n_de < genes_n ? t->options->n_de : genes_n;
  size_t n_top = t->options->n_top < genes_n ? t->options->n_top : genes_n, *top = NULL;
  double *buffers = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&buffers, 4 * genes_n, sizeof *buffers));
  COMP__TRY(comp__alloc(&top, n_top, sizeof *top));
  COMP__TRY(comp__top_genes(top, n_top, comp_de_scores(t->de, label), genes_n));
  const genes_of of = {{NULL, genes_n}, {comp_de_order(t->de, label), n_de}, {top, n_top}};
  double *c = buffers, *real = c + genes_n, *p = real + genes_n, *row = p + genes_n;
  row_mean(c, t->x, t->control[label], l->n_from);
  row_mean(real, t->x, t->target[label], l->n_to);
  for (int k = 0; k < COMP_PREDICTOR_CEILING; k++) {
    way w = way_of(t, k);
    row_mean(p, w.matrix, t->control[label], l->n_from);
    for (size_t g = 0; w.shift && g < genes_n; g++) p[g] += w.shift[g];
    score_means(&l->values[k], p, real, c, of);
  }
  COMP__TRY(score_cells(t, l, label, top, n_top, row));
  if (t->truth) score_truth(t, l, label, row, p);
  if (t->pairs) score_pairs(t, l, label, row, p, real);
  COMP__TRY(score_ceiling(t, l, label, c, of, real));
done:
  comp__free(top);
  comp__free(buffers);
  return status;
}

/* The mean over labels, of what is defined. */
static void take_mean(comp_counterfactual_score *s) {
  s->mean = (comp_counterfactual_label){.label = "mean"};
  for (size_t i = 0; i < s->n_labels; i++) {
    s->mean.n_from += s->labels[i].n_from;
    s->mean.n_to += s->labels[i].n_to;
    s->mean.n_pairs += s->labels[i].n_pairs;
  }
  for (int p = 0; p < COMP_PREDICTORS; p++)
    for (size_t m = 0; m < MEASURES; m++) {
      double sum = 0.0;
      size_t n = 0;
      for (size_t i = 0; i < s->n_labels; i++) {
        double value = comp_counterfactual_measure_value(&s->labels[i].values[p], m);
        if (isnan(value)) continue;
        sum += value;
        n++;
      }
      *member(&s->mean.values[p], m) = n ? sum / (double)n : (double)NAN;
    }
}

/* ---- From the data set ---- */

static comp_status read_column(comp_groups *out, const comp_dataset *d, const char *name, const char *what) {
  size_t column;
  comp_status status = comp_table_require(&column, comp_dataset_obs(d), name);
  if (status != COMP_OK) return comp__error_context(status, "%s", what);
  return comp_table_groups(out, comp_dataset_obs(d), column);
}

static comp_status find_level(int32_t *out, const comp_groups *groups, const char *column, const char *value) {
  for (size_t k = 0; k < groups->n_levels; k++)
    if (strcmp(groups->levels[k], value) == 0) {
      *out = (int32_t)k;
      return COMP_OK;
    }
  return comp__error(COMP_ERR_DATA, "column '%s' has no value '%s'%s", column, value,
                     comp__groups_hint(groups, value).text);
}

static comp_status find_layer(const comp_matrix **out, const comp_dataset *d, const char *name) {
  *out = comp_dataset_matrix(d, COMP_SLOT_LAYERS, name);
  if (*out) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "there is no layer '%s'%s; make the predictions first (comp counterfactual)", name,
                     comp__entry_hint(d, COMP_SLOT_LAYERS, name).text);
}

/* The same, with finite values. */
static comp_status read_layer(const comp_matrix **out, comp_context *context, const comp_dataset *d, const char *name) {
  size_t row, col;
  comp_status status = find_layer(out, d, name);
  if (status != COMP_OK) return status;
  if (comp__matrix_find_nonfinite(&row, &col, context, *out))
    return comp__error(COMP_ERR_DATA,
                       "layer '%s' holds a value that is not a finite number: sample '%s' (row %zu), feature '%s'",
                       name, comp_dataset_obs_name(d, row), row + 1, comp_dataset_var_name(d, col));
  return COMP_OK;
}

comp_status comp__counterfactual_score_look(const comp_dataset *d, const comp__counterfactual_score_options *o) {
  const struct { const char *option, *column; } others[] = {{"label", o->label}, {"pair", o->pair}};
  comp_groups condition = {0};
  const comp_matrix *layer;
  size_t column;
  int32_t code;
  comp_status status;
  COMP__TRY(find_layer(&layer, d, o->layer));
  COMP__TRY(read_column(&condition, d, o->condition, "condition"));
  COMP__TRY(find_level(&code, &condition, o->condition, o->from));
  COMP__TRY(find_level(&code, &condition, o->condition, o->to));
  for (int i = 0; i < 2 && status == COMP_OK; i++) {
    if (others[i].column) status = comp_table_require(&column, comp_dataset_obs(d), others[i].column);
    if (status != COMP_OK) comp__error_context(status, "%s", others[i].option);
  }
done:
  comp_groups_release(&condition);
  return status;
}

static comp_status find_matrices(task *t, comp_context *context, const comp_dataset *d) {
  const comp__counterfactual_score_options *o = t->options;
  char name[256];
  size_t row, col;
  comp_status status;
  t->x = comp_dataset_x(d);
  if (!t->x) COMP__FAIL(COMP_ERR_ARGUMENT, "the data set has no X");
  if (comp__matrix_find_nonfinite(&row, &col, context, t->x))
    COMP__FAIL(COMP_ERR_DATA, "X holds a value that is not a finite number: sample '%s' (row %zu), feature '%s'",
               comp_dataset_obs_name(d, row), row + 1, comp_dataset_var_name(d, col));
  COMP__TRY(read_layer(&t->predicted, context, d, t->score->layer));
  snprintf(name, sizeof name, "truth_%s", o->to);
  if (o->truth || comp_dataset_matrix(d, COMP_SLOT_LAYERS, name)) {
    comp_data_look look;
    COMP__TRY(read_layer(&t->truth, context, d, o->truth ? o->truth : name));
    COMP__TRY(comp_data_look_at(&look, context, t->x));
    t->log_truth = look.kind == COMP_DATA_LOG;
  }
done:
  return status;
}

/* Rows of one condition, of a label unless it is NULL; codes of labels by the index of the score. */
static comp_status list_rows(size_t **out, size_t *n, const comp_groups *condition, int32_t code,
                             const comp_groups *labels, int32_t label) {
  *n = 0;
  for (size_t i = 0; i < condition->rows; i++)
    *n += condition->codes[i] == code && (!labels || labels->codes[i] == label);
  comp_status status = comp__alloc(out, *n, sizeof **out);
  for (size_t i = 0, at = 0; status == COMP_OK && i < condition->rows; i++)
    if (condition->codes[i] == code && (!labels || labels->codes[i] == label)) (*out)[at++] = i;
  return status;
}

/* Mean of the target minus mean of the source, over all samples. */
static comp_status find_shift(double *out, const comp_matrix *x, const comp_groups *condition, int32_t from,
                              int32_t to) {
  double n_from = 0, n_to = 0;
  for (size_t i = 0; i < condition->rows; i++) {
    n_from += condition->codes[i] == from;
    n_to += condition->codes[i] == to;
  }
  for (size_t i = 0; i < condition->rows; i++) {
    if (condition->codes[i] == to) add_row(out, x, i, 1.0 / n_to);
    if (condition->codes[i] == from) add_row(out, x, i, -1.0 / n_from);
  }
  return COMP_OK;
}

/* One row of the score for each label that was compared. */
static comp_status list_labels(task *t, const comp_groups *condition, const comp_groups *labels) {
  comp_counterfactual_score *s = t->score;
  size_t n = comp_de_label_count(t->de);
  comp_status status;
  COMP__TRY(comp__calloc(&s->names, n, sizeof *s->names));
  COMP__TRY(comp__calloc(&s->labels, n, sizeof *s->labels));
  COMP__TRY(comp__calloc(&t->control, n, sizeof *t->control));
  COMP__TRY(comp__calloc(&t->target, n, sizeof *t->target));
  s->n_labels = n;
  for (size_t l = 0; l < n; l++) {
    comp_counterfactual_label *out = &s->labels[l];
    int32_t code = 0;
    COMP__TRY(comp__strdup(&s->names[l], comp_de_label_name(t->de, l)));
    out->label = s->names[l];
    if (labels) COMP__TRY(find_level(&code, labels, t->options->label, out->label));
    COMP__TRY(list_rows(&t->control[l], &out->n_from, condition, t->from, labels, code));
    COMP__TRY(list_rows(&t->target[l], &out->n_to, condition, t->to, labels, code));
    for (int p = 0; p < COMP_PREDICTORS; p++) out->values[p].rmse_truth = out->values[p].rmse_pair = (double)NAN;
  }
done:
  return status;
}

static comp_status run(task *t, const comp_dataset *d, const comp_groups *condition, const comp_groups *labels) {
  const comp__counterfactual_score_options *o = t->options;
  comp__de_options de_options = comp__de_defaults();
  comp_de *de = NULL;
  double *shift = NULL;
  comp_status status;
  de_options.groupby = o->condition;
  de_options.target = o->to;
  de_options.reference = o->from;
  de_options.label = o->label;
  de_options.min_samples = o->min_samples;
  de_options.silent = o->silent;
  COMP__TRY(comp__de_run(&de, t->context, d, &de_options));
  t->de = de;
  COMP__TRY(list_labels(t, condition, labels));
  COMP__TRY(comp__calloc(&shift, t->x->cols, sizeof *shift));
  COMP__TRY(find_shift(shift, t->x, condition, t->from, t->to));
  t->shift = shift;
  comp__progress_begin(t->context, "scoring counterfactuals", "labels", t->score->n_labels);
  for (size_t l = 0; l < t->score->n_labels; l++) {
    comp__progress_update(t->context, l, t->score->labels[l].label);
    COMP__TRY(score_label(t, l));
  }
  comp__progress_update(t->context, t->score->n_labels, NULL);
  take_mean(t->score);
done:
  comp__progress_end(t->context);
  for (size_t l = 0; l < t->score->n_labels; l++) {
    if (t->control) comp__free(t->control[l]);
    if (t->target) comp__free(t->target[l]);
  }
  comp__free(t->control);
  comp__free(t->target);
  comp__free(shift);
  comp_de_free(de);
  return status;
}

static comp_status name_score(comp_counterfactual_score *s, const comp__counterfactual_score_options *o) {
  char layer[COMP_LAYER_NAME_SIZE];
  comp_counterfactual_layer_name(layer, o->to);
  comp_status status = comp__strdup(&s->layer, o->layer ? o->layer : layer);
  if (status == COMP_OK) status = comp__strdup(&s->from, o->from);
  if (status == COMP_OK) status = comp__strdup(&s->to, o->to);
  return status;
}

comp_status comp__counterfactual_score_run(comp_counterfactual_score **out, comp_context *context,
                                           const comp_dataset *dataset,
                                           const comp__counterfactual_score_options *options) {
  *out = NULL;
  task t = {.context = context, .options = options};
  comp_groups condition = {0}, labels = {0}, pairs = {0};
  comp_status status;
  COMP__TRY(comp__calloc(&t.score, 1, sizeof *t.score));
  COMP__TRY(name_score(t.score, options));
  COMP__TRY(read_column(&condition, dataset, options->condition, "condition"));
  if (options->label) COMP__TRY(read_column(&labels, dataset, options->label, "label"));
  if (options->pair) {
    COMP__TRY(read_column(&pairs, dataset, options->pair, "pair"));
    t.pairs = &pairs;
  }
  COMP__TRY(find_level(&t.from, &condition, options->condition, options->from));
  COMP__TRY(find_level(&t.to, &condition, options->condition, options->to));
  COMP__TRY(find_matrices(&t, context, dataset));
  COMP__TRY(run(&t, dataset, &condition, options->label ? &labels : NULL));
  if (options->pair && t.score->mean.n_pairs == 0)
    COMP__FAIL(COMP_ERR_DATA, "no value of column '%s' has a sample of '%s' and one of '%s' within a label",
               options->pair, options->from, options->to);
  *out = t.score;
  t.score = NULL;
done:
  comp_groups_release(&condition);
  comp_groups_release(&labels);
  comp_groups_release(&pairs);
  comp__counterfactual_score_free(t.score);
  return status;
}

void comp__counterfactual_score_free(comp_counterfactual_score *s) {
  if (!s) return;
  for (size_t l = 0; s->names && l < s->n_labels; l++) comp__free(s->names[l]);
  comp__free(s->names);
  comp__free(s->labels);
  comp__free(s->layer);
  comp__free(s->from);
  comp__free(s->to);
  comp__free(s);
}

const char *comp_counterfactual_score_from(const comp_counterfactual_score *score) {
  return score->from;
}
const char *comp_counterfactual_score_to(const comp_counterfactual_score *score) {
  return score->to;
}
const char *comp_counterfactual_score_layer(const comp_counterfactual_score *score) {
  return score->layer;
}
size_t comp_counterfactual_score_label_count(const comp_counterfactual_score *score) {
  return score->n_labels;
}
const comp_counterfactual_label *comp_counterfactual_score_label_at(const comp_counterfactual_score *score,
                                                                    size_t index) {
  return index < score->n_labels ? &score->labels[index] : NULL;
}
const comp_counterfactual_label *comp_counterfactual_score_mean(const comp_counterfactual_score *score) {
  return &score->mean;
}

/* ---- Showing it ---- */

static const comp_counterfactual_label *nth(const comp_counterfactual_score *s, size_t i) {
  return i < s->n_labels ? &s->labels[i] : &s->mean;
}

comp_status comp_counterfactual_score_table(comp_table **out, const comp_counterfactual_score *score) {
  COMP__NEED_OUT(out, score);
  const comp_counterfactual_score *s = score;
  size_t rows = (s->n_labels + 1) * COMP_PREDICTORS;
  const char **texts = NULL;
  double *numbers = NULL;
  comp_table *table = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp_table_new(&table, rows));
  COMP__TRY(comp__alloc(&texts, rows, sizeof *texts));
  COMP__TRY(comp__alloc(&numbers, rows, sizeof *numbers));
  for (size_t i = 0; i < rows; i++) texts[i] = nth(s, i / COMP_PREDICTORS)->label;
  COMP__TRY(comp_table_add_strings(table, "label", texts));
  for (size_t i = 0; i < rows; i++) texts[i] = comp_predictor_name((comp_predictor)(i % COMP_PREDICTORS));
  COMP__TRY(comp_table_add_strings(table, "predictor", texts));
  for (size_t i = 0; i < rows; i++) {
    size_t label = i / COMP_PREDICTORS;
    numbers[i] = (double)nth(s, label)->n_from;
  }
  COMP__TRY(comp_table_add_numbers(table, "n_from", numbers, true));
  for (size_t i = 0; i < rows; i++) {
    size_t label = i / COMP_PREDICTORS;
    numbers[i] = (double)nth(s, label)->n_to;
  }
  COMP__TRY(comp_table_add_numbers(table, "n_to", numbers, true));
  for (size_t m = 0; m < MEASURES; m++) {
    for (size_t i = 0; i < rows; i++)
      numbers[i] = comp_counterfactual_measure_value(&nth(s, i / COMP_PREDICTORS)->values[i % COMP_PREDICTORS], m);
    COMP__TRY(comp_table_add_numbers(table, measures[m].info.name, numbers, false));
  }
  *out = table;
  table = NULL;
done:
  comp__free(texts);
  comp__free(numbers);
  comp_table_free(table);
  return status;
}

static json_t *label_json(const comp_counterfactual_label *l) {
  json_t *object = json_pack("{s:s, s:I, s:I, s:I}", "label", l->label, "n_from", (json_int_t)l->n_from, "n_to",
                             (json_int_t)l->n_to, "n_pairs", (json_int_t)l->n_pairs);
  for (int p = 0; object && p < COMP_PREDICTORS; p++) {
    json_t *values = json_object();
    for (size_t m = 0; values && m < MEASURES; m++) {
      double value = comp_counterfactual_measure_value(&l->values[p], m);
      json_object_set_new(values, measures[m].info.name, isfinite(value) ? json_real(value) : json_null());
    }
    json_object_set_new(object, comp_predictor_key((comp_predictor)p), values);
  }
  return object;
}

comp_status comp__counterfactual_score_json(char **out, const comp_counterfactual_score *s) {
  json_t *labels = json_array();
  for (size_t l = 0; l < s->n_labels; l++) json_array_append_new(labels, label_json(&s->labels[l]));
  json_t *root = json_pack("{s:s, s:s, s:s, s:o, s:o}", "from", s->from, "to", s->to, "layer", s->layer, "labels",
                           labels, "mean", label_json(&s->mean));
  char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  *out = NULL;
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory: the scores as text");
  comp_status status = comp__strdup(out, text);
  free(text);
  return status;
}
