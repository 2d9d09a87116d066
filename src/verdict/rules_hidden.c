/* rules_hidden.c: can the condition be predicted from the embedding, is the target kept, are groups treated alike? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verdict/json.h"
#include "verdict/rules.h"

/* Without an audit: what classifiers find in the samples of the training is less than what they find in new ones. */
#define UNSEEN_TOO                                                                                                     \
  "These samples were trained on, and other classifiers were not tried. Before you release z, run comp audit on "      \
  "samples that the model has not seen (--unseen)."

/* What helps where an attribute must be hidden. */
#define HIDE_BETTER                                                                                                    \
  "Release draws (comp embed --sample) in place of means: comp audit measures both. Other presets than protect need "  \
  "--encoder-without-condition: an encoder that sees the condition writes it into the means."

/* ---- The condition --------------------------------------------------------------------------------------------- */

/* The strongest classifier against what needs no embedding. Where one value is common, a classifier can be no better
 * than always predicting it and still find every value more often than chance: then the balanced accuracy decides. */
typedef struct exposure {
  comp__classified best;
  double guess, balanced_guess; /* by the label alone, or without anything, whichever is better */
  bool by_label, by_label_balanced;
  double label_accuracy; /* of predicting the condition from the label alone; NaN: no label */
  double over;           /* the larger excess of the two */
  bool balanced;         /* it is that of the balanced accuracy */
} exposure;

static exposure exposure_of(const comp__judge *j, const char *embedding) {
  const comp__evidence *e = j->evidence;
  comp__cross labels;
  exposure x = {.best = comp__classified_find(&e->scores, comp__design_condition(e), embedding)};
  comp__guess by_label = {NAN, NAN, NAN};
  /* A representation that has lost the labels cannot owe an accuracy to them. */
  if (comp__design_label(&labels, NULL, e) && comp__level_of(j, "labels-lost") < COMP_FINDING_PROBLEM)
    by_label = comp__cross_guess(&labels);
  double chance = 1 / (double)(x.best.levels ? x.best.levels : 2);
  x.label_accuracy = by_label.accuracy;
  x.by_label = by_label.accuracy > x.best.majority;
  x.guess = x.by_label ? by_label.accuracy : x.best.majority;
  x.by_label_balanced = by_label.balanced > chance * 1.0001;
  x.balanced_guess = x.by_label_balanced ? by_label.balanced : chance;
  double plain = x.best.accuracy - x.guess, balanced = x.best.balanced - x.balanced_guess;
  x.balanced = balanced > plain;
  x.over = x.balanced ? balanced : plain;
  return x;
}

static bool is_known(const exposure *x) {
  return x->best.classifier && !isnan(x->guess);
}

/* What an excess must be above to count: the limit, or two standard errors of so few samples. */
static double margin_of(const comp__judge *j, const exposure *x) {
  return fmax(j->rule->caution, 1 / sqrt((double)(x->best.samples ? x->best.samples : 1)));
}

static double value_of(const exposure *x) {
  return x->balanced ? x->best.balanced : x->best.accuracy;
}

static const char *classifier_of(const exposure *x) {
  return comp__classifier_words(x->balanced ? x->best.balanced_classifier : x->best.classifier);
}

static const char *hide_better(const comp__evidence *e) {
  return comp__could_align_all(e) ? "Each label is in every condition: align all samples (--align all). If that is not "
                                    "enough, more --epochs "
                                    "or another --gamma may hide it better."
                                  : "More --epochs or another --gamma may hide it better.";
}

