/*
 * hvg_vst.c: flavor "vst", as Seurat's FindVariableFeatures(selection.method = "vst") and SelectIntegrationFeatures.
 *
 * A loess curve of log10 variance on log10 mean gives the variance expected of a gene; counts are standardised by mean
 * and expected deviation, clipped at sqrt(samples), and the variance that they still have is the score. Zeros of a gene
 * all standardise to the same value, so that nothing is made dense.
 */
#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "prep/hvg.h"
#include "prep/loess.h"

/* Standard deviations expected by the mean; 0 for genes that are constant. */
static comp_status expected_deviations(double *sd, const double *mean, const double *variance, size_t genes,
                                       double span) {
  comp_status status;
  double *x = NULL, *y = NULL, *fitted = NULL;
  size_t n = 0;
  COMP__TRY(comp__alloc(&x, genes, sizeof *x));
  COMP__TRY(comp__alloc(&y, genes, sizeof *y));
  COMP__TRY(comp__alloc(&fitted, genes, sizeof *fitted));
  for (size_t j = 0; j < genes; j++) {
    if (!(variance[j] > 0.0)) continue;
    if (!(mean[j] > 0.0))
      COMP__FAIL(COMP_ERR_DATA, "hvg: flavor vst needs counts, and a gene has the mean %g", mean[j]);
    x[n] = log10(mean[j]);
    y[n++] = log10(variance[j]);
  }
  status = comp__loess(fitted, x, y, n, span);
  if (status != COMP_OK) {
    status = comp__error_context(status,
                                 "hvg: flavor vst, %zu genes that vary; leave out genes seen in few samples, or "
                                 "use another flavor",
                                 n);
    goto done;
  }
  n = 0;
  for (size_t j = 0; j < genes; j++) sd[j] = variance[j] > 0.0 ? sqrt(pow(10.0, fitted[n++])) : 0.0;
done:
  comp__free(x);
  comp__free(y);
  comp__free(fitted);
  return status;
}

typedef struct standard {
  const double *mean, *sd;
  double largest;
} standard;

static double clipped_square(const void *arg, double value, size_t gene) {
  const standard *s = arg;
  if (s->sd[gene] == 0.0) return 0.0;
  double z = fmin((value - s->mean[gene]) / s->sd[gene], s->largest);
  return z * z;
}

/* The variance of clipped standardised counts, for one batch. The arrays other than `norm` are room to work in. */
static comp_status score_batch(double *norm, double *mean, double *variance, double *nonzero, double *sd,
                               comp_context *context, comp__samples samples, double span) {
  comp_status status;
  size_t genes = samples.matrix->cols;
  double n = (double)samples.n;
  COMP__TRY(comp__feature_moments(mean, variance, nonzero, context, samples, NULL));
  COMP__TRY(expected_deviations(sd, mean, variance, genes, span));
  standard s = {mean, sd, sqrt(n)};
  COMP__TRY(comp__feature_sums(norm, context, samples, clipped_square, &s));
  for (size_t j = 0; j < genes; j++) {
    if (sd[j] == 0.0) continue;
    double zero = mean[j] / sd[j];
    norm[j] = (norm[j] + (n - nonzero[j]) * zero * zero) / (n - 1.0);
  }
done:
  return status;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median of the ranks that are there; NaN when none is. Sorts them. */
static double median_rank(double *ranks, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (!isnan(ranks[i])) ranks[count++] = ranks[i];
  if (count == 0) return NAN;
  qsort(ranks, count, sizeof *ranks, compare_doubles);
  return (ranks[(count - 1) / 2] + ranks[count / 2]) / 2.0;
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
                          const comp__batches *batches, const comp_hvg_options *options) {
  comp_status status;
  size_t genes = out->genes, n_batches = batches->count;
  double *room = NULL, *ranks = NULL;
  size_t *order = NULL, n_ranks;
  if (!comp__size_mul(&n_ranks, genes, n_batches)) n_ranks = SIZE_MAX;
  COMP__TRY(comp__alloc(&room, genes, 5 * sizeof *room));
  COMP__TRY(comp__alloc(&order, genes, sizeof *order));
  COMP__TRY(comp__alloc(&ranks, n_ranks, sizeof *ranks));
  double *norm = room, *mean = room + genes, *variance = room + 2 * genes;
  for (size_t b = 0; b < n_batches; b++) {
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(score_batch(norm, mean, variance, room + 3 * genes, room + 4 * genes, context, batches->samples[b],
                          options->span));
    COMP__TRY(rank_batch(ranks + b, n_batches, norm, mean, genes, options->n, order));
    for (size_t j = 0; j < genes; j++) out->norm[j] += norm[j] / (double)n_batches;
  }
  comp__samples all = {dataset->x, NULL, dataset->samples};
  COMP__TRY(comp__feature_moments(out->mean, out->spread, NULL, context, all, NULL));
  COMP__TRY(merge(out, dataset, ranks, n_batches, options->n));
done:
  comp__free(room);
  comp__free(order);
  comp__free(ranks);
  return status;
}
