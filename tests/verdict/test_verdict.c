/* test_verdict.c: every rule at its limits, the documents that findings are made from, and their JSON. */
#include "testing.h"

#include <jansson.h>

#include "verdict/rules.h"
#include "verdict/rules_audit.h"

/* Two conditions of so many samples; labels x, y, z with the given samples in each of them. */
static const char *design(char *out, size_t size, const int labels[3][2]) {
  int totals[2] = {0, 0};
  for (int l = 0; l < 3; l++)
    for (int c = 0; c < 2; c++) totals[c] += labels[l][c];
  snprintf(
      out, size,
      "{\"samples\": %d, \"condition\": \"c\", \"missing\": 0, \"conditions\": [{\"value\": \"a\", \"samples\": %d}, "
      "{\"value\": \"b\", \"samples\": %d}], \"columns\": [{\"column\": \"l\", \"role\": \"label\", \"missing\": 0, "
      "\"values\": [{\"value\": \"x\", \"samples\": [%d, %d]}, {\"value\": \"y\", \"samples\": [%d, %d]}, "
      "{\"value\": \"z\", \"samples\": [%d, %d]}]}]}",
      totals[0] + totals[1], totals[0], totals[1], labels[0][0], labels[0][1], labels[1][0], labels[1][1], labels[2][0],
      labels[2][1]);
  return out;
}

static const int EVEN[3][2] = {{500, 500}, {500, 500}, {500, 500}};
static const int UNEVEN[3][2] = {{800, 200}, {500, 500}, {200, 800}};

/* The verdict on up to four documents; NULL: none of that kind. It should be freed via comp_verdict_free(). */
static comp_verdict *judge(const char *scores, const char *samples, const char *training, const char *diagnosis) {
  const char *documents[COMP_DOCUMENTS] = {scores, samples, training, diagnosis};
  comp_verdict *v;
  assert_ok(comp_verdict_new(&v));
  for (int k = 0; k < COMP_DOCUMENTS; k++)
    if (documents[k]) assert_ok(comp_verdict_add(v, (comp_document)k, documents[k]));
  assert_ok(comp_verdict_judge(v));
  return v;
}

static const comp_finding *find(const comp_verdict *v, const char *id) {
  for (size_t i = 0; i < comp_verdict_finding_count(v); i++)
    if (strcmp(comp_verdict_finding_at(v, i)->id, id) == 0) return comp_verdict_finding_at(v, i);
  return NULL;
}

/* The level of a finding; "none" when the rule has nothing to say. */
static const char *level(const comp_verdict *v, const char *id) {
  const comp_finding *f = find(v, id);
  return f ? comp_finding_level_name(f->level) : "none";
}

static void assert_judged(const char *scores, const int labels[3][2], const char *id, const char *expected,
                          const char *text) {
  char samples[1024];
  comp_verdict *v = judge(scores, design(samples, sizeof samples, labels), NULL, NULL);
  if (strcmp(level(v, id), expected) != 0) fail_msg("%s is %s, not %s: %s", id, level(v, id), expected, scores);
  if (text && !strstr(find(v, id)->text, text)) fail_msg("'%s' lacks '%s'", find(v, id)->text, text);
  comp_verdict_free(v);
}

static void mixing(void **state) {
  (void)state;
  assert_judged("{\"kBET\": 0.2, \"s\": 0.05}", EVEN, "mixing", "ok", "'c' is well mixed");
  assert_judged("{\"kbet\": 0.21}", EVEN, "mixing", "caution", "partly mixed");
  assert_judged("{\"kbet\": 0.51}", EVEN, "mixing", "problem", "not mixed");
  assert_judged("{\"kbet\": 0.1, \"s\": 0.06}", EVEN, "mixing", "caution", NULL);
  assert_judged("{\"kbet\": 0.1, \"s\": 0.21}", EVEN, "mixing", "problem", NULL);
  assert_judged("{\"s\": -0.11}", EVEN, "silhouette", "caution", "below 0");
  assert_judged("{\"other\": 1}", EVEN, "mixing", "note", "not known");
  /* Scores of one label are not those of all samples. */
  assert_judged("[{\"name\": \"kBET\", \"value\": 0.9, \"label\": \"x\"}]", EVEN, "mixing", "note", NULL);
  /* Labels in different shares: what counts is within labels. */
  assert_judged("{\"kbet\": 0.6, \"m-kBET\": 0.1, \"s\": 0.3, \"s_label\": 0}", UNEVEN, "mixing", "ok",
                "Within labels");
  assert_judged("{\"kbet\": 0.6, \"m-kBET\": 0.1}", UNEVEN, "composition", "note", "by up to 40 points");
  assert_judged("{\"kbet\": 0.6, \"m-kBET\": 0.1}", EVEN, "composition", "none", NULL);
  /* Of two embeddings X_comp is judged, whatever the order. */
  assert_judged(
      "[{\"name\": \"kBET\", \"value\": 0.1, \"embedding\": \"X_comp\"}, {\"name\": \"kBET\", \"value\": 0.9, "
      "\"embedding\": \"X_pca\"}]",
      EVEN, "mixing", "ok", "kBET 0.100 (before: 0.900)");
}

/* Shares of samples whose neighbours have their label, in all and of label x, before and after. */
static const char *purity(char *out, size_t size, double before, double x_before, double after, double x_after) {
  snprintf(
      out, size,
      "{\"embeddings\": [{\"name\": \"X_pca\", \"scores\": {\"label_knn\": {\"value\": %g, \"parts\": [{\"label\": "
      "\"x\", \"value\": %g}]}}}, {\"name\": \"X_comp\", \"scores\": {\"label_knn\": {\"value\": %g, \"parts\": "
      "[{\"label\": \"x\", \"value\": %g}]}}}]}",
      before, x_before, after, x_after);
  return out;
}

