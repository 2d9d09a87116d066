/* test_normality.c: tests of normality and symmetry: known values, how often they raise a false alarm, how often they
 * see what is not normal, and special functions. tests/oracle/test_diagnose.py compares with scipy, statsmodels and R.
 */
#include "testing.h"

#include "core/rng.h"
#include "core/sort.h"
#include "diagnose/components.h"
#include "diagnose/energy.h"
#include "diagnose/multivariate.h"
#include "diagnose/normality.h"
#include "diagnose/special.h"
#include "diagnose/whiten.h"

static void special_functions(void **state) {
  (void)state;
  for (double x = -37; x < 8; x += 0.37) {
    if (x > -37 && x < 8) assert_near(comp__normal_logcdf(x), log(0.5 * erfc(-x * M_SQRT1_2)), 1e-9);
    if (x > -7 && x < 7) assert_near(comp__normal_quantile(comp__normal_cdf(x)), x, x > 3 ? 1e-3 : 1e-12);
  }
  assert_near(comp__normal_logcdf(-100), -5005.524208694205, 1e-12);
  assert_near(comp__chi_square_sf(3, 2), exp(-1.5), 1e-13);
  assert_near(comp__chi_square_sf(30, 2), exp(-15), 1e-13);
  assert_near(comp__chi_square_sf(11700, 11480), 0.0739315832668171, 1e-9);
  assert_near(comp__kolmogorov_sf(1.3580986393225507), 0.05, 1e-10);
}

static void holm(void **state) {
  (void)state;
  double p[] = {0.01, 0.04, 0.03, 0.005};
  assert_ok(comp__holm(p, p, 4));
  const double expected[] = {0.03, 0.06, 0.06, 0.02};
  for (int i = 0; i < 4; i++) assert_near(p[i], expected[i], 1e-15);
}

enum { SETS = 1000, N = 200, DIMS = 4, TESTS = 7 };
static const char *const test_names[TESTS] = {"Anderson-Darling", "Lilliefors",    "Shapiro-Wilk", "Mardia skewness",
                                              "Mardia kurtosis",  "Henze-Zirkler", "energy"};

typedef double (*source)(comp__rng rng, uint64_t column); /* of mean 0 */

static double normal(comp__rng rng, uint64_t column) {
  return comp__rng_normal(rng, column);
}
static double uniform(comp__rng rng, uint64_t column) {
  return comp__rng_uniform(rng, column) - 0.5;
}
static double mixture(comp__rng rng, uint64_t column) {
  return comp__rng_normal(rng, column) + (comp__rng_uniform(rng, 100000 + column) < 0.5 ? -2 : 2);
}
static double skewed(comp__rng rng, uint64_t column) {
  return -log(comp__rng_uniform(rng, column)) - 1;
}

/* One data set [N, DIMS] of correlated variables; adds to the rejections at 5 % of each test. */
static void reject(size_t *rejected, comp_context *context, source draw, uint64_t set) {
  static double x[N * DIMS], y[N * DIMS], column[N];
  comp__rng rng = comp__rng_at(21, COMP__RNG_TEST, set, 0);
  for (size_t i = 0; i < N; i++) {
    double s[DIMS];
    for (size_t d = 0; d < DIMS; d++) s[d] = draw(rng, i * DIMS + d);
    for (size_t d = 0; d < DIMS; d++) x[i * DIMS + d] = 3 * s[d] + s[(d + 1) % DIMS] + 7;
  }
  size_t kept;
  assert_ok(comp__whiten(y, &kept, x, N, DIMS));
  assert_int_equal(kept, DIMS);
  for (size_t i = 0; i < N; i++) column[i] = x[i * DIMS];
  comp__sort_doubles(column, N);
  comp__test tests[TESTS] = {comp__anderson_darling(column, N), comp__lilliefors(column, N)};
  assert_ok(comp__shapiro_wilk(&tests[2], column, N));
  comp__multivariate m;
  assert_ok(comp__multivariate_test(&m, context, y, N, DIMS));
  tests[3] = m.skewness;
  tests[4] = m.kurtosis;
  tests[5] = m.henze_zirkler;
  tests[6].p = 1;
  /* Is it like its mirror image? The centre is known here: an estimated one makes the test cautious. */
  for (size_t i = 0; i < N; i++)
    for (size_t d = 0; d < DIMS; d++) x[i * DIMS + d] = (x[i * DIMS + d] - 7) * (i < N / 2 ? 1 : -1);
  assert_ok(comp__energy_test(&tests[6], context, x, N, N / 2, DIMS, 99, set));
  for (int t = 0; t < TESTS; t++) rejected[t] += tests[t].p <= 0.05;
}

