/* test_diagnose.c: agreement of latents, predictions, labels laid over others, and the whole on small models; bad
 * input. */
#include "testing.h"

#include "core/rng.h"
#include "diagnose/correction.h"
#include "diagnose/identify.h"
#include "diagnose/options.h"
#include "diagnose/predict.h"
#include "diagnose/results.h"
#include "diagnose/stability.h"
#include "train/options.h"
#include "verdict/diagnosis.h"

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

/* Four labels in two conditions: A stays where it is; B and C swap places; D is in the first only, apart or on A. */
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

/* A model that learned nothing: no axis is tested, and no p is known. */
static void nothing_to_identify(void **state) {
  (void)state;
  enum { N = 300 };
  static float mean[N * 2], scale[N * 2];
  for (size_t i = 0; i < N * 2; i++) {
    mean[i] = 1e-6f * (float)normal(i, 2);
    scale[i] = 1.0f;
  }
  comp_context *context = test_context(1);
  comp__latent latent = {.n = N, .dims = 2, .conditions = 2, .mean = mean, .scale = scale};
  comp__identify identify;
  assert_ok(comp__identify_run(&identify, context, &latent, 1000, 0.01, 99, 1));
  assert_int_equal(identify.active, 0);
  assert_true(isnan(identify.least_p) && isnan(identify.largest_skewness) && isnan(identify.largest_kurtosis));
  comp__identify_release(&identify);
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
  comp__train_options o;
  comp_model *model;
  assert_ok(comp__train_options_init(&o, "comp", NULL));
  o.condition = "stim";
  o.model.latent = 3;
  o.model.n_hidden = 1;
  o.model.hidden[0] = 16;
  o.model.gamma = gamma;
  o.epochs = 20;
  o.batch = 64;
  o.seed = seed;
  assert_ok(comp__train(&model, context, d, &o));
  return model;
}