static void labels_lost(void **state) {
  (void)state;
  static const int SMALL[3][2] = {{20, 20}, {500, 500}, {500, 500}}, TINY[3][2] = {{4, 4}, {500, 500}, {500, 500}};
  const struct {
    double before, x_before, after, x_after;
    const int (*labels)[2];
    const char *level;
  } cases[] = {
      {0.95, 0.95, 0.95, 0.9, EVEN, "ok"},
      {0.95, 0.95, 0.95, 0.8, EVEN, "caution"},
      {0.95, 0.95, 0.95, 0.55, EVEN, "caution"}, /* still mostly among its own */
      {0.95, 0.95, 0.95, 0.3, EVEN, "problem"},
      {0.95, 0.95, 0.95, 0.3, SMALL, "caution"},
      {0.95, 0.95, 0.95, 0.3, TINY, "ok"},
      {0.95, 0.60, 0.95, 0.45, SMALL, "ok"},    /* as much as chance makes of 40 samples */
      {0.95, 0.30, 0.95, 0.0, EVEN, "ok"},      /* it was not separate before */
      {0.95, 0.95, 0.89, 0.9, EVEN, "caution"}, /* all samples together */
      {0.95, 0.95, 0.79, 0.9, EVEN, "problem"},
      {0.90, 0.90, 0.99, 0.99, EVEN, "ok"},
  };
  char text[1024], samples[1024];
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    purity(text, sizeof text, cases[k].before, cases[k].x_before, cases[k].after, cases[k].x_after);
    comp_verdict *v = judge(text, design(samples, sizeof samples, cases[k].labels), NULL, NULL);
    const comp_finding *f = find(v, "labels-lost");
    if (strcmp(comp_finding_level_name(f->level), cases[k].level) != 0)
      fail_msg("case %zu: %s", k, comp_finding_level_name(f->level));
    bool named = f->n_labels == 1 && strcmp(f->labels[0], "x") == 0;
    assert_int_equal(named, strstr(f->text, "Lost: x (") != NULL);
    comp_verdict_free(v);
  }
  /* Without neighbours label by label: cLISI, else NMI of one way to cluster. */
  const char *two = "[{\"name\": \"%s\", \"value\": %g, \"embedding\": \"X_pca\"}, {\"name\": \"%s\", \"value\": %g, "
                    "\"embedding\": \"X_comp\"}]";
  const struct {
    const char *metric;
    double before, after;
    const char *level;
  } sums[] = {{"clisi", 0.9, 0.85, "ok"},           {"clisi", 0.9, 0.7, "caution"},
              {"clisi", 0.9, 0.5, "problem"},       {"nmi_kmeans", 0.5, 0.45, "ok"},
              {"nmi_leiden", 0.5, 0.35, "caution"}, {"nmi_leiden", 0.4, 0.02, "problem"}};
  for (size_t k = 0; k < sizeof sums / sizeof *sums; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, two, sums[k].metric, sums[k].before, sums[k].metric, sums[k].after);
#pragma GCC diagnostic pop
    assert_judged(text, EVEN, "labels-lost", sums[k].level, NULL);
  }
  /* Mixed over all samples and not within labels is no proof of over-correction. */
  assert_judged("{\"kBET\": 0.1, \"m-kBET\": 0.7, \"s_label\": -0.3}", EVEN, "labels-lost", "note", "not known");
  comp_verdict *v = judge("{\"kBET\": 0.1}", "{\"samples\": 900, \"condition\": \"c\"}", NULL, NULL);
  assert_string_equal(level(v, "labels-lost"), "note");
  assert_non_null(strstr(find(v, "labels-lost")->text, "no label was given"));
  comp_verdict_free(v);
}

