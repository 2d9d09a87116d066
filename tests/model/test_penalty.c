/*
 * test_penalty.c: the CoMP penalty against the paper: the closed-form gradient of its appendix, Theorem 1 (an upper
 * bound on a sum of KL divergences that gets tight with the batch), memory that grows with the batch and not with its
 * square, large batches, and the same bytes at any number of threads.
 */
#include "testing.h"

#include "core/alloc.h"
#include "core/rng.h"
#include "model/penalty.h"
#include "reference.h"

typedef struct sample {
  size_t rows, dims, start[3];
  float *z, *mean, *d_z, *d_mean;
} sample;

/* Two conditions: means normal around -shift and +shift, z = mean + scale * noise. */
static sample make_sample(size_t rows, size_t dims, double shift, double scale, uint64_t seed) {
  sample s = {rows, dims, {0, rows / 2, rows}, NULL, NULL, NULL, NULL};
  assert_ok(comp__alloc(&s.z, rows * dims, sizeof(float)));
  assert_ok(comp__alloc(&s.mean, rows * dims, sizeof(float)));
  assert_ok(comp__alloc(&s.d_z, rows * dims, sizeof(float)));
  assert_ok(comp__alloc(&s.d_mean, rows * dims, sizeof(float)));
  for (size_t i = 0; i < rows; i++)
    for (size_t d = 0; d < dims; d++) {
      comp__rng rng = comp__rng_at(seed, COMP__RNG_TEST, i, d);
      double centre = i < rows / 2 ? -shift : shift;
      s.mean[i * dims + d] = (float)(centre + comp__rng_normal(rng, 0));
      s.z[i * dims + d] = s.mean[i * dims + d] + (float)(scale * comp__rng_normal(rng, 1));
    }
  return s;
}

static void free_sample(sample *s) {
  comp__free(s->z), comp__free(s->mean), comp__free(s->d_z), comp__free(s->d_mean);
}

static double run(comp_context *context, const sample *s, double scale, bool gradient) {
  comp__model_options options = {.scale = scale, .include_self = true};
  comp__penalty_input input = {s->rows, s->dims, 2, s->start, s->z, s->mean, NULL, scale, NULL, NULL};
  comp__penalty_gradient out = {gradient ? s->d_z : NULL, gradient ? s->d_mean : NULL, NULL};
  const comp__penalty *penalty = comp__penalty_find(COMP_PENALTY_COMP);
  void *scratch;
  double value;
  assert_ok(comp__alloc(&scratch, penalty->scratch(&options, s->rows, s->dims, 2), 1));
  assert_ok(penalty->run(&value, context, &options, &input, &out, 1.0f, scratch));
  comp__free(scratch);
  return value;
}

/* The appendix: sigma^2 = 1/2, two conditions, the gradient by mean_i with z_i = mean_i + eps_i. */
static void closed_form_gradient(void **state) {
  (void)state;
  enum { ROWS = 24, DIMS = 3 };
  comp_context *context = test_context(2);
  sample s = make_sample(ROWS, DIMS, 0.4, sqrt(0.5), 1);
  run(context, &s, sqrt(0.5), true);
  static double w[ROWS][ROWS], own[ROWS], other[ROWS];
  for (size_t i = 0; i < ROWS; i++) {
    own[i] = other[i] = 0;
    for (size_t j = 0; j < ROWS; j++) {
      double d2 = 0;
      for (size_t d = 0; d < DIMS; d++) d2 += pow((double)s.z[i * DIMS + d] - (double)s.mean[j * DIMS + d], 2);
      w[i][j] = exp(-d2);
      *((i < ROWS / 2) == (j < ROWS / 2) ? &own[i] : &other[i]) += w[i][j];
    }
  }
  for (size_t i = 0; i < ROWS; i++)
    for (size_t d = 0; d < DIMS; d++) {
      double expected = 0;
      for (size_t j = 0; j < ROWS; j++) {
        bool same = (i < ROWS / 2) == (j < ROWS / 2);
        double sign = same ? 1 : -1, to = s.mean[j * DIMS + d] - s.z[i * DIMS + d],
               from = s.z[j * DIMS + d] - s.mean[i * DIMS + d];
        expected += sign * 2 * w[i][j] * to / ROWS / (same ? own[i] : other[i]);
        expected += sign * 2 * w[j][i] * from / ROWS / (same ? own[j] : other[j]);
      }
      assert_near(s.d_z[i * DIMS + d] + s.d_mean[i * DIMS + d], expected, 1e-5);
    }
  free_sample(&s);
  comp_context_free(context);
}

