/* test_null.c: NULL in every public function: the rule of comp/comp.h. null_calls.h is made from the headers. */
#include "testing.h"

#include "null_calls.h"

static void *memory[512];

/* Memory that is not NULL and looks like no struct: a function that is refused must not read it. All of it points to
 * itself, so that no field is 0. */
static void *some(void) {
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) memory[i] = memory;
  return memory;
}

/* The whole message is compared: it names the function and the argument. */
static void refused(comp_status status, const char *call, const char *message) {
  if (status != COMP_ERR_ARGUMENT || strcmp(comp_error_message(), message) != 0)
    fail_msg("%s: status %d, '%s', expected '%s'", call, (int)status, comp_error_message(), message);
}
#define REFUSED(call, message) refused(call, #call, message)

static void test_null_is_refused(void **state) {
  (void)state;
  NULL_CALLS
}

static void test_null_is_freed(void **state) {
  (void)state;
  NULL_FREES
}

/* `*out` is empty after a refusal: a caller may free it. */
static void test_out_is_empty(void **state) {
  (void)state;
  comp_options *options = some();
  assert_error(comp_options_new(&options, NULL), COMP_ERR_ARGUMENT, "kind is NULL");
  assert_null(options);
  comp_groups groups;
  memset(&groups, 1, sizeof groups);
  assert_error(comp_table_groups(&groups, NULL, 0), COMP_ERR_ARGUMENT, "table is NULL");
  assert_null(groups.codes);
  comp_groups_release(&groups);
}

/* An array of which there are none may be NULL. */
static void test_no_items(void **state) {
  (void)state;
  comp_options *options;
  assert_ok(comp_options_new(&options, "score"));
  assert_ok(comp_options_set_list(options, "use", NULL, 0));
  comp_options_free(options);
  comp_table *table, *selected;
  assert_ok(comp_table_new(&table, 0));
  assert_ok(comp_table_add_numbers(table, "a", NULL, false));
  assert_ok(comp_table_add_categorical(table, "b", NULL, NULL, 0));
  assert_ok(comp_table_select(&selected, table, NULL, 0));
  comp_table_free(selected);
  comp_table_free(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_null_is_refused),
      cmocka_unit_test(test_null_is_freed),
      cmocka_unit_test(test_out_is_empty),
      cmocka_unit_test(test_no_items),
  };
  return cmocka_run_group_tests_name("core/null", tests, NULL, NULL);
}
