/* test_sha256.c: the digests that FIPS 180-4 gives as examples, however the bytes come. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/sha256.h"

static void digest_is(const char *text, size_t repeats, size_t step, const char *expected) {
  comp__sha256 digest;
  char out[65];
  size_t length = strlen(text);
  comp__sha256_init(&digest);
  for (size_t r = 0; r < repeats; r++)
    for (size_t i = 0; i < length; i += step)
      comp__sha256_add(&digest, text + i, length - i < step ? length - i : step);
  comp__sha256_end(&digest, out);
  assert_string_equal(out, expected);
}

static void test_examples(void **state) {
  (void)state;
  static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  digest_is("", 1, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  digest_is("abc", 1, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (size_t step = 1; step <= 56; step += 5)
    digest_is(two, 1, step, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  digest_is("aaaaaaaaaa", 100000, 10, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_missing_file(void **state) {
  (void)state;
  comp__sha256 digest;
  comp__sha256_init(&digest);
  assert_int_equal(comp__sha256_add_path(&digest, "no/such/file", false), COMP_ERR_IO);
  assert_non_null(strstr(comp_error_message(), "no/such/file"));
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void digest_of_path(char out[65], const char *path) {
  comp__sha256 digest;
  comp__sha256_init(&digest);
  assert_ok(comp__sha256_add_path(&digest, path, true));
  comp__sha256_end(&digest, out);
}

/* A file in a folder of a folder counts, with its name: zarr stores are such. */
static void test_folders(void **state) {
  (void)state;
  char folder[] = "/tmp/comp-sha256-XXXXXX", inner[64], file[80], other[80], out[4][65];
  assert_non_null(mkdtemp(folder));
  snprintf(inner, sizeof inner, "%s/inner", folder);
  snprintf(file, sizeof file, "%s/a", inner);
  snprintf(other, sizeof other, "%s/b", inner);
  assert_int_equal(mkdir(inner, 0777), 0);
  digest_of_path(out[0], folder);
  put(file, "one");
  digest_of_path(out[1], folder);
  put(file, "two");
  digest_of_path(out[2], folder);
  assert_int_equal(rename(file, other), 0);
  digest_of_path(out[3], folder);
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < i; k++) assert_string_not_equal(out[i], out[k]);
  unlink(other);
  rmdir(inner);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples), cmocka_unit_test(test_missing_file),
                                     cmocka_unit_test(test_folders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
