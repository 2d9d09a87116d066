/* test_diagnose.c: agreement of latents, predictions, labels laid over others, and the whole on small models; bad
 * input. */
#include "testing.h"

#include "core/rng.h"
#include "diagnose/correction.h"
#include "diagnose/predict.h"
#include "diagnose/stability.h"

static double normal(uint64_t row, uint64_t column) {
  return comp__rng_normal(comp__rng_at(3, COMP__RNG_TEST, 0, row), column);
}

static void linear_agreement(void **state) {
  (void)state;
  enum { N = 500, P = 4 };
  static float a[N * P], b[N * P], rotated[N * P], other[N * 2];
  for (size_t i = 0; i < N; i++) {
    for (size_t d = 0; d < P; d++) a[i * P + d] = (float)(normal(i, d) * (double)(d + 1) + 5);
    for (size_t d = 0; d < P; d++) {
      b[i * P + d] = 2 * a[i * P + d] - a[i * P + (d + 1) % P] + 1; /* invertible and not a rotation */
      rotated[i * P + d] = a[i * P + (d + 1) % P] * (d == 0 ? -3.0f : 3.0f);
    }
    for (size_t d = 0; d < 2; d++) other[i * 2 + d] = (float)normal(i, 100 + d);
  }
  comp__linear_fit fit;
  assert_ok(comp__linear_agreement(&fit, a, P, b, P, N));
  assert_near(fit.r2, 1, 1e-6);
  assert_true(fit.cka > 0.3 && fit.cka < 0.999);
  assert_ok(comp__linear_agreement(&fit, a, P, rotated, P, N));
  assert_near(fit.r2, 1, 1e-6);
  assert_near(fit.cka, 1, 1e-6);
  assert_ok(comp__linear_agreement(&fit, a, P, other, 2, N));
  assert_true(fit.r2 < 0.05 && fit.cka < 0.05);
  /* Half of the variance is a's: R2 one half. */
  for (size_t i = 0; i < N; i++) other[i * 2] = (float)(normal(i, 0) + normal(i, 200)), other[i * 2 + 1] = 0;
  assert_ok(comp__linear_agreement(&fit, a, P, other, 2, N));
  assert_near(fit.r2, 0.5, 0.08);
}

static comp_matrix *points(size_t n, size_t dims, double shift, int32_t *codes) {
  comp_matrix *z;
  assert_ok(comp_matrix_new_dense(&z, n, dims));
  for (size_t i = 0; i < n; i++) {
    codes[i] = (int32_t)(i % 2);
    for (size_t d = 0; d < dims; d++)
      comp_matrix_values(z)[i * dims + d] = (float)(normal(i, d) + (d == 0 ? shift * codes[i] : 0));
  }
  return z;
}

static void predictions(void **state) {
  (void)state;
  enum { N = 400 };
  int32_t codes[N];
  const unsigned logistic = 1U << COMP_CLASSIFIER_LOGISTIC;
  comp_context *context = test_context(2);
  comp__prediction_check check;
  comp_matrix *z = points(N, 3, 6, codes);
  assert_ok(comp__predict(&check, context, z, codes, 2, logistic | 1U << COMP_CLASSIFIER_FOREST, 99, 1));
  assert_true(check.done && check.gain > 0.95 && check.samples == N / 2 && check.n_levels == 2);
  assert_near(check.p, 0.02, 1e-12); /* twice 1 / 100 */
  comp_matrix_free(z);
  z = points(N, 3, 0, codes);
  assert_ok(comp__predict(&check, context, z, codes, 2, logistic, 99, 1));
  assert_true(check.gain < 0.2 && check.p > 0.05);
  assert_near(check.majority, 0.5, 1e-12);
  for (size_t i = 0; i < N; i++) codes[i] = i < 9; /* too few of one of two groups */
  assert_ok(comp__predict(&check, context, z, codes, 2, logistic, 99, 1));
  assert_false(check.done);
  comp_matrix_free(z);
  comp_context_free(context);
}

