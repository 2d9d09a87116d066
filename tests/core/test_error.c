/* test_error.c: messages, context on the way up, one message a thread; the context's log, progress and interruption. */
#include "testing.h"

#include <errno.h>
#include <pthread.h>

#include "core/context.h"
#include "core/error.h"

static void message_and_context(void **state) {
  (void)state;
  assert_int_equal(comp__error(COMP_ERR_FORMAT, "row %d is short", 7), COMP_ERR_FORMAT);
  assert_string_equal(comp_error_message(), "row 7 is short");
  assert_int_equal(comp__error_context(COMP_ERR_FORMAT, "file %s", "a.csv"), COMP_ERR_FORMAT);
  assert_string_equal(comp_error_message(), "file a.csv: row 7 is short");
  comp__error_clear();
  assert_string_equal(comp_error_message(), "");
}

static void message_can_quote_itself(void **state) {
  (void)state;
  comp__error(COMP_ERR_DATA, "inner");
  comp__error(COMP_ERR_DATA, "outer [%s]", comp_error_message());
  assert_string_equal(comp_error_message(), "outer [inner]");
}

static void long_messages_are_cut(void **state) {
  (void)state;
  char text[5000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  comp__error(COMP_ERR_DATA, "%s", text);
  comp__error_context(COMP_ERR_DATA, "%s", text);
  size_t length = strlen(comp_error_message());
  assert_true(length > 1000 && length < 2048);
}

static void errno_becomes_text(void **state) {
  (void)state;
  errno = ENOENT;
  assert_int_equal(comp__error_errno("cannot open %s", "x"), COMP_ERR_IO);
  assert_string_equal(comp_error_message(), "cannot open x: No such file or directory");
  errno = ENOMEM;
  assert_int_equal(comp__error_errno("cannot map"), COMP_ERR_MEMORY);
}

static void every_status_has_a_name(void **state) {
  (void)state;
  for (int s = COMP_OK; s <= COMP_ERR_UNAVAILABLE; s++)
    assert_string_not_equal(comp_status_name((comp_status)s), "unknown status");
}

static void *other_thread(void *arg) {
  comp__error(COMP_ERR_DATA, "other");
  strcpy(arg, comp_error_message());
  return NULL;
}

static void threads_do_not_share_messages(void **state) {
  (void)state;
  char theirs[16];
  pthread_t thread;
  comp__error(COMP_ERR_DATA, "mine");
  pthread_create(&thread, NULL, other_thread, theirs);
  pthread_join(thread, NULL);
  assert_string_equal(comp_error_message(), "mine");
  assert_string_equal(theirs, "other");
}

typedef struct seen {
  int messages, reports, finished;
  uint64_t last_done;
  char text[64];
} seen;

static void on_log(void *user, comp_log_level level, const char *message) {
  seen *s = user;
  s->messages++;
  snprintf(s->text, sizeof s->text, "%d %s", (int)level, message);
}

static void on_progress(void *user, const comp_progress *progress) {
  seen *s = user;
  s->reports++;
  s->finished += progress->finished;
  s->last_done = progress->done;
}

static void context_reports_to_its_user(void **state) {
  (void)state;
  seen s = {0};
  comp__context_options options = {.threads = 1, .log_level = COMP_LOG_INFO};
  comp_context *context;
  assert_ok(comp__context_new(&context, &options));
  comp_context_on_log(context, on_log, &s);
  comp_context_on_progress(context, on_progress, &s);
  comp__info(context, "hello %d", 5);
  assert_string_equal(s.text, "2 hello 5");
  comp__debug(context, "not wanted");
  assert_int_equal(s.messages, 1);
  comp__progress_begin(context, "counting", "sheep", 100000);
  for (uint64_t i = 1; i <= 100000; i++) comp__progress_update(context, i, NULL);
  comp__progress_end(context);
  comp__progress_end(context); /* once is enough */
  assert_int_equal(s.finished, 1);
  assert_int_equal(s.last_done, 100000);
  assert_in_range(s.reports, 2, 1000); /* most updates are dropped */
  comp_context_free(context);
}

static void interrupt_is_seen(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  assert_ok(comp__check_interrupt(context));
  comp_context_interrupt(context);
  assert_true(comp_context_interrupted(context));
  assert_error(comp__check_interrupt(context), COMP_ERR_INTERRUPTED, "interrupted");
  comp_context_free(context);
}

static void bad_thread_counts_are_refused(void **state) {
  (void)state;
  comp_context *context;
  comp_options *options;
  assert_ok(comp_options_new(&options, "context"));
  assert_error(comp_options_set_int(options, "threads", -1), COMP_ERR_ARGUMENT, "threads: -1");
  assert_error(comp_options_set_int(options, "threads", COMP_MAX_THREADS + 1), COMP_ERR_ARGUMENT, "threads");
  comp_options_free(options);
  assert_ok(comp_options_new(&options, "umap"));
  assert_error(comp_context_new(&context, options), COMP_ERR_ARGUMENT, "in place of kind 'context'");
  assert_null(context);
  comp_options_free(options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(message_and_context),           cmocka_unit_test(message_can_quote_itself),
      cmocka_unit_test(long_messages_are_cut),         cmocka_unit_test(errno_becomes_text),
      cmocka_unit_test(every_status_has_a_name),       cmocka_unit_test(threads_do_not_share_messages),
      cmocka_unit_test(context_reports_to_its_user),   cmocka_unit_test(interrupt_is_seen),
      cmocka_unit_test(bad_thread_counts_are_refused),
  };
  return cmocka_run_group_tests_name("core/error", tests, NULL, NULL);
}
