/* test_classify.c: classifiers on data whose answer is known, parts and rates against direct counts, bad input, and the
 * same bytes at any number of threads. */
#include "testing.h"

#include "classify/examples.h"
#include "classify/options.h"
#include "core/matrix.h"
#include "core/rng.h"

enum { N = 600, D = 6 };

/* Blobs: level l lies at `distance` in direction l of the first columns; the others are noise. */
typedef struct blobs {
  comp_matrix *z;
  int32_t *codes;
  size_t n_levels;
} blobs;

static blobs blobs_new(size_t n, size_t n_levels, float distance, uint64_t seed) {
  blobs b = {.n_levels = n_levels};
  assert_ok(comp_matrix_new_dense(&b.z, n, D));
  b.codes = malloc(n * sizeof *b.codes);
  for (size_t i = 0; i < n; i++) {
    float *x = b.z->values + i * D;
    comp__rng_fill_normal(x, D, comp__rng_at(seed, COMP__RNG_TEST, 0, i), 0);
    b.codes[i] = (int32_t)(comp__rng_bits(comp__rng_at(seed, COMP__RNG_TEST, 1, i), 0) % n_levels);
    x[b.codes[i] % D] += distance;
  }
  return b;
}

static void blobs_free(blobs *b) {
  comp_matrix_free(b->z);
  free(b->codes);
}

static const comp_classifier_kind all_kinds[] = {COMP_CLASSIFIER_LOGISTIC, COMP_CLASSIFIER_FOREST,
                                                 COMP_CLASSIFIER_BOOSTED};

/* How many of them can be trained: the last one needs its module. */
static size_t kinds_here(void) {
  return test_has_module("boosted") ? COMP_CLASSIFIER_KINDS : COMP_CLASSIFIER_KINDS - 1;
}

/* Normal distributions at distance a in each of two directions: no rule is better than Phi(a / sqrt(2)). */
static void two_blobs_are_told_apart(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  blobs train = blobs_new(3000, 2, 2.0f, 1), test = blobs_new(3000, 2, 2.0f, 2);
  const double best = 0.5 * erfc(-2.0 / 2.0);
  for (size_t k = 0; k < kinds_here(); k++) {
    comp_classifier *c;
    int32_t predicted[3000];
    float *p = malloc(3000 * 2 * sizeof *p);
    double brier = 0.0;
    size_t hits = 0;
    assert_ok(comp_classifier_fit(&c, context, all_kinds[k], train.z, train.codes, 2, 3));
    assert_ok(comp_classifier_predict(predicted, context, c, test.z));
    assert_ok(comp_classifier_probabilities(p, context, c, test.z));
    for (size_t i = 0; i < 3000; i++) {
      hits += predicted[i] == test.codes[i];
      assert_near((double)(p[2 * i] + p[2 * i + 1]), 1.0, 1e-6);
      assert_int_equal(predicted[i], p[2 * i + 1] > 0.5f);
      brier += pow((double)p[2 * i + 1] - test.codes[i], 2) / 3000;
    }
    const double accuracy = (double)hits / 3000;
    if (fabs(accuracy - best) > 0.03)
      fail_msg("%s: %g, best %g", comp_classifier_kind_name(all_kinds[k]), accuracy, best);
    assert_true(brier < 0.1); /* of an even guess: 0.25 */
    comp_classifier_free(c);
    free(p);
  }
  blobs_free(&test);
  blobs_free(&train);
  comp_context_free(context);
}

/* The weights of a logistic regression are where the gradient of its loss is 0: one feature, no closed form needed. */
static void logistic_minimises_its_loss(void **state) {
  (void)state;
  enum { M = 40 };
  comp_context *context = test_context(1);
  comp_matrix *z;
  int32_t codes[M];
  float p[2 * M];
  assert_ok(comp_matrix_new_dense(&z, M, 1));
  double mean = 0.0, square = 0.0, gradient = 0.0, intercept = 0.0;
  for (size_t i = 0; i < M; i++) {
    codes[i] = i % 3 == 0;
    z->values[i] = (float)comp__rng_normal(comp__rng_at(4, COMP__RNG_TEST, 0, 0), i) + (float)codes[i];
    mean += (double)z->values[i] / M;
  }
  for (size_t i = 0; i < M; i++) square += pow((double)z->values[i] - mean, 2) / M;
  comp_classifier *c;
  assert_ok(comp_classifier_fit(&c, context, COMP_CLASSIFIER_LOGISTIC, z, codes, 2, 0));
  assert_ok(comp_classifier_probabilities(p, context, c, z));
  double logit[2];
  for (size_t i = 0; i < 2; i++) logit[i] = log((double)p[2 * i + 1] / (double)p[2 * i]);
  const double weight = (logit[1] - logit[0]) / ((double)z->values[1] - (double)z->values[0]) * sqrt(square);
  for (size_t i = 0; i < M; i++) {
    gradient += ((double)p[2 * i + 1] - codes[i]) * ((double)z->values[i] - mean) / sqrt(square);
    intercept += (double)p[2 * i + 1] - codes[i];
  }
  assert_near(weight + gradient, 0.0, 2e-3);
  assert_near(intercept, 0.0, 0.05); /* its penalty is a hundredth of the others' */
  comp_classifier_free(c);
  comp_matrix_free(z);
  comp_context_free(context);
}

