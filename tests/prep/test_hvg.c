/* test_hvg.c: loess and vst against what R and Seurat gave (data/, made by tests/oracle/test_vst.py --fixtures), the
 * seurat flavor on a case worked by hand, batches, and data of the wrong kind. */
#include "prep_testing.h"

#include "prep/loess.h"
#include "prep/options.h"

static FILE *open_data(const char *name) {
  const char *folder = getenv("COMP_TEST_DATA");
  char path[4096];
  snprintf(path, sizeof path, "%s/prep/data/%s", folder ? folder : "tests", name);
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("cannot open %s", path);
  return file;
}

static double next(FILE *file) {
  double value;
  if (fscanf(file, "%lf", &value) != 1) fail_msg("the data is too short");
  return value;
}

static void loess_is_that_of_r(void **state) {
  (void)state;
  enum { N = 300 };
  static double x[N], y[N], expected[N], fitted[N];
  FILE *file = open_data("loess.txt");
  for (size_t i = 0; i < N; i++) {
    x[i] = next(file);
    y[i] = next(file);
    expected[i] = next(file);
  }
  fclose(file);
  assert_ok(comp__loess(fitted, x, y, N, 0.3));
  for (size_t i = 0; i < N; i++) assert_near(fitted[i], expected[i], 1e-12);
}

static void loess_says_when_it_cannot(void **state) {
  (void)state;
  double x[40], y[40], fitted[40];
  for (size_t i = 0; i < 40; i++) {
    x[i] = i < 30 ? 1.0 : (double)i;
    y[i] = (double)(i * i % 7);
  }
  assert_error(comp__loess(fitted, x, y, 13, 0.3), COMP_ERR_DATA, "too few");
  assert_error(comp__loess(fitted, x, y, 40, 0.3), COMP_ERR_DATA, "share x");
  assert_error(comp__loess(fitted, x, y, 0, 0.3), COMP_ERR_DATA, "too few");
  for (size_t i = 0; i < 40; i++) x[i] = (double)i, y[i] = 3.0 + 2.0 * x[i] - x[i] * x[i];
  assert_ok(comp__loess(fitted, x, y, 40, 1.0)); /* a quadratic is its own fit */
  for (size_t i = 0; i < 40; i++) assert_near(fitted[i], y[i], 0.05);
}

static bool is_chosen(const comp_dataset *d, size_t gene) {
  size_t c = comp_table_find(comp_dataset_var(d), "highly_variable");
  return comp_table_bool(comp_dataset_var(d), c, gene) == 1;
}

static void vst_is_that_of_seurat(void **state) {
  (void)state;
  FILE *file = open_data("vst.txt");
  size_t cells = (size_t)next(file), genes = (size_t)next(file);
  comp_matrix *x, *csr;
  comp_dataset *d;
  comp_context *context = test_context(2);
  assert_ok(comp_matrix_new_dense(&x, cells, genes));
  for (size_t i = 0; i < cells * genes; i++) comp_matrix_values(x)[i] = (float)next(file);
  assert_ok(comp_matrix_to_csr(&csr, context, x));
  comp_matrix_free(x);
  assert_ok(comp_dataset_new(&d, csr, NULL, NULL));
  const char **batch = calloc(cells, sizeof *batch);
  for (size_t i = 0; i < cells; i++) batch[i] = i % 2 ? "b" : "a";
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "batch", batch));
  free(batch);
  comp_dataset *merged;
  assert_ok(comp_dataset_select(&merged, context, d, NULL, 0, NULL, 0));
  comp__hvg_options o = comp__hvg_defaults();
  o.flavor = COMP_HVG_VST;
  o.n = 30;
  assert_ok(comp__hvg_run(context, d, &o));
  o.batch = "batch";
  assert_ok(comp__hvg_run(context, merged, &o));
  size_t norm = comp_table_find(comp_dataset_var(d), "variances_norm");
  for (size_t j = 0; j < genes; j++) {
    assert_near(comp_table_number(comp_dataset_var(d), norm, j), next(file), 1e-10);
    assert_int_equal(is_chosen(d, j), (int)next(file));
    assert_int_equal(is_chosen(merged, j), (int)next(file));
  }
  fclose(file);
  comp_dataset_free(merged);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Genes of which each has a bin to itself have a normalised dispersion of 1. */
static void a_gene_alone_in_its_bin(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_matrix *x;
  comp_dataset *d;
  assert_ok(comp_matrix_new_dense(&x, 4, 3));
  memcpy(comp_matrix_values(x), (float[]){0.1f, 1, 3, 0.2f, 2, 4, 0.1f, 1, 4, 0.3f, 2.5f, 3}, 12 * sizeof(float));
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  comp__hvg_options o = comp__hvg_defaults();
  o.flavor = COMP_HVG_SEURAT;
  o.n = 2;
  assert_ok(comp__hvg_run(context, d, &o));
  size_t c = comp_table_find(comp_dataset_var(d), "dispersions_norm");
  for (size_t j = 0; j < 3; j++) {
    assert_near(comp_table_number(comp_dataset_var(d), c, j), 1.0, 1e-12);
    assert_true(is_chosen(d, j)); /* all tie with the second */
  }
  comp_dataset_free(d);
  comp_context_free(context);
}