void comp__rule_hidden(comp__judge *j) {
  static const char *const words[] = {"cannot be predicted", "", "can be predicted to some degree", "can be predicted"};
  const char *embedding = comp__evidence_embedding(j->evidence), *before = comp__evidence_before(j->evidence);
  exposure x = exposure_of(j, embedding), earlier = {0};
  if (comp__find_audited(j, "attack") || !is_known(&x)) return;
  double margin = margin_of(j, &x), guess = x.balanced ? x.balanced_guess : x.guess, was = NAN;
  bool by_label = x.balanced ? x.by_label_balanced : x.by_label;
  comp_finding_level level = comp__level_above(x.over, margin, j->rule->problem);
  char text[64] = "", range[64] = "";
  if (before) earlier = exposure_of(j, before);
  if (before && earlier.best.classifier) was = x.balanced ? earlier.best.balanced : earlier.best.accuracy;
  const comp__interval i = comp__share_interval(x.best.accuracy, (double)x.best.samples);
  if (!x.balanced && !isnan(i.low)) snprintf(range, sizeof range, "95 %% interval %.3f to %.3f; ", i.low, i.high);
  if (!isnan(was)) snprintf(text, sizeof text, "; before: %.3f", was);
  const bool wanted = j->evidence->scores.protect; /* it must be hidden */
  const char *said = words[level];
  const bool confounded = !wanted && level < COMP_FINDING_PROBLEM && comp__design_is_confounded(j->evidence);
  /* 1 / sqrt(n) is two standard errors of an accuracy near one half. */
  const double high = x.over + 1 / sqrt((double)(x.best.samples ? x.best.samples : 1));
  const bool unsure = level == COMP_FINDING_OK && !confounded && comp__is_uncertain(j, high, j->rule->problem);
  if (confounded || unsure) level = COMP_FINDING_CAUTION;
  /* Where the label says much of the condition, no more than that proves nothing: classifiers see all labels at once.
   */
  double gap;
  const bool within = level == COMP_FINDING_OK && by_label && comp__is_within_labels(j, &gap) &&
                      comp__level_of(j, "mixing") > COMP_FINDING_NOTE;
  if (within) {
    level = comp__level_of(j, "mixing");
    said =
        "may be visible within labels, where conditions are not well mixed, though it cannot be predicted better than "
        "from the label";
  }
  comp__find(j, level,
             unsure                              ? "Add samples before you rely on it."
             : level > COMP_FINDING_OK && wanted ? HIDE_BETTER
             : level > COMP_FINDING_OK           ? hide_better(j->evidence)
             : wanted                            ? UNSEEN_TOO
                                                 : "",
             "'%s' %s%s%s: best %saccuracy %.3f (%s%s), %s %.3f%s.%s", x.best.column, said, within ? "" : " from z",
             unsure ? ", but with so few samples this is uncertain" : "", x.balanced ? "balanced " : "", value_of(&x),
             range, classifier_of(&x), by_label ? "from the label alone" : "chance", guess, text,
             confounded ? " This is no success: z has lost the labels with it." : "");
  comp__find_number(j, "excess", x.over);
  comp__find_number(j, x.balanced ? "balanced_accuracy" : "accuracy", value_of(&x));
  comp__find_number(j, by_label ? "from_label" : "chance", guess);
  comp__find_number(j, "label_accuracy", x.label_accuracy);
  comp__find_number(j, "before", was);
  comp__find_number(j, "margin", margin);
  comp__find_number(j, "low", x.over - 1 / sqrt((double)(x.best.samples ? x.best.samples : 1)));
  comp__find_number(j, "high", high);
}

void comp__rule_hidden_draws(comp__judge *j) {
  (void)comp__find_audited(j, "attack-draws");
}

/* Whether an attribute that must be hidden is easier to find than in the data itself. Both numbers are of the same
 * samples, so that two standard errors of one of them are margin enough. */
void comp__rule_reveals_more(comp__judge *j) {
  const char *before = comp__evidence_before(j->evidence);
  exposure x = exposure_of(j, comp__evidence_embedding(j->evidence)), earlier = {0};
  if (comp__find_audited(j, "reveals-more")) return;
  if (!j->evidence->scores.protect || !before || !is_known(&x)) return;
  earlier = exposure_of(j, before);
  if (!earlier.best.classifier) return;
  const double margin = margin_of(j, &x), plain = x.best.accuracy - earlier.best.accuracy,
               even = x.best.balanced - earlier.best.balanced;
  const bool balanced = even > plain || isnan(plain);
  const double more = balanced ? even : plain;
  if (!(more > margin)) return;
  const double now = balanced ? x.best.balanced : x.best.accuracy,
               was = balanced ? earlier.best.balanced : earlier.best.accuracy;
  comp__find(
      j, COMP_FINDING_PROBLEM, "Do not release it. " HIDE_BETTER,
      "z reveals '%s' more than the data itself: %saccuracy %.3f (%s), from the data %.3f. The model has put the "
      "attribute into z.",
      x.best.column, balanced ? "balanced " : "", now,
      comp__classifier_words(balanced ? x.best.balanced_classifier : x.best.classifier), was);
  comp__find_number(j, "more", more);
  comp__find_number(j, balanced ? "balanced_accuracy" : "accuracy", now);
  comp__find_number(j, "before", was);
  comp__find_number(j, "margin", margin);
}