/* A forest grown out knows its training rows: votes of trees that saw a row outweigh the third that did not. */
static void forest_fits_what_no_line_can(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  blobs b = blobs_new(2000, 2, 0.0f, 9);
  for (size_t i = 0; i < 2000; i++) b.codes[i] = (b.z->values[i * D] > 0.0f) != (b.z->values[i * D + 1] > 0.0f);
  comp__classify_options options = comp__classify_defaults();
  comp_accuracy forest, logistic;
  assert_ok(comp__holdout(&forest, context, b.z, b.codes, 2, &options));
  options.classifier = COMP_CLASSIFIER_LOGISTIC;
  assert_ok(comp__holdout(&logistic, context, b.z, b.codes, 2, &options));
  assert_true(forest.accuracy > 0.88);
  assert_true(logistic.accuracy < 0.6);
  comp_accuracy_release(&logistic);
  comp_accuracy_release(&forest);
  blobs_free(&b);
  comp_context_free(context);
}

/* Folds and splits keep the mix of levels to within one sample. */
static void parts_are_stratified(void **state) {
  (void)state;
  size_t strata[N], folds[N], counts[3] = {0};
  bool test[N];
  for (size_t i = 0; i < N; i++) {
    strata[i] = i % 20 == 0 ? 2 : i % 3 == 0;
    counts[strata[i]]++;
  }
  assert_ok(comp__folds(folds, strata, N, 3, 7, 5));
  assert_ok(comp__split(test, strata, N, 3, 0.3, 5));
  size_t tested = 0;
  for (size_t s = 0; s < 3; s++) {
    size_t in_test = 0;
    for (size_t f = 0; f < 7; f++) {
      size_t here = 0;
      for (size_t i = 0; i < N; i++) here += strata[i] == s && folds[i] == f;
      assert_true(here == counts[s] / 7 || here == counts[s] / 7 + 1);
    }
    for (size_t i = 0; i < N; i++) in_test += strata[i] == s && test[i];
    assert_true(fabs((double)in_test - 0.3 * (double)counts[s]) <= 1.0);
    tested += in_test;
  }
  assert_int_equal(tested, 180);
  bool other[N];
  assert_ok(comp__split(other, strata, N, 3, 0.3, 6));
  assert_memory_not_equal(test, other, sizeof test);
}

static comp_predictability_result cross(comp_context *context, const blobs *b, comp_classifier_kind kind,
                                        size_t permutations) {
  comp__classify_options options = comp__classify_defaults();
  comp_predictability_result r;
  const char *name = comp_classifier_kind_name(kind);
  options.classifiers = &name;
  options.n_classifiers = 1;
  options.permutations = permutations;
  options.seed = 4;
  assert_ok(comp__predictability(&r, context, b->z, b->codes, b->n_levels, &options));
  return r;
}

