/*
 * principal.c: principal components.
 *
 * All passes over the data go block of rows by block of rows: a block is made dense, centred and scaled, and multiplied
 * by oneDNN. That is exact centring, the same code for dense and sparse data, and no slower than sparse products, which
 * cannot use wide vectors. Data that is not large is made dense only once. Rows are cut into pieces by their number
 * alone, and each piece has a sum of its own.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "nn/matmul.h"

enum {
  FEW = 512, /* features or rows that are few: the matrix of their products is decomposed whole */
  MOST_BLOCK_ROWS = 256,
  BLOCK_VALUES = 1 << 21,
  FEWEST_PIECES = 8,
  MOST_PIECES = 16,
  GRAM_COLUMNS = 1024
};
static const double PARTIAL_BYTES = 2.56e8; /* for all pieces together */
static const double DENSE_BYTES = 2.56e8;   /* of data that is made dense as a whole */
static const double TOLERANCE = 1e-4;       /* of a residual, against its variance */
static const double ROUNDING = 1e-6;        /* of a variance, against the largest: what single precision leaves */

/* The data as the components see it. */
typedef struct view {
  comp_context *context;
  const comp_matrix *x;
  double *means, *inverse, *offsets; /* [features] */
  double clip;                       /* 0: none */
  float *zeros;                      /* [features]: what a 0 becomes */
  size_t block;                      /* rows made dense at once */
  float *dense;                      /* [rows, features], or NULL: all of it */
} view;

static float seen(const view *v, float value, size_t j) {
  double scaled = ((double)value - v->means[j]) * v->inverse[j];
  if (v->clip > 0.0) { /* no fmin(), which is a call, and keeps the loop over a row from using vectors */
    scaled = scaled < -v->clip ? -v->clip : scaled;
    scaled = scaled > v->clip ? v->clip : scaled;
  }
  return (float)(scaled - v->offsets[j]);
}

/* Rows begin .. end - 1 as out [end - begin, features]. */
static void view_rows(float *out, const view *v, size_t begin, size_t end) {
  const comp_matrix *x = v->x;
  const size_t d = x->cols;
  for (size_t row = begin; row < end; row++, out += d) {
    if (x->kind == COMP_DENSE) {
      const float *restrict values = x->values + row * d;
      float *restrict to = out;
      const view own = *v;
      for (size_t j = 0; j < d; j++) to[j] = seen(&own, values[j], j);
      continue;
    }
    memcpy(out, v->zeros, d * sizeof *out);
    for (int64_t k = x->indptr[row]; k < x->indptr[row + 1]; k++)
      out[x->indices[k]] = seen(v, x->values[k], (size_t)x->indices[k]);
  }
}

static void view_refresh(view *v) {
  for (size_t j = 0; j < v->x->cols; j++) v->zeros[j] = seen(v, 0.0f, j);
}

static void fill_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const view *v = arg;
  view_rows(v->dense + begin * v->x->cols, v, begin, end);
}

/* Makes it dense as a whole when that takes no more than a modest part of memory: each product would do it again. */
static comp_status view_keep(view *v) {
  const double bytes = (double)v->x->rows * (double)v->x->cols * (double)sizeof *v->dense;
  if (bytes > DENSE_BYTES) return COMP_OK;
  comp_status status = comp__alloc(&v->dense, v->x->rows * v->x->cols, sizeof *v->dense);
  if (status == COMP_OK) comp__parallel_for(v->context, v->x->rows, v->block, fill_rows, v);
  return status;
}

/* Rows as view_rows() writes them, in `scratch` unless they are there. */
static const float *rows_of(float *scratch, const view *v, size_t begin, size_t end) {
  if (v->dense) return v->dense + begin * v->x->cols;
  view_rows(scratch, v, begin, end);
  return scratch;
}

/* ---- sums of products over rows ---- */

/* out [k, d] = left^T blocks, where left is the blocks themselves (k = d), the blocks times q^T, or what power says. */
typedef struct sums {
  const view *v;
  int power; /* 1: sums of values, 2: of squares; 0: products, above */
  size_t k;  /* as of the sum that runs; at most that of sums_init() */
  size_t piece, pieces;
  size_t runs;                     /* so far */
  double *partial;                 /* [pieces, k, d] */
  float *q;                        /* [k, d], or NULL */
  float *scratch, *left, *product; /* a thread: [block, d], [block, k], [k, d] */
} sums;