/* --align all helps where nothing is missing, and harms where a condition lacks a label. */
static void advice_to_align_all(void **state) {
  (void)state;
  static const int lacking[3][2] = {{100, 100}, {100, 0}, {0, 0}};
  static const struct {
    const int (*labels)[2];
    const char *training;
    bool advised;
  } cases[] = {{EVEN, "{\"epochs\": 12, \"planned\": 12, \"best\": 7, \"align\": \"shared\"}", true},
               {EVEN, "{\"epochs\": 12, \"planned\": 12, \"best\": 7, \"align\": \"all\"}", false},
               {EVEN, NULL, false},
               {lacking, "{\"epochs\": 12, \"planned\": 12, \"best\": 7, \"align\": \"shared\"}", false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char samples[1024];
    comp_verdict *v =
        judge("{\"kbet\": 0.3}", design(samples, sizeof samples, cases[k].labels), cases[k].training, NULL);
    assert_string_equal(level(v, "mixing"), "caution");
    assert_true((strstr(find(v, "mixing")->advice, "--align all") != NULL) == cases[k].advised);
    comp_verdict_free(v);
  }
}

/* What perfect mixing has is named, and a value clearly above it is not called well mixed. */
static void mixing_beside_chance(void **state) {
  (void)state;
  static const struct {
    const char *kbet, *words;
  } cases[] = {{"0.151, \"low\": 0.144, \"high\": 0.159, \"chance\": 0.086", "is mixed, though not perfectly, in"},
               {"0.1, \"low\": 0.08, \"high\": 0.12, \"chance\": 0.086", "is well mixed in"},
               {"0.151, \"low\": 0.1, \"high\": 0.18, \"chance\": 0.086", "is well mixed in"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[512], samples[1024];
    snprintf(text, sizeof text, "{\"embeddings\": [{\"name\": \"X_comp\", \"scores\": {\"kbet\": {\"value\": %s}}}]}",
             cases[k].kbet);
    comp_verdict *v = judge(text, design(samples, sizeof samples, EVEN), NULL, NULL);
    assert_string_equal(level(v, "mixing"), "ok");
    assert_non_null(strstr(find(v, "mixing")->text, cases[k].words));
    assert_non_null(strstr(find(v, "mixing")->text, "; perfect mixing: 0.086)"));
    comp_verdict_free(v);
  }
}

/* So where the condition shows in z. */
static void advice_to_align_all_hides(void **state) {
  (void)state;
  static const char scores[] = "{\"embeddings\": [], \"predict\": [{\"embedding\": \"X_comp\", \"column\": \"c\", "
                               "\"samples\": 900, \"levels\": 2, "
                               "\"majority\": 0.5, \"classifiers\": [{\"classifier\": \"forest\", \"accuracy\": 0.8, "
                               "\"balanced_accuracy\": 0.8}]}]}";
  for (int all = 0; all < 2; all++) {
    char samples[1024];
    comp_verdict *v = judge(scores, design(samples, sizeof samples, EVEN),
                            all ? "{\"epochs\": 12, \"planned\": 12, \"best\": 7, \"align\": \"all\"}"
                                : "{\"epochs\": 12, \"planned\": 12, \"best\": 7, \"align\": \"shared\"}",
                            NULL);
    assert_string_equal(level(v, "hidden"), "problem");
    assert_true((strstr(find(v, "hidden")->advice, "--align all") == NULL) == all);
    comp_verdict_free(v);
  }
}

/* More gamma for mixing and less for labels is no advice. */
static void advice_agrees(void **state) {
  (void)state;
  char samples[1024];
  const char *scores =
      "{\"embeddings\": [{\"name\": \"X_pca\", \"scores\": {\"clisi\": {\"value\": 0.9}}}, {\"name\": \"X_comp\", "
      "\"scores\": {\"clisi\": {\"value\": 0.5}, \"kbet\": {\"value\": 0.9}}}]}";
  comp_verdict *v = judge(scores, design(samples, sizeof samples, EVEN), NULL, NULL);
  assert_string_equal(find(v, "mixing")->advice, find(v, "labels-lost")->advice);
  assert_int_equal(comp_verdict_worst(v), COMP_FINDING_PROBLEM);
  comp_verdict_free(v);
}

/* 'c' predicted by two classifiers from X_comp, where always predicting the most common value gives 0.6. */
static const char *classified(char *out, size_t size, double a, double balanced_a, double b, double balanced_b,
                              int samples) {
  snprintf(
      out, size,
      "{\"embeddings\": [], \"predict\": [{\"embedding\": \"X_comp\", \"column\": \"c\", \"samples\": %d, \"levels\": "
      "2, \"majority\": 0.6, \"classifiers\": [{\"classifier\": \"logistic\", \"accuracy\": %g, "
      "\"balanced_accuracy\": %g}, {\"classifier\": \"forest\", \"accuracy\": %g, \"balanced_accuracy\": %g}]}]}",
      samples, a, balanced_a, b, balanced_b);
  return out;
}

static void hidden(void **state) {
  (void)state;
  char text[1024];
#define CLASSIFIED(...) classified(text, sizeof text, __VA_ARGS__)
  assert_judged(CLASSIFIED(0.6, 0.5, 0.61, 0.51, 10000), EVEN, "hidden", "ok", "cannot be predicted from z");
  assert_judged(CLASSIFIED(0.6, 0.5, 0.61, 0.51, 10000), EVEN, "hidden-from-some", "none", NULL);
  assert_judged(CLASSIFIED(0.6, 0.5, 0.67, 0.51, 10000), EVEN, "hidden", "caution", "to some degree");
  assert_judged(CLASSIFIED(0.6, 0.5, 0.67, 0.51, 10000), EVEN, "hidden-from-some", "caution", "by logistic regression");
  assert_judged(CLASSIFIED(0.6, 0.5, 0.71, 0.51, 10000), EVEN, "hidden", "problem",
                "accuracy 0.710 (95 % interval 0.701 to 0.719; random forest)");
  /* Few samples: two standard errors. */
  /* So few samples show neither that it can be predicted nor that it cannot. */
  assert_judged(CLASSIFIED(0.6, 0.5, 0.67, 0.51, 100), EVEN, "hidden", "caution", "so few samples this is uncertain");
  assert_judged(CLASSIFIED(0.6, 0.5, 0.61, 0.5, 1000), EVEN, "hidden", "ok", "95 % interval 0.579 to 0.640");
  /* No better than the most common value, and yet each value is found. */
  assert_judged(CLASSIFIED(0.6, 0.5, 0.59, 0.7, 10000), EVEN, "hidden", "problem", "balanced accuracy 0.700");
  /* What the label alone gives is no fault of the embedding: 0.7 here. */
  assert_judged(CLASSIFIED(0.69, 0.69, 0.7, 0.7, 10000), UNEVEN, "hidden", "ok", "from the label alone 0.7");
  /* But where conditions are not mixed within labels, an accuracy no better than the label's does not show that. */
  snprintf(text, sizeof text,
           "{\"embeddings\": [{\"name\": \"X_comp\", \"scores\": {\"m_kbet\": {\"value\": 0.9}}}], \"predict\": "
           "[{\"embedding\": \"X_comp\", \"column\": \"c\", \"samples\": 10000, \"levels\": 2, \"majority\": 0.6, "
           "\"classifiers\": [{\"classifier\": \"forest\", \"accuracy\": 0.69, \"balanced_accuracy\": 0.69}]}]}");
  assert_judged(text, UNEVEN, "mixing", "problem", "Within labels");
  assert_judged(text, UNEVEN, "hidden", "problem", "may be visible within labels");
  /* What is far below chance can be read backwards. */
  assert_judged(CLASSIFIED(0.6, 0.5, 0.4, 0.35, 10000), EVEN, "below-chance", "note", "0.350");
  assert_judged(CLASSIFIED(0.6, 0.5, 0.6, 0.47, 10000), EVEN, "below-chance", "none", NULL);
#undef CLASSIFIED
}

static void guesses(void **state) {
  (void)state;
  comp__evidence e = {0};
  comp__cross labels;
  char samples[1024];
  static const int HOLE[3][2] = {{100, 100}, {100, 100}, {200, 0}};
  e.design = json_loads(design(samples, sizeof samples, HOLE), 0, NULL);
  assert_true(comp__design_label(&labels, NULL, &e));
  comp__guess g = comp__cross_guess(&labels);
  assert_near(g.accuracy, 400.0 / 600, 1e-12);
  assert_near(g.balanced, 0.75, 1e-12); /* each label is at most half of a condition */
  assert_near(g.gap, 0.5, 1e-12);
  comp__evidence_release(&e);
}

static void predictions(void **state) {
  (void)state;
  const char *one =
      "{\"embeddings\": [], \"counterfactual\": {\"from\": \"a\", \"to\": \"b\", \"labels\": [{\"label\": "
      "\"x\", \"prediction\": {\"r_change_all\": %g, \"mse_de\": %g}, \"no_change\": {\"mse_de\": 1}}, "
      "{\"label\": \"y\", \"prediction\": {\"r_change_all\": 0.9, \"mse_de\": 0.1}, \"no_change\": "
      "{\"mse_de\": 1}}], \"mean\": {\"prediction\": {\"r_change_all\": %g}}}}";
  char text[1024];
  const struct {
    double r, mse, mean;
    const char *all, *low, *worse;
  } cases[] = {{0.8, 0.5, 0.85, "ok", "none", "none"},
               {0.4, 0.5, 0.65, "ok", "caution", "none"},
               {0.8, 1.5, 0.85, "ok", "none", "caution"},
               {-0.1, 0.5, 0.4, "caution", "caution", "none"},
               {-0.9, 0.5, 0.0, "problem", "caution", "none"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, one, cases[k].r, cases[k].mse, cases[k].mean);
#pragma GCC diagnostic pop
    assert_judged(text, EVEN, "predictions", cases[k].all, "lowest in x");
    assert_judged(text, EVEN, "predictions-low", cases[k].low, NULL);
    assert_judged(text, EVEN, "predictions-worse", cases[k].worse, NULL);
  }
  assert_judged("{\"kbet\": 0.1}", EVEN, "predictions", "note", NULL);
  /* Over all labels worse than no change: r alone is no success. */
  const char *worse =
      "{\"embeddings\": [], \"counterfactual\": {\"from\": \"a\", \"to\": \"b\", \"labels\": [], \"mean\": "
      "{\"prediction\": {\"r_change_all\": 0.9, \"mse_de\": %g}, \"no_change\": {\"mse_de\": 1}}}}";
  const struct {
    double mse;
    const char *all, *worse;
  } means[] = {{0.9, "ok", "none"}, {1.04, "ok", "none"}, {1.5, "caution", "problem"}};
  for (size_t k = 0; k < sizeof means / sizeof *means; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, worse, means[k].mse);
#pragma GCC diagnostic pop
    assert_judged(text, EVEN, "predictions", means[k].all, NULL);
    assert_judged(text, EVEN, "predictions-worse", means[k].worse, k == 2 ? "a \u2192 b (error 1.50 times" : NULL);
  }
}

/* The noise ceiling, and what needs no model. */
static void predictions_beside_others(void **state) {
  (void)state;
  const char *document =
      "{\"embeddings\": [], \"counterfactual\": {\"from\": \"a\", \"to\": \"b\", \"labels\": [{\"label\": \"x\", "
      "\"prediction\": {\"r_change_all\": 0.9}}%s], \"mean\": {\"prediction\": {\"r_change_all\": 0.9, \"mse_de\": "
      "0.5}, "
      "\"no_change\": {\"mse_de\": 1}, \"mean_shift\": {\"mse_de\": %g}, \"ceiling\": {\"r_change_all\": %g}}}}";
  const char *second = ", {\"label\": \"y\", \"prediction\": {\"r_change_all\": 0.9}}";
  char text[1024];
  const struct {
    const char *more;
    double shift, ceiling;
    const char *all, *by_shift;
  } cases[] = {{second, 0.8, 0.9, "ok", "none"},
               {second, 0.48, 0.9, "ok", "none"},
               {second, 0.4, 0.9, "ok", "caution"},
               {"", 0.4, 0.9, "ok", "none"}, /* the mean over one label is its own */
               {second, 0.8, 0.4, "caution", "none"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, document, cases[k].more, cases[k].shift, cases[k].ceiling);
#pragma GCC diagnostic pop
    assert_judged(text, EVEN, "predictions", cases[k].all, k == 4 ? "barely more than chance" : NULL);
    assert_judged(text, EVEN, "predictions-shift", cases[k].by_shift, NULL);
  }
}

/* Which of several conditions have no predictions. */
static void predictions_of_some(void **state) {
  (void)state;
  const char *conditions =
      "{\"samples\": 9, \"condition\": \"c\", \"conditions\": [{\"value\": \"a\", \"samples\": 3}, {\"value\": "
      "\"b\", \"samples\": 3}, {\"value\": \"e\", \"samples\": 3}], \"columns\": []}";
  const char *change =
      "{\"from\": \"e\", \"to\": \"%s\", \"labels\": [], \"mean\": {\"prediction\": {\"r_change_all\": 0.9}}}";
  char first[200], second[200], text[600];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(first, sizeof first, change, "a");
  snprintf(second, sizeof second, change, "b");
#pragma GCC diagnostic pop
  snprintf(text, sizeof text, "{\"embeddings\": [], \"counterfactual\": %s, \"more_counterfactuals\": [%s]}", first,
           second);
  comp_verdict *v = judge(text, conditions, NULL, NULL);
  assert_string_equal(level(v, "predictions-some"), "note");
  assert_non_null(strstr(find(v, "predictions-some")->text, "for 2 of 3 conditions, not for e."));
  comp_verdict_free(v);
  snprintf(text, sizeof text, "{\"embeddings\": [], \"counterfactual\": %s}", first); /* asked for: --to a */
  v = judge(text, conditions, NULL, NULL);
  assert_string_equal(level(v, "predictions-some"), "none");
  comp_verdict_free(v);
}

static void data(void **state) {
  (void)state;
  static const int ALONE[3][2] = {{500, 0}, {0, 500}, {500, 0}}, ONE[3][2] = {{500, 0}, {500, 500}, {500, 500}};
  static const int FEW[3][2] = {{60, 60}, {60, 60}, {60, 49}}, LOPSIDED[3][2] = {{9000, 300}, {100, 60}, {100, 60}};
  static const int STRAYS[3][2] = {{500, 2}, {1, 500}, {500, 0}}, MOST[3][2] = {{500, 0}, {0, 500}, {500, 500}};
  static const int SMALL_B[3][2] = {{9000, 20}, {9000, 20}, {9000, 20}}; /* few, but of few */
  assert_judged("{\"kbet\": 0.1}", EVEN, "confounded", "none", NULL);
  assert_judged("{\"kbet\": 0.1}", ONE, "confounded", "caution", "1 of 3 labels is in one condition only: x (a)");
  assert_judged("{\"kbet\": 0.1}", ALONE, "confounded", "problem", "Every label is in one condition only");
  assert_judged("{\"kbet\": 0.1}", STRAYS, "confounded", "problem", "Every label is in one condition only");
  assert_judged("{\"kbet\": 0.1}", MOST, "confounded", "problem", "2 of 3 labels are in one condition only");
  assert_judged("{\"kbet\": 0.1}", SMALL_B, "confounded", "none", NULL);
  assert_judged("{\"kbet\": 0.1}", FEW, "few-samples", "caution", "only 349 samples");
  assert_judged("{\"kbet\": 0.1}", FEW, "small-groups", "caution", "1 group has fewer than 50 samples: z in b (49)");
  assert_judged("{\"kbet\": 0.1}", EVEN, "small-groups", "none", NULL);
  assert_judged("{\"embeddings\": [], \"samples\": 1000}", EVEN, "sampled", "none", NULL);
  assert_judged("{\"embeddings\": [], \"samples\": 1000, \"drawn_from\": 3000}", EVEN, "sampled", "note",
                "scored on 1000 of 3000 samples");
  assert_judged("{\"kbet\": 0.1}", LOPSIDED, "unequal-conditions", "caution", "'b' has 420 samples");
  comp_verdict *v = judge("{\"kbet\": 0.1}",
                          "{\"samples\": 900, \"condition\": \"c\", \"missing\": 3, \"conditions\": "
                          "[{\"value\": \"a\", \"samples\": 897}], \"columns\": []}",
                          NULL, NULL);
  assert_string_equal(level(v, "one-condition"), "problem");
  assert_string_equal(level(v, "missing-values"), "note");
  assert_string_equal(level(v, "not-named"), "note");
  comp_verdict_free(v);
}

/* Complete confounding is said first, and nothing else looks like success or advises what cannot help. */
static void confounded(void **state) {
  (void)state;
  static const int ALONE[3][2] = {{500, 0}, {0, 500}, {500, 0}};
  char samples[1024];
  const char *scores =
      "{\"embeddings\": [{\"name\": \"X_comp\", \"scores\": {\"kbet\": {\"value\": 0.01}, \"s\": {\"value\": 0}}}], "
      "\"predict\": [{\"embedding\": \"X_comp\", \"column\": \"c\", \"samples\": 1500, \"levels\": 2, \"majority\": "
      "0.67, "
      "\"classifiers\": [{\"classifier\": \"forest\", \"accuracy\": 0.66, \"balanced_accuracy\": 0.5}]}]}";
  comp_verdict *v =
      judge(scores, design(samples, sizeof samples, ALONE), NULL,
            "{\"findings\": [{\"id\": \"confounded\", \"level\": \"problem\", \"question\": \"q\", \"text\": "
            "\"Once more.\"}]}");
  assert_string_equal(comp_verdict_finding_at(v, 0)->id, "confounded");
  assert_null(comp_verdict_finding_at(v, comp_verdict_finding_count(v)));
  assert_string_equal(level(v, "mixing"), "caution");
  assert_string_equal(level(v, "hidden"), "caution");
  assert_string_equal(level(v, "predictions"), "caution");
  size_t n = 0;
  for (size_t i = 0; i < comp_verdict_finding_count(v); i++) {
    const comp_finding *f = comp_verdict_finding_at(v, i);
    n += strcmp(f->id, "confounded") == 0;
    assert_null(strstr(f->advice, "gamma"));
    if (f->level == COMP_FINDING_OK) fail_msg("%s is ok: %s", f->id, f->text);
  }
  assert_int_equal(n, 1);
  comp_verdict_free(v);
  /* A third condition that shares nothing with the others. */
  v = judge(
      "{\"kbet\": 0.1}",
      "{\"samples\": 900, \"condition\": \"c\", \"missing\": 0, \"conditions\": [{\"value\": \"a\", \"samples\": 300}, "
      "{\"value\": \"b\", \"samples\": 300}, {\"value\": \"e\", \"samples\": 300}], \"columns\": [{\"column\": \"l\", "
      "\"role\": \"label\", \"values\": [{\"value\": \"x\", \"samples\": [150, 150, 0]}, {\"value\": \"y\", "
      "\"samples\": "
      "[150, 150, 0]}, {\"value\": \"z\", \"samples\": [0, 0, 300]}]}]}",
      NULL, NULL);
  assert_string_equal(level(v, "confounded"), "problem");
  assert_non_null(strstr(find(v, "confounded")->text, "'e' shares no label with any other condition"));
  assert_string_equal(level(v, "mixing"), "ok");
  comp_verdict_free(v);
}

/* What is good as it stands is not ok when its interval reaches the limit, or with fewer than 100 samples. */
static void uncertain(void **state) {
  (void)state;
  static const int TINY[3][2] = {{5, 5}, {5, 5}, {5, 5}};
  const char *scores =
      "{\"embeddings\": [{\"name\": \"X_comp\", \"scores\": {\"kbet\": {\"value\": 0.1, \"low\": 0.05, \"high\": %g}, "
      "\"label_knn\": {\"value\": 0.9, \"low\": %g, \"high\": 0.95}}}, {\"name\": \"X_pca\", \"scores\": "
      "{\"label_knn\": {\"value\": 0.9, \"low\": 0.8, \"high\": 0.95}}}]}";
  char text[1024];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(text, sizeof text, scores, 0.15, 0.85);
  assert_judged(text, EVEN, "mixing", "ok", "kBET 0.100 (95 % interval 0.050 to 0.150)");
  assert_judged(text, EVEN, "labels-lost", "ok", NULL);
  assert_judged(text, TINY, "mixing", "caution", "so few samples this is uncertain");
  assert_judged(text, TINY, "labels-lost", "caution", "so few samples this is uncertain");
  snprintf(text, sizeof text, scores, 0.25, 0.7);
#pragma GCC diagnostic pop
  assert_judged(text, EVEN, "mixing", "caution", "so few samples this is uncertain");
  assert_judged(text, EVEN, "labels-lost", "caution", "so few samples this is uncertain");
}

/* A table whose attribute is to be hidden: a gap that rises is a caution, and nothing is said of over-correction. */
static void protected_attribute(void **state) {
  (void)state;
  const char *scores = "{\"condition\": \"c\", \"protect\": true, \"embeddings\": [{\"name\": \"X_comp\", \"scores\": "
                       "{\"kbet\": {\"value\": "
                       "0.01}, \"s\": {\"value\": -0.2}}}, {\"name\": \"X_pca\", \"scores\": {\"kbet\": {\"value\": "
                       "0.9}}}], \"fairness\": [{\"embedding\": \"X_pca\", \"column\": "
                       "\"t\", \"classifier\": "
                       "\"forest\", \"parity_gap\": 0.144, \"odds_gap\": 0.071}, {\"embedding\": \"X_comp\", "
                       "\"column\": \"t\", \"classifier\": "
                       "\"forest\", \"parity_gap\": %g, \"odds_gap\": %g, \"groups\": [{\"condition\": \"a\", "
                       "\"samples\": %d}, {\"condition\": "
                       "\"b\", \"samples\": %d}]}]}";
  const struct {
    double parity, odds;
    int samples;
    const char *level, *text;
  } cases[] = {
      {0.005, 0.207, 800, "caution", "Errors differ more between groups than before."},
      {0.005, 0.207, 20, "caution", "this may be chance"},
      {0.25, 0.05, 800, "caution", "Predictions differ more"},
      {0.25, 0.207, 800, "caution", "Both gaps"},
      {0.005, 0.1, 800, "note", "Before: 14.4 and 7.1 points."},
  };
  const char *design_only =
      "{\"samples\": 900, \"condition\": \"c\", \"conditions\": [{\"value\": \"a\", \"samples\": 450}, "
      "{\"value\": \"b\", \"samples\": 450}], \"columns\": []}";
  char text[2048];
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, scores, cases[k].parity, cases[k].odds, cases[k].samples, cases[k].samples);
#pragma GCC diagnostic pop
    comp_verdict *v =
        judge(text, design_only, NULL,
              "{\"findings\": [{\"id\": \"labels\", \"level\": \"note\", \"question\": \"q\", \"text\": \"t\"}]}");
    assert_string_equal(level(v, "fairness"), cases[k].level);
    if (!strstr(find(v, "fairness")->text, cases[k].text)) fail_msg("%s", find(v, "fairness")->text);
    static const char *const not_here[] = {"labels-lost", "silhouette", "predictions", "not-named", "labels"};
    for (size_t n = 0; n < sizeof not_here / sizeof *not_here; n++) assert_string_equal(level(v, not_here[n]), "none");
    comp_verdict_free(v);
  }
}

