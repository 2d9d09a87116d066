/* correction.c: see correction.h. */
#include "diagnose/correction.h"

#include <math.h>
#include <string.h>

#include "comp/neighbors.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "neighbors/options.h"

enum { STEP_FATES = 6000000, STEP_RECONSTRUCTION = 6000001, BLOCK = 256 };

static comp_status count_labels(comp__fates *out, const comp__latent *l, const int32_t *labels) {
  for (size_t d = 0; d < out->n_labels; d++) {
    comp_status status = comp__calloc(&out->labels[d].counts, l->conditions, sizeof *out->labels[d].counts);
    if (status != COMP_OK) return status;
  }
  for (size_t i = 0; i < l->n; i++)
    if (labels[i] >= 0) out->labels[labels[i]].counts[l->codes[i]]++;
  for (size_t d = 0; d < out->n_labels; d++) {
    comp__label_fate *f = &out->labels[d];
    size_t total = 0;
    for (size_t k = 0; k < l->conditions; k++) total += f->counts[k];
    for (size_t k = 0; k < l->conditions; k++) f->present += f->counts[k] > 0;
    for (size_t k = 0; k < l->conditions; k++) f->in += f->counts[k] >= 2 && 100 * f->counts[k] >= total;
  }
  return COMP_OK;
}

/* Adds the neighbours of the rows of condition `c` that have another condition, found among those alone. */
static comp_status look_across(comp__fates *out, size_t *tally, comp_context *context, const comp__latent *l,
                               const int32_t *labels, const size_t *order, size_t n, int32_t c) {
  comp_status status;
  size_t *own = NULL, *other = NULL, n_own = 0, n_other = 0;
  comp_matrix *queries = NULL, *points = NULL;
  comp_neighbors *found = NULL;
  COMP__TRY(comp__alloc(&own, n, sizeof *own));
  COMP__TRY(comp__alloc(&other, n, sizeof *other));
  for (size_t o = 0; o < n; o++)
    if (labels[order[o]] >= 0) {
      if (l->codes[order[o]] == c)
        own[n_own++] = order[o];
      else
        other[n_other++] = order[o];
    }
  if (n_own == 0 || n_other <= out->k) goto done;
  COMP__TRY(comp__latent_rows(&queries, l, own, n_own, false, 0));
  COMP__TRY(comp__latent_rows(&points, l, other, n_other, false, 0));
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = out->k;
  COMP__TRY(comp__neighbors_query(&found, context, points, queries, &options));
  const int32_t *index = comp_neighbors_indices(found);
  for (size_t i = 0; i < n_own; i++)
    for (size_t j = 0; j < out->k; j++)
      tally[(size_t)labels[own[i]] * out->n_labels + (size_t)labels[other[index[i * out->k + j]]]]++;
done:
  comp__free(own);
  comp__free(other);
  comp_matrix_free(queries);
  comp_matrix_free(points);
  comp_neighbors_free(found);
  return status;
}

/* Shares of other conditions among all neighbours, relative to their share in the data. */
static comp_status look_around(comp__fates *out, comp_context *context, const comp__latent *l, const int32_t *labels,
                               const size_t *order, size_t n) {
  comp_status status;
  comp_matrix *points = NULL;
  comp_neighbors *found = NULL;
  size_t *counts = NULL;
  COMP__TRY(comp__calloc(&counts, l->conditions, sizeof *counts));
  COMP__TRY(comp__latent_rows(&points, l, order, n, false, 0));
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = out->k;
  COMP__TRY(comp__neighbors_find(&found, context, points, &options));
  const int32_t *index = comp_neighbors_indices(found);
  for (size_t i = 0; i < n; i++) counts[l->codes[order[i]]]++;
  for (size_t i = 0; i < n; i++) {
    if (labels[order[i]] < 0) continue;
    comp__label_fate *f = &out->labels[labels[order[i]]];
    double expected = 1 - (double)counts[l->codes[order[i]]] / (double)n, others = 0;
    for (size_t j = 0; j < out->k; j++)
      others += l->codes[order[index[i * out->k + j]]] != l->codes[order[i]] ? 1 / (double)out->k : 0;
    f->looked_at++;
    f->mixing += expected > 0 ? others / expected : 0;
  }
  for (size_t d = 0; d < out->n_labels; d++)
    out->labels[d].mixing = out->labels[d].looked_at ? out->labels[d].mixing / (double)out->labels[d].looked_at : NAN;
done:
  comp__free(counts);
  comp_matrix_free(points);
  comp_neighbors_free(found);
  return status;
}

