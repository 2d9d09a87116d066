/* test_umap.c: the curve, the graph's strengths against their definition, layouts that keep groups apart, the same
 * bytes at any thread count, parts without edges between them, new points among old ones, bad input. */
#include "testing.h"

#include "core/rng.h"
#include "umap/options.h"
#include "umap/umap.h"

/* Points around `groups` centres on the axes, `far` from the origin; point i is in group i % groups. */
static comp_matrix *grouped_points(size_t n, size_t dims, size_t groups, float far) {
  comp_matrix *matrix;
  assert_ok(comp_matrix_new_dense(&matrix, n, dims));
  float *x = comp_matrix_values(matrix);
  for (size_t i = 0; i < n; i++) {
    comp__rng_fill_normal(x + i * dims, dims, comp__rng_at(3, COMP__RNG_TEST, 1, i), 0);
    x[i * dims + i % groups] += far;
  }
  return matrix;
}

/* The values are those of umap-learn 0.5. */
static void test_curve(void **state) {
  (void)state;
  double a, b;
  assert_ok(comp_umap_curve(&a, &b, 0.1, 1.0));
  assert_near(a, 1.5769434603, 1e-6);
  assert_near(b, 0.8950608778, 1e-6);
  assert_ok(comp_umap_curve(&a, &b, 0.5, 1.0));
  assert_near(a, 0.5830300205, 1e-6);
  assert_near(b, 1.3341669931, 1e-6);
}

/* The nearest other point has weight 1, and the weights of a row sum to log2 of the neighbours. */
static void test_strengths(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  enum { N = 50, K = 14 };
  float distances[N * K], weights[N * K];
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < K; j++) distances[i * K + j] = (float)(1 + i) * 0.1f + 0.05f * (float)(j * (i + 2)) * 0.3f;
  assert_ok(comp__umap_strengths(weights, context, distances, N, K, true));
  for (size_t i = 0; i < N; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < K; j++) sum += (double)weights[i * K + j];
    assert_near((double)weights[i * K], 1.0, 0.0);
    assert_near(sum, log2(K + 1.0), 1e-4);
  }
  comp_context_free(context);
}

static void test_union(void **state) {
  (void)state;
  const int32_t indices[] = {1, 2, 0, 2, 1, 0};
  const float weights[] = {1.0f, 0.5f, 0.5f, 0.25f, 1.0f, 0.0f};
  comp__graph graph;
  assert_ok(comp__umap_union(&graph, indices, weights, 3, 2));
  const int32_t ends[] = {1, 2, 0, 2, 0, 1};
  const float united[] = {1.0f, 0.5f, 1.0f, 1.0f, 0.5f, 1.0f};
  assert_int_equal(graph.indptr[3], 6);
  for (size_t e = 0; e < 6; e++) {
    assert_int_equal(graph.indices[e], ends[e]);
    assert_true(graph.weights[e] == united[e]);
  }
  comp__graph_release(&graph);
}

static comp_matrix *run(const comp_matrix *points, const comp__umap_options *options, comp_umap_info *info,
                        int threads) {
  comp_context *context = test_context(threads);
  comp_matrix *layout;
  assert_ok(comp__umap_run(&layout, info, context, points, options));
  comp_context_free(context);
  return layout;
}

/* The share of points whose nearest point in the layout is of the same group. */
static double purity(const comp_matrix *layout, const comp_matrix *others, size_t groups, bool self) {
  const size_t n = comp_matrix_rows(layout), m = comp_matrix_rows(others), dims = comp_matrix_cols(layout);
  const float *y = comp_matrix_const_values(layout), *o = comp_matrix_const_values(others);
  size_t right = 0;
  for (size_t i = 0; i < n; i++) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t j = 0; j < m; j++) {
      double sum = 0.0;
      for (size_t d = 0; d < dims; d++) sum += pow((double)y[i * dims + d] - (double)o[j * dims + d], 2.0);
      if (sum < least && !(self && i == j)) {
        least = sum;
        best = j;
      }
    }
    right += best % groups == i % groups;
  }
  return (double)right / (double)n;
}

