/* test_output.c: result files are complete or not there. */
#include "testing.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"

static char folder[] = "/tmp/comp-test-output-XXXXXX";

static int enter(void **state) {
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state) {
  (void)state;
  remove("result");
  remove("link");
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static int files_here(void) {
  int count = 0;
  DIR *here = opendir(".");
  while (readdir(here)) count++;
  closedir(here);
  return count - 2; /* . and .. */
}

static void write_result(const char *path, const char *text) {
  cli_output output;
  assert_true(cli_output_open(&output, path));
  fputs(text, output.file);
  assert_true(cli_output_commit(&output));
}

static void holds(const char *path, const char *expected) {
  char text[64] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = '\0';
  assert_string_equal(text, expected);
}

static void test_commit(void **state) {
  (void)state;
  mode_t old_mask = umask(022);
  write_result("result", "one");
  umask(old_mask);
  holds("result", "one");
  struct stat made;
  assert_int_equal(stat("result", &made), 0);
  assert_int_equal(made.st_mode & 0777, 0644);
  assert_int_equal(chmod("result", 0600), 0);
  write_result("result", "two");
  holds("result", "two");
  assert_int_equal(stat("result", &made), 0);
  assert_int_equal(made.st_mode & 0777, 0600);
  assert_int_equal(files_here(), 1);
}

static void test_abort(void **state) {
  (void)state;
  cli_output output;
  assert_true(cli_output_open(&output, "result"));
  fputs("half", output.file);
  cli_output_abort(&output);
  holds("result", "two");
  assert_true(cli_output_open(&output, "other"));
  cli_output_abort(&output);
  assert_int_equal(files_here(), 1);
}

static void test_check(void **state) {
  (void)state;
  assert_true(cli_output_check("other"));
  assert_true(cli_output_check("-"));
  assert_true(cli_output_check("/dev/null"));
  assert_false(cli_output_check("no/such/folder"));
  assert_string_equal(comp_error_message(), "cannot write 'no/such/folder': No such file or directory");
  assert_false(cli_output_check("result/x"));
  assert_string_equal(comp_error_message(), "cannot write 'result/x': Not a directory");
  assert_false(cli_output_check("."));
  assert_string_equal(comp_error_message(), "cannot write '.': Is a directory");
  assert_false(cli_output_check("new/"));
  assert_int_equal(files_here(), 1);
}

static void test_links_and_devices(void **state) {
  (void)state;
  assert_int_equal(symlink("result", "link"), 0);
  write_result("link", "three");
  struct stat made;
  assert_int_equal(lstat("link", &made), 0);
  assert_true(S_ISLNK(made.st_mode));
  holds("result", "three");
  write_result("/dev/null", "nothing");
  assert_int_equal(stat("/dev/null", &made), 0);
  assert_true(S_ISCHR(made.st_mode));
}

static void test_full_disk(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) return; /* not skip(): meson takes its "not ok # SKIP" for a failure */
  cli_output output;
  assert_true(cli_output_open(&output, "/dev/full"));
  fputs("x", output.file);
  assert_false(cli_output_commit(&output));
  assert_string_equal(comp_error_message(), "cannot write '/dev/full': No space left on device");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_commit),    cmocka_unit_test(test_abort),
      cmocka_unit_test(test_check),     cmocka_unit_test(test_links_and_devices),
      cmocka_unit_test(test_full_disk),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
