/* test_rng.c: known values of Philox, moments, independence of the way numbers are asked for, permutations. */
#include "testing.h"

#include "core/rng.h"

/* Random123's own known answers for philox4x64-10: counter and key of all zeros. */
static void known_answer(void **state) {
  (void)state;
  comp__rng rng = {0, 0, 0, 0};
  assert_true(comp__rng_bits(rng, 0) == 0x16554d9eca36314cULL);
}

static void every_coordinate_matters(void **state) {
  (void)state;
  comp__rng rng = comp__rng_at(1, COMP__RNG_TEST, 2, 3);
  uint64_t base = comp__rng_bits(rng, 4);
  assert_true(base == comp__rng_bits(rng, 4));
  assert_true(base != comp__rng_bits(rng, 5));
  assert_true(base != comp__rng_bits(comp__rng_at(2, COMP__RNG_TEST, 2, 3), 4));
  assert_true(base != comp__rng_bits(comp__rng_at(1, COMP__RNG_SIMULATE, 2, 3), 4));
  assert_true(base != comp__rng_bits(comp__rng_at(1, COMP__RNG_TEST, 3, 3), 4));
  assert_true(base != comp__rng_bits(comp__rng_at(1, COMP__RNG_TEST, 2, 4), 4));
}

enum { N = 200000 };

static void check_moments(const float *x, double mean, double variance, double kurtosis, double tolerance) {
  double m1 = 0, m2 = 0, m4 = 0, lag = 0;
  for (int i = 0; i < N; i++) m1 += x[i];
  m1 /= N;
  for (int i = 0; i < N; i++) {
    double d = x[i] - m1;
    m2 += d * d / N;
    m4 += d * d * d * d / N;
    if (i > 0) lag += d * (x[i - 1] - m1) / N;
  }
  assert_near(m1, mean, tolerance);
  assert_near(m2, variance, tolerance);
  assert_near(m4 / (m2 * m2), kurtosis, 5 * tolerance);
  assert_near(lag / m2, 0, tolerance);
}

static void moments(void **state) {
  (void)state;
  float *x = malloc(N * sizeof *x);
  comp__rng rng = comp__rng_at(7, COMP__RNG_TEST, 0, 0);
  comp__rng_fill_uniform(x, N, rng, 0);
  check_moments(x, 0.5, 1.0 / 12, 1.8, 0.01);
  for (int i = 0; i < N; i++) assert_true(x[i] > 0.0f && x[i] < 1.0f);
  comp__rng_fill_normal(x, N, rng, 0);
  check_moments(x, 0, 1, 3, 0.01);
  for (int i = 0; i < N; i++) x[i] = (float)comp__rng_normal(rng, (uint64_t)i);
  check_moments(x, 0, 1, 3, 0.01);
  for (int i = 0; i < N; i++) x[i] = (float)comp__rng_uniform(rng, (uint64_t)i);
  check_moments(x, 0.5, 1.0 / 12, 1.8, 0.01);
  free(x);
}

/* A value depends on its column alone: any split of a fill gives the same bytes. */
static void fills_can_be_split(void **state) {
  (void)state;
  enum { LENGTH = 67 };
  float whole[LENGTH], parts[LENGTH];
  comp__rng rng = comp__rng_at(3, COMP__RNG_TEST, 1, 9);
  for (int normal = 0; normal < 2; normal++) {
    void (*fill)(float *, size_t, comp__rng, uint64_t) = normal ? comp__rng_fill_normal : comp__rng_fill_uniform;
    fill(whole, LENGTH, rng, 5);
    for (size_t cut = 0; cut <= LENGTH; cut++) {
      fill(parts, cut, rng, 5);
      fill(parts + cut, LENGTH - cut, rng, 5 + cut);
      assert_memory_equal(whole, parts, sizeof whole);
    }
  }
}

static void below_is_even(void **state) {
  (void)state;
  int counts[7] = {0};
  comp__rng rng = comp__rng_at(11, COMP__RNG_TEST, 0, 0);
  for (uint64_t i = 0; i < 70000; i++) {
    uint64_t value = comp__rng_below(rng, i, 7);
    assert_true(value < 7);
    counts[value]++;
  }
  for (int i = 0; i < 7; i++) assert_in_range(counts[i], 9600, 10400);
}

static void permutations_are_permutations(void **state) {
  (void)state;
  size_t order[100];
  int first[5] = {0};
  for (uint64_t step = 0; step < 2000; step++) {
    comp__rng_permutation(order, 100, comp__rng_at(1, COMP__RNG_TEST, step, 0));
    char seen[100] = {0};
    for (int i = 0; i < 100; i++) seen[order[i]]++;
    for (int i = 0; i < 100; i++) assert_int_equal(seen[i], 1);
    first[order[0] / 20]++;
  }
  for (int i = 0; i < 5; i++) assert_in_range(first[i], 320, 480);
  comp__rng_permutation(order, 0, comp__rng_at(1, COMP__RNG_TEST, 0, 0));
}

static void draws_are_in_order(void **state) {
  (void)state;
  size_t drawn[100], order[100];
  for (size_t count = 0; count <= 100; count += 25) {
    comp__rng rng = comp__rng_at(2, COMP__RNG_TEST, count, 0);
    uint8_t seen[100] = {0}, first[100] = {0};
    assert_int_equal(comp__rng_draw(drawn, count, 100, rng), COMP_OK);
    comp__rng_permutation(order, 100, rng);
    for (size_t i = 0; i < count; i++) first[order[i]] = 1; /* those that a permutation has first */
    for (size_t i = 0; i < 100; i++) {
      assert_int_equal(seen[drawn[i]]++, 0);
      assert_int_equal(first[drawn[i]], i < count);
      if (i > 0 && i != count) assert_true(drawn[i] > drawn[i - 1]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answer),
      cmocka_unit_test(every_coordinate_matters),
      cmocka_unit_test(moments),
      cmocka_unit_test(fills_can_be_split),
      cmocka_unit_test(below_is_even),
      cmocka_unit_test(permutations_are_permutations),
      cmocka_unit_test(draws_are_in_order),
  };
  return cmocka_run_group_tests_name("core/rng", tests, NULL, NULL);
}
