/* test_independence.c: KL divergences and mutual information against closed forms and quadrature, the training bound
 * against the penalty restated, bytes at several thread counts, bad input. */
#include "testing.h"

#include "core/alloc.h"
#include "core/rng.h"
#include "diagnose/independence.h"

/* Posteriors by condition, in the order of the data: condition k has counts[k] samples. */
static void make(comp__posteriors *out, const float *mean, const float *scale, const size_t *counts, size_t conditions,
                 size_t dims) {
  int32_t codes[4096];
  size_t n = 0;
  for (size_t k = 0; k < conditions; k++)
    for (size_t i = 0; i < counts[k]; i++) codes[n++] = (int32_t)k;
  assert_ok(comp__posteriors_init(out, mean, scale, codes, n, dims, conditions, 1));
}

static void check_within(comp__estimate e, double truth, double errors) {
  if (!(e.error > 0) || fabs(e.value - truth) > errors * e.error)
    fail_msg("%.6g +- %.2g is not near %.6g", e.value, e.error, truth);
}

/* Two copies of one posterior a condition: the mixtures are two normal distributions, whose divergence is known. */
static void two_normals(void **state) {
  (void)state;
  enum { DIMS = 3 };
  const float m0[DIMS] = {0, 0.5f, -1}, m1[DIMS] = {1, 0, -0.5f}, s0[DIMS] = {0.5f, 1, 2}, s1[DIMS] = {1, 0.8f, 1.5f};
  float mean[4 * DIMS], scale[4 * DIMS];
  double truth = 0;
  for (size_t i = 0; i < 4; i++)
    for (size_t d = 0; d < DIMS; d++) {
      mean[i * DIMS + d] = i < 2 ? m0[d] : m1[d];
      scale[i * DIMS + d] = i < 2 ? s0[d] : s1[d];
    }
  for (size_t d = 0; d < DIMS; d++) {
    double a = (double)s0[d], b = (double)s1[d], shift = (double)(m0[d] - m1[d]);
    truth += 0.5 * (log(b / a) + (a * a + shift * shift) / (2 * b * b) - 0.5);
    truth += 0.5 * (log(a / b) + (b * b + shift * shift) / (2 * a * a) - 0.5);
  }
  comp__posteriors p;
  comp__independence result;
  comp_context *context = test_context(2);
  make(&p, mean, scale, (size_t[]){2, 2}, 2, DIMS);
  assert_ok(comp__independence_estimate(&result, context, &p, SIZE_MAX, 4000, 3));
  check_within(result.kl, truth, 3);
  check_within(result.kl_apart, truth, 3); /* the other copy is the same distribution */
  assert_near(result.entropy, log(2), 1e-12);
  comp__independence_release(&result);
  comp__posteriors_release(&p);
  comp_context_free(context);
}

/* The sum of the densities of some posteriors. */
static double density(double z, const float *mean, const float *scale, size_t begin, size_t end) {
  double sum = 0;
  for (size_t j = begin; j < end; j++) {
    double u = (z - (double)mean[j]) / (double)scale[j];
    sum += exp(-0.5 * u * u) / ((double)scale[j] * sqrt(2 * M_PI));
  }
  return sum;
}

enum { COUNT = 600 };

/* KL and information of three conditions by quadrature. */
static void quadrature(double *kl, double *information, const float *mean, const float *scale, const size_t *start) {
  *kl = *information = 0;
  const double step = 1e-3;
  for (size_t k = 0; k < 3; k++) {
    double own = (double)(start[k + 1] - start[k]), n = (double)start[3];
    for (double z = -12; z < 12; z += step) {
      double q = density(z, mean, scale, start[k], start[k + 1]) / own;
      double others = density(z, mean, scale, 0, start[k]) + density(z, mean, scale, start[k + 1], start[3]);
      double rest = others / (n - own), all = (q * own + others) / n;
      if (q < 1e-250) continue;
      *kl += own / n * step * q * log(q / rest);
      *information += own / n * step * q * log(q / all);
    }
  }
}

