/*
 * test_panels.c: batches so wide that the output layer runs in several panels of rows, and batches that are views of
 * rows of a larger matrix: gradients against central differences of a restatement in double precision.
 */
#include "testing.h"

#include "core/alloc.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "model/work.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"
#include "reference.h"

enum { ROWS = 300, FEATURES = 41003, LATENT = 3, SPARE = 7 };
static const comp__pull PULL = {1.3, 0.4};

/* The same samples twice: in order, and scattered over a matrix with other rows between. */
typedef struct problem {
  comp__network network;
  comp__state state;
  comp_matrix *x, *scattered;
  comp__batch batch, view;
  size_t start[3], take[ROWS];
  uint64_t ids[ROWS];
  float library[ROWS], eps[ROWS * LATENT];
} problem;

static void setup(problem *p, size_t width, bool counts) {
  memset(p, 0, sizeof *p);
  comp__model_options o = {.latent = LATENT,
                           .hidden = {width, width},
                           .n_hidden = 2,
                           .encoder_sees_condition = true,
                           .decoder_sees_condition = true,
                           .scale = 0.5,
                           .beta = 0.7,
                           .penalty = COMP_PENALTY_COMP,
                           .include_self = true,
                           .likelihood = counts ? COMP_LIKELIHOOD_NB : COMP_LIKELIHOOD_GAUSSIAN};
  assert_ok(comp__network_init(&p->network, &o, FEATURES, 2));
  size_t n = p->network.params.size;
  assert_ok(comp__calloc(&p->state.params, n, sizeof(float)));
  assert_ok(comp__calloc(&p->state.grads, n, sizeof(float)));
  assert_ok(comp__calloc(&p->state.half, n, sizeof(uint16_t)));
  assert_ok(comp__calloc(&p->state.buffers, p->network.buffers.size, sizeof(float)));
  comp__layout_initialise(&p->network.params, p->state.params, 11);
  comp__layout_initialise(&p->network.buffers, p->state.buffers, 11);
  comp__f32_to_bf16(p->state.half, p->state.params, n);
  assert_ok(comp_matrix_new_dense(&p->x, ROWS, FEATURES));
  assert_ok(comp_matrix_new_dense(&p->scattered, ROWS + SPARE, FEATURES));
  for (size_t i = 0; i < ROWS + SPARE; i++)
    comp__rng_fill_normal(p->scattered->values + i * FEATURES, FEATURES, comp__rng_at(5, COMP__RNG_TEST, 0, i), 0);
  for (size_t i = 0; counts && i < (ROWS + SPARE) * FEATURES; i++)
    p->scattered->values[i] = floorf(fmaxf(0.0f, p->scattered->values[i]) * 3.0f);
  for (size_t i = 0; i < ROWS; i++) {
    p->take[i] = i * 7 % (ROWS + SPARE);
    memcpy(p->x->values + i * FEATURES, p->scattered->values + p->take[i] * FEATURES, FEATURES * sizeof(float));
    p->ids[i] = i * 17 + 5;
    p->library[i] = 20.0f + (float)i;
    comp__rng_fill_normal(p->eps + i * LATENT, LATENT, comp__rng_at(9, COMP__RNG_LATENT, 4, p->ids[i]), 0);
  }
  p->start[1] = ROWS / 3;
  p->start[2] = ROWS;
  p->batch =
      (comp__batch){.rows = ROWS, .x = p->x, .input = p->x, .start = p->start, .ids = p->ids, .library = p->library};
  p->view = p->batch;
  p->view.x = p->view.input = p->scattered;
  p->view.take = p->take;
}

static void teardown(problem *p) {
  comp__network_release(&p->network);
  comp__free(p->state.params);
  comp__free(p->state.grads);
  comp__free(p->state.half);
  comp__free(p->state.buffers);
  comp_matrix_free(p->x);
  comp_matrix_free(p->scattered);
}

static double step_loss(problem *p, const comp__batch *batch, int threads, bool bf16) {
  comp_context *context = test_context(threads);
  comp__work *work;
  comp__losses losses;
  assert_ok(comp__work_new(&work, &p->network, ROWS + 40, bf16, true));
  assert_ok(comp__network_step(&losses, context, &p->network, &p->state, batch, work, PULL, 9, 4));
  comp__work_free(work);
  comp_context_free(context);
  return losses.total;
}