comp_status comp__fates_find(comp__fates *out, comp_context *context, const comp__latent *latent, const int32_t *labels,
                             size_t n_labels, size_t rows, size_t k, uint64_t seed) {
  comp_status status;
  size_t *order = NULL, *tally = NULL, n = latent->n < rows ? latent->n : rows;
  *out = (comp__fates){.n_labels = n_labels, .conditions = latent->conditions, .rows = n, .k = k < n ? k : n - 1};
  COMP__TRY(comp__calloc(&out->labels, n_labels, sizeof *out->labels));
  COMP__TRY(comp__calloc(&tally, n_labels * n_labels, sizeof *tally));
  COMP__TRY(count_labels(out, latent, labels));
  COMP__TRY(comp__random_order(&order, latent->n, seed, STEP_FATES));
  COMP__TRY(look_around(out, context, latent, labels, order, n));
  for (size_t c = 0; c < latent->conditions; c++)
    COMP__TRY(look_across(out, tally, context, latent, labels, order, n, (int32_t)c));
  for (size_t d = 0; d < n_labels; d++) {
    comp__label_fate *f = &out->labels[d];
    const size_t *row = tally + d * n_labels;
    size_t total = 0;
    for (size_t e = 0; e < n_labels; e++) {
      total += row[e];
      if (row[e] > row[f->mostly]) f->mostly = e;
    }
    f->same = total ? (double)row[d] / (double)total : NAN;
    f->mostly_share = total ? (double)row[f->mostly] / (double)total : NAN;
  }
done:
  comp__free(order);
  comp__free(tally);
  if (status != COMP_OK) comp__fates_release(out);
  return status;
}

void comp__fates_release(comp__fates *fates) {
  for (size_t d = 0; fates->labels && d < fates->n_labels; d++) comp__free(fates->labels[d].counts);
  comp__free(fates->labels);
  *fates = (comp__fates){0};
}

comp_status comp__reconstruction(double *out, comp_context *context, const comp__latent *latent,
                                 const comp__strays *strays, size_t rows, uint64_t seed) {
  comp_status status;
  size_t genes = latent->features, n = latent->n < rows ? latent->n : rows, kept = 0, *order = NULL;
  float *decoded = NULL, *seen = NULL;
  double *sum = NULL, *squares = NULL, error = 0, variance = 0;
  COMP__TRY(comp__random_order(&order, latent->n, seed, STEP_RECONSTRUCTION));
  COMP__TRY(comp__alloc(&decoded, BLOCK, genes * sizeof *decoded));
  COMP__TRY(comp__alloc(&seen, genes, sizeof *seen));
  COMP__TRY(comp__calloc(&sum, genes, sizeof *sum));
  COMP__TRY(comp__calloc(&squares, genes, sizeof *squares));
  for (size_t begin = 0; begin < n; begin += BLOCK) {
    size_t block = n - begin < BLOCK ? n - begin : BLOCK;
    COMP__TRY(comp__latent_decode(decoded, context, latent, order + begin, block, -1));
    for (size_t i = 0; i < block; i++) {
      if (comp__is_stray(strays, order[begin + i])) continue;
      kept++;
      comp__latent_observed(seen, latent, order[begin + i]);
      for (size_t g = 0; g < genes; g++) {
        double x = (double)seen[g], d = x - (double)decoded[i * genes + g];
        error += d * d;
        sum[g] += x;
        squares[g] += x * x;
      }
    }
    COMP__TRY(comp__check_interrupt(context));
  }
  for (size_t g = 0; g < genes; g++) variance += fmax(0, squares[g] - sum[g] * sum[g] / (double)kept);
  *out = variance > 0 ? 1 - error / variance : NAN;
done:
  comp__free(order);
  comp__free(decoded);
  comp__free(seen);
  comp__free(sum);
  comp__free(squares);
  return status;
}