static comp_status sum_block(const sums *s, double *out, size_t begin, size_t end, int thread) {
  const size_t d = s->v->x->cols, rows = end - begin;
  const float *block = rows_of(s->scratch + (size_t)thread * s->v->block * d, s->v, begin, end), *left = block;
  if (s->power) {
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < d; j++) {
        const double value = (double)block[i * d + j];
        out[j] += s->power == 1 ? value : value * value;
      }
    return COMP_OK;
  }
  float *product = s->product + (size_t)thread * s->k * d;
  comp_status status = COMP_OK;
  if (s->q) {
    float *projected = s->left + (size_t)thread * s->v->block * s->k;
    left = projected;
    status = comp__matmul_f32(s->v->context, projected, s->k, block, d, s->q, d, rows, s->k, d, COMP__TRANS_B);
    if (status != COMP_OK) return status;
  }
  status = comp__matmul_f32(s->v->context, product, d, left, s->k, block, d, s->k, d, rows, COMP__TRANS_A);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < s->k * d; i++) out[i] += (double)product[i];
  return COMP_OK;
}

static comp_status sum_piece(void *arg, size_t begin, size_t end, int thread) {
  const sums *s = arg;
  double *out = s->partial + begin / s->piece * s->k * s->v->x->cols;
  comp_status status = COMP_OK;
  memset(out, 0, s->k * s->v->x->cols * sizeof *out);
  for (size_t at = begin; at < end && status == COMP_OK; at += s->v->block)
    status = sum_block(s, out, at, end - at < s->v->block ? end : at + s->v->block, thread);
  return status;
}

static void sums_release(sums *s) {
  comp__free(s->partial);
  comp__free(s->q);
  comp__free(s->scratch);
  comp__free(s->left);
  comp__free(s->product);
  *s = (sums){0}; /* a failed sums_init() releases, and its caller does so again */
}

/* For sums of up to k rows; `projects`: of products with rows that are given. As many pieces as fit into memory, each
 * of whole blocks. */
static comp_status sums_init(sums *s, const view *v, size_t k, int power, bool projects) {
  const size_t n = v->x->rows, d = v->x->cols, threads = (size_t)comp_context_thread_count(v->context);
  const double fit = PARTIAL_BYTES / ((double)k * (double)d * (double)sizeof(double));
  const size_t pieces = fit < 2 ? 2 : fit > MOST_PIECES ? MOST_PIECES : (size_t)fit;
  *s = (sums){.v = v, .power = power, .k = k};
  s->piece = ((n + pieces - 1) / pieces + v->block - 1) / v->block * v->block;
  s->pieces = (n + s->piece - 1) / s->piece;
  comp_status status;
  COMP__TRY(comp__alloc(&s->partial, s->pieces * k * d, sizeof *s->partial));
  COMP__TRY(comp__alloc(&s->scratch, v->dense ? 0 : threads * v->block * d, sizeof *s->scratch));
  COMP__TRY(comp__alloc(&s->product, power ? 0 : threads * k * d, sizeof *s->product));
  if (!projects) goto done;
  COMP__TRY(comp__alloc(&s->left, threads * v->block * k, sizeof *s->left));
  COMP__TRY(comp__alloc(&s->q, k * d, sizeof *s->q));
done:
  if (status != COMP_OK) sums_release(s);
  return status;
}

static comp_status sums_run(sums *s, double *out, const double *q, size_t k) {
  const size_t count = k * s->v->x->cols;
  comp_status status = comp__check_interrupt(s->v->context);
  if (status != COMP_OK) return status;
  s->k = k;
  s->runs++;
  for (size_t i = 0; i < count && q; i++) s->q[i] = (float)q[i];
  status = comp__parallel_try(s->v->context, s->v->x->rows, s->piece, sum_piece, s);
  if (status != COMP_OK) return status;
  memcpy(out, s->partial, count * sizeof *out);
  for (size_t p = 1; p < s->pieces; p++)
    for (size_t i = 0; i < count; i++) out[i] += s->partial[p * count + i];
  const double scale = s->power ? 1.0 : 1.0 / (double)(s->v->x->rows - 1);
  for (size_t i = 0; i < count; i++) out[i] *= scale;
  return COMP_OK;
}

