/* test_filter.c: leaving out samples and genes, and what happens when nothing is left. */
#include "prep/options.h"
#include "prep_testing.h"

static comp_status filter(comp_dataset **d, const char *keep, const char *drop, comp__filter_options o) {
  comp_context *context = test_context(2);
  o.keep = &keep;
  o.n_keep = keep ? 1 : 0;
  o.drop_genes = &drop;
  o.n_drop_genes = drop ? 1 : 0;
  comp_status status = comp__filter(d, context, &o);
  comp_context_free(context);
  return status;
}

static const comp__filter_options none = {0};

static void samples_by_value(void **state) {
  (void)state;
  const struct {
    const char *rule;
    size_t left;
  } cases[] = {{"kind=a", 10},    {"kind=a,b", 20}, {"kind=c, d", 10}, {"good=True", 22},
               {"good=false", 8}, {"size=1", 15},   {"size=0,1", 30}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    comp_dataset *d = test_counts(30, 20, i % 2);
    assert_ok(filter(&d, cases[i].rule, NULL, none));
    assert_int_equal(comp_dataset_sample_count(d), cases[i].left);
    assert_int_equal(comp_dataset_feature_count(d), 20);
    comp_dataset_free(d);
  }
}

static void genes_by_name(void **state) {
  (void)state;
  comp_dataset *d = test_counts(30, 20, true);
  assert_ok(filter(&d, NULL, "^MT-|^g1[0-9]$", none));
  assert_int_equal(comp_dataset_feature_count(d), 9); /* g0 .. g9 without MT-6 */
  for (size_t j = 0; j < 9; j++) assert_int_equal(comp_dataset_var_name(d, j)[0], 'g');
  comp_dataset_free(d);
}

static void genes_and_cells_by_counts(void **state) {
  (void)state;
  comp_dataset *d = test_counts(30, 20, false), *whole = test_counts(30, 20, false);
  comp__filter_options o = comp__filter_defaults();
  o.drop_empty_genes = true;
  o.min_cell_counts = 1.0;
  assert_ok(filter(&d, NULL, NULL, o));
  assert_int_equal(comp_dataset_sample_count(d), 29);
  assert_int_equal(comp_dataset_feature_count(d), 19);
  assert_string_equal(comp_dataset_obs_name(d, 5), "6");
  assert_string_equal(comp_dataset_var_name(d, 3), "g4");
  assert_true(test_at(comp_dataset_x(d), 5, 3) == test_at(comp_dataset_x(whole), 6, 4));
  comp_dataset_free(d);
  comp_dataset_free(whole);
}

static void thresholds_are_inclusive(void **state) {
  (void)state;
  comp_matrix *x;
  comp_dataset *d;
  assert_ok(comp_matrix_new_dense(&x, 3, 3));
  memcpy(comp_matrix_values(x), (float[]){1, 2, 0, 0, 3, 0, 0, 0, 7}, 9 * sizeof(float));
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  comp__filter_options o = comp__filter_defaults();
  o.min_gene_counts = 5.0;
  o.min_gene_cells = 1;
  assert_ok(filter(&d, NULL, NULL, o));
  assert_int_equal(comp_dataset_feature_count(d), 2); /* totals 1, 5, 7 */
  o = none;
  o.min_cell_genes = 1;
  o.min_cell_counts = 3.0;
  assert_ok(filter(&d, NULL, NULL, o));
  assert_int_equal(comp_dataset_sample_count(d), 2); /* 2 is too few now that gene 0 is gone */
  comp_dataset_free(d);
}

static void mistakes_are_explained(void **state) {
  (void)state;
  comp_dataset *d = test_counts(30, 20, true), *before = d;
  assert_error(filter(&d, "knid=a", NULL, none), COMP_ERR_DATA, "did you mean 'kind'");
  assert_error(filter(&d, "kind=bb", NULL, none), COMP_ERR_DATA, "did you mean 'b'");
  assert_error(filter(&d, "kind", NULL, none), COMP_ERR_ARGUMENT, "COLUMN=VALUE");
  assert_error(filter(&d, "kind=", NULL, none), COMP_ERR_ARGUMENT, "COLUMN=VALUE");
  assert_error(filter(&d, NULL, "(", none), COMP_ERR_ARGUMENT, "not a regular expression");
  assert_error(filter(&d, NULL, "", none), COMP_ERR_ARGUMENT, "every gene");
  assert_error(filter(&d, NULL, ".", none), COMP_ERR_DATA, "leaves none of 20 genes");
  comp__filter_options o = comp__filter_defaults();
  o.min_cell_counts = 1e9;
  assert_error(filter(&d, NULL, NULL, o), COMP_ERR_DATA, "leaves none of 30 samples");
  o = none;
  o.min_gene_counts = NAN;
  assert_error(filter(&d, NULL, NULL, o), COMP_ERR_ARGUMENT, "min-gene-counts");
  assert_ptr_equal(d, before);
  comp_dataset_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_by_value),          cmocka_unit_test(genes_by_name),
      cmocka_unit_test(genes_and_cells_by_counts), cmocka_unit_test(thresholds_are_inclusive),
      cmocka_unit_test(mistakes_are_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
