/* test_normalize.c: the look of data, totals, logs, and refusing what is done already. */
#include "core/dataset.h"
#include "prep/options.h"
#include "prep_testing.h"

static comp_dataset *of_values(const float *values, size_t rows, size_t cols) {
  comp_matrix *x;
  comp_dataset *d;
  assert_ok(comp_matrix_new_dense(&x, rows, cols));
  memcpy(comp_matrix_values(x), values, rows * cols * sizeof *values);
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  return d;
}

static void look_tells_kinds_apart(void **state) {
  (void)state;
  const struct {
    float values[4];
    comp_data_kind kind;
    const char *reason;
  } cases[] = {
      {{0, 1, 2, 900}, COMP_DATA_COUNTS, "counts"},
      {{0, 0, 0, 0}, COMP_DATA_COUNTS, "counts"},
      {{0, 0.5f, 2, 7}, COMP_DATA_LOG, "logarithms"},
      {{3.5f, 0.5f, 2.5f, 30.5f}, COMP_DATA_NORMALIZED, "not logged"},
      {{0, -1, 2.5f, 3}, COMP_DATA_CENTERED, "1 negative"},
      {{0, 0.5f, 2, 30}, COMP_DATA_ESTIMATED, "estimated"},
  };
  comp_context *context = test_context(2);
  for (size_t i = 0; i < 6; i++) {
    comp_dataset *d = of_values(cases[i].values, 2, 2);
    comp_data_look look;
    assert_ok(comp_data_look_at(&look, context, comp_dataset_x(d)));
    assert_int_equal(look.kind, cases[i].kind);
    assert_non_null(strstr(look.reason, cases[i].reason));
    comp_dataset_free(d);
  }
  comp_data_look look;
  comp_matrix *empty;
  assert_ok(comp_matrix_new_csr(&empty, 3, 3, 0));
  assert_ok(comp_data_look_at(&look, context, empty));
  assert_int_equal(look.zeros, 9);
  assert_int_equal(look.kind, COMP_DATA_COUNTS);
  comp_matrix_free(empty);
  comp_context_free(context);
}