static void whole(void **state) {
  (void)state;
  comp_context *first_context = test_context(1);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  comp_model *models[3];
  for (uint64_t m = 0; m < 3; m++) models[m] = make_model(first_context, d, m, m == 2 ? 0 : 5);
  comp__diagnose_options o = comp__diagnose_defaults();
  o.label = "type";
  o.against = models[2];
  char *first = NULL;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_diagnosis *diagnosis;
    assert_ok(comp__diagnose(&diagnosis, context, d, (const comp_model *const *)models, 2, &o));
    size_t not_checked = 0;
    for (size_t i = 0; i < comp_diagnosis_finding_count(diagnosis); i++) {
      const comp_finding *f = comp_diagnosis_finding_at(diagnosis, i);
      not_checked += f->level == COMP_FINDING_NOTE && strcmp(f->question, "What can no check show?") != 0;
      assert_true(f->text[0] && f->id[0] && f->question[0] && f->advice);
      if (f->level == COMP_FINDING_PROBLEM) assert_true(f->advice[0]);
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

/* The two numbers that tell how well predictions of models agree. */
static void agreements(double out[2], comp_context *context, const comp_dataset *d, const comp_model *const *models,
                       size_t n) {
  static const char *const checks[] = {"counterfactuals", "single-samples"};
  comp__diagnose_options o = comp__diagnose_defaults();
  comp_diagnosis *diagnosis;
  o.label = "type";
  assert_ok(comp__diagnose(&diagnosis, context, d, models, n, &o));
  for (size_t i = 0; i < comp_diagnosis_finding_count(diagnosis); i++)
    for (size_t c = 0; c < 2; c++)
      if (strcmp(comp_diagnosis_finding_at(diagnosis, i)->id, checks[c]) == 0)
        out[c] = comp_diagnosis_finding_at(diagnosis, i)->numbers[0].value;
  comp_diagnosis_free(diagnosis);
}

/* A model that differs is not outvoted: of three models, the pair that agrees least counts. */
static void least_pair(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  comp_model *m[3];
  for (uint64_t k = 0; k < 3; k++) m[k] = make_model(context, d, k, k == 2 ? 0 : 5);
  double all[2], least[2] = {2, 2}, most[2] = {-2, -2};
  agreements(all, context, d, (const comp_model *const *)m, 3);
  for (size_t a = 0; a < 3; a++)
    for (size_t b = a + 1; b < 3; b++) {
      double pair[2];
      agreements(pair, context, d, (const comp_model *const[]){m[a], m[b]}, 2);
      for (size_t c = 0; c < 2; c++) {
        least[c] = fmin(least[c], pair[c]);
        most[c] = fmax(most[c], pair[c]);
      }
    }
  for (size_t c = 0; c < 2; c++) {
    assert_float_equal(all[c], least[c], 1e-12);
    assert_true(most[c] > least[c] + 1e-3); /* else a mean would have passed, too */
  }
  for (int k = 0; k < 3; k++) comp_model_free(m[k]);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Two samples, one of each condition, leave together: they are named, and the explained variance is that of the others.
 */
static void stray_pairs(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  comp_model *model = make_model(context, d, 0, 5);
  comp__latent l = {0};
  comp__strays none = {0}, found;
  double before, after, with;
  assert_ok(comp__latent_init(&l, context, model, d));
  assert_ok(comp__strays_find(&found, context, &l, d, ROWS, 1));
  assert_int_equal(found.count, 0);
  comp__strays_release(&found);
  assert_ok(comp__reconstruction(&before, context, &l, &none, ROWS, 1));
  assert_true(before > 0.1);
  for (size_t i = 40; i < 42; i++)
    for (size_t k = 0; k < l.dims; k++) l.mean[i * l.dims + k] = 60.0f;
  assert_ok(comp__strays_find(&found, context, &l, d, ROWS, 1));
  assert_int_equal(found.count, 2);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(found.items[i].row, 40 + i);
    assert_string_equal(found.items[i].name, comp_dataset_obs_name(d, 40 + i));
    assert_true(found.items[i].distance > 6 && found.items[i].error > 10);
  }
  assert_ok(comp__reconstruction(&with, context, &l, &none, ROWS, 1));
  assert_true(with < 0); /* "the model explains nothing": because of two samples */
  assert_ok(comp__reconstruction(&after, context, &l, &found, ROWS, 1));
  assert_near(after, before, 0.05);
  comp__strays_release(&found);
  /* A third of the samples is no accident. */
  for (size_t i = 0; i < ROWS / 3; i++) l.mean[i * l.dims] += 1000.0f * (float)(i + 1);
  assert_ok(comp__strays_find(&found, context, &l, d, ROWS, 1));
  assert_int_equal(found.count, 0);
  comp__strays_release(&found);
  comp__latent_release(&l);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* ---- from numbers to verdicts ---- */

static comp_model *judged_model(comp_context *context, double gamma) {
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  comp_model *model = make_model(context, d, 0, gamma);
  comp_dataset_free(d);
  return model;
}

/* Numbers of a faultless model; 500 samples of each of two conditions. */
static comp__results good_results(const comp_model *model, size_t *counts) {
  counts[0] = counts[1] = 500;
  comp__results r = {.options = comp__diagnose_defaults(), .model = model, .n = 1000, .dims = 3, .models = 1};
  r.conditions = 2;
  r.counts = counts;
  r.features = FEATURES;
  r.identify = (comp__identify){.dims = 3, .active = 3, .rows = 1000, .symmetry_rows = 1000, .has_components = true};
  r.identify.symmetry_permutations = 99;
  r.identify.mirror.p = r.identify.rotation.p = 0.01;
  r.identify.components = (comp__components){.count = 3, .converged = true, .found_again = 1};
  r.independence.entropy = 0.69;
  r.independence.information.value = 0.02;
  r.null = (comp__null){.deviation = 0.02, .p = 0.5, .rows = 1000, .shuffles = 19};
  r.condition_means = (comp__prediction_check){.done = true, .n_levels = 2, .p = 0.5, .least_p = 0.03};
  r.condition_means.deviation = 0.05;
  r.condition_draws = r.condition_means;
  r.reconstruction = 0.5;
  r.reconstruction_against = 0.5;
  return r;
}

/* The finding of a check; its text is copied to `reason`, and its advice stays valid for some calls. */
static comp_finding judged(const comp__results *r, const char *check, char *reason, size_t size) {
  static char advice[8][512];
  static int next;
  char *own = advice[next++ % 8];
  comp__findings list = {0};
  assert_ok(comp__judge_model(&list, r));
  comp_finding found = {0};
  for (size_t i = 0; i < list.count; i++)
    if (strcmp(list.items[i].id, check) == 0) {
      snprintf(reason, size, "%s", list.items[i].text);
      snprintf(own, sizeof advice[0], "%s", list.items[i].advice);
      found = (comp_finding){.id = check, .level = list.items[i].level, .text = reason, .advice = own};
    }
  if (!found.id) fail_msg("there is no line '%s'", check);
  comp__findings_release(&list);
  return found;
}

#define JUDGED(results, check)                 judged(results, check, reason, sizeof reason)
#define assert_level(results, check, expected) assert_int_equal(JUDGED(results, check).level, expected)

/* A test that cannot reject must not pass. */
static void no_power(void **state) {
  (void)state;
  char reason[2048];
  size_t counts[2];
  comp_context *context = test_context(1);
  comp_model *model = judged_model(context, 5);
  comp__results r = good_results(model, counts);
  assert_level(&r, "divergence", COMP_FINDING_OK);
  assert_level(&r, "prediction", COMP_FINDING_OK);
  assert_level(&r, "symmetry", COMP_FINDING_OK);
  /* 19 shuffles and alpha 0.01: p cannot be small, and the divergence is huge. */
  r.options.alpha = 0.01;
  r.null.excess = 800;
  r.null.p = 0.05;
  assert_level(&r, "divergence", COMP_FINDING_PROBLEM);
  assert_non_null(strstr(JUDGED(&r, "divergence").text, "smallest that so many shuffles allow"));
  r.null.excess = 1;
  assert_level(&r, "divergence", COMP_FINDING_CAUTION);
  r.null.p = 0.4; /* shuffles reached it: chance, or too few samples to tell */
  assert_level(&r, "divergence", COMP_FINDING_NOTE);
  r.null.excess = 0.1;
  r.null.deviation = 3; /* chance could hide 2 nats */
  assert_level(&r, "divergence", COMP_FINDING_NOTE);
  r.condition_means.gain = 0.9;
  r.condition_means.p = r.condition_means.least_p = 0.15; /* 19 permutations, three classifiers */
  assert_level(&r, "prediction", COMP_FINDING_PROBLEM);
  r.condition_means.p = 0.3;
  assert_level(&r, "prediction", COMP_FINDING_NOTE);
  r.condition_means.gain = 0.1;
  assert_level(&r, "prediction", COMP_FINDING_OK);
  r.condition_means.deviation = 0.3; /* some ten tested samples */
  assert_level(&r, "prediction", COMP_FINDING_NOTE);
  r.options.alpha = 0.001;
  assert_level(&r, "symmetry", COMP_FINDING_NOTE);
  assert_non_null(strstr(JUDGED(&r, "symmetry").advice, "--permutations"));
  assert_non_null(strstr(JUDGED(&r, "symmetry").text, "that takes 999"));
  r.options.alpha = 0.05;
  r.identify.rotation.p = 0.3;
  assert_level(&r, "symmetry", COMP_FINDING_PROBLEM);
  r.identify.symmetry_rows = 60;
  assert_level(&r, "symmetry", COMP_FINDING_NOTE);
  counts[1] = 4;
  assert_level(&r, "divergence", COMP_FINDING_NOTE);
  assert_non_null(strstr(JUDGED(&r, "information").text, "4 of 'yes'"));
  comp_model_free(model);
  comp_context_free(context);
}

/* Models that differ in more than the seed are compared, and it is said. */
static void settings(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  comp_model *a = make_model(context, d, 0, 5), *b = make_model(context, d, 1, 7), *c = make_model(context, d, 2, 5);
  comp__settings s = {0};
  comp__settings_compare(&s, a, c, "c");
  assert_int_equal(s.models, 0);
  assert_int_equal(s.differences, 0);
  comp__settings_compare(&s, a, b, "'b.comp'");
  assert_int_equal(s.models, 1);
  assert_string_equal(s.text, "gamma 7 in place of 5 in 'b.comp'");
  for (int many = 0; many < 40; many++) comp__settings_compare(&s, a, b, "'b.comp'");
  assert_int_equal(s.differences, 41);
  assert_string_equal(s.text + strlen(s.text) - 9, " and more");
  comp__diagnose_options o = comp__diagnose_defaults();
  for (int differ = 0; differ < 2; differ++) {
    comp_diagnosis *diagnosis;
    const char *said = NULL;
    assert_ok(comp__diagnose(&diagnosis, context, d, (const comp_model *const[]){a, differ ? b : c}, 2, &o));
    for (size_t i = 0; i < comp_diagnosis_finding_count(diagnosis); i++) {
      const comp_finding *f = comp_diagnosis_finding_at(diagnosis, i);
      if (strcmp(f->id, "settings") == 0 && f->level == COMP_FINDING_CAUTION) said = f->text;
    }
    assert_true(!said == !differ);
    if (said) assert_non_null(strstr(said, "1 of the 2 models was trained with other settings"));
    comp_diagnosis_free(diagnosis);
  }
  comp_model_free(a);
  comp_model_free(b);
  comp_model_free(c);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* What to do must fit all lines. */
static void advice(void **state) {
  (void)state;
  char reason[2048];
  size_t counts[2];
  comp_context *context = test_context(1);
  comp_model *model = judged_model(context, 5), *bare = judged_model(context, 0);
  comp__results r = good_results(model, counts);
  r.null.excess = 5;
  r.null.p = 0.05;
  assert_non_null(strstr(JUDGED(&r, "divergence").advice, "Raise --gamma"));
  r.reconstruction = 0.1;
  const char *both = JUDGED(&r, "divergence").advice;
  assert_null(strstr(both, "Raise --gamma"));
  assert_null(strstr(both, "nother --gamma")); /* one model cannot know what another gamma does */
  assert_non_null(strstr(both, "a tenth of this --gamma"));
  assert_string_equal(both, JUDGED(&r, "reconstruction").advice);
  r.null.excess = 1; /* caution, while reconstruction is a problem: the worse one comes first */
  assert_non_null(strstr(JUDGED(&r, "divergence").advice, "First reduce what is lost"));
  assert_non_null(strstr(JUDGED(&r, "reconstruction").advice, "Lower --gamma"));
  r.null.excess = 5;
  r.reconstruction = 0.4;
  assert_non_null(strstr(JUDGED(&r, "divergence").advice, "Raise --gamma"));
  assert_non_null(strstr(JUDGED(&r, "reconstruction").advice, "First make z independent"));
  r.null.excess = 0;
  assert_non_null(strstr(JUDGED(&r, "reconstruction").advice, "Lower --gamma"));
  r.model = bare;
  assert_null(strstr(JUDGED(&r, "reconstruction").advice, "Lower --gamma"));
  r.null.excess = 5;
  assert_non_null(strstr(JUDGED(&r, "divergence").advice, "has no penalty"));
  assert_null(strstr(JUDGED(&r, "reconstruction").advice, "Lower --gamma"));
  /* A label that one condition lacks: z must show the condition, or merge labels. A lower gamma is better then. */
  size_t shares[2][2] = {{400, 400}, {100, 100}};
  comp__label_fate fates[2] = {{.counts = shares[0], .in = 2, .present = 2, .looked_at = 50, .same = 0.9},
                               {.counts = shares[1], .in = 2, .present = 2, .looked_at = 50, .same = 0.9, .mostly = 1}};
  r = good_results(model, counts);
  r.labels = (comp_groups){.n_levels = 2, .levels = (char *[]){"a", "b"}};
  r.fates = (comp__fates){.n_labels = 2, .conditions = 2, .labels = fates};
  r.null.excess = 5;
  r.null.p = 0.05;
  assert_non_null(strstr(JUDGED(&r, "divergence").advice, "Raise --gamma, or"));
  shares[1][0] = 0, shares[1][1] = 300;
  fates[1].in = fates[1].present = 1;
  assert_non_null(strstr(JUDGED(&r, "divergence").advice, "Raise --gamma only if"));
  fates[1].mixing = 0.95;
  assert_non_null(strstr(JUDGED(&r, "divergence").advice, "Lower --gamma first"));
  assert_non_null(strstr(JUDGED(&r, "shared-labels").advice, "Lower --gamma first"));
  r = good_results(model, counts);
  r.identify.mirror.p = 0.5;
  assert_level(&r, "symmetry", COMP_FINDING_CAUTION);
  assert_non_null(strstr(JUDGED(&r, "symmetry").advice, "-m more than once"));
  r.stable = true;
  r.models = r.stability.models = 2;
  r.stability.least_r2 = 0.99;
  assert_null(strstr(JUDGED(&r, "symmetry").advice, "-m"));
  assert_non_null(strstr(JUDGED(&r, "symmetry").advice, "does not rule out a second solution"));
  r.stability.least_r2 = 0.1;
  assert_non_null(strstr(JUDGED(&r, "symmetry").advice, "disagree"));
  comp_model_free(model);
  comp_model_free(bare);
  comp_context_free(context);
}

static void odd_models(void **state) {
  (void)state;
  char reason[2048];
  size_t counts[2];
  comp_context *context = test_context(1);
  comp_model *model = judged_model(context, 5);
  comp__results r = good_results(model, counts);
  /* Estimates from below and above that cross. */
  r.information = (comp__estimate){0.0273, 0.0016};
  r.independence.information = (comp__estimate){0.0265, 0.0005};
  const char *said = JUDGED(&r, "information").text;
  assert_non_null(strstr(said, "agree within their errors"));
  assert_null(strstr(said, "at most"));
  r.information.value = 0.05;
  assert_non_null(strstr(JUDGED(&r, "information").text, "differ by more"));
  /* Nothing explained. */
  r = good_results(model, counts);
  r.reconstruction_against = -0.1;
  assert_level(&r, "reconstruction", COMP_FINDING_NOTE);
  r.reconstruction = -0.2;
  assert_level(&r, "explains-nothing", COMP_FINDING_PROBLEM);
  r.reconstruction_against = NAN;
  assert_level(&r, "explains-nothing", COMP_FINDING_PROBLEM);
  /* Samples far from all others are named. */
  r = good_results(model, counts);
  comp__stray strays[2] = {{.row = 3, .name = (char[]){"cell-3"}, .distance = 12, .error = 2},
                           {.row = 9, .name = (char[]){"cell-9"}, .distance = NAN, .error = 250}};
  r.strays = (comp__strays){strays, 2};
  assert_level(&r, "stray-samples", COMP_FINDING_CAUTION);
  said = JUDGED(&r, "stray-samples").text;
  assert_non_null(strstr(said, "2 samples are far from all others"));
  assert_non_null(strstr(said, "cell-3 (distance x 12), cell-9 (error x 250)"));
  /* No dimension in use. */
  r = good_results(model, counts);
  r.identify = (comp__identify){.dims = 3};
  assert_level(&r, "normality", COMP_FINDING_PROBLEM);
  assert_non_null(strstr(JUDGED(&r, "components").text, "No dimension of z is in use"));
  assert_non_null(strstr(JUDGED(&r, "symmetry").text, "No dimension of z is in use"));
  /* Components. */
  r = good_results(model, counts);
  assert_level(&r, "components", COMP_FINDING_OK);
  r.identify.components.converged = false;
  assert_level(&r, "components", COMP_FINDING_CAUTION);
  r.identify.components.converged = true;
  r.identify.components.found_again = 0.67;
  assert_level(&r, "components", COMP_FINDING_CAUTION);
  assert_non_null(strstr(JUDGED(&r, "components").text, "not unique"));
  r.identify.components.found_again = 1;
  r.identify.components.dependence = 0.4;
  assert_level(&r, "components", COMP_FINDING_OK);
  assert_non_null(strstr(JUDGED(&r, "components").text, "squares of two correlate 0.40"));
  /* Symmetry: of components on their own it is said, of z it counts. */
  comp__symmetries *m = &r.identify.components.symmetries;
  m->mirrored_alone = m->alike_alone = 1;
  assert_level(&r, "symmetry", COMP_FINDING_OK);
  assert_non_null(strstr(JUDGED(&r, "symmetry").text, "some of them alone"));
  m->together = 1;
  assert_level(&r, "symmetry", COMP_FINDING_CAUTION);
  m->together = 0;
  m->alike = 1;
  assert_level(&r, "symmetry", COMP_FINDING_CAUTION);
  m->mirrored = 1;
  m->untested = 2;
  said = JUDGED(&r, "symmetry").text;
  assert_non_null(strstr(said, "a single component is mirrored (1 of 3)"));
  assert_non_null(strstr(said, "(1 of 3 pairs)"));
  assert_non_null(strstr(said, "2 of these changes"));
  /* Features that the data lacks. */
  r.missing = 6;
  assert_level(&r, "features", COMP_FINDING_CAUTION);
  assert_non_null(strstr(JUDGED(&r, "features").text, "6 of the model's 12 features are"));
  comp_model_free(model);
  comp_context_free(context);
}

static void odd_labels(void **state) {
  (void)state;
  char reason[2048], names[40][40], *levels[40];
  size_t counts[2], label_counts[40][2];
  comp__label_fate fates[40] = {0};
  comp_context *context = test_context(1);
  comp_model *model = judged_model(context, 5);
  comp__results r = good_results(model, counts);
  for (size_t d = 0; d < 40; d++) {
    snprintf(names[d], sizeof names[d], "a rather long name of label %zu", d);
    levels[d] = names[d];
    fates[d] = (comp__label_fate){.counts = label_counts[d], .in = 2, .present = 2, .looked_at = 50, .mostly = d};
    fates[d].same = 0.9;
  }
  r.options.label = "type";
  r.labels = (comp_groups){.n_levels = 40, .levels = levels};
  r.fates = (comp__fates){.n_labels = 40, .conditions = 2, .labels = fates};
  assert_level(&r, "shared-labels", COMP_FINDING_OK);
  fates[3].in = fates[3].present = 1;
  fates[3].mixing = 0.95;
  assert_level(&r, "shared-labels", COMP_FINDING_PROBLEM);
  assert_non_null(strstr(JUDGED(&r, "shared-labels").text, "1 label is in one condition only"));
  fates[3].present = 2; /* one sample elsewhere */
  assert_level(&r, "shared-labels", COMP_FINDING_CAUTION);
  fates[3].looked_at = 5;
  assert_level(&r, "shared-labels", COMP_FINDING_OK);
  assert_non_null(strstr(JUDGED(&r, "shared-labels").text, "1 label with fewer than 10"));
  for (size_t d = 0; d < 40; d++) fates[d].in = fates[d].present = 1, fates[d].looked_at = 50;
  const char *said = JUDGED(&r, "shared-labels").text, *more = strstr(said, ", and ");
  assert_non_null(more);
  assert_int_equal(more[-1], ')'); /* after a whole entry */
  size_t shown = 0;
  for (const char *at = said; (at = strstr(at, "a rather long")); at++) shown++;
  assert_int_equal(shown + strtoul(more + 6, NULL, 10), 40);
  r.labels.n_levels = 1;
  assert_level(&r, "labels", COMP_FINDING_NOTE);
  assert_non_null(strstr(JUDGED(&r, "labels").text, "one value only"));
  comp_model_free(model);
  comp_context_free(context);
}

/* `comp run` asks for fewer permutations than alpha needs: a model without a penalty still fails. */
static void floors(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  /* The condition is in most features, and nothing takes it out. */
  comp_matrix *x = (comp_matrix *)(uintptr_t)comp_dataset_x(d);
  for (size_t i = 0; i < ROWS; i += 2)
    for (size_t g = 0; g < FEATURES; g++) comp_matrix_values(x)[i * FEATURES + g] += 4;
  const comp_model *model = make_model(context, d, 0, 0);
  comp__diagnose_options o = comp__diagnose_defaults();
  o.permutations = 19;
  const double alphas[] = {0.05, 0.01, 0.0005};
  for (size_t a = 0; a < 3; a++) {
    o.alpha = alphas[a];
    comp_diagnosis *diagnosis;
    assert_ok(comp__diagnose(&diagnosis, context, d, &model, 1, &o));
    for (size_t i = 0; i < comp_diagnosis_finding_count(diagnosis); i++) {
      const comp_finding *f = comp_diagnosis_finding_at(diagnosis, i);
      if (strcmp(f->id, "prediction") == 0 && f->level != COMP_FINDING_PROBLEM)
        fail_msg("alpha %g: %s", o.alpha, f->text);
    }
    comp_diagnosis_free(diagnosis);
  }
  comp_model_free((comp_model *)(uintptr_t)model);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Models that must not be compared. */
static void wrong_models(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1), *other = make_dataset(ROWS, FEATURES, 2), *part;
  size_t rows[ROWS / 2];
  for (size_t i = 0; i < ROWS / 2; i++) rows[i] = i;
  assert_ok(comp_dataset_select(&part, context, d, rows, ROWS / 2, NULL, 0));
  comp_model *a = make_model(context, d, 0, 5), *again = make_model(context, d, 0, 5);
  comp_model *bare = make_model(context, d, 1, 0), *elsewhere = make_model(context, other, 1, 5);
  comp_model *fewer = make_model(context, part, 1, 5);
  comp__diagnose_options o = comp__diagnose_defaults();
  const char *const names[] = {"first.comp", "second.comp"};
  comp_diagnosis *out;
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a, a}, 2, &o), COMP_ERR_ARGUMENT,
               "model 1 and model 2 are the same model");
  o.names = names;
  o.n_names = 2;
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a, again}, 2, &o), COMP_ERR_ARGUMENT,
               "'first.comp' and 'second.comp' are the same model");
  again->params[0] += 1;
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a, again}, 2, &o), COMP_ERR_ARGUMENT,
               "the same seed and settings");
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a, elsewhere}, 2, &o), COMP_ERR_ARGUMENT,
               "were trained on different data: the mean of '0' was");
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a, fewer}, 2, &o), COMP_ERR_ARGUMENT,
               "'first.comp' was trained on 240 samples, 'second.comp' on 120");
  o.against = elsewhere;
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a}, 1, &o), COMP_ERR_ARGUMENT,
               "different data");
  o.against = again;
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a}, 1, &o), COMP_ERR_ARGUMENT,
               "trained with a penalty (gamma 5)");
  o.against = bare;
  o.against_name = "bare.comp";
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){bare}, 1, &o), COMP_ERR_ARGUMENT,
               "'bare.comp' and 'first.comp' are the same model");
  o.against = NULL;
  o.label = "stim";
  assert_error(comp__diagnose(&out, context, d, (const comp_model *const[]){a}, 1, &o), COMP_ERR_DATA,
               "'stim' is the condition of the model");
  comp_model *all[] = {a, again, bare, elsewhere, fewer};
  for (int m = 0; m < 5; m++) comp_model_free(all[m]);
  comp_dataset_free(d);
  comp_dataset_free(other);
  comp_dataset_free(part);
  comp_context_free(context);
}