/* Whether one classifier is fooled while another is not. */
void comp__rule_hidden_from_some(comp__judge *j) {
  exposure x = exposure_of(j, comp__evidence_embedding(j->evidence));
  double margin = margin_of(j, &x);
  size_t k;
  json_t *result;
  comp__listing fooled = {0};
  if (j->evidence->audit || !is_known(&x)) return;
  json_array_foreach(x.best.classifiers, k, result) {
    double accuracy = comp__member_number(result, "accuracy"),
           balanced = comp__member_number(result, "balanced_accuracy");
    if (accuracy <= x.guess + margin && !(balanced > x.balanced_guess + margin))
      comp__listing_add(&fooled, "%s", comp__classifier_words(comp__member_text(result, "classifier")));
  }
  if (!fooled.count || fooled.count == x.best.tried) return;
  comp__find(j, COMP_FINDING_CAUTION, "Judge by the strongest classifier.",
             "'%s' cannot be predicted by %s, but it can by %s.", x.best.column, comp__listing_text(&fooled),
             classifier_of(&x));
}

/* Worse than chance is not better hidden: the order in which samples were laid between others can be read backwards. */
void comp__rule_below_chance(comp__judge *j) {
  exposure x = exposure_of(j, comp__evidence_embedding(j->evidence));
  double chance = 1 / (double)(x.best.levels ? x.best.levels : 2);
  double lowest = chance - fmax(j->rule->caution, 2 / sqrt((double)(x.best.samples ? x.best.samples : 1)));
  const char *name = NULL;
  size_t k;
  json_t *result;
  if (j->evidence->audit) return;
  json_array_foreach(x.best.classifiers, k, result) {
    double balanced = comp__member_number(result, "balanced_accuracy");
    if (!(balanced < lowest)) continue;
    lowest = balanced;
    name = comp__member_text(result, "classifier");
  }
  if (!name) return;
  comp__find(j, COMP_FINDING_NOTE,
             "New samples may be hidden less well: test the model on samples that it did not see.",
             "The balanced accuracy of %s for '%s' is %.3f, below chance (%.3f): in z, samples are a little more often "
             "next to samples of another condition than of their own.",
             comp__classifier_words(name), x.best.column, lowest, chance);
  comp__find_number(j, "balanced_accuracy", lowest);
  comp__find_number(j, "chance", chance);
}

/* ---- The target ------------------------------------------------------------------------------------------------ */

/* The column whose fairness was measured; NULL: none. */
static const char *target_of(const comp__judge *j) {
  return json_string_value(json_object_get(json_array_get(j->evidence->scores.fairness, 0), "column"));
}

void comp__rule_target(comp__judge *j) {
  const comp__evidence *e = j->evidence;
  const char *column = target_of(j), *before = comp__evidence_before(e);
  if (comp__find_audited(j, "target") || !column) return;
  comp__classified now = comp__classified_find(&e->scores, column, comp__evidence_embedding(e));
  comp__classified earlier = {.accuracy = NAN};
  char text[64] = "";
  if (!now.classifier) return;
  if (before) earlier = comp__classified_find(&e->scores, column, before);
  if (!isnan(earlier.accuracy)) snprintf(text, sizeof text, "; before: %.3f", earlier.accuracy);
  /* Within two standard errors of the most common value nothing is predicted. */
  const double least = now.majority + 1 / sqrt((double)(now.samples ? now.samples : 1));
  const bool useful = now.accuracy > least, never = earlier.accuracy <= least;
  comp__find(j, useful ? COMP_FINDING_OK : COMP_FINDING_CAUTION,
             useful  ? ""
             : never ? "No --gamma helps where the data does not predict it: choose another target, or add features."
                     : "Use a smaller --gamma.",
             "'%s' %s from z: best accuracy %.3f (%s), chance %.3f%s.", column,
             useful  ? "can still be predicted"
             : never ? "cannot be predicted better than by its most common value, neither from the data nor"
                     : "can no longer be predicted better than by its most common value",
             now.accuracy, comp__classifier_words(now.classifier), now.majority, text);
  comp__find_number(j, "accuracy", now.accuracy);
  comp__find_number(j, "chance", now.majority);
  comp__find_number(j, "before", earlier.accuracy);
}

/* The gaps between groups, of the classifier that predicts the condition best where that was measured, else of the
 * first that was. */
static json_t *find_gaps(const comp__judge *j, const char *column, const char *embedding, const char *classifier) {
  size_t i;
  json_t *entry, *first = NULL;
  json_array_foreach(j->evidence->scores.fairness, i, entry) {
    if (strcmp(comp__member_text(entry, "column"), column) != 0 || !embedding) continue;
    if (strcmp(comp__member_text(entry, "embedding"), embedding) != 0) continue;
    if (classifier && strcmp(comp__member_text(entry, "classifier"), classifier) == 0) return entry;
    if (!first) first = entry;
  }
  return first;
}

/* Two standard errors of a difference between the rates of two groups: of the smallest, and of half of its samples,
 * since rates of errors are those of one true value. */
