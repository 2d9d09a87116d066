/* test_score.c: metrics worked by hand and by plain loops, threads, and mistakes. The oracle is
 * tests/oracle/test_score.py. */
#include "testing.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "core/rng.h"
#include "metrics/agreement.h"
#include "metrics/neighborhood.h"
#include "metrics/silhouette.h"
#include "score/options.h"
#include "text/stream.h"

/* Known values: P(chi2 > x) of one, two and four degrees of freedom have closed forms. */
static void tail_of_chi_square(void **state) {
  (void)state;
  for (double x = 1e-6; x < 1380.0; x *= 1.7) {
    double one = erfc(sqrt(x / 2.0)), two = exp(-x / 2.0), four = exp(-x / 2.0) * (1.0 + x / 2.0);
    assert_true(fabs(comp__chi_square_tail(x, 1.0) - one) <= 1e-11 * one);
    assert_true(fabs(comp__chi_square_tail(x, 2.0) - two) <= 1e-11 * two);
    assert_true(fabs(comp__chi_square_tail(x, 4.0) - four) <= 1e-11 * four);
  }
  assert_true(comp__chi_square_tail(0.0, 3.0) == 1.0);
  assert_true(comp__chi_square_tail(1e9, 3.0) == 0.0);
  assert_true(comp__chi_square_tail(INFINITY, 3.0) == 0.0);
}

static void statistic_by_hand(void **state) {
  (void)state;
  /* 10 neighbours, shares 0.25 and 0.75, the sample is of group 1: expected 2.5 and 8.5. */
  double dof, x = comp__kbet_statistic((size_t[]){6, 5}, (size_t[]){25, 75}, 2, 1, 10, &dof);
  assert_near(x, 3.5 * 3.5 / 2.5 + 3.5 * 3.5 / 8.5, 1e-12);
  assert_true(dof == 1.0);
  /* A group that nobody has does not count. */
  x = comp__kbet_statistic((size_t[]){6, 0, 5}, (size_t[]){25, 0, 75}, 3, 2, 10, &dof);
  assert_near(x, 3.5 * 3.5 / 2.5 + 3.5 * 3.5 / 8.5, 1e-12);
  assert_true(dof == 1.0);
}

static void neighbourhoods_by_hand(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  /* Four samples, two neighbours each; groups 0 0 1 1. */
  const int32_t indices[] = {1, 2, 0, 2, 3, 1, 2, 1}, group[] = {0, 0, 1, 1}, within[] = {0, 0, 0, 1};
  const float distances[] = {1, 3, 1, 2, 2, 4, 0, 0};
  const size_t counts[] = {2, 2};
  comp__neighborhoods h = {4, 2, 2, indices, distances, group, 2, counts, NULL, NULL, 4};
  double s[4], p[4];
  assert_ok(comp__local_silhouettes(s, context, &h));
  assert_near(s[0], 2.0 / 3.0, 1e-12);
  assert_near(s[1], 0.5, 1e-12);
  assert_near(s[2], 0.5, 1e-12);
  assert_true(s[3] == 0.0); /* all distances 0 */
  assert_ok(comp__kbet_pvals(p, context, &h));
  assert_near(p[0], comp__chi_square_tail(0.0, 1.0), 1e-12); /* 2 and 1, as expected */
  h.within = within;
  assert_ok(comp__local_silhouettes(s, context, &h));
  assert_true(s[2] == -1.0); /* its own kind has another label */
  assert_true(s[3] == 0.0);  /* nobody left */
  assert_ok(comp__kbet_pvals(p, context, &h));
  assert_true(p[3] == 1.0);
  h.rows = (const size_t[]){2};
  h.n_rows = 1;
  assert_ok(comp__local_silhouettes(s, context, &h));
  assert_true(s[0] == -1.0);
  comp_context_free(context);
}

