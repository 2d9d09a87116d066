/* test_kmeans.c: clusters that are plain to see, ties, equal points, threads; the graph for Leiden, and Leiden itself.
 */
#include "testing.h"

#include "cluster/connectivity.h"
#include "cluster/kmeans.h"
#include "cluster/leiden.h"
#include "core/rng.h"

enum { N = 1200, DIMS = 3, BLOBS = 4 };

static void make_blobs(float *x) {
  for (size_t i = 0; i < N; i++)
    for (size_t d = 0; d < DIMS; d++)
      x[i * DIMS + d] =
          (float)(10.0 * (double)((i % BLOBS) >> d & 1) + comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 0, i), d));
}

static void finds_blobs(void **state) {
  (void)state;
  static float x[N * DIMS];
  static int32_t found[N], reference[N];
  double centres[BLOBS * DIMS], inertia, first = 0.0;
  comp__kmeans_options o = COMP__KMEANS_OPTIONS_INIT;
  make_blobs(x);
  o.clusters = BLOBS;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    assert_ok(comp__kmeans(found, centres, &inertia, context, x, N, DIMS, &o));
    if (t == 0) {
      memcpy(reference, found, sizeof found);
      first = inertia;
    }
    assert_memory_equal(found, reference, sizeof found);
    assert_true(inertia == first);
    comp_context_free(context);
  }
  double sum = 0.0;
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(found[i], found[i % BLOBS]);
    for (size_t d = 0; d < DIMS; d++) sum += pow((double)x[i * DIMS + d] - centres[(size_t)found[i] * DIMS + d], 2.0);
  }
  assert_near(sum, inertia, 1e-9);
}

static void equal_points(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  float x[20];
  int32_t found[20];
  double inertia;
  comp__kmeans_options o = COMP__KMEANS_OPTIONS_INIT;
  for (size_t i = 0; i < 20; i++) x[i] = 3.0f;
  o.clusters = 3;
  assert_ok(comp__kmeans(found, NULL, &inertia, context, x, 20, 1, &o));
  assert_true(inertia == 0.0);
  for (size_t i = 0; i < 20; i++) assert_in_range(found[i], 0, 2);
  o.clusters = 20; /* as many clusters as points */
  for (size_t i = 0; i < 20; i++) x[i] = (float)i;
  assert_ok(comp__kmeans(found, NULL, &inertia, context, x, 20, 1, &o));
  assert_true(inertia == 0.0);
  o.clusters = 21;
  assert_error(comp__kmeans(found, NULL, NULL, context, x, 20, 1, &o), COMP_ERR_ARGUMENT, "21");
  comp_context_free(context);
}

/* The graph of two neighbours each on a line: weights by hand. */
static void weights_of_the_graph(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const int32_t indices[] = {1, 2, 0, 2, 1, 0};
  const float distances[] = {1, 3, 1, 2, 2, 3};
  comp__weighted_graph graph;
  assert_ok(comp__connectivity(&graph, context, indices, distances, 3, 2, 2));
  assert_int_equal(graph.n_edges, 3);
  /* The nearest has weight 1; the other log2(3) - 1, whatever its distance. */
  double other = log2(3.0) - 1.0;
  assert_near(graph.edges[0].weight, 1.0, 1e-4);                       /* 0 - 1: nearest of both */
  assert_near(graph.edges[1].weight, 2 * other - other * other, 1e-4); /* 0 - 2 */
  assert_near(graph.edges[2].weight, 1.0 + other - 1.0 * other, 1e-4); /* 1 - 2 */
  comp__weighted_graph_release(&graph);
  comp_context_free(context);
}

/* Two cliques with one edge between them. */
static void leiden_finds_cliques(void **state) {
  (void)state;
  if (!test_has_module("leiden")) return; /* not skip(): meson takes its "not ok # SKIP" for a failure */
  comp__edge edges[21];
  comp__weighted_graph graph = {.nodes = 10, .edges = edges};
  for (int32_t a = 0; a < 10; a++)
    for (int32_t b = a + 1; b < 10; b++)
      if (a / 5 == b / 5 || (a == 4 && b == 5)) edges[graph.n_edges++] = (comp__edge){a, b, 1.0};
  int32_t found[10], again[10];
  size_t clusters;
  assert_ok(comp__leiden(found, &clusters, &graph, 1.0, 3));
  assert_int_equal(clusters, 2);
  for (size_t i = 0; i < 10; i++) assert_int_equal(found[i], found[i / 5 * 5]);
  assert_ok(comp__leiden(again, &clusters, &graph, 1.0, 3));
  assert_memory_equal(found, again, sizeof found);
  graph.n_edges = 0; /* nothing to cluster by: a message, not the end of the program */
  assert_error(comp__leiden(found, &clusters, &graph, 1.0, 3), COMP_ERR_NUMERIC, "Leiden");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_blobs),
      cmocka_unit_test(equal_points),
      cmocka_unit_test(weights_of_the_graph),
      cmocka_unit_test(leiden_finds_cliques),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