static double error_of(json_t *gaps) {
  double least = INFINITY, second = INFINITY;
  size_t i;
  json_t *group;
  json_array_foreach(json_object_get(gaps, "groups"), i, group) {
    double n = (double)comp__member_count(group, "samples") / 2;
    if (n < least) {
      second = least;
      least = n;
    } else if (n < second)
      second = n;
  }
  return least > 0 ? 2 * sqrt(0.25 / least + 0.25 / second) : INFINITY;
}

/* Samples of all groups. */
static double tested(json_t *gaps) {
  double n = 0;
  size_t i;
  json_t *group;
  json_array_foreach(json_object_get(gaps, "groups"), i, group) {
    n += (double)comp__member_count(group, "samples");
  }
  return fmax(n, 1);
}

void comp__rule_fairness(comp__judge *j) {
  const comp__evidence *e = j->evidence;
  const char *column = target_of(j), *condition = comp__design_condition(e), *embedding = comp__evidence_embedding(e);
  if (!column || e->audit) return; /* then "gaps" says it */
  comp__classified adversary = comp__classified_find(&e->scores, condition, embedding);
  json_t *gaps = find_gaps(j, column, embedding, adversary.classifier);
  if (!gaps) return;
  const char *by = comp__member_text(gaps, "classifier"), *before = comp__evidence_before(e);
  json_t *earlier = before ? find_gaps(j, column, before, by) : NULL;
  double parity = comp__member_number(gaps, "parity_gap"), odds = comp__member_number(gaps, "odds_gap");
  double parity_before = comp__member_number(earlier, "parity_gap"),
         odds_before = comp__member_number(earlier, "odds_gap");
  const bool less_even = parity - parity_before > j->rule->caution, less_odds = odds - odds_before > j->rule->caution;
  const bool chance =
      (less_even && parity - parity_before < error_of(gaps)) || (less_odds && odds - odds_before < error_of(gaps));
  /* Who always predicts the most common value treats all groups alike, and is of no use. */
  const double accuracy = comp__member_number(gaps, "accuracy"), majority = comp__member_number(gaps, "majority");
  /* Few samples are tested here. Where all of them show that the target is kept, their number proves nothing. */
  const double margin = comp__level_of(j, "target") == COMP_FINDING_OK ? 0 : 1 / sqrt(tested(gaps));
  const double least = majority + margin;
  const bool worthless = accuracy <= least, never = comp__member_number(earlier, "accuracy") <= least;
  char text[96] = "";
  if (earlier) snprintf(text, sizeof text, " Before: %.1f and %.1f points.", 100 * parity_before, 100 * odds_before);
  comp__find(j, less_even || less_odds || worthless ? COMP_FINDING_CAUTION : COMP_FINDING_NOTE,
             worthless && never ? "Small gaps are worth nothing here, and the data does not predict the target either: "
                                  "choose another target, or add features."
             : worthless ? "Small gaps are worth nothing here. Use a smaller --gamma, and compare gaps of models that "
                           "predict the target."
             : less_even || less_odds
                 ? "A hidden attribute does not make predictions fair. Compare runs with other --gamma, and check the "
                   "rates of each group before you use predictions."
                 : "",
             "%sWhere %s predicts '%s', groups of '%s' differ by up to %.1f points in what is predicted (demographic "
             "parity) and by up to %.1f points in true and false positive rates (equalised odds).%s%s%s",
             less_even && less_odds ? "Both gaps between groups are larger than before. "
             : less_even            ? "Predictions differ more between groups than before. "
             : less_odds            ? "Errors differ more between groups than before. "
                                    : "",
             *by ? comp__classifier_words(by) : "a classifier", column, condition, 100 * parity, 100 * odds, text,
             chance ? " With so few samples tested this may be chance." : "",
             worthless ? " But it predicts no better than the most common value does: such predictions are alike for "
                         "all groups, and useless."
                       : "");
  comp__find_number(j, "odds_gap", odds);
  comp__find_number(j, "odds_gap_before", odds_before);
  comp__find_number(j, "parity_gap", parity);
  comp__find_number(j, "parity_gap_before", parity_before);
}

void comp__rule_gaps(comp__judge *j) {
  (void)comp__find_audited(j, "gaps");
}

void comp__rule_target_differs(comp__judge *j) {
  const char *column = target_of(j);
  comp__cross target;
  if (!column || !comp__design_target(&target, j->evidence, column)) return;
  double gap = comp__cross_guess(&target).gap;
  if (!(gap > j->rule->caution)) return;
  comp__find(
      j, COMP_FINDING_NOTE, "",
      "In the data itself '%s' differs between groups of '%s' by %.1f points: no useful classifier can have both "
      "gaps at 0.",
      column, comp__design_condition(j->evidence), 100 * gap);
  comp__find_number(j, "gap", gap);
}