static void permutations_tell_signal_from_noise(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  blobs signal = blobs_new(N, 3, 1.5f, 1), noise = blobs_new(N, 3, 0.0f, 1);
  comp_predictability_result s = cross(context, &signal, COMP_CLASSIFIER_LOGISTIC, 49);
  comp_predictability_result n = cross(context, &noise, COMP_CLASSIFIER_LOGISTIC, 49);
  assert_near(s.scores[0].p_value, 1.0 / 50, 1e-12);
  assert_true(n.scores[0].p_value > 0.05);
  assert_near(s.scores[0].permuted_accuracy, 1.0 / 3, 0.05);
  assert_true(s.scores[0].accuracy > 0.6 && n.scores[0].accuracy < 0.42);
  assert_true(s.scores[0].permuted_deviation > 0.0 && s.scores[0].deviation > 0.0);
  assert_int_equal(s.samples, N);
  size_t counts[3] = {0}, most = 0;
  for (size_t i = 0; i < N; i++) counts[signal.codes[i]]++;
  for (size_t k = 0; k < 3; k++) most = counts[k] > most ? counts[k] : most;
  assert_near(s.majority, (double)most / N, 1e-12);
  comp_predictability_release(&s);
  comp_predictability_release(&n);
  comp_predictability_result plain = cross(context, &signal, COMP_CLASSIFIER_FOREST, 0);
  assert_true(isnan(plain.scores[0].p_value) && isnan(plain.scores[0].permuted_accuracy));
  comp_predictability_release(&plain);
  blobs_free(&noise);
  blobs_free(&signal);
  comp_context_free(context);
}

static void results_do_not_depend_on_threads(void **state) {
  (void)state;
  blobs b = blobs_new(400, 3, 1.0f, 8);
  for (size_t k = 0; k < kinds_here(); k++) {
    comp_predictability_score expected;
    float *expected_p = NULL;
    for (size_t t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      comp_predictability_result r = cross(context, &b, all_kinds[k], k == 0 ? 5 : 1);
      comp_classifier *c;
      float *p = malloc(400 * 3 * sizeof *p);
      assert_ok(comp_classifier_fit(&c, context, all_kinds[k], b.z, b.codes, 3, 11));
      assert_ok(comp_classifier_probabilities(p, context, c, b.z));
      if (t == 0) {
        expected = r.scores[0];
        expected_p = p;
      } else {
        assert_memory_equal(p, expected_p, 400 * 3 * sizeof *p);
        assert_memory_equal(&r.scores[0].accuracy, &expected.accuracy, 6 * sizeof(double));
        free(p);
      }
      comp_classifier_free(c);
      comp_predictability_release(&r);
      comp_context_free(context);
    }
    free(expected_p);
  }
  blobs_free(&b);
}

/* Training never sees the second condition, which lies elsewhere in a direction that does not matter. */
static void labels_are_carried_over(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  blobs b = blobs_new(N, 3, 4.0f, 3);
  int32_t conditions[N];
  size_t trained = 0, tested = 0, third = 0;
  for (size_t i = 0; i < N; i++) {
    conditions[i] = (int32_t)(i % 3);
    if (i % 3 == 1) b.z->values[i * D + 5] += 3.0f;
    if (i % 3 == 2) b.z->values[i * D] = NAN; /* a condition that is not used may hold anything */
    trained += i % 3 == 0;
    tested += i % 3 == 1;
  }
  comp__classify_options options = comp__classify_defaults();
  comp_accuracy a;
  assert_ok(comp__transfer(&a, context, b.z, conditions, 0, 1, b.codes, 3, &options));
  assert_int_equal(a.n_train, trained);
  assert_int_equal(a.n_test, tested);
  assert_int_equal(a.unseen, 0);
  assert_true(a.accuracy > 0.9 && a.found[2] > 0.8 && a.correct[2] > 0.8);
  comp_accuracy_release(&a);

  for (size_t i = 0; i < N; i++)
    if (conditions[i] == 0 && b.codes[i] == 2) b.codes[i] = -1; /* training lacks label 2 */
  for (size_t i = 0; i < N; i++) third += conditions[i] == 1 && b.codes[i] == 2;
  assert_ok(comp__transfer(&a, context, b.z, conditions, 0, 1, b.codes, 3, &options));
  assert_int_equal(a.unseen, third);
  assert_int_equal(a.train_counts[2], 0);
  assert_true(a.found[2] == 0.0 && isnan(a.correct[2]));
  assert_true(a.accuracy <= 1.0 - (double)third / (double)tested);
  comp_accuracy_release(&a);
  assert_error(comp__transfer(&a, context, b.z, conditions, 0, 7, b.codes, 3, &options), COMP_ERR_DATA,
               "no sample is left to test on");
  assert_error(comp__transfer(&a, context, b.z, conditions, 7, 1, b.codes, 3, &options), COMP_ERR_DATA,
               "fewer than two levels");
  assert_error(comp__transfer(&a, context, b.z, conditions, 1, 1, b.codes, 3, &options), COMP_ERR_ARGUMENT, "the same");
  blobs_free(&b);
  comp_context_free(context);
}