/* Mixtures of many normals with scales of their own, three conditions of different size. */
static void mixtures(void **state) {
  (void)state;
  float mean[COUNT], scale[COUNT];
  const size_t counts[] = {100, 200, 300}, start[] = {0, 100, 300, 600};
  comp__rng rng = comp__rng_at(11, COMP__RNG_TEST, 0, 0);
  for (size_t i = 0; i < COUNT; i++) {
    double shift = i < 100 ? -1 : i < 300 ? 0.5 : 0.8;
    mean[i] = (float)(shift + comp__rng_normal(rng, i));
    scale[i] = (float)(0.3 + 0.5 * comp__rng_uniform(rng, 1000 + i));
  }
  double kl, information;
  quadrature(&kl, &information, mean, scale, start);
  comp__posteriors p;
  comp__independence result;
  comp_context *context = test_context(2);
  make(&p, mean, scale, counts, 3, 1);
  assert_ok(comp__independence_estimate(&result, context, &p, SIZE_MAX, 200, 5));
  check_within(result.kl, kl, 3);
  check_within(result.information, information, 3);
  assert_true(result.information.value < result.entropy && result.rows == COUNT);
  comp__independence_release(&result);
  /* Part of the samples: the error is larger, and still honest. */
  assert_ok(comp__independence_estimate(&result, context, &p, 200, 50, 6));
  assert_true(result.rows >= 200 && result.rows < 204);
  check_within(result.kl, kl, 3);
  check_within(result.information, information, 3);
  comp__independence_release(&result);
  comp__posteriors_release(&p);
  comp_context_free(context);
}

/* The standard error is one: over many seeds the estimates scatter around the truth by it. */
static void errors_are_honest(void **state) {
  (void)state;
  float mean[COUNT], scale[COUNT];
  const size_t counts[] = {100, 200, 300}, start[] = {0, 100, 300, 600};
  comp__rng rng = comp__rng_at(12, COMP__RNG_TEST, 0, 0);
  for (size_t i = 0; i < COUNT; i++) {
    mean[i] = (float)comp__rng_normal(rng, i) * (i < 300 ? 1.0f : 2.0f);
    scale[i] = 0.5f;
  }
  double kl, information, squares = 0;
  quadrature(&kl, &information, mean, scale, start);
  comp__posteriors p;
  comp_context *context = test_context(1);
  make(&p, mean, scale, counts, 3, 1);
  enum { SEEDS = 200 };
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    comp__independence result;
    assert_ok(comp__independence_estimate(&result, context, &p, SIZE_MAX, 4, seed));
    squares += pow((result.kl.value - kl) / result.kl.error, 2) / SEEDS;
    comp__independence_release(&result);
  }
  if (squares < 0.7 || squares > 1.4) fail_msg("mean squared z %.3f", squares);
  comp__posteriors_release(&p);
  comp_context_free(context);
}

enum { MANY = 1200, WIDE = 8 };

static void random_posteriors(comp__posteriors *p, double shift) {
  static float mean[MANY * WIDE], scale[MANY * WIDE];
  comp__rng rng = comp__rng_at(13, COMP__RNG_TEST, 0, 0);
  for (size_t i = 0; i < MANY * WIDE; i++) {
    mean[i] = (float)(comp__rng_normal(rng, i) + (i < MANY * WIDE / 2 ? shift : 0));
    scale[i] = 0.4f;
  }
  make(p, mean, scale, (size_t[]){MANY / 2, MANY / 2}, 2, WIDE);
}

/* Where nothing depends on c the own posterior makes the bound large, and leaving it out gives nearly 0. */
static void left_out(void **state) {
  (void)state;
  comp__posteriors p;
  comp__estimate least;
  comp__independence result;
  comp_context *context = test_context(2);
  random_posteriors(&p, 0);
  assert_ok(comp__independence_estimate(&result, context, &p, SIZE_MAX, 2, 1));
  assert_true(result.kl.value > 1);
  assert_true(fabs(result.kl_apart.value) < 0.3);
  assert_true(result.information_apart.value < 0); /* a lower bound */
  assert_ok(comp__information_least(&least, context, &p, 300, 1));
  assert_true(least.value >= 0 && least.value < 0.02);
  comp__independence_release(&result);
  comp__posteriors_release(&p);
  random_posteriors(&p, 1);
  assert_ok(comp__independence_estimate(&result, context, &p, SIZE_MAX, 2, 1));
  assert_true(result.kl_apart.value > 2);
  assert_ok(comp__information_least(&least, context, &p, 300, 1));
  /* The truth: two normal distributions, by their distance in standard deviations. */
  double distance = sqrt(WIDE / (1 + 0.4 * 0.4)), truth = 0;
  for (double u = -8; u < 12; u += 1e-3) {
    double other = exp(-0.5 * u * u), own = exp(-0.5 * (u - distance) * (u - distance));
    truth += 1e-3 / sqrt(2 * M_PI) * own * log(2 * own / (own + other));
  }
  if (least.value < 0.8 * truth || least.value > truth + 3 * least.error || result.information.value < truth)
    fail_msg("%g +- %g, at most %g; truth %g", least.value, least.error, result.information.value, truth);
  comp__independence_release(&result);
  comp__posteriors_release(&p);
  comp_context_free(context);
}

