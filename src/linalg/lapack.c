/*
 * lapack.c: the factorisations and products in double precision, each by single-threaded calls of LAPACK and BLAS.
 *
 * LAPACK may come from a library that splits work over OpenMP threads, and sums with it. OpenMP's number of threads is
 * a setting of the calling thread, so it is set to 1 around each call and put back: other threads do not notice.
 */
#include <cblas.h>
#include <lapacke.h>

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "core/alloc.h"
#include "core/error.h"
#include "linalg/linalg.h"

/* LAPACK counts its workspace in 32-bit integers: some 2 n^2 for n columns. */
enum { MOST = 30000 };

/* OpenBLAS takes a buffer of 128 MB for every call that runs beside others, keeps it, and tries for ever when there is
 * none available. Under a limit of address space (ulimit -v) one call runs at a time, and takes the buffer that
 * take_buffer() has made OpenBLAS get while there was room. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static bool is_limited(void) {
  struct rlimit space;
  return getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
}

typedef struct call {
  int host; /* OpenMP's number of threads outside of it */
  bool limited;
} call;

static call call_begin(void) {
  call c = {.limited = is_limited()};
  if (c.limited) pthread_mutex_lock(&turn);
  c.host = omp_get_max_threads();
  omp_set_num_threads(1);
  return c;
}

static void call_end(call c) {
  omp_set_num_threads(c.host);
  if (c.limited) pthread_mutex_unlock(&turn);
}

/* When the library is loaded, before data fills the space. */
__attribute__((constructor)) static void take_buffer(void) {
  enum { SIZE = 64 };
  static double a[SIZE * SIZE], b[SIZE * SIZE];
  if (!is_limited()) return;
  const call c = call_begin();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1.0, a, SIZE, a, SIZE, 0.0, b, SIZE);
  call_end(c);
}

static comp_status check_finite(const double *a, size_t count, const char *what) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(a[i])) return comp__error(COMP_ERR_NUMERIC, "%s: the matrix holds a value that is not finite", what);
  return COMP_OK;
}

/* Rows and columns that LAPACK can take, and values that it can work on. */
static comp_status check(const double *a, size_t m, size_t n, const char *what) {
  if ((m < n ? m : n) > MOST || m > INT32_MAX || n > INT32_MAX)
    return comp__error(COMP_ERR_ARGUMENT, "%s: a matrix of %zu x %zu is too large; at most %d on its shorter side",
                       what, m, n, MOST);
  return check_finite(a, m * n, what);
}

static comp_status lapack_failed(lapack_int info, const char *what) {
  if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR)
    return comp__error(COMP_ERR_MEMORY, "%s: out of memory", what);
  return comp__error(COMP_ERR_NUMERIC, "%s: no convergence (LAPACK says %d)", what, (int)info);
}

static bool largest_is_negative(const double *v, size_t n) {
  size_t at = 0;
  for (size_t i = 1; i < n; i++)
    if (fabs(v[i]) > fabs(v[at])) at = i;
  return n > 0 && v[at] < 0.0;
}

void comp__fix_signs(double *a, size_t rows, size_t n) {
  for (size_t row = 0; row < rows; row++) {
    double *v = a + row * n;
    if (!largest_is_negative(v, n)) continue;
    for (size_t i = 0; i < n; i++) v[i] = -v[i];
  }
}

static void swap_rows(double *a, double *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const double kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
}

comp_status comp__eigen_symmetric(double *a, size_t n, double *values) {
  static const char what[] = "eigenvalues";
  comp_status status = check(a, n, n, what);
  if (status != COMP_OK || n == 0) return status;
  /* A symmetric matrix is its transpose, and the columns that LAPACK writes are our rows: no copy is needed. */
  const lapack_int size = (lapack_int)n;
  const call c = call_begin();
  const lapack_int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, a, size, values);
  call_end(c);
  if (info != 0) return lapack_failed(info, what);
  for (size_t i = 0; i < n / 2; i++) { /* LAPACK has the smallest first */
    const double kept = values[i];
    values[i] = values[n - 1 - i];
    values[n - 1 - i] = kept;
    swap_rows(a + i * n, a + (n - 1 - i) * n, n);
  }
  comp__fix_signs(a, n, n);
  return COMP_OK;
}

comp_status comp__svd(double *a, size_t m, size_t n, double *u, double *s, double *vt) {
  static const char what[] = "singular values";
  comp_status status = check(a, m, n, what);
  const size_t r = m < n ? m : n;
  if (status != COMP_OK || r == 0) return status;
  /* Read by columns, `a` is its transpose: a' = vt' diag(s) u', so that LAPACK's left and right change places. */
  const lapack_int rows = (lapack_int)n, cols = (lapack_int)m, rank = (lapack_int)r;
  const call c = call_begin();
  const lapack_int info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', rows, cols, a, rows, s, vt, rows, u, rank);
  call_end(c);
  if (info != 0) return lapack_failed(info, what);
  for (size_t k = 0; k < r; k++) {
    double *v = vt + k * n;
    if (!largest_is_negative(v, n)) continue;
    for (size_t j = 0; j < n; j++) v[j] = -v[j];
    for (size_t i = 0; i < m; i++) u[i * r + k] = -u[i * r + k];
  }
  return COMP_OK;
}

