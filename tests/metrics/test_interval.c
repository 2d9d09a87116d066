/* test_interval.c: 95 % intervals: closed forms, and how often they hold the true value of data drawn again and again.
 */
#include "testing.h"

#include "core/rng.h"
#include "metrics/interval.h"

/* Wilson's interval by the roots of its equation: (p - x)^2 = z^2 x (1 - x) / n. */
static void shares(void **state) {
  (void)state;
  const double z = 1.959963985, shares[] = {0, 0.1, 0.5, 0.98, 1};
  for (size_t k = 0; k < 5; k++)
    for (double n = 5; n < 1e6; n *= 7) {
      comp__interval i = comp__share_interval(shares[k], n);
      const double ends[] = {i.low, i.high};
      assert_true(i.low >= 0 && i.low <= shares[k] && shares[k] <= i.high && i.high <= 1);
      for (int e = 0; e < 2; e++) {
        if (ends[e] == shares[k]) continue; /* 0 and 1 */
        double difference = (shares[k] - ends[e]) * (shares[k] - ends[e]), wanted = z * z * ends[e] * (1 - ends[e]) / n;
        assert_near(difference, wanted, 1e-6 * wanted + 1e-12);
      }
    }
  assert_near(comp__share_interval(0, 30).high, 0.1135, 1e-4); /* as statsmodels has it */
  assert_true(isnan(comp__share_interval(NAN, 30).low));
  /* A measured error that is larger than that of independent samples makes it wider, a smaller one does not help. */
  assert_true(comp__share_error_interval(0.2, 0.2, 0.1, 1000).high > 0.35);
  assert_near(comp__share_error_interval(0.2, 0.2, 1e-6, 1000).high, comp__share_interval(0.2, 1000).high, 1e-12);
}

enum { N = 160, SETS = 60 };

/* Two labels; in one of them the conditions are mixed, in the other they are not quite. */
static comp_dataset *draw(uint64_t seed) {
  comp_dataset *d;
  comp_matrix *x, *z;
  const char *condition[N], *label[N];
  assert_ok(comp_matrix_new_dense(&x, N, 1));
  assert_ok(comp_matrix_new_dense(&z, N, 2));
  for (size_t i = 0; i < N; i++) {
    comp__rng rng = comp__rng_at(seed, COMP__RNG_TEST, 7, i);
    const bool second = comp__rng_uniform(rng, 5) < 0.5, b = comp__rng_uniform(rng, 6) < 0.5;
    condition[i] = b ? "b" : "a";
    label[i] = second ? "y" : "x";
    comp_matrix_values(x)[i] = 1;
    comp_matrix_values(z)[2 * i] = (float)(comp__rng_normal(rng, 0) + (second ? 3 : 0));
    comp_matrix_values(z)[2 * i + 1] = (float)(comp__rng_normal(rng, 1) + (second && b ? 1.5 : 0));
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_test", z));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "c", condition));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "l", label));
  return d;
}

/* The share of data sets whose interval holds the mean over all of them is about 95 %; and intervals are not so wide
 * that this would be easy. */
static void coverage(void **state) {
  (void)state;
  static const char *const names[] = {"kbet", "m_kbet", "s", "s_label", "ilisi", "clisi", "label_knn", "nmi_kmeans"};
  enum { METRICS = sizeof names / sizeof *names };
  static double value[METRICS][SETS], low[METRICS][SETS], high[METRICS][SETS];
  comp_context *context = test_context(2);
  comp_options *options;
  assert_ok(comp_options_new(&options, "score"));
  assert_ok(comp_options_set(options, "use", "X_test"));
  assert_ok(comp_options_set(options, "condition", "c"));
  assert_ok(comp_options_set(options, "label", "l"));
  assert_ok(comp_options_set(options, "metrics", "kbet,s,m_kbet,s_label,ilisi,clisi,label_knn,nmi_kmeans"));
  assert_ok(comp_options_set(options, "small-labels", "shrink"));
  assert_ok(comp_options_set_int(options, "min-label", 10));
  assert_ok(comp_options_set_int(options, "k", 16));
  for (size_t set = 0; set < SETS; set++) {
    comp_dataset *d = draw(set);
    comp_scores *scores;
    assert_ok(comp_scores_run(&scores, context, d, options));
    const comp_score *score = comp_scores_embeddings(scores);
    for (size_t m = 0; m < METRICS; m++) {
      assert_string_equal(comp_score_metric_at(score, m)->name, names[m]);
      value[m][set] = comp_score_value(score, m, 0);
      comp_score_interval(&low[m][set], &high[m][set], score, m, 0);
      assert_true(low[m][set] <= value[m][set] && value[m][set] <= high[m][set]);
    }
    comp_scores_free(scores);
    comp_dataset_free(d);
  }
  for (size_t m = 0; m < METRICS; m++) {
    double mean = 0, square = 0, width = 0, held = 0;
    for (size_t i = 0; i < SETS; i++) mean += value[m][i] / SETS;
    for (size_t i = 0; i < SETS; i++) {
      square += (value[m][i] - mean) * (value[m][i] - mean) / (SETS - 1);
      width += (high[m][i] - low[m][i]) / SETS;
      held += (low[m][i] <= mean && mean <= high[m][i]) / (double)SETS;
    }
    print_message("# %s: %.3f, sd %.4f, width %.4f (%.2f sd), holds %.2f\n", names[m], mean, sqrt(square), width,
                  width / sqrt(square), held);
    if (held < 0.8) fail_msg("%s: the interval holds the true value in %.2f of the data sets", names[m], held);
    if (width > 8 * sqrt(square))
      fail_msg("%s: the interval is %.1f standard deviations wide", names[m], width / sqrt(square));
  }
  comp_options_free(options);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shares), cmocka_unit_test(coverage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