/* An attribute that is easier to find in z than in the data is a problem; one that must not be hidden is not asked for.
 * A target that nothing predicts makes small gaps worthless. */
static void reveals_more(void **state) {
  (void)state;
  const char *scores =
      "{\"condition\": \"c\", %s\"embeddings\": [{\"name\": \"X_comp\", \"scores\": {\"kbet\": {\"value\": 0.01}}}, "
      "{\"name\": \"X_pca\", \"scores\": {\"kbet\": {\"value\": 0.9}}}], \"predict\": [{\"embedding\": \"X_pca\", "
      "\"column\": \"c\", \"samples\": 7540, \"levels\": 2, \"majority\": 0.677, \"classifiers\": [{\"classifier\": "
      "\"forest\", \"accuracy\": 0.69, \"balanced_accuracy\": 0.57}]}, {\"embedding\": \"X_comp\", \"column\": \"c\", "
      "\"samples\": 7540, \"levels\": 2, \"majority\": 0.677, \"classifiers\": [{\"classifier\": \"logistic\", "
      "\"accuracy\": 0.672, \"balanced_accuracy\": 0.5}, {\"classifier\": \"forest\", \"accuracy\": %g, "
      "\"balanced_accuracy\": %g}]}, {\"embedding\": \"X_comp\", \"column\": \"t\", \"samples\": 7540, \"levels\": 2, "
      "\"majority\": 0.754, \"classifiers\": [{\"classifier\": \"forest\", \"accuracy\": %g, \"balanced_accuracy\": "
      "0.5}]}]%s}";
  const char *fairness = ", \"fairness\": [{\"embedding\": \"X_comp\", \"column\": \"t\", \"classifier\": \"forest\", "
                         "\"accuracy\": %g, \"majority\": 0.754, \"parity_gap\": 0.01, \"odds_gap\": 0.02, \"groups\": "
                         "[{\"condition\": \"a\", \"samples\": 1500}, {\"condition\": \"b\", \"samples\": 760}]}]";
  const struct {
    bool protect;
    double accuracy, balanced, target;
    const char *more, *useful, *gaps;
  } cases[] = {
      {true, 0.796, 0.726, 0.79, "problem", "ok", "note"},     /* far above the data itself */
      {true, 0.68, 0.64, 0.79, "problem", "ok", "note"},       /* by balanced accuracy alone */
      {true, 0.70, 0.585, 0.79, "none", "ok", "note"},         /* within the margin */
      {true, 0.677, 0.5, 0.757, "none", "caution", "caution"}, /* nothing is left of the target */
      {true, 0.70, 0.585, 0.77, "none", "ok", "note"}, /* it is left, though the few rows of gaps do not show it */
      {false, 0.796, 0.726, 0.79, "none", "none", "none"},
  };
  char text[4096], gaps[512];
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(gaps, sizeof gaps, fairness, cases[k].target);
    snprintf(text, sizeof text, scores, cases[k].protect ? "\"protect\": true, " : "", cases[k].accuracy,
             cases[k].balanced, cases[k].target, cases[k].protect ? gaps : "");
#pragma GCC diagnostic pop
    comp_verdict *v =
        judge(text,
              "{\"samples\": 7540, \"condition\": \"c\", \"conditions\": [{\"value\": \"a\", \"samples\": 5105}, "
              "{\"value\": \"b\", \"samples\": 2435}], \"columns\": []}",
              NULL, NULL);
    assert_string_equal(level(v, "reveals-more"), cases[k].more);
    assert_string_equal(level(v, "target"), cases[k].useful);
    assert_string_equal(level(v, "fairness"), cases[k].gaps);
    if (k == 0) {
      assert_non_null(strstr(find(v, "reveals-more")->text, "more than the data itself: balanced accuracy 0.726"));
      assert_non_null(strstr(find(v, "reveals-more")->advice, "Do not release it. Release draws"));
      assert_non_null(strstr(find(v, "hidden")->advice, "--encoder-without-condition"));
      assert_near(find(v, "reveals-more")->numbers[0].value, 0.726 - 0.57, 1e-9);
    }
    if (k == 3) {
      assert_non_null(strstr(find(v, "fairness")->text, "useless"));
      assert_non_null(strstr(find(v, "hidden")->advice, "These samples were trained on"));
    }
    comp_verdict_free(v);
  }
}

