/*
 * principal.c: principal components.
 *
 * All passes over the data go block of rows by block of rows: a block is made dense, centred and scaled, and multiplied
 * by oneDNN. That is exact centring, the same code for dense and sparse data, and no slower than sparse products, which
 * cannot use wide vectors. Rows are cut into pieces by their number alone, and each piece has a sum of its own.
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
  MOST_PIECES = 16,
  GRAM_COLUMNS = 1024,
  FEWEST_PRODUCTS = 6, /* with the covariance, before residuals are believed */
  MOST_PRODUCTS = 150,
  POWER_STEPS = 2, /* plain ones, until the largest variances are known well enough to steer the filter */
  MOST_DEGREE = 8
};
static const double PARTIAL_BYTES = 2.56e8; /* for all pieces together */
static const double TOLERANCE = 1e-4;       /* of a residual, against its variance */
static const double STALLED =
    0.7; /* residuals that shrink by less in a round, and are small, will not shrink further */
static const double ROUNDING = 1e-6;      /* the same against the largest variance: what single precision leaves */
static const double MOST_AMPLIFIED = 1e6; /* how much more a filter may raise the first than the last component */

/* The data as the components see it. */
typedef struct view {
  comp_context *context;
  const comp_matrix *x;
  double *means, *inverse, *offsets; /* [features] */
  double clip;                       /* 0: none */
  float *zeros;                      /* [features]: what a 0 becomes */
  size_t block;                      /* rows made dense at once */
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

/* ---- sums of products over rows ---- */

/* out [k, d] = left^T blocks, where left is the blocks themselves (k = d), the blocks times q^T, or what power says. */
typedef struct sums {
  const view *v;
  const float *q; /* [k, d], or NULL */
  int power;      /* 1: sums of values, 2: of squares; 0: products, above */
  size_t k, piece;
  double *partial;                /* [pieces, k, d] */
  float *blocks, *left, *product; /* a thread: [block, d], [block, k], [k, d] */
} sums;

static comp_status sum_block(const sums *s, double *out, size_t begin, size_t end, int thread) {
  const size_t d = s->v->x->cols, rows = end - begin;
  float *block = s->blocks + (size_t)thread * s->v->block * d;
  view_rows(block, s->v, begin, end);
  if (s->power) {
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < d; j++) {
        const double value = (double)block[i * d + j];
        out[j] += s->power == 1 ? value : value * value;
      }
    return COMP_OK;
  }
  float *left = block, *product = s->product + (size_t)thread * s->k * d;
  comp_status status = COMP_OK;
  if (s->q) {
    left = s->left + (size_t)thread * s->v->block * s->k;
    status = comp__matmul_f32(s->v->context, left, s->k, block, d, s->q, d, rows, s->k, d, COMP__TRANS_B);
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
  for (size_t at = begin; at < end && status == COMP_OK; at += s->v->block)
    status = sum_block(s, out, at, end - at < s->v->block ? end : at + s->v->block, thread);
  return status;
}

/* As many pieces as fit into memory, each of whole blocks. */
static size_t piece_rows(const view *v, size_t k) {
  const double fit = PARTIAL_BYTES / ((double)k * (double)v->x->cols * (double)sizeof(double));
  const size_t pieces = fit < 2 ? 2 : fit > MOST_PIECES ? MOST_PIECES : (size_t)fit;
  const size_t rows = (v->x->rows + pieces - 1) / pieces;
  return (rows + v->block - 1) / v->block * v->block;
}

static comp_status sum_products(double *out, const view *v, const double *q, size_t k, int power) {
  const size_t d = v->x->cols, threads = (size_t)comp_context_threads(v->context);
  sums s = {.v = v, .k = k, .power = power, .piece = piece_rows(v, k)};
  const size_t pieces = (v->x->rows + s.piece - 1) / s.piece;
  float *single = NULL;
  comp_status status = comp__check_interrupt(v->context);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__calloc(&s.partial, pieces * k * d, sizeof *s.partial));
  COMP__TRY(comp__alloc(&s.blocks, threads * v->block * d, sizeof *s.blocks));
  COMP__TRY(comp__alloc(&s.left, threads * v->block * (q ? k : 0), sizeof *s.left));
  COMP__TRY(comp__alloc(&s.product, threads * (power ? 0 : k * d), sizeof *s.product));
  COMP__TRY(comp__alloc(&single, q ? k * d : 0, sizeof *single));
  if (q) {
    for (size_t i = 0; i < k * d; i++) single[i] = (float)q[i];
    s.q = single;
  }
  COMP__TRY(comp__parallel_try(v->context, v->x->rows, s.piece, sum_piece, &s));
  memcpy(out, s.partial, k * d * sizeof *out);
  for (size_t p = 1; p < pieces; p++)
    for (size_t i = 0; i < k * d; i++) out[i] += s.partial[p * k * d + i];
done:
  comp__free(single);
  comp__free(s.product);
  comp__free(s.left);
  comp__free(s.blocks);
  comp__free(s.partial);
  return status;
}