/* Weights that are known: neighbours at equal distances weigh the same; of five and oneself, a third is two. */
static void lisi_by_hand(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  const int32_t group[] = {0, 0, 0, 1, 1, 2}, indices[] = {1, 2, 3, 4, 5};
  const size_t counts[] = {3, 2, 1}, rows[] = {0};
  float distances[] = {2, 2, 2, 2, 2};
  double lisi;
  comp__neighborhoods h = {6, 5, 5, indices, distances, group, 3, counts, NULL, rows, 1};
  assert_ok(comp__lisi(&lisi, context, &h));
  assert_near(lisi, 25.0 / (4.0 + 4.0 + 1.0), 1e-9); /* the sample itself has no weight */
  /* Two far nearer than the rest have an entropy of log 2 between them, however far all of them are. */
  for (float base = 0.0f; base < 2e6f; base += 1e6f) {
    for (size_t n = 0; n < 5; n++) distances[n] = base + (n < 2 ? 0.0f : 1000.0f);
    assert_ok(comp__lisi(&lisi, context, &h));
    assert_near(lisi, 1.0, 1e-4); /* both are of group 0 */
  }
  h.group = (const int32_t[]){0, 1, 2, 0, 0, 0};
  assert_ok(comp__lisi(&lisi, context, &h));
  assert_near(lisi, 2.0, 1e-4);
  h.k = 1; /* two samples */
  assert_ok(comp__lisi(&lisi, context, &h));
  assert_near(lisi, 1.0, 1e-12);
  h.k = 0;
  assert_ok(comp__lisi(&lisi, context, &h));
  assert_near(lisi, 1.0, 1e-12);
  comp_context_free(context);
}

static void agreement_by_hand(void **state) {
  (void)state;
  const int32_t a[] = {0, 0, 1, 1}, b[] = {1, 1, 0, 0}, c[] = {0, 1, 0, 1}, one[] = {0, 0, 0, 0};
  double nmi, ari;
  assert_ok(comp__partition_agreement(&nmi, &ari, a, 2, b, 2, 4));
  assert_near(nmi, 1.0, 1e-12);
  assert_near(ari, 1.0, 1e-12);
  assert_ok(comp__partition_agreement(&nmi, &ari, a, 2, c, 2, 4));
  assert_near(nmi, 0.0, 1e-12);
  assert_near(ari, -0.5, 1e-12);
  assert_ok(comp__partition_agreement(&nmi, &ari, a, 2, one, 1, 4));
  assert_near(nmi, 0.0, 1e-12);
  assert_near(ari, 0.0, 1e-12);
  assert_ok(comp__partition_agreement(&nmi, &ari, one, 1, one, 1, 4));
  assert_near(nmi, 1.0, 1e-12);
  assert_near(ari, 1.0, 1e-12);
}

enum { N = 300, DIMS = 4 };

/* Points of three labels with two conditions; label z has one sample. */
static comp_dataset *points(bool constant) {
  comp_matrix *x, *embedding;
  comp_dataset *d;
  const char *condition[N], *label[N], *same[N];
  assert_ok(comp_matrix_new_dense(&x, N, 6));
  assert_ok(comp_matrix_new_dense(&embedding, N, DIMS));
  for (size_t i = 0; i < N; i++) {
    comp__rng rng = comp__rng_at(5, COMP__RNG_TEST, 1, i);
    bool b = comp__rng_uniform(rng, 100) < 0.4;
    condition[i] = b ? "B" : "A";
    label[i] = i == 7 ? "z" : i % 3 ? "x" : "y";
    same[i] = "one";
    for (size_t j = 0; j < DIMS; j++)
      comp_matrix_values(embedding)[i * DIMS + j] =
          constant ? 2.5f : (float)(comp__rng_normal(rng, j) + (i % 3 ? 2.0 : 0.0) + (b ? 0.4 : 0.0));
    for (size_t j = 0; j < 6; j++)
      comp_matrix_values(x)[i * 6 + j] = (float)(comp__rng_normal(rng, 10 + j) + (b ? 1.0 : 0.0));
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_test", embedding));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "stim", condition));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "type", label));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "same", same));
  condition[3] = label[5] = NULL;
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "stim_missing", condition));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "type_missing", label));
  return d;
}

/* The names of a list with commas between. They stay valid until the fourth call after. */
static const char *const *names_of(const char *list, size_t *n) {
  enum { CALLS = 4, MOST = 8 };
  static char texts[CALLS][256];
  static const char *names[CALLS][MOST];
  static int call;
  char *rest = texts[call = (call + 1) % CALLS];
  snprintf(rest, sizeof texts[call], "%s", list);
  for (*n = 0; rest;) names[call][(*n)++] = strsep(&rest, ",");
  return names[call];
}

static comp__score_options options_of(const char *metrics) {
  comp__score_options o = comp__scores_defaults().score;
  o.condition = "stim";
  o.label = "type";
  o.metrics = names_of(metrics, &o.n_metrics);
  o.k = 20;
  return o;
}