/* An audit's findings, of one source with these gaps (their two standard errors are 5 points each, but the last is
 * given) and a model with these options. */
static void judge_audit(comp__findings *out, const double gaps[3], double error, const char *model) {
  char text[2048];
  snprintf(
      text, sizeof text,
      "{\"condition\": \"sex\", \"use\": \"X_comp\", \"target\": \"income\", \"majority\": 0.6, \"model\": %s, "
      "\"levels\": [{}, {}], \"attacks\": [{\"source\": \"means\", \"attackers\": [{\"title\": \"forest\", "
      "\"accuracy\": {\"value\": 0.8}, \"balanced_accuracy\": {\"value\": 0.75, \"low\": 0.73, \"high\": 0.77}}]}, "
      "{\"source\": \"data\", \"attackers\": [{\"title\": \"forest\", \"accuracy\": {\"value\": 0.7}, "
      "\"balanced_accuracy\": {\"value\": 0.65, \"low\": 0.63, \"high\": 0.67}}]}], \"utility\": [{\"source\": "
      "\"means\", \"classifier\": \"forest\", \"samples\": 9000, \"accuracy\": 0.85, \"majority\": 0.7, "
      "\"parity_gap\": %g, \"parity_error\": 0.05, \"odds_gap\": %g, \"odds_error\": 0.05, \"opportunity_gap\": "
      "%g, \"opportunity_error\": %g}]}",
      model, gaps[0], gaps[1], gaps[2], error);
  json_t *audit = json_loads(text, 0, NULL);
  assert_non_null(audit);
  assert_ok(comp__judge_audit(out, audit));
  json_decref(audit);
}

