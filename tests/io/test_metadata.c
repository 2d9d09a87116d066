/* test_metadata.c: joining a table of samples by name. */
#include "io/text_testing.h"

#include "io/metadata.h"

static comp_dataset *samples(const char *const *names, size_t n) {
  comp_matrix *x;
  comp_dataset *d;
  assert_ok(comp_matrix_new_dense(&x, n, 1));
  assert_ok(comp_dataset_new(&d, x, names, NULL));
  return d;
}

static comp_status join(comp_dataset *d, const char *content) {
  comp_context *context = loud_context();
  comp__text text = text_of_bytes(content, strlen(content));
  comp_status status = comp__metadata_join(d, context, &text);
  comp__text_release(&text);
  comp_context_free(context);
  return status;
}

static const char *value(const comp_dataset *d, const char *column, size_t row) {
  static char buffer[64];
  size_t c = comp_table_find(comp_dataset_obs(d), column);
  assert_true(c != COMP_NOT_FOUND);
  return comp_table_format(comp_dataset_obs(d), c, row, buffer, sizeof buffer);
}

static void rows_are_found_by_name(void **state) {
  (void)state;
  comp_dataset *d = samples((const char *[]){"a", "b", "c", "d"}, 4);
  assert_ok(join(d, "who,kind,n,ok\nd,y,4,True\nc,y,3,False\na,x,1,True\nb,x,2,True\n"));
  assert_string_equal(value(d, "kind", 0), "x");
  assert_string_equal(value(d, "n", 3), "4");
  assert_string_equal(value(d, "ok", 2), "False");
  assert_int_equal(comp_table_column_kind(comp_dataset_obs(d), 0), COMP_COLUMN_CATEGORICAL);
  assert_int_equal(comp_table_column_count(comp_dataset_obs(d)), 3);
  assert_string_equal(test_messages, "");
  comp_dataset_free(d);
}

static void names_may_look_like_numbers(void **state) {
  (void)state;
  comp_dataset *d = samples((const char *[]){"01", "1.0"}, 2);
  assert_ok(join(d, "patient,v\n1.0,x\n01,y\n"));
  assert_string_equal(value(d, "v", 0), "y");
  comp_dataset_free(d);
}

static void what_does_not_match_is_counted(void **state) {
  (void)state;
  comp_dataset *d = samples((const char *[]){"a", "b", "c"}, 3);
  assert_ok(join(d, "who,kind,n,ok\nx,y,4,True\nc,z,3,False\n"));
  assert_string_equal(value(d, "kind", 0), "");
  assert_string_equal(value(d, "n", 1), "");
  assert_string_equal(value(d, "ok", 1), "");
  assert_string_equal(value(d, "kind", 2), "z");
  assert_non_null(strstr(test_messages, "2 of 3 samples have no row (such as 'a')"));
  assert_non_null(strstr(test_messages, "1 of 2 rows name no sample (such as 'x')"));
  assert_ok(join(d, "who,kind\nc,new\n"));
  assert_string_equal(value(d, "kind", 2), "new");
  assert_non_null(strstr(test_messages, "column 'kind' replaces"));
  comp_dataset_free(d);
}

static void bad_tables_are_refused(void **state) {
  (void)state;
  comp_dataset *d = samples((const char *[]){"a", "b"}, 2);
  assert_error(join(d, "who,kind\nx,1\ny,2\n"), COMP_ERR_DATA, "no row names a sample");
  assert_error(join(d, "who,kind\na,1\na,2\n"), COMP_ERR_DATA, "'a' is there twice (row 2 is the second)");
  assert_error(join(d, "who\na\nb\n"), COMP_ERR_DATA, "only one column");
  assert_error(join(d, "who,kind\na\n"), COMP_ERR_FORMAT, "2 fields");
  assert_int_equal(comp_table_column_count(comp_dataset_obs(d)), 0);
  comp_context *context = test_context(1);
  assert_error(comp_dataset_join_metadata(context, d, "/nowhere/m.tsv"), COMP_ERR_IO, "No such file");
  comp_context_free(context);
  comp_dataset_free(d);
}

static void repeated_names_join_by_position(void **state) {
  (void)state;
  comp_dataset *d = samples((const char *[]){"a", "b", "a"}, 3);
  assert_ok(join(d, "who,n\na,1\nb,2\na,3\n"));
  assert_string_equal(value(d, "n", 2), "3");
  assert_non_null(strstr(test_messages, "joined by position"));
  assert_error(join(d, "who,n\na,1\na,2\nb,3\n"), COMP_ERR_DATA,
               "one row for each sample, in the order of the samples");
  assert_ok(join(d, "who,n\na,7\nb,8\n"));
  assert_string_equal(value(d, "n", 2), "7");
  assert_non_null(strstr(test_messages, "samples of one name get the same row"));
  comp_dataset_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_found_by_name),          cmocka_unit_test(names_may_look_like_numbers),
      cmocka_unit_test(what_does_not_match_is_counted),  cmocka_unit_test(bad_tables_are_refused),
      cmocka_unit_test(repeated_names_join_by_position),
  };
  return cmocka_run_group_tests_name("io/metadata", tests, NULL, NULL);
}
