/* stability.c: see stability.h. */
#include "diagnose/stability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "diagnose/whiten.h"

enum { STEP_ORDER = 5000000, BLOCK = 256, SINGLES = 100 };

static comp_status to_double(double **out, const float *x, size_t n) {
  comp_status status = comp__alloc(out, n, sizeof **out);
  for (size_t i = 0; status == COMP_OK && i < n; i++) (*out)[i] = (double)x[i];
  return status;
}

/* The squared Frobenius norm of a' b / n, columns centred. */
static comp_status cross_norm(double *out, const double *a, size_t p, const double *b, size_t q, size_t n) {
  comp_status status;
  double *product = NULL, *mean_a = NULL, *mean_b = NULL;
  COMP__TRY(comp__calloc(&product, p, q * sizeof *product));
  COMP__TRY(comp__calloc(&mean_a, p, sizeof *mean_a));
  COMP__TRY(comp__calloc(&mean_b, q, sizeof *mean_b));
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < p; j++) mean_a[j] += a[i * p + j] / (double)n;
    for (size_t k = 0; k < q; k++) mean_b[k] += b[i * q + k] / (double)n;
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < p; j++) {
      double value = (a[i * p + j] - mean_a[j]) / (double)n;
      for (size_t k = 0; k < q; k++) product[j * q + k] += value * (b[i * q + k] - mean_b[k]);
    }
  *out = 0;
  for (size_t k = 0; k < p * q; k++) *out += product[k] * product[k];
done:
  comp__free(product);
  comp__free(mean_a);
  comp__free(mean_b);
  return status;
}

static double total_variance(const double *x, size_t n, size_t p) {
  double total = 0;
  for (size_t j = 0; j < p; j++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += x[i * p + j];
    for (size_t i = 0; i < n; i++) squares += (x[i * p + j] - sum / (double)n) * (x[i * p + j] - sum / (double)n);
    total += squares / (double)n;
  }
  return total;
}

/* On whitened a the best linear map is a' b / n, and what it explains its squared norm. */
comp_status comp__linear_agreement(comp__linear_fit *out, const float *a, size_t p, const float *b, size_t q,
                                   size_t n) {
  comp_status status;
  double *x = NULL, *y = NULL, *white = NULL, explained, ab, aa, bb;
  size_t kept;
  COMP__TRY(to_double(&x, a, n * p));
  COMP__TRY(to_double(&y, b, n * q));
  COMP__TRY(comp__alloc(&white, n, p * sizeof *white));
  COMP__TRY(comp__whiten(white, &kept, x, n, p));
  COMP__TRY(cross_norm(&explained, white, kept, y, q, n));
  COMP__TRY(cross_norm(&ab, x, p, y, q, n));
  COMP__TRY(cross_norm(&aa, x, p, x, p, n));
  COMP__TRY(cross_norm(&bb, y, q, y, q, n));
  double variance = total_variance(y, n, q);
  *out = (comp__linear_fit){variance > 0 ? explained / variance : 0, aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0};
done:
  comp__free(x);
  comp__free(y);
  comp__free(white);
  return status;
}

/* Of one change: predictions and changes of all models, [models, features]. */
typedef struct change_work {
  double *predicted, *change; /* [models, features] */
  float *to, *own;            /* [BLOCK, features] */
  float *single;              /* [models, SINGLES, features]: predictions of the first samples */
  size_t singles;             /* how many of them */
  size_t *samples;
} change_work;

static comp_status mean_change(double *predicted, double *change, float *single, comp_context *context,
                               const comp__latent *latent, change_work *w, size_t n, int32_t to) {
  size_t genes = latent->features;
  memset(predicted, 0, genes * sizeof *predicted);
  memset(change, 0, genes * sizeof *change);
  for (size_t begin = 0; begin < n; begin += BLOCK) {
    size_t rows = n - begin < BLOCK ? n - begin : BLOCK;
    comp_status status = comp__latent_decode(w->to, context, latent, w->samples + begin, rows, to);
    if (status == COMP_OK) status = comp__latent_decode(w->own, context, latent, w->samples + begin, rows, -1);
    if (status == COMP_OK) status = comp__check_interrupt(context);
    if (status != COMP_OK) return status;
    if (begin == 0) memcpy(single, w->to, w->singles * genes * sizeof *single);
    for (size_t i = 0; i < rows; i++)
      for (size_t g = 0; g < genes; g++) {
        double value = (double)w->to[i * genes + g];
        predicted[g] += value / (double)n;
        change[g] += (value - (double)w->own[i * genes + g]) / (double)n;
      }
  }
  return COMP_OK;
}