/* Moves along a tensor's own gradient g: the loss must change at the rate |g|^2. */
static void check_tensor(const problem *p, double *params, const comp__tensor *tensor) {
  const float *g = p->state.grads + tensor->offset;
  const size_t n = tensor->rows * tensor->cols;
  double squares = 0, values[2];
  for (size_t i = 0; i < n; i++) squares += (double)g[i] * g[i];
  if (squares < 1e-8) return;
  const double h = 1e-6 / sqrt(squares);
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < n; i++)
      params[tensor->offset + i] = p->state.params[tensor->offset + i] + (side ? h : -h) * (double)g[i];
    values[side] = reference_loss(&p->network, params, p->state.buffers, &p->batch, p->eps, PULL);
  }
  for (size_t i = 0; i < n; i++) params[tensor->offset + i] = p->state.params[tensor->offset + i];
  const double rate = (values[1] - values[0]) / (2 * h);
  if (!(fabs(rate - squares) <= 2e-4 * squares))
    fail_msg("%s: the loss changes by %.9g, the gradient says %.9g", tensor->name, rate, squares);
}

static void check(bool counts) {
  problem p;
  setup(&p, 6, counts);
  const size_t n = p.network.params.size;
  assert_true(comp__panel_rows(ROWS, FEATURES) < ROWS);
  double *params = malloc(n * sizeof *params);
  float *kept = malloc(n * sizeof *kept);
  for (size_t i = 0; i < n; i++) params[i] = p.state.params[i];
  for (int view = 0; view < (counts ? 1 : 2); view++) { /* counts are never views */
    const comp__batch *batch = view ? &p.view : &p.batch;
    const double expected = reference_loss(&p.network, params, p.state.buffers, &p.batch, p.eps, PULL);
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      memset(p.state.grads, 0xff, n * sizeof(float)); /* NaN: what is not written shows */
      const double loss = step_loss(&p, batch, TEST_THREADS[t], false);
      if (!(fabs(loss - expected) <= 1e-5 * fabs(expected))) fail_msg("loss %.9g, expected %.9g", loss, expected);
      if (t == 0) memcpy(kept, p.state.grads, n * sizeof *kept);
      assert_memory_equal(kept, p.state.grads, n * sizeof *kept);
    }
    static const char *const names[] = {"encoder.0.weight", "encoder.1.weight", "decoder.1.weight", "output.weight",
                                        "output.bias"};
    size_t checked = 0;
    for (size_t t = 0; t < p.network.params.count; t++)
      for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(p.network.params.tensors[t].name, names[k]) == 0) {
          check_tensor(&p, params, &p.network.params.tensors[t]);
          checked++;
        }
    assert_int_equal(checked, sizeof names / sizeof *names);
  }
  free(kept);
  free(params);
  teardown(&p);
}

static void gaussian_panels(void **state) {
  (void)state;
  check(false);
}

static void count_panels(void **state) {
  (void)state;
  check(true);
}

static double relative_error(const problem *p, const float *got, const float *wanted, const char *name) {
  double difference = 0, size = 0;
  for (size_t t = 0; t < p->network.params.count; t++) {
    const comp__tensor *tensor = &p->network.params.tensors[t];
    if (strcmp(tensor->name, name) != 0) continue;
    for (size_t i = tensor->offset; i < tensor->offset + tensor->rows * tensor->cols; i++) {
      difference += pow((double)got[i] - wanted[i], 2);
      size += pow((double)wanted[i], 2);
    }
  }
  return sqrt(difference / size);
}

/* bf16: a view gives the bytes of the batch in order, and both are near f32. */
static void half_panels(void **state) {
  (void)state;
  problem p;
  setup(&p, 64, false);
  const size_t n = p.network.params.size;
  float *single = malloc(n * sizeof *single), *half = malloc(n * sizeof *half);
  step_loss(&p, &p.batch, 2, false);
  memcpy(single, p.state.grads, n * sizeof *single);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    step_loss(&p, t % 2 ? &p.view : &p.batch, TEST_THREADS[t], true);
    if (t == 0) memcpy(half, p.state.grads, n * sizeof *half);
    assert_memory_equal(half, p.state.grads, n * sizeof *half);
  }
  /* Rounding is to 3 digits; it grows on the way back through the normalisations. */
  assert_true(relative_error(&p, half, single, "output.weight") < 0.01);
  assert_true(relative_error(&p, half, single, "decoder.1.weight") < 0.05);
  assert_true(relative_error(&p, half, single, "encoder.0.weight") < 0.2);
  assert_true(relative_error(&p, half, single, "output.weight") > 1e-4); /* it was bf16 */
  free(single);
  free(half);
  teardown(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gaussian_panels),
      cmocka_unit_test(count_panels),
      cmocka_unit_test(half_panels),
  };
  return cmocka_run_group_tests_name("model/panels", tests, NULL, NULL);
}