static const comp_finding *find_in(const comp__findings *list, const char *id) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->items[i].id, id) == 0) return &list->items[i];
  fail_msg("there is no '%s'", id);
  return NULL;
}

/* A large gap between groups is no success, whatever is hidden. */
static void gaps_have_limits(void **state) {
  (void)state;
  const struct {
    double gaps[3], error;
    const char *level;
  } cases[] = {
      {{0.08, 0.09, 0.1}, 0.05, "ok"},       {{0.11, 0.02, 0.02}, 0.05, "caution"},
      {{0.02, 0.11, 0.02}, 0.05, "caution"}, {{0.02, 0.02, 0.3}, 0.05, "problem"},
      {{0.02, 0.02, 0.3}, 0.31, "caution"}, /* of so few samples it may be chance */
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    comp__findings list = {0};
    judge_audit(&list, cases[k].gaps, cases[k].error, "null");
    const comp_finding *f = find_in(&list, "gaps");
    assert_string_equal(comp_finding_level_name(f->level), cases[k].level);
    assert_true((*f->advice != '\0') == (f->level > COMP_FINDING_OK));
    assert_true((strstr(f->text, "may be chance") != NULL) == (cases[k].error > 0.3));
    assert_int_equal(find_in(&list, "target")->level, COMP_FINDING_OK);
    comp__findings_release(&list);
  }
}

/* An option that the model has already is no advice. */
static void advice_knows_the_model(void **state) {
  (void)state;
  const double none[3] = {0, 0, 0};
  const struct {
    const char *model, *attack, *more;
  } cases[] = {
      {"null", "train with --encoder-without-condition or a larger --gamma.",
       "train with --preset protect --encoder-without-condition."},
      {"{\"preset\": \"default\", \"gamma\": 1, \"encoder_sees_condition\": true}",
       "train with --encoder-without-condition or a larger --gamma (this model: 1).",
       "train with --preset protect --encoder-without-condition."},
      {"{\"preset\": \"protect\", \"gamma\": 10, \"encoder_sees_condition\": false}",
       "or train with a larger --gamma (this model: 10).", "or train with a larger --gamma (this model: 10)."},
      {"{\"model\": \"cvae\", \"preset\": \"default\", \"gamma\": 0, \"encoder_sees_condition\": true}",
       "Train a model that has a penalty (--model comp --preset protect)",
       "or train a model that has a penalty (--model comp --preset protect)."},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    comp__findings list = {0};
    judge_audit(&list, none, 0.05, cases[k].model);
    if (!strstr(find_in(&list, "attack")->advice, cases[k].attack)) fail_msg("%s", find_in(&list, "attack")->advice);
    if (!strstr(find_in(&list, "reveals-more")->advice, cases[k].more))
      fail_msg("%s", find_in(&list, "reveals-more")->advice);
    comp__findings_release(&list);
  }
}

/* The findings of a document of this text. */
static void judge_text(comp__findings *out, const char *text) {
  json_t *audit = json_loads(text, 0, NULL);
  assert_non_null(audit);
  assert_ok(comp__judge_audit(out, audit));
  json_decref(audit);
}

static size_t count_of(const comp__findings *list, const char *id) {
  size_t n = 0;
  for (size_t i = 0; i < list->count; i++) n += strcmp(list->items[i].id, id) == 0;
  return n;
}

