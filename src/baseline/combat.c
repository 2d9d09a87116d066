/*
 * combat.c: ComBat (Johnson, Li and Rabinovic 2007), as sva's ComBat(): gene by gene a linear model with batches and
 * covariates; the effect of a batch on a gene's mean and variance is shrunk towards that batch's effects on all genes.
 *
 * Genes are independent but for the priors, so that data is read in strips of genes: once to fit, once to correct. What
 * the priors need of a gene and batch are three numbers: mean, variance, count.
 */
#include <math.h>
#include <string.h>

#include "baseline/baseline.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"

enum { STRIP = 16, ITERATIONS = 10000 };

typedef struct combat {
  const comp__baseline_run *run;
  size_t n, genes, batches, extra, p;
  const int32_t *code;             /* [n] */
  const size_t *counts;            /* [batches] */
  const comp_matrix *x;            /* [n, genes] dense; or CSR, transposed: [genes, n] */
  double *covariates;              /* [n, extra] */
  double *factor;                  /* [p, p] upper: its square is design^T design */
  double *beta;                    /* [genes, p] */
  double *deviation;               /* [genes]: root of the pooled variance */
  bool *fixed;                     /* [genes]: left as it is */
  double *gamma, *delta;           /* [batches, genes]: mean and variance of a gene in a batch, standardised */
  double *gamma_star, *delta_star; /* the same after shrinking */
  bool mean_only;
  double *strips; /* [threads, STRIP, n] */
  double *room;   /* [threads, max(p, genes)] */
  size_t room_size;
  comp_matrix *out;
} combat;

/* ---- The design ---- */

static comp_status allocate_design(combat *c, const comp_dataset *d) {
  comp_status status;
  const comp__baseline_options *o = c->run->options;
  size_t column, extra = 0;
  for (size_t k = 0; k < o->n_covariates; k++) {
    comp_groups groups;
    COMP__TRY(comp_table_require(&column, d->obs, o->covariates[k]));
    COMP__TRY(comp__baseline_groups(&groups, d, o->covariates[k]));
    extra += comp_table_column_kind(d->obs, column) == COMP_COLUMN_NUMBER ? 1 : groups.n_levels - 1;
    comp_groups_release(&groups);
  }
  c->extra = extra;
  c->p = c->batches + extra;
  if (c->p >= c->n)
    COMP__FAIL(COMP_ERR_DATA, "%zu batches and %zu column%s of --covariates are too many for %zu samples", c->batches,
               extra, extra == 1 ? "" : "s", c->n);
  COMP__TRY(comp__calloc(&c->covariates, c->n * (extra ? extra : 1), sizeof *c->covariates));
done:
  return status;
}

/* Numbers as they are; of the levels of a factor the first has no column. */
static comp_status fill_design(combat *c, const comp_dataset *d) {
  comp_status status = COMP_OK;
  const comp__baseline_options *o = c->run->options;
  size_t column, first = 0;
  for (size_t k = 0; k < o->n_covariates; k++) {
    comp_groups groups;
    COMP__TRY(comp_table_require(&column, d->obs, o->covariates[k]));
    if (comp_table_column_kind(d->obs, column) == COMP_COLUMN_NUMBER) {
      for (size_t i = 0; i < c->n; i++) c->covariates[i * c->extra + first] = comp_table_number(d->obs, column, i);
      first++;
      continue;
    }
    COMP__TRY(comp__baseline_groups(&groups, d, o->covariates[k]));
    for (size_t i = 0; i < c->n; i++)
      if (groups.codes[i] > 0) c->covariates[i * c->extra + first + (size_t)groups.codes[i] - 1] = 1.0;
    first += groups.n_levels - 1;
    comp_groups_release(&groups);
  }
done:
  return status;
}

static double design_at(const combat *c, size_t i, size_t j) {
  return j < c->batches ? (double)((size_t)c->code[i] == j) : c->covariates[i * c->extra + j - c->batches];
}