/* out [features]: sums of values (power 1) or of squares (2). */
static comp_status sum_powers(double *out, const view *v, int power) {
  sums s;
  comp_status status = sums_init(&s, v, 1, power, false);
  if (status != COMP_OK) return status;
  status = sums_run(&s, out, NULL, 1);
  sums_release(&s);
  return status;
}

/* ---- means and deviations ---- */

static comp_status variances_of(double *out, const view *v) {
  comp_status status = sum_powers(out, v, 2);
  for (size_t j = 0; j < v->x->cols && status == COMP_OK; j++) out[j] /= (double)(v->x->rows - 1);
  return status;
}

/* Fills a view whose arrays are all there, and the parts of `out` that tell of it. */
static comp_status view_fit(view *v, comp__pca *out, bool scale) {
  const size_t d = out->features;
  double *variances = NULL;
  comp_status status = comp__alloc(&variances, d, sizeof *variances);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < d; j++) v->means[j] = v->offsets[j] = 0.0, v->inverse[j] = out->deviations[j] = 1.0;
  const double clip = v->clip;
  v->clip = 0.0;
  view_refresh(v);
  COMP__TRY(sum_powers(v->means, v, 1)); /* writes them at its end */
  for (size_t j = 0; j < d; j++) v->means[j] /= (double)out->rows;
  view_refresh(v);
  COMP__TRY(variances_of(variances, v));
  if (scale) {
    for (size_t j = 0; j < d; j++) {
      const double deviation = sqrt(variances[j]);
      const bool constant = deviation <= 1e-12 * fabs(v->means[j]);
      out->deviations[j] = constant ? 1.0 : deviation;
      v->inverse[j] = constant ? 0.0 : 1.0 / deviation;
    }
    v->clip = clip;
    view_refresh(v);
    if (clip > 0.0) {
      COMP__TRY(sum_powers(v->offsets, v, 1));
      for (size_t j = 0; j < d; j++) v->offsets[j] /= (double)out->rows;
      view_refresh(v);
    }
    COMP__TRY(variances_of(variances, v));
  }
  out->total_variance = 0.0;
  for (size_t j = 0; j < d; j++) out->total_variance += variances[j];
done:
  comp__free(variances);
  return status;
}

/* ---- the three ways: each fills loadings [k, d] and variances [k] ---- */

static comp_status fit_covariance(double *loadings, double *variances, const view *v, size_t k) {
  const size_t d = v->x->cols;
  double *matrix = NULL, *values = NULL;
  sums s = {0};
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&matrix, d * d, sizeof *matrix));
  COMP__TRY(comp__alloc(&values, d, sizeof *values));
  COMP__TRY(sums_init(&s, v, d, 0, false));
  COMP__TRY(sums_run(&s, matrix, NULL, d));
  COMP__TRY(comp__eigen_symmetric(matrix, d, values));
  memcpy(loadings, matrix, k * d * sizeof *loadings);
  memcpy(variances, values, k * sizeof *variances);
done:
  sums_release(&s);
  comp__free(values);
  comp__free(matrix);
  return status;
}

typedef struct gram {
  comp_context *context;
  const float *x; /* [n, d] */
  size_t n, d;
  float *partial; /* [pieces of the features, n, n] */
} gram;

static comp_status gram_piece(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const gram *g = arg;
  float *out = g->partial + begin / GRAM_COLUMNS * g->n * g->n;
  return comp__matmul_f32(g->context, out, g->n, g->x + begin, g->d, g->x + begin, g->d, g->n, g->n, end - begin,
                          COMP__TRANS_B);
}

