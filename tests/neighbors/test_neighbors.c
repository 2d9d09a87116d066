/* test_neighbors.c: exact search against all pairs in double precision, at several thread counts; ties, duplicates,
 * bounds of k, bad points; approximate search. */
#include "testing.h"

#include "core/rng.h"
#include "neighbors/options.h"
#include "neighbors/order.h"
#include "neighbors/rounds.h"

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

/* Rows as check_rows() wants them, but for some neighbours that are missing: each distance belongs to its index, no
 * index twice, none is the row itself, nearest first, equal distances by index. */
static void check_valid(const comp_neighbors *found, const comp_matrix *points, comp_distance metric) {
  const size_t n = comp_matrix_rows(points), dims = comp_matrix_cols(points), k = comp_neighbors_k(found);
  const float *x = comp_matrix_const_values(points);
  for (size_t i = 0; i < n; i++) {
    const int32_t *index = comp_neighbors_indices(found) + i * k;
    const float *d = comp_neighbors_distances(found) + i * k;
    for (size_t j = 0; j < k; j++) {
      assert_true(index[j] >= 0 && (size_t)index[j] < n && (size_t)index[j] != i);
      assert_true(j == 0 || d[j - 1] < d[j] || (d[j - 1] == d[j] && index[j - 1] < index[j]));
      for (size_t l = 0; l < j; l++) assert_true(index[l] != index[j]);
      double is = distance(x + i * dims, x + (size_t)index[j] * dims, dims, metric);
      assert_true(fabs((double)d[j] - is) <= 1e-6 * is + 1e-12);
    }
  }
}

/* The share of the true neighbours that were found. */
static double share_found(const comp_neighbors *found, const comp_neighbors *truth) {
  const size_t n = comp_neighbors_rows(truth), k = comp_neighbors_k(truth);
  size_t right = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++)
      right += comp_neighbors_distances(found)[i * k + j] <= comp_neighbors_distances(truth)[i * k + k - 1];
  return (double)right / (double)(n * k);
}

static void check_approximate(const comp_matrix *points, size_t k, comp_distance metric, bool less) {
  comp_neighbors *truth = find(points, k, metric, COMP_SEARCH_EXACT, 2);
  comp_neighbors *first = find(points, k, metric, COMP_SEARCH_APPROXIMATE, TEST_THREADS[0]);
  const double recall = share_found(first, truth);
  check_valid(first, points, metric);
  assert_true(recall >= 0.98);
  assert_true((recall < 1.0) == less);
  assert_true(fabs(recall - comp_neighbors_recall(first)) < 0.01);
  for (int t = 1; t < TEST_THREADS_COUNT; t++) {
    comp_neighbors *other = find(points, k, metric, COMP_SEARCH_APPROXIMATE, TEST_THREADS[t]);
    check_same(first, other);
    comp_neighbors_free(other);
  }
  comp_neighbors_free(first);
  comp_neighbors_free(truth);
}

/* Points along a few directions, so that few of the many tiles hold the neighbours. */
static comp_matrix *flat_points(size_t n, size_t dims, uint64_t seed) {
  comp_matrix *points = random_points(n, dims, seed);
  float *x = comp_matrix_values(points);
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) x[i * dims + d] = d < 5 ? 3.0f * x[i * dims + d] : 0.3f * x[i * dims + d];
  return points;
}

/* Few tiles are enough: by differences, and by products. */
static void test_approximate(void **state) {
  (void)state;
  const size_t dims[] = {10, 70};
  for (size_t c = 0; c < 2; c++)
    for (int metric = 0; metric < 2; metric++) {
      comp_matrix *points = flat_points(12000, dims[c], 11);
      check_approximate(points, 15, (comp_distance)metric, true);
      comp_matrix_free(points);
    }
}

/* Nothing is near to anything: then all is searched, and all is found. */
static void test_approximate_hard(void **state) {
  (void)state;
  comp_matrix *points = random_points(9000, 40, 11);
  check_approximate(points, 15, COMP_DISTANCE_EUCLIDEAN, false);
  comp_matrix_free(points);
}

/* Many copies of one point, and five of each of the others. */
static void test_approximate_copies(void **state) {
  (void)state;
  comp_matrix *points = flat_points(12000, 8, 4);
  float *x = comp_matrix_values(points);
  for (size_t i = 0; i < 600; i++) memcpy(x + i * 8, x, 8 * sizeof *x);
  for (size_t i = 600; i < 12000; i++) memcpy(x + i * 8, x + i / 5 * 5 * 8, 8 * sizeof *x);
  comp_neighbors *found = find(points, 40, COMP_DISTANCE_EUCLIDEAN, COMP_SEARCH_APPROXIMATE, 2);
  comp_neighbors *truth = find(points, 40, COMP_DISTANCE_EUCLIDEAN, COMP_SEARCH_EXACT, 2);
  check_valid(found, points, COMP_DISTANCE_EUCLIDEAN);
  assert_true(share_found(found, truth) >= 0.98);
  for (size_t i = 0; i < 600; i++)
    for (size_t j = 0; j < 40; j++) assert_true(comp_neighbors_distances(found)[i * 40 + j] == 0.0f);
  comp_neighbors_free(found);
  comp_neighbors_free(truth);
  comp_matrix_free(points);
}

