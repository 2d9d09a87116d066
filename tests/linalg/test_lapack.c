/* test_lapack.c: factorisations against their definitions, signs, bad input, and many calls at once. */
#include "testing.h"

#include <omp.h>

#include "core/rng.h"
#include "core/threads.h"
#include "linalg/linalg.h"

static double *random_matrix(size_t count, uint64_t row) {
  double *out = malloc((count ? count : 1) * sizeof *out);
  assert_non_null(out);
  for (size_t i = 0; i < count; i++) out[i] = comp__rng_normal(comp__rng_at(3, COMP__RNG_TEST, 0, row), i);
  return out;
}

static double *copy(const double *from, size_t count) {
  double *out = malloc((count ? count : 1) * sizeof *out);
  assert_non_null(out);
  memcpy(out, from, count * sizeof *out);
  return out;
}

/* a^T a + shift, so symmetric, and positive definite with a shift. */
static double *symmetric(size_t n, double shift) {
  double *a = random_matrix(n * n, n), *out = calloc(n * n, sizeof *out);
  assert_non_null(out);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      for (size_t k = 0; k < n; k++) out[i * n + j] += a[k * n + i] * a[k * n + j];
      if (i == j) out[i * n + j] += shift;
    }
  free(a);
  return out;
}

static void assert_largest_positive(const double *v, size_t n) {
  double largest = 0.0;
  for (size_t i = 0; i < n; i++)
    if (fabs(v[i]) > fabs(largest)) largest = v[i];
  assert_true(largest > 0.0);
}

static void eigenvectors_diagonalise(void **state) {
  (void)state;
  enum { N = 23 };
  double *a = symmetric(N, 0.0), *vectors = copy(a, N * N), values[N];
  assert_ok(comp__eigen_symmetric(vectors, N, values));
  for (size_t i = 0; i < N; i++) {
    const double *v = vectors + i * N;
    if (i > 0) assert_true(values[i] <= values[i - 1]);
    assert_largest_positive(v, N);
    for (size_t row = 0; row < N; row++) {
      double sum = 0.0;
      for (size_t j = 0; j < N; j++) sum += a[row * N + j] * v[j];
      assert_near(sum, values[i] * v[row], 1e-11);
    }
    for (size_t l = 0; l <= i; l++) {
      double sum = 0.0;
      for (size_t j = 0; j < N; j++) sum += v[j] * vectors[l * N + j];
      assert_near(sum, l == i ? 1.0 : 0.0, 1e-12);
    }
  }
  free(vectors);
  free(a);
}

static void check_svd(size_t m, size_t n) {
  const size_t r = m < n ? m : n;
  double *a = random_matrix(m * n, m), *work = copy(a, m * n);
  double *u = calloc(m * r, sizeof *u), *s = calloc(r, sizeof *s), *vt = calloc(r * n, sizeof *vt);
  assert_ok(comp__svd(work, m, n, u, s, vt));
  for (size_t k = 0; k < r; k++) {
    assert_largest_positive(vt + k * n, n);
    if (k > 0) assert_true(s[k] <= s[k - 1]);
    for (size_t l = 0; l <= k; l++) {
      double uu = 0.0, vv = 0.0;
      for (size_t i = 0; i < m; i++) uu += u[i * r + k] * u[i * r + l];
      for (size_t j = 0; j < n; j++) vv += vt[k * n + j] * vt[l * n + j];
      assert_near(uu, k == l ? 1.0 : 0.0, 1e-12);
      assert_near(vv, k == l ? 1.0 : 0.0, 1e-12);
    }
  }
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      double sum = 0.0;
      for (size_t k = 0; k < r; k++) sum += u[i * r + k] * s[k] * vt[k * n + j];
      assert_near(sum, a[i * n + j], 1e-12);
    }
  free(vt);
  free(s);
  free(u);
  free(work);
  free(a);
}

