/* test_audit.c: attackers find what is there and nothing else; the document, findings and errors of an audit. */
#include "testing.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/attack.h"
#include "audit/utility.h"
#include "comp/audit.h"
#include "comp/comp.h"
#include "core/matrix.h"
#include "core/rng.h"

enum { N = 600 };

static double normal(size_t i, uint64_t column) {
  return comp__rng_normal(comp__rng_at(3, COMP__RNG_TEST, 0, i), column);
}
static double uniform(size_t i, uint64_t column) {
  return comp__rng_uniform(comp__rng_at(3, COMP__RNG_TEST, 1, i), column);
}

/* ---- Attackers ---- */

/* Codes 0 and 1 in turns; x[N, 2]. */
static comp__attack attack(const char *name, const float *x, comp_context *context) {
  size_t rows[N];
  int32_t codes[N];
  comp__attack a;
  for (size_t i = 0; i < N; i++) {
    rows[i] = i;
    codes[i] = (int32_t)(i % 2);
  }
  const size_t n_train = 400;
  const comp__examples train = {x, 2, rows, n_train, codes, 2}, test = {x, 2, rows + n_train, N - n_train, codes, 2};
  assert_ok(comp__attack_run(&a, context, comp__attacker_find(name), &train, &test, 5, 0));
  assert_true(a.accuracy.low <= a.accuracy.value && a.accuracy.value <= a.accuracy.high);
  assert_true(a.balanced.low <= a.balanced.value && a.balanced.value <= a.balanced.high);
  assert_true(a.auroc.low <= a.auroc.value && a.auroc.value <= a.auroc.high);
  return a;
}

static const char *const all[] = {"logistic", "knn", "mlp", "forest"};

static void attackers(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  static float shifted[2 * N], crossed[2 * N], nothing[2 * N];
  for (size_t i = 0; i < N; i++) {
    const double s = i % 2 ? 1 : -1, side = uniform(i, 0) < 0.5 ? -1 : 1;
    shifted[2 * i] = (float)(s + normal(i, 0)); /* the best threshold is right in Phi(1) = 0.841 */
    shifted[2 * i + 1] = (float)normal(i, 1);
    crossed[2 * i] = (float)(side + 0.2 * normal(i, 2));
    crossed[2 * i + 1] = (float)(side * s + 0.2 * normal(i, 3));
    nothing[2 * i] = (float)normal(i, 4);
    nothing[2 * i + 1] = (float)normal(i, 5);
  }
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    const comp__attack a = attack(all[k], shifted, context), b = attack(all[k], crossed, context),
                       c = attack(all[k], nothing, context);
    if (fabs(a.balanced.value - 0.841) > 0.07) fail_msg("%s: %g of a shift", all[k], a.balanced.value);
    if (fabs(a.auroc.value - 0.921) > 0.05) fail_msg("%s: area %g of a shift", all[k], a.auroc.value); /* Phi(sqrt 2) */
    if (k == 0 ? b.balanced.value > 0.6 : b.balanced.value < 0.95)
      fail_msg("%s: %g of an exclusive or", all[k], b.balanced.value);
    if (c.balanced.low > 0.5 || c.auroc.low > 0.5) fail_msg("%s finds %g in nothing", all[k], c.balanced.value);
  }
  comp_context_free(context);
}

/* Every sample has a twin of the same level, far from all others: whoever looks at one neighbour finds it. */
static void twins(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  static float x[2 * N];
  for (size_t i = 0; i < N; i++) {
    const size_t pair = i < N / 2 ? i : i - N / 2; /* i and i + N / 2, both of level i % 2 */
    x[2 * i] = (float)(100 * uniform(pair, 6));
    x[2 * i + 1] = (float)(100 * uniform(pair, 7));
  }
  const comp__attack near = attack("knn", x, context), line = attack("logistic", x, context);
  assert_string_equal(near.setting, "k = 1");
  assert_true(near.accuracy.value > 0.95);
  assert_true(line.accuracy.value < 0.6);
  comp_context_free(context);
}

