/* test_hvg_auto.c: flavor "auto" on cells whose truth is known: genes that answer in all cells, in one label only,
 * markers, and genes that almost no cell has; what raw keeps. */
#include "prep_testing.h"

#include "core/dataset.h"
#include "prep/hvg.h"
#include "prep/loess.h"
#include "prep/options.h"

enum { GENES = 600, EVERYWHERE = 20, IN_ONE = 30, MARKERS = 70, RARE = 100, WANTED = 120 };

/* The rate of gene j in a cell. */
static double rate_of(size_t j, size_t label, bool treated) {
  double base = 0.4 + 0.02 * (double)(j % 50);
  if (j < EVERYWHERE) return treated ? 4.0 * base : base;
  if (j < IN_ONE) return treated && label == 2 ? 8.0 * base : base;
  if (j < MARKERS) return j % 3 == label ? 8.0 * base : base;
  return 0.4 + 0.1 * (double)(j % 60); /* at every mean most genes are noise, as the trend of vst needs it */
}

static double count_of(comp__rng rng, size_t cell, size_t j, size_t label, bool treated) {
  if (j >= MARKERS && j < RARE) return cell == 3 * j % 17 ? 200.0 : 0.0;
  return floor(-rate_of(j, label, treated) * log(comp__rng_uniform(rng, j)));
}

/* obs: condition (c0, c1, ...; the last is treated), label (l0, l1, l2). */
static comp_dataset *make(size_t cells, size_t conditions, uint64_t seed, bool sparse) {
  static const char *const labels[] = {"l0", "l1", "l2"};
  comp_matrix *x, *csr;
  comp_dataset *d;
  comp_context *context = test_context(1);
  char names[64][8];
  const char **condition = calloc(cells, sizeof *condition), **label = calloc(cells, sizeof *label);
  assert_ok(comp_matrix_new_dense(&x, cells, GENES));
  for (size_t i = 0; i < cells; i++) {
    size_t c = i % conditions, l = i / conditions % 3;
    comp__rng rng = comp__rng_at(seed, COMP__RNG_TEST, 0, i);
    snprintf(names[c], sizeof names[c], "c%02zu", c);
    condition[i] = names[c];
    label[i] = labels[l];
    for (size_t j = 0; j < GENES; j++)
      comp_matrix_values(x)[i * GENES + j] = (float)count_of(rng, i, j, l, c + 1 == conditions);
  }
  if (sparse) {
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "condition", condition));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "label", label));
  free(condition);
  free(label);
  comp_context_free(context);
  return d;
}

static comp__prep_options options_of(const char *label) {
  comp__prep_options o = comp__prep_defaults();
  o.normalize = o.log1p = true;
  o.hvg.flavor = COMP_HVG_AUTO;
  o.hvg.n = WANTED;
  o.condition = o.hvg.condition = "condition";
  o.label = o.hvg.label = label;
  return o;
}

/* How many of the genes from `first` to `last` - 1 were left. */
static size_t kept(const comp_dataset *d, size_t first, size_t last) {
  char name[16];
  size_t n = 0;
  for (size_t j = first; j < last; j++) {
    snprintf(name, sizeof name, "%zu", j);
    n += comp_dataset_find_var(d, name) != COMP_NOT_FOUND;
  }
  return n;
}

static void genes_that_matter_are_kept(void **state) {
  (void)state;
  static const struct {
    size_t cells, conditions, wanted, least;
    const char *label;
  } designs[] = {{600, 2, WANTED, 20, "label"},
                 {600, 2, WANTED, 20, NULL},
                 {900, 3, WANTED, 20, "label"},
                 {300, 2, WANTED, 20, NULL},
                 {3000, 30, 2 * WANTED, 18, NULL}}; /* 100 treated cells: not every change is sure */
  comp_context *context = test_context(2);
  for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      comp__prep_options o = options_of(designs[i].label);
      comp_dataset *d = make(designs[i].cells, designs[i].conditions, seed, seed % 2);
      size_t wanted = o.hvg.n = designs[i].wanted;
      assert_ok(comp__prep(&d, context, &o));
      size_t n = comp_dataset_feature_count(d), everywhere = kept(d, 0, EVERYWHERE);
      if (everywhere < designs[i].least)
        fail_msg("design %zu: %zu of the genes that change in all cells", i, everywhere);
      size_t markers = kept(d, IN_ONE, MARKERS);
      if (markers < 39) fail_msg("design %zu: %zu of 40 markers", i, markers);
      if (designs[i].label) assert_int_equal(kept(d, EVERYWHERE, IN_ONE), 10);
      assert_int_equal(kept(d, MARKERS, RARE), 0);
      assert_true(n >= wanted && n <= wanted + wanted / 4);
      comp_dataset_free(d);
    }
  comp_context_free(context);
}