static void singular_values_compose(void **state) {
  (void)state;
  check_svd(17, 5);
  check_svd(5, 17);
  check_svd(9, 9);
  check_svd(1, 4);
}

static void spd_is_solved(void **state) {
  (void)state;
  enum { N = 19, COLUMNS = 3 };
  double *a = symmetric(N, 0.5), *work = copy(a, N * N), *b = random_matrix(N * COLUMNS, 99), *x = copy(b, N * COLUMNS);
  assert_ok(comp__solve_spd(work, N, x, COLUMNS));
  for (size_t i = 0; i < N; i++)
    for (size_t c = 0; c < COLUMNS; c++) {
      double sum = 0.0;
      for (size_t j = 0; j < N; j++) sum += a[i * N + j] * x[j * COLUMNS + c];
      assert_near(sum, b[i * COLUMNS + c], 1e-10);
    }
  double indefinite[] = {1.0, 2.0, 2.0, 1.0}, y[] = {1.0, 1.0};
  assert_error(comp__solve_spd(indefinite, 2, y, 1), COMP_ERR_ARGUMENT, "not positive definite");
  free(x);
  free(b);
  free(work);
  free(a);
}

/* The residual is orthogonal to every column, and without full rank the answer has no part in the null space. */
static void least_squares_are_least(void **state) {
  (void)state;
  enum { M = 31, N = 4, COLUMNS = 2 };
  double *a = random_matrix(M * N, 7), *b = random_matrix(M * COLUMNS, 8), x[N * COLUMNS];
  for (size_t i = 0; i < M; i++) a[i * N + 3] = a[i * N + 1]; /* null space: (0, 1, 0, -1) */
  double *work_a = copy(a, M * N), *work_b = copy(b, M * COLUMNS);
  assert_ok(comp__least_squares(x, work_a, M, N, work_b, COLUMNS));
  for (size_t c = 0; c < COLUMNS; c++) {
    assert_near(x[1 * COLUMNS + c], x[3 * COLUMNS + c], 1e-12);
    for (size_t j = 0; j < N; j++) {
      double sum = 0.0;
      for (size_t i = 0; i < M; i++) {
        double residual = -b[i * COLUMNS + c];
        for (size_t l = 0; l < N; l++) residual += a[i * N + l] * x[l * COLUMNS + c];
        sum += a[i * N + j] * residual;
      }
      assert_near(sum, 0.0, 1e-11);
    }
  }
  double wide[] = {3.0, 4.0}, one[] = {5.0}, two[2]; /* fewer equations than unknowns: 3 x + 4 y = 5 */
  assert_ok(comp__least_squares(two, wide, 1, 2, one, 1));
  assert_near(two[0], 0.6, 1e-12);
  assert_near(two[1], 0.8, 1e-12);
  free(work_b);
  free(work_a);
  free(b);
  free(a);
}

/* Rows 1 and 3 differ by so much. */
static void check_orthonormal(double difference) {
  enum { K = 5, N = 12 };
  double *a = random_matrix(K * N, 5), *before = copy(a, K * N);
  for (size_t j = 0; j < N; j++) a[3 * N + j] = a[1 * N + j] + difference * a[3 * N + j];
  assert_ok(comp__orthonormalize(a, K, N));
  double side = 0.0;
  for (size_t j = 0; j < N; j++) side += a[j] * before[j];
  assert_true(side > 0.0);
  for (size_t i = 0; i < K; i++)
    for (size_t l = 0; l <= i; l++) {
      double sum = 0.0;
      for (size_t j = 0; j < N; j++) sum += a[i * N + j] * a[l * N + j];
      assert_near(sum, i == l ? 1.0 : 0.0, 1e-12);
    }
  free(before);
  free(a);
}

static void vectors_become_orthonormal(void **state) {
  (void)state;
  check_orthonormal(1.0);
  check_orthonormal(1e-3);
  check_orthonormal(1e-7);
  check_orthonormal(0.0); /* a row that adds nothing */
}

