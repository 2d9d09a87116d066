/* rules_predictions.c: do predicted changes of condition agree with the real ones? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verdict/json.h"
#include "verdict/rules.h"

static double value_of(json_t *entry, const char *predictor, const char *measure) {
  return comp__member_number(json_object_get(entry, predictor), measure);
}

/* Pearson's r of the predicted with the real change over all features: of one label, or as a mean. */
static double r_of(json_t *entry) {
  return value_of(entry, "prediction", "r_change_all");
}

/* The predictions of one change. */
typedef struct quality {
  json_t *change;
  double mean, low;
  const char *lowest; /* label */
  size_t labels;
} quality;

static quality quality_of(json_t *change) {
  quality q = {.change = change, .mean = r_of(json_object_get(change, "mean")), .low = INFINITY, .lowest = ""};
  size_t i;
  json_t *entry;
  json_array_foreach(json_object_get(change, "labels"), i, entry) {
    double r = r_of(entry);
    if (isnan(r)) continue;
    q.labels++;
    if (r >= q.low) continue;
    q.low = r;
    q.lowest = comp__member_text(entry, "label");
  }
  return q;
}

/* One change, or two: each in full. Returns the lowest mean. */
static double put_few(char *out, size_t size, json_t *changes) {
  double lowest = NAN;
  size_t i, used = 0;
  json_t *change;
  out[0] = '\0';
  json_array_foreach(changes, i, change) {
    quality q = quality_of(change);
    char more[400] = "";
    if (isnan(q.mean)) continue;
    if (q.labels > 1)
      snprintf(more, sizeof more, ", as a mean over %zu labels; lowest in %.300s (%.2f)", q.labels, q.lowest, q.low);
    int n = snprintf(out + used, size - used,
                     "%sPredicted effect of %.200s \u2192 %.200s: r of the predicted and the real change is %.2f%s.",
                     used ? " " : "", comp__member_text(change, "from"), comp__member_text(change, "to"), q.mean, more);
    if (n > 0) used = used + (size_t)n < size ? used + (size_t)n : size - 1;
    lowest = fmin(isnan(lowest) ? q.mean : lowest, q.mean);
  }
  return lowest;
}

/* Of many changes only the range. Returns the mean. */
static double put_many(char *out, size_t size, json_t *changes) {
  quality lowest = {.mean = INFINITY}, highest = {.mean = -INFINITY};
  double sum = 0;
  size_t i, n = 0;
  json_t *change;
  out[0] = '\0';
  json_array_foreach(changes, i, change) {
    quality q = quality_of(change);
    if (isnan(q.mean)) continue;
    n++;
    sum += q.mean;
    if (q.mean < lowest.mean) lowest = q;
    if (q.mean > highest.mean) highest = q;
  }
  if (n == 0) return NAN;
  snprintf(out, size,
           "Predicted effects of %zu changes of condition: r of the predicted and the real change is %.2f on average; "
           "highest in %.200s \u2192 %.200s (%.2f), lowest in %.200s \u2192 %.200s (%.2f).",
           n, sum / (double)n, comp__member_text(highest.change, "from"), comp__member_text(highest.change, "to"),
           highest.mean, comp__member_text(lowest.change, "from"), comp__member_text(lowest.change, "to"), lowest.mean);
  return sum / (double)n;
}

/* How much larger the error of predictions is than that of predicting no change, as a mean over labels and the top DE
 * features, where it is: then they are worse than nothing. */
static const double WORSE = 1.05;

static bool is_worse_in_all(json_t *change) {
  json_t *mean = json_object_get(change, "mean");
  return value_of(mean, "prediction", "mse_de") > WORSE * value_of(mean, "no_change", "mse_de");
}

/* How many changes are predicted worse than by nothing; *of: how many can be compared. */
static size_t count_worse(const comp__judge *j, size_t *of) {
  size_t i, n = 0;
  json_t *change;
  *of = 0;
  json_array_foreach(j->evidence->changes, i, change) {
    if (!isnan(value_of(json_object_get(change, "mean"), "no_change", "mse_de"))) ++*of;
    n += is_worse_in_all(change);
  }
  return n;
}

/* Of many changes, half of them. */
static bool is_useless(const comp__judge *j) {
  size_t of, n = count_worse(j, &of);
  return n > 0 && 2 * n >= of;
}

/* The lowest r between the change in one half of the real samples and in the other, as a mean over labels. Where it is
 * low, the real change is barely more than chance makes of so many samples, and agreeing with it means little. */
