/* test_seurat.c: anchors and the integration that follows from them, on data whose truth is known. */
#include "testing.h"

#include "baseline/anchors.h"
#include "core/rng.h"

enum { GENES = 60, TYPES = 3 };

/* Sets of the given sizes, one after the other, each with TYPES populations by turns and, but for the first, a shift of
 * its own times `shift`. The noise of the i-th sample is the same in all sets. obs has "set" (a, b, c) and "type". */
static comp_dataset *make_sets(const size_t *sizes, size_t n_sets, double shift) {
  size_t n = 0, at = 0;
  for (size_t s = 0; s < n_sets; s++) n += sizes[s];
  comp_matrix *x;
  assert_ok(comp_matrix_new_dense(&x, n, GENES));
  int32_t *set = malloc(n * sizeof *set), *type = malloc(n * sizeof *type);
  for (size_t s = 0; s < n_sets; s++)
    for (size_t i = 0; i < sizes[s]; i++, at++) {
      set[at] = (int32_t)s;
      type[at] = (int32_t)(i % TYPES);
      for (size_t j = 0; j < GENES; j++) {
        double value = 4 + 1.5 * comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 0, i % TYPES), j) +
                       0.5 * comp__rng_normal(comp__rng_at(2, COMP__RNG_TEST, 0, i), j);
        if (s > 0) value += shift * comp__rng_normal(comp__rng_at(3, COMP__RNG_TEST, 0, s), j);
        comp_matrix_values(x)[at * GENES + j] = (float)(value > 0 ? value : 0);
      }
    }
  comp_dataset *dataset;
  assert_ok(comp_dataset_new(&dataset, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(dataset), "set", set, (const char *const[]){"a", "b", "c"}, 3));
  assert_ok(
      comp_table_add_categorical(comp_dataset_obs(dataset), "type", type, (const char *const[]){"p", "q", "r"}, 3));
  free(set);
  free(type);
  return dataset;
}

static comp__baseline_options plain(void) {
  comp__baseline_options o = comp__baseline_defaults();
  o.condition = "set";
  o.components = 10;
  return o;
}

/* Two sets that are the same: a sample is nearest to its copy, so that each pair of copies is an anchor. */
static void copies_are_anchors(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__baseline_options o = plain();
  comp__anchors anchors;
  comp_dataset *dataset = make_sets((const size_t[]){240, 240}, 2, 0.0);
  assert_ok(comp__seurat_anchors(&anchors, context, dataset, &o));
  size_t copies = 0;
  for (size_t i = 0; i < anchors.n; i++) copies += anchors.list[i].right == anchors.list[i].left + 240;
  assert_int_equal(copies, 240);
  comp__anchors_release(&anchors);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

/* Sizes around k.filter: with fewer samples anchors are not filtered. */
static void anchors_join_types(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{240, 330}, {330, 240}, {100, 330}, {31, 45}};
  comp_context *context = test_context(2);
  comp__baseline_options o = plain();
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    comp__anchors anchors;
    comp_dataset *dataset = make_sets(sizes[k], 2, 0.8);
    assert_ok(comp__seurat_anchors(&anchors, context, dataset, &o));
    size_t same = 0;
    bool high = false;
    assert_true(anchors.n > sizes[k][0] / 4);
    for (size_t i = 0; i < anchors.n; i++) {
      const comp__anchor *a = &anchors.list[i];
      assert_true(a->left < sizes[k][0] && a->right >= sizes[k][0] && a->right < sizes[k][0] + sizes[k][1]);
      assert_true(a->score >= 0.0 && a->score <= 1.0);
      if (i > 0) assert_true(a->left >= anchors.list[i - 1].left);
      high |= a->score == 1.0;
      same += a->left % TYPES == (a->right - sizes[k][0]) % TYPES;
    }
    assert_true(high);
    const bool filtered = sizes[k][0] >= COMP__ANCHOR_FILTER && sizes[k][1] >= COMP__ANCHOR_FILTER;
    if (!((double)same > (filtered ? 0.99 : 0.8) * (double)anchors.n))
      fail_msg("%zu and %zu samples: %zu of %zu anchors join one type", sizes[k][0], sizes[k][1], same, anchors.n);
    comp__anchors_release(&anchors);
    comp_dataset_free(dataset);
  }
  comp_context_free(context);
}

static double squared_gap(const float *x, const float *y) {
  double sum = 0;
  for (size_t j = 0; j < GENES; j++) sum += (x[j] - y[j]) * (x[j] - y[j]);
  return sum;
}

/* The largest set stays as it is; the others come to lie where their copies in it are. */
static void smaller_sets_move_to_the_largest(void **state) {
  (void)state;
  static const size_t sizes[] = {220, 400, 260}, starts[] = {0, 220, 620};
  comp_context *context = test_context(2);
  comp__baseline_options o = plain();
  comp_dataset *dataset = make_sets(sizes, 3, 0.8), *results;
  assert_ok(comp__baseline_method(&results, context, dataset, "seurat-cca", &o));
  const float *x = comp_matrix_const_values(comp_dataset_x(dataset));
  const float *y = comp_matrix_const_values(comp_dataset_matrix(results, COMP_SLOT_LAYERS, "seurat_cca"));
  assert_memory_equal(x + starts[1] * GENES, y + starts[1] * GENES, sizes[1] * GENES * sizeof *x);
  for (size_t s = 0; s < 3; s += 2) {
    double before = 0, after = 0;
    for (size_t i = 0; i < sizes[s]; i++) {
      const size_t own = (starts[s] + i) * GENES, copy = (starts[1] + i) * GENES;
      before += squared_gap(x + own, x + copy);
      after += squared_gap(y + own, x + copy);
    }
    if (!(after < 0.15 * before)) fail_msg("set %zu: off by %g of what it was", s, after / before);
  }
  comp_dataset_free(results);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

static void refuse(const comp_dataset *dataset, const comp__baseline_options *o, const char *text) {
  comp_context *context = test_context(1);
  comp_dataset *results = (comp_dataset *)1;
  assert_error(comp__baseline_method(&results, context, dataset, "seurat-cca", o), COMP_ERR_DATA, text);
  assert_null(results);
  comp_context_free(context);
}

static void small_or_flat_sets_are_refused(void **state) {
  (void)state;
  comp__baseline_options o = plain();
  comp_dataset *few = make_sets((const size_t[]){100, 5}, 2, 0.5), *edge = make_sets((const size_t[]){100, 30}, 2, 0.5);
  refuse(few, &o, "'b' has 5 samples, and anchors need more than 30");
  refuse(few, &o, "comp prep --keep");
  refuse(edge, &o, "'b' has 30 samples");
  comp_dataset *flat = make_sets((const size_t[]){100, 80}, 2, 0.5);
  o.k = 90;
  refuse(flat, &o, "need more than 90 (-k)");
  o.k = 0;
  float *values = comp_matrix_values(comp_dataset_x(flat));
  for (size_t i = 100; i < 180; i++)
    for (size_t j = 9; j < GENES; j++) values[i * GENES + j] = 1.1f;
  refuse(flat, &o, "9 features vary both in 'a' and in 'b'");
  o.condition = "type";
  o.components = 59;
  refuse(few, &o, "'p' has 36 samples, and anchors need more than 59 (--components)");
  comp_dataset_free(few);
  comp_dataset_free(edge);
  comp_dataset_free(flat);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_are_anchors),
      cmocka_unit_test(anchors_join_types),
      cmocka_unit_test(smaller_sets_move_to_the_largest),
      cmocka_unit_test(small_or_flat_sets_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
