/* test_de.c: rank sums worked by hand, ties, labels, threads, and mistakes. The oracle is tests/oracle/test_de.py. */
#include "prep/options.h"
#include "prep_testing.h"

static comp_dataset *two_groups(void) {
  /* Target: rows 0 - 2; reference: 3 - 5; row 6 is neither. Genes: all higher, all equal, with ties at 0. */
  static const float values[] = {4, 1, 0, 5, 1, 0, 6, 1, 2, 1, 1, 0, 2, 1, 0, 3, 1, 1, 99, 9, 9};
  comp_matrix *x;
  comp_dataset *d;
  assert_ok(comp_matrix_new_dense(&x, 7, 3));
  for (size_t i = 0; i < 21; i++) comp_matrix_values(x)[i] = values[i] * 0.25f;
  assert_ok(comp_dataset_new(&d, x, NULL, (const char *[]){"up", "flat", "tied"}));
  assert_ok(
      comp_table_add_strings(comp_dataset_obs(d), "stim", (const char *[]){"S", "S", "S", "C", "C", "C", "other"}));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "type", (const char *[]){"a", "a", "b", "a", "a", "b", "b"}));
  return d;
}

static void ranks_by_hand(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = two_groups();
  comp__de_options o = comp__de_defaults();
  comp_de *de;
  o.groupby = "stim";
  o.target = "S";
  o.reference = "C";
  assert_ok(comp__de_run(&de, context, d, &o));
  assert_int_equal(comp_de_label_count(de), 1);
  assert_string_equal(comp_de_label_name(de, 0), "");
  assert_int_equal(comp_de_target_count(de, 0), 3);
  assert_int_equal(comp_de_reference_count(de, 0), 3);
  const double sd = sqrt(3.0 * 3.0 * 7.0 / 12.0);
  assert_near(comp_de_scores(de, 0)[0], (15.0 - 10.5) / sd, 1e-12); /* ranks 4 + 5 + 6 */
  assert_true(comp_de_scores(de, 0)[1] == 0.0);
  assert_near(comp_de_scores(de, 0)[2], (2.5 + 2.5 + 6.0 - 10.5) / sd, 1e-12);
  assert_near(comp_de_pvals(de, 0)[0], erfc(4.5 / sd / sqrt(2.0)), 1e-12);
  assert_true(comp_de_pvals(de, 0)[1] == 1.0);
  assert_near(comp_de_pvals_adj(de, 0)[0], 3.0 * comp_de_pvals(de, 0)[0], 1e-12);
  assert_near(comp_de_log2_folds(de, 0)[0], log2((expm1(1.25) + 1e-9) / (expm1(0.5) + 1e-9)), 1e-6);
  assert_true(comp_de_log2_folds(de, 0)[1] == 0.0);
  assert_int_equal(comp_de_order(de, 0)[0], 0);
  assert_int_equal(comp_de_order(de, 0)[1], 2);
  comp_table *table;
  assert_ok(comp_de_table(&table, de, d, 2));
  assert_int_equal(comp_table_row_count(table), 2);
  assert_string_equal(comp_table_string(table, comp_table_find(table, "names"), 1), "tied");
  comp_table_free(table);
  comp_de_free(de);

  o.reference = NULL; /* the rest: row 6, too */
  assert_ok(comp__de_run(&de, context, d, &o));
  assert_int_equal(comp_de_reference_count(de, 0), 4);
  comp_de_free(de);
  o.label = "type";
  assert_ok(comp__de_run(&de, context, d, &o)); /* b has one S only */
  assert_int_equal(comp_de_label_count(de), 1);
  assert_string_equal(comp_de_label_name(de, 0), "a");
  comp_de_free(de);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void sparse_is_dense_at_any_thread_count(void **state) {
  (void)state;
  comp_table *reference = NULL;
  for (int t = 0; t < TEST_THREADS_COUNT; t++)
    for (int sparse = 0; sparse < 2; sparse++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      comp_dataset *d = test_counts(400, 50, sparse);
      comp__de_options o = comp__de_defaults();
      comp_de *de;
      comp_table *table;
      o.groupby = "good";
      o.target = "True";
      o.label = "kind";
      assert_ok(comp_log1p(context, d, false));
      assert_ok(comp__de_run(&de, context, d, &o));
      assert_int_equal(comp_de_label_count(de), 3);
      for (size_t l = 0; l < 3; l++)
        for (size_t j = 0; j < 50; j++) {
          assert_true(isfinite(comp_de_scores(de, l)[j]) && isfinite(comp_de_log2_folds(de, l)[j]));
          assert_true(comp_de_pvals_adj(de, l)[j] >= comp_de_pvals(de, l)[j] && comp_de_pvals_adj(de, l)[j] <= 1.0);
        }
      assert_ok(comp_de_table(&table, de, d, 0));
      if (reference) assert_same_tables(table, reference);
      if (reference) comp_table_free(table);
      if (!reference) reference = table;
      comp_de_free(de);
      comp_dataset_free(d);
      comp_context_free(context);
    }
  comp_table_free(reference);
}

static void mistakes_are_explained(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = two_groups();
  comp_de *de;
  comp__de_options o = comp__de_defaults();
  assert_error(comp__de_run(&de, context, d, &o), COMP_ERR_ARGUMENT, "groupby");
  o.groupby = "stmi";
  assert_error(comp__de_run(&de, context, d, &o), COMP_ERR_ARGUMENT, "target");
  o.target = "S";
  assert_error(comp__de_run(&de, context, d, &o), COMP_ERR_DATA, "did you mean 'stim'");
  o.groupby = "stim";
  o.reference = "S";
  assert_error(comp__de_run(&de, context, d, &o), COMP_ERR_ARGUMENT, "the target itself");
  o.reference = "othr";
  assert_error(comp__de_run(&de, context, d, &o), COMP_ERR_DATA, "did you mean 'other'");
  o.reference = "other";
  assert_error(comp__de_run(&de, context, d, &o), COMP_ERR_DATA, "there are not 2 samples");
  o.min_samples = 1;
  assert_ok(comp__de_run(&de, context, d, &o));
  comp_de_free(de);
  o.min_samples = 5;
  o.label = "type";
  assert_error(comp__de_run(&de, context, d, &o), COMP_ERR_DATA, "no label has 5 samples");
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_by_hand),
      cmocka_unit_test(sparse_is_dense_at_any_thread_count),
      cmocka_unit_test(mistakes_are_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
