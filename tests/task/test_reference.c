/* test_reference.c: which condition is the control, by its name. */
#include "testing.h"

#include "task/reference.h"

static size_t found(size_t n, const char *const *names) {
  comp_groups g = {.n_levels = n, .levels = (char **)names};
  return comp__reference_by_name(&g);
}

static void controls_are_known(void **state) {
  (void)state;
  const struct {
    const char *names[3];
    size_t expected; /* COMP_NOT_FOUND: none */
  } cases[] = {
      {{"CTRL", "STIM", "x"}, 0},
      {{"STIM", "ctrl", "x"}, 1},
      {{"IFN-beta", "Unstimulated", "x"}, 1},
      {{"drug_10uM", "DMSO_24h", "x"}, 1},
      {{"drug", "control_2", "Control"}, 2}, /* alone before a part */
      {{"TP53-/-", "WT", "x"}, 1},
      {{"TP53 KO", "wild type", "x"}, 1},
      {{"TP53", "non-targeting", "x"}, 1},
      {{"tumour", "adjacent normal", "x"}, 1},
      {{"WT1", "GATA1", "x"}, COMP_NOT_FOUND}, /* a gene */
      {{"controlled", "abnormal", "mockingbird"}, COMP_NOT_FOUND},
      {{"non-control", "no control", "not normal"}, COMP_NOT_FOUND},
      {{"batch1", "batch2", ""}, COMP_NOT_FOUND},
      {{"\xc3\xa9wt", "wt\xc3\xa9", "x"}, COMP_NOT_FOUND},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    if (found(3, cases[k].names) != cases[k].expected) fail_msg("%s: %zu", cases[k].names[0], found(3, cases[k].names));
  assert_int_equal(found(0, NULL), COMP_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(controls_are_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
