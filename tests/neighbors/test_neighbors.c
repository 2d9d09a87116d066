/* test_neighbors.c: exact search against all pairs in double precision, at several thread counts; ties, duplicates,
 * bounds of k, bad points; approximate search. */
#include "testing.h"

#include "core/rng.h"
#include "neighbors/options.h"

static comp_matrix *random_points(size_t n, size_t dims, uint64_t seed) {
  comp_matrix *matrix;
  assert_ok(comp_matrix_new_dense(&matrix, n, dims));
  for (size_t i = 0; i < n; i++)
    comp__rng_fill_normal(comp_matrix_values(matrix) + i * dims, dims, comp__rng_at(seed, COMP__RNG_TEST, 0, i), 0);
  return matrix;
}

typedef struct pair {
  double distance;
  size_t index;
} pair;

static int by_distance(const void *a, const void *b) {
  const pair *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return x->index < y->index ? -1 : 1;
}

static double distance(const float *x, const float *y, size_t dims, comp_distance metric) {
  double sum = 0.0, xx = 0.0, yy = 0.0;
  for (size_t d = 0; d < dims; d++) {
    xx += (double)x[d] * (double)x[d];
    yy += (double)y[d] * (double)y[d];
  }
  if (metric == COMP_DISTANCE_COSINE && (xx == 0.0 || yy == 0.0)) return 1.0;
  double u = metric == COMP_DISTANCE_COSINE ? 1.0 / sqrt(xx) : 1.0,
         v = metric == COMP_DISTANCE_COSINE ? 1.0 / sqrt(yy) : 1.0;
  for (size_t d = 0; d < dims; d++) sum += pow((double)x[d] * u - (double)y[d] * v, 2.0);
  return metric == COMP_DISTANCE_COSINE ? sum / 2.0 : sqrt(sum);
}

/* Every row: the distances are the k smallest, each belongs to its index, no index twice, none is the row itself, and
 * equal distances have ascending indices. */
static void check_rows(const comp_neighbors *found, const comp_matrix *points, const comp_matrix *queries, bool self,
                       comp_distance metric) {
  const size_t n = comp_matrix_rows(points), m = comp_matrix_rows(queries), dims = comp_matrix_cols(points);
  const size_t k = comp_neighbors_k(found);
  const float *x = comp_matrix_const_values(points), *q = comp_matrix_const_values(queries);
  pair *all = malloc(n * sizeof *all);
  bool *seen = malloc(n);
  assert_non_null(all);
  assert_non_null(seen);
  assert_int_equal(comp_neighbors_rows(found), m);
  for (size_t i = 0; i < m; i++) {
    size_t count = 0;
    for (size_t j = 0; j < n; j++)
      if (!self || j != i) all[count++] = (pair){distance(q + i * dims, x + j * dims, dims, metric), j};
    qsort(all, count, sizeof *all, by_distance);
    memset(seen, 0, n);
    for (size_t j = 0; j < k; j++) {
      size_t index = (size_t)comp_neighbors_indices(found)[i * k + j];
      double d = (double)comp_neighbors_distances(found)[i * k + j];
      assert_true(index < n && !seen[index] && !(self && index == i));
      seen[index] = true;
      assert_true(fabs(d - all[j].distance) <= 1e-6 * all[j].distance + 1e-12);
      assert_true(fabs(d - distance(q + i * dims, x + index * dims, dims, metric)) <= 1e-6 * d + 1e-12);
      if (metric == COMP_DISTANCE_EUCLIDEAN) assert_int_equal(index, all[j].index);
    }
  }
  free(all);
  free(seen);
}

static comp_neighbors *find(const comp_matrix *points, size_t k, comp_distance metric, comp_search search,
                            int threads) {
  comp_context *context = test_context(threads);
  comp__neighbors_options options = {k, metric, search};
  comp_neighbors *found;
  assert_ok(comp__neighbors_find(&found, context, points, &options));
  comp_context_free(context);
  return found;
}

static void check_same(const comp_neighbors *a, const comp_neighbors *b) {
  size_t bytes = comp_neighbors_rows(a) * comp_neighbors_k(a) * 4;
  assert_memory_equal(comp_neighbors_indices(a), comp_neighbors_indices(b), bytes);
  assert_memory_equal(comp_neighbors_distances(a), comp_neighbors_distances(b), bytes);
}