static void area(void **state) {
  (void)state;
  const float scores[] = {0.1f, 0.4f, 0.35f, 0.8f, 0.4f, 0.9f, 0.2f};
  const bool positive[] = {false, false, true, true, true, true, false};
  double value, error, sum = 0, by_positive[4] = {0}, by_negative[3] = {0};
  size_t p = 0;
  for (size_t i = 0; i < 7; i++) {
    size_t n = 0;
    if (!positive[i]) continue;
    for (size_t j = 0; j < 7; j++) {
      if (positive[j]) continue;
      const double won = scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      sum += won / 12;
      by_positive[p] += won / 3;
      by_negative[n++] += won / 4;
    }
    p++;
  }
  double variance = 0;
  for (size_t i = 0; i < 4; i++) variance += (by_positive[i] - sum) * (by_positive[i] - sum) / 3 / 4;
  for (size_t j = 0; j < 3; j++) variance += (by_negative[j] - sum) * (by_negative[j] - sum) / 2 / 3;
  assert_ok(comp__auroc(&value, &error, scores, positive, 7));
  assert_near(value, sum, 1e-12);
  assert_near(error, sqrt(variance), 1e-12);
}

/* ---- Use ---- */

static void use(void **state) {
  (void)state;
  /* Group 0: 4 samples, truth 1 1 0 0, predicted 1 0 0 0; group 1: truth 1 0 0 1, predicted 1 1 0 1. */
  const int32_t truth[] = {1, 1, 0, 0, 1, 0, 0, 1}, predicted[] = {1, 0, 0, 0, 1, 1, 0, 1},
                groups[] = {0, 0, 0, 0, 1, 1, 1, 1};
  const comp__judged judged = {predicted, truth, groups, 8, 2, 2, 1};
  comp__utility u = {0};
  assert_ok(comp__utility_measure(&u, &judged));
  assert_near(u.accuracy, 0.75, 1e-12);
  assert_near(u.majority, 0.5, 1e-12);
  assert_near(u.parity.value, 0.5, 1e-12); /* 1 of 4 against 3 of 4 */
  assert_near(u.parity.error, 2 * sqrt(2.0 / 6 * 4 / 6 / 6 + 4.0 / 6 * 2 / 6 / 6), 1e-12);
  assert_near(u.opportunity.value, 0.5, 1e-12); /* 1 of 2 against 2 of 2 */
  assert_near(u.odds.value, 0.5, 1e-12);
  assert_near(u.accuracy_gap, 0, 1e-12);
  assert_near(u.balanced, 0.75, 1e-12);
}

/* ---- A whole audit ---- */

/* X (4 features) shows the attribute a little; X_comp: `leak` of it in the first dimension; the target is in the
 * second. The column "test" marks a third. */
static comp_dataset *make(double leak, double scale) {
  comp_matrix *x, *z, *s;
  comp_dataset *d;
  const char *group[N], *target[N], *one[N], *copy[N];
  int8_t test[N], every[N];
  float values[4 * N], means[3 * N], deviations[3 * N];
  for (size_t i = 0; i < N; i++) {
    const double a = i % 2 ? 1 : -1;
    group[i] = i % 2 ? "man" : "woman";
    target[i] = normal(i, 10) + 0.2 * normal(i, 11) > 0.5 ? "high" : "low";
    one[i] = "same";
    test[i] = i % 3 == 0;
    copy[i] = i % 5 == 0 ? NULL : i % 2 ? "m" : "f"; /* some are not known */
    every[i] = 1;
    for (size_t k = 0; k < 4; k++) values[4 * i + k] = (float)(0.5 * a + normal(i, 12 + k));
    means[3 * i] = (float)(leak * a + 0.5 * normal(i, 16));
    means[3 * i + 1] = (float)normal(i, 10);
    means[3 * i + 2] = (float)(0.3 * normal(i, 17));
    for (size_t k = 0; k < 3; k++) deviations[3 * i + k] = (float)scale;
  }
  assert_ok(comp_matrix_new_dense(&x, N, 4));
  assert_ok(comp_matrix_new_dense(&z, N, 3));
  assert_ok(comp_matrix_new_dense(&s, N, 3));
  memcpy(comp_matrix_values(x), values, sizeof values);
  memcpy(comp_matrix_values(z), means, sizeof means);
  memcpy(comp_matrix_values(s), deviations, sizeof deviations);
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_comp", z));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_comp_scale", s));
  comp_table *obs = comp_dataset_obs(d);
  assert_ok(comp_table_add_strings(obs, "sex", group));
  assert_ok(comp_table_add_strings(obs, "income", target));
  assert_ok(comp_table_add_strings(obs, "one", one));
  assert_ok(comp_table_add_bools(obs, "test", test));
  assert_ok(comp_table_add_strings(obs, "copy", copy));
  assert_ok(comp_table_add_bools(obs, "every", every));
  return d;
}

