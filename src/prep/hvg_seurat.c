/*
 * hvg_seurat.c: flavors "seurat" (as scanpy computes it) and "variance".
 *
 * seurat: on values with the log undone, dispersion = variance / mean, logged; its z-score among the genes of about the
 * same mean. One difference from scanpy: a gene without dispersion is never chosen, however many are asked for.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "prep/hvg.h"
#include "prep/options.h"

/* scanpy undoes the log in the precision of the data. */
static double undo_log(double value) {
  return (float)expm1(value);
}

/* Mean (logged) and dispersion (logged, NaN where there is none) of every gene. */
static comp_status dispersions(double *mean, double *dispersion, double *nonzero, comp_context *context,
                               comp__samples samples) {
  size_t genes = samples.matrix->cols;
  comp_status status = comp__feature_moments(mean, dispersion, nonzero, context, samples, undo_log);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < genes; j++) {
    if (!isfinite(mean[j]) || !isfinite(dispersion[j]))
      return comp__error(COMP_ERR_NUMERIC, "variable genes: undoing the log of X overflows: X is not log data");
    double m = mean[j] == 0.0 ? 1e-12 : mean[j];
    double ratio = dispersion[j] / m;
    dispersion[j] = ratio > 0.0 ? log(ratio) : NAN;
    mean[j] = log1p(m);
  }
  return COMP_OK;
}

/* Edges of equal-width bins as pandas.cut makes them; a bin holds its right edge. [bins + 1] */
static void make_edges(double *edges, size_t bins, const double *x, const bool *use, size_t n) {
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    if (!use[i]) continue;
    low = fmin(low, x[i]);
    high = fmax(high, x[i]);
  }
  bool flat = low == high;
  if (flat) {
    double room = low != 0.0 ? 0.001 * fabs(low) : 0.001;
    low -= room;
    high += room;
  }
  double step = (high - low) / (double)bins;
  for (size_t b = 0; b < bins; b++) edges[b] = (double)b * step + low;
  edges[bins] = high;
  if (!flat) edges[0] -= (high - low) * 0.001;
}

/* The bin whose left edge is below x and whose right edge is not. */
static size_t find_bin(const double *edges, size_t bins, double x) {
  size_t low = 0, high = bins;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (edges[middle] < x)
      low = middle;
    else
      high = middle;
  }
  return low;
}

typedef struct bin {
  double n, mean, sd;
} bin;

/* Mean and standard deviation of the dispersions in every bin. */
static void bin_moments(bin *stats, size_t bins, const size_t *bin_of, const double *dispersion, const bool *use,
                        size_t n) {
  memset(stats, 0, bins * sizeof *stats);
  for (size_t j = 0; j < n; j++)
    if (use[j] && !isnan(dispersion[j])) {
      stats[bin_of[j]].n += 1.0;
      stats[bin_of[j]].mean += dispersion[j];
    }
  for (size_t b = 0; b < bins; b++)
    if (stats[b].n > 0) stats[b].mean /= stats[b].n;
  for (size_t j = 0; j < n; j++)
    if (use[j] && !isnan(dispersion[j])) {
      double difference = dispersion[j] - stats[bin_of[j]].mean;
      stats[bin_of[j]].sd += difference * difference;
    }
  for (size_t b = 0; b < bins; b++) {
    if (stats[b].n > 1.0) {
      stats[b].sd = sqrt(stats[b].sd / (stats[b].n - 1.0));
    } else { /* a gene alone in its bin gets a normalised dispersion of 1 */
      stats[b].sd = stats[b].mean;
      stats[b].mean = 0.0;
    }
  }
}

static comp_status normalise(double *norm, const double *mean, const double *dispersion, const bool *use, size_t n,
                             size_t bins) {
  comp_status status;
  double *edges = NULL;
  bin *stats = NULL;
  size_t *bin_of = NULL;
  COMP__TRY(comp__alloc(&edges, bins + 1, sizeof *edges));
  COMP__TRY(comp__alloc(&stats, bins, sizeof *stats));
  COMP__TRY(comp__calloc(&bin_of, n, sizeof *bin_of));
  make_edges(edges, bins, mean, use, n);
  for (size_t j = 0; j < n; j++)
    if (use[j]) bin_of[j] = find_bin(edges, bins, mean[j]);
  bin_moments(stats, bins, bin_of, dispersion, use, n);
  for (size_t j = 0; j < n; j++) {
    const bin *b = &stats[bin_of[j]];
    double z = use[j] ? (dispersion[j] - b->mean) / b->sd : NAN;
    norm[j] = isfinite(z) ? z : NAN;
  }
done:
  comp__free(edges);
  comp__free(stats);
  comp__free(bin_of);
  return status;
}

/* Genes whose value reaches that of the n-th best. */
static comp_status choose_top(bool *chosen, const double *value, size_t genes, size_t n) {
  size_t *order, known = 0;
  comp_status status = comp__alloc(&order, genes, sizeof *order);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__order_descending(order, value, genes));
  while (known < genes && !isnan(value[order[known]])) known++;
  if (n > known) n = known;
  for (size_t j = 0; j < genes; j++) chosen[j] = n > 0 && value[j] >= value[order[n - 1]];
done:
  comp__free(order);
  return status;
}

/* Room for one batch. */
typedef struct scratch {
  double *mean, *spread, *norm, *nonzero;
  bool *use, *chosen;
} scratch;