static double pearson(const double *a, const double *b, size_t n) {
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (size_t i = 0; i < n; i++) sa += a[i] / (double)n, sb += b[i] / (double)n;
  for (size_t i = 0; i < n; i++) {
    saa += (a[i] - sa) * (a[i] - sa);
    sbb += (b[i] - sb) * (b[i] - sb);
    sab += (a[i] - sa) * (b[i] - sb);
  }
  return saa > 0 && sbb > 0 ? sab / sqrt(saa * sbb) : saa == sbb ? 1 : 0;
}

/* Correlation of two models' predictions [n, genes] of single samples, each feature less its mean in each. */
static double single_agreement(const float *a, const float *b, size_t n, size_t genes) {
  double saa = 0, sbb = 0, sab = 0;
  for (size_t g = 0; g < genes; g++) {
    double mean_a = 0, mean_b = 0;
    for (size_t i = 0; i < n; i++) {
      mean_a += (double)a[i * genes + g] / (double)n;
      mean_b += (double)b[i * genes + g] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
      double x = (double)a[i * genes + g] - mean_a, y = (double)b[i * genes + g] - mean_b;
      saa += x * x;
      sbb += y * y;
      sab += x * y;
    }
  }
  return saa > 0 && sbb > 0 ? sab / sqrt(saa * sbb) : 0;
}

static void summarise(comp__change *c, comp__stability *out, const change_work *w, size_t genes) {
  size_t models = out->models;
  /* The smallest: a mean over pairs would hide one model that differs, and two groups of models that agree within. */
  c->agreement = c->single = NAN;
  for (size_t a = 0; a < models; a++)
    for (size_t b = 0; b < a; b++) {
      double r = pearson(w->change + a * genes, w->change + b * genes, genes);
      if (!(c->agreement <= r)) c->agreement = r;
      if (w->singles < 2) continue;
      r = single_agreement(w->single + a * SINGLES * genes, w->single + b * SINGLES * genes, w->singles, genes);
      if (c->single <= r) continue;
      c->single = r;
      c->odd[0] = b;
      c->odd[1] = a;
    }
  for (size_t g = 0; g < genes; g++) {
    double mean = 0, squares = 0, size = 0;
    for (size_t m = 0; m < models; m++) mean += w->predicted[m * genes + g] / (double)models;
    for (size_t m = 0; m < models; m++) {
      double d = w->predicted[m * genes + g] - mean;
      squares += models > 1 ? d * d / (double)(models - 1) : 0;
      size += w->change[m * genes + g] * w->change[m * genes + g] / (double)models;
    }
    c->spread += squares / (double)genes;
    c->size += size / (double)genes;
    out->gene_spread[g] += squares;
    out->gene_size[g] += size;
  }
  c->spread = sqrt(c->spread);
  c->size = sqrt(c->size);
}

/* Samples of a label that are not of condition `to`, in the given order, at most `most`. */
static size_t find_samples(size_t *samples, const comp__latent *l, const size_t *order, const int32_t *labels,
                           size_t label, size_t to, size_t most) {
  size_t n = 0;
  for (size_t o = 0; o < l->n && n < most; o++)
    if ((!labels || labels[order[o]] == (int32_t)label) && l->codes[order[o]] != (int32_t)to) samples[n++] = order[o];
  return n;
}

