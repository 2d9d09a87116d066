/*
 * mnn.c: fastMNN (Haghverdi et al. 2018; Lun's batchelor): cosine-normalised data, principal components in which every
 * batch counts the same, and one batch after the other moved to those before it by mutual nearest neighbours.
 */
#include <math.h>
#include <string.h>

#include "baseline/baseline.h"
#include "baseline/pairing.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "linalg/linalg.h"

enum { NEIGHBORS = 20 };

/* ---- Components ---- */

static void scale_row(float *row, size_t n) {
  double squares = 0.0;
  for (size_t j = 0; j < n; j++) squares += (double)row[j] * row[j];
  double length = fmax(sqrt(squares), 1e-8);
  for (size_t j = 0; j < n; j++) row[j] = (float)(row[j] / length);
}

/* The mean over batches of their means. */
static void find_centre(double *centre, const comp_matrix *x, const comp_groups *batch) {
  memset(centre, 0, x->cols * sizeof *centre);
  for (size_t i = 0; i < x->rows; i++) {
    double weight = 1.0 / ((double)batch->counts[batch->codes[i]] * (double)batch->n_levels);
    for (size_t j = 0; j < x->cols; j++) centre[j] += weight * x->values[i * x->cols + j];
  }
}

/* Rows less the centre, divided by the root of their batch's size, so that batches weigh the same; and two rows more,
 * +- a times the mean: with them, centring (which a principal component analysis does) leaves the scatter around the
 * centre itself. The mean of n + 2 rows is n / (n + 2) mean, so that a must be n / sqrt(2 (n + 2)). */
static comp_status weigh(comp_matrix **out, const comp_matrix *x, const double *centre, const comp_groups *batch) {
  comp_status status;
  size_t n = x->rows, d = x->cols;
  double *mean = NULL, a = (double)n / sqrt(2.0 * ((double)n + 2.0));
  COMP__TRY(comp__calloc(&mean, d, sizeof *mean));
  COMP__TRY(comp__matrix_new_dense_raw(out, n + 2, d));
  float *values = (*out)->values;
  for (size_t i = 0; i < n; i++) {
    double weight = 1.0 / sqrt((double)batch->counts[batch->codes[i]]);
    for (size_t j = 0; j < d; j++) {
      values[i * d + j] = (float)((x->values[i * d + j] - centre[j]) * weight);
      mean[j] += values[i * d + j] / (double)n;
    }
  }
  for (size_t j = 0; j < d; j++) {
    values[n * d + j] = (float)(a * mean[j]);
    values[(n + 1) * d + j] = (float)(-a * mean[j]);
  }
done:
  comp__free(mean);
  return status;
}

/* Scores of the rows around the centre, undoing the weights and the centring of the analysis. */
static comp_status make_scores(comp_matrix **out, const comp__pca *pca, const comp_groups *batch) {
  comp_status status;
  size_t k = pca->components;
  double *offset = NULL;
  COMP__TRY(comp__calloc(&offset, k, sizeof *offset));
  COMP__TRY(comp__matrix_new_dense_raw(out, batch->rows, k));
  for (size_t c = 0; c < k; c++)
    for (size_t j = 0; j < pca->features; j++) offset[c] += pca->means[j] * pca->loadings[c * pca->features + j];
  for (size_t i = 0; i < batch->rows; i++) {
    double weight = sqrt((double)batch->counts[batch->codes[i]]);
    for (size_t c = 0; c < k; c++) (*out)->values[i * k + c] = (float)((pca->scores[i * k + c] + offset[c]) * weight);
  }
done:
  comp__free(offset);
  return status;
}

static comp_status find_components(comp_matrix **out, comp__baseline_run *run) {
  comp_status status;
  comp_matrix *x = NULL, *weighted = NULL;
  double *centre = NULL;
  comp__pca pca = {0};
  comp__pca_options options = {.components = run->components, .seed = run->options->seed};
  COMP__TRY(comp_matrix_to_dense(&x, run->context, run->dataset->x));
  for (size_t i = 0; i < x->rows; i++) scale_row(x->values + i * x->cols, x->cols);
  COMP__TRY(comp__baseline_check_components(run, x));
  COMP__TRY(comp__alloc(&centre, x->cols, sizeof *centre));
  find_centre(centre, x, &run->batch);
  COMP__TRY(weigh(&weighted, x, centre, &run->batch));
  comp_matrix_free(x);
  x = NULL;
  COMP__TRY(comp__pca_fit(&pca, run->context, weighted, &options));
  COMP__TRY(make_scores(out, &pca, &run->batch));
done:
  comp_matrix_free(x);
  comp_matrix_free(weighted);
  comp__free(centre);
  comp__pca_release(&pca);
  return status;
}

/* ---- Merging ---- */