static double find_ceiling(const comp__judge *j) {
  double lowest = NAN;
  size_t i;
  json_t *change;
  json_array_foreach(j->evidence->changes, i, change) {
    lowest = fmin(lowest, value_of(json_object_get(change, "mean"), "ceiling", "r_change_all")); /* NaN gives way */
  }
  return lowest;
}

/* Why no prediction was compared with real samples. */
static void find_none(comp__judge *j) {
  if (comp__design_is_confounded(j->evidence))
    comp__find(j, COMP_FINDING_CAUTION, "Do not use predictions of this data.",
               "No prediction of another condition can be checked: no label is in two conditions.");
  else
    comp__find(j, COMP_FINDING_NOTE, "comp counterfactual makes predictions, and comp score compares them.",
               "No predictions of another condition were scored.");
}

void comp__rule_predictions(comp__judge *j) {
  json_t *changes = j->evidence->changes;
  char text[2048];
  if (json_array_size(changes) == 0) {
    if (!j->evidence->scores.protect) /* where an attribute is to be hidden, none are wanted */
      find_none(j);
    return;
  }
  double r = json_array_size(changes) <= 2 ? put_few(text, sizeof text, changes) : put_many(text, sizeof text, changes);
  if (isnan(r)) return;
  comp_finding_level level = comp__level_above(-r, -j->rule->caution, -j->rule->problem);
  if (level == COMP_FINDING_OK && is_useless(j)) level = COMP_FINDING_CAUTION; /* predictions-worse says why */
  const double ceiling = find_ceiling(j);
  const bool chance = level == COMP_FINDING_OK && ceiling < j->rule->caution;
  const bool unsure = level == COMP_FINDING_OK && !chance && comp__is_uncertain(j, NAN, 1);
  char why[256] = "";
  if (unsure) snprintf(why, sizeof why, " So few samples do not show whether this holds.");
  if (chance)
    snprintf(why, sizeof why,
             " But the real change is barely more than chance: in two halves of the real samples it agrees with r %.2f "
             "only. Either the condition has no effect, or there are too few samples to see it.",
             ceiling);
  if (unsure || chance) level = COMP_FINDING_CAUTION;
  comp__find(j, level,
             level == COMP_FINDING_OK ? ""
             : chance                 ? "Do not take predicted effects for real ones."
             : unsure                 ? "Add samples before you rely on it."
                                      : "Do not rely on predicted effects. Train longer, or on more samples.",
             "%s%s", text, why);
  comp__find_number(j, "r_change_all", r);
  comp__find_number(j, "ceiling", ceiling);
}

/* Adds to a listing every label of every change that `is_bad` finds, and its r when that is wanted. */
static void list_labels(comp__listing *out, const comp__judge *j, bool (*is_bad)(const comp__judge *j, json_t *entry),
                        bool with_r) {
  size_t i, k;
  json_t *change, *entry;
  json_array_foreach(j->evidence->changes, i, change) {
    json_array_foreach(json_object_get(change, "labels"), k, entry) {
      const char *label = comp__member_text(entry, "label");
      char r[32] = "";
      if (!is_bad(j, entry)) continue;
      if (with_r) snprintf(r, sizeof r, " (r %.2f)", r_of(entry));
      comp__listing_add(out, "%.200s \u2192 %.200s%s%.200s%s", comp__member_text(change, "from"),
                        comp__member_text(change, "to"), *label ? " in " : "", label, r);
    }
  }
}

static void name_labels(comp__judge *j, bool (*is_bad)(const comp__judge *j, json_t *entry)) {
  size_t i, k, m;
  json_t *change, *entry;
  json_array_foreach(j->evidence->changes, i, change) {
    json_array_foreach(json_object_get(change, "labels"), k, entry) {
      const char *label = comp__member_text(entry, "label");
      if (j->status != COMP_OK || !*label || !is_bad(j, entry)) continue;
      const comp_finding *f = &j->out->items[j->out->count - 1];
      for (m = 0; m < f->n_labels && strcmp(f->labels[m], label) != 0;) m++;
      if (m == f->n_labels) comp__find_label(j, label);
    }
  }
}

static bool is_low(const comp__judge *j, json_t *entry) {
  return r_of(entry) < j->rule->caution;
}