static double silhouette_of(size_t sample, const float *x, const int32_t *group, size_t groups) {
  double sums[130] = {0}, a = 0.0, b = INFINITY;
  size_t counts[130] = {0};
  for (size_t j = 0; j < N; j++) {
    double d2 = 0.0;
    for (size_t k = 0; k < DIMS; k++) d2 += pow((double)x[sample * DIMS + k] - (double)x[j * DIMS + k], 2.0);
    sums[group[j]] += sqrt(d2);
    counts[group[j]] += j != sample;
  }
  for (size_t g = 0; g < groups; g++) {
    double mean = sums[g] / (double)counts[g];
    if ((int32_t)g == group[sample])
      a = mean;
    else if (counts[g] > 0)
      b = fmin(b, mean);
  }
  return counts[group[sample]] == 0 ? 0.0 : (b - a) / fmax(a, b);
}

static void silhouettes_by_plain_loops(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = points(false);
  const float *x = comp_matrix_const_values(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_test"));
  int32_t group[N];
  double widths[N];
  for (size_t groups = 3; groups <= 130; groups += 127) { /* the last of 130 has no samples, the one before one */
    for (size_t i = 0; i < N; i++) group[i] = i == 0 ? (int32_t)groups - 2 : (int32_t)(i % (groups - 2));
    assert_ok(comp__silhouettes(widths, context, x, N, DIMS, group, groups));
    for (size_t i = 0; i < N; i++) assert_near(widths[i], silhouette_of(i, x, group, groups), 1e-6);
    assert_true(widths[0] == 0.0); /* alone */
  }
  assert_near(comp__silhouette((double[]){3.0, 8.0, 10.0}, (size_t[]){4, 4, 2}, 3, 0), 0.5, 1e-12);
  assert_true(comp__silhouette((double[]){0.0, 8.0}, (size_t[]){1, 4}, 2, 0) == 0.0);
  assert_true(comp__silhouette((double[]){0.0, 0.0}, (size_t[]){3, 4}, 2, 0) == 0.0);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* All of a result as text, so that two can be compared byte by byte. */
static char *as_text(const comp_score *score) {
  char *text = NULL;
  size_t size;
  FILE *out = comp__text_stream(&text, &size);
  for (size_t m = 0; m < comp_score_metric_count(score); m++)
    for (size_t e = 0; e < comp_score_embedding_count(score); e++) {
      fprintf(out, "%s %a\n", comp_score_metric_at(score, m)->name, comp_score_value(score, m, e));
      for (size_t p = 0; p < comp_score_part_count(score, m, e); p++)
        fprintf(out, " %a\n", comp_score_part_at(score, m, e, p)->value);
    }
  fclose(out);
  return text;
}

static void same_bytes_at_any_thread_count(void **state) {
  (void)state;
  char *reference = NULL;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_dataset *d = points(false);
    comp_score *score;
    comp__score_options o = options_of("all");
    assert_ok(comp__score_run(&score, context, d, &o));
    char *text = as_text(score);
    if (reference) assert_string_equal(text, reference);
    if (t == 0)
      reference = text;
    else
      free(text);
    comp__score_free(score);
    comp_dataset_free(d);
    comp_context_free(context);
  }
  free(reference);
}

static const comp_score_part *part_of(const comp_score *score, size_t m, const char *label) {
  for (size_t p = 0; p < comp_score_part_count(score, m, 0); p++) {
    const comp_score_part *part = comp_score_part_at(score, m, 0, p);
    if (part->label && !part->condition && strcmp(part->label, label) == 0) return part;
  }
  fail_msg("no part for label %s", label);
  return NULL;
}

/* Whether no label is more common than its own among the 15 samples that are nearest to sample i. */
static bool has_own_neighbours(const float *x, const char *const *label, size_t i) {
  enum { K = 15 };
  bool taken[N] = {false};
  size_t near[K], own = 0;
  taken[i] = true;
  for (size_t k = 0; k < K; k++) {
    double least = INFINITY;
    for (size_t j = 0; j < N; j++) {
      double d2 = 0.0;
      for (size_t c = 0; c < DIMS; c++) d2 += pow((double)x[i * DIMS + c] - (double)x[j * DIMS + c], 2.0);
      if (taken[j] || d2 >= least) continue;
      least = d2;
      near[k] = j;
    }
    taken[near[k]] = true;
    own += strcmp(label[near[k]], label[i]) == 0;
  }
  for (size_t a = 0; a < K; a++) {
    size_t other = 0;
    for (size_t b = 0; b < K; b++) other += strcmp(label[near[a]], label[near[b]]) == 0;
    if (other > own) return false;
  }
  return true;
}

static void neighbours_share_the_label(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = points(false);
  comp_score *score;
  comp__score_options o = options_of("label_knn");
  const float *x = comp_matrix_const_values(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_test"));
  const char *label[N];
  size_t found = 0, found_y = 0, n_y = 0;
  for (size_t i = 0; i < N; i++) label[i] = i == 7 ? "z" : i % 3 ? "x" : "y"; /* as points() has them */
  for (size_t i = 0; i < N; i++) {
    bool right = has_own_neighbours(x, label, i);
    found += right;
    if (label[i][0] == 'y') found_y += right, n_y++;
  }
  assert_true(found_y > 0 && found_y < n_y); /* the test can fail */
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_near(comp_score_value(score, 0, 0), (double)found / N, 1e-12);
  assert_near(part_of(score, 0, "y")->value, (double)found_y / (double)n_y, 1e-12);
  assert_true(part_of(score, 0, "z")->value == 0.0); /* a single sample */
  comp__score_free(score);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void values_are_in_range(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const bool leiden = test_has_module("leiden");
  for (int constant = 0; constant < 2; constant++) {
    comp_dataset *d = points(constant);
    comp_score *score;
    comp__score_options o = options_of("all");
    assert_ok(comp__score_run(&score, context, d, &o));
    assert_int_equal(comp_score_metric_count(score), comp_score_known_count());
    for (size_t m = 0; m < comp_score_metric_count(score); m++) {
      const comp_score_metric *metric = comp_score_metric_at(score, m);
      double value = comp_score_value(score, m, 0);
      if (!leiden && strstr(metric->name, "_leiden")) {
        assert_true(isnan(value));
        assert_non_null(strstr(comp_score_note(score, m, 0), "libcomp-leiden"));
        continue;
      }
      if (!(value >= metric->min && value <= metric->max)) fail_msg("%s is %g", metric->name, value);
    }
    comp__score_free(score);
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

static void small_labels(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = points(false);
  comp_score *score;
  comp__score_options o = options_of("m_kbet");
  o.k = 40; /* y has 100 samples, x 199, z 1 */
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_null(part_of(score, 0, "x")->left_out);
  assert_string_equal(part_of(score, 0, "y")->left_out, "fewer samples than 4 times k");
  assert_string_equal(part_of(score, 0, "z")->left_out, "a single condition");
  assert_true(isnan(part_of(score, 0, "y")->value));
  assert_true(comp_score_value(score, 0, 0) == part_of(score, 0, "x")->value);
  comp__score_free(score);
  o.k = 60; /* and now none is large enough */
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_true(isnan(comp_score_value(score, 0, 0)));
  assert_non_null(strstr(comp_score_note(score, 0, 0), "--small-labels shrink"));
  comp__score_free(score);
  o.k = 40;
  o.small_labels = COMP__SMALL_SHRINK;
  o.min_label = 100;
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_int_equal(part_of(score, 0, "x")->k, 40);
  assert_int_equal(part_of(score, 0, "y")->k, 25);
  assert_near(comp_score_value(score, 0, 0), (part_of(score, 0, "x")->value + part_of(score, 0, "y")->value) / 2.0,
              1e-12);
  comp__score_free(score);
  o.min_label = 250; /* nobody left: a note, not a number */
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_true(isnan(comp_score_value(score, 0, 0)));
  assert_string_equal(comp_score_note(score, 0, 0), "every label was left out");
  comp__score_free(score);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* What perfect mixing has: conditions without any relation to the points have no other score, those that depend on them
 * have the same chance, and other metrics have none. */
static void perfect_mixing(void **state) {
  (void)state;
  enum { MANY = 2000 };
  comp_context *context = test_context(2);
  comp_dataset *d;
  comp_matrix *x, *z;
  comp_score *score;
  static const char *mixed[MANY], *apart[MANY], *type[MANY];
  assert_ok(comp_matrix_new_dense(&x, MANY, 1));
  assert_ok(comp_matrix_new_dense(&z, MANY, 2));
  for (size_t i = 0; i < MANY; i++) {
    comp__rng rng = comp__rng_at(11, COMP__RNG_TEST, 0, i);
    comp_matrix_values(x)[i] = 1.0f;
    for (size_t j = 0; j < 2; j++) comp_matrix_values(z)[2 * i + j] = (float)comp__rng_normal(rng, j);
    mixed[i] = comp__rng_uniform(rng, 2) < 0.4 ? "a" : "b";
    apart[i] = comp_matrix_values(z)[2 * i] < 0 ? "a" : "b";
    type[i] = i % 2 ? "x" : "y";
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_test", z));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "mixed", mixed));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "apart", apart));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "type", type));
  comp__score_options o = options_of("kbet,m_kbet,s");
  o.label = "type";
  o.k = 40;
  for (int scope = 0; scope < 2; scope++) {
    o.scope = scope ? COMP__SCOPE_GLOBAL : COMP__SCOPE_LABEL;
    o.condition = "mixed";
    assert_ok(comp__score_run(&score, context, d, &o));
    for (size_t m = 0; m < 2; m++) {
      const double chance = comp_score_chance(score, m, 0);
      assert_true(chance > 0.06 && chance < 0.14); /* alpha is 0.1 */
      assert_near(comp_score_value(score, m, 0), chance, 0.05);
    }
    assert_true(isnan(comp_score_chance(score, 2, 0)));
    comp__score_free(score);
    o.condition = "apart";
    assert_ok(comp__score_run(&score, context, d, &o));
    for (size_t m = 0; m < 2; m++) {
      assert_true(comp_score_value(score, m, 0) > 0.8);
      assert_true(comp_score_chance(score, m, 0) > 0.06 && comp_score_chance(score, m, 0) < 0.14);
    }
    comp__score_free(score);
  }
  o.k = MANY / 2; /* m_kbet: every label is left out */
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_true(isnan(comp_score_chance(score, 1, 0)));
  comp__score_free(score);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Missing values: the same as without those samples. */
static void samples_with_missing_values(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = points(false), *without;
  size_t rows[N], n = 0;
  for (size_t i = 0; i < N; i++)
    if (i != 3 && i != 5) rows[n++] = i;
  comp_score *score, *expected;
  comp__score_options o = options_of("m_kbet,s_label,asw_label,asw_batch,clisi,graph_connectivity");
  assert_ok(comp_dataset_select(&without, context, d, rows, n, NULL, 0));
  assert_ok(comp__score_run(&expected, context, without, &o));
  o.condition = "stim_missing";
  o.label = "type_missing";
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_int_equal(comp_score_sample_count(score), N - 1);
  char *a = as_text(score), *b = as_text(expected);
  assert_string_equal(a, b);
  free(a);
  free(b);
  comp__score_free(score);
  comp__score_free(expected);
  comp_dataset_free(without);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Samples whose label only few others share: `share` to a label. */
static comp_dataset *many_labels(size_t n, size_t share) {
  comp_dataset *d;
  comp_matrix *x, *z;
  char(*names)[16] = calloc(n, sizeof *names);
  const char **label = calloc(n, sizeof *label), **condition = calloc(n, sizeof *condition);
  assert_ok(comp_matrix_new_dense(&x, n, 1));
  assert_ok(comp_matrix_new_dense(&z, n, 2));
  for (size_t i = 0; i < n; i++) {
    comp__rng rng = comp__rng_at(4, COMP__RNG_TEST, 0, i);
    snprintf(names[i], sizeof names[i], "g%zu", i / share);
    label[i] = names[i];
    condition[i] = i % 2 ? "a" : "b";
    comp_matrix_values(x)[i] = 1.0f;
    for (size_t j = 0; j < 2; j++) comp_matrix_values(z)[2 * i + j] = (float)comp__rng_normal(rng, j);
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_test", z));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "stim", condition));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "type", label));
  free(names), free(label), free(condition);
  return d;
}

static void identifiers_are_no_labels(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_score *score;
  comp__score_options o = options_of("m_kbet");
  comp_dataset *d = many_labels(60, 1);
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "'type' has 60 different values in 60 samples");
  assert_null(score);
  comp_dataset_free(d);
  d = many_labels(60, 2);
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_int_equal(comp_score_part_count(score, 0, 0), 30);
  comp__score_free(score);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void *interrupt_soon(void *context) {
  usleep(200000);
  comp_context_interrupt(context);
  return NULL;
}

/* `isolated` is the part of asw_label that belongs to those labels that the fewest conditions have: here z. */
static void isolated_is_a_part_of_asw_label(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = points(false);
  comp_score *score;
  comp__score_options o = options_of("asw_label,isolated");
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_int_equal(comp_score_part_count(score, 1, 0), 1);
  assert_near(comp_score_value(score, 1, 0), 0.5, 1e-12); /* one sample */
  comp__score_free(score);
  const char *label[N];
  for (size_t i = 0; i < N; i++) label[i] = i % 3 ? "x" : "y";
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "both", label));
  o.label = "both"; /* both labels have both conditions */
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_near(comp_score_value(score, 1, 0), (part_of(score, 0, "x")->value + part_of(score, 0, "y")->value) / 2.0,
              1e-12);
  assert_true(fabs(comp_score_value(score, 1, 0) - comp_score_value(score, 0, 0)) > 1e-3); /* x has twice the samples */
  comp__score_free(score);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* With thousands of labels k-means takes minutes here, but it stops soon when somebody asks for it. */
static void many_labels_can_be_interrupted(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = many_labels(12000, 3);
  comp_score *score;
  comp__score_options o = options_of("nmi_kmeans");
  pthread_t thread;
  time_t start = time(NULL);
  assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, context), 0);
  assert_int_equal(comp__score_run(&score, context, d, &o), COMP_ERR_INTERRUPTED);
  assert_true(time(NULL) - start < 20); /* on a machine with much else to do */
  pthread_join(thread, NULL);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void mistakes(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = points(false);
  comp_score *score;
  comp__score_options o = options_of("paper");
  o.condition = "same";
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "at least two conditions");
  o = options_of("paper");
  o.condition = "stm";
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "did you mean 'stim'");
  o = options_of("paper");
  o.embeddings = names_of("X_tst", &o.n_embeddings);
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "did you mean 'X_test'");
  o = options_of("kbt");
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_ARGUMENT, "did you mean 'kbet'");
  o = options_of("kbet");
  o.k = N;
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "there are 300 samples");
  o = options_of("m_kbet");
  o.label = NULL;
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_ARGUMENT, "needs a label");
  o = options_of("paper");
  o.label = "stim";
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_ARGUMENT, "label: 'stim' is the condition");
  o = options_of("pcr");
  o.before = "X_pca";
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "X_pca");
  o = options_of("asw_label");
  comp_matrix_values(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_test"))[9] = 1e25f;
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "too large");
  comp_matrix_values(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_test"))[9] = NAN;
  o = options_of("paper");
  assert_error(comp__score_run(&score, context, d, &o), COMP_ERR_DATA, "sample '2' (row 3), column 2");
  comp_dataset_free(d);
  comp_context_free(context);
}

static bool needs_x(const comp__score_options *o) {
  bool needed;
  assert_ok(comp__score_needs_x(&needed, o));
  return needed;
}

static void families_and_needs(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = points(false);
  comp_score *score;
  comp__score_options o = options_of("paper");
  o.label = NULL; /* metrics that need one are left out quietly */
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_int_equal(comp_score_metric_count(score), 2);
  comp__score_free(score);
  assert_false(needs_x(&o));
  o.metrics = names_of("total_batch", &o.n_metrics);
  assert_true(needs_x(&o)); /* pcr is a part of it */
  o.before = "X_test";
  assert_false(needs_x(&o));
  o.embeddings = names_of("X_test,X", &o.n_embeddings);
  assert_true(needs_x(&o));
  o = options_of("total_batch");
  o.embeddings = names_of("X_test,X", &o.n_embeddings);
  assert_ok(comp__score_run(&score, context, d, &o));
  assert_int_equal(comp_score_metric_count(score), 6);
  assert_int_equal(comp_score_embedding_count(score), 2);
  assert_int_equal(comp_score_dims(score, 1), 6);
  double sum = 0.0;
  for (size_t m = 0; m < 5; m++) sum += comp_score_value(score, m, 1);
  assert_near(comp_score_value(score, 5, 1), sum / 5.0, 1e-12);
  assert_true(comp_score_value(score, 4, 1) == 0.0); /* pcr of X against X */
  comp__score_free(score);
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tail_of_chi_square),
      cmocka_unit_test(statistic_by_hand),
      cmocka_unit_test(neighbourhoods_by_hand),
      cmocka_unit_test(lisi_by_hand),
      cmocka_unit_test(agreement_by_hand),
      cmocka_unit_test(silhouettes_by_plain_loops),
      cmocka_unit_test(same_bytes_at_any_thread_count),
      cmocka_unit_test(neighbours_share_the_label),
      cmocka_unit_test(values_are_in_range),
      cmocka_unit_test(small_labels),
      cmocka_unit_test(perfect_mixing),
      cmocka_unit_test(samples_with_missing_values),
      cmocka_unit_test(identifiers_are_no_labels),
      cmocka_unit_test(isolated_is_a_part_of_asw_label),
      cmocka_unit_test(many_labels_can_be_interrupted),
      cmocka_unit_test(mistakes),
      cmocka_unit_test(families_and_needs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