/* order [batches]: as asked for, else the largest first, of equal ones the first level. */
static comp_status find_order(size_t *order, const comp__baseline_run *run) {
  const comp_groups *batch = &run->batch;
  const comp__baseline_options *o = run->options;
  comp_status status = COMP_OK;
  if (o->n_order && o->n_order != batch->n_levels)
    COMP__FAIL(COMP_ERR_ARGUMENT, "order: %zu value%s named, and '%s' has %zu", o->n_order,
               o->n_order == 1 ? " is" : "s are", o->condition, batch->n_levels);
  for (size_t i = 0; i < batch->n_levels; i++) {
    size_t at = i;
    if (o->n_order) {
      COMP__TRY(comp__baseline_level(&order[i], batch, o->order[i], o->condition));
      for (size_t j = 0; j < i; j++)
        if (order[j] == order[i]) COMP__FAIL(COMP_ERR_ARGUMENT, "order: '%s' is named twice", o->order[i]);
      continue;
    }
    for (; at > 0 && batch->counts[order[at - 1]] < batch->counts[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
done:
  return status;
}

typedef struct merge {
  comp__baseline_run *run;
  size_t *rows, *start; /* samples by batch */
  comp_matrix *merged;  /* what has been brought together so far */
  size_t *merged_rows;  /* [samples]: which samples those are */
  double *differences;  /* [batches, d]: overall differences of the merges so far */
  size_t done;
} merge;

static comp_status merge_batch(merge *m, const comp_matrix *scores, size_t b) {
  comp_status status;
  comp__baseline_run *run = m->run;
  comp_matrix *right = NULL, *both = NULL;
  comp__mutual pairs = {0};
  size_t d = scores->cols, count = m->start[b + 1] - m->start[b], before = m->merged ? m->merged->rows : 0;
  size_t k = run->options->k ? run->options->k : NEIGHBORS;
  COMP__TRY(comp__check_interrupt(run->context));
  COMP__TRY(comp_matrix_select(&right, run->context, scores, m->rows + m->start[b], count, NULL, 0));
  memcpy(m->merged_rows + before, m->rows + m->start[b], count * sizeof *m->merged_rows);
  if (before == 0) {
    m->merged = right;
    return COMP_OK;
  }
  for (size_t t = 0; t < m->done; t++) comp__flatten_along(right, m->differences + t * d);
  COMP__TRY(comp__mutual_find(&pairs, run->context, m->merged, right, k, k));
  if (pairs.n == 0)
    COMP__FAIL(COMP_ERR_DATA, "'%s' has no mutual neighbours with the conditions merged before it; try a larger -k",
               run->batch.levels[b]);
  comp__info(run->context, "mnn: '%s': %zu pair%s", run->batch.levels[b], pairs.n, pairs.n == 1 ? "" : "s");
  COMP__TRY(comp__pairing_correct(run->context, m->merged, right, NULL, &pairs, k, m->differences + m->done * d));
  m->done++;
  COMP__TRY(comp__matrix_stack(&both, (comp_matrix *const[]){m->merged, right}, 2));
  comp_matrix_free(m->merged);
  m->merged = both;
done:
  comp_matrix_free(right);
  comp__mutual_release(&pairs);
  return status;
}

/* The default is cut to small batches; a number that was asked for is not. */
static comp_status check_neighbors(const comp__baseline_run *run) {
  for (size_t b = 0; b < run->batch.n_levels; b++) {
    const size_t n = run->batch.counts[b];
    if (run->options->k > n)
      return comp__error(COMP_ERR_ARGUMENT, "k: %zu neighbours are too many for '%s', which has %zu sample%s",
                         run->options->k, run->batch.levels[b], n, n == 1 ? "" : "s");
  }
  return COMP_OK;
}

static comp_status run_mnn(comp__baseline_run *run) {
  comp_status status;
  comp_matrix *scores = NULL;
  merge m = {.run = run};
  size_t *order = NULL;
  COMP__TRY(comp__alloc(&order, run->batch.n_levels, sizeof *order));
  COMP__TRY(find_order(order, run));
  COMP__TRY(check_neighbors(run));
  COMP__TRY(run->options->rep ? comp__baseline_start(&scores, run) : find_components(&scores, run));
  COMP__TRY(comp__baseline_rows(&m.rows, &m.start, &run->batch));
  COMP__TRY(comp__alloc(&m.merged_rows, run->batch.rows, sizeof *m.merged_rows));
  COMP__TRY(comp__alloc(&m.differences, run->batch.n_levels, scores->cols * sizeof *m.differences));
  for (size_t b = 0; b < run->batch.n_levels; b++) COMP__TRY(merge_batch(&m, scores, order[b]));
  for (size_t i = 0; i < run->batch.rows; i++)
    memcpy(scores->values + m.merged_rows[i] * scores->cols, m.merged->values + i * scores->cols,
           scores->cols * sizeof(float));
  run->embedding = scores;
  scores = NULL;
done:
  comp_matrix_free(scores);
  comp_matrix_free(m.merged);
  comp__free(m.rows);
  comp__free(m.start);
  comp__free(m.merged_rows);
  comp__free(m.differences);
  comp__free(order);
  return status;
}

const comp__baseline comp__baseline_mnn = {
    .method = {.name = "mnn",
               .summary = "fastMNN: conditions merged one by one, by mutual nearest neighbours",
               .takes = "rep components k order seed",
               .embedding = "X_mnn",
               .components = 50},
    .run = run_mnn,
};
