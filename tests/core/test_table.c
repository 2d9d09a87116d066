/* test_table.c: columns of all kinds, missing values, groups; string lists, near names, UTF-8. */
#include "testing.h"

#include "core/strings.h"

static comp_table *sample_table(void) {
  comp_table *t;
  assert_ok(comp_table_new(&t, 5));
  assert_ok(comp_table_add_strings(t, "donor", (const char *[]){"b", "a", NULL, "b", "c"}));
  assert_ok(
      comp_table_add_categorical(t, "stim", (int32_t[]){1, 0, 1, -1, 0}, (const char *[]){"STIM", "CTRL", "none"}, 3));
  assert_ok(comp_table_add_numbers(t, "age", (double[]){10, 9, NAN, 10, 2.5}, false));
  assert_ok(comp_table_add_bools(t, "ok", (int8_t[]){1, 0, 1, -1, 1}));
  return t;
}

static void values_come_back(void **state) {
  (void)state;
  comp_table *t = sample_table();
  assert_int_equal(comp_table_column_count(t), 4);
  assert_string_equal(comp_table_string(t, 0, 3), "b");
  assert_null(comp_table_string(t, 0, 2));
  assert_int_equal(comp_table_code(t, 1, 3), -1);
  assert_string_equal(comp_table_level_name(t, 1, comp_table_code(t, 1, 0)), "CTRL");
  assert_true(comp_table_number(t, 2, 4) == 2.5);
  assert_int_equal(comp_table_bool(t, 3, 3), -1);
  char b[64];
  assert_string_equal(comp_table_format(t, 0, 2, b, sizeof b), "");
  assert_string_equal(comp_table_format(t, 1, 1, b, sizeof b), "STIM");
  assert_string_equal(comp_table_format(t, 2, 0, b, sizeof b), "10");
  assert_string_equal(comp_table_format(t, 2, 2, b, sizeof b), "");
  assert_string_equal(comp_table_format(t, 3, 0, b, sizeof b), "True");
  comp_table_free(t);
}

static void numbers_print_short_and_exact(void **state) {
  (void)state;
  comp_table *t;
  double values[] = {0.1, 1.0 / 3, 1e300, -0.0, 123456789012345.0, 1e-320, 3.25};
  assert_ok(comp_table_new(&t, 7));
  assert_ok(comp_table_add_numbers(t, "x", values, false));
  char b[64];
  assert_string_equal(comp_table_format(t, 0, 0, b, sizeof b), "0.1");
  for (size_t i = 0; i < 7; i++) assert_true(strtod(comp_table_format(t, 0, i, b, sizeof b), NULL) == values[i]);
  comp_table_free(t);
}

static void same_name_replaces(void **state) {
  (void)state;
  comp_table *t = sample_table();
  assert_ok(comp_table_add_numbers(t, "donor", (double[]){1, 2, 3, 4, 5}, true));
  assert_int_equal(comp_table_column_count(t), 4);
  assert_int_equal(comp_table_column_kind(t, 0), COMP_COLUMN_NUMBER);
  comp_table_remove(t, 0);
  assert_int_equal(comp_table_column_count(t), 3);
  assert_int_equal(comp_table_find(t, "stim"), 0);
  assert_true(comp_table_find(t, "donor") == COMP_NOT_FOUND);
  comp_table_free(t);
}

static void missing_column_suggests(void **state) {
  (void)state;
  comp_table *t = sample_table(), *empty;
  size_t i;
  assert_error(comp_table_require(&i, t, "stmi"), COMP_ERR_DATA, "no column 'stmi'; did you mean 'stim'?");
  assert_error(comp_table_require(&i, t, "don"), COMP_ERR_DATA, "did you mean 'donor'?");
  assert_error(comp_table_require(&i, t, "batch_number"), COMP_ERR_DATA, "there are: donor, stim, age, ok");
  assert_ok(comp_table_new(&empty, 0));
  assert_error(comp_table_require(&i, empty, "x"), COMP_ERR_DATA, "none at all");
  comp_table_free(empty);
  comp_table_free(t);
}

