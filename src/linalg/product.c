/*
 * product.c: singular vectors of a product of two matrices that is never formed.
 *
 * A basis of the shorter side grows by blocks, each the last one times the product and its transpose; within the basis
 * the best vectors are found by a whole decomposition, and it starts again from these until they have settled.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "nn/matmul.h"

enum {
  SPARE = 10,  /* vectors beyond those that are asked for, which settle first then */
  BLOCKS = 4,  /* of a basis */
  ROUNDS = 40, /* at most */
};
static const double TOLERANCE = 1e-5; /* of a residual, against the largest singular value */
static const double STALLED =
    0.7; /* residuals that shrink by less in a round, and are small, will not shrink further */
static const double ROUNDING = 1e-4;

typedef struct krylov {
  comp_context *context;
  const float *a, *b; /* [n, d], [m, d]; n <= m */
  size_t n, m, d;
  size_t block, most; /* vectors of a block, of the basis */
  double *q, *p;      /* [most, n] orthonormal; [most, m]: q a b^T */
  double *turned;     /* [block, n] */
  double *u, *s, *vt; /* [most, most], [most], [most, m] */
  float *in, *middle, *out;
} krylov;

/* out [rows, m] = in [rows, n] a b^T. */
static comp_status multiply(krylov *k, double *out, const double *in, size_t rows, const float *a, size_t n,
                            const float *b, size_t m) {
  comp_status status = comp__check_interrupt(k->context);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < rows * n; i++) k->in[i] = (float)in[i];
  status = comp__matmul_f32(k->context, k->middle, k->d, k->in, n, a, k->d, rows, k->d, n, 0);
  if (status != COMP_OK) return status;
  status = comp__matmul_f32(k->context, k->out, m, k->middle, k->d, b, k->d, rows, m, k->d, COMP__TRANS_B);
  for (size_t i = 0; i < rows * m && status == COMP_OK; i++) out[i] = (double)k->out[i];
  return status;
}

/* The largest residual of the first vectors: next = p (a b^T)^T, where p = s vt and q is u. */
static double residual_of(const krylov *k, const double *next, size_t components) {
  double worst = 0.0;
  for (size_t i = 0; i < components; i++) {
    double squares = 0.0;
    if (!(k->s[i] > 0.0)) continue;
    for (size_t j = 0; j < k->n; j++) {
      const double difference = next[i * k->n + j] / k->s[i] - k->s[i] * k->q[i * k->n + j];
      squares += difference * difference;
    }
    worst = fmax(worst, sqrt(squares));
  }
  return worst;
}

static void turn_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const krylov *k = arg;
  for (size_t i = begin; i < end; i++) {
    double *out = k->turned + i * k->n;
    memset(out, 0, k->n * sizeof *out);
    for (size_t l = 0; l < k->most; l++)
      for (size_t j = 0; j < k->n; j++) out[j] += k->u[l * k->most + i] * k->q[l * k->n + j];
  }
}

/* The best vectors within the whole basis become its first block. */
static comp_status decompose(krylov *k) {
  comp_status status = comp__svd(k->p, k->most, k->m, k->u, k->s, k->vt);
  if (status != COMP_OK) return status;
  comp__parallel_for(k->context, k->block, 1, turn_rows, k);
  memcpy(k->q, k->turned, k->block * k->n * sizeof *k->q);
  for (size_t i = 0; i < k->block; i++)
    for (size_t j = 0; j < k->m; j++) k->p[i * k->m + j] = k->s[i] * k->vt[i * k->m + j];
  return COMP_OK;
}