static void check_exact(const comp_matrix *points, size_t k, comp_distance metric) {
  comp_neighbors *first = find(points, k, metric, COMP_SEARCH_EXACT, TEST_THREADS[0]);
  check_rows(first, points, points, true, metric);
  assert_true(comp_neighbors_recall(first) == 1.0);
  for (int t = 1; t < TEST_THREADS_COUNT; t++) {
    comp_neighbors *other = find(points, k, metric, COMP_SEARCH_EXACT, TEST_THREADS[t]);
    check_same(first, other);
    comp_neighbors_free(other);
  }
  comp_neighbors_free(first);
}

/* Few dimensions are searched by differences, many by products; sizes around those of the tiles. */
static void test_exact(void **state) {
  (void)state;
  const size_t shapes[][3] = {{2, 3, 1},    {3, 1, 2},    {33, 2, 32},   {255, 16, 10},  {256, 8, 40},
                              {257, 7, 15}, {700, 64, 5}, {600, 65, 30}, {300, 200, 20}, {520, 5, 519}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int metric = 0; metric < 2; metric++) {
      comp_matrix *points = random_points(shapes[s][0], shapes[s][1], s);
      check_exact(points, shapes[s][2], (comp_distance)metric);
      comp_matrix_free(points);
    }
}

/* Points on a coarse grid, most of them several times over. */
static void test_ties(void **state) {
  (void)state;
  for (size_t dims = 2; dims <= 80; dims += 78)
    for (size_t k = 1; k <= 301; k += 100) {
      comp_matrix *points = random_points(600, dims, 7);
      float *x = comp_matrix_values(points);
      for (size_t i = 0; i < 600 * dims; i++) x[i] = dims == 2 ? roundf(x[i]) : (float)((i % 7) == 0);
      for (size_t i = 300 * dims; i < 600 * dims; i++) x[i] = x[i - 300 * dims];
      check_exact(points, k, COMP_DISTANCE_EUCLIDEAN);
      check_exact(points, k, COMP_DISTANCE_COSINE);
      comp_matrix_free(points);
    }
}

static void test_all_equal(void **state) {
  (void)state;
  comp_matrix *points = random_points(1000, 20, 1);
  for (size_t i = 0; i < 20000; i++) comp_matrix_values(points)[i] = 0.1f;
  check_exact(points, 3, COMP_DISTANCE_EUCLIDEAN);
  comp_matrix_free(points);
}

/* Near points far from the origin: products alone would confuse them. */
static void test_offset(void **state) {
  (void)state;
  for (size_t dims = 10; dims <= 100; dims += 90) {
    comp_matrix *points = random_points(400, dims, 3);
    float *x = comp_matrix_values(points);
    for (size_t i = 0; i < 400 * dims; i++) x[i] = 1000.0f + x[i] * 0.01f;
    check_exact(points, 12, COMP_DISTANCE_EUCLIDEAN);
    comp_matrix_free(points);
  }
}

/* A point of length 0 has no direction: it is at cosine distance 1 from all. */
static void test_no_direction(void **state) {
  (void)state;
  comp_matrix *points = random_points(50, 4, 5);
  memset(comp_matrix_values(points) + 4 * 10, 0, 8 * sizeof(float));
  check_exact(points, 49, COMP_DISTANCE_COSINE);
  comp_matrix_free(points);
}

static void test_query(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (size_t dims = 9; dims <= 90; dims += 81) {
    comp_matrix *points = random_points(300, dims, 1), *queries = random_points(40, dims, 2);
    memcpy(comp_matrix_values(queries), comp_matrix_values(points), dims * sizeof(float));
    comp__neighbors_options options = {300, COMP_DISTANCE_EUCLIDEAN, COMP_SEARCH_EXACT};
    comp_neighbors *found;
    assert_ok(comp__neighbors_query(&found, context, points, queries, &options));
    check_rows(found, points, queries, false, COMP_DISTANCE_EUCLIDEAN);
    assert_int_equal(comp_neighbors_indices(found)[0], 0);
    assert_true(comp_neighbors_distances(found)[0] == 0.0f);
    comp_neighbors_free(found);
    comp_matrix_free(points);
    comp_matrix_free(queries);
  }
  comp_context_free(context);
}