static void codes_are_checked(void **state) {
  (void)state;
  comp_table *t = sample_table();
  const char *levels[] = {"x", "y"};
  assert_error(comp_table_add_categorical(t, "bad", (int32_t[]){0, 1, 2, 0, 0}, levels, 2), COMP_ERR_FORMAT,
               "row 2: code 2");
  assert_error(comp_table_add_categorical(t, "bad", (int32_t[]){0, -2, 0, 0, 0}, levels, 2), COMP_ERR_FORMAT,
               "code -2");
  assert_int_equal(comp_table_column_count(t), 4);
  comp_table_free(t);
}

static void groups_of_each_kind(void **state) {
  (void)state;
  comp_table *t = sample_table();
  comp_groups g;
  assert_ok(comp_table_groups(&g, t, 0)); /* strings: sorted by bytes */
  assert_int_equal(g.n_levels, 3);
  assert_string_equal(g.levels[0], "a");
  assert_int_equal(g.codes[0], 1);
  assert_int_equal(g.codes[2], -1);
  assert_int_equal(g.counts[1], 2);
  comp_groups_release(&g);
  assert_ok(comp_table_groups(&g, t, 1)); /* categories: the file's order, unused levels left out */
  assert_int_equal(g.n_levels, 2);
  assert_string_equal(g.levels[0], "STIM");
  assert_int_equal(g.codes[0], 1);
  assert_int_equal(g.codes[3], -1);
  comp_groups_release(&g);
  assert_ok(comp_table_groups(&g, t, 2)); /* numbers: by value, so 9 before 10 */
  assert_int_equal(g.n_levels, 3);
  assert_string_equal(g.levels[0], "2.5");
  assert_string_equal(g.levels[1], "9");
  assert_string_equal(g.levels[2], "10");
  comp_groups_release(&g);
  assert_ok(comp_table_groups(&g, t, 3));
  assert_int_equal(g.n_levels, 2);
  assert_string_equal(g.levels[1], "True");
  assert_int_equal(g.counts[1], 3);
  comp_groups_release(&g);
  comp_table_free(t);
}

static void rows_can_be_selected(void **state) {
  (void)state;
  comp_table *t = sample_table(), *s;
  assert_ok(comp_table_select(&s, t, (size_t[]){4, 2, 4}, 3));
  assert_int_equal(comp_table_row_count(s), 3);
  assert_string_equal(comp_table_string(s, 0, 0), "c");
  assert_null(comp_table_string(s, 0, 1));
  assert_string_equal(comp_table_level_name(s, 1, comp_table_code(s, 1, 1)), "CTRL");
  assert_true(isnan(comp_table_number(s, 2, 1)));
  assert_int_equal(comp_table_bool(s, 3, 2), 1);
  comp_table_free(s);
  comp_table_free(t);
}

static void whole_columns_are_read(void **state) {
  (void)state;
  comp_table *t;
  const double *numbers;
  const int32_t *codes;
  const int8_t *bools;
  const char *strings[3], *levels[2];
  assert_ok(comp_table_new(&t, 3));
  assert_ok(comp_table_add_strings(t, "s", (const char *[]){"a", NULL, "gr\xc3\xb6\xc3\x9f"}));
  assert_ok(comp_table_add_categorical(t, "c", (int32_t[]){1, -1, 0}, (const char *[]){"CTRL", "STIM"}, 2));
  assert_ok(comp_table_add_numbers(t, "n", (double[]){1, NAN, 2.5}, false));
  assert_ok(comp_table_add_bools(t, "b", (int8_t[]){1, -1, 0}));
  assert_ok(comp_table_strings(strings, t, 0));
  assert_string_equal(strings[0], "a");
  assert_null(strings[1]);
  assert_string_equal(strings[2], "gr\xc3\xb6\xc3\x9f");
  assert_ok(comp_table_codes(&codes, t, 1));
  assert_memory_equal(codes, ((int32_t[]){1, -1, 0}), 3 * sizeof *codes);
  assert_ok(comp_table_level_names(levels, t, 1));
  assert_string_equal(levels[1], "STIM");
  assert_ok(comp_table_numbers(&numbers, t, 2));
  assert_true(numbers[0] == 1 && isnan(numbers[1]) && numbers[2] == 2.5);
  assert_ok(comp_table_bools(&bools, t, 3));
  assert_memory_equal(bools, ((int8_t[]){1, -1, 0}), 3);
  assert_error(comp_table_numbers(&numbers, t, 0), COMP_ERR_ARGUMENT, "column 's' holds strings, not numbers");
  assert_null(numbers);
  assert_error(comp_table_strings(strings, t, 1), COMP_ERR_ARGUMENT, "holds categories, not strings");
  assert_error(comp_table_level_names(levels, t, 3), COMP_ERR_ARGUMENT, "holds bools, not categories");
  assert_error(comp_table_codes(&codes, t, 4), COMP_ERR_ARGUMENT, "there is no column 4: the table has 4");
  comp_table_free(t);
}