/* Under independence p must be below 5 % no more than one time in twenty. */
static void prediction_level(void **state) {
  (void)state;
  enum { N = 120, SETS = 200 };
  size_t rejected = 0;
  comp_context *context = test_context(1);
  for (uint64_t set = 0; set < SETS; set++) {
    int32_t codes[N];
    comp_matrix *z;
    assert_ok(comp_matrix_new_dense(&z, N, 2));
    for (size_t i = 0; i < N; i++) {
      codes[i] = comp__rng_uniform(comp__rng_at(set, COMP__RNG_TEST, 1, i), 0) < 0.3;
      for (size_t d = 0; d < 2; d++) comp_matrix_values(z)[i * 2 + d] = (float)normal(1000 + set, i * 2 + d);
    }
    comp__prediction_check check;
    assert_ok(comp__predict(&check, context, z, codes, 2, 1U << COMP_CLASSIFIER_LOGISTIC, 99, set));
    rejected += check.p <= 0.05;
    comp_matrix_free(z);
  }
  if (rejected > 0.09 * SETS) fail_msg("%zu of %d", rejected, SETS);
  comp_context_free(context);
}

/* Four labels in two conditions: A stays where it is; B and C swap places; D is in the first only, apart or upon A. */
static void fates(void **state) {
  (void)state;
  enum { N = 1200 };
  static float mean[N * 2], scale[N * 2];
  static int32_t codes[N], labels[N];
  comp_context *context = test_context(2);
  for (int upon = 0; upon < 2; upon++) {
    for (size_t i = 0; i < N; i++) {
      labels[i] = (int32_t)(i % 4);
      codes[i] = labels[i] == 3 ? 0 : (int32_t)(i / 4 % 2);
      size_t place = labels[i] == 1 || labels[i] == 2 ? (size_t)(codes[i] ? 3 - labels[i] : labels[i])
                     : labels[i] == 3 && upon         ? 0
                                                      : (size_t)labels[i];
      mean[i * 2] = (float)(10.0 * (double)place + normal(i, 0));
      mean[i * 2 + 1] = (float)normal(i, 1);
    }
    comp__latent latent = {.n = N, .dims = 2, .conditions = 2, .mean = mean, .scale = scale, .codes = codes};
    comp__fates f;
    assert_ok(comp__fates_find(&f, context, &latent, labels, 4, 100000, 10, 1));
    assert_int_equal(f.labels[0].counts[0], 150);
    assert_int_equal(f.labels[3].in, 1);
    assert_int_equal(f.labels[0].in, 2);
    assert_int_equal(f.labels[1].mostly, 2);
    assert_int_equal(f.labels[2].mostly, 1);
    assert_true(f.labels[1].same < 0.01 && f.labels[2].same < 0.01);
    if (!upon) {
      assert_true(f.labels[0].same > 0.99 && f.labels[0].mixing > 0.9);
      assert_true(f.labels[3].mixing < 0.01);
    } else
      assert_true(f.labels[3].mixing > 0.5);
    comp__fates_release(&f);
  }
  comp_context_free(context);
}

enum { ROWS = 240, FEATURES = 12 };

static comp_dataset *make_dataset(size_t rows, size_t features, uint64_t seed) {
  comp_matrix *x;
  comp_dataset *d;
  int32_t stim[ROWS], type[ROWS];
  assert_ok(comp_matrix_new_dense(&x, rows, features));
  for (size_t i = 0; i < rows; i++) {
    stim[i] = (int32_t)(i % 2);
    type[i] = (int32_t)(i / 2 % 3);
    for (size_t g = 0; g < features; g++)
      comp_matrix_values(x)[i * features + g] =
          (float)(normal(seed * 10000 + i, g) * 0.3 + (g % 3 == (size_t)type[i] ? 2 : 0) + (g < 3 ? stim[i] : 0));
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "stim", stim, (const char *const[]){"no", "yes"}, 2));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "type", type, (const char *const[]){"a", "b", "c"}, 3));
  return d;
}

static comp_model *make_model(comp_context *context, const comp_dataset *d, uint64_t seed, double gamma) {
  comp_train_options o;
  comp_model *model;
  assert_ok(comp_train_options_init(&o, "comp", NULL));
  o.condition = "stim";
  o.model.latent = 3;
  o.model.n_hidden = 1;
  o.model.hidden[0] = 16;
  o.model.gamma = gamma;
  o.epochs = 20;
  o.batch = 64;
  o.seed = seed;
  assert_ok(comp_train(&model, context, d, &o));
  return model;
}