/* Conditions of different size: leaving out is biased then, and shuffled conditions have the same bias. */
static void shuffled(void **state) {
  (void)state;
  static float mean[MANY * WIDE], scale[MANY * WIDE];
  comp__rng rng = comp__rng_at(14, COMP__RNG_TEST, 0, 0);
  comp_context *context = test_context(2);
  for (int dependent = 0; dependent < 2; dependent++) {
    comp__posteriors p;
    comp__null null;
    for (size_t i = 0; i < MANY * WIDE; i++) {
      mean[i] = (float)(comp__rng_normal(rng, i) + (dependent && i < 100 * WIDE ? 0.4 : 0));
      scale[i] = 0.4f;
    }
    make(&p, mean, scale, (size_t[]){100, MANY - 100}, 2, WIDE);
    assert_ok(comp__independence_shuffled(&null, context, &p, MANY, 19, 1));
    assert_true(null.mean > 0.5 && null.deviation > 0); /* the bias */
    if (dependent)
      assert_true(null.excess > 4 * null.deviation && null.p <= 0.05);
    else
      assert_true(fabs(null.excess) < 4 * null.deviation && null.p > 0.05);
    assert_int_equal(null.rows, MANY);
    comp__posteriors_release(&p);
  }
  comp_context_free(context);
}

/* The bound falls with the batch, to the value for all data (Theorem 1). */
static void bound(void **state) {
  (void)state;
  comp__posteriors p;
  comp__independence result;
  comp__estimate small, medium, all;
  comp_context *context = test_context(2);
  random_posteriors(&p, 0.3);
  assert_ok(comp__independence_estimate(&result, context, &p, SIZE_MAX, 10, 1));
  assert_ok(comp__training_bound(&small, context, &p, 60, 20, 1));
  assert_ok(comp__training_bound(&medium, context, &p, 300, 8, 1));
  assert_ok(comp__training_bound(&all, context, &p, 5000, 10, 1));
  assert_true(small.value > medium.value + 3 * small.error && medium.value > all.value + 3 * medium.error);
  if (fabs(all.value - result.kl.value) > 3 * hypot(all.error, result.kl.error))
    fail_msg("%.5g +- %.2g and %.5g +- %.2g", all.value, all.error, result.kl.value, result.kl.error);
  comp__independence_release(&result);
  comp__posteriors_release(&p);
  comp_context_free(context);
}

static void same_bytes(void **state) {
  (void)state;
  comp__posteriors p;
  comp__independence first = {0};
  comp__estimate first_bound = {0};
  random_posteriors(&p, 0.2);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__independence result;
    comp__estimate b;
    assert_ok(comp__independence_estimate(&result, context, &p, 500, 2, 1));
    assert_ok(comp__training_bound(&b, context, &p, 256, 3, 1));
    if (t == 0) {
      first = result;
      first_bound = b;
    } else {
      assert_memory_equal(&first.kl, &result.kl, 4 * sizeof result.kl);
      assert_memory_equal(first.kl_by_condition, result.kl_by_condition, 2 * sizeof(double));
      assert_memory_equal(&first_bound, &b, sizeof b);
      comp__independence_release(&result);
    }
    comp_context_free(context);
  }
  comp__independence_release(&first);
  comp__posteriors_release(&p);
}

static void too_few(void **state) {
  (void)state;
  comp__posteriors p;
  const float values[3] = {1, 1, 1};
  assert_error(comp__posteriors_init(&p, values, values, (int32_t[]){0, 0, 1}, 3, 1, 2, 1), COMP_ERR_ARGUMENT,
               "condition number 2 has 1 sample;");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_normals), cmocka_unit_test(mixtures), cmocka_unit_test(errors_are_honest),
      cmocka_unit_test(left_out),    cmocka_unit_test(shuffled), cmocka_unit_test(bound),
      cmocka_unit_test(same_bytes),  cmocka_unit_test(too_few),
  };
  return cmocka_run_group_tests_name("diagnose/independence", tests, NULL, NULL);
}