static comp_options *how(void) {
  comp_options *o;
  assert_ok(comp_options_new(&o, "audit"));
  assert_ok(comp_options_set(o, "condition", "sex"));
  assert_ok(comp_options_set(o, "attackers", "logistic,knn"));
  assert_ok(comp_options_set(o, "points", "1000"));
  return o;
}

static const comp_finding *find(const comp_audit *audit, const char *id) {
  for (size_t i = 0; i < comp_audit_finding_count(audit); i++)
    if (strcmp(comp_audit_finding_at(audit, i)->id, id) == 0) return comp_audit_finding_at(audit, i);
  return NULL;
}

static void assert_level(const comp_audit *audit, const char *id, const char *level) {
  const comp_finding *f = find(audit, id);
  const char *is = f ? comp_finding_level_name(f->level) : "none";
  if (strcmp(is, level) != 0) fail_msg("%s: %s, not %s (%s)", id, is, level, f ? f->text : "");
}

static void audits(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_options *o = how();
  comp_audit *audit;
  comp_dataset *open = make(1.5, 1), *closed = make(0, 1);
  assert_ok(comp_options_set(o, "target", "income"));
  assert_ok(comp_options_set(o, "known", "income"));
  assert_ok(comp_options_set(o, "release", "draws,cells:8"));
  assert_ok(comp_audit_run(&audit, context, open, o));
  assert_level(audit, "attack", "problem");
  assert_level(audit, "reveals-more",
               "problem"); /* 1.5 / 0.5 deviations apart; in X one deviation over four features */
  assert_level(audit, "attack-draws", "problem");
  assert_level(audit, "known", "note");
  assert_level(audit, "unseen", "caution");
  assert_level(audit, "target", "ok");
  assert_int_equal(comp_audit_worst(audit), COMP_FINDING_PROBLEM);
  comp_audit_free(audit);
  assert_ok(comp_options_set(o, "unseen", "test"));
  assert_ok(comp_audit_run(&audit, context, closed, o));
  assert_level(audit, "attack", "caution"); /* 200 samples cannot say that it is hidden */
  assert_non_null(strstr(find(audit, "attack")->text, "was not found"));
  assert_non_null(strstr(find(audit, "attack")->text, "Too few samples"));
  assert_level(audit, "reveals-more", "none");
  assert_level(audit, "certificate", "ok");
  assert_level(audit, "unseen", "none");
  json_t *root = json_loads(comp_audit_json(audit), 0, NULL);
  assert_int_equal(json_array_size(json_object_get(root, "attacks")), 4);
  assert_int_equal(json_integer_value(json_object_get(root, "test_samples")), N / 3);
  json_t *draws = json_array_get(json_object_get(root, "certificates"), 0),
         *cells = json_array_get(json_object_get(root, "certificates"), 1);
  assert_string_equal(json_string_value(json_object_get(draws, "release")), "draws");
  assert_string_equal(json_string_value(json_object_get(cells, "release")), "cells:8");
  const double bound = json_number_value(json_object_get(json_object_get(cells, "balanced_accuracy"), "upper"));
  if (!(bound > 0.5 && bound < 0.7)) fail_msg("bound %g", bound);
  assert_int_equal(json_array_size(json_object_get(root, "utility")), 4); /* means, draws, data, cells */
  json_decref(root);
  comp_audit_free(audit);
  comp_dataset_free(open);
  comp_dataset_free(closed);
  comp_options_free(o);
  comp_context_free(context);
}

