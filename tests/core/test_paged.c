/* test_paged.c: matrices in scratch files: the same values as in memory, few pages at a time, clear errors. */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/context.h"
#include "core/matrix.h"
#include "core/paged.h"

enum { ROWS = 5000, COLS = 400 };

static comp_context *context_with(int threads, size_t memory) {
  comp__context_options options = comp__context_defaults();
  options.threads = threads;
  options.memory = memory;
  comp_context *context;
  assert_ok(comp__context_new(&context, &options));
  return context;
}

/* Some values, the same in each matrix. */
static comp_matrix *make(comp_context *context) {
  comp_matrix *m;
  assert_ok(comp__matrix_new_dense_in(&m, context, ROWS, COLS));
  for (size_t i = 0; i < (size_t)ROWS * COLS; i++) m->values[i] = i % 3 == 0 ? (float)i : 0.0f;
  return m;
}

static void assert_same(const comp_matrix *a, const comp_matrix *b) {
  assert_true(a->kind == b->kind && a->rows == b->rows && a->cols == b->cols);
  assert_memory_equal(a->values, b->values, comp_matrix_nnz(a) * sizeof(float));
  if (a->kind == COMP_DENSE) return;
  assert_memory_equal(a->indptr, b->indptr, (a->rows + 1) * sizeof(int64_t));
  assert_memory_equal(a->indices, b->indices, comp_matrix_nnz(a) * sizeof(int32_t));
}

static void the_quarter_decides(void **state) {
  (void)state;
  const size_t bytes = (size_t)ROWS * COLS * sizeof(float);
  comp_context *context = context_with(1, 4 * bytes);
  comp_matrix *m = make(context);
  assert_null(m->paged_values);
  comp_matrix_free(m);
  comp_context_free(context);
  context = context_with(1, 4 * bytes - 4);
  m = make(context);
  assert_non_null(m->paged_values);
  comp_matrix_free(m);
  /* without a context it is always memory */
  assert_ok(comp_matrix_new_dense(&m, ROWS, COLS));
  assert_null(m->paged_values);
  comp_matrix_free(m);
  comp_context_free(context);
}

static void all_operations_give_the_same(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 7};
  comp_context *plain = context_with(1, (size_t)1 << 40);
  comp_matrix *x = make(plain), *csr, *turned, *dense, *some;
  size_t rows[ROWS / 2], cols[3] = {7, 2, 399};
  for (size_t i = 0; i < ROWS / 2; i++) rows[i] = ROWS - 1 - 2 * i;
  assert_ok(comp_matrix_to_csr(&csr, plain, x));
  assert_ok(comp_matrix_transpose(&turned, plain, csr));
  assert_ok(comp_matrix_to_dense(&dense, plain, csr));
  assert_ok(comp_matrix_select(&some, plain, csr, rows, ROWS / 2, cols, 3));
  for (int t = 0; t < 3; t++) {
    comp_context *context = context_with(threads[t], 1 << 16);
    comp_matrix *y = make(context), *y_csr, *y_turned, *y_dense, *y_some, *y_across;
    assert_ok(comp_matrix_to_csr(&y_csr, context, y));
    assert_true(y->paged_values && y_csr->paged_values && y_csr->paged_indices);
    assert_same(csr, y_csr);
    assert_ok(comp_matrix_transpose(&y_turned, context, y_csr));
    assert_same(turned, y_turned);
    assert_ok(comp_matrix_to_dense(&y_dense, context, y_csr));
    assert_same(x, y_dense);
    assert_same(dense, y_dense);
    assert_ok(comp_matrix_select(&y_some, context, y_csr, rows, ROWS / 2, cols, 3));
    assert_same(some, y_some);
    assert_ok(comp_matrix_transpose(&y_across, context, y));
    assert_true(y_across->values[3 * ROWS + 5] == x->values[5 * COLS + 3]);
    comp_context_free(context); /* matrices may outlive it */
    assert_same(x, y);
    comp_matrix *all[] = {y, y_csr, y_turned, y_dense, y_some, y_across};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) comp_matrix_free(all[i]);
  }
  comp_matrix *all[] = {x, csr, turned, dense, some};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) comp_matrix_free(all[i]);
  comp_context_free(plain);
}

/* Bytes of files that are mapped and in memory. */
static size_t mapped(void) {
  unsigned long long all, resident, shared;
  FILE *file = fopen("/proc/self/statm", "re");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%llu %llu %llu", &all, &resident, &shared), 3);
  fclose(file);
  return (size_t)shared * (size_t)sysconf(_SC_PAGESIZE);
}