/* out [k, d] = q [k, d] times the covariance; the covariance itself when q is NULL and k = d. */
static comp_status times_covariance(double *out, const view *v, const double *q, size_t k) {
  comp_status status = sum_products(out, v, q, k, 0);
  if (status != COMP_OK) return status;
  const double scale = 1.0 / (double)(v->x->rows - 1);
  for (size_t i = 0; i < k * v->x->cols; i++) out[i] *= scale;
  return COMP_OK;
}

/* ---- means and deviations ---- */

static comp_status variances_of(double *out, const view *v) {
  comp_status status = sum_products(out, v, NULL, 1, 2);
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
  COMP__TRY(sum_products(v->means, v, NULL, 1, 1)); /* writes them at its end */
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
      COMP__TRY(sum_products(v->offsets, v, NULL, 1, 1));
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
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&matrix, d * d, sizeof *matrix));
  COMP__TRY(comp__alloc(&values, d, sizeof *values));
  COMP__TRY(times_covariance(matrix, v, NULL, d));
  COMP__TRY(comp__eigen_symmetric(matrix, d, values));
  memcpy(loadings, matrix, k * d * sizeof *loadings);
  memcpy(variances, values, k * sizeof *variances);
done:
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

/* The subspace: q [k, d] with orthonormal rows, z = q times the covariance, and two more blocks for the filter. */
typedef struct subspace {
  const view *v;
  size_t k, d, products;
  double *q, *z, *next, *rotated; /* [k, d] */
  double *small, *values;         /* [k, k], [k] */
} subspace;

static void small_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const subspace *s = arg;
  for (size_t i = begin; i < end; i++)
    for (size_t l = 0; l < s->k; l++) {
      double sum = 0.0;
      for (size_t j = 0; j < s->d; j++) sum += s->q[i * s->d + j] * s->z[l * s->d + j];
      s->small[i * s->k + l] = sum;
    }
}

typedef struct rotation {
  const subspace *s;
  const double *from;
} rotation;

static void rotate_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const rotation *r = arg;
  const subspace *s = r->s;
  for (size_t i = begin; i < end; i++) {
    double *out = s->rotated + i * s->d;
    memset(out, 0, s->d * sizeof *out);
    for (size_t l = 0; l < s->k; l++) {
      const double weight = s->small[i * s->k + l], *from = r->from + l * s->d;
      for (size_t j = 0; j < s->d; j++) out[j] += weight * from[j];
    }
  }
}

static void rotate(subspace *s, double **block) {
  rotation r = {s, *block};
  comp__parallel_for(s->v->context, s->k, 1, rotate_rows, &r);
  double *kept = *block;
  *block = s->rotated;
  s->rotated = kept;
}

static comp_status multiply(subspace *s, double *out, const double *q) {
  s->products++;
  comp__progress_update(s->v->context, s->products, NULL);
  return times_covariance(out, s->v, q, s->k);
}

