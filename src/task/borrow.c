/* borrow.c: changes for samples whose like was never seen under the other condition. */
#include "task/borrow.h"

#include <math.h>
#include <stdlib.h>

#include "comp/neighbors.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/threads.h"
#include "neighbors/options.h"
#include "nn/matmul.h"
#include "task/coder.h"
#include "task/options.h"

enum { NEIGHBORS = 100, NEAREST_DONORS = 30, MAX_DONORS = 4096, BLOCK = 256 };
static const double enough = 0.9, donor_support = 0.5, sharpness = 0.1;

typedef struct loan {
  const comp__aligned *aligned;
  comp_prediction *prediction;
  size_t latent, features;
  comp_matrix *z;  /* [samples, latent] */
  double *support; /* [samples] */
  size_t *donors;  /* [n_donors] */
  size_t n_donors;
  float *changes; /* [n_donors, features] */
  size_t *takers; /* [n_takers]: samples without support */
  size_t n_takers;
  const size_t *block; /* takers of this block */
  float *weights;      /* [BLOCK, n_donors] */
  float *borrowed;     /* [BLOCK, features] */
} loan;

static comp_status encode(loan *l, comp_context *context, comp_precision precision) {
  comp__coder *coder = NULL;
  comp_status status;
  COMP__TRY(comp__coder_new(&coder, context, l->aligned->model, precision));
  COMP__TRY(comp__matrix_new_dense_raw(&l->z, l->aligned->samples, l->latent));
  COMP__TRY(comp__encode(context, coder, l->aligned, l->z->values, NULL));
done:
  comp__coder_free(coder);
  return status;
}

static comp_status measure_support(loan *l, comp_context *context, int32_t to) {
  size_t n = l->aligned->samples, targets = 0;
  comp_neighbors *neighbors = NULL;
  comp__neighbors_options options = comp__neighbors_defaults();
  comp_status status;
  for (size_t i = 0; i < n; i++) targets += l->aligned->codes[i] == to;
  if (targets == 0)
    COMP__FAIL(COMP_ERR_DATA, "changes can only be borrowed from data that holds samples of '%s' too: there are none",
               comp_model_level_name(l->aligned->model, (size_t)to));
  options.k = n > NEIGHBORS ? NEIGHBORS : n - 1;
  COMP__TRY(comp__neighbors_find(&neighbors, context, l->z, &options));
  const int32_t *indices = comp_neighbors_indices(neighbors);
  double expected = (double)options.k * (double)targets / (double)n;
  for (size_t i = 0; i < n; i++) {
    size_t met = 0;
    for (size_t j = 0; j < options.k; j++) met += l->aligned->codes[indices[i * options.k + j]] == to;
    l->support[i] = (double)met / expected;
  }
done:
  comp_neighbors_free(neighbors);
  return status;
}

/* Every donor is taken while there are few; of many, those with the smallest random numbers. */
static void choose_donors(loan *l, int32_t to, uint64_t seed) {
  size_t n = l->aligned->samples, able = 0;
  for (size_t i = 0; i < n; i++) {
    if (!l->prediction->predicted[i] || l->aligned->codes[i] == to) continue;
    able += l->support[i] >= donor_support;
    if (l->support[i] < enough) l->takers[l->n_takers++] = i;
  }
  for (size_t i = 0; i < n; i++) {
    if (!l->prediction->predicted[i] || l->aligned->codes[i] == to || l->support[i] < donor_support) continue;
    comp__rng rng = comp__rng_at(seed, COMP__RNG_POSTERIOR, COMP_MAX_DRAWS, i);
    bool drawn = able <= MAX_DONORS || comp__rng_uniform(rng, 0) < (double)MAX_DONORS / (double)able;
    if (drawn && l->n_donors < MAX_DONORS) l->donors[l->n_donors++] = i;
  }
}