static void one_model(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_dataset(ROWS, FEATURES, 1);
  const comp_model *model = make_model(context, d, 0, 5);
  comp__diagnose_options o = comp__diagnose_defaults();
  comp_diagnosis *diagnosis;
  assert_ok(comp__diagnose(&diagnosis, context, d, &model, 1, &o));
  size_t stable = 0;
  for (size_t i = 0; i < comp_diagnosis_finding_count(diagnosis); i++) {
    const comp_finding *f = comp_diagnosis_finding_at(diagnosis, i);
    bool seeds = strcmp(f->question, "Do other seeds agree?") == 0;
    if (seeds || strncmp(f->question, "Is anything lost", 16) == 0 || strncmp(f->question, "What no check", 13) == 0)
      assert_int_equal(f->level, COMP_FINDING_NOTE);
    stable += seeds;
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
  comp__diagnose_options o = comp__diagnose_defaults();
  comp_diagnosis *out;
  assert_error(comp__diagnose(&out, context, d, both, 0, &o), COMP_ERR_ARGUMENT, "no model");
  assert_error(comp__diagnose(&out, context, d, both, 2, &o), COMP_ERR_ARGUMENT, "models of different data");
  assert_null(out);
  o.against = models[1];
  assert_error(comp__diagnose(&out, context, d, both, 1, &o), COMP_ERR_ARGUMENT,
               "the model to compare with has 13 features");
  o.against = NULL;
  size_t rows[] = {0, 1, 2, 3};
  assert_ok(comp_dataset_select(&few, context, d, rows, 4, NULL, 0));
  assert_error(comp__diagnose(&out, context, few, both, 1, &o), COMP_ERR_DATA, "4 samples are too few");
  comp_dataset_free(few);
  size_t one_side[40];
  for (size_t i = 0; i < 40; i++) one_side[i] = 2 * i;
  assert_ok(comp_dataset_select(&few, context, d, one_side, 40, NULL, 0));
  assert_error(comp__diagnose(&out, context, few, both, 1, &o), COMP_ERR_DATA, "'yes' has 0 samples");
  comp_dataset_free(few);
  o.label = "typ";
  assert_error(comp__diagnose(&out, context, d, both, 1, &o), COMP_ERR_DATA, "type");
  o.label = NULL;
  o.alpha = 0;
  assert_error(comp__diagnose(&out, context, d, both, 1, &o), COMP_ERR_ARGUMENT, "alpha");
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
      cmocka_unit_test(nothing_to_identify),
      cmocka_unit_test(whole),
      cmocka_unit_test(least_pair),
      cmocka_unit_test(stray_pairs),
      cmocka_unit_test(no_power),
      cmocka_unit_test(advice),
      cmocka_unit_test(odd_models),
      cmocka_unit_test(odd_labels),
      cmocka_unit_test(floors),
      cmocka_unit_test(settings),
      cmocka_unit_test(wrong_models),
      cmocka_unit_test(one_model),
      cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests_name("diagnose/diagnose", tests, NULL, NULL);
}