/* q(z | c) = N(+-shift, 1 + sigma^2) in each dimension: the sum of KL divergences is known. */
static void theorem_1(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const double shift = 0.5, scale = 1.0;
  const size_t dims = 2;
  double kl = (double)dims * pow(2 * shift, 2) / (2 * (1 + scale * scale)), last = INFINITY;
  for (size_t rows = 8; rows <= 2048; rows *= 4) {
    size_t batches = 400000 / rows / (rows > 500 ? 8 : 1);
    double sum = 0, squares = 0;
    for (size_t b = 0; b < batches; b++) {
      sample s = make_sample(rows, dims, shift, scale, 100 + b);
      double value = run(context, &s, scale, false);
      sum += value;
      squares += value * value;
      free_sample(&s);
    }
    double mean = sum / (double)batches, error = sqrt((squares / (double)batches - mean * mean) / (double)batches);
    assert_true(mean >= kl - 3 * error);  /* an upper bound ... */
    assert_true(mean < last + 3 * error); /* ... that comes down with the batch ... */
    last = mean;
  }
  assert_near(last, kl, 0.03); /* ... to the divergence itself */
  comp_context_free(context);
}

static void memory_grows_linearly(void **state) {
  (void)state;
  const comp__penalty *penalty = comp__penalty_find(COMP_PENALTY_COMP);
  comp__model_options options = {.scale = 0.1};
  size_t base = penalty->scratch(&options, 10000, 40, 2);
  for (size_t k = 2; k <= 8; k *= 2) {
    double ratio = (double)penalty->scratch(&options, 10000 * k, 40, 2) / (double)base;
    assert_near(ratio, (double)k, 0.02);
  }
  assert_true(penalty->scratch(&options, 100000, 40, 2) < (size_t)400 << 20);
}

static void same_bytes_and_large_batches(void **state) {
  (void)state;
  enum { ROWS = 3001, DIMS = 17 };
  float *first = NULL;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    sample s = make_sample(ROWS, DIMS, 0.2, 0.1, 3);
    double value = run(context, &s, 0.1, true);
    if (t == 0) {
      double *z = malloc(ROWS * DIMS * sizeof *z), *mean = malloc(ROWS * DIMS * sizeof *mean);
      for (size_t i = 0; i < ROWS * DIMS; i++) z[i] = s.z[i], mean[i] = s.mean[i];
      comp__model_options options = {.scale = 0.1, .include_self = true};
      assert_near(value, reference_comp(&options, ROWS, DIMS, 2, s.start, NULL, z, mean, NULL, 0), 1e-5);
      free(z), free(mean);
      first = malloc(2 * ROWS * DIMS * sizeof *first);
      memcpy(first, s.d_z, ROWS * DIMS * sizeof *first);
      memcpy(first + ROWS * DIMS, s.d_mean, ROWS * DIMS * sizeof *first);
    }
    assert_memory_equal(first, s.d_z, ROWS * DIMS * sizeof *first);
    assert_memory_equal(first + ROWS * DIMS, s.d_mean, ROWS * DIMS * sizeof *first);
    free_sample(&s);
    comp_context_free(context);
  }
  free(first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_form_gradient),
      cmocka_unit_test(theorem_1),
      cmocka_unit_test(memory_grows_linearly),
      cmocka_unit_test(same_bytes_and_large_batches),
  };
  return cmocka_run_group_tests_name("model/penalty", tests, NULL, NULL);
}
