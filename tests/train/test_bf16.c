/* test_bf16.c: training in bf16 with the emulated kernels, and with this CPU's own where it has one. */
#include "testing.h"

#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "nn/emulated.h"
#include "train/options.h"

enum { SAMPLES = 150, FEATURES = 80 };

/* Samples of three kinds under two conditions. */
static comp_dataset *make_data(void) {
  static const char *const levels[] = {"a", "b"};
  comp_matrix *x;
  comp_dataset *d;
  int32_t codes[SAMPLES];
  assert_ok(comp_matrix_new_dense(&x, SAMPLES, FEATURES));
  for (size_t i = 0; i < SAMPLES; i++) {
    codes[i] = (int32_t)(i % 2);
    comp__rng rng = comp__rng_at(1, COMP__RNG_TEST, 0, i);
    for (size_t g = 0; g < FEATURES; g++)
      x->values[i * FEATURES + g] =
          (float)((double)((i / 2 + g) % 3) + 0.3 * (double)codes[i] + 0.2 * comp__rng_normal(rng, g));
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, 2));
  return d;
}

static comp_model *train(int threads, comp_precision precision) {
  comp_context *context = test_context(threads);
  comp_dataset *d = make_data();
  comp__train_options o;
  comp_model *model;
  assert_ok(comp__train_options_init(&o, "comp", "default"));
  o.condition = "c";
  o.model.n_hidden = 2;
  o.model.hidden[0] = o.model.hidden[1] = 64;
  o.batch = 50;
  o.epochs = 4;
  o.precision = precision;
  assert_ok(comp__train(&model, context, d, &o));
  comp_dataset_free(d);
  comp_context_free(context);
  return model;
}

static double distance(const comp_model *a, const comp_model *b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a->network.params.size; i++) {
    difference += pow((double)a->params[i] - (double)b->params[i], 2);
    size += pow((double)a->params[i], 2);
  }
  return sqrt(difference / size);
}

/* The same bytes at any number of threads, near f32 but not f32, and the record says what multiplied. */
static void check(const comp__gemm_bf16 *by) {
  test_bf16_kernel = by;
  comp_model *single = train(2, COMP_PRECISION_F32), *first = train(TEST_THREADS[0], COMP_PRECISION_BF16);
  char kernel[64];
  snprintf(kernel, sizeof kernel, "bf16 %s", comp__gemm_bf16_get()->name);
  assert_string_equal(comp_model_kernel(first), kernel);
  assert_memory_equal(comp_model_kernel(single), "f32 ", 4);
  for (int t = 1; t < TEST_THREADS_COUNT; t++) {
    comp_model *model = train(TEST_THREADS[t], COMP_PRECISION_BF16);
    assert_memory_equal(model->params, first->params, first->network.params.size * sizeof *first->params);
    assert_string_equal(comp_model_history(model), comp_model_history(first));
    comp_model_free(model);
  }
  const double off = distance(single, first);
  assert_true(off > 1e-6 && off < 0.05);
  comp_model_free(single);
  comp_model_free(first);
}

static void amx(void **state) {
  (void)state;
  check(&comp__gemm_amx_emulated);
}

static void avx512_bf16(void **state) {
  (void)state;
  check(&comp__gemm_avx512_emulated);
}

static void this_cpu(void **state) {
  (void)state;
  check(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(amx), cmocka_unit_test(avx512_bf16), cmocka_unit_test(this_cpu)};
  return cmocka_run_group_tests_name("train/bf16", tests, NULL, NULL);
}