static void nan_goes_no_further(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (int i = 0; i < 2; i++) {
    comp_dataset *d = of_values((float[]){1, 2, 3, i ? NAN : INFINITY}, 2, 2);
    comp__prep_options prep = comp__prep_defaults();
    comp_data_look look;
    assert_error(comp_data_look_at(&look, context, comp_dataset_x(d)), COMP_ERR_DATA, "row 2, column 2");
    assert_error(comp__prep(&d, context, &prep), COMP_ERR_DATA, "row 2, column 2");
    assert_error(comp_log1p(context, d, true), COMP_ERR_DATA, "not a finite number");
    assert_error(comp_normalize_total(NULL, context, d, 0.0, true), COMP_ERR_DATA, "not a finite number");
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

static void totals_become_the_median(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = of_values((float[]){1, 3, 0, 0, 4, 4, 10, 10}, 4, 2); /* totals 4, 0, 8, 20 */
  double used = 0.0;
  assert_ok(comp_normalize_total(&used, context, d, 0.0, false));
  assert_true(used == 8.0);
  const float expected[] = {2, 6, 0, 0, 4, 4, 4, 4};
  for (size_t i = 0; i < 8; i++) assert_true(comp_matrix_values(comp_dataset_x(d))[i] == expected[i]);
  assert_non_null(strstr(comp_dataset_record(d), "\"target_sum\":8.0"));
  comp_dataset_free(d);
  comp_context_free(context);
}

static void sparse_and_dense_agree_at_any_thread_count(void **state) {
  (void)state;
  comp_dataset *reference = test_counts(700, 40, true);
  comp__prep_options o = comp__prep_defaults();
  o.normalize = o.log1p = o.keep_counts = true;
  o.hvg.flavor = COMP_HVG_SEURAT;
  o.hvg.n = 12;
  comp_context *context = test_context(1);
  assert_ok(comp__prep(&reference, context, &o));
  assert_int_equal(comp_dataset_feature_count(reference), 12);
  assert_non_null(comp_dataset_matrix(reference, COMP_SLOT_LAYERS, "counts"));
  comp_context_free(context);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    context = test_context(TEST_THREADS[t]);
    comp_dataset *sparse = test_counts(700, 40, true), *dense = test_counts(700, 40, false);
    assert_ok(comp__prep(&sparse, context, &o));
    assert_same_datasets(sparse, reference);
    assert_ok(comp__prep(&dense, context, &o));
    assert_same_tables(comp_dataset_var(dense), comp_dataset_var(reference));
    for (size_t i = 0; i < 700; i++)
      for (size_t j = 0; j < 12; j++)
        assert_true(test_at(comp_dataset_x(dense), i, j) == test_at(comp_dataset_x(reference), i, j));
    comp_dataset_free(sparse);
    comp_dataset_free(dense);
    comp_context_free(context);
  }
  comp_dataset_free(reference);
}

static void library_sizes_are_kept(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = test_counts(30, 20, true), *raw = test_counts(30, 20, true);
  comp__prep_options o = comp__prep_defaults();
  o.normalize = true;
  assert_ok(comp__prep(&d, context, &o));
  size_t c = comp_table_find(comp_dataset_obs(d), COMP_LIBRARY_SIZE);
  assert_true(c != COMP_NOT_FOUND);
  for (size_t i = 0; i < 30; i++) {
    double total = 0.0;
    for (size_t j = 0; j < 20; j++) total += test_at(comp_dataset_x(raw), i, j);
    assert_true(comp_table_number(comp_dataset_obs(d), c, i) == total);
  }
  comp_dataset_free(d);
  comp_dataset_free(raw);
  comp_context_free(context);
}

static void what_is_done_is_not_done_again(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = test_counts(30, 20, true);
  assert_ok(comp_normalize_total(NULL, context, d, 1.0, false)); /* so small that it looks logged */
  assert_error(comp_normalize_total(NULL, context, d, 1.0, false), COMP_ERR_DATA, "already normalised");
  assert_ok(comp_log1p(context, d, false));
  assert_error(comp_log1p(context, d, false), COMP_ERR_DATA, "already logged");
  assert_ok(comp_log1p(context, d, true));
  comp_dataset_free(d);

  d = of_values((float[]){0, 0.5f, 2, 7}, 2, 2);
  assert_error(comp_log1p(context, d, false), COMP_ERR_DATA, "looks already logged");
  assert_error(comp_normalize_total(NULL, context, d, 0.0, false), COMP_ERR_DATA, "counts");
  assert_ok(comp_normalize_total(NULL, context, d, 0.0, true));
  comp_dataset_free(d);

  d = of_values((float[]){0, -1, 2, 7}, 2, 2);
  assert_error(comp_log1p(context, d, true), COMP_ERR_DATA, "-1");
  assert_error(comp_normalize_total(NULL, context, d, 0.0, true), COMP_ERR_DATA, "not counts");
  comp_dataset_free(d);

  d = of_values((float[]){0, 0, 0, 0}, 2, 2);
  assert_error(comp_normalize_total(NULL, context, d, 0.0, false), COMP_ERR_DATA, "empty");
  assert_error(comp_normalize_total(NULL, context, d, -1.0, false), COMP_ERR_ARGUMENT, "target_sum");
  comp_dataset_free(d);
  comp_context_free(context);
}

static void data_without_x(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = of_values((float[]){0, 1, 2, 7}, 2, 2);
  comp_matrix_free(d->x);
  d->x = NULL;
  assert_error(comp_library_sizes(context, d), COMP_ERR_ARGUMENT, "no X");
  assert_error(comp_normalize_total(NULL, context, d, 0.0, true), COMP_ERR_ARGUMENT, "no X");
  assert_error(comp_log1p(context, d, true), COMP_ERR_ARGUMENT, "no X");
  assert_error(comp_to_counts(context, d, NULL), COMP_ERR_ARGUMENT, "no X");
  assert_error(comp_filter(&d, context, NULL), COMP_ERR_ARGUMENT, "no X");
  assert_error(comp_hvg(context, d, NULL), COMP_ERR_ARGUMENT, "no X");
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Numbers of readers: 1,500, and one of one. */
static void words_of_numbers(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  float values[2000];
  comp_data_look look;
  for (size_t i = 0; i < 2000; i++) values[i] = i < 1500 ? -1 - (float)i / 7 : (float)i + 0.5f;
  comp_dataset *d = of_values(values, 1000, 2);
  assert_ok(comp_data_look_at(&look, context, comp_dataset_x(d)));
  if (!strstr(look.reason, "1,500 negative values")) fail_msg("%s", look.reason);
  comp_dataset_free(d);
  for (size_t i = 0; i < 4; i++) values[i] = i == 1 ? -1.5f : (float)i / 3;
  d = of_values(values, 2, 2);
  assert_ok(comp_data_look_at(&look, context, comp_dataset_x(d)));
  assert_non_null(strstr(look.reason, "1 negative value,"));
  comp_dataset_free(d);
  comp_context_free(context);
}

static void keep_text(void *user, comp_log_level level, const char *text) {
  if (level == COMP_LOG_WARNING) snprintf(user, 256, "%s", text);
}

static void one_sample_is_singular(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  char said[256] = "";
  comp_context_on_log(context, keep_text, said);
  comp_dataset *d = of_values((float[]){0, 0, 1, 2, 3, 4}, 3, 2);
  assert_ok(comp_normalize_total(NULL, context, d, 0.0, false));
  assert_string_equal(said, "1 sample has no counts at all: it stays 0");
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(look_tells_kinds_apart),   cmocka_unit_test(nan_goes_no_further),
      cmocka_unit_test(totals_become_the_median), cmocka_unit_test(sparse_and_dense_agree_at_any_thread_count),
      cmocka_unit_test(library_sizes_are_kept),   cmocka_unit_test(what_is_done_is_not_done_again),
      cmocka_unit_test(data_without_x),           cmocka_unit_test(words_of_numbers),
      cmocka_unit_test(one_sample_is_singular),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
