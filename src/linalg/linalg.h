/*
 * linalg.h: factorisations, the only door to LAPACK and BLAS, and principal components.
 *
 * Everything here gives the same bytes at any number of threads: LAPACK and BLAS run on one thread a call. Matrices are
 * row-major. Signs of vectors are fixed: the entry of largest magnitude is positive.
 */
#ifndef COMP_LINALG_LINALG_H
#define COMP_LINALG_LINALG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/matrix.h"
#include "core/options.h"

/* Symmetric a [n, n] (destroyed: becomes the eigenvectors, one a row) with eigenvalues [n], largest first. */
comp_status comp__eigen_symmetric(double *a, size_t n, double *values);

/* The thin decomposition a [m, n] = u [m, r] diag(s) vt [r, n], r = min(m, n), s largest first. `a` is destroyed. */
comp_status comp__svd(double *a, size_t m, size_t n, double *u, double *s, double *vt);

/* Solves a x = b for symmetric positive definite a [n, n] (destroyed) and b [n, columns] (becomes x). A matrix that is
 * not positive definite is COMP_ERR_ARGUMENT. */
comp_status comp__solve_spd(double *a, size_t n, double *b, size_t columns);

/* Least squares: x [n, columns] that minimises |a x - b|, of minimum norm where a [m, n] (destroyed) lacks rank.
 * b [m, columns] is destroyed too. */
comp_status comp__least_squares(double *x, double *a, size_t m, size_t n, double *b, size_t columns);

/* The rows of a [k, n], k <= n, become orthonormal: row i lies in the span of the first i + 1, on the side where it
 * was. Rows that depend on earlier ones become any vectors that complete the set. */
comp_status comp__orthonormalize(double *a, size_t k, size_t n);

/* Turns the rows of a [rows, n] so that each one's entry of largest magnitude is positive. */
void comp__fix_signs(double *a, size_t rows, size_t n);

enum { COMP__SECOND_TRANSPOSED = 1 /* b is [n, k] */, COMP__SUBTRACT = 2 /* from c; else c is overwritten */ };

/* c [m, n] = a [m, k] b [k, n] in double precision, on the calling thread; m, n, k at least 1. ldc, lda, ldb are the
 * distances between rows. */
void comp__multiply(double *c, size_t ldc, const double *a, size_t lda, const double *b, size_t ldb, size_t m, size_t n,
                    size_t k, unsigned flags);

enum { COMP__EIGEN_BLOCK = 16 };

/* out [rows, n] = in [rows, n] times a symmetric matrix [n, n]; rows: at most COMP__EIGEN_BLOCK. */
typedef comp_status (*comp__product_fn)(void *arg, double *out, const double *in, size_t rows);

typedef struct comp__eigen_options {
  size_t components; /* 1 .. n */
  double tolerance;  /* of the residual of each, against its eigenvalue; what single precision leaves is accepted too */
  uint64_t seed;     /* of the random start */
} comp__eigen_options;

typedef struct comp__eigen_found {
  size_t products; /* that it took */
  bool settled;    /* false: given up, because the last eigenvalues are too close to the next ones */
} comp__eigen_found;

/* The largest eigenvalues [components] and their vectors [components, n], orthonormal rows, of a symmetric matrix
 * without negative ones of any size, known by its products alone. */
comp_status comp__eigen_largest(double *vectors, double *values, comp__eigen_found *found, comp_context *context,
                                comp__product_fn times, void *arg, size_t n, const comp__eigen_options *options);

/* The first singular vectors of a b^T, a [n, d] and b [m, d], which is never formed: left [components, n], right
 * [components, m], both with orthonormal rows, and values [components], largest first. By comp__eigen_largest().
 * components: 1 .. min(n, m, d). */
comp_status comp__svd_product(float *left, float *right, double *values, comp_context *context, const float *a,
                              size_t n, const float *b, size_t m, size_t d, size_t components, uint64_t seed);

/* The options of comp_pca_run(). */
extern const comp__options_kind comp__pca_kind;

typedef struct comp__pca_options {
  size_t components; /* 1 .. min(rows, features) */
  bool scale;        /* divide features by their standard deviation (n - 1); constant ones become 0 */
  double clip;       /* largest magnitude of a scaled value; 0: no limit */
  uint64_t seed;     /* of the random start of the subspace */
} comp__pca_options;

typedef struct comp__pca {
  size_t rows, features, components;
  float *scores;              /* [rows, components]: centred data times loadings */
  float *loadings;            /* [components, features], orthonormal rows */
  double *variances;          /* [components]: of the scores, n - 1 */
  double total_variance;      /* of all features */
  double *means, *deviations; /* [features]; deviations are 1 when not scaled, or constant */
  double *offsets;            /* [features]: means of what clipping leaves, 0 without it. A row is scored as
                                 (min(max((x - means) / deviations, -clip), clip) - offsets) loadings^T */
} comp__pca;

/* Principal components of dense or CSR data, centred (and scaled) block of rows by block of rows, so that large sparse
 * data is never made dense as a whole; what takes up to 256 MB then is. Exact by the covariance when there are few
 * features (512), by the Gram matrix when there are few rows (512), else by comp__eigen_largest() until the residuals
 * of all components are below 1e-4 of their variances, or at what rounding leaves of them. Data with a value that is
 * not finite, fewer than 2 rows, or more components than rows or features, is an error. It should be released via
 * comp__pca_release(). */
comp_status comp__pca_fit(comp__pca *out, comp_context *context, const comp_matrix *x,
                          const comp__pca_options *options);
void comp__pca_release(comp__pca *pca);

#endif