static void test_approximate(void **state) {
  (void)state;
  for (int metric = 0; metric < 2; metric++) {
    comp_matrix *points = random_points(3000, 20, 11);
    comp_neighbors *truth = find(points, 15, (comp_distance)metric, COMP_SEARCH_EXACT, 2);
    comp_neighbors *first = find(points, 15, (comp_distance)metric, COMP_SEARCH_APPROXIMATE, TEST_THREADS[0]);
    size_t right = 0;
    for (size_t i = 0; i < 3000; i++)
      for (size_t j = 0; j < 15; j++)
        for (size_t l = 0; l < 15; l++)
          right += comp_neighbors_indices(first)[i * 15 + j] == comp_neighbors_indices(truth)[i * 15 + l];
    double recall = (double)right / (3000.0 * 15.0);
    assert_true(recall >= 0.98);
    assert_true(fabs(recall - comp_neighbors_recall(first)) < 0.01);
    for (int t = 1; t < TEST_THREADS_COUNT; t++) {
      comp_neighbors *other = find(points, 15, (comp_distance)metric, COMP_SEARCH_APPROXIMATE, TEST_THREADS[t]);
      check_same(first, other);
      comp_neighbors_free(other);
    }
    comp_neighbors_free(first);
    comp_neighbors_free(truth);
    comp_matrix_free(points);
  }
}

/* Many copies of one point: the graph may not lead out of them, the answers must be full all the same. */
static void test_approximate_copies(void **state) {
  (void)state;
  comp_matrix *points = random_points(900, 6, 4);
  float *x = comp_matrix_values(points);
  for (size_t i = 0; i < 600; i++) memcpy(x + i * 6, x, 6 * sizeof *x);
  comp_neighbors *found = find(points, 40, COMP_DISTANCE_EUCLIDEAN, COMP_SEARCH_APPROXIMATE, 2);
  for (size_t i = 0; i < 600; i++)
    for (size_t j = 0; j < 40; j++) assert_true(comp_neighbors_distances(found)[i * 40 + j] == 0.0f);
  comp_neighbors_free(found);
  comp_matrix_free(points);
}

static void test_bad(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_matrix *points = random_points(10, 3, 1), *narrow = random_points(10, 2, 1), *sparse;
  comp__neighbors_options options = comp__neighbors_defaults();
  comp_neighbors *found;
  options.k = 10;
  assert_error(comp__neighbors_find(&found, context, points, &options), COMP_ERR_ARGUMENT,
               "10 neighbours of 10 points");
  options.k = 0;
  assert_error(comp__neighbors_find(&found, context, points, &options), COMP_ERR_ARGUMENT, "k: 0");
  options.k = 11;
  assert_error(comp__neighbors_query(&found, context, points, points, &options), COMP_ERR_ARGUMENT, "k: 11");
  options.k = 3;
  assert_error(comp__neighbors_query(&found, context, points, narrow, &options), COMP_ERR_ARGUMENT, "2 columns");
  comp_matrix_values(points)[3 * 4 + 2] = NAN;
  assert_error(comp__neighbors_find(&found, context, points, &options), COMP_ERR_DATA, "row 5, column 3 is not finite");
  assert_error(comp__neighbors_query(&found, context, narrow, points, &options), COMP_ERR_DATA, "queries: row 5");
  comp_matrix_values(points)[3 * 4 + 2] = -1e30f;
  assert_error(comp__neighbors_find(&found, context, points, &options), COMP_ERR_DATA, "too large");
  assert_null(found);
  assert_ok(comp_matrix_to_csr(&sparse, context, narrow));
  assert_error(comp__neighbors_find(&found, context, sparse, &options), COMP_ERR_ARGUMENT, "sparse");
  comp_context_interrupt(context);
  assert_error(comp__neighbors_find(&found, context, narrow, &options), COMP_ERR_INTERRUPTED, "interrupted");
  comp_matrix_free(points);
  comp_matrix_free(narrow);
  comp_matrix_free(sparse);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),        cmocka_unit_test(test_ties),
      cmocka_unit_test(test_all_equal),    cmocka_unit_test(test_offset),
      cmocka_unit_test(test_no_direction), cmocka_unit_test(test_query),
      cmocka_unit_test(test_approximate),  cmocka_unit_test(test_approximate_copies),
      cmocka_unit_test(test_bad),
  };
  return cmocka_run_group_tests_name("neighbors/neighbors", tests, NULL, NULL);
}