static void bad_columns_are_refused(void **state) {
  (void)state;
  comp_table *t;
  assert_ok(comp_table_new(&t, 2));
  assert_ok(comp_table_add_numbers(t, "x", (double[]){1, 2}, true));
  assert_error(comp_table_add_categorical(t, "x", (int32_t[]){0, 0}, (const char *[]){NULL}, 1), COMP_ERR_ARGUMENT,
               "level 0 is NULL");
  assert_error(comp_table_add_bools(t, "x", (int8_t[]){0, 2}), COMP_ERR_ARGUMENT, "row 1: 2 is not a bool");
  assert_int_equal(comp_table_column_count(t), 1);
  assert_int_equal(comp_table_column_kind(t, 0), COMP_COLUMN_NUMBER);
  comp_table_free(t);
}

static void index_finds_strings(void **state) {
  (void)state;
  comp__strings list = {0};
  char name[32];
  for (int i = 0; i < 5000; i++) {
    snprintf(name, sizeof name, "gene%d", i % 4000);
    assert_ok(comp__strings_append(&list, name, strlen(name)));
  }
  assert_ok(comp__strings_append(&list, NULL, 0));
  comp__string_index index;
  size_t duplicate;
  assert_ok(comp__string_index_init(&index, &list, &duplicate));
  assert_int_equal(duplicate, 4000);
  for (size_t i = 0; i < 4000; i++) assert_int_equal(comp__string_index_find(&index, comp__strings_get(&list, i)), i);
  assert_true(comp__string_index_find(&index, "gene4000") == SIZE_MAX);
  comp__string_index_release(&index);
  comp__strings_release(&list);
}

static void utf8_is_checked(void **state) {
  (void)state;
  size_t bad;
  assert_true(comp__utf8_valid("gr\xc3\xb6\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", 15, NULL));
  assert_false(comp__utf8_valid("ab\xff", 3, &bad));
  assert_int_equal(bad, 2);
  assert_false(comp__utf8_valid("\xc3", 1, NULL));             /* cut short */
  assert_false(comp__utf8_valid("\xc0\xaf", 2, NULL));         /* overlong */
  assert_false(comp__utf8_valid("\xed\xa0\x80", 3, NULL));     /* surrogate */
  assert_false(comp__utf8_valid("\xf5\x80\x80\x80", 4, NULL)); /* beyond Unicode */
  assert_true(comp__utf8_valid("", 0, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_come_back),        cmocka_unit_test(numbers_print_short_and_exact),
      cmocka_unit_test(same_name_replaces),      cmocka_unit_test(missing_column_suggests),
      cmocka_unit_test(codes_are_checked),       cmocka_unit_test(groups_of_each_kind),
      cmocka_unit_test(rows_can_be_selected),    cmocka_unit_test(index_finds_strings),
      cmocka_unit_test(utf8_is_checked),         cmocka_unit_test(whole_columns_are_read),
      cmocka_unit_test(bad_columns_are_refused),
  };
  return cmocka_run_group_tests_name("core/table", tests, NULL, NULL);
}