static void check_run(size_t n, size_t groups, float far, comp__umap_options options) {
  comp_matrix *points = grouped_points(n, 8, groups, far);
  comp_umap_info info;
  comp_matrix *first = run(points, &options, &info, TEST_THREADS[0]);
  assert_int_equal(comp_matrix_rows(first), n);
  assert_int_equal(comp_matrix_cols(first), options.dimensions);
  assert_true(purity(first, first, groups, true) > 0.97);
  for (int t = 1; t < TEST_THREADS_COUNT; t++) {
    comp_matrix *other = run(points, &options, NULL, TEST_THREADS[t]);
    assert_memory_equal(comp_matrix_values(first), comp_matrix_values(other), n * options.dimensions * sizeof(float));
    comp_matrix_free(other);
  }
  comp_matrix_free(first);
  comp_matrix_free(points);
}

/* Large enough for the block solver and several chunks a round. */
static void test_run(void **state) {
  (void)state;
  comp__umap_options options = comp__umap_defaults();
  options.epochs = 40;
  check_run(6000, 3, 6.0f, options);
  options.epochs = 100;
  for (int init = 0; init < 3; init++) {
    options.init = (comp_umap_init)init;
    check_run(600, 4, 8.0f, options);
  }
  options.dimensions = 3;
  options.metric = COMP_DISTANCE_COSINE;
  check_run(300, 2, 9.0f, options);
}

/* Groups stay apart, and one thread alone does the same twice. */
static void test_fast(void **state) {
  (void)state;
  for (size_t dims = 2; dims <= 3; dims++) {
    comp__umap_options options = comp__umap_defaults();
    options.fast = true;
    options.epochs = 60;
    options.dimensions = dims;
    comp_matrix *points = grouped_points(3000, 8, 3, 6.0f);
    comp_matrix *first = run(points, &options, NULL, 1);
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_matrix *layout = run(points, &options, NULL, TEST_THREADS[t]);
      assert_true(purity(layout, layout, 3, true) > 0.97);
      if (TEST_THREADS[t] == 1)
        assert_memory_equal(comp_matrix_values(first), comp_matrix_values(layout), 3000 * dims * sizeof(float));
      comp_matrix_free(layout);
    }
    comp_matrix_free(first);
    comp_matrix_free(points);
  }
}

/* So far apart that the graph falls into parts: as many as there are groups, few and many. */
static void test_components(void **state) {
  (void)state;
  for (size_t groups = 2; groups <= 8; groups += 6) {
    comp_matrix *points = grouped_points(80 * groups, 8, groups, 100.0f);
    comp__umap_options options = comp__umap_defaults();
    options.epochs = 100;
    comp_umap_info info;
    comp_matrix *layout = run(points, &options, &info, 2);
    assert_int_equal(info.components, groups);
    assert_true(purity(layout, layout, groups, true) > 0.99);
    comp_matrix_free(layout);
    comp_matrix_free(points);
  }
}

/* Fewer points than neighbours, equal points, one pair. */
static void test_tiny(void **state) {
  (void)state;
  comp__umap_options options = comp__umap_defaults();
  const size_t sizes[] = {2, 3, 4, 7, 20};
  for (size_t s = 0; s < 5; s++)
    for (int kind = 0; kind < 4; kind++) {
      const bool equal = kind % 2;
      options.fast = kind / 2;
      comp_matrix *points = grouped_points(sizes[s], 3, 1, 0.0f);
      for (size_t i = 0; equal && i < sizes[s] * 3; i++) comp_matrix_values(points)[i] = 1.0f;
      comp_matrix *layout = run(points, &options, NULL, 1);
      for (size_t i = 0; i < sizes[s] * 2; i++) assert_true(isfinite(comp_matrix_values(layout)[i]));
      comp_matrix_free(layout);
      comp_matrix_free(points);
    }
}

