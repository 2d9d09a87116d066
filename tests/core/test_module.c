/* test_module.c: modules that are missing, damaged, of another version; threads that ask at once. */
#include "testing.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/module.h"

static char folder[] = "/tmp/comp-module-XXXXXX";

/* Where the modules of this build are. */
static char *built;

static const char *file_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s.so", folder, name);
  return path;
}

/* Puts COMP_TEST_MODULE, which is other_module.c, where a module is looked for. */
static void put_other(const char *name) {
  assert_int_equal(symlink(getenv("COMP_TEST_MODULE"), file_of(name)), 0);
}

static void a_missing_module_is_an_error_with_advice(void **state) {
  (void)state;
  const char *library = "";
  setenv("COMP_MODULES", folder, 1);
  for (size_t i = 0; comp_module_name(i); i++) {
    const char *name = comp_module_name(i);
    char package[64], option[64];
    snprintf(package, sizeof package, "package libcomp-%s", name);
    snprintf(option, sizeof option, "-D%s=enabled", name);
    assert_error(comp_module_load(&library, name), COMP_ERR_UNAVAILABLE, package);
    assert_null(library);
    assert_non_null(strstr(comp_error_message(), option));
    assert_non_null(strstr(comp_error_message(), folder));
    assert_non_null(strstr(comp_error_message(), "COMP_MODULES"));
  }
  assert_error(comp_module_load(&library, "figure"), COMP_ERR_ARGUMENT, "no module 'figure'");
  unsetenv("COMP_MODULES"); /* this program has no modules beside it */
  assert_error(comp_module_load(&library, "figures"), COMP_ERR_UNAVAILABLE, "/tests/comp, ");
}

static void a_file_that_is_no_module_is_refused(void **state) {
  (void)state;
  const char *library;
  setenv("COMP_MODULES", folder, 1);
  FILE *file = fopen(file_of("leiden"), "w");
  assert_non_null(file);
  fputs("not a shared object", file);
  fclose(file);
  assert_error(comp_module_load(&library, "leiden"), COMP_ERR_UNAVAILABLE, "cannot be loaded");
  unlink(file_of("leiden"));
}

/* A file that cannot be looked at is not a missing one: results without the module would be others, without a word. */
static void what_cannot_be_looked_at_is_an_error(void **state) {
  (void)state;
  const char *library;
  setenv("COMP_MODULES", folder, 1);
  assert_int_equal(symlink("boosted.so", file_of("boosted")), 0); /* ELOOP */
  assert_error(comp_module_load(&library, "boosted"), COMP_ERR_IO, "cannot look at");
  unlink(file_of("boosted"));
}

/* Nor is one that is there and cannot be loaded now. */
static void what_cannot_be_loaded_now_is_an_error(void **state) {
  (void)state;
  const char *library;
  struct rlimit old, few;
  setenv("COMP_MODULES", folder, 1);
  put_other("boosted");
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
  few = old;
  few.rlim_cur = 0; /* no file can be opened */
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  const comp_status status = comp_module_load(&library, "boosted");
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
  assert_error(status, COMP_ERR_IO, "could not be loaded");
  unlink(file_of("boosted"));
}

static void another_version_is_refused(void **state) {
  (void)state;
  const char *library;
  setenv("COMP_MODULES", folder, 1);
  put_other("boosted");
  assert_error(comp_module_load(&library, "boosted"), COMP_ERR_UNAVAILABLE, "is of comp 0.0.0-other");
  assert_non_null(strstr(comp_error_message(), "package libcomp-boosted of the same version"));
  unlink(file_of("boosted"));
}

static void *ask(void *arg) {
  comp_status *status = arg;
  const char *library;
  *status = comp_module_load(&library, "leiden");
  return NULL;
}

static void threads_may_ask_at_once(void **state) {
  (void)state;
  enum { THREADS = 7 };
  pthread_t threads[THREADS];
  comp_status found[THREADS];
  const void *table;
  setenv("COMP_MODULES", built, 1);
  for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, ask, &found[t]), 0);
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  if (!test_has_module("leiden")) return; /* not skip(): meson takes its "not ok # SKIP" for a failure */
  for (int t = 0; t < THREADS; t++) assert_int_equal(found[t], COMP_OK);
  /* A table of another size comes from other sources. */
  assert_error(comp__module_table(&table, COMP__MODULE_LEIDEN, 1), COMP_ERR_UNAVAILABLE, "another state");
  assert_null(table);
}

static int set_up(void **state) {
  (void)state;
  const char *given = getenv("COMP_MODULES");
  built = strdup(given ? given : "");
  return mkdtemp(folder) && getenv("COMP_TEST_MODULE") ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  free(built);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_missing_module_is_an_error_with_advice),
      cmocka_unit_test(a_file_that_is_no_module_is_refused),
      cmocka_unit_test(what_cannot_be_looked_at_is_an_error),
      cmocka_unit_test(what_cannot_be_loaded_now_is_an_error),
      cmocka_unit_test(another_version_is_refused),
      cmocka_unit_test(threads_may_ask_at_once),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