static void same_at_any_threads(void **state) {
  (void)state;
  comp_options *o = how();
  comp_context *maker = test_context(1);
  comp_dataset *whole = make(0.3, 1), *d;
  char *first = NULL;
  size_t rows[240];
  for (size_t i = 0; i < 240; i++) rows[i] = i;
  assert_ok(comp_dataset_select(&d, maker, whole, rows, 240, NULL, 0));
  comp_dataset_free(whole);
  comp_context_free(maker);
  assert_ok(comp_options_set(o, "attackers", "logistic,knn,mlp,forest"));
  assert_ok(comp_options_set(o, "release", "draws,cells:4"));
  for (size_t t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_audit *audit;
    assert_ok(comp_audit_run(&audit, context, d, o));
    if (!first) first = strdup(comp_audit_json(audit));
    assert_string_equal(comp_audit_json(audit), first);
    comp_audit_free(audit);
    comp_context_free(context);
  }
  free(first);
  comp_dataset_free(d);
  comp_options_free(o);
}

static void constant(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_options *o = how();
  comp_dataset *d = make(0, 1);
  comp_matrix *z;
  comp_audit *audit;
  assert_ok(comp_matrix_new_dense(&z, N, 2));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_none", z));
  assert_ok(comp_options_set(o, "attackers", NULL));
  assert_ok(comp_options_set(o, "attackers", "logistic,knn,mlp,forest"));
  assert_ok(comp_options_set(o, "use", "X_none"));
  assert_ok(comp_options_set(o, "target", "income"));
  assert_ok(comp_options_set(o, "release", "cells:2"));
  assert_ok(comp_audit_run(&audit, context, d, o));
  assert_level(audit, "constant", "caution");
  assert_level(audit, "attack", "ok");
  assert_level(audit, "target", "caution");
  assert_non_null(strstr(find(audit, "target")->text, "small gaps are worth nothing"));
  comp_audit_free(audit);
  comp_dataset_free(d);
  comp_options_free(o);
  comp_context_free(context);
}