static void scratch_release(scratch *s) {
  comp__free(s->mean);
  comp__free(s->spread);
  comp__free(s->norm);
  comp__free(s->nonzero);
  comp__free(s->use);
  comp__free(s->chosen);
}

static comp_status scratch_init(scratch *s, size_t genes) {
  comp_status status;
  COMP__TRY(comp__alloc(&s->mean, genes, sizeof *s->mean));
  COMP__TRY(comp__alloc(&s->spread, genes, sizeof *s->spread));
  COMP__TRY(comp__alloc(&s->norm, genes, sizeof *s->norm));
  COMP__TRY(comp__alloc(&s->nonzero, genes, sizeof *s->nonzero));
  COMP__TRY(comp__alloc(&s->use, genes, sizeof *s->use));
  COMP__TRY(comp__alloc(&s->chosen, genes, sizeof *s->chosen));
done:
  return status;
}

/* Means over batches as pandas makes them: a missing value does not count, and one that is missing everywhere stays so.
 * Genes without counts in a batch count there as 0. */
static void average_add(double *sum, double *n, double value) {
  if (isnan(value)) return;
  *sum += value;
  *n += 1.0;
}

/* `seen` [genes]: in how many batches a gene has counts; without any it is never chosen. */
static comp_status merge_seurat(comp__hvg *out, const comp_dataset *dataset, const double *seen, size_t n) {
  comp__candidate *genes;
  comp_status status = comp__alloc(&genes, out->genes, sizeof *genes);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < out->genes; j++)
    genes[j] = (comp__candidate){out->n_batches[j], seen[j] > 0.0 ? -out->norm[j] : NAN,
                                 comp__strings_get(&dataset->var_names, j), j};
  comp__sort_candidates(genes, out->genes);
  for (size_t k = 0; k < out->genes && k < n; k++) out->chosen[genes[k].gene] = !isnan(genes[k].second);
  comp__free(genes);
  return COMP_OK;
}

static comp_status score_batch(scratch *s, comp_context *context, comp__samples samples,
                               const comp__hvg_options *options) {
  size_t genes = samples.matrix->cols;
  comp_status status = dispersions(s->mean, s->spread, s->nonzero, context, samples);
  if (status != COMP_OK) return status;
  /* Among several batches a gene that one of them lacks has no part in its bins. */
  for (size_t j = 0; j < genes; j++) s->use[j] = !options->batch || s->nonzero[j] > 0.0;
  status = normalise(s->norm, s->mean, s->spread, s->use, genes, options->bins);
  if (status == COMP_OK) status = choose_top(s->chosen, s->norm, genes, options->n);
  return status;
}

comp_status comp__hvg_seurat(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                             const comp__batches *batches, const comp__hvg_options *options) {
  comp_status status;
  scratch s = {0};
  double *counts = NULL; /* of values that are there, for the three averages; and of batches that have the gene */
  size_t genes = out->genes;
  COMP__TRY(scratch_init(&s, genes));
  COMP__TRY(comp__calloc(&counts, genes, 4 * sizeof *counts));
  for (size_t b = 0; b < batches->count; b++) {
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(score_batch(&s, context, batches->samples[b], options));
    for (size_t j = 0; j < genes; j++) {
      average_add(&out->mean[j], &counts[j], s.use[j] ? s.mean[j] : 0.0);
      average_add(&out->spread[j], &counts[genes + j], s.use[j] ? s.spread[j] : 0.0);
      average_add(&out->norm[j], &counts[2 * genes + j], s.use[j] ? s.norm[j] : 0.0);
      counts[3 * genes + j] += s.use[j];
      out->n_batches[j] += s.chosen[j];
    }
  }
  for (size_t j = 0; j < genes; j++) {
    out->mean[j] = counts[j] > 0 ? out->mean[j] / counts[j] : NAN;
    out->spread[j] = counts[genes + j] > 0 ? out->spread[j] / counts[genes + j] : NAN;
    out->norm[j] = counts[2 * genes + j] > 0 ? out->norm[j] / counts[2 * genes + j] : NAN;
  }
  if (options->batch)
    COMP__TRY(merge_seurat(out, dataset, counts + 3 * genes, options->n));
  else
    memcpy(out->chosen, s.chosen, genes * sizeof *out->chosen);
done:
  comp__free(counts);
  scratch_release(&s);
  return status;
}

comp_status comp__hvg_variance(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                               const comp__batches *batches, const comp__hvg_options *options) {
  comp_status status;
  scratch s = {0};
  size_t genes = out->genes, n = options->n < genes ? options->n : genes;
  size_t *order = NULL;
  COMP__TRY(scratch_init(&s, genes));
  COMP__TRY(comp__alloc(&order, genes, sizeof *order));
  for (size_t b = 0; b < batches->count; b++) {
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(comp__feature_moments(s.mean, s.spread, NULL, context, batches->samples[b], NULL));
    COMP__TRY(comp__order_descending(order, s.spread, genes));
    for (size_t k = 0; k < n && s.spread[order[k]] > 0.0; k++) {
      out->chosen[order[k]] = true;
      out->n_batches[order[k]] += 1.0;
    }
  }
  comp__samples all = {dataset->x, NULL, dataset->samples};
  COMP__TRY(comp__feature_moments(out->mean, out->spread, NULL, context, all, NULL));
done:
  comp__free(order);
  scratch_release(&s);
  return status;
}