/* Turns q to the best approximations of the components within its span: Rayleigh and Ritz. */
static comp_status ritz(subspace *s) {
  comp_status status = multiply(s, s->z, s->q);
  if (status != COMP_OK) return status;
  comp__parallel_for(s->v->context, s->k, 1, small_rows, s);
  for (size_t i = 0; i < s->k; i++)
    for (size_t l = 0; l < i; l++)
      s->small[i * s->k + l] = s->small[l * s->k + i] = 0.5 * (s->small[i * s->k + l] + s->small[l * s->k + i]);
  status = comp__eigen_symmetric(s->small, s->k, s->values);
  if (status != COMP_OK) return status;
  rotate(s, &s->q);
  rotate(s, &s->z);
  return COMP_OK;
}

/* How far from components the first ones are. */
typedef struct residuals {
  double worst;  /* the largest residual against its own variance */
  bool rounding; /* whether all are so small against the largest variance that rounding may be all there is left */
} residuals;

static residuals residuals_of(const subspace *s, size_t components) {
  residuals out = {0.0, true};
  for (size_t i = 0; i < components; i++) {
    double squares = 0.0;
    for (size_t j = 0; j < s->d; j++) {
      const double difference = s->z[i * s->d + j] - s->values[i] * s->q[i * s->d + j];
      squares += difference * difference;
    }
    const double residual = sqrt(squares);
    if (residual > 0.0) out.worst = fmax(out.worst, residual / fmax(s->values[i], 1e-300));
    out.rounding &= residual <= ROUNDING * s->values[0];
  }
  return out;
}

/* The degree of the filter: as high as single precision bears, given where the first and the last component are. */
static int degree_for(double first, double last) {
  if (!(last > 1.0) || !(first > last)) return 2;
  int degree = 2;
  while (degree < MOST_DEGREE) {
    const double m = degree + 1;
    if (m * (acosh(first) - acosh(last)) > log(MOST_AMPLIFIED)) break;
    degree++;
  }
  return degree;
}

/*
 * Raises the components over the rest: q becomes T(q), a Chebyshev polynomial of the covariance that is small on
 * 0 .. (the smallest variance in the subspace) and grows fastest beyond. z = q times the covariance is there already.
 */
static comp_status filter(subspace *s, size_t components) {
  const double half = 0.5 * s->values[s->k - 1];
  const size_t count = s->k * s->d;
  if (s->products <= POWER_STEPS || !(half > 0.0)) {
    memcpy(s->q, s->z, count * sizeof *s->q);
    return comp__orthonormalize(s->q, s->k, s->d);
  }
  const int degree = degree_for(s->values[0] / half - 1.0, s->values[components - 1] / half - 1.0);
  double *before = s->q, *now = s->next;
  for (size_t i = 0; i < count; i++) now[i] = s->z[i] / half - s->q[i];
  for (int step = 2; step <= degree; step++) {
    comp_status status = multiply(s, s->z, now);
    if (status != COMP_OK) return status;
    for (size_t i = 0; i < count; i++) before[i] = 2.0 * (s->z[i] / half - now[i]) - before[i];
    double *kept = before;
    before = now;
    now = kept;
  }
  s->q = now;
  s->next = before;
  return comp__orthonormalize(s->q, s->k, s->d);
}