static double dot(const double *a, const double *b, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Gram and Schmidt's orthogonal columns; a column of which less than 1e-7 is left depends on the others, as in R's
 * qr().
 */
static comp_status factor_design(combat *c) {
  comp_status status;
  size_t n = c->n, p = c->p;
  double *q = NULL;
  COMP__TRY(comp__calloc(&c->factor, p * p, sizeof *c->factor));
  COMP__TRY(comp__alloc(&q, n * p, sizeof *q));
  for (size_t j = 0; j < p; j++) {
    double *column = q + j * n;
    for (size_t i = 0; i < n; i++) column[i] = design_at(c, i, j);
    double before = sqrt(dot(column, column, n));
    for (size_t k = 0; k < j; k++) {
      double r = dot(q + k * n, column, n);
      for (size_t i = 0; i < n; i++) column[i] -= r * q[k * n + i];
      c->factor[k * p + j] = r;
    }
    double left = sqrt(dot(column, column, n));
    if (!(left > 1e-7 * before))
      COMP__FAIL(COMP_ERR_DATA,
                 "--covariates are confounded with '%s' or with each other: one of them follows from the "
                 "others; leave it out",
                 c->run->options->condition);
    c->factor[j * p + j] = left;
    for (size_t i = 0; i < n; i++) column[i] /= left;
  }
done:
  comp__free(q);
  return status;
}

/* b [p] = (design^T design)^-1 b. */
static void solve(const combat *c, double *b) {
  size_t p = c->p;
  const double *r = c->factor;
  for (size_t j = 0; j < p; j++) {
    for (size_t k = 0; k < j; k++) b[j] -= r[k * p + j] * b[k];
    b[j] /= r[j * p + j];
  }
  for (size_t j = p; j-- > 0;) {
    for (size_t k = j + 1; k < p; k++) b[j] -= r[j * p + k] * b[k];
    b[j] /= r[j * p + j];
  }
}

/* ---- One gene ---- */

/* strip [width, n] = the genes from `first`. */
static void read_strip(const combat *c, double *strip, size_t first, size_t width) {
  const comp_matrix *x = c->x;
  if (x->kind == COMP_DENSE) {
    for (size_t i = 0; i < c->n; i++)
      for (size_t g = 0; g < width; g++) strip[g * c->n + i] = x->values[i * c->genes + first + g];
    return;
  }
  memset(strip, 0, width * c->n * sizeof *strip);
  for (size_t g = 0; g < width; g++)
    for (int64_t k = x->indptr[first + g]; k < x->indptr[first + g + 1]; k++)
      strip[g * c->n + (size_t)x->indices[k]] = x->values[k];
}

/* Whether a gene has one value only in some batch of two samples or more: sva leaves it alone. `first` is [batches]. */
static bool is_flat(const combat *c, const double *y, double *first) {
  for (size_t b = 0; b < c->batches; b++) first[b] = NAN;
  size_t varying = 0, wanted = 0;
  double *seen = first + c->batches; /* [batches]: 1 when two values differ */
  for (size_t b = 0; b < c->batches; b++) seen[b] = 0.0;
  for (size_t i = 0; i < c->n; i++) {
    int32_t b = c->code[i];
    if (isnan(first[b])) first[b] = y[i];
    if (y[i] != first[b]) seen[b] = 1.0;
  }
  for (size_t b = 0; b < c->batches; b++) {
    wanted += c->counts[b] > 1;
    varying += c->counts[b] > 1 && seen[b] > 0.0;
  }
  return varying < wanted;
}

/* What the covariates explain of sample i. */
static double explained(const combat *c, const double *beta, size_t i) {
  double sum = 0.0;
  for (size_t k = 0; k < c->extra; k++) sum += c->covariates[i * c->extra + k] * beta[c->batches + k];
  return sum;
}

static double grand_mean(const combat *c, const double *beta) {
  double sum = 0.0;
  for (size_t b = 0; b < c->batches; b++) sum += beta[b] * (double)c->counts[b] / (double)c->n;
  return sum;
}

/* Fits the model to y [n], which becomes standardised. */
static void fit_gene(const combat *c, double *y, size_t gene) {
  double *beta = c->beta + gene * c->p, pooled = 0.0;
  for (size_t j = 0; j < c->p; j++) beta[j] = 0.0;
  for (size_t i = 0; i < c->n; i++) {
    beta[c->code[i]] += y[i];
    for (size_t k = 0; k < c->extra; k++) beta[c->batches + k] += c->covariates[i * c->extra + k] * y[i];
  }
  solve(c, beta);
  for (size_t i = 0; i < c->n; i++) {
    double residual = y[i] - beta[c->code[i]] - explained(c, beta, i);
    pooled += residual * residual;
  }
  double deviation = sqrt(pooled / (double)c->n), grand = grand_mean(c, beta);
  c->deviation[gene] = deviation;
  c->fixed[gene] = !(deviation > 0.0);
  if (c->fixed[gene]) return;
  for (size_t i = 0; i < c->n; i++) y[i] = (y[i] - grand - explained(c, beta, i)) / deviation;
}

static void summarise_gene(const combat *c, const double *y, size_t gene) {
  for (size_t b = 0; b < c->batches; b++) c->gamma[b * c->genes + gene] = c->delta[b * c->genes + gene] = 0.0;
  for (size_t i = 0; i < c->n; i++) c->gamma[(size_t)c->code[i] * c->genes + gene] += y[i];
  for (size_t b = 0; b < c->batches; b++) c->gamma[b * c->genes + gene] /= (double)c->counts[b];
  for (size_t i = 0; i < c->n; i++) {
    size_t at = (size_t)c->code[i] * c->genes + gene;
    double off = y[i] - c->gamma[at];
    c->delta[at] += off * off;
  }
  for (size_t b = 0; b < c->batches; b++) c->delta[b * c->genes + gene] /= (double)c->counts[b] - 1.0;
}

static void fit_strip(void *arg, size_t begin, size_t end, int thread) {
  const combat *c = arg;
  double *strip = c->strips + (size_t)thread * STRIP * c->n, *room = c->room + (size_t)thread * c->room_size;
  read_strip(c, strip, begin, end - begin);
  for (size_t gene = begin; gene < end; gene++) {
    double *y = strip + (gene - begin) * c->n;
    c->fixed[gene] = is_flat(c, y, room);
    if (!c->fixed[gene]) fit_gene(c, y, gene);
    if (!c->fixed[gene]) summarise_gene(c, y, gene);
  }
}

/* ---- Priors ---- */

/* Mean and variance (n - 1) over the genes that take part. */
static void moments(double *mean, double *variance, const combat *c, const double *values) {
  double n = 0.0, sum = 0.0, squares = 0.0;
  for (size_t g = 0; g < c->genes; g++)
    if (!c->fixed[g]) {
      sum += values[g];
      n += 1.0;
    }
  *mean = sum / n;
  for (size_t g = 0; g < c->genes; g++)
    if (!c->fixed[g]) squares += (values[g] - *mean) * (values[g] - *mean);
  *variance = squares / (n - 1.0);
}

/* The sum of squares of a gene in a batch around g. */
static double squares_around(double g, double gamma, double delta, double n) {
  return (n - 1.0) * delta + n * (gamma - g) * (gamma - g);
}

/* All genes of a batch go on until the last has settled, as in sva. There the change of a mean is divided by the mean
 * with its sign, so that negative ones never count: the number of steps, and with it the result, depends on that. */
static comp_status shrink_parametric(const combat *c, size_t b) {
  const double *gamma = c->gamma + b * c->genes, *delta = c->delta + b * c->genes;
  double *g = c->gamma_star + b * c->genes, *d = c->delta_star + b * c->genes;
  double n = (double)c->counts[b], mean, t2, m, s2, change = 1.0;
  moments(&mean, &t2, c, gamma);
  if (c->mean_only) {
    for (size_t k = 0; k < c->genes; k++) {
      g[k] = (t2 * gamma[k] + mean) / (t2 + 1.0);
      d[k] = 1.0;
    }
    return COMP_OK;
  }
  moments(&m, &s2, c, delta);
  double shape = (2.0 * s2 + m * m) / s2, rate = (m * s2 + m * m * m) / s2;
  memcpy(g, gamma, c->genes * sizeof *g);
  memcpy(d, delta, c->genes * sizeof *d);
  for (size_t count = 0; change > 1e-4; count++) {
    if (count == ITERATIONS)
      return comp__error(COMP_ERR_NUMERIC, "combat: the effects of '%s' do not converge", c->run->batch.levels[b]);
    change = 0.0;
    for (size_t k = 0; k < c->genes; k++) {
      if (c->fixed[k]) continue;
      double g_new = (t2 * n * gamma[k] + d[k] * mean) / (t2 * n + d[k]);
      double d_new = (0.5 * squares_around(g_new, gamma[k], delta[k], n) + rate) / (n / 2.0 + shape - 1.0);
      change = fmax(change, fmax(fabs(g_new - g[k]) / g[k], fabs(d_new - d[k]) / d[k]));
      g[k] = g_new;
      d[k] = d_new;
    }
  }
  return COMP_OK;
}

typedef struct weighing {
  const combat *c;
  size_t b;
} weighing;

/* Gene by gene the mean effect over all other genes, weighted by how likely each makes this gene's data. In logs: sva
 * multiplies likelihoods, which are 0 for more than some hundred samples. */
static void weigh_genes(void *arg, size_t begin, size_t end, int thread) {
  const weighing *w = arg;
  const combat *c = w->c;
  const double *gamma = c->gamma + w->b * c->genes, *delta = c->delta + w->b * c->genes;
  double *room = c->room + (size_t)thread * c->room_size, n = (double)c->counts[w->b];
  for (size_t i = begin; i < end; i++) {
    double top = -INFINITY, sum = 0.0, sum_g = 0.0, sum_d = 0.0;
    if (c->fixed[i]) continue;
    double own = c->counts[w->b] > 1 ? delta[i] : 0.0; /* of one sample there is no variance */
    for (size_t j = 0; j < c->genes; j++) {
      double d = c->mean_only ? 1.0 : delta[j];
      room[j] = -INFINITY;
      if (j == i || c->fixed[j] || !(d > 0.0)) continue;
      room[j] = -0.5 * n * log(2.0 * M_PI * d) - squares_around(gamma[j], gamma[i], own, n) / (2.0 * d);
      top = fmax(top, room[j]);
    }
    for (size_t j = 0; j < c->genes; j++) {
      if (room[j] == -INFINITY) continue;
      double weight = exp(room[j] - top);
      sum += weight;
      sum_g += weight * gamma[j];
      sum_d += weight * (c->mean_only ? 1.0 : delta[j]);
    }
    c->gamma_star[w->b * c->genes + i] = sum_g / sum;
    c->delta_star[w->b * c->genes + i] = sum_d / sum;
  }
}

static comp_status shrink(combat *c) {
  comp_status status = COMP_OK;
  size_t left_alone = 0;
  for (size_t g = 0; g < c->genes; g++) left_alone += c->fixed[g];
  if (c->genes - left_alone < 2)
    COMP__FAIL(COMP_ERR_DATA,
               "%zu of %zu feature%s within every value of '%s', and ComBat needs two at least to learn from",
               c->genes - left_alone, c->genes, c->genes == 1 ? " varies" : "s vary", c->run->options->condition);
  if (left_alone)
    comp__warn(c->run->context, "%zu of %zu features %s one value only within some '%s': these stay as they are",
               left_alone, c->genes, left_alone == 1 ? "has" : "have", c->run->options->condition);
  for (size_t b = 0; b < c->batches; b++) {
    COMP__TRY(comp__check_interrupt(c->run->context));
    weighing w = {c, b};
    if (c->run->options->nonparametric)
      comp__parallel_for(c->run->context, c->genes, STRIP, weigh_genes, &w);
    else
      COMP__TRY(shrink_parametric(c, b));
  }
done:
  return status;
}

/* ---- Correction ---- */

static void correct_gene(const combat *c, double *y, size_t gene) {
  const double *beta = c->beta + gene * c->p;
  double grand = grand_mean(c, beta), deviation = c->deviation[gene];
  for (size_t i = 0; i < c->n; i++) {
    size_t at = (size_t)c->code[i] * c->genes + gene;
    double mean = grand + explained(c, beta, i), s = (y[i] - mean) / deviation;
    y[i] = (s - c->gamma_star[at]) / sqrt(c->delta_star[at]) * deviation + mean;
  }
}

static void correct_strip(void *arg, size_t begin, size_t end, int thread) {
  const combat *c = arg;
  double *strip = c->strips + (size_t)thread * STRIP * c->n;
  read_strip(c, strip, begin, end - begin);
  for (size_t gene = begin; gene < end; gene++)
    if (!c->fixed[gene]) correct_gene(c, strip + (gene - begin) * c->n, gene);
  for (size_t i = 0; i < c->n; i++)
    for (size_t gene = begin; gene < end; gene++)
      c->out->values[i * c->genes + gene] = (float)strip[(gene - begin) * c->n + i];
}

static comp_status allocate(combat *c) {
  comp_status status;
  size_t threads = (size_t)comp_context_thread_count(c->run->context), all = c->batches * c->genes;
  c->room_size = c->genes > 2 * c->batches ? c->genes : 2 * c->batches;
  COMP__TRY(comp__alloc(&c->beta, c->genes, c->p * sizeof *c->beta));
  COMP__TRY(comp__alloc(&c->deviation, c->genes, sizeof *c->deviation));
  COMP__TRY(comp__alloc(&c->fixed, c->genes, sizeof *c->fixed));
  COMP__TRY(comp__calloc(&c->gamma, all, sizeof *c->gamma));
  COMP__TRY(comp__calloc(&c->delta, all, sizeof *c->delta));
  COMP__TRY(comp__calloc(&c->gamma_star, all, sizeof *c->gamma_star));
  COMP__TRY(comp__calloc(&c->delta_star, all, sizeof *c->delta_star));
  COMP__TRY(comp__alloc(&c->strips, c->n, threads * STRIP * sizeof *c->strips));
  COMP__TRY(comp__alloc(&c->room, c->room_size, threads * sizeof *c->room));
  COMP__TRY(comp__matrix_new_dense_raw(&c->out, c->n, c->genes));
done:
  return status;
}

static void release(combat *c) {
  comp__free(c->covariates);
  comp__free(c->factor);
  comp__free(c->beta);
  comp__free(c->deviation);
  comp__free(c->fixed);
  comp__free(c->gamma);
  comp__free(c->delta);
  comp__free(c->gamma_star);
  comp__free(c->delta_star);
  comp__free(c->strips);
  comp__free(c->room);
}

static comp_status run_combat(comp__baseline_run *run) {
  comp_status status;
  const comp_dataset *d = run->dataset;
  comp_matrix *turned = NULL;
  double began = comp__seconds();
  combat c = {.run = run,
              .n = d->samples,
              .genes = d->features,
              .batches = run->batch.n_levels,
              .code = run->batch.codes,
              .counts = run->batch.counts,
              .x = d->x,
              .mean_only = run->options->mean_only};
  for (size_t b = 0; b < c.batches; b++)
    if (c.counts[b] == 1 && !c.mean_only) {
      comp__warn(run->context, "'%s' has one sample only: means are corrected, variances are not",
                 run->batch.levels[b]);
      c.mean_only = true;
    }
  COMP__TRY(comp__baseline_check_components(run, d->x));
  COMP__TRY(allocate_design(&c, d));
  COMP__TRY(fill_design(&c, d));
  COMP__TRY(factor_design(&c));
  COMP__TRY(allocate(&c));
  if (d->x->kind == COMP_CSR) {
    COMP__TRY(comp_matrix_transpose(&turned, run->context, d->x));
    c.x = turned;
  }
  comp__parallel_for(run->context, c.genes, STRIP, fit_strip, &c);
  COMP__TRY(shrink(&c));
  comp__parallel_for(run->context, c.genes, STRIP, correct_strip, &c);
  comp__debug(run->context, "combat: corrected in %.3f s", comp__seconds() - began);
  run->layer = c.out;
  c.out = NULL;
  COMP__TRY(comp__baseline_scores(&run->embedding, run, run->layer));
done:
  comp_matrix_free(c.out);
  comp_matrix_free(turned);
  release(&c);
  return status;
}

const comp__baseline comp__baseline_combat = {
    .method = {.name = "combat",
               .summary = "ComBat: batch means and variances by empirical Bayes, as sva",
               .takes = "covariates nonparametric mean-only components seed",
               .embedding = "X_combat",
               .layer = "combat",
               .components = 50},
    .run = run_combat,
};
