/* test_unique.c: equal names get numbers, as in anndata. */
#include "testing.h"

#include "core/strings.h"
#include "core/unique.h"

static void check(const char *const *before, const char *const *after, size_t n, size_t expected) {
  comp__strings names = {0};
  size_t changed = 99;
  for (size_t i = 0; i < n; i++) assert_ok(comp__strings_append(&names, before[i], before[i] ? strlen(before[i]) : 0));
  assert_ok(comp__strings_make_unique(&names, &changed));
  assert_int_equal(changed, expected);
  assert_int_equal(names.count, n);
  for (size_t i = 0; i < n; i++) {
    if (after[i])
      assert_string_equal(comp__strings_get(&names, i), after[i]);
    else
      assert_null(comp__strings_get(&names, i));
  }
  comp__strings_release(&names);
}

static void equal_names_are_numbered(void **state) {
  (void)state;
  check((const char *[]){"a", "b", "a", "a", "b"}, (const char *[]){"a", "b", "a-1", "a-2", "b-1"}, 5, 3);
}

static void a_taken_name_is_left_out(void **state) {
  (void)state;
  check((const char *[]){"a", "a", "a-1", "a-1", "a"}, (const char *[]){"a", "a-2", "a-1", "a-1-1", "a-3"}, 5, 3);
}

static void different_and_missing_names_stay(void **state) {
  (void)state;
  check((const char *[]){"a", NULL, "b", NULL}, (const char *[]){"a", NULL, "b", NULL}, 4, 0);
  check((const char *[]){"a", NULL, "a", NULL}, (const char *[]){"a", NULL, "a-1", NULL}, 4, 1);
  check(NULL, NULL, 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_names_are_numbered),
      cmocka_unit_test(a_taken_name_is_left_out),
      cmocka_unit_test(different_and_missing_names_stay),
  };
  return cmocka_run_group_tests_name("core/unique", tests, NULL, NULL);
}
