/* test_scale.c: batch and steps by the number of samples; below 100,000 samples nothing is decided by it. */
#include "testing.h"

#include <unistd.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "train/scale.h"
#include "training.h"

static comp__train_options recipe(const char *model, const char *preset) {
  comp__train_options o;
  assert_ok(comp__train_options_init(&o, model, preset));
  o.condition = "c";
  return o;
}

/* As the loader counts them, when all samples are in memory and 20,000 at most are held out. */
static size_t batches_of(size_t samples, size_t batch) {
  const size_t held = samples / 10 < 20000 ? samples / 10 : 20000;
  return (samples - held + batch - 1) / batch;
}

static void batch_and_steps_follow_the_samples(void **state) {
  (void)state;
  const struct {
    size_t samples, batch, steps;
  } rows[] = {
      {500, 512, 400},      {5000, 512, 1404},     {50000, 512, 1408},     {99999, 512, 2640},
      {100000, 2048, 1408}, {120000, 2048, 1590},  {300000, 2048, 4110},   {500000, 2048, 7050},
      {600000, 2048, 7500}, {1000000, 2048, 7500}, {10000000, 2048, 7500}, {100000000, 2048, 7500},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    comp__train_options o = recipe("comp", "default");
    comp__scale_follow(&o, rows[i].samples);
    assert_int_equal(o.batch, rows[i].batch);
    assert_int_equal(comp__scale_steps(&o, batches_of(rows[i].samples, o.batch)), rows[i].steps);
  }
}

static void assert_untouched(comp__train_options o, size_t samples) {
  comp__train_options before;
  memcpy(&before, &o, sizeof o);
  comp__scale_follow(&o, samples);
  assert_memory_equal(&o, &before, sizeof o);
}

static void what_is_given_counts(void **state) {
  (void)state;
  const size_t many = 10000000;
  comp__train_options o = recipe("comp", "default");
  assert_true(comp__scale_is_open(&o));
  assert_untouched(o, COMP__LARGE - 1);
  o.batch_asked = true;
  assert_untouched(o, many);
  o = recipe("comp", "default");
  o.epochs = 15;
  assert_untouched(o, many);
  o = recipe("comp", "default");
  o.target = "label";
  assert_untouched(o, many);
  o = recipe("comp", "default");
  o.model.gamma = 0;
  assert_untouched(o, many);
  assert_untouched(recipe("cvae", "default"), many);
  assert_untouched(recipe("trvae", "default"), many);
  assert_untouched(recipe("comp", "protect"), many);
  assert_untouched(recipe("comp", "paper-kang"), many);
}

/* A value that was given differs from the same value as a default. */
static void a_given_batch_is_known(void **state) {
  (void)state;
  comp_options *options;
  comp__train_options o;
  assert_ok(comp_options_new(&options, "train"));
  assert_ok(comp_options_set(options, "condition", "c"));
  assert_ok(comp__options_resolve(&o, &comp__train_kind, options));
  assert_false(o.batch_asked);
  assert_int_equal(o.batch, 512);
  assert_ok(comp_options_set(options, "batch", "512"));
  assert_ok(comp__options_resolve(&o, &comp__train_kind, options));
  assert_true(o.batch_asked);
  comp_options_free(options);
}

static comp_dataset *make_data(size_t n) {
  enum { FEATURES = 3 };
  comp_matrix *x;
  comp_dataset *d;
  int32_t *codes = malloc(n * sizeof *codes);
  static const char *const levels[] = {"a", "b"};
  assert_ok(comp_matrix_new_dense(&x, n, FEATURES));
  for (size_t i = 0; i < n; i++) {
    codes[i] = i % 4 == 0 ? -1 : (int32_t)(i % 2);
    for (size_t g = 0; g < FEATURES; g++) x->values[i * FEATURES + g] = (float)((i * 7 + g * 3) % 11) / 11.0f;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, 2));
  free(codes);
  return d;
}

/* A training that stops after a step: what it was going to do. Samples without a condition do not count. */
static void trainings_follow(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__train_options o = test_train_options("comp", 4, 4);
  o.align = COMP_ALIGN_ALL;
  o.max_seconds = 0.001;
  const struct {
    size_t samples;
    const char *batch;
  } rows[] = {{132000, "\"batch\":512,"}, {134000, "\"batch\":2048,"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    comp_dataset *d = make_data(rows[i].samples);
    comp_model *model;
    assert_ok(comp__train(&model, context, d, &o));
    assert_non_null(strstr(model->config, rows[i].batch));
    assert_true(comp__model_follows(model, &o));
    comp__train_options given = o;
    given.batch_asked = true;
    assert_int_equal(comp__model_follows(model, &given), i == 0);
    given.batch = 64;
    assert_false(comp__model_follows(model, &given));
    given.batch_asked = false;
    assert_int_equal(comp__model_follows(model, &given), i == 1);
    comp_model_free(model);
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

/* A run of a version that took 512 goes on with 512, one of 2,048 with 2,048. */
static void resumed_runs_keep_their_batch(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(134000);
  char path[] = "/tmp/comp-test-scale-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  for (int old = 0; old < 2; old++) {
    comp__train_options o = test_train_options("comp", 4, 4);
    comp_model *model;
    o.align = COMP_ALIGN_ALL;
    o.max_seconds = 0.001;
    o.checkpoint = path;
    o.batch_asked = old;
    assert_ok(comp__train(&model, context, d, &o));
    comp_model_free(model);
    o.batch_asked = false;
    o.resume = true;
    assert_ok(comp__train(&model, context, d, &o));
    assert_non_null(strstr(model->config, old ? "\"batch\":512," : "\"batch\":2048,"));
    comp_model_free(model);
  }
  assert_int_equal(remove(path), 0);
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batch_and_steps_follow_the_samples),
      cmocka_unit_test(what_is_given_counts),
      cmocka_unit_test(a_given_batch_is_known),
      cmocka_unit_test(trainings_follow),
      cmocka_unit_test(resumed_runs_keep_their_batch),
  };
  return cmocka_run_group_tests_name("train/scale", tests, NULL, NULL);
}
