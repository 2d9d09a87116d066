/*
 * hvg_vst.c: flavor "vst", as Seurat's FindVariableFeatures(selection.method = "vst") and SelectIntegrationFeatures.
 *
 * A loess curve of log10 variance on log10 mean gives the variance expected of a gene; counts are standardised by mean
 * and expected deviation, clipped at sqrt(samples), and the variance that they still have is the score. Zeros of a gene
 * all standardise to the same value, so that nothing is made dense.
 */
#include <math.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/sort.h"
#include "prep/hvg.h"
#include "prep/loess.h"
#include "prep/options.h"

static bool takes_part(const bool *use, double variance, size_t gene) {
  return variance > 0.0 && (!use || use[gene]);
}

/* Standard deviations expected by the mean; 0 for genes that are constant or have no part in it. */
static comp_status expected_deviations(double *sd, const double *mean, const double *variance, size_t genes,
                                       const bool *use, double span) {
  comp_status status;
  double *x = NULL, *y = NULL, *fitted = NULL;
  size_t n = 0;
  COMP__TRY(comp__alloc(&x, genes, sizeof *x));
  COMP__TRY(comp__alloc(&y, genes, sizeof *y));
  COMP__TRY(comp__alloc(&fitted, genes, sizeof *fitted));
  for (size_t j = 0; j < genes; j++) {
    if (!takes_part(use, variance[j], j)) continue;
    if (!(mean[j] > 0.0))
      COMP__FAIL(COMP_ERR_DATA, "hvg: flavor vst needs counts, and a gene has the mean %g", mean[j]);
    x[n] = log10(mean[j]);
    y[n++] = log10(variance[j]);
  }
  status = comp__loess(fitted, x, y, n, span);
  if (status == COMP_ERR_DATA && use) status = comp__trend_in_bins(fitted, x, y, n);
  if (status != COMP_OK) {
    status = comp__error_context(status,
                                 "hvg: flavor vst, %zu genes that vary; leave out genes seen in few samples, or "
                                 "use another flavor",
                                 n);
    goto done;
  }
  n = 0;
  for (size_t j = 0; j < genes; j++) sd[j] = takes_part(use, variance[j], j) ? sqrt(pow(10.0, fitted[n++])) : 0.0;
done:
  comp__free(x);
  comp__free(y);
  comp__free(fitted);
  return status;
}

typedef struct standard {
  const double *mean, *sd;
  double largest;
  comp__transform_fn undo;
} standard;

static double linear(const standard *s, double value) {
  return s->undo ? s->undo(value) : value;
}

static bool is_clipped(const standard *s, double value, size_t gene) {
  return s->sd[gene] > 0.0 && (linear(s, value) - s->mean[gene]) / s->sd[gene] > s->largest;
}

static double term_clipped(const void *arg, double value, size_t gene) {
  return is_clipped(arg, value, gene) ? 1.0 : 0.0;
}

static double term_value(const void *arg, double value, size_t gene) {
  return is_clipped(arg, value, gene) ? 0.0 : linear(arg, value);
}

static double term_square(const void *arg, double value, size_t gene) {
  return is_clipped(arg, value, gene) ? 0.0 : linear(arg, value) * linear(arg, value);
}

/* Room for one batch, [genes] each. */
typedef struct scores {
  double *norm, *mean, *variance, *sd, *clipped, *sum, *squares;
  double *room;
} scores;

static comp_status scores_init(scores *s, size_t genes) {
  comp_status status = comp__alloc(&s->room, genes, 7 * sizeof *s->room);
  if (status != COMP_OK) return status;
  double **arrays[] = {&s->norm, &s->mean, &s->variance, &s->sd, &s->clipped, &s->sum, &s->squares};
  for (size_t i = 0; i < 7; i++) *arrays[i] = s->room + i * genes;
  return COMP_OK;
}

/* The variance of clipped standardised counts, for one batch. Sums are of counts and of their squares, whole numbers
 * and so exact: genes with the same counts in other samples tie exactly, as they do in Seurat, and then keep their
 * order. */