/* What the model says of a donor: prediction minus its own values. */
static void read_change(float *out, const loan *l, size_t sample) {
  const float *predicted = l->prediction->values->values + sample * l->features;
  comp__aligned_row(out, l->aligned, sample);
  for (size_t g = 0; g < l->features; g++) out[g] = predicted[g] - out[g];
}

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Weights of one taker over the donors, which sum to 1. `sorted` is room for n_donors. */
static void weigh(float *weights, float *sorted, const loan *l, size_t sample) {
  const float *z = l->z->values + sample * l->latent;
  size_t nearest = l->n_donors < NEAREST_DONORS ? l->n_donors : NEAREST_DONORS;
  double width = 0, sum = 0;
  for (size_t j = 0; j < l->n_donors; j++) {
    const float *other = l->z->values + l->donors[j] * l->latent;
    double squares = 0;
    for (size_t d = 0; d < l->latent; d++)
      squares += ((double)z[d] - (double)other[d]) * ((double)z[d] - (double)other[d]);
    weights[j] = sorted[j] = (float)squares;
  }
  qsort(sorted, l->n_donors, sizeof *sorted, ascending);
  for (size_t j = 0; j < nearest; j++) width += (double)sorted[j] / (double)nearest;
  if (width <= 0) width = 1; /* all donors are at this very place */
  for (size_t j = 0; j < l->n_donors; j++) {
    weights[j] = (float)exp(-sharpness * ((double)weights[j] - (double)sorted[0]) / width);
    sum += (double)weights[j];
  }
  for (size_t j = 0; j < l->n_donors; j++) weights[j] = (float)((double)weights[j] / sum);
}

static comp_status weigh_rows(void *arg, size_t begin, size_t end, int thread) {
  loan *l = arg;
  float *sorted = NULL;
  (void)thread;
  comp_status status = comp__alloc(&sorted, l->n_donors, sizeof *sorted);
  for (size_t i = begin; i < end && status == COMP_OK; i++) weigh(l->weights + i * l->n_donors, sorted, l, l->block[i]);
  comp__free(sorted);
  return status;
}

static comp_status lend(loan *l, comp_context *context) {
  comp_status status;
  COMP__TRY(comp__alloc(&l->changes, l->n_donors, l->features * sizeof *l->changes));
  COMP__TRY(comp__alloc(&l->weights, BLOCK, l->n_donors * sizeof *l->weights));
  COMP__TRY(comp__alloc(&l->borrowed, BLOCK, l->features * sizeof *l->borrowed));
  for (size_t j = 0; j < l->n_donors; j++) read_change(l->changes + j * l->features, l, l->donors[j]);
  for (size_t first = 0; first < l->n_takers; first += BLOCK) {
    size_t rows = l->n_takers - first < BLOCK ? l->n_takers - first : BLOCK;
    l->block = l->takers + first;
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(comp__parallel_try(context, rows, 8, weigh_rows, l));
    COMP__TRY(comp__matmul_f32(context, l->borrowed, l->features, l->weights, l->n_donors, l->changes, l->features,
                               rows, l->features, l->n_donors, 0));
    for (size_t i = 0; i < rows; i++) {
      float *out = l->prediction->values->values + l->block[i] * l->features;
      comp__aligned_row(out, l->aligned, l->block[i]);
      for (size_t g = 0; g < l->features; g++) out[g] += l->borrowed[i * l->features + g];
    }
  }
done:
  return status;
}

comp_status comp__borrow(comp_prediction *prediction, comp_context *context, const comp__aligned *aligned,
                         const comp__counterfactual_options *options, int32_t to) {
  loan l = {.aligned = aligned,
            .prediction = prediction,
            .latent = aligned->model->network.options.latent,
            .features = aligned->model->network.features};
  comp_status status;
  COMP__TRY(comp__alloc(&l.support, aligned->samples, sizeof *l.support));
  COMP__TRY(comp__alloc(&l.donors, MAX_DONORS, sizeof *l.donors));
  COMP__TRY(comp__alloc(&l.takers, aligned->samples, sizeof *l.takers));
  COMP__TRY(encode(&l, context, options->precision));
  COMP__TRY(measure_support(&l, context, to));
  choose_donors(&l, to, options->seed);
  if (l.n_takers > 0 && l.n_donors == 0)
    COMP__FAIL(COMP_ERR_DATA,
               "no sample has samples of '%s' near it in the representation: there is nobody to borrow a change "
               "from; a larger gamma aligns more",
               comp_model_level_name(aligned->model, (size_t)to));
  if (l.n_takers > 0) COMP__TRY(lend(&l, context));
  comp__info(context,
             "%zu of %zu samples have few of '%s' near them (less than 0.9 of what is expected): their change is "
             "borrowed from %zu "
             "that have at least half of it",
             l.n_takers, prediction->n_predicted, comp_model_level_name(aligned->model, (size_t)to), l.n_donors);
done:
  comp__free(l.borrowed);
  comp__free(l.weights);
  comp__free(l.changes);
  comp__free(l.takers);
  comp__free(l.donors);
  comp__free(l.support);
  comp_matrix_free(l.z);
  return status;
}
