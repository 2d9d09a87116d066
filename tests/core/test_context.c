/* test_context.c: interruption and its reset, callbacks, the version. */
#include "testing.h"

#include "core/context.h"
#include "core/error.h"

typedef struct heard {
  int messages, reports, last_reports;
} heard;

static void count_message(void *user, comp_log_level level, const char *message) {
  (void)level, (void)message;
  ((heard *)user)->messages++;
}

static void count_report(void *user, const comp_progress *progress) {
  heard *h = user;
  h->reports++;
  h->last_reports += progress->finished;
}

static void reset_makes_a_context_usable(void **state) {
  (void)state;
  heard h = {0};
  comp__context_options options = comp__context_defaults();
  options.log_level = COMP_LOG_INFO;
  comp_context *context;
  assert_ok(comp__context_new(&context, &options));
  comp_context_on_log(context, count_message, &h);
  comp_context_on_progress(context, count_report, &h);
  comp__progress_begin(context, "work", "steps", 10);
  comp__log_mute(context, true);
  comp_context_interrupt(context);
  assert_true(comp_context_interrupted(context));
  assert_error(comp__check_interrupt(context), COMP_ERR_INTERRUPTED, "interrupted");
  comp_context_reset(context);
  assert_false(comp_context_interrupted(context));
  assert_ok(comp__check_interrupt(context));
  assert_int_equal(h.last_reports, 1); /* the task that was left open has ended */
  comp__info(context, "heard again");
  assert_int_equal(h.messages, 1);
  comp_context_reset(context); /* harmless when there is nothing to reset */
  assert_int_equal(h.last_reports, 1);
  comp_context_free(context);
}

static bool two_epochs(void *user, const comp_epoch *epoch) {
  *(uint64_t *)user = epoch->epoch;
  return epoch->epoch < 2;
}

static void epochs_reach_the_caller(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  uint64_t last = 0;
  assert_true(comp__report_epoch(context, &(comp_epoch){.epoch = 1})); /* nobody listens */
  comp_context_on_epoch(context, two_epochs, &last);
  assert_true(comp__report_epoch(context, &(comp_epoch){.epoch = 1}));
  assert_false(comp__report_epoch(context, &(comp_epoch){.epoch = 2}));
  assert_int_equal(last, 2);
  comp_context_on_epoch(context, NULL, NULL);
  assert_true(comp__report_epoch(context, &(comp_epoch){.epoch = 3}));
  comp_context_free(context);
}

static void versions_agree(void **state) {
  (void)state;
  int major, minor, patch;
  assert_string_equal(comp_version(), COMP_VERSION);
  assert_int_equal(sscanf(COMP_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
  assert_int_equal(comp_version_number(), COMP_VERSION_NUMBER);
  assert_int_equal(comp_version_number(), major * 10000 + minor * 100 + patch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reset_makes_a_context_usable),
      cmocka_unit_test(epochs_reach_the_caller),
      cmocka_unit_test(versions_agree),
  };
  return cmocka_run_group_tests_name("core/context", tests, NULL, NULL);
}