void comp__multiply(double *c, size_t ldc, const double *a, size_t lda, const double *b, size_t ldb, size_t m, size_t n,
                    size_t k, unsigned flags) {
  const double alpha = flags & COMP__SUBTRACT ? -1.0 : 1.0, beta = flags & COMP__SUBTRACT ? 1.0 : 0.0;
  const call here = call_begin();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, flags & COMP__SECOND_TRANSPOSED ? CblasTrans : CblasNoTrans, (int)m, (int)n,
              (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
  call_end(here);
}

/* One step towards orthonormal rows of a [k, n] by the triangular factor of gram [k, k], their products; false: the
 * rows are too close to dependent for that. */
static bool orthonormalize_by_products(double *a, size_t k, size_t n, double *gram) {
  const int size = (int)k, length = (int)n;
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, size, length, 1.0, a, length, 0.0, gram, size);
  double largest = 0.0, least = INFINITY;
  for (size_t i = 0; i < k; i++) largest = fmax(largest, gram[i * k + i]);
  if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', size, gram, size) != 0) return false;
  for (size_t i = 0; i < k; i++) least = fmin(least, gram[i * k + i]);
  if (!(least > 1e-5 * sqrt(largest))) return false;
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, size, length, 1.0, gram, size, a,
              length);
  return true;
}

/* By reflections, which work for any rows, but not as fast. */
static lapack_int orthonormalize_by_reflections(double *a, size_t k, size_t n, double *tau, double *diagonal) {
  const lapack_int rows = (lapack_int)n, cols = (lapack_int)k;
  lapack_int info = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, rows, cols, a, rows, tau);
  for (size_t i = 0; i < k; i++) diagonal[i] = a[i * n + i];
  if (info == 0) info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, rows, cols, cols, a, rows, tau);
  for (size_t i = 0; i < k; i++) { /* vectors keep their directions, as Gram and Schmidt would have it */
    if (diagonal[i] >= 0.0) continue;
    for (size_t j = 0; j < n; j++) a[i * n + j] = -a[i * n + j];
  }
  return info;
}

comp_status comp__orthonormalize(double *a, size_t k, size_t n) {
  static const char what[] = "orthonormal vectors";
  assert(k <= n);
  comp_status status = check(a, k, n, what);
  if (status != COMP_OK || k == 0) return status;
  double *gram = NULL, *tau = NULL, *diagonal = NULL;
  COMP__TRY(comp__alloc(&gram, k * k, sizeof *gram));
  COMP__TRY(comp__alloc(&tau, k, sizeof *tau));
  COMP__TRY(comp__alloc(&diagonal, k, sizeof *diagonal));
  lapack_int info = 0;
  const call c = call_begin();
  /* The second time takes away what the first one's rounding left. */
  if (!orthonormalize_by_products(a, k, n, gram) || !orthonormalize_by_products(a, k, n, gram))
    info = orthonormalize_by_reflections(a, k, n, tau, diagonal);
  call_end(c);
  if (info != 0) status = lapack_failed(info, what);
done:
  comp__free(diagonal);
  comp__free(tau);
  comp__free(gram);
  return status;
}

comp_status comp__solve_spd(double *a, size_t n, double *b, size_t columns) {
  static const char what[] = "symmetric equations";
  comp_status status = check(a, n, n, what);
  if (status == COMP_OK) status = check_finite(b, n * columns, what);
  if (status != COMP_OK || n == 0 || columns == 0) return status;
  if (columns > INT32_MAX) return comp__error(COMP_ERR_ARGUMENT, "%s: too many right-hand sides", what);
  const call c = call_begin();
  const lapack_int info = LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, (lapack_int)columns, a, (lapack_int)n, b,
                                        (lapack_int)columns);
  call_end(c);
  if (info > 0)
    return comp__error(COMP_ERR_ARGUMENT, "%s: the matrix is not positive definite (its leading %d x %d part is not)",
                       what, (int)info, (int)info);
  return info == 0 ? COMP_OK : lapack_failed(info, what);
}

comp_status comp__least_squares(double *x, double *a, size_t m, size_t n, double *b, size_t columns) {
  static const char what[] = "least squares";
  double *both = NULL, *s = NULL;
  comp_status status = check(a, m, n, what);
  if (status == COMP_OK) status = check_finite(b, m * columns, what);
  if (status != COMP_OK) return status;
  if (columns > INT32_MAX) return comp__error(COMP_ERR_ARGUMENT, "%s: too many right-hand sides", what);
  const size_t longer = m > n ? m : n, shorter = m < n ? m : n;
  if (shorter == 0 || columns == 0) {
    memset(x, 0, n * columns * sizeof *x);
    return COMP_OK;
  }
  /* LAPACK takes b and gives x in one array, as long as the longer of the two. */
  COMP__TRY(comp__calloc(&both, longer * columns, sizeof *both));
  COMP__TRY(comp__alloc(&s, shorter, sizeof *s));
  memcpy(both, b, m * columns * sizeof *both);
  lapack_int rank;
  const double tolerance = 2.220446049250313e-16 * (double)longer; /* of the largest singular value, as numpy has it */
  const call c = call_begin();
  const lapack_int info = LAPACKE_dgelsd(LAPACK_ROW_MAJOR, (lapack_int)m, (lapack_int)n, (lapack_int)columns, a,
                                         (lapack_int)n, both, (lapack_int)columns, s, tolerance, &rank);
  call_end(c);
  if (info != 0)
    status = lapack_failed(info, what);
  else
    memcpy(x, both, n * columns * sizeof *x);
done:
  comp__free(s);
  comp__free(both);
  return status;
}