static void logs_of_any_base_give_the_same_genes(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *sets[3];
  for (int i = 0; i < 3; i++) {
    comp__prep_options o = options_of("label");
    sets[i] = make(600, 2, 4, true);
    assert_ok(comp_normalize_total(NULL, context, sets[i], 1e4, false));
    if (i > 0) assert_ok(comp_log1p(context, sets[i], false));
    float *values = comp_matrix_values(comp_dataset_x(sets[i]));
    for (size_t k = 0; i == 2 && k < comp_matrix_nnz(comp_dataset_x(sets[i])); k++) values[k] /= (float)M_LN2;
    o.normalize = false;
    o.log1p = i == 0;
    assert_ok(comp__prep(&sets[i], context, &o));
    assert_int_equal(kept(sets[i], 0, IN_ONE), IN_ONE);
    assert_int_equal(comp_dataset_feature_count(sets[i]), comp_dataset_feature_count(sets[0]));
  }
  for (int i = 1; i < 3; i++) {
    size_t same = 0;
    for (size_t j = 0; j < comp_dataset_feature_count(sets[0]); j++)
      same += comp_dataset_find_var(sets[i], comp_dataset_var_name(sets[0], j)) != COMP_NOT_FOUND;
    assert_true(same + 1 >= comp_dataset_feature_count(sets[0])); /* logs round */
  }
  for (int i = 0; i < 3; i++) comp_dataset_free(sets[i]);
  comp_context_free(context);
}

