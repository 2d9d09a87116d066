/* test_tabular.c: tables below each other, one-hot encoding, merging, missing values, new rows. */
#include "prep/options.h"
#include "prep_testing.h"

static comp_table *people(void) {
  comp_table *t;
  assert_ok(comp_table_new(&t, 5));
  assert_ok(comp_table_add_strings(t, "id", (const char *[]){"p", "q", "r", "s", "t"}));
  assert_ok(comp_table_add_strings(t, "role", (const char *[]){"Wife", "Own", "Husband", "Own", NULL}));
  assert_ok(comp_table_add_numbers(t, "age", (double[]){20, 30, 40, 50, 60}, true));
  assert_ok(comp_table_add_categorical(t, "land", (int32_t[]){1, 0, 1, 1, 0}, (const char *[]){"Z", "B", "none"}, 3));
  assert_ok(comp_table_add_bools(t, "member", (int8_t[]){1, 0, 0, 1, 1}));
  assert_ok(comp_table_add_strings(t, "sex", (const char *[]){"f", "m", "m", "f", "f"}));
  return t;
}

static const char *const obs[] = {"sex"}, *const merge[] = {"role=Wife,Husband:spouse"};

static comp__tabular_options usual(void) {
  comp__tabular_options o = comp__tabular_defaults();
  o.obs = obs;
  o.n_obs = 1;
  o.merge = merge;
  o.n_merge = 1;
  o.names = "id";
  o.missing = COMP_MISSING_DROP;
  return o;
}

static void columns_become_features(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_table *t = people();
  comp__tabular_options o = usual();
  comp_dataset *d;
  o.raw = true;
  assert_ok(comp__tabular_encode(&d, context, t, &o));
  const char *const names[] = {"age", "member", "role_Own", "role_spouse", "land_B", "land_Z"};
  const float values[4][6] = {{20, 1, 0, 1, 1, 0}, {30, 0, 1, 0, 0, 1}, {40, 0, 0, 1, 1, 0}, {50, 1, 1, 0, 1, 0}};
  assert_int_equal(comp_dataset_feature_count(d), 6);
  assert_int_equal(comp_dataset_sample_count(d), 4);
  for (size_t j = 0; j < 6; j++) {
    assert_string_equal(comp_dataset_var_name(d, j), names[j]);
    for (size_t i = 0; i < 4; i++) assert_true(test_at(comp_dataset_x(d), i, j) == values[i][j]);
  }
  assert_string_equal(comp_dataset_obs_name(d, 3), "s");
  assert_int_equal(comp_table_column_count(comp_dataset_obs(d)), 1);
  assert_string_equal(comp_table_string(comp_dataset_obs(d), 0, 3), "f");
  comp_dataset_free(d);

  o.raw = false;
  assert_ok(comp__tabular_encode(&d, context, t, &o));
  for (size_t j = 0; j < 6; j++) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < 4; i++) {
      sum += test_at(comp_dataset_x(d), i, j);
      squares += pow(test_at(comp_dataset_x(d), i, j), 2);
    }
    assert_near(sum, 0.0, 1e-6);
    assert_near(squares, 4.0, 1e-6);
  }
  comp_dataset_free(d);
  comp_table_free(t);
  comp_context_free(context);
}