static void every_flavor_is_the_same_at_any_thread_count(void **state) {
  (void)state;
  const struct {
    comp_hvg_flavor flavor;
    const char *batch;
  } cases[] = {{COMP_HVG_SEURAT, NULL}, {COMP_HVG_SEURAT, "kind"}, {COMP_HVG_VST, NULL},
               {COMP_HVG_VST, "kind"},  {COMP_HVG_VARIANCE, NULL}, {COMP_HVG_VARIANCE, "size"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    comp_dataset *reference = NULL;
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      comp_dataset *d = test_counts(300, 60, true);
      comp__prep_options o = comp__prep_defaults();
      o.normalize = o.log1p = true;
      o.hvg.flavor = cases[k].flavor;
      o.hvg.batch = cases[k].batch;
      o.hvg.n = 20;
      assert_ok(comp__prep(&d, context, &o));
      if (cases[k].flavor == COMP_HVG_VARIANCE)
        assert_in_range(comp_dataset_feature_count(d), 20, 40);
      else
        assert_int_equal(comp_dataset_feature_count(d), 20);
      assert_int_equal(comp_dataset_find_var(d, "g3"), COMP_NOT_FOUND);
      assert_same_as_first(&reference, d);
      comp_context_free(context);
    }
    comp_dataset_free(reference);
  }
}

static void more_genes_than_vary(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (int flavor = COMP_HVG_SEURAT; flavor <= COMP_HVG_VARIANCE; flavor++)
    for (int batch = 0; batch < 2; batch++) {
      comp_dataset *d = test_counts(60, 40, true);
      comp__prep_options o = comp__prep_defaults();
      o.normalize = o.log1p = true;
      o.hvg.flavor = (comp_hvg_flavor)flavor;
      o.hvg.batch = batch ? "kind" : NULL;
      assert_ok(comp__prep(&d, context, &o));
      assert_int_equal(comp_dataset_feature_count(d), 39); /* never the empty one */
      comp_dataset_free(d);
    }
  comp_context_free(context);
}

static void the_wrong_data_is_refused(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = test_counts(60, 40, true);
  comp__hvg_options o = comp__hvg_defaults();
  o.flavor = COMP_HVG_SEURAT;
  assert_error(comp__hvg_run(context, d, &o), COMP_ERR_DATA, "logged data");
  comp_matrix_values(comp_dataset_x(d))[0] = 2000.0f;
  o.force = true;
  assert_error(comp__hvg_run(context, d, &o), COMP_ERR_NUMERIC, "overflows");
  o.force = false;
  o.flavor = COMP_HVG_VST;
  o.batch = "knid";
  assert_error(comp__hvg_run(context, d, &o), COMP_ERR_DATA, "did you mean 'kind'");
  o.batch = COMP_LIBRARY_SIZE;
  assert_ok(comp_library_sizes(context, d));
  assert_error(comp__hvg_run(context, d, &o), COMP_ERR_DATA, "single sample");
  o.batch = NULL;
  assert_ok(comp_log1p(context, d, false));
  assert_error(comp__hvg_run(context, d, &o), COMP_ERR_DATA, "needs counts");
  assert_error(comp_hvg_subset(&d, context), COMP_ERR_DATA, "highly_variable");
  comp_dataset_free(d);
  comp_context_free(context);
}

static void names_of_flavors_are_read(void **state) {
  (void)state;
  comp__hvg_options o = comp__hvg_defaults();
  assert_ok(comp__hvg_parse(&o, "vst:1500"));
  assert_int_equal(o.flavor, COMP_HVG_VST);
  assert_int_equal(o.n, 1500);
  assert_ok(comp__hvg_parse(&o, "seurat"));
  assert_int_equal(o.n, 1500);
  assert_error(comp__hvg_parse(&o, "vst:"), COMP_ERR_ARGUMENT, "number of genes");
  assert_error(comp__hvg_parse(&o, "vst:-3"), COMP_ERR_ARGUMENT, "number of genes");
  assert_error(comp__hvg_parse(&o, "vst:12x"), COMP_ERR_ARGUMENT, "number of genes");
  assert_error(comp__hvg_parse(&o, "seur"), COMP_ERR_ARGUMENT, "seurat, vst, variance or auto");
  o.span = 0.0;
  assert_error(comp__hvg_check(&o), COMP_ERR_ARGUMENT, "hvg.span");
  o = comp__hvg_defaults();
  o.flavor = COMP_HVG_SEURAT;
  o.n = 0;
  assert_error(comp__hvg_check(&o), COMP_ERR_ARGUMENT, "hvg.n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loess_is_that_of_r),
      cmocka_unit_test(loess_says_when_it_cannot),
      cmocka_unit_test(vst_is_that_of_seurat),
      cmocka_unit_test(a_gene_alone_in_its_bin),
      cmocka_unit_test(every_flavor_is_the_same_at_any_thread_count),
      cmocka_unit_test(more_genes_than_vary),
      cmocka_unit_test(the_wrong_data_is_refused),
      cmocka_unit_test(names_of_flavors_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