/* Queries that are other points; and few points, of which all neighbours are found. */
static void test_approximate_query(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_matrix *points = flat_points(12000, 10, 1), *queries = flat_points(2000, 10, 2), *few = random_points(500, 4, 3);
  comp__neighbors_options options = {30, COMP_DISTANCE_EUCLIDEAN, COMP_SEARCH_EXACT};
  comp_neighbors *truth, *found;
  assert_ok(comp__neighbors_query(&truth, context, points, queries, &options));
  options.search = COMP_SEARCH_APPROXIMATE;
  assert_ok(comp__neighbors_query(&found, context, points, queries, &options));
  assert_true(share_found(found, truth) >= 0.98 && comp_neighbors_recall(found) < 1.0);
  comp_neighbors_free(truth);
  comp_neighbors_free(found);
  assert_ok(comp__neighbors_find(&found, context, few, &options));
  assert_true(comp_neighbors_recall(found) == 1.0);
  check_rows(found, few, few, true, COMP_DISTANCE_EUCLIDEAN);
  comp_neighbors_free(found);
  comp_matrix_free(points);
  comp_matrix_free(queries);
  comp_matrix_free(few);
  comp_context_free(context);
}

/* What a thread keeps for the candidates of a group does not grow with the points. */
static void test_rounds_take_little_memory(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__rounds graph;
  int32_t *lists = calloc(200000, sizeof *lists);
  assert_ok(comp__rounds_init(&graph, context, lists, 200000, 1));
  assert_true(graph.most <= COMP__TILE_ROWS * graph.follow * graph.room);
  comp__rounds_release(&graph);
  free(lists);
  comp_context_free(context);
}

/* Rounds alone: from half of the neighbours to nearly all, the same at any number of threads. */
static void test_rounds_find_more(void **state) {
  (void)state;
  enum { N = 4096, DIMS = 12, K = 20 };
  comp_matrix *random = flat_points(N, DIMS, 6);
  int32_t *order = malloc(N * sizeof *order), *own = malloc(N * sizeof *own), *lists[3];
  float *x = malloc(N * DIMS * sizeof *x), *truth = malloc(N * K * sizeof *truth), *distances[3];
  assert_ok(comp__order_points(order, comp_matrix_values(random), N, DIMS, COMP__TILE, COMP__TILE_ROWS));
  for (int32_t i = 0; i < N; i++) {
    memcpy(x + i * DIMS, comp_matrix_values(random) + order[i] * DIMS, DIMS * sizeof *x);
    own[i] = i;
  }
  comp__points points = {x, NULL, N, DIMS, true};
  comp__question question = {points, points, own, K};
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__tiles *tiles;
    comp__rounds graph;
    lists[t] = malloc(N * K * sizeof(int32_t));
    distances[t] = malloc(N * K * sizeof(float));
    assert_ok(comp__tiles_new(&tiles, context, &question));
    assert_ok(comp__tiles_search(tiles, lists[t], truth, &(comp__where){0}));
    assert_ok(comp__tiles_search(tiles, lists[t], distances[t], &(comp__where){.tiles = 2}));
    assert_ok(comp__rounds_init(&graph, context, lists[t], N, K));
    double share[3];
    for (int round = 0; round < 3; round++) {
      size_t found = 0;
      for (size_t i = 0; i < N * K; i++) found += distances[t][i] <= truth[i / K * K + K - 1];
      share[round] = (double)found / (N * K);
      assert_ok(comp__rounds_next(&graph, tiles, distances[t]));
    }
    assert_true(share[0] < 0.9 && share[1] > share[0] + 0.05 && share[2] > 0.98);
    assert_memory_equal(lists[t], lists[0], N * K * sizeof(int32_t));
    assert_memory_equal(distances[t], distances[0], N * K * sizeof(float));
    comp__rounds_release(&graph);
    comp__tiles_free(tiles);
    comp_context_free(context);
  }
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    free(lists[t]);
    free(distances[t]);
  }
  free(order);
  free(own);
  free(x);
  free(truth);
  comp_matrix_free(random);
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
      cmocka_unit_test(test_exact),
      cmocka_unit_test(test_ties),
      cmocka_unit_test(test_all_equal),
      cmocka_unit_test(test_offset),
      cmocka_unit_test(test_no_direction),
      cmocka_unit_test(test_query),
      cmocka_unit_test(test_approximate),
      cmocka_unit_test(test_approximate_hard),
      cmocka_unit_test(test_rounds_find_more),
      cmocka_unit_test(test_rounds_take_little_memory),
      cmocka_unit_test(test_approximate_copies),
      cmocka_unit_test(test_approximate_query),
      cmocka_unit_test(test_bad),
  };
  return cmocka_run_group_tests_name("neighbors/neighbors", tests, NULL, NULL);
}