static void new_rows_are_encoded_the_same(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_table *t = people(), *fresh;
  comp__tabular_options o = usual();
  comp_dataset *d, *again;
  assert_ok(comp__tabular_encode(&d, context, t, &o));
  assert_ok(comp_tabular_apply(&again, context, t, comp_dataset_record(d)));
  assert_same_datasets(d, again);
  comp_dataset_free(again);

  assert_ok(comp_table_new(&fresh, 2)); /* other order, no sex, an unknown land */
  assert_ok(comp_table_add_strings(fresh, "land", (const char *[]){"B", "Q"}));
  assert_ok(comp_table_add_numbers(fresh, "age", (double[]){20, 20}, true));
  assert_ok(comp_table_add_strings(fresh, "id", (const char *[]){"new", "newer"}));
  assert_ok(comp_table_add_bools(fresh, "member", (int8_t[]){1, 1}));
  assert_ok(comp_table_add_strings(fresh, "role", (const char *[]){"Wife", "spouse"}));
  assert_ok(comp_tabular_apply(&again, context, fresh, comp_dataset_record(d)));
  assert_string_equal(comp_dataset_obs_name(again, 1), "newer");
  for (size_t j = 0; j < 6; j++) assert_true(test_at(comp_dataset_x(again), 0, j) == test_at(comp_dataset_x(d), 0, j));
  assert_true(test_at(comp_dataset_x(again), 1, 4) == test_at(comp_dataset_x(d), 1, 4)); /* not B */
  assert_true(test_at(comp_dataset_x(again), 1, 5) == test_at(comp_dataset_x(d), 0, 5)); /* not Z */
  comp_dataset_free(again);

  comp_table_remove(fresh, comp_table_find(fresh, "age"));
  assert_error(comp_tabular_apply(&again, context, fresh, comp_dataset_record(d)), COMP_ERR_DATA, "'age'");
  assert_ok(comp_table_add_strings(fresh, "age", (const char *[]){"20", "old"}));
  assert_error(comp_tabular_apply(&again, context, fresh, comp_dataset_record(d)), COMP_ERR_DATA, "holds text");
  assert_error(comp_tabular_apply(&again, context, fresh, "{}"), COMP_ERR_FORMAT, "no encoding");
  assert_error(comp_tabular_apply(&again, context, fresh, "{\"prep\":{\"steps\":[{\"step\":\"tabular\"}]}}"),
               COMP_ERR_FORMAT, "damaged");
  comp_table_free(fresh);
  comp_dataset_free(d);
  comp_table_free(t);
  comp_context_free(context);
}

static void mistakes_are_explained(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_table *t = people();
  comp_dataset *d;
  comp__tabular_options o = usual();
  o.missing = COMP_MISSING_REFUSE;
  assert_error(comp__tabular_encode(&d, context, t, &o), COMP_ERR_DATA, "row 5 has no value in column 'role'");
  o = usual();
  const char *wrong[] = {"land_C"};
  o.drop_features = wrong;
  o.n_drop_features = 1;
  assert_error(comp__tabular_encode(&d, context, t, &o), COMP_ERR_DATA, "did you mean 'land_");
  o = usual();
  wrong[0] = "rol";
  o.drop = wrong;
  o.n_drop = 1;
  assert_error(comp__tabular_encode(&d, context, t, &o), COMP_ERR_DATA, "drop: there is no column 'rol'");
  wrong[0] = "role"; /* what a dropped column lacks does not count */
  o.missing = COMP_MISSING_REFUSE;
  o.n_merge = 0;
  assert_ok(comp__tabular_encode(&d, context, t, &o));
  assert_int_equal(comp_dataset_sample_count(d), 5);
  comp_dataset_free(d);
  for (size_t i = 0; i < 4; i++) {
    const char *bad = (const char *const[]){"role", "role=a", "=a:b", "role=a:"}[i];
    o.merge = &bad;
    o.n_merge = 1;
    assert_error(comp__tabular_check(&o), COMP_ERR_ARGUMENT, "COLUMN=V1,V2:NEW");
  }
  o.n_merge = 0;
  assert_ok(comp_table_add_numbers(t, "land_B", (double[]){1, 2, 3, 4, 5}, true));
  assert_error(comp__tabular_encode(&d, context, t, &o), COMP_ERR_DATA, "two features would be called 'land_B'");
  o.n_merge = 1;
  const char *number = "age=20:30";
  o.merge = &number;
  assert_error(comp__tabular_encode(&d, context, t, &o), COMP_ERR_DATA, "holds numbers");
  comp_table_free(t);
  comp_context_free(context);
}