/* Draws that reveal more than the data are a problem, too, and no way out for means. */
static void draws_that_reveal_more(void **state) {
  (void)state;
  const char *form =
      "{\"condition\": \"sex\", \"use\": \"X_comp\", \"majority\": 0.6, \"model\": {\"model\": \"comp\", \"preset\": "
      "\"protect\", \"gamma\": 10, \"encoder_sees_condition\": false}, \"levels\": [{}, {}], \"attacks\": "
      "[{\"source\": "
      "\"means\", \"attackers\": [{\"title\": \"forest\", \"accuracy\": {\"value\": 0.94}, \"balanced_accuracy\": "
      "{\"value\": 0.949, \"low\": 0.93, \"high\": 0.96}}]}, {\"source\": \"draws\", \"attackers\": [{\"title\": "
      "\"forest\", \"accuracy\": {\"value\": %g}, \"balanced_accuracy\": {\"value\": %g, \"low\": %g, \"high\": "
      "%g}}]}, "
      "{\"source\": \"data\", \"attackers\": [{\"title\": \"forest\", \"accuracy\": {\"value\": 0.62}, "
      "\"balanced_accuracy\": {\"value\": 0.544, \"low\": 0.52, \"high\": 0.56}}]}]}";
  const double draws[] = {0.847, 0.55};
  for (size_t k = 0; k < 2; k++) {
    char text[2048];
    comp__findings list = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, form, draws[k], draws[k], draws[k] - 0.02, draws[k] + 0.02);
#pragma GCC diagnostic pop
    judge_text(&list, text);
    assert_int_equal(count_of(&list, "reveals-more"), k == 0 ? 2 : 1);
    const comp_finding *more = find_in(&list, "reveals-more");
    assert_int_equal(more->level, COMP_FINDING_PROBLEM);
    assert_int_equal(strstr(more->advice, "Release draws") != NULL, k == 1);
    assert_int_equal(strstr(find_in(&list, "attack")->advice, "Release draws") != NULL, k == 1);
    if (k == 0) {
      assert_non_null(strstr(
          more->advice,
          "Do not release it, and no draws either. Train with a larger --gamma (this model: 10), or release cells"));
      for (size_t i = 0; i < list.count; i++) more = strstr(list.items[i].text, "draws reveal") ? &list.items[i] : more;
      assert_string_equal(more->id, "reveals-more");
      assert_non_null(strstr(more->text, "balanced accuracy 0.847 (forest), from the data 0.544"));
      assert_int_equal(more->level, COMP_FINDING_PROBLEM);
    }
    comp__findings_release(&list);
  }
}

/* A bound that few samples make large says how many it takes; one that they do not, or that would be no less with more,
 * does not. */
static void bounds_say_what_they_need(void **state) {
  (void)state;
  const char *form =
      "{\"condition\": \"sex\", \"use\": \"X_comp\", \"majority\": 0.6, \"levels\": [{}, {}], \"certificates\": "
      "[{\"release\": \"cells:64\", \"delta\": 0.05, \"samples\": 300, \"fewest\": 140, \"needed\": 1476, \"slack\": "
      "%g, "
      "\"balanced_accuracy\": {\"estimate\": %g, \"upper\": 0.795}, \"accuracy\": {\"upper\": 0.8}, \"parity_gap\": "
      "{\"upper\": 0.59}}]}";
  for (size_t k = 0; k < 3; k++) {
    char text[1024];
    comp__findings list = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, form, k == 1 ? 0.04 : 0.16, k == 2 ? 0.99 : 0.7);
#pragma GCC diagnostic pop
    judge_text(&list, text);
    const comp_finding *f = find_in(&list, "certificate");
    assert_int_equal(strstr(f->advice, "about 1,476 of each value; the rarest has 140") != NULL, k == 0);
    assert_int_equal(strstr(f->text, "add 0.160 to the bound") != NULL, k == 0);
    if (k == 0) assert_int_equal(f->level, COMP_FINDING_OK);
    assert_non_null(strstr(find_in(&list, "unseen")->text, "no column of unseen samples was named (--unseen)"));
    comp__findings_release(&list);
  }
}

/* No gap is no success where the target is not predicted. */
static void gaps_of_nothing(void **state) {
  (void)state;
  const char *form =
      "{\"condition\": \"sex\", \"use\": \"X_comp\", \"target\": \"income\", \"majority\": 0.6, \"levels\": [{}, {}], "
      "\"model\": {\"model\": \"%s\", \"gamma\": %d}, \"utility\": [{\"source\": \"means\", \"classifier\": "
      "\"forest\", "
      "\"samples\": 9000, \"accuracy\": 0.7, \"majority\": 0.7, \"parity_gap\": %g, \"parity_error\": 0.01, "
      "\"odds_gap\": 0, "
      "\"odds_error\": 0.05, \"opportunity_gap\": 0, \"opportunity_error\": 0.05}]}";
  for (size_t k = 0; k < 3; k++) {
    char text[1024];
    comp__findings list = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, form, k == 1 ? "cvae" : "comp", k == 1 ? 0 : 10, k == 2 ? 0.3 : 0.0);
#pragma GCC diagnostic pop
    judge_text(&list, text);
    const comp_finding *f = find_in(&list, "gaps"), *target = find_in(&list, "target");
    assert_int_equal(f->level, k == 2 ? COMP_FINDING_PROBLEM : COMP_FINDING_NOTE);
    assert_int_equal(strstr(f->text, "This is no success") != NULL, k != 2);
    assert_int_equal(*f->advice != '\0', k == 2);
    assert_int_equal(target->level, COMP_FINDING_CAUTION);
    assert_int_equal(strstr(target->advice, "smaller --gamma (this model: 10)") != NULL, k != 1);
    assert_int_equal(strstr(target->advice, "--gamma") == NULL, k == 1);
    comp__findings_release(&list);
  }
}

/* Scores that hold an audit are judged by it, not by their own classifiers. */
static void audits_decide(void **state) {
  (void)state;
  const char *scores =
      "{\"condition\": \"c\", \"protect\": true, \"embeddings\": [{\"name\": \"X_comp\", \"scores\": []}], "
      "\"predict\": [{\"embedding\": \"X_comp\", \"column\": \"c\", \"levels\": 2, \"samples\": 7540, \"majority\": "
      "0.677, \"classifiers\": [{\"classifier\": \"forest\", \"accuracy\": 0.9, \"balanced_accuracy\": 0.9}, "
      "{\"classifier\": \"logistic\", \"accuracy\": 0.6, \"balanced_accuracy\": 0.5}]}]%s}";
  const char *audit =
      ", \"audit\": {\"findings\": [{\"id\": \"attack\", \"level\": \"caution\", \"question\": \"q\", \"text\": \"of "
      "the "
      "audit\", \"advice\": \"do\", \"numbers\": {\"excess\": 0.07}}, {\"id\": \"attack-draws\", \"level\": \"ok\", "
      "\"question\": \"q\", \"text\": \"draws\", \"advice\": \"\"}, {\"id\": \"gaps\", \"level\": \"problem\", "
      "\"question\": \"q\", \"text\": \"means\", \"advice\": \"\"}, {\"id\": \"gaps\", \"level\": \"ok\", "
      "\"question\": "
      "\"q\", \"text\": \"draws\", \"advice\": \"\"}]}";
  char text[4096], samples[1024];
  for (int with = 0; with < 2; with++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, scores, with ? audit : "");
#pragma GCC diagnostic pop
    comp_verdict *v = judge(text, design(samples, sizeof samples, EVEN), NULL, NULL);
    assert_string_equal(level(v, "hidden"), with ? "caution" : "problem");
    assert_string_equal(level(v, "hidden-draws"), with ? "ok" : "none");
    assert_string_equal(level(v, "hidden-from-some"), with ? "none" : "caution");
    assert_string_equal(level(v, "gaps"), with ? "problem" : "none");
    if (with) {
      assert_string_equal(find(v, "hidden")->text, "of the audit");
      assert_string_equal(find(v, "hidden")->advice, "do");
      assert_near(find(v, "hidden")->numbers[0].value, 0.07, 1e-12);
      assert_string_equal(find(v, "gaps")->text, "means");
    }
    comp_verdict_free(v);
  }
}