static void false_alarms(void **state) {
  (void)state;
  size_t rejected[TESTS] = {0};
  comp_context *context = test_context(2);
  for (uint64_t set = 0; set < SETS; set++) reject(rejected, context, normal, set);
  for (int t = 0; t < TESTS; t++) {
    print_message("# false alarms at 5 %%: %s %.1f %%\n", test_names[t], (double)rejected[t] / SETS * 100);
    if (rejected[t] < 0.03 * SETS || rejected[t] > 0.07 * SETS)
      fail_msg("%s: %zu of %d", test_names[t], rejected[t], SETS);
  }
  comp_context_free(context);
}

/* At least one test in each of the two families sees each alternative nearly always. */
static void power(void **state) {
  (void)state;
  const struct {
    const char *name;
    source draw;
    bool symmetric;
  } rows[] = {{"uniform", uniform, true}, {"mixture", mixture, true}, {"skewed", skewed, false}};
  comp_context *context = test_context(2);
  for (int r = 0; r < 3; r++) {
    size_t rejected[TESTS] = {0}, sets = 100;
    for (uint64_t set = 0; set < sets; set++) reject(rejected, context, rows[r].draw, set);
    for (int t = 0; t < TESTS; t++) print_message("# power, %s: %s %zu %%\n", rows[r].name, test_names[t], rejected[t]);
    size_t one = rejected[0] > rejected[2] ? rejected[0] : rejected[2];
    size_t many = rejected[4] > rejected[5] ? rejected[4] : rejected[5];
    assert_true(one >= 90 && many >= 90);
    if (rows[r].symmetric)
      assert_true(rejected[6] <= 15);
    else
      assert_true(rejected[6] >= 90);
  }
  comp_context_free(context);
}

/* Components: 3 odd directions in 6 are found, the other 3 are called normal; a skewed one has no mirror image. */
static void components(void **state) {
  (void)state;
  enum { ROWS = 6000, WIDTH = 6 };
  double *x = malloc(ROWS * WIDTH * sizeof *x), *y = malloc(ROWS * WIDTH * sizeof *y);
  comp__rng rng = comp__rng_at(31, COMP__RNG_TEST, 0, 0);
  for (size_t i = 0; i < ROWS; i++) {
    double s[WIDTH];
    for (size_t d = 0; d < WIDTH; d++) s[d] = normal(rng, i * WIDTH + d);
    s[0] = 3 * uniform(rng, 1000000 + i);
    s[1] = skewed(rng, 2000000 + i);
    s[2] = mixture(rng, 3000000 + i);
    for (size_t d = 0; d < WIDTH; d++)
      x[i * WIDTH + d] = 2 * s[d] + s[(d + 1) % WIDTH] - s[(d + 2) % WIDTH] + s[(d + 3) % WIDTH];
  }
  size_t kept;
  assert_ok(comp__whiten(y, &kept, x, ROWS, WIDTH));
  comp__components first = {0};
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__components c;
    assert_ok(comp__components_find(&c, context, y, ROWS, WIDTH, 0.05, 1));
    if (t == 0)
      first = c;
    else {
      assert_memory_equal(first.p, c.p, WIDTH * sizeof(double));
      comp__components_release(&c);
    }
    comp_context_free(context);
  }
  assert_int_equal(first.count, WIDTH);
  assert_int_equal(first.normal, 3);
  assert_int_equal(first.symmetries.mirrored, 5); /* all but the skewed one */
  assert_int_equal(first.symmetries.alike, 3);    /* the normal ones */
  assert_true(first.dependence < 0.2);
  comp__components_release(&first);
  free(x);
  free(y);
}

static void same_bytes(void **state) {
  (void)state;
  static double y[N * DIMS];
  comp__rng rng = comp__rng_at(41, COMP__RNG_TEST, 0, 0);
  for (size_t i = 0; i < N * DIMS; i++) y[i] = normal(rng, i);
  comp__multivariate first = {0};
  comp__test first_energy = {0};
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__multivariate m;
    comp__test e;
    assert_ok(comp__multivariate_test(&m, context, y, N, DIMS));
    assert_ok(comp__energy_test(&e, context, y, N, 80, DIMS, 50, 1));
    if (t == 0) {
      first = m;
      first_energy = e;
    }
    assert_memory_equal(&first, &m, sizeof m);
    assert_memory_equal(&first_energy, &e, sizeof e);
    comp_context_free(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(special_functions), cmocka_unit_test(holm),
      cmocka_unit_test(false_alarms),      cmocka_unit_test(power),
      cmocka_unit_test(components),        cmocka_unit_test(same_bytes),
  };
  return cmocka_run_group_tests_name("diagnose/normality", tests, NULL, NULL);
}
