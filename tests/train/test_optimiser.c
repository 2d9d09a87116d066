/* test_optimiser.c: steps of Adam against the published formulas in double precision, clipping, gradients that are not
 * finite; the same bytes at any thread count. */
#include "testing.h"

#include "train/optimiser.h"

enum { N = 40003, STEPS = 3 }; /* several chunks, and a rest of a vector */
static const double RATE = 1e-2, DECAY = 0.1;

static float values[N], grads[N], m[N], v[N];

static float start_of(size_t i) {
  return sinf((float)i);
}

static float gradient_of(size_t i, int step) {
  return cosf((float)(i * 7 + (size_t)step));
}

static bool run(int threads, int steps, double clip, size_t bad_at, float bad) {
  comp_context *context = test_context(threads);
  comp__state state = {.params = values, .grads = grads};
  comp__optimiser optimiser = {m, v, 0};
  bool finite = true;
  for (size_t i = 0; i < N; i++) values[i] = start_of(i), m[i] = v[i] = 0.0f;
  for (int step = 0; step < steps; step++) {
    for (size_t i = 0; i < N; i++) grads[i] = gradient_of(i, step);
    if (bad_at < N) grads[bad_at] = bad;
    assert_ok(comp__optimiser_step(&finite, context, &optimiser, &state, N, RATE, DECAY, clip));
  }
  comp_context_free(context);
  return finite;
}

/* Loshchilov and Hutter's AdamW. */
static double expected(size_t i, double clip) {
  double p = start_of(i), mean = 0.0, square = 0.0;
  for (int step = 0; step < STEPS; step++) {
    double norm = 0.0, g = gradient_of(i, step);
    for (size_t j = 0; clip > 0.0 && j < N; j++) norm += pow((double)gradient_of(j, step), 2);
    if (clip > 0.0) g *= fmin(1.0, clip / sqrt(norm));
    mean = 0.9 * mean + 0.1 * g;
    square = 0.999 * square + 0.001 * g * g;
    p = p * (1.0 - RATE * DECAY) -
        RATE * mean / (1.0 - pow(0.9, step + 1)) / (sqrt(square / (1.0 - pow(0.999, step + 1))) + 1e-8);
  }
  return p;
}

static void follows_the_formulas(void **state) {
  (void)state;
  const double clips[] = {0.0, 1.0, 1e6};
  for (int c = 0; c < 3; c++) {
    assert_true(run(2, STEPS, clips[c], N, 0.0f));
    for (size_t i = 0; i < N; i += 2857) assert_near(values[i], expected(i, clips[c]), 2e-6);
    assert_near(values[N - 1], expected(N - 1, clips[c]), 2e-6);
  }
}

static void same_bytes_at_any_thread_count(void **state) {
  (void)state;
  static float first[N];
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    run(TEST_THREADS[t], STEPS, 1.0, N, 0.0f);
    if (t == 0) memcpy(first, values, sizeof first);
    assert_memory_equal(values, first, sizeof first);
  }
}

static void finds_what_is_not_finite(void **state) {
  (void)state;
  const size_t places[] = {0, 16383, 16384, N - 1};
  const double clips[] = {0.0, 1.0};
  for (int p = 0; p < 4; p++)
    for (int c = 0; c < 2; c++) {
      assert_false(run(2, 1, clips[c], places[p], NAN));
      assert_false(run(2, 1, clips[c], places[p], -INFINITY));
      assert_true(run(2, 1, clips[c], places[p], 3e38f)); /* large, but a number */
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_the_formulas),
      cmocka_unit_test(same_bytes_at_any_thread_count),
      cmocka_unit_test(finds_what_is_not_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