static void whole(void **state) {
  (void)state;
  comp_context *first_context = test_context(1);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  comp_model *models[3];
  for (uint64_t m = 0; m < 3; m++) models[m] = make_model(first_context, d, m, m == 2 ? 0 : 5);
  comp_diagnose_options o = COMP_DIAGNOSE_OPTIONS_INIT;
  o.label = "type";
  o.against = models[2];
  char *first = NULL;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_diagnosis *diagnosis;
    assert_ok(comp_diagnose(&diagnosis, context, d, (const comp_model *const *)models, 2, &o));
    size_t not_checked = 0;
    for (size_t i = 0; i < comp_diagnosis_findings(diagnosis); i++) {
      const comp_finding *f = comp_diagnosis_finding(diagnosis, i);
      not_checked += f->verdict == COMP_VERDICT_NOT_CHECKED && f->question != COMP_QUESTION_BEYOND;
      assert_true(f->reason[0] && f->check[0] && f->measure && f->advice);
      if (f->verdict == COMP_VERDICT_FAIL) assert_true(f->advice[0]);
    }
    assert_true(not_checked <= 1); /* components need more samples when z has many dimensions */
    if (!first) first = strdup(comp_diagnosis_json(diagnosis));
    assert_string_equal(first, comp_diagnosis_json(diagnosis));
    comp_diagnosis_free(diagnosis);
    comp_context_free(context);
  }
  assert_null(strstr(first, "nan"));
  free(first);
  for (int m = 0; m < 3; m++) comp_model_free(models[m]);
  comp_dataset_free(d);
  comp_context_free(first_context);
}

static void one_model(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  const comp_model *model = make_model(context, d, 0, 5);
  comp_diagnose_options o = COMP_DIAGNOSE_OPTIONS_INIT;
  comp_diagnosis *diagnosis;
  assert_ok(comp_diagnose(&diagnosis, context, d, &model, 1, &o));
  size_t stable = 0;
  for (size_t i = 0; i < comp_diagnosis_findings(diagnosis); i++) {
    const comp_finding *f = comp_diagnosis_finding(diagnosis, i);
    if (f->question == COMP_QUESTION_STABLE || f->question == COMP_QUESTION_KEPT || f->question == COMP_QUESTION_BEYOND)
      assert_int_equal(f->verdict, COMP_VERDICT_NOT_CHECKED);
    stable += f->question == COMP_QUESTION_STABLE;
  }
  assert_int_equal(stable, 3);
  comp_diagnosis_free(diagnosis);
  comp_model_free((comp_model *)(uintptr_t)model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void bad_input(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1), *wide = make_dataset(ROWS, FEATURES + 1, 1), *few;
  comp_model *models[2] = {make_model(context, d, 0, 5), make_model(context, wide, 0, 5)};
  const comp_model *const *both = (const comp_model *const *)models;
  comp_diagnose_options o = COMP_DIAGNOSE_OPTIONS_INIT;
  comp_diagnosis *out;
  assert_error(comp_diagnose(&out, context, d, both, 0, &o), COMP_ERR_ARGUMENT, "no model");
  assert_error(comp_diagnose(&out, context, d, both, 2, &o), COMP_ERR_ARGUMENT, "models of different data");
  assert_null(out);
  o.against = models[1];
  assert_error(comp_diagnose(&out, context, d, both, 1, &o), COMP_ERR_ARGUMENT,
               "the model to compare with has 13 features");
  o.against = NULL;
  size_t rows[] = {0, 1, 2, 3};
  assert_ok(comp_dataset_select(&few, context, d, rows, 4, NULL, 0));
  assert_error(comp_diagnose(&out, context, few, both, 1, &o), COMP_ERR_DATA, "4 samples are too few");
  comp_dataset_free(few);
  size_t one_side[40];
  for (size_t i = 0; i < 40; i++) one_side[i] = 2 * i;
  assert_ok(comp_dataset_select(&few, context, d, one_side, 40, NULL, 0));
  assert_error(comp_diagnose(&out, context, few, both, 1, &o), COMP_ERR_DATA, "'yes' has 0 samples");
  comp_dataset_free(few);
  o.label = "typ";
  assert_error(comp_diagnose(&out, context, d, both, 1, &o), COMP_ERR_DATA, "type");
  o.label = NULL;
  o.alpha = 0;
  assert_error(comp_diagnose(&out, context, d, both, 1, &o), COMP_ERR_ARGUMENT, "alpha");
  for (int m = 0; m < 2; m++) comp_model_free(models[m]);
  comp_dataset_free(d);
  comp_dataset_free(wide);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_agreement),
      cmocka_unit_test(predictions),
      cmocka_unit_test(prediction_level),
      cmocka_unit_test(fates),
      cmocka_unit_test(whole),
      cmocka_unit_test(one_model),
      cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests_name("diagnose/diagnose", tests, NULL, NULL);
}