static void products_are_sums(void **state) {
  (void)state;
  enum { M = 3, N = 4, K = 5 };
  double *a = random_matrix(M * K, 1), *b = random_matrix(K * N, 2), c[M * N], turned[N * K];
  for (size_t k = 0; k < K; k++)
    for (size_t j = 0; j < N; j++) turned[j * K + k] = b[k * N + j];
  for (unsigned flags = 0; flags < 4; flags++) {
    for (size_t i = 0; i < M * N; i++) c[i] = 10.0;
    const bool transposed = flags & COMP__SECOND_TRANSPOSED, subtract = flags & COMP__SUBTRACT;
    comp__multiply(c, N, a, K, transposed ? turned : b, transposed ? K : N, M, N, K, flags);
    for (size_t i = 0; i < M; i++)
      for (size_t j = 0; j < N; j++) {
        double sum = 0.0;
        for (size_t k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
        assert_near(c[i * N + j], subtract ? 10.0 - sum : sum, 1e-12);
      }
  }
  free(b);
  free(a);
}

static void bad_values_are_errors(void **state) {
  (void)state;
  double a[] = {1.0, (double)NAN, 0.0, 1.0}, b[] = {1.0, (double)INFINITY}, good[] = {2.0, 0.0, 0.0, 1.0}, out[4], v[4];
  assert_error(comp__eigen_symmetric(a, 2, out), COMP_ERR_NUMERIC, "not finite");
  assert_error(comp__svd(a, 2, 2, out, v, out), COMP_ERR_NUMERIC, "not finite");
  assert_error(comp__solve_spd(good, 2, b, 1), COMP_ERR_NUMERIC, "not finite");
  assert_error(comp__least_squares(out, good, 2, 2, b, 1), COMP_ERR_NUMERIC, "not finite");
  assert_ok(comp__eigen_symmetric(a, 0, out));
}

/* Many at once, on our threads: what LAPACK gives must not depend on who else calls it, or on its own threads. */
enum { CALLS = 64, SIZE = 90 };

typedef struct calls {
  const double *a;
  double *vectors, *values;
} calls;

static void decompose(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const calls *c = arg;
  for (size_t i = begin; i < end; i++) {
    memcpy(c->vectors + i * SIZE * SIZE, c->a, SIZE * SIZE * sizeof *c->a);
    assert_ok(comp__eigen_symmetric(c->vectors + i * SIZE * SIZE, SIZE, c->values + i * SIZE));
  }
}

static void calls_at_once_agree(void **state) {
  (void)state;
  calls c = {.a = symmetric(SIZE, 0.0)};
  c.vectors = calloc(CALLS * SIZE * SIZE, sizeof *c.vectors);
  c.values = calloc(CALLS * SIZE, sizeof *c.values);
  omp_set_num_threads(4); /* what a host may have set: it must neither matter nor change */
  for (size_t t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__parallel_for(context, CALLS, 1, decompose, &c);
    for (size_t i = 1; i < CALLS; i++) {
      assert_memory_equal(c.vectors, c.vectors + i * SIZE * SIZE, SIZE * SIZE * sizeof *c.vectors);
      assert_memory_equal(c.values, c.values + i * SIZE, SIZE * sizeof *c.values);
    }
    comp_context_free(context);
  }
  assert_int_equal(omp_get_max_threads(), 4);
  free(c.values);
  free(c.vectors);
  free((void *)(uintptr_t)c.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(eigenvectors_diagonalise),
      cmocka_unit_test(singular_values_compose),
      cmocka_unit_test(spd_is_solved),
      cmocka_unit_test(least_squares_are_least),
      cmocka_unit_test(vectors_become_orthonormal),
      cmocka_unit_test(products_are_sums),
      cmocka_unit_test(bad_values_are_errors),
      cmocka_unit_test(calls_at_once_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
