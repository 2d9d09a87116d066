/* test_sort.c: sorted numbers and medians. */
#include "testing.h"

#include "core/sort.h"

static void test_sorts(void **state) {
  (void)state;
  double doubles[] = {3, -INFINITY, 1e300, 3, -0.5};
  float floats[] = {2, 1, INFINITY};
  comp__sort_doubles(doubles, 5);
  comp__sort_floats(floats, 3);
  for (size_t i = 1; i < 5; i++) assert_true(doubles[i - 1] <= doubles[i]);
  for (size_t i = 1; i < 3; i++) assert_true(floats[i - 1] <= floats[i]);
  assert_true(doubles[1] == -0.5 && doubles[4] == 1e300 && floats[0] == 1.0f);
}

static void test_medians(void **state) {
  (void)state;
  assert_true(comp__median_doubles((double[]){7, 1, 2}, 3) == 2.0);
  assert_true(comp__median_doubles((double[]){7, 1, 2, 4}, 4) == 3.0);
  assert_true(comp__median_floats((float[]){5}, 1) == 5.0f);
  assert_true(comp__median_floats((float[]){5, 6}, 2) == 5.5f);
  assert_true(isnan(comp__median_doubles(NULL, 0)) && isnan(comp__median_floats(NULL, 0)));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorts), cmocka_unit_test(test_medians)};
  return cmocka_run_group_tests_name("core/sort", tests, NULL, NULL);
}