/* Fills the basis from its first block, of which q and p are there; `*residual` is that of the first block. */
static comp_status grow(krylov *k, size_t components, double *residual) {
  for (size_t used = 0, filled = k->block;;) {
    const size_t left = k->most - filled, add = left < k->block ? left : k->block;
    double *next = used == 0 ? k->turned : k->q + filled * k->n;
    comp_status status = multiply(k, next, k->p + used * k->m, used == 0 ? k->block : add, k->b, k->m, k->a, k->n);
    if (status != COMP_OK) return status;
    if (used == 0) {
      *residual = residual_of(k, next, components);
      memcpy(k->q + filled * k->n, next, add * k->n * sizeof *next);
    }
    if (add == 0) return COMP_OK;
    status = comp__orthonormalize(k->q, filled + add, k->n);
    if (status == COMP_OK)
      status = multiply(k, k->p + filled * k->m, k->q + filled * k->n, add, k->a, k->n, k->b, k->m);
    if (status != COMP_OK) return status;
    used = filled;
    filled += add;
    if (filled == k->most) return COMP_OK;
  }
}

static comp_status iterate(krylov *k, size_t components, uint64_t seed) {
  comp_status status;
  for (size_t i = 0; i < k->block; i++)
    for (size_t j = 0; j < k->n; j++) k->q[i * k->n + j] = comp__rng_normal(comp__rng_at(seed, COMP__RNG_PCA, 1, i), j);
  COMP__TRY(comp__orthonormalize(k->q, k->block, k->n));
  COMP__TRY(multiply(k, k->p, k->q, k->block, k->a, k->n, k->b, k->m));
  double residual = 0.0, before = INFINITY;
  for (size_t round = 0;; round++, before = residual) {
    COMP__TRY(grow(k, components, &residual));
    if (round > 0) { /* before that, the first block was no result */
      if (residual <= TOLERANCE * k->s[0]) break;
      if (residual <= ROUNDING * k->s[0] && residual > STALLED * before) break;
      if (round == ROUNDS || k->most == k->n) break;
    }
    COMP__TRY(decompose(k));
  }
  comp__debug(k->context, "singular vectors: residual %.1e of the largest value", residual / fmax(k->s[0], 1e-300));
  COMP__TRY(decompose(k));
done:
  return status;
}

comp_status comp__svd_product(float *left, float *right, double *values, comp_context *context, const float *a,
                              size_t n, const float *b, size_t m, size_t d, size_t components, uint64_t seed) {
  if (n > m) return comp__svd_product(right, left, values, context, b, m, a, n, d, components, seed);
  comp_status status;
  krylov k = {.context = context, .a = a, .b = b, .n = n, .m = m, .d = d};
  if (components == 0 || components > n || components > d)
    return comp__error(COMP_ERR_ARGUMENT, "%zu singular vectors of a product of %zu x %zu and %zu x %zu: too many",
                       components, n, d, d, m);
  k.block = components + SPARE < n ? components + SPARE : n;
  k.most = BLOCKS * k.block < n ? BLOCKS * k.block : n;
  COMP__TRY(comp__alloc(&k.q, k.most * n, sizeof *k.q));
  COMP__TRY(comp__alloc(&k.p, k.most * m, sizeof *k.p));
  COMP__TRY(comp__alloc(&k.turned, k.block * n, sizeof *k.turned));
  COMP__TRY(comp__alloc(&k.u, k.most * k.most, sizeof *k.u));
  COMP__TRY(comp__alloc(&k.s, k.most, sizeof *k.s));
  COMP__TRY(comp__alloc(&k.vt, k.most * m, sizeof *k.vt));
  COMP__TRY(comp__alloc(&k.in, k.block * m, sizeof *k.in));
  COMP__TRY(comp__alloc(&k.middle, k.block * d, sizeof *k.middle));
  COMP__TRY(comp__alloc(&k.out, k.block * m, sizeof *k.out));
  COMP__TRY(iterate(&k, components, seed));
  for (size_t i = 0; i < components * n; i++) left[i] = (float)k.q[i];
  for (size_t i = 0; i < components * m; i++) right[i] = (float)k.vt[i];
  memcpy(values, k.s, components * sizeof *values);
done:
  comp__free(k.q);
  comp__free(k.p);
  comp__free(k.turned);
  comp__free(k.u);
  comp__free(k.s);
  comp__free(k.vt);
  comp__free(k.in);
  comp__free(k.middle);
  comp__free(k.out);
  return status;
}
