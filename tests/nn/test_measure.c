/* test_measure.c: the machine's rates are there and plausible, and measuring can be stopped. */
#include "testing.h"

#include "nn/matmul.h"

static void test_rates(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_machine_rates rates;
  assert_ok(comp_machine_measure(&rates, context, 0.0));
  const double each[] = {rates.f32_flops, rates.read_bytes, rates.copy_bytes, rates.exp_elements};
  for (size_t i = 0; i < sizeof each / sizeof *each; i++) assert_true(each[i] > 1e6 && each[i] < 1e16);
  if (comp__matmul_bf16_kernel())
    assert_true(rates.bf16_flops > 1e6 && rates.bf16_flops < 1e16);
  else
    assert_true(rates.bf16_flops == 0.0);
  comp_context_free(context);
}

static void test_bad_seconds(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_machine_rates rates;
  assert_error(comp_machine_measure(&rates, context, -1.0), COMP_ERR_ARGUMENT, "seconds");
  assert_error(comp_machine_measure(&rates, context, (double)NAN), COMP_ERR_ARGUMENT, "seconds");
  comp_context_free(context);
}

static void test_interrupt(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_machine_rates rates;
  comp_context_interrupt(context);
  assert_error(comp_machine_measure(&rates, context, 60.0), COMP_ERR_INTERRUPTED, "interrupted");
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rates),
      cmocka_unit_test(test_bad_seconds),
      cmocka_unit_test(test_interrupt),
  };
  return cmocka_run_group_tests_name("nn/measure", tests, NULL, NULL);
}