/* One feature that is the target, but for group 1, where it is always 1: rates that can be counted. */
static void gaps_are_counted(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_matrix *z;
  int32_t targets[N], groups[N];
  assert_ok(comp_matrix_new_dense(&z, N, 1));
  for (size_t i = 0; i < N; i++) {
    groups[i] = i % 4 == 0;
    targets[i] = (int32_t)(i / 4 % 2);
    z->values[i] = groups[i] ? 1.0f : (float)targets[i];
  }
  comp__classify_options options = comp__classify_defaults();
  for (size_t k = 0; k < kinds_here(); k++) {
    comp_fairness_result f;
    options.classifier = all_kinds[k];
    assert_ok(comp__fairness(&f, context, z, targets, 2, groups, 2, &options));
    assert_near(f.groups[0].accuracy, 1.0, 0.0);
    assert_near(f.groups[0].true_positives[1], 1.0, 0.0);
    assert_near(f.groups[0].false_positives[1], 0.0, 0.0);
    assert_near(f.groups[1].selected[1], 1.0, 0.0);
    assert_near(f.groups[1].false_positives[1], 1.0, 0.0);
    assert_near(f.groups[1].true_positives[0], 0.0, 0.0);
    assert_near(f.odds_gap, 1.0, 0.0);
    assert_near(f.parity_gap, 1.0 - f.groups[0].selected[1], 1e-12);
    assert_near(f.accuracy_gap, 1.0 - f.groups[1].accuracy, 1e-12);
    assert_near(f.parity_gap, 0.5, 0.02);
    assert_near(f.target.accuracy, 0.875, 0.01);
    assert_int_equal(f.groups[0].n_test + f.groups[1].n_test, f.target.n_test);
    comp_fairness_release(&f);
  }
  for (size_t i = 0; i < N; i++) groups[i] = i % 4 == 0 ? -1 : 0;
  comp_fairness_result f;
  assert_error(comp__fairness(&f, context, z, targets, 2, groups, 2, &options), COMP_ERR_DATA, "one group");
  groups[3] = 2;
  assert_error(comp__fairness(&f, context, z, targets, 2, groups, 2, &options), COMP_ERR_ARGUMENT, "sample 4");
  comp_matrix_free(z);
  comp_context_free(context);
}

static void bad_input_is_an_error(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  blobs b = blobs_new(60, 2, 1.0f, 1);
  comp__classify_options options = comp__classify_defaults();
  comp_predictability_result r;
  int32_t codes[60];
  for (size_t i = 0; i < 60; i++) codes[i] = 1;
  assert_error(comp__predictability(&r, context, b.z, codes, 2, &options), COMP_ERR_DATA, "same level");
  codes[7] = 0; /* a level of one sample */
  assert_error(comp__predictability(&r, context, b.z, codes, 2, &options), COMP_ERR_DATA, "fewer than two levels");
  for (size_t i = 0; i < 60; i++) codes[i] = i < 4 ? (int32_t)(i % 2) : -1;
  assert_error(comp__predictability(&r, context, b.z, codes, 2, &options), COMP_ERR_DATA, "4 samples");
  for (size_t i = 0; i < 60; i++) codes[i] = -1;
  assert_error(comp__predictability(&r, context, b.z, codes, 2, &options), COMP_ERR_DATA, "no sample");
  for (size_t i = 0; i < 60; i++) codes[i] = i == 5 ? 2 : (int32_t)(i % 2); /* two levels are enough for the third */
  assert_ok(comp__predictability(&r, context, b.z, codes, 3, &options));
  assert_int_equal(r.n_levels, 3);
  comp_predictability_release(&r);
  assert_error(comp__predictability(&r, context, b.z, codes, 2, &options), COMP_ERR_ARGUMENT,
               "sample 6 has the level 2");
  b.z->values[9 * D + 4] = NAN;
  assert_error(comp__predictability(&r, context, b.z, b.codes, 2, &options), COMP_ERR_DATA, "sample 10, column 5");
  b.codes[9] = -1; /* a sample that is not used may hold anything */
  assert_ok(comp__predictability(&r, context, b.z, b.codes, 2, &options));
  assert_int_equal(r.samples, 59);
  comp_predictability_release(&r);
  comp_options *handle;
  assert_ok(comp_options_new(&handle, "classify"));
  assert_error(comp_options_set(handle, "folds", "1"), COMP_ERR_ARGUMENT, "folds: 1 is out of range");
  assert_error(comp_options_set(handle, "test-share", "1"), COMP_ERR_ARGUMENT, "test-share: 1 is out of range");
  assert_ok(comp_options_set(handle, "classifiers", "logistic,forrest"));
  assert_error(comp_predictability(&r, context, b.z, b.codes, 2, handle), COMP_ERR_ARGUMENT,
               "classifiers: there is no classifier 'forrest'");
  comp_options_free(handle);
  comp_classifier_kind kind;
  assert_error(comp_classifier_kind_parse(&kind, "forrest"), COMP_ERR_ARGUMENT, "'forrest'");
  for (size_t k = 0; k < COMP_CLASSIFIER_KINDS; k++) {
    assert_ok(comp_classifier_kind_parse(&kind, comp_classifier_kind_name(all_kinds[k])));
    assert_int_equal(kind, all_kinds[k]);
  }
  comp_classifier *c;
  int32_t predicted[60];
  comp_matrix *narrow;
  assert_ok(comp_classifier_fit(&c, context, COMP_CLASSIFIER_FOREST, b.z, b.codes, 2, 0));
  assert_ok(comp_matrix_new_dense(&narrow, 3, 2));
  assert_error(comp_classifier_predict(predicted, context, c, narrow), COMP_ERR_ARGUMENT, "6 features");
  comp_matrix_free(narrow);
  comp_classifier_free(c);
  blobs_free(&b);
  comp_context_free(context);
}