static comp_status fit_subspace(double *loadings, double *variances, const view *v, size_t components, uint64_t seed) {
  const size_t n = v->x->rows, d = v->x->cols, most = n < d ? n : d;
  size_t k = components + 16 + components / 4;
  if (k > most) k = most;
  subspace s = {.v = v, .k = k, .d = d};
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&s.q, k * d, sizeof *s.q));
  COMP__TRY(comp__alloc(&s.z, k * d, sizeof *s.z));
  COMP__TRY(comp__alloc(&s.next, k * d, sizeof *s.next));
  COMP__TRY(comp__alloc(&s.rotated, k * d, sizeof *s.rotated));
  COMP__TRY(comp__alloc(&s.small, k * k, sizeof *s.small));
  COMP__TRY(comp__alloc(&s.values, k, sizeof *s.values));
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < d; j++) s.q[i * d + j] = comp__rng_normal(comp__rng_at(seed, COMP__RNG_PCA, 0, i), j);
  COMP__TRY(comp__orthonormalize(s.q, k, d));
  comp__progress_begin(v->context, "principal components", "products", 0);
  for (double before = INFINITY;;) {
    COMP__TRY(ritz(&s));
    const residuals now = residuals_of(&s, components);
    if (s.products >= FEWEST_PRODUCTS && now.worst <= TOLERANCE) break;
    if (s.products >= FEWEST_PRODUCTS && now.rounding && now.worst > STALLED * before) break;
    before = now.worst;
    if (s.products >= MOST_PRODUCTS) {
      comp__info(v->context,
                 "principal components: the last of %zu are approximate after %zu products: their variances are too "
                 "close to those of the next ones to tell them apart",
                 components, s.products);
      break;
    }
    COMP__TRY(filter(&s, components));
  }
  comp__debug(v->context, "principal components: %zu products with the covariance", s.products);
  memcpy(loadings, s.q, components * d * sizeof *loadings);
  memcpy(variances, s.values, components * sizeof *variances);
done:
  comp__progress_end(v->context);
  comp__free(s.values);
  comp__free(s.small);
  comp__free(s.rotated);
  comp__free(s.next);
  comp__free(s.z);
  comp__free(s.q);
  return status;
}

/* ---- scores ---- */

typedef struct scoring {
  const view *v;
  const comp__pca *pca;
  float *blocks;
} scoring;

static comp_status score_block(void *arg, size_t begin, size_t end, int thread) {
  const scoring *s = arg;
  const size_t d = s->pca->features, k = s->pca->components;
  float *block = s->blocks + (size_t)thread * s->v->block * d;
  view_rows(block, s->v, begin, end);
  return comp__matmul_f32(s->v->context, s->pca->scores + begin * k, k, block, d, s->pca->loadings, d, end - begin, k,
                          d, COMP__TRANS_B);
}

static comp_status score(comp__pca *out, const view *v) {
  scoring s = {v, out, NULL};
  comp_status status =
      comp__alloc(&s.blocks, (size_t)comp_context_threads(v->context) * v->block * out->features, sizeof *s.blocks);
  if (status == COMP_OK) status = comp__parallel_try(v->context, out->rows, v->block, score_block, &s);
  comp__free(s.blocks);
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
  COMP__TRY(comp__alloc(&loadings, k * d, sizeof *loadings));
  if (d <= FEW && d <= n)
    COMP__TRY(fit_covariance(loadings, out->variances, v, k));
  else if (n <= FEW)
    COMP__TRY(fit_gram(loadings, out->variances, v, k));
  else
    COMP__TRY(fit_subspace(loadings, out->variances, v, k, o->seed));
  comp__fix_signs(loadings, k, d);
  for (size_t i = 0; i < k * d; i++) out->loadings[i] = (float)loadings[i];
  for (size_t i = 0; i < k; i++) out->variances[i] = fmax(out->variances[i], 0.0);
  COMP__TRY(score(out, v));
done:
  comp__free(loadings);
  return status;
}

comp_status comp__pca_fit(comp__pca *out, comp_context *context, const comp_matrix *x,
                          const comp__pca_options *options) {
  *out = (comp__pca){.rows = x->rows, .features = x->cols, .components = options->components};
  const size_t d = x->cols, k = options->components;
  view v = {.context = context, .x = x, .clip = options->clip};
  comp_status status = check(context, x, options);
  if (status != COMP_OK) return status;
  v.block = BLOCK_VALUES / d;
  v.block = v.block < 32 ? 32 : v.block > MOST_BLOCK_ROWS ? MOST_BLOCK_ROWS : v.block;
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