/* Conditions that differ in nothing: no gene does, rare ones neither. */
static void nothing_differs_by_chance(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (size_t conditions = 2; conditions <= 30; conditions += 28) {
    comp__prep_options o = options_of("label");
    comp_dataset *d = make(1500, 1, 2 + conditions, true);
    char names[30][8];
    const char *random[1500];
    size_t differs = 0;
    for (size_t c = 0; c < conditions; c++) snprintf(names[c], sizeof names[c], "r%02zu", c);
    for (size_t i = 0; i < 1500; i++)
      random[i] = names[comp__rng_below(comp__rng_at(3, COMP__RNG_TEST, 5, i), 0, conditions)];
    assert_ok(comp_table_add_strings(comp_dataset_obs(d), "condition", random));
    float *values = comp_matrix_values(comp_dataset_x(d)); /* sparser: one count in ten is left */
    for (size_t k = 0; k < comp_matrix_nnz(comp_dataset_x(d)); k++)
      values[k] = comp__rng_below(comp__rng_at(3, COMP__RNG_TEST, 6, k), 0, 10) == 0 ? 1.0f : 0.0f;
    o.keep_all_genes = true;
    assert_ok(comp__prep(&d, context, &o));
    size_t column = comp_table_find(comp_dataset_var(d), "differs_by_condition");
    for (size_t j = 0; j < GENES; j++) differs += comp_table_bool(comp_dataset_var(d), column, j) == 1;
    if (differs > 1) fail_msg("%zu genes differ between %zu random conditions", differs, conditions);
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

/* Wilcoxon, which is not how they were chosen, finds its best genes among them. */
static void the_best_of_wilcoxon_are_among_them(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__prep_options o = options_of(NULL);
  comp__de_options by = comp__de_defaults();
  comp_dataset *d = make(600, 2, 9, true);
  comp_de *de;
  o.keep_all_genes = true;
  assert_ok(comp__prep(&d, context, &o));
  by.groupby = "condition";
  by.target = "c01";
  assert_ok(comp__de_run(&de, context, d, &by));
  size_t column = comp_table_find(comp_dataset_var(d), "highly_variable");
  size_t differs = comp_table_find(comp_dataset_var(d), "differs_by_condition");
  for (size_t k = 0; k < 20; k++) {
    assert_int_equal(comp_table_bool(comp_dataset_var(d), column, comp_de_order(de, 0)[k]), 1);
    assert_int_equal(comp_table_bool(comp_dataset_var(d), differs, comp_de_order(de, 0)[k]), 1);
  }
  comp_de_free(de);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void all_genes_stay_in_raw(void **state) {
  (void)state;
  comp_dataset *first = NULL;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__prep_options o = options_of("label");
    comp_dataset *d = make(300, 2, 6, true), *some;
    o.keep_raw = o.keep_counts = true;
    assert_ok(comp__prep(&d, context, &o));
    const comp_dataset *raw = comp_dataset_raw(d);
    assert_non_null(raw);
    assert_int_equal(comp_dataset_feature_count(raw), GENES);
    for (size_t i = 0; i < 300; i += 7)
      for (size_t j = 0; j < comp_dataset_feature_count(d); j++) {
        size_t at = comp_dataset_find_var(raw, comp_dataset_var_name(d, j));
        assert_true(test_at(comp_dataset_x(d), i, j) == test_at(comp_dataset_x(raw), i, at));
      }
    assert_ok(comp_dataset_select(&some, context, d, (const size_t[]){5, 1}, 2, NULL, 0));
    assert_int_equal(comp_matrix_rows(comp_dataset_x(comp_dataset_raw(some))), 2);
    assert_true(test_at(comp_dataset_x(comp_dataset_raw(some)), 1, 9) == test_at(comp_dataset_x(raw), 1, 9));
    comp_dataset_free(some);
    assert_same_as_first(&first, d);
    comp_context_free(context);
  }
  comp_dataset_free(first);
}

/* Genes in one cell each, few cells, conditions of two cells: something is always left. */
static void hardly_any_data(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__prep_options o = options_of("label");
  comp_dataset *d = make(4, 2, 1, true);
  o.hvg.n = 50;
  assert_ok(comp__prep(&d, context, &o));
  assert_true(comp_dataset_feature_count(d) >= 50);
  comp_dataset_free(d);

  comp_matrix *x;
  assert_ok(comp_matrix_new_dense(&x, 40, 40));
  for (size_t i = 0; i < 40; i++) comp_matrix_values(x)[i * 40 + i] = 2.0f;
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  o.hvg.condition = o.hvg.label = o.condition = o.label = NULL;
  o.hvg.n = 10;
  assert_ok(comp__prep(&d, context, &o));
  assert_int_equal(comp_dataset_feature_count(d), 10);
  comp_dataset_free(d);
  assert_int_equal(comp__hvg_least_samples(20), 3);
  assert_int_equal(comp__hvg_least_samples(500), 5);
  assert_int_equal(comp__hvg_least_samples(1000000), 10);
  comp_context_free(context);
}

static void a_trend_in_bins(void **state) {
  (void)state;
  double x[45], y[45], fitted[45];
  for (size_t i = 0; i < 45; i++) {
    x[i] = i < 30 ? 1.0 : (double)i;
    y[i] = (double)i;
  }
  assert_ok(comp__trend_in_bins(fitted, x, y, 45)); /* 4 bins of 12: x = 44 .. 33; 32 .. 30 with all of x = 1 */
  assert_true(fitted[44] == 38.5 && fitted[33] == 38.5);
  assert_true(fitted[32] == 16.0 && fitted[0] == 16.0);
  assert_ok(comp__trend_in_bins(fitted, x, y, 1));
  assert_true(fitted[0] == 0.0);
}

static void layers_of_the_user_are_set_aside(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  for (int same = 0; same < 2; same++) {
    comp__prep_options o = options_of(NULL);
    comp_dataset *d = make(300, 2, 6, true);
    comp_matrix *layer;
    o.keep_counts = true;
    assert_ok(comp_matrix_select(&layer, context, comp_dataset_x(d), NULL, 0, NULL, 0));
    if (!same) comp_matrix_values(layer)[0] += 1.0f;
    assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "counts", layer));
    assert_ok(comp_matrix_select(&layer, context, comp_dataset_x(d), NULL, 0, NULL, 0));
    if (!same) assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "counts_input", layer));
    if (same) comp_matrix_free(layer);
    assert_ok(comp__prep(&d, context, &o));
    assert_int_equal(comp_dataset_matrix_count(d, COMP_SLOT_LAYERS), same ? 1 : 3);
    assert_non_null(comp_dataset_matrix(d, COMP_SLOT_LAYERS, "counts"));
    if (!same) assert_non_null(comp_dataset_matrix(d, COMP_SLOT_LAYERS, "counts_input2"));
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(genes_that_matter_are_kept),
      cmocka_unit_test(logs_of_any_base_give_the_same_genes),
      cmocka_unit_test(the_best_of_wilcoxon_are_among_them),
      cmocka_unit_test(all_genes_stay_in_raw),
      cmocka_unit_test(hardly_any_data),
      cmocka_unit_test(a_trend_in_bins),
      cmocka_unit_test(layers_of_the_user_are_set_aside),
      cmocka_unit_test(nothing_differs_by_chance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
