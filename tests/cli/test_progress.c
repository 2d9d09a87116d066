/* test_progress.c: progress reports as text. */
#include "testing.h"

#include "cli/progress.h"
#include "cli/text.h"

static const comp_progress half = {"reading kang.h5ad", "cells", 1500, 3000, "loss 0.3", false};
static const comp_progress open_end = {"reading", "lines", 1234, 0, NULL, false};

static void test_bar(void **state) {
  (void)state;
  char text[512];
  assert_string_equal(
      cli_progress_bar(text, sizeof text, &half, 500, 100),
      "reading kang.h5ad  [#############.............]  50%  1,500/3,000 cells, 500/s, 3.0 s left, loss 0.3");
  assert_string_equal(cli_progress_bar(text, sizeof text, &half, 0, 60),
                      "reading kang.h5ad   50%  1,500/3,000 cells, loss 0.3");
  assert_string_equal(cli_progress_bar(text, sizeof text, &open_end, 2.5, 60), "reading  1,234 lines, 2.5/s");
}

static void test_bar_fits(void **state) {
  (void)state;
  char text[512];
  comp_progress strange = half;
  strange.task = "reading caf\xc3\xa9\nwith\033[31m a long name that goes on and on and on";
  for (int width = 0; width < 200; width++) {
    assert_true((int)text_length(cli_progress_bar(text, sizeof text, &strange, 0.001, width)) <= width);
    assert_null(strpbrk(text, "\n\033"));
  }
}

static void test_more_done_than_planned(void **state) {
  (void)state;
  char text[512];
  comp_progress late = {"x", NULL, 7, 5, NULL, false};
  assert_string_equal(cli_progress_bar(text, sizeof text, &late, 1, 30), "x  [##########] 100%  7/5, 1/s");
}

static void test_lines(void **state) {
  (void)state;
  char text[512];
  assert_string_equal(cli_progress_line(text, sizeof text, &half, 500),
                      "reading kang.h5ad: 50%, 1,500 of 3,000 cells, 3.0 s left, loss 0.3");
  assert_string_equal(cli_progress_last(text, sizeof text, &half, 6),
                      "reading kang.h5ad: 1,500 cells in 6.0 s, loss 0.3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bar),
      cmocka_unit_test(test_bar_fits),
      cmocka_unit_test(test_more_done_than_planned),
      cmocka_unit_test(test_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