static comp_status fit_gram(double *loadings, double *variances, const view *v, size_t k) {
  const size_t n = v->x->rows, d = v->x->cols, pieces = (d + GRAM_COLUMNS - 1) / GRAM_COLUMNS;
  float *x = NULL, *left = NULL, *product = NULL;
  double *matrix = NULL, *values = NULL;
  gram g = {.context = v->context, .n = n, .d = d};
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&x, n * d, sizeof *x));
  COMP__TRY(comp__alloc(&g.partial, pieces * n * n, sizeof *g.partial));
  COMP__TRY(comp__calloc(&matrix, n * n, sizeof *matrix));
  COMP__TRY(comp__alloc(&values, n, sizeof *values));
  COMP__TRY(comp__alloc(&left, k * n, sizeof *left));
  COMP__TRY(comp__alloc(&product, k * d, sizeof *product));
  view_rows(x, v, 0, n);
  g.x = x;
  COMP__TRY(comp__parallel_try(v->context, d, GRAM_COLUMNS, gram_piece, &g));
  for (size_t p = 0; p < pieces; p++)
    for (size_t i = 0; i < n * n; i++) matrix[i] += (double)g.partial[p * n * n + i];
  for (size_t i = 0; i < n * n; i++) matrix[i] /= (double)(n - 1);
  COMP__TRY(comp__eigen_symmetric(matrix, n, values));
  for (size_t i = 0; i < k * n; i++) left[i] = (float)matrix[i];
  COMP__TRY(comp__matmul_f32(v->context, product, d, left, n, x, d, k, d, n, 0));
  for (size_t i = 0; i < k; i++) {
    const double norm = values[i] > ROUNDING * values[0] ? sqrt(values[i] * (double)(n - 1)) : 0.0;
    for (size_t j = 0; j < d; j++) loadings[i * d + j] = norm > 0.0 ? (double)product[i * d + j] / norm : 0.0;
    variances[i] = values[i];
  }
  COMP__TRY(comp__orthonormalize(loadings, k, d));
done:
  comp__free(product);
  comp__free(left);
  comp__free(values);
  comp__free(matrix);
  comp__free(g.partial);
  comp__free(x);
  return status;
}

/* out [rows, d] = in [rows, d] times the covariance. */
static comp_status times_covariance(void *arg, double *out, const double *in, size_t rows) {
  sums *s = arg;
  comp_status status = sums_run(s, out, in, rows);
  comp__progress_update(s->v->context, s->runs, NULL);
  return status;
}

static comp_status fit_iterated(double *loadings, double *variances, const view *v, size_t k, uint64_t seed) {
  comp__eigen_found found;
  sums s = {0};
  comp_status status = sums_init(&s, v, COMP__EIGEN_BLOCK, 0, true);
  if (status != COMP_OK) return status;
  comp__progress_begin(v->context, "principal components", "products", 0);
  COMP__TRY(comp__eigen_largest(loadings, variances, &found, v->context, times_covariance, &s, v->x->cols,
                                &(comp__eigen_options){k, TOLERANCE, seed}));
  comp__debug(v->context, "principal components: %zu products with the covariance", found.products);
  if (!found.settled)
    comp__info(v->context,
               "principal components: the last of %zu are approximate after %zu products: their variances are too "
               "close to those of the next ones",
               k, found.products);
done:
  comp__progress_end(v->context);
  sums_release(&s);
  return status;
}

/* ---- scores ---- */

typedef struct scoring {
  const view *v;
  const comp__pca *pca;
  float *scratch;
} scoring;

static comp_status score_block(void *arg, size_t begin, size_t end, int thread) {
  const scoring *s = arg;
  const size_t d = s->pca->features, k = s->pca->components;
  const float *block = rows_of(s->scratch + (size_t)thread * s->v->block * d, s->v, begin, end);
  return comp__matmul_f32(s->v->context, s->pca->scores + begin * k, k, block, d, s->pca->loadings, d, end - begin, k,
                          d, COMP__TRANS_B);
}

static comp_status score(comp__pca *out, const view *v) {
  scoring s = {v, out, NULL};
  comp_status status =
      comp__alloc(&s.scratch, v->dense ? 0 : (size_t)comp_context_thread_count(v->context) * v->block * out->features,
                  sizeof *s.scratch);
  if (status == COMP_OK) status = comp__parallel_try(v->context, out->rows, v->block, score_block, &s);
  comp__free(s.scratch);
  return status;
}

/* ---- all of it ---- */