void comp__rule_predictions_low(comp__judge *j) {
  comp__listing low = {0};
  list_labels(&low, j, is_low, true);
  if (!low.count) return;
  comp__find(j, COMP_FINDING_CAUTION, "Do not rely on the predicted change of single features there.",
             "The predicted change agrees little with the real one (r below %.1f): %s.", j->rule->caution,
             comp__listing_text(&low));
  comp__find_number(j, "count", (double)low.count);
  name_labels(j, is_low);
}

static bool is_worse(const comp__judge *j, json_t *entry) {
  (void)j;
  return value_of(entry, "prediction", "mse_de") > value_of(entry, "no_change", "mse_de");
}

void comp__rule_predictions_worse(comp__judge *j) {
  comp__listing worse = {0}, whole = {0};
  size_t of, n = count_worse(j, &of), i;
  json_t *change;
  if (is_useless(j)) {
    json_array_foreach(j->evidence->changes, i, change) {
      if (is_worse_in_all(change))
        comp__listing_add(&whole, "%.200s \u2192 %.200s (error %.2f times as large)", comp__member_text(change, "from"),
                          comp__member_text(change, "to"),
                          value_of(json_object_get(change, "mean"), "prediction", "mse_de") /
                              value_of(json_object_get(change, "mean"), "no_change", "mse_de"));
    }
    comp__find(j, COMP_FINDING_PROBLEM,
               "Do not use these predictions. Train longer, or on more samples; look whether the condition has an "
               "effect at all.",
               "Predictions are worse than predicting no change, for the top DE features: %s.",
               comp__listing_text(&whole));
    comp__find_number(j, "changes", (double)n);
    return;
  }
  list_labels(&worse, j, is_worse, false);
  if (!worse.count) return;
  comp__find(j, COMP_FINDING_CAUTION, "Do not rely on predictions there.",
             "For the top DE features, predicting no change has a smaller error than the model: %s.",
             comp__listing_text(&worse));
  comp__find_number(j, "count", (double)worse.count);
  name_labels(j, is_worse);
}

/* What needs no model: the mean change of all samples, added to each. */
void comp__rule_predictions_shift(comp__judge *j) {
  comp__listing better = {0};
  size_t i, of = 0;
  json_t *change;
  if (is_useless(j)) return; /* predictions-worse says more */
  json_array_foreach(j->evidence->changes, i, change) {
    json_t *mean = json_object_get(change, "mean");
    const double own = value_of(mean, "prediction", "mse_de"), shift = value_of(mean, "mean_shift", "mse_de");
    if (quality_of(change).labels < 2) continue; /* the mean of one label is its own */
    of += !isnan(own) && !isnan(shift);
    if (own > j->rule->caution * shift)
      comp__listing_add(&better, "%.200s \u2192 %.200s (%.3g, with the model %.3g)", comp__member_text(change, "from"),
                        comp__member_text(change, "to"), shift, own);
  }
  const size_t count = better.count;
  if (count == 0 || 2 * count < of) return;
  comp__find(
      j, COMP_FINDING_CAUTION, "Train longer, or on more samples.",
      "Adding the mean change of all samples to each sample (mean shift), without a model, has a smaller error for "
      "the top DE features: %s.",
      comp__listing_text(&better));
  comp__find_number(j, "changes", (double)count);
}

/* Whether samples were predicted under a condition. */
static bool is_target(const comp__judge *j, const char *condition) {
  size_t i;
  json_t *change;
  json_array_foreach(j->evidence->changes, i, change) {
    if (strcmp(comp__member_text(change, "to"), condition) == 0) return true;
  }
  return false;
}

/* Of many conditions only some are predicted; one alone was asked for (--to). */
void comp__rule_predictions_some(comp__judge *j) {
  json_t *conditions = json_object_get(j->evidence->design, "conditions"), *entry;
  comp__listing left = {0};
  size_t i, n = json_array_size(conditions);
  json_array_foreach(conditions, i, entry) {
    if (!is_target(j, comp__member_text(entry, "value")))
      comp__listing_add(&left, "%.200s", comp__member_text(entry, "value"));
  }
  const size_t count = left.count;
  if (count == 0 || n - count < 2) return;
  comp__find(j, COMP_FINDING_NOTE, "comp run --all-counterfactuals predicts all; comp counterfactual --to VALUE one.",
             "Predictions were scored for %zu of %zu conditions, not for %s.", n - count, n, comp__listing_text(&left));
  comp__find_number(j, "count", (double)count);
}
