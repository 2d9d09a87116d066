/* test_jobs.c: pieces of work side by side: all are done once, each on its share of the threads, and stop together. */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "core/context.h"
#include "core/error.h"
#include "experiment/jobs.h"

enum { PIECES = 20 };

typedef struct plan {
  atomic_int begun[PIECES], at_once, most_at_once;
  atomic_int busy[8]; /* of each job: two pieces at once would share what is its own */
  int threads[PIECES];
  int reported[PIECES];
  size_t fail_at, fail_also, report_fails_at;
  bool wait_for_interrupt;
  atomic_int waiting;
  pthread_t caller;
  int wrong_thread;
} plan;

static plan new_plan(void) {
  return (plan){.fail_at = SIZE_MAX, .fail_also = SIZE_MAX, .report_fails_at = SIZE_MAX, .caller = pthread_self()};
}

static void nap(long milliseconds) {
  nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static comp_status piece(void *user, comp_context *context, size_t item, int job) {
  plan *p = user;
  int now = atomic_fetch_add(&p->at_once, 1) + 1;
  int most = atomic_load(&p->most_at_once);
  while (now > most && !atomic_compare_exchange_weak(&p->most_at_once, &most, now)) continue;
  if (atomic_fetch_add(&p->busy[job], 1) != 0) abort();
  atomic_fetch_add(&p->begun[item], 1);
  p->threads[item] = comp_context_thread_count(context);
  comp__info(context, "piece %zu", item);
  nap(5);
  comp_status status = COMP_OK;
  if (p->wait_for_interrupt) {
    atomic_fetch_add(&p->waiting, 1);
    while (status == COMP_OK) {
      status = comp__check_interrupt(context);
      nap(1);
    }
  }
  if (item == p->fail_at || item == p->fail_also) status = comp__error(COMP_ERR_DATA, "piece %zu is bad", item);
  atomic_fetch_sub(&p->busy[job], 1);
  atomic_fetch_sub(&p->at_once, 1);
  return status;
}

static comp_status report(void *user, size_t item) {
  plan *p = user;
  p->reported[item]++;
  p->wrong_thread += !pthread_equal(pthread_self(), p->caller);
  return item == p->report_fails_at ? comp__error(COMP_ERR_IO, "no room for %zu", item) : COMP_OK;
}

static const char *name(const void *user, size_t item) {
  static const char *const names[] = {"even", "odd"};
  (void)user;
  return names[item % 2];
}

static comp_status run(plan *p, comp_context *context, int jobs) {
  return comp__jobs_run(
      context,
      &(comp__jobs){.count = PIECES, .jobs = jobs, .user = p, .work = piece, .finished = report, .name = name});
}

static void test_all_done(void **state) {
  (void)state;
  static const int jobs[] = {1, 2, 3, 7};
  for (size_t j = 0; j < 4; j++) {
    comp_context *context = test_context(4);
    plan p = new_plan();
    assert_ok(run(&p, context, jobs[j]));
    for (size_t i = 0; i < PIECES; i++) {
      assert_int_equal(atomic_load(&p.begun[i]), 1);
      assert_int_equal(p.reported[i], 1);
      /* 4 threads: 4; 2 and 2; 2, 1 and 1; 1 each. */
      int most = jobs[j] == 1 ? 4 : jobs[j] < 4 ? 2 : 1, least = jobs[j] == 1 ? 4 : jobs[j] == 2 ? 2 : 1;
      assert_in_range(p.threads[i], least, most);
    }
    assert_int_equal(p.wrong_thread, 0);
    assert_in_range(atomic_load(&p.most_at_once), jobs[j] > 1 ? 2 : 1, jobs[j]);
    comp_context_free(context);
  }
}

static void test_failure(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (int jobs = 1; jobs <= 3; jobs++) {
    plan p = new_plan();
    p.fail_at = 4;
    assert_error(run(&p, context, jobs), COMP_ERR_DATA, "piece 4 is bad");
    assert_int_equal(p.reported[4], 0);
    assert_int_equal(atomic_load(&p.begun[PIECES - 1]), 0); /* what had not begun does not begin */
    for (size_t i = 0; i < 4; i++) assert_int_equal(p.reported[i], 1);
  }
  /* Both are under way; the lower one is reported. */
  plan p = new_plan();
  p.fail_at = 1;
  p.fail_also = 0;
  assert_error(run(&p, context, 2), COMP_ERR_DATA, "piece 0 is bad");
  comp_context_free(context);
}

static void test_report_fails(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (int jobs = 1; jobs <= 2; jobs++) {
    plan p = new_plan();
    p.report_fails_at = 2;
    assert_error(run(&p, context, jobs), COMP_ERR_IO, "no room for 2");
    assert_int_equal(atomic_load(&p.begun[PIECES - 1]), 0);
  }
  comp_context_free(context);
}

typedef struct stopper {
  plan *plan;
  comp_context *context;
} stopper;

static void *stop(void *raw) {
  stopper *s = raw;
  while (atomic_load(&s->plan->waiting) < 3) nap(1);
  comp_context_interrupt(s->context);
  return NULL;
}

static void test_interrupt(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  plan p = new_plan();
  pthread_t thread;
  p.wait_for_interrupt = true;
  stopper s = {&p, context};
  assert_int_equal(pthread_create(&thread, NULL, stop, &s), 0);
  assert_error(run(&p, context, 3), COMP_ERR_INTERRUPTED, "interrupted");
  pthread_join(thread, NULL);
  for (size_t i = 0; i < PIECES; i++) assert_int_equal(atomic_load(&p.begun[i]), i < 3);
  comp_context_free(context);
}

typedef struct heard {
  int even, odd, others;
  pthread_t caller;
} heard;

static void listen(void *user, comp_log_level level, const char *message) {
  heard *h = user;
  bool mine = pthread_equal(pthread_self(), h->caller) && level == COMP_LOG_INFO;
  if (mine && strncmp(message, "even: piece ", 12) == 0)
    h->even++;
  else if (mine && strncmp(message, "odd: piece ", 11) == 0)
    h->odd++;
  else
    h->others++;
}

static void test_messages(void **state) {
  (void)state;
  comp__context_options options = comp__context_defaults();
  heard h = {.caller = pthread_self()};
  comp_context *context;
  plan p = new_plan();
  options.threads = 2;
  options.log_level = COMP_LOG_INFO;
  assert_ok(comp__context_new(&context, &options));
  comp_context_on_log(context, listen, &h);
  assert_ok(run(&p, context, 2));
  assert_int_equal(h.even, PIECES / 2);
  assert_int_equal(h.odd, PIECES / 2);
  assert_int_equal(h.others, 0);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_done),  cmocka_unit_test(test_failure),  cmocka_unit_test(test_report_fails),
      cmocka_unit_test(test_interrupt), cmocka_unit_test(test_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