static comp_status check(comp_context *context, const comp_matrix *x, const comp__pca_options *o) {
  const size_t most = x->rows < x->cols ? x->rows : x->cols;
  size_t row, col;
  if (x->rows < 2)
    return comp__error(COMP_ERR_DATA, "principal components need at least 2 samples, and there %s %zu",
                       x->rows == 1 ? "is" : "are", x->rows);
  if (o->components == 0 || o->components > most)
    return comp__error(COMP_ERR_ARGUMENT, "%zu principal components of %zu samples x %zu features: ask for 1 to %zu",
                       o->components, x->rows, x->cols, most);
  if (!(o->clip >= 0.0) || (o->clip > 0.0 && !o->scale))
    return comp__error(COMP_ERR_ARGUMENT, "clip must be 0 or a positive number, and needs scale");
  if (comp__matrix_find_nonfinite(&row, &col, context, x))
    return comp__error(COMP_ERR_DATA, "principal components: the value of sample %zu, feature %zu is not finite",
                       row + 1, col + 1);
  return COMP_OK;
}

static comp_status fit(comp__pca *out, view *v, const comp__pca_options *o) {
  const size_t n = out->rows, d = out->features, k = out->components;
  double *loadings = NULL;
  comp_status status = view_fit(v, out, o->scale);
  if (status != COMP_OK) return status;
  COMP__TRY(view_keep(v));
  COMP__TRY(comp__alloc(&loadings, k * d, sizeof *loadings));
  if (d <= FEW && d <= n)
    COMP__TRY(fit_covariance(loadings, out->variances, v, k));
  else if (n <= FEW)
    COMP__TRY(fit_gram(loadings, out->variances, v, k));
  else
    COMP__TRY(fit_iterated(loadings, out->variances, v, k, o->seed));
  comp__fix_signs(loadings, k, d);
  for (size_t i = 0; i < k * d; i++) out->loadings[i] = (float)loadings[i];
  for (size_t i = 0; i < k; i++) out->variances[i] = fmax(out->variances[i], 0.0);
  COMP__TRY(score(out, v));
done:
  comp__free(loadings);
  return status;
}

/* Few enough for the cache, and for all threads to get some. */
static size_t block_rows(size_t n, size_t d) {
  const size_t share = (n / FEWEST_PIECES + 15) / 16 * 16;
  size_t rows = BLOCK_VALUES / d;
  rows = rows > MOST_BLOCK_ROWS ? MOST_BLOCK_ROWS : rows;
  rows = rows > share ? share : rows;
  return rows < 32 ? 32 : rows;
}

comp_status comp__pca_fit(comp__pca *out, comp_context *context, const comp_matrix *x,
                          const comp__pca_options *options) {
  *out = (comp__pca){.rows = x->rows, .features = x->cols, .components = options->components};
  const size_t d = x->cols, k = options->components;
  view v = {.context = context, .x = x, .clip = options->clip};
  comp_status status = check(context, x, options);
  if (status != COMP_OK) return status;
  v.block = block_rows(x->rows, d);
  COMP__TRY(comp__alloc(&out->means, d, sizeof *out->means));
  COMP__TRY(comp__alloc(&out->deviations, d, sizeof *out->deviations));
  COMP__TRY(comp__alloc(&out->offsets, d, sizeof *out->offsets));
  COMP__TRY(comp__alloc(&out->variances, k, sizeof *out->variances));
  COMP__TRY(comp__alloc(&out->loadings, k * d, sizeof *out->loadings));
  COMP__TRY(comp__alloc(&out->scores, x->rows * k, sizeof *out->scores));
  COMP__TRY(comp__alloc(&v.inverse, d, sizeof *v.inverse));
  COMP__TRY(comp__alloc(&v.zeros, d, sizeof *v.zeros));
  v.means = out->means;
  v.offsets = out->offsets;
  COMP__TRY(fit(out, &v, options));
done:
  comp__free(v.dense);
  comp__free(v.zeros);
  comp__free(v.inverse);
  if (status != COMP_OK) comp__pca_release(out);
  return status;
}

void comp__pca_release(comp__pca *pca) {
  comp__free(pca->scores);
  comp__free(pca->loadings);
  comp__free(pca->variances);
  comp__free(pca->means);
  comp__free(pca->deviations);
  comp__free(pca->offsets);
  *pca = (comp__pca){0};
}