static void test_transform(void **state) {
  (void)state;
  comp_matrix *points = grouped_points(900, 8, 3, 8.0f), *new_points;
  comp__umap_options options = comp__umap_defaults();
  comp_matrix *layout = run(points, &options, NULL, 2);
  size_t rows[90];
  for (size_t i = 0; i < 90; i++) rows[i] = i / 3 * 30 + i % 3; /* groups as the order has them */
  comp_context *context = test_context(1);
  assert_ok(comp_matrix_select(&new_points, context, points, rows, 90, NULL, 0));
  for (size_t i = 0; i < 90 * 8; i++) comp_matrix_values(new_points)[i] += 0.05f;
  comp_matrix *first = NULL;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *other = test_context(TEST_THREADS[t]);
    comp_matrix *placed;
    assert_ok(comp__umap_transform(&placed, NULL, other, points, layout, new_points, &options));
    assert_true(purity(placed, layout, 3, false) > 0.97);
    if (first) assert_memory_equal(comp_matrix_values(first), comp_matrix_values(placed), 180 * sizeof(float));
    if (first)
      comp_matrix_free(placed);
    else
      first = placed;
    comp_context_free(other);
  }
  comp_matrix *bad;
  assert_error(comp__umap_transform(&bad, NULL, context, points, new_points, new_points, &options), COMP_ERR_ARGUMENT,
               "90 rows for 900 points");
  comp_matrix_values(layout)[5] = INFINITY;
  assert_error(comp__umap_transform(&bad, NULL, context, points, layout, new_points, &options), COMP_ERR_DATA, "row 3");
  comp_context_free(context);
  comp_matrix_free(first);
  comp_matrix_free(new_points);
  comp_matrix_free(layout);
  comp_matrix_free(points);
}

/* Points that were not drawn are placed among those that were, each in its own row. */
static void test_max_samples(void **state) {
  (void)state;
  comp__umap_options options = comp__umap_defaults();
  comp_matrix *points = grouped_points(900, 8, 3, 8.0f), *all = run(points, &options, NULL, 2);
  comp_umap_info whole, part;
  options.max_samples = 900; /* no fewer than there are: nothing changes */
  comp_matrix *same = run(points, &options, &whole, 2);
  assert_memory_equal(comp_matrix_values(all), comp_matrix_values(same), 1800 * sizeof(float));
  options.max_samples = 300;
  comp_matrix *some = run(points, &options, &part, 2);
  assert_int_equal(comp_matrix_rows(some), 900);
  assert_in_range(part.edges, 1, whole.edges / 2); /* of 300 points, not of 900 */
  assert_memory_not_equal(comp_matrix_values(all), comp_matrix_values(some), 1800 * sizeof(float));
  check_run(900, 3, 8.0f, options);
  options.max_samples = 1;
  comp_context *context = test_context(1);
  comp_matrix *none;
  assert_error(comp__umap_run(&none, NULL, context, points, &options), COMP_ERR_ARGUMENT, "max-samples");
  comp_context_free(context);
  comp_matrix_free(all);
  comp_matrix_free(same);
  comp_matrix_free(some);
  comp_matrix_free(points);
}

static void test_bad(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_matrix *points = grouped_points(30, 3, 1, 0.0f), *one = grouped_points(1, 3, 1, 0.0f), *layout;
  comp__umap_options options = comp__umap_defaults();
  assert_error(comp__umap_run(&layout, NULL, context, one, &options), COMP_ERR_DATA, "1 points");
  options.neighbors = 1;
  assert_error(comp__umap_run(&layout, NULL, context, points, &options), COMP_ERR_ARGUMENT, "neighbors");
  options = comp__umap_defaults();
  options.min_dist = 2.0;
  assert_error(comp__umap_run(&layout, NULL, context, points, &options), COMP_ERR_ARGUMENT, "min-dist");
  options = comp__umap_defaults();
  options.a = 1.0;
  assert_error(comp__umap_run(&layout, NULL, context, points, &options), COMP_ERR_ARGUMENT, "a and b");
  options = comp__umap_defaults();
  options.dimensions = 4;
  options.init = COMP_UMAP_PCA;
  assert_error(comp__umap_run(&layout, NULL, context, points, &options), COMP_ERR_ARGUMENT, "init");
  options = comp__umap_defaults();
  comp_matrix_values(points)[7] = NAN;
  assert_error(comp__umap_run(&layout, NULL, context, points, &options), COMP_ERR_DATA, "row 3");
  assert_null(layout);
  comp_matrix_free(points);
  comp_matrix_free(one);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_curve), cmocka_unit_test(test_strengths), cmocka_unit_test(test_union),
      cmocka_unit_test(test_run),   cmocka_unit_test(test_fast),      cmocka_unit_test(test_components),
      cmocka_unit_test(test_tiny),  cmocka_unit_test(test_transform), cmocka_unit_test(test_max_samples),
      cmocka_unit_test(test_bad),
  };
  return cmocka_run_group_tests_name("umap/umap", tests, NULL, NULL);
}
