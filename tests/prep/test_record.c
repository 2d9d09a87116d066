/* test_record.c: a preparation repeated on new data; features in another order, or lacking. */
#include "prep/options.h"
#include "prep_testing.h"

static comp_dataset *prepared(comp_context *context) {
  comp_dataset *d = test_counts(60, 40, true);
  comp__prep_options o = comp__prep_defaults();
  const char *drop = "^MT-";
  o.filter.drop_genes = &drop;
  o.filter.n_drop_genes = 1;
  o.normalize = o.log1p = true;
  o.hvg.flavor = COMP_HVG_VST;
  o.hvg.n = 15;
  assert_ok(comp__prep(&d, context, &o));
  assert_int_equal(comp_dataset_feature_count(d), 15);
  return d;
}

static void the_same_data_gives_the_same_values(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = prepared(context), *again = test_counts(60, 40, true);
  assert_ok(comp_prep_apply_record(&again, context, comp_dataset_record(d)));
  comp_matrix *x = comp_dataset_x(d), *y = comp_dataset_x(again);
  assert_int_equal(comp_matrix_nnz(x), comp_matrix_nnz(y));
  assert_memory_equal(comp_matrix_values(x), comp_matrix_values(y), comp_matrix_nnz(x) * sizeof(float));
  for (size_t j = 0; j < 15; j++) assert_string_equal(comp_dataset_var_name(d, j), comp_dataset_var_name(again, j));
  /* What is prepared already stays as it is. */
  assert_ok(comp_prep_apply_record(&again, context, comp_dataset_record(d)));
  assert_memory_equal(comp_matrix_values(x), comp_matrix_values(comp_dataset_x(again)),
                      comp_matrix_nnz(x) * sizeof(float));
  comp_dataset_free(d);
  comp_dataset_free(again);
  comp_context_free(context);
}

/* log2 of another total: undone, then prepared as the record says. */
static void other_logs_are_undone(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = test_counts(60, 40, true), *other = test_counts(60, 40, true);
  comp__prep_options o = comp__prep_defaults();
  o.normalize = o.log1p = true;
  o.target_sum = 500;
  assert_ok(comp__prep(&d, context, &o));
  assert_ok(comp_normalize_total(NULL, context, other, 1e6, false));
  float *values = comp_matrix_values(comp_dataset_x(other));
  for (size_t k = 0; k < comp_matrix_nnz(comp_dataset_x(other)); k++) values[k] = log2f(1.0f + values[k]);
  assert_ok(comp_dataset_set_record(other, NULL)); /* nobody says what it is */
  assert_ok(comp_prep_apply_record(&other, context, comp_dataset_record(d)));
  for (size_t i = 0; i < 60; i++)
    for (size_t j = 0; j < 40; j++)
      assert_near(test_at(comp_dataset_x(other), i, j), test_at(comp_dataset_x(d), i, j), 1e-4);
  comp_dataset_free(d);
  comp_dataset_free(other);
  comp_context_free(context);
}

static void features_come_in_the_order_asked_for(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const char *names[] = {"g9", "absent", "g2", "MT-6", "g1", "nor this"};
  for (int sparse = 0; sparse < 2; sparse++) {
    comp_dataset *d = test_counts(20, 12, sparse), *raw = test_counts(20, 12, sparse);
    comp_matrix *layer, *embedding;
    assert_ok(comp_matrix_select(&layer, context, comp_dataset_x(d), NULL, 0, NULL, 0));
    assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "counts", layer));
    assert_ok(comp_matrix_new_dense(&embedding, 20, 2));
    assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_comp", embedding));
    assert_ok(comp_align_features(&d, context, names, 6));
    assert_int_equal(comp_dataset_feature_count(d), 6);
    assert_ok(comp_matrix_check(context, comp_dataset_x(d)));
    const size_t from[] = {9, COMP_NOT_FOUND, 2, 6, 1, COMP_NOT_FOUND};
    const comp_matrix *both[] = {comp_dataset_x(d), comp_dataset_matrix(d, COMP_SLOT_LAYERS, "counts")};
    for (size_t j = 0; j < 6; j++) {
      assert_string_equal(comp_dataset_var_name(d, j), names[j]);
      for (size_t i = 0; i < 20; i++)
        for (size_t m = 0; m < 2; m++)
          assert_true(test_at(both[m], i, j) ==
                      (from[j] == COMP_NOT_FOUND ? 0.0f : test_at(comp_dataset_x(raw), i, from[j])));
    }
    assert_non_null(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_comp"));
    assert_int_equal(comp_table_column_count(comp_dataset_obs(d)), 3);
    assert_ok(comp_align_features(&d, context, names, 1)); /* all there: no widening */
    assert_int_equal(comp_dataset_feature_count(d), 1);
    assert_error(comp_align_features(&d, context, names + 1, 1), COMP_ERR_DATA, "none of the 1 features");
    assert_error(comp_align_features(&d, context, (const char *[]){"g9", "g9"}, 2), COMP_ERR_DATA, "twice");
    comp_dataset_free(d);
    comp_dataset_free(raw);
  }
  comp_context_free(context);
}

static void damaged_records_are_refused(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = test_counts(20, 12, true);
  const struct {
    const char *record, *message;
  } cases[] = {
      {"{", "not valid JSON"},
      {"[]", "not a JSON object"},
      {"{\"prep\":{\"steps\":[{\"step\":\"subset\",\"features\":[1]}]}}", "bad list of features"},
      {"{\"prep\":{\"steps\":[{\"step\":\"filter\",\"drop_genes\":[1]}]}}", "genes to drop"},
      {"{\"prep\":{\"steps\":[{\"step\":\"normalize_total\"}]}}", "no target_sum"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_error(comp_prep_apply_record(&d, context, cases[i].record), COMP_ERR_FORMAT, cases[i].message);
  assert_ok(comp_prep_apply_record(&d, context, "{\"prep\":3,\"other\":{}}"));
  assert_ok(comp_dataset_set_record(d, "{\"simulate\":{\"seed\":1}}"));
  assert_ok(comp_log1p(context, d, false));
  assert_non_null(strstr(comp_dataset_record(d), "\"seed\":1")); /* what others wrote stays */
  comp_dataset_free(d);
  comp_context_free(context);
}

static void new_data_is_judged_by_its_look(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = prepared(context), *logged = test_counts(60, 40, true);
  assert_ok(comp_log1p(context, logged, false));
  assert_ok(comp_dataset_set_record(logged, "{}"));
  float before = test_at(comp_dataset_x(logged), 1, comp_dataset_find_var(logged, comp_dataset_var_name(d, 0)));
  assert_ok(comp_prep_apply_record(&logged, context, comp_dataset_record(d)));
  assert_true(test_at(comp_dataset_x(logged), 1, 0) == before);
  comp_matrix_values(comp_dataset_x(logged))[0] = -3.0f;
  assert_ok(comp_dataset_set_record(logged, "{}"));
  assert_error(comp_prep_apply_record(&logged, context, comp_dataset_record(d)), COMP_ERR_DATA, "negative");
  comp_dataset_free(d);
  comp_dataset_free(logged);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_data_gives_the_same_values),  cmocka_unit_test(other_logs_are_undone),
      cmocka_unit_test(features_come_in_the_order_asked_for), cmocka_unit_test(damaged_records_are_refused),
      cmocka_unit_test(new_data_is_judged_by_its_look),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