static comp_status score_batch(scores *s, comp_context *context, comp__samples samples, const comp__hvg *how,
                               double span) {
  comp_status status;
  size_t genes = samples.matrix->cols;
  double n = (double)samples.n;
  standard by = {s->mean, s->sd, sqrt(n), how->undo};
  COMP__TRY(comp__feature_moments(s->mean, s->variance, NULL, context, samples, how->undo));
  COMP__TRY(expected_deviations(s->sd, s->mean, s->variance, genes, how->use, span));
  COMP__TRY(comp__feature_sums(s->clipped, context, samples, term_clipped, &by));
  COMP__TRY(comp__feature_sums(s->sum, context, samples, term_value, &by));
  COMP__TRY(comp__feature_sums(s->squares, context, samples, term_square, &by));
  for (size_t j = 0; j < genes; j++) {
    double mean = s->mean[j], variance = s->sd[j] * s->sd[j];
    double squares = s->squares[j] - 2.0 * mean * s->sum[j] + (n - s->clipped[j]) * mean * mean;
    s->norm[j] = variance > 0.0 ? (squares / variance + s->clipped[j] * n) / (n - 1.0) : 0.0;
  }
done:
  return status;
}

/* The median of the ranks that are there; NaN when none is. Sorts them. */
static double median_rank(double *ranks, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (!isnan(ranks[i])) ranks[count++] = ranks[i];
  return comp__median_doubles(ranks, count);
}

/* Ranks of one batch, 0 the most variable, NaN for what is not among the first n. A gene that was not seen has none. */
static comp_status rank_batch(double *ranks, size_t stride, const double *norm, const double *mean, size_t genes,
                              size_t n, size_t *order) {
  comp_status status = comp__order_descending(order, norm, genes);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < genes; j++) ranks[j * stride] = NAN;
  size_t rank = 0;
  for (size_t k = 0; k < genes && rank < n; k++)
    if (mean[order[k]] > 0.0) ranks[order[k] * stride] = (double)rank++;
  return COMP_OK;
}

static comp_status merge(comp__hvg *out, const comp_dataset *dataset, double *ranks, size_t n_batches, size_t n) {
  comp__candidate *genes;
  comp_status status = comp__alloc(&genes, out->genes, sizeof *genes);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < out->genes; j++) {
    for (size_t b = 0; b < n_batches; b++) out->n_batches[j] += !isnan(ranks[j * n_batches + b]);
    out->rank[j] = median_rank(ranks + j * n_batches, n_batches);
    genes[j] = (comp__candidate){out->n_batches[j], out->rank[j], comp__strings_get(&dataset->var_names, j), j};
  }
  comp__sort_candidates(genes, out->genes);
  for (size_t k = 0; k < out->genes && k < n; k++) out->chosen[genes[k].gene] = genes[k].first > 0.0;
  comp__free(genes);
  return COMP_OK;
}

comp_status comp__hvg_vst(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                          const comp__batches *batches, const comp__hvg_options *options) {
  comp_status status;
  size_t genes = out->genes, n_batches = batches->count;
  scores s = {0};
  double *ranks = NULL;
  size_t *order = NULL, n_ranks;
  if (!comp__size_mul(&n_ranks, genes, n_batches)) n_ranks = SIZE_MAX;
  COMP__TRY(scores_init(&s, genes));
  COMP__TRY(comp__alloc(&order, genes, sizeof *order));
  COMP__TRY(comp__alloc(&ranks, n_ranks, sizeof *ranks));
  for (size_t b = 0; b < n_batches; b++) {
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(score_batch(&s, context, batches->samples[b], out, options->span));
    for (size_t j = 0; j < genes && out->use; j++)
      if (!out->use[j]) s.mean[j] = 0.0; /* as if it was not seen */
    COMP__TRY(rank_batch(ranks + b, n_batches, s.norm, s.mean, genes, options->n, order));
    for (size_t j = 0; j < genes; j++) out->norm[j] += s.norm[j] / (double)n_batches;
  }
  comp__samples all = {dataset->x, NULL, dataset->samples};
  COMP__TRY(comp__feature_moments(out->mean, out->spread, NULL, context, all, out->undo));
  COMP__TRY(merge(out, dataset, ranks, n_batches, options->n));
done:
  comp__free(s.room);
  comp__free(order);
  comp__free(ranks);
  return status;
}
