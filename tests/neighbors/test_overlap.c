/*
 * test_overlap.c: ratios of populations between conditions: against a restatement in double precision, against
 * populations whose shares are known, the same bytes at any number of threads, and points that leave nothing to
 * measure.
 */
#include "testing.h"

#include "core/rng.h"
#include "neighbors/overlap.h"

enum { DIMS = 5, MOST = 900, NEAREST = 15 };

/* Populations 6 standard deviations apart: counts[k][p] points of population p in condition k. */
static size_t make(float *points, int *population, size_t *start, const size_t counts[2][3]) {
  size_t n = 0;
  start[0] = 0;
  for (size_t k = 0; k < 2; k++) {
    for (size_t p = 0; p < 3; p++)
      for (size_t i = 0; i < counts[k][p]; i++, n++) {
        population[n] = (int)p;
        for (size_t d = 0; d < DIMS; d++)
          points[n * DIMS + d] = (float)(6.0 * (d == p) + comp__rng_normal(comp__rng_at(5, COMP__RNG_TEST, n, d), 0));
      }
    start[k + 1] = n;
  }
  return n;
}

static double squared(const float *points, size_t i, size_t j) {
  double sum = 0;
  for (size_t d = 0; d < DIMS; d++) sum += pow((double)points[i * DIMS + d] - (double)points[j * DIMS + d], 2);
  return sum;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double middle(double *values, size_t n) {
  qsort(values, n, sizeof *values, by_value);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The 15th smallest of the distances to points of condition k. */
static double reach(const float *points, const size_t *start, size_t k, size_t i) {
  static double all[MOST];
  size_t n = 0;
  for (size_t j = start[k]; j < start[k + 1]; j++)
    if (j != i) all[n++] = squared(points, i, j);
  qsort(all, n, sizeof *all, by_value);
  return all[n < NEAREST ? n - 1 : NEAREST - 1];
}

/* Mean ratio of population p in condition k. */
static double mean_ratio(const float *found, const int *population, const size_t *start, size_t k, int p) {
  double sum = 0, n = 0;
  for (size_t i = start[k]; i < start[k + 1]; i++)
    if (population[i] == p) sum += (double)found[i], n++;
  return sum / n;
}

/* How often points of condition `of` have point i among their 15 nearest of its condition k. */
static double visits_of(const float *points, const size_t *start, size_t i, size_t k, size_t of) {
  double sum = 0;
  for (size_t j = start[of]; j < start[of + 1]; j++)
    sum += j != i && squared(points, j, i) <= reach(points, start, k, j);
  return sum;
}

static double count_ratio(const float *points, const size_t *start, size_t i) {
  const size_t k = i >= start[1];
  const double far = reach(points, start, k, i);
  double own = 0.5, other = 0.5;
  for (size_t j = start[k]; j < start[k + 1]; j++) {
    if (j != i && squared(points, i, j) > far) continue;
    own += visits_of(points, start, j, k, k);
    other += visits_of(points, start, j, k, 1 - k);
  }
  return log(own / (double)(start[k + 1] - start[k])) - log(other / (double)(start[2 - k] - start[1 - k]));
}

static void restate(double *out, const float *points, const size_t *start) {
  static double raw[MOST], values[NEAREST + 1];
  const size_t n = start[2];
  for (size_t i = 0; i < n; i++) out[i] = count_ratio(points, start, i);
  for (int pass = 0; pass < 3; pass++) {
    memcpy(raw, out, n * sizeof *raw);
    for (size_t i = 0; i < n; i++) {
      const size_t k = i >= start[1];
      size_t m = 0;
      for (size_t j = start[k]; j < start[k + 1]; j++)
        if (j == i || squared(points, i, j) <= reach(points, start, k, i)) values[m++] = raw[j];
      out[i] = middle(values, m);
    }
  }
}

static void restatement(void **state) {
  (void)state;
  static float points[MOST * DIMS], found[MOST], first[MOST];
  static double expected[MOST];
  static int population[MOST];
  size_t start[3], n = make(points, population, start, (const size_t[2][3]){{40, 20, 20}, {30, 40, 0}});
  restate(expected, points, start);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    assert_ok(comp__overlap_ratios(found, context, points, start, 2, DIMS));
    if (t == 0) memcpy(first, found, n * sizeof *found);
    assert_memory_equal(first, found, n * sizeof *found);
    comp_context_free(context);
  }
  for (size_t i = 0; i < n; i++) assert_near((double)found[i], expected[i], 1e-4);
}

static void known_shares(void **state) {
  (void)state;
  static float points[MOST * DIMS], found[MOST];
  static int population[MOST];
  size_t start[3];
  comp_context *context = test_context(2);
  make(points, population, start, (const size_t[2][3]){{200, 40, 160}, {200, 200, 0}});
  assert_ok(comp__overlap_ratios(found, context, points, start, 2, DIMS));
  assert_near(mean_ratio(found, population, start, 0, 0), 0.0, 0.15);
  assert_near(mean_ratio(found, population, start, 0, 1), -log(5.0), 0.25);
  assert_near(mean_ratio(found, population, start, 1, 1), log(5.0), 0.25);
  assert_true(mean_ratio(found, population, start, 0, 2) > 3.0);
  comp_context_free(context);
}

static void little_to_measure(void **state) {
  (void)state;
  float points[8 * DIMS] = {0}, found[8];
  comp_context *context = test_context(2);
  const size_t alone[] = {0, 1, 8}, copies[] = {0, 4, 8}, one[] = {0, 8, 8};
  assert_ok(comp__overlap_ratios(found, context, points, alone, 2, DIMS));
  assert_near((double)found[0], 0.0, 0.0);
  assert_ok(comp__overlap_ratios(found, context, points, copies, 2, DIMS));
  for (size_t i = 0; i < 8; i++) assert_true(isfinite(found[i]));
  assert_ok(comp__overlap_ratios(found, context, points, one, 2, DIMS));
  for (size_t i = 0; i < 8; i++) assert_near((double)found[i], 0.0, 0.0);
  comp_context_free(context);
}

/* Any order of the points, and more than are compared with each other: the rest follows. */
static void any_order_and_many(void **state) {
  (void)state;
  static float points[MOST * DIMS], found[MOST], many[24 * MOST * DIMS], ratios[24 * MOST];
  static int32_t codes[24 * MOST];
  static int population[MOST];
  size_t start[3], n = make(points, population, start, (const size_t[2][3]){{150, 60, 100}, {150, 120, 0}});
  comp_context *context = test_context(2);
  assert_ok(comp__overlap_ratios(found, context, points, start, 2, DIMS));
  for (size_t i = 0; i < n; i++) {
    const size_t from = i * 7 % n; /* n is no multiple of 7 */
    memcpy(many + i * DIMS, points + from * DIMS, DIMS * sizeof *many);
    codes[i] = from >= start[1];
  }
  const size_t once[] = {start[1], n - start[1]};
  assert_ok(comp__overlap_all(ratios, context, &(comp__crowd){n, 2, codes, once}, many, DIMS));
  for (size_t i = 0; i < n; i++) assert_near((double)ratios[i], (double)found[i * 7 % n], 1e-5);

  const size_t copies = 24, total = n * copies, counts[] = {copies * start[1], copies * (n - start[1])};
  assert_true(total > 8192);
  for (size_t i = 0; i < total; i++) {
    const size_t from = i % n;
    codes[i] = from >= start[1];
    for (size_t d = 0; d < DIMS; d++)
      many[i * DIMS + d] =
          points[from * DIMS + d] + 0.3f * (float)comp__rng_normal(comp__rng_at(6, COMP__RNG_TEST, i, d), 0);
  }
  assert_ok(comp__overlap_all(ratios, context, &(comp__crowd){total, 2, codes, counts}, many, DIMS));
  size_t wrong = 0;
  for (size_t i = 0; i < total; i++) wrong += (ratios[i] >= COMP__UNSHARED) != (population[i % n] == 2);
  assert_true(wrong < total / 100);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(restatement),
      cmocka_unit_test(known_shares),
      cmocka_unit_test(little_to_measure),
      cmocka_unit_test(any_order_and_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