static void few_pages_stay(void **state) {
  (void)state;
  enum { SIZE = 64 << 20, MEMORY = 8 << 20 };
  comp_context *context = context_with(1, MEMORY);
  comp_matrix *m;
  const size_t before = mapped(), n = SIZE / sizeof(float);
  assert_ok(comp__matrix_new_dense_in(&m, context, n / 256, 256));
  for (size_t i = 0; i < n; i++) m->values[i] = (float)i;
  const struct timespec pause = {0, 10000000};
  int waits = 0;
  while (mapped() > before + MEMORY / 4 && waits++ < 500) nanosleep(&pause, NULL);
  assert_true(waits < 500);
  for (size_t i = 0; i < n; i += 1023) assert_true(m->values[i] == (float)i);
  comp_matrix_free(m);
  comp_context_free(context);
}

/* A child has no keeper to wait for. */
static void freed_in_a_child(void **state) {
  (void)state;
  comp_context *context = context_with(1, 1 << 16);
  comp_matrix *m = make(context);
  comp_context_free(context);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const bool good = m->values[3] == 3.0f;
    comp_matrix_free(m);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_true(m->values[3] == 3.0f);
  comp_matrix_free(m);
}

static void a_full_disk_is_an_error(void **state) {
  (void)state;
  const struct rlimit full = {1 << 16, RLIM_INFINITY};
  struct rlimit old;
  comp_matrix *m;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
  comp_context *context = context_with(1, 1 << 20);
  assert_int_equal(comp__matrix_new_dense_in(&m, context, ROWS, COLS), COMP_ERR_IO);
  assert_null(m);
  assert_non_null(strstr(comp_error_message(), "no room for a scratch file"));
  assert_non_null(strstr(comp_error_message(), "TMPDIR"));
  comp_context_free(context);
  /* nobody asked for a file here: memory does */
  comp__pager *pager;
  assert_ok(comp__pager_new(&pager, 1 << 16, false));
  assert_true(comp__pager_wants(pager, 1 << 20) && !comp__pager_asked(pager));
  comp__pager_leave(pager);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

static void a_folder_that_is_not_there(void **state) {
  (void)state;
  char *old = getenv("TMPDIR"), kept[4096];
  if (old) snprintf(kept, sizeof kept, "%s", old);
  comp_matrix *m;
  setenv("TMPDIR", "/nowhere/at/all", 1);
  comp_context *context = context_with(1, 1 << 20);
  assert_int_equal(comp__matrix_new_dense_in(&m, context, ROWS, COLS), COMP_ERR_IO);
  assert_non_null(strstr(comp_error_message(), "/nowhere/at/all"));
  comp_context_free(context);
  if (old)
    setenv("TMPDIR", kept, 1);
  else
    unsetenv("TMPDIR");
}

static void the_environment_decides(void **state) {
  (void)state;
  char *old = getenv("COMP_MEMORY"), kept[64];
  if (old) snprintf(kept, sizeof kept, "%s", old);
  comp_context *context;
  comp__context_options options = comp__context_defaults();
  options.threads = 1;
  unsetenv("COMP_MEMORY");
  context = context_with(1, 0);
  assert_true(comp_context_memory(context) == comp__machine_memory() / 2);
  comp_context_free(context);
  setenv("COMP_MEMORY", "64M", 1);
  context = context_with(1, 0);
  assert_true(comp_context_memory(context) == (size_t)64 << 20);
  comp_context_free(context);
  context = context_with(1, 1 << 20); /* an option is nearer */
  assert_true(comp_context_memory(context) == 1 << 20);
  comp_context_free(context);
  setenv("COMP_MEMORY", "much", 1);
  assert_int_equal(comp__context_new(&context, &options), COMP_ERR_ARGUMENT);
  assert_non_null(strstr(comp_error_message(), "COMP_MEMORY"));
  if (old)
    setenv("COMP_MEMORY", kept, 1);
  else
    unsetenv("COMP_MEMORY");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_quarter_decides),     cmocka_unit_test(all_operations_give_the_same),
      cmocka_unit_test(few_pages_stay),          cmocka_unit_test(freed_in_a_child),
      cmocka_unit_test(a_full_disk_is_an_error), cmocka_unit_test(a_folder_that_is_not_there),
      cmocka_unit_test(the_environment_decides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