static comp_status measure_changes(comp__stability *out, comp_context *context, const comp__latent *latents,
                                   const int32_t *labels, size_t n_labels, size_t most, uint64_t seed) {
  comp_status status;
  size_t genes = latents[0].features, conditions = latents[0].conditions, *order = NULL;
  change_work w = {0};
  COMP__TRY(comp__random_order(&order, latents[0].n, seed, STEP_ORDER));
  COMP__TRY(comp__alloc(&w.predicted, out->models, genes * sizeof *w.predicted));
  COMP__TRY(comp__alloc(&w.change, out->models, genes * sizeof *w.change));
  COMP__TRY(comp__alloc(&w.to, BLOCK, genes * sizeof *w.to));
  COMP__TRY(comp__alloc(&w.own, BLOCK, genes * sizeof *w.own));
  COMP__TRY(comp__alloc(&w.single, out->models * SINGLES, genes * sizeof *w.single));
  COMP__TRY(comp__alloc(&w.samples, most, sizeof *w.samples));
  comp__progress_begin(context, "comparing models", "counterfactuals", n_labels * conditions);
  for (size_t label = 0; label < n_labels; label++)
    for (size_t to = 0; to < conditions; to++) {
      size_t n = find_samples(w.samples, &latents[0], order, labels, label, to, most);
      comp__progress_update(context, label * conditions + to, NULL);
      if (n == 0) continue;
      w.singles = n < SINGLES ? n : SINGLES;
      for (size_t m = 0; m < out->models; m++)
        COMP__TRY(mean_change(w.predicted + m * genes, w.change + m * genes, w.single + m * SINGLES * genes, context,
                              &latents[m], &w, n, (int32_t)to));
      comp__change *c = &out->changes[out->n_changes++];
      *c = (comp__change){.label = label, .to = to, .samples = n};
      summarise(c, out, &w, genes);
    }
  comp__progress_end(context);
done:
  comp__free(order);
  comp__free(w.predicted);
  comp__free(w.change);
  comp__free(w.to);
  comp__free(w.own);
  comp__free(w.single);
  comp__free(w.samples);
  return status;
}

typedef struct ranked {
  double spread;
  size_t gene;
} ranked;

static int by_spread(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->spread != y->spread) return x->spread > y->spread ? -1 : 1;
  return x->gene < y->gene ? -1 : 1;
}

static comp_status order_genes(comp__stability *out, size_t genes) {
  ranked *order;
  comp_status status = comp__alloc(&order, genes, sizeof *order);
  if (status != COMP_OK) return status;
  for (size_t g = 0; g < genes; g++) {
    double n = out->n_changes ? (double)out->n_changes : 1;
    out->gene_spread[g] = sqrt(out->gene_spread[g] / n);
    out->gene_size[g] = sqrt(out->gene_size[g] / n);
    order[g] = (ranked){out->gene_spread[g], g};
  }
  qsort(order, genes, sizeof *order, by_spread);
  for (size_t g = 0; g < genes; g++) out->gene_order[g] = order[g].gene;
  comp__free(order);
  return COMP_OK;
}

comp_status comp__stability_run(comp__stability *out, comp_context *context, const comp__latent *latents, size_t models,
                                const int32_t *labels, size_t n_labels, size_t most, uint64_t seed) {
  comp_status status;
  size_t genes = latents[0].features;
  *out = (comp__stability){.models = models, .least_r2 = 1, .least_cka = 1};
  if (!labels) n_labels = 1;
  COMP__TRY(comp__calloc(&out->r2, models * models, sizeof *out->r2));
  COMP__TRY(comp__calloc(&out->cka, models * models, sizeof *out->cka));
  COMP__TRY(comp__calloc(&out->changes, n_labels * latents[0].conditions, sizeof *out->changes));
  COMP__TRY(comp__calloc(&out->gene_spread, genes, sizeof *out->gene_spread));
  COMP__TRY(comp__calloc(&out->gene_size, genes, sizeof *out->gene_size));
  COMP__TRY(comp__calloc(&out->gene_order, genes, sizeof *out->gene_order));
  for (size_t a = 0; a < models; a++)
    for (size_t b = 0; b < models; b++) {
      comp__linear_fit fit = {1, 1};
      if (a != b)
        COMP__TRY(comp__linear_agreement(&fit, latents[a].mean, latents[a].dims, latents[b].mean, latents[b].dims,
                                         latents[a].n));
      out->r2[a * models + b] = fit.r2;
      out->cka[a * models + b] = fit.cka;
      out->least_r2 = fmin(out->least_r2, fit.r2);
      out->least_cka = fmin(out->least_cka, fit.cka);
      COMP__TRY(comp__check_interrupt(context));
    }
  COMP__TRY(measure_changes(out, context, latents, labels, n_labels, most, seed));
  COMP__TRY(order_genes(out, genes));
done:
  if (status != COMP_OK) comp__stability_release(out);
  return status;
}

void comp__stability_release(comp__stability *stability) {
  comp__free(stability->r2);
  comp__free(stability->cka);
  comp__free(stability->changes);
  comp__free(stability->gene_spread);
  comp__free(stability->gene_size);
  comp__free(stability->gene_order);
  *stability = (comp__stability){0};
}
