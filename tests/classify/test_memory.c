/* test_memory.c: memory that runs out while classifiers are trained: an error, and nothing is freed twice. The memory
 * of this program runs out on request. */
#include "testing.h"

#include "classify/options.h"
#include "core/matrix.h"
#include "core/rng.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

enum { N = 40, D = 3 };

static size_t calls, failure; /* 0: none fails */

void *__libc_memalign(size_t align, size_t size);

/* What the library calls; liblinear, which calls malloc(), does not look at what it gets. */
void *aligned_alloc(size_t align, size_t size) {
  return ++calls == failure ? NULL : __libc_memalign(align, size);
}

typedef struct task {
  comp_context *context;
  comp_matrix *z;
  int32_t labels[N], conditions[N];
} task;

static comp_status transfer(task *t) {
  comp__classify_options options = comp__classify_defaults();
  comp_accuracy a;
  comp_status status = comp__transfer(&a, t->context, t->z, t->conditions, 0, 1, t->labels, 2, &options);
  if (status == COMP_OK) comp_accuracy_release(&a);
  return status;
}

static comp_status fit(task *t) {
  comp_classifier *c;
  comp_status status = comp_classifier_fit(&c, t->context, COMP_CLASSIFIER_LOGISTIC, t->z, t->labels, 2, 0);
  if (status == COMP_OK) comp_classifier_free(c);
  return status;
}

/* How often it failed until no allocation was left to fail. */
static size_t fail_each(comp_status (*run)(task *), task *t) {
  size_t n = 0, failures = 0;
  comp_status status;
  do {
    calls = 0;
    failure = ++n;
    status = run(t);
    failure = 0;
    failures += status != COMP_OK;
    if (status != COMP_OK) assert_int_equal(status, COMP_ERR_MEMORY);
  } while (status != COMP_OK);
  return failures;
}

static void each_allocation_fails(void **state) {
  (void)state;
  task t = {.context = test_context(1)};
  assert_ok(comp_matrix_new_dense(&t.z, N, D));
  comp__rng_fill_normal(t.z->values, N * D, comp__rng_at(3, COMP__RNG_TEST, 0, 0), 0);
  for (int i = 0; i < N; i++) {
    t.labels[i] = i % 2;
    t.conditions[i] = i / 2 % 2;
  }
  assert_ok(transfer(&t)); /* what is made once */
  assert_ok(fit(&t));
  assert_in_range(fail_each(fit, &t), 5, 100);
  assert_in_range(fail_each(transfer, &t), 5, 10000);
  comp_matrix_free(t.z);
  comp_context_free(t.context);
}

#else

static void each_allocation_fails(void **state) {
  (void)state; /* the sanitizer has its own malloc(); not skip(): meson takes its "not ok # SKIP" for a failure */
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests_name("classify/memory", tests, NULL, NULL);
}