static void training(void **state) {
  (void)state;
  const struct {
    const char *document, *level, *text;
  } cases[] = {{"{\"epochs\": 12, \"planned\": 12, \"best\": 1, \"held_out\": true}", "caution", "in the first of 12"},
               {"{\"epochs\": 12, \"planned\": 12, \"best\": 12, \"held_out\": true}", "note", "in the last of 12"},
               {"{\"epochs\": 12, \"planned\": 40, \"best\": 7, \"held_out\": true}", "ok", "after 12 of 40 epochs"},
               {"{\"epochs\": 12, \"planned\": 12, \"best\": 7, \"held_out\": false}", "ok", "training loss"},
               {"{\"epochs\": 12, \"planned\": 12, \"best\": 11, \"held_out\": false, \"kept\": \"last\"}", "ok",
                "weights of the last step"},
               {"{\"epochs\": 12, \"planned\": 12, \"best\": 1, \"held_out\": false, \"kept\": \"last\"}", "caution",
                "in the first of 12"},
               {"{\"epochs\": 12, \"planned\": 40, \"best\": 11, \"held_out\": false, \"kept\": \"average\"}", "note",
                "after 12 of 40 epochs"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    comp_verdict *v = judge(NULL, NULL, cases[k].document, NULL);
    assert_string_equal(level(v, "training"), cases[k].level);
    assert_non_null(strstr(find(v, "training")->text, cases[k].text));
    comp_verdict_free(v);
  }
}

static void diagnosis(void **state) {
  (void)state;
  const char *document =
      "{\"findings\": [{\"id\": \"divergence\", \"level\": \"ok\", \"question\": \"q\", \"text\": \"Well.\"}, {\"id\": "
      "\"symmetry\", \"level\": \"caution\", \"question\": \"q\", \"text\": \"It may be.\"}, {\"id\": \"neighbours\", "
      "\"level\": \"problem\", \"question\": \"q\", \"text\": \"Lost.\", \"numbers\": {\"share\": 0.25}, \"labels\": "
      "[\"x\"]}, {\"id\": \"latents\", \"level\": \"note\", \"question\": \"s\", \"text\": \"One model.\", \"advice\": "
      "\"More.\"}, {\"id\": \"single-samples\", \"level\": \"note\", \"question\": \"s\", \"text\": \"Only one.\", "
      "\"advice\": \"More.\"}, \"plain text\"]}";
  comp_verdict *v = judge("{\"kbet\": 0.1}", NULL, NULL, document);
  assert_string_equal(level(v, "divergence"), "none"); /* what is well is not repeated */
  assert_string_equal(level(v, "symmetry"), "none");   /* there are no predictions */
  const comp_finding *f = find(v, "neighbours");
  assert_int_equal(f->level, COMP_FINDING_PROBLEM);
  assert_string_equal(f->numbers[0].name, "share");
  assert_true(f->numbers[0].value == 0.25);
  assert_string_equal(f->labels[0], "x");
  assert_string_equal(level(v, "latents"), "note");
  assert_string_equal(level(v, "single-samples"), "none"); /* the same question and advice: once is enough */
  assert_string_equal(find(v, "")->text, "plain text");
  comp_verdict_free(v);
  /* Where neighbours were measured before and after, that decides. */
  char text[1024], samples[1024];
  v = judge(purity(text, sizeof text, 0.9, 0.9, 0.9, 0.9), design(samples, sizeof samples, EVEN), NULL, document);
  assert_string_equal(level(v, "neighbours"), "none");
  assert_string_equal(level(v, "labels-lost"), "ok");
  comp_verdict_free(v);
}

static void json_has_all(void **state) {
  (void)state;
  char samples[1024];
  comp_verdict *v = judge("{\"kbet\": 0.6, \"s\": -0.2}", design(samples, sizeof samples, EVEN), NULL, NULL);
  json_t *list = json_loads(comp_verdict_json(v), 0, NULL);
  assert_int_equal(json_array_size(list), comp_verdict_finding_count(v));
  for (size_t i = 0; i < comp_verdict_finding_count(v); i++) {
    const comp_finding *f = comp_verdict_finding_at(v, i);
    json_t *item = json_array_get(list, i);
    assert_string_equal(json_string_value(json_object_get(item, "id")), f->id);
    assert_string_equal(json_string_value(json_object_get(item, "level")), comp_finding_level_name(f->level));
    assert_string_equal(json_string_value(json_object_get(item, "text")), f->text);
    assert_int_equal(json_object_size(json_object_get(item, "numbers")), f->n_numbers);
    if (f->level >= COMP_FINDING_CAUTION) assert_true(f->advice[0]);
  }
  json_decref(list);
  assert_error(comp_verdict_add(v, COMP_DOCUMENT_SCORES, "{"), COMP_ERR_FORMAT, "scores: line 1");
  comp_verdict_free(v);
  comp_verdict_free(NULL);
}

/* Ids are names in programs of others: each is there once. */
static void rules_have_their_own_ids(void **state) {
  (void)state;
  for (size_t a = 0; a < comp__rules_count(); a++)
    for (size_t b = 0; b < a; b++) assert_string_not_equal(comp__rule_at(a)->id, comp__rule_at(b)->id);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mixing),
      cmocka_unit_test(advice_to_align_all),
      cmocka_unit_test(advice_to_align_all_hides),
      cmocka_unit_test(mixing_beside_chance),
      cmocka_unit_test(labels_lost),
      cmocka_unit_test(advice_agrees),
      cmocka_unit_test(hidden),
      cmocka_unit_test(guesses),
      cmocka_unit_test(predictions),
      cmocka_unit_test(predictions_beside_others),
      cmocka_unit_test(predictions_of_some),
      cmocka_unit_test(data),
      cmocka_unit_test(confounded),
      cmocka_unit_test(uncertain),
      cmocka_unit_test(protected_attribute),
      cmocka_unit_test(gaps_have_limits),
      cmocka_unit_test(advice_knows_the_model),
      cmocka_unit_test(draws_that_reveal_more),
      cmocka_unit_test(bounds_say_what_they_need),
      cmocka_unit_test(gaps_of_nothing),
      cmocka_unit_test(audits_decide),
      cmocka_unit_test(reveals_more),
      cmocka_unit_test(training),
      cmocka_unit_test(diagnosis),
      cmocka_unit_test(json_has_all),
      cmocka_unit_test(rules_have_their_own_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