static void constant_features_become_zero(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_table *t;
  comp_dataset *d;
  comp__tabular_options o = comp__tabular_defaults();
  assert_ok(comp_table_new(&t, 3));
  assert_ok(comp_table_add_numbers(t, "same", (double[]){0.1, 0.1, 0.1}, false));
  assert_ok(comp_table_add_numbers(t, "big", (double[]){1e9, 1e9 + 1, 1e9 + 2}, false));
  assert_ok(comp__tabular_encode(&d, context, t, &o));
  for (size_t i = 0; i < 3; i++) assert_true(test_at(comp_dataset_x(d), i, 0) == 0.0f);
  assert_near(test_at(comp_dataset_x(d), 2, 1), sqrt(1.5), 1e-6); /* not lost to f32 */
  assert_string_equal(comp_dataset_obs_name(d, 2), "2");
  comp_dataset_free(d);
  assert_ok(comp_table_add_numbers(t, "big", (double[]){1, INFINITY, 2}, false));
  assert_error(comp__tabular_encode(&d, context, t, &o), COMP_ERR_DATA, "not a finite number");
  comp_table_free(t);
  comp_context_free(context);
}

static void tables_go_below_each_other(void **state) {
  (void)state;
  comp_table *a = people(), *b, *c, *all;
  size_t rows[] = {4, 3, 2, 1, 0};
  assert_ok(comp_table_select(&b, a, rows, 5));
  size_t land = comp_table_find(b, "land");
  comp_table_remove(b, land); /* same columns in another order, categories as strings */
  assert_ok(comp_table_add_strings(b, "land", (const char *[]){"N", "B", NULL, "Z", "B"}));
  assert_ok(comp_table_concat(&all, (const comp_table *const[]){a, b}, 2));
  assert_int_equal(comp_table_row_count(all), 10);
  land = comp_table_find(all, "land");
  assert_string_equal(comp_table_string(all, land, 0), "B");
  assert_string_equal(comp_table_string(all, land, 5), "N");
  assert_null(comp_table_string(all, land, 7));
  size_t age = comp_table_find(all, "age"), member = comp_table_find(all, "member");
  assert_true(comp_table_number(all, age, 5) == 60.0 && comp_table_is_integer(all, age));
  assert_int_equal(comp_table_bool(all, member, 7), 0);
  comp_table_free(all);

  assert_ok(comp_table_add_strings(b, "age", (const char *[]){"a", "b", "c", "d", "e"}));
  assert_error(comp_table_concat(&all, (const comp_table *const[]){a, b}, 2), COMP_ERR_DATA,
               "column 'age' holds numbers in table 1, but text in table 2");
  assert_ok(comp_table_add_strings(b, "age", (const char *[]){NULL, NULL, NULL, NULL, NULL}));
  assert_ok(comp_table_concat(&all, (const comp_table *const[]){a, b}, 2)); /* nothing but missing goes with all */
  assert_true(isnan(comp_table_number(all, age, 5)));
  comp_table_free(all);
  assert_ok(comp_table_add_numbers(b, "extra", (double[]){1, 2, 3, 4, 5}, true));
  assert_error(comp_table_concat(&all, (const comp_table *const[]){a, b}, 2), COMP_ERR_DATA, "7 columns");
  comp_table_remove(b, comp_table_find(b, "sex"));
  assert_error(comp_table_concat(&all, (const comp_table *const[]){a, b}, 2), COMP_ERR_DATA, "table 2");
  assert_error(comp_table_concat(&all, NULL, 0), COMP_ERR_ARGUMENT, "no table");
  assert_ok(comp_table_new(&c, 0));
  comp_table_free(c);
  comp_table_free(a);
  comp_table_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_become_features),    cmocka_unit_test(new_rows_are_encoded_the_same),
      cmocka_unit_test(mistakes_are_explained),     cmocka_unit_test(constant_features_become_zero),
      cmocka_unit_test(tables_go_below_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
