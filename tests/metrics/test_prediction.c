/* test_prediction.c: two sets of samples against each other, by hand. */
#include "testing.h"

#include "metrics/prediction.h"

/* One gene that moves by 2, one of which a third moves by 3; at any number of threads. */
static void distances_by_hand(void **state) {
  (void)state;
  float a[6] = {0, 0, 1, 0, 2, 3}, b[6] = {2, 0, 3, 0, 4, 0};
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    double wasserstein, energy;
    assert_ok(comp__wasserstein(&wasserstein, context, (comp__samples){a, 3, 2}, (comp__samples){b, 3, 2}));
    assert_true(fabs(wasserstein - 0.5 * (2.0 + 1.0)) < 1e-12);
    assert_ok(comp__energy_distance(&energy, context, (comp__samples){a, 2, 1}, (comp__samples){b, 1, 1}));
    assert_true(fabs(energy - 4.0) < 1e-12); /* 0 and 0 against 2 */
    comp_context_free(context);
  }
}

/* A prediction that is not a number is no distance; it must not be waited for. */
static void what_is_not_a_number_ends(void **state) {
  (void)state;
  float a[3] = {0, NAN, 1}, b[2] = {0, 2};
  comp_context *context = test_context(1);
  double out = 0.0;
  assert_ok(comp__wasserstein(&out, context, (comp__samples){a, 3, 1}, (comp__samples){b, 2, 1}));
  assert_true(isnan(out));
  comp_context_free(context);
}

static void genes_in_common(void **state) {
  (void)state;
  const double scores[4] = {1, -5, 5, 0};
  size_t top[2];
  assert_ok(comp__top_genes(top, 2, scores, 4));
  assert_int_equal(top[0], 1);
  assert_int_equal(top[1], 2);
  assert_true(comp__share_common(top, (const size_t[]){2, 3}, 2) == 0.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distances_by_hand),
      cmocka_unit_test(what_is_not_a_number_ends),
      cmocka_unit_test(genes_in_common),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