static void errors(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make(0, 1);
  comp_audit *audit;
  const struct {
    const char *option, *value;
    comp_status status;
    const char *text;
  } cases[] = {
      {"condition", "one", COMP_ERR_DATA, "nothing to find out"},
      {"condition", "sox", COMP_ERR_DATA, "sex"},
      {"use", "X_cmp", COMP_ERR_DATA, "X_comp"},
      {"target", "sex", COMP_ERR_ARGUMENT, "must be hidden"},
      {"target", "one", COMP_ERR_DATA, "nothing to predict"},
      {"target", "copy", COMP_ERR_DATA, "column 'copy' says of each sample what the condition 'sex' says"},
      {"known", "sex", COMP_ERR_ARGUMENT, "attribute itself"},
      {"release", "means", COMP_ERR_ARGUMENT, "nothing can be proved"},
      {"release", "cells:1", COMP_ERR_ARGUMENT, "2 to 4096"},
      {"release", "cells", COMP_ERR_ARGUMENT, "neither draws nor cells:K"},
      {"release", "cells:4000", COMP_ERR_DATA, "samples to fit cells on"},
      {"attackers", "svm", COMP_ERR_ARGUMENT, "there are logistic"},
      {"favoured", "high", COMP_ERR_ARGUMENT, "goes with --target"},
      {"unseen", "one", COMP_ERR_DATA, "no sample is true (or 1) in column 'one'"},
      {"unseen", "every", COMP_ERR_DATA, "column 'every' marks all 600 samples: none is left for attackers"},
      {"gammas", "1,x", COMP_ERR_ARGUMENT, "'x' is not a number"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    comp_options *o = how();
    assert_ok(comp_options_set(o, cases[k].option, cases[k].value));
    assert_error(comp_audit_run(&audit, context, d, o), cases[k].status, cases[k].text);
    assert_null(audit);
    comp_options_free(o);
  }
  comp_options *o = how();
  assert_ok(comp_options_set(o, "release", "draws"));
  assert_ok(comp_options_set(o, "use", "X"));
  assert_error(comp_audit_run(&audit, context, d, o), COMP_ERR_DATA, "standard deviations");
  /* Standard deviations that are none. */
  const float wrong[] = {NAN, -1.0f};
  assert_ok(comp_options_set(o, "use", "X_bad"));
  for (size_t k = 0; k < 2; k++) {
    comp_matrix *z, *scale;
    assert_ok(comp_matrix_new_dense(&z, N, 1));
    assert_ok(comp_matrix_new_dense(&scale, N, 1));
    for (size_t i = 0; i < N; i++) {
      z->values[i] = (float)i;
      scale->values[i] = i == 3 ? wrong[k] : 1.0f;
    }
    assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_bad", z));
    assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_bad_scale", scale));
    assert_error(comp_audit_run(&audit, context, d, o), COMP_ERR_DATA, "(sample 4, column 1), which is no standard");
  }
  /* So few samples that no bound is below 1; the message says how many it takes. */
  size_t rows[60];
  comp_dataset *few;
  for (size_t i = 0; i < 60; i++) rows[i] = i;
  assert_ok(comp_dataset_select(&few, context, d, rows, 60, NULL, 0));
  assert_ok(comp_options_set(o, "use", "X_comp"));
  assert_ok(comp_options_set(o, "release", NULL));
  assert_ok(comp_options_set(o, "release", "cells:2"));
  assert_ok(comp_options_set(o, "delta", "0.001"));
  assert_error(comp_audit_run(&audit, context, few, o), COMP_ERR_DATA, "needs at least 31 held-out samples");
  comp_dataset_free(few);
  comp_options_free(o);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Two models, trained and audited on samples that they did not see. */
static void frontier(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_options *o = how();
  comp_dataset *d = make(0, 1);
  comp_audit *audit;
  assert_error(comp_audit_frontier(&audit, context, d, o), COMP_ERR_ARGUMENT, "needs some");
  assert_ok(comp_options_set(o, "gammas", "0,10"));
  assert_error(comp_audit_frontier(&audit, context, d, o), COMP_ERR_ARGUMENT, "needs a target (--target)");
  assert_ok(comp_options_set(o, "target", "income"));
  assert_ok(comp_options_set(o, "epochs", "2"));
  assert_ok(comp_options_set(o, "release", "draws"));
  assert_ok(comp_audit_frontier(&audit, context, d, o));
  json_t *root = json_loads(comp_audit_json(audit), 0, NULL), *points = json_object_get(root, "points");
  assert_int_equal(json_array_size(points), 2);
  json_t *one = json_object_get(json_array_get(points, 1), "audit");
  assert_true(json_is_true(json_object_get(one, "unseen")));
  assert_int_equal(json_array_size(json_object_get(one, "certificates")), 1);
  assert_string_equal(json_string_value(json_object_get(json_object_get(one, "model"), "model")), "comp");
  assert_int_equal(comp_audit_finding_count(audit), 2);
  json_decref(root);
  if (test_has_module("figures")) {
    assert_ok(comp_figure_frontier(comp_audit_json(audit), "frontier_test.svg", NULL));
    FILE *file = fopen("frontier_test.svg", "r");
    assert_non_null(file);
    fclose(file);
    remove("frontier_test.svg");
    assert_error(comp_figure_frontier("{}", "frontier_test.svg", NULL), COMP_ERR_FORMAT, "no frontier");
  }
  comp_audit_free(audit);
  comp_dataset_free(d);
  comp_options_free(o);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attackers), cmocka_unit_test(twins),  cmocka_unit_test(area),
      cmocka_unit_test(use),       cmocka_unit_test(audits), cmocka_unit_test(same_at_any_threads),
      cmocka_unit_test(constant),  cmocka_unit_test(errors), cmocka_unit_test(frontier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
