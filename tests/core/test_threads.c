/* test_threads.c: every item once, sums of the same bytes at any thread count, errors in order, nesting, a thread that
 * does not get to run. */
#include "testing.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"

static void mark_items(void *arg, size_t begin, size_t end, int thread) {
  assert_true(thread >= 0 && thread < 7);
  for (size_t i = begin; i < end; i++) atomic_fetch_add((atomic_int *)arg + i, 1);
}

static void every_item_once(void **state) {
  (void)state;
  enum { MOST = 5000 };
  static atomic_int marks[MOST];
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    for (size_t n = 0; n < MOST; n = n * 3 + 1)
      for (size_t chunk = 0; chunk < 100; chunk = chunk * 4 + 1) {
        for (size_t i = 0; i < n; i++) atomic_store(&marks[i], 0);
        comp__parallel_for(context, n, chunk, mark_items, marks);
        for (size_t i = 0; i < n; i++) assert_int_equal(atomic_load(&marks[i]), 1);
      }
    comp_context_free(context);
  }
}

static void many_short_jobs(void **state) {
  (void)state;
  static atomic_int marks[64];
  comp_context *context = test_context(7);
  for (int i = 0; i < 64; i++) atomic_store(&marks[i], 0);
  for (int job = 0; job < 3000; job++) comp__parallel_for(context, 64, 1, mark_items, marks);
  for (int i = 0; i < 64; i++) assert_int_equal(atomic_load(&marks[i]), 3000);
  comp_context_free(context);
}

/* Terms of very different size: any change in the order of adding shows. */
static double rough_sum(void *arg, size_t begin, size_t end) {
  const float *x = arg;
  double sum = 0;
  for (size_t i = begin; i < end; i++) sum += exp(20.0 * x[i]);
  return sum;
}

static void sums_have_the_same_bytes(void **state) {
  (void)state;
  enum { N = 100003 };
  float *x = malloc(N * sizeof *x);
  comp__rng_fill_normal(x, N, comp__rng_at(1, COMP__RNG_TEST, 0, 0), 0);
  double first = 0, sum;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    for (int repeat = 0; repeat < 20; repeat++) {
      assert_ok(comp__parallel_sum(&sum, context, N, 1000, rough_sum, x));
      if (t == 0 && repeat == 0) first = sum;
      assert_memory_equal(&sum, &first, sizeof sum);
    }
    comp_context_free(context);
  }
  double plain = rough_sum(x, 0, N);
  assert_near(first / plain, 1.0, 1e-12);
  free(x);
}

static comp_status fail_at_some(void *arg, size_t begin, size_t end, int thread) {
  (void)arg, (void)end, (void)thread;
  if (begin % 10 == 7) return comp__error(COMP_ERR_DATA, "bad item %zu", begin);
  return COMP_OK;
}

static void lowest_error_is_reported(void **state) {
  (void)state;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    for (int repeat = 0; repeat < 200; repeat++) {
      comp__error_clear();
      assert_error(comp__parallel_try(context, 100, 1, fail_at_some, NULL), COMP_ERR_DATA, "bad item 7");
      assert_string_equal(comp_error_message(), "bad item 7");
    }
    assert_ok(comp__parallel_try(context, 7, 1, fail_at_some, NULL));
    comp_context_free(context);
  }
}

typedef struct nested {
  comp_context *context;
  atomic_int total;
} nested;

static void count_inner(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  atomic_fetch_add(&((nested *)arg)->total, (int)(end - begin));
}

static void run_inner(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  for (size_t i = begin; i < end; i++) comp__parallel_for(((nested *)arg)->context, 10, 3, count_inner, arg);
}

static void loops_may_nest(void **state) {
  (void)state;
  comp_context *context = test_context(7);
  nested n = {context, 0};
  comp__parallel_for(context, 50, 1, run_inner, &n);
  assert_int_equal(atomic_load(&n.total), 500);
  comp_context_free(context);
}

static atomic_int met;               /* threads that run a chunk of find_worker() */
static atomic_bool held, free_again; /* the worker is in hold(), and may leave it */
static pthread_t other;

/* Two chunks that wait for each other: so two threads run them. */
static void find_worker(void *arg, size_t begin, size_t end, int thread) {
  (void)arg, (void)begin, (void)end;
  if (thread != 0) other = pthread_self();
  atomic_fetch_add(&met, 1);
  while (atomic_load(&met) < 2) usleep(100);
}

static void hold(int number) {
  (void)number;
  atomic_store(&held, true);
  while (!atomic_load(&free_again)) usleep(100);
}

/* As on a busy machine: a worker that the system does not run. SIGALRM ends the test where it is waited for. */
static void late_workers_are_not_waited_for(void **state) {
  (void)state;
  static atomic_int marks[64];
  comp_context *context = test_context(2);
  signal(SIGUSR1, hold);
  comp__parallel_for(context, 2, 1, find_worker, NULL);
  usleep(500000); /* until it sleeps: while it holds the lock of the pool, it would be waited for */
  assert_int_equal(pthread_kill(other, SIGUSR1), 0);
  while (!atomic_load(&held)) usleep(100);
  alarm(60);
  for (int job = 0; job < 100; job++) comp__parallel_for(context, 64, 1, mark_items, marks);
  alarm(0);
  for (int i = 0; i < 64; i++) assert_int_equal(atomic_load(&marks[i]), 100);
  atomic_store(&free_again, true);
  comp__parallel_for(context, 64, 1, mark_items, marks);
  for (int i = 0; i < 64; i++) assert_int_equal(atomic_load(&marks[i]), 101);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_item_once),          cmocka_unit_test(many_short_jobs),
      cmocka_unit_test(sums_have_the_same_bytes), cmocka_unit_test(lowest_error_is_reported),
      cmocka_unit_test(loops_may_nest),           cmocka_unit_test(late_workers_are_not_waited_for),
  };
  return cmocka_run_group_tests_name("core/threads", tests, NULL, NULL);
}
