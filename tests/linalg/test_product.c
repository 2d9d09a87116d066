/* test_product.c: singular vectors of a product against the decomposition of the product itself. */
#include "testing.h"

#include "core/rng.h"
#include "linalg/linalg.h"

/* [n, d], of which the last rows grow from `rank` directions alone: the spectrum falls slowly, or ends. */
static float *make_factor(size_t n, size_t d, size_t rank, uint64_t seed) {
  float *out = calloc(n * d, sizeof *out);
  assert_non_null(out);
  for (size_t r = 0; r < rank; r++) {
    const double scale = 1.0 / sqrt(1.0 + (double)r);
    for (size_t j = 0; j < d; j++) {
      const double direction = comp__rng_normal(comp__rng_at(9, COMP__RNG_TEST, 0, r), j);
      for (size_t i = 0; i < n; i++)
        out[i * d + j] += (float)(scale * direction * comp__rng_normal(comp__rng_at(seed, COMP__RNG_TEST, 1, r), i));
    }
  }
  return out;
}

static double dot(const float *a, const float *b, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (double)a[i] * b[i];
  return sum;
}

static void check(size_t n, size_t m, size_t d, size_t rank, size_t components) {
  const size_t r = n < m ? n : m;
  float *a = make_factor(n, d, rank, 1), *b = make_factor(m, d, rank, 2);
  double *product = calloc(n * m, sizeof *product), *u = calloc(n * r, sizeof *u), *s = calloc(r, sizeof *s),
         *vt = calloc(r * m, sizeof *vt), *values = calloc(components, sizeof *values);
  float *left[TEST_THREADS_COUNT], *right[TEST_THREADS_COUNT];
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    left[t] = calloc(components * n, sizeof(float));
    right[t] = calloc(components * m, sizeof(float));
    assert_ok(comp__svd_product(left[t], right[t], values, context, a, n, b, m, d, components, 5));
    assert_memory_equal(left[0], left[t], components * n * sizeof(float));
    assert_memory_equal(right[0], right[t], components * m * sizeof(float));
    comp_context_free(context);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < m; j++) product[i * m + j] = dot(a + i * d, b + j * d, d);
  assert_ok(comp__svd(product, n, m, u, s, vt));
  for (size_t c = 0; c < components; c++) {
    assert_near(values[c] / s[0], s[c] / s[0], 1e-5);
    for (size_t l = 0; l <= c; l++) {
      assert_near(dot(left[0] + c * n, left[0] + l * n, n), c == l ? 1.0 : 0.0, 1e-4);
      assert_near(dot(right[0] + c * m, right[0] + l * m, m), c == l ? 1.0 : 0.0, 1e-4);
    }
    if (c >= rank) continue; /* any vectors do */
    double lefts = 0.0, rights = 0.0;
    for (size_t i = 0; i < n; i++) lefts += left[0][c * n + i] * u[i * r + c];
    for (size_t j = 0; j < m; j++) rights += right[0][c * m + j] * vt[c * m + j];
    if (!(fabs(lefts) > 0.9999 && lefts * rights > 0.9998))
      fail_msg("%zu x %zu, vector %zu: cosines %g and %g", n, m, c, lefts, rights);
  }
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    free(left[t]);
    free(right[t]);
  }
  free(a);
  free(b);
  free(product);
  free(u);
  free(s);
  free(vt);
  free(values);
}

static void vectors_are_those_of_the_product(void **state) {
  (void)state;
  check(150, 210, 90, 60, 8);
  check(210, 150, 90, 60, 8); /* the longer side first */
  check(12, 40, 90, 30, 10);  /* the basis is all there is */
  check(40, 12, 30, 30, 12);
}

static void missing_rank_is_zero(void **state) {
  (void)state;
  check(80, 70, 50, 3, 6);
}

static void too_many_are_refused(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  float a[20] = {0}, b[20] = {0}, left[40], right[40];
  double values[10];
  assert_error(comp__svd_product(left, right, values, context, a, 5, b, 5, 4, 5, 0), COMP_ERR_ARGUMENT, "too many");
  assert_error(comp__svd_product(left, right, values, context, a, 5, b, 5, 4, 0, 0), COMP_ERR_ARGUMENT, "too many");
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_are_those_of_the_product),
      cmocka_unit_test(missing_rank_is_zero),
      cmocka_unit_test(too_many_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
