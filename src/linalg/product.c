/*
 * product.c: singular vectors of a product of two matrices that is never formed: the eigenvectors of the product times
 * its transpose, on the shorter side, and what the product makes of them.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "linalg/linalg.h"
#include "nn/matmul.h"

static const double TOLERANCE = 1e-4; /* of a residual, against the square of the singular value */

typedef struct factors {
  comp_context *context;
  const float *a, *b; /* [n, d], [m, d]; n <= m */
  size_t n, m, d;
  float *in, *middle, *out; /* [components or a block, n], [.., d], [.., m] */
} factors;

/* out [rows, m] = in [rows, n] a b^T. */
static comp_status forth(const factors *f, size_t rows) {
  comp_status status = comp__matmul_f32(f->context, f->middle, f->d, f->in, f->n, f->a, f->d, rows, f->d, f->n, 0);
  if (status != COMP_OK) return status;
  return comp__matmul_f32(f->context, f->out, f->m, f->middle, f->d, f->b, f->d, rows, f->m, f->d, COMP__TRANS_B);
}

/* in [rows, n] = out [rows, m] b a^T. */
static comp_status back(const factors *f, size_t rows) {
  comp_status status = comp__matmul_f32(f->context, f->middle, f->d, f->out, f->m, f->b, f->d, rows, f->d, f->m, 0);
  if (status != COMP_OK) return status;
  return comp__matmul_f32(f->context, f->in, f->n, f->middle, f->d, f->a, f->d, rows, f->n, f->d, COMP__TRANS_B);
}

static comp_status times(void *arg, double *out, const double *in, size_t rows) {
  const factors *f = arg;
  for (size_t i = 0; i < rows * f->n; i++) f->in[i] = (float)in[i];
  comp_status status = forth(f, rows);
  if (status == COMP_OK) status = back(f, rows);
  for (size_t i = 0; i < rows * f->n && status == COMP_OK; i++) out[i] = (double)f->in[i];
  return status;
}

/* The best pairs of vectors that the span of q [components, n] holds: squares lose the small values, and this finds
 * them again. */
static comp_status pair_up(float *left, float *right, double *values, const factors *f, const double *q,
                           size_t components) {
  double *p = NULL, *u = NULL, *vt = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&p, components * f->m, sizeof *p));
  COMP__TRY(comp__alloc(&u, components * components, sizeof *u));
  COMP__TRY(comp__alloc(&vt, components * f->m, sizeof *vt));
  for (size_t i = 0; i < components * f->n; i++) f->in[i] = (float)q[i];
  COMP__TRY(forth(f, components));
  for (size_t i = 0; i < components * f->m; i++) p[i] = (double)f->out[i];
  COMP__TRY(comp__svd(p, components, f->m, u, values, vt));
  for (size_t i = 0; i < components * f->m; i++) right[i] = (float)vt[i];
  for (size_t i = 0; i < components; i++)
    for (size_t j = 0; j < f->n; j++) {
      double sum = 0.0;
      for (size_t k = 0; k < components; k++) sum += u[k * components + i] * q[k * f->n + j];
      left[i * f->n + j] = (float)sum;
    }
done:
  comp__free(p);
  comp__free(u);
  comp__free(vt);
  return status;
}

comp_status comp__svd_product(float *left, float *right, double *values, comp_context *context, const float *a,
                              size_t n, const float *b, size_t m, size_t d, size_t components, uint64_t seed) {
  if (n > m) return comp__svd_product(right, left, values, context, b, m, a, n, d, components, seed);
  comp_status status;
  factors f = {.context = context, .a = a, .b = b, .n = n, .m = m, .d = d};
  double *q = NULL;
  comp__eigen_found found;
  if (components == 0 || components > n || components > d)
    return comp__error(COMP_ERR_ARGUMENT, "%zu singular vectors of a product of %zu x %zu and %zu x %zu: too many",
                       components, n, d, d, m);
  const size_t rows = components > COMP__EIGEN_BLOCK ? components : COMP__EIGEN_BLOCK;
  COMP__TRY(comp__alloc(&q, components * n, sizeof *q));
  COMP__TRY(comp__alloc(&f.in, rows * n, sizeof *f.in));
  COMP__TRY(comp__alloc(&f.middle, rows * d, sizeof *f.middle));
  COMP__TRY(comp__alloc(&f.out, rows * m, sizeof *f.out));
  COMP__TRY(comp__eigen_largest(q, values, &found, context, times, &f, n,
                                &(comp__eigen_options){components, TOLERANCE, seed}));
  comp__debug(context, "singular vectors: %zu products%s", found.products, found.settled ? "" : ", not settled");
  COMP__TRY(pair_up(left, right, values, &f, q, components));
done:
  comp__free(q);
  comp__free(f.in);
  comp__free(f.middle);
  comp__free(f.out);
  return status;
}