/* Sparse data is what it says; constant and repeated columns, and more levels than 256, do no harm. */
static void odd_data_is_fine(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  blobs b = blobs_new(N, 3, 2.0f, 5);
  for (size_t i = 0; i < N; i++) {
    b.z->values[i * D + 3] = 7.0f;
    b.z->values[i * D + 4] = b.z->values[i * D];
    b.z->values[i * D + 5] = i % 2 ? 0.0f : 1e30f;
  }
  comp_matrix *csr;
  assert_ok(comp_matrix_to_csr(&csr, context, b.z));
  comp__classify_options options = comp__classify_defaults();
  for (size_t k = 0; k < kinds_here(); k++) {
    comp_accuracy dense, sparse;
    options.classifier = all_kinds[k];
    assert_ok(comp__holdout(&dense, context, b.z, b.codes, 3, &options));
    assert_ok(comp__holdout(&sparse, context, csr, b.codes, 3, &options));
    assert_true(dense.accuracy > 0.7 && dense.accuracy == sparse.accuracy);
    comp_accuracy_release(&sparse);
    comp_accuracy_release(&dense);
  }
  for (size_t i = 0; i < N; i++) b.codes[i] = (int32_t)(i / 2);
  comp_accuracy many;
  options.classifier = COMP_CLASSIFIER_FOREST;
  assert_ok(comp__holdout(&many, context, b.z, b.codes, N / 2, &options));
  assert_int_equal(many.n_levels, N / 2);
  comp_accuracy_release(&many);
  comp_matrix_free(csr);
  blobs_free(&b);
  comp_context_free(context);
}

static void keep_last(void *user, const comp_progress *progress) {
  if (progress->finished) *(comp_progress *)user = *progress;
}

/* A task that is done says that all of it is done, also where folds share the threads. */
static void progress_comes_to_its_end(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  blobs b = blobs_new(200, 2, 1.0f, 5);
  for (size_t k = 0; k < kinds_here(); k++) {
    comp_progress last = {0};
    comp_context_on_progress(context, keep_last, &last);
    comp_predictability_result r = cross(context, &b, all_kinds[k], 0);
    assert_true(last.total > 0);
    assert_int_equal(last.done, last.total);
    comp_predictability_release(&r);
  }
  blobs_free(&b);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_blobs_are_told_apart),
      cmocka_unit_test(logistic_minimises_its_loss),
      cmocka_unit_test(forest_fits_what_no_line_can),
      cmocka_unit_test(parts_are_stratified),
      cmocka_unit_test(permutations_tell_signal_from_noise),
      cmocka_unit_test(results_do_not_depend_on_threads),
      cmocka_unit_test(labels_are_carried_over),
      cmocka_unit_test(gaps_are_counted),
      cmocka_unit_test(bad_input_is_an_error),
      cmocka_unit_test(odd_data_is_fine),
      cmocka_unit_test(progress_comes_to_its_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
