/* rules_kept.c: findings of comp diagnose on what the correction took away: labels, populations, reconstruction. The
 * limits are in docs/theory.md. */
#include <math.h>
#include <stdio.h>

#include "verdict/examiner.h"

/* Of labels. */
#define SAME_CAUTION   0.5 /* of the neighbours in other conditions, share of the own label */
#define SAME_PROBLEM   0.25
#define MIXING_CAUTION 0.5 /* a label of one condition among samples of others */
#define MIXING_PROBLEM 0.9
#define LOST_CAUTION   0.1 /* share of what was known of the label, or of the explained variance, that is gone */
#define LOST_PROBLEM   0.3
#define UNSHARED_SAID  0.01 /* of the samples of a condition */
#define LEAST_OF_LABEL 10   /* below it a label is not judged */

/* Whether a label is in one condition only, single samples aside, and large enough to be judged. */
static bool is_alone(const comp__label_fate *l) {
  return l->looked_at >= LEAST_OF_LABEL && l->in <= 1;
}

/* Whether the neighbours of label `d` in other conditions are mostly of another label. */
static bool is_misplaced(const comp__label_fate *l, size_t d) {
  return l->in >= 2 && isfinite(l->same) && l->same <= SAME_CAUTION && l->mostly != d;
}

static void judge_shared(comp__examiner *j) {
  const comp__fates *f = &j->r->fates;
  const char *measure = "largest mixing of a label of one condition";
  comp__names list = {0};
  double worst = 0;
  size_t count = 0, small = 0, shared = 0;
  comp_finding_level level = COMP_FINDING_OK;
  for (size_t d = 0; d < f->n_labels; d++) {
    const comp__label_fate *l = &f->labels[d];
    if (l->looked_at == 0) continue;
    if (l->in > 1) {
      shared++;
      continue;
    }
    if (l->looked_at < LEAST_OF_LABEL) {
      small++;
      continue;
    }
    /* With a sample or two elsewhere it may belong there, and only be rare. */
    comp_finding_level here = comp__level_from(l->mixing, MIXING_CAUTION, MIXING_PROBLEM);
    if (here == COMP_FINDING_PROBLEM && l->present > 1) here = COMP_FINDING_CAUTION;
    if (here > level) level = here;
    count++;
    worst = fmax(worst, l->mixing);
    comp__names_add_number(&list, j->r->labels.levels[d], "%.2f", l->mixing);
  }
  char few[100] = "";
  if (small)
    snprintf(few, sizeof few, "; %zu label%s with fewer than %d samples %s left out", small, comp__plural(small),
             LEAST_OF_LABEL, small == 1 ? "is" : "are");
  if (count + shared == 0)
    comp__examiner_add(j, COMP__ASKS_KEPT, "shared-labels", COMP_FINDING_NOTE, NAN, measure,
                       "Give a column of fewer, larger labels with --label.",
                       "No label has %d samples, or samples in several conditions.", LEAST_OF_LABEL);
  else if (count == 0)
    comp__examiner_add(j, COMP__ASKS_KEPT, "shared-labels", level, 0, measure, "",
                       "Every %slabel has samples in several conditions%s.", small ? "other " : "", few);
  else
    comp__examiner_add(
        j, COMP__ASKS_KEPT, "shared-labels", level, worst, measure, level == COMP_FINDING_OK ? "" : COMP__LESS_PENALTY,
        "%zu label%s in one condition only, single samples aside: do not use predictions of %s. Mixing with samples of "
        "other conditions (0: not mixed, 1: fully mixed): %s%s.",
        count, count == 1 ? " is" : "s are", count == 1 ? "it" : "them", comp__names_finish(&list), few);
  for (size_t d = 0; d < f->n_labels; d++)
    if (is_alone(&f->labels[d])) comp__examiner_label(j, d);
}

static void judge_neighbours(comp__examiner *j) {
  const comp__fates *f = &j->r->fates;
  comp__names list = {0};
  double worst = NAN;
  comp_finding_level level = COMP_FINDING_OK;
  for (size_t d = 0; d < f->n_labels; d++) {
    const comp__label_fate *l = &f->labels[d];
    if (l->in < 2 || !isfinite(l->same)) continue;
    worst = isnan(worst) ? l->same : fmin(worst, l->same);
    if (!is_misplaced(l, d)) continue;
    comp_finding_level here = l->same <= SAME_PROBLEM ? COMP_FINDING_PROBLEM : COMP_FINDING_CAUTION;
    if (here > level) level = here;
    char name[600];
    snprintf(name, sizeof name, "%s, mostly %s", j->r->labels.levels[d], j->r->labels.levels[l->mostly]);
    comp__names_add_number(&list, name, "%.2f", l->same);
  }
  if (isnan(worst))
    comp__examiner_add(j, COMP__ASKS_KEPT, "neighbours", COMP_FINDING_NOTE, NAN, "smallest share of the own label", "",
                       "No label has samples in two conditions.");
  else if (level == COMP_FINDING_OK)
    comp__examiner_add(j, COMP__ASKS_KEPT, "neighbours", level, worst, "smallest share of the own label", "",
                       "The nearest samples of every label in other conditions mostly have the same label.");
  else
    comp__examiner_add(
        j, COMP__ASKS_KEPT, "neighbours", level, worst, "smallest share of the own label", COMP__LESS_PENALTY,
        "Labels whose nearest samples in other conditions mostly have another label (share of the own): %s.",
        comp__names_finish(&list));
  for (size_t d = 0; d < f->n_labels; d++)
    if (is_misplaced(&f->labels[d], d)) comp__examiner_label(j, d);
}

static void judge_label(comp__examiner *j) {
  const comp__prediction_check *before = &j->r->label_before, *after = &j->r->label_after;
  const char *measure = "share of what predicts the label that is lost";
  if (!before->done || !after->done) {
    comp__examiner_add(j, COMP__ASKS_KEPT, "label", COMP_FINDING_NOTE, NAN, measure, "Use more samples.",
                       "Fewer than two labels have 10 samples.");
    return;
  }
  double lost = before->gain > 0 ? fmax(0, 1 - after->gain / before->gain) : 0;
  comp_finding_level level = comp__level_from(lost, LOST_CAUTION, LOST_PROBLEM);
  comp__examiner_add(
      j, COMP__ASKS_KEPT, "label", level, lost, measure, level == COMP_FINDING_OK ? "" : COMP__LESS_PENALTY,
      "Balanced accuracy of the label by logistic regression: %.3f from principal components of the data, %.3f from z.",
      before->scores[before->best].balanced, after->scores[after->best].balanced);
}

static void judge_labels(comp__examiner *j) {
  size_t levels = j->r->labels.n_levels;
  if (levels > 1) {
    judge_shared(j);
    judge_neighbours(j);
    judge_label(j);
    return;
  }
  if (j->r->options.label) {
    comp__examiner_add(j, COMP__ASKS_KEPT, "labels", COMP_FINDING_NOTE, NAN, "", "Give another column with --label.",
                       "The column '%s' has %s: there are no different labels that could be lost.", j->r->options.label,
                       levels ? "one value only" : "no values");
    return;
  }
  comp__examiner_add(j, COMP__ASKS_KEPT, "labels", COMP_FINDING_NOTE, NAN, "",
                     "Give the column of the cell type, or of what else must not be lost: --label.",
                     "Without labels it cannot be checked whether different labels were mixed with each other.");
}

/* The labels that most unshared samples of condition k have, most first: "B cells (340 of 345)". */
static void append_unshared(comp__names *list, const comp__results *r, size_t k) {
  enum { SHOWN = 3 };
  size_t before = SIZE_MAX, last = SIZE_MAX; /* the count and label that were named last */
  for (int i = 0; r->unshared.by_label && i < SHOWN; i++) {
    size_t best = SIZE_MAX, most = 0;
    for (size_t d = 0; d < r->labels.n_levels; d++) {
      const size_t n = r->unshared.by_label[d * r->conditions + k];
      if (n > most && (n < before || (n == before && d > last))) best = d, most = n;
    }
    if (best == SIZE_MAX) return;
    char shown[64];
    snprintf(shown, sizeof shown, "%zu of %zu", most, r->fates.labels[best].counts[k]);
    comp__names_add(list, r->labels.levels[best], shown);
    before = most, last = best;
  }
}

/* Samples without counterpart: said when a condition has more than a hundredth. */
static void judge_unshared(comp__examiner *j) {
  const comp__results *r = j->r;
  for (size_t k = 0; r->unshared.alone && k < r->conditions; k++) {
    const double share = (double)r->unshared.alone[k] / (double)r->counts[k];
    comp__names list = {0};
    if (share < UNSHARED_SAID) continue;
    append_unshared(&list, r, k);
    comp__examiner_add(
        j, COMP__ASKS_KEPT, "unshared", COMP_FINDING_CAUTION, share, "share of samples without counterpart",
        "Where another condition should have them, look at its cell types; --align all aligns every sample.",
        "%zu of %zu samples of '%s' have no counterpart in z: other conditions lack their population, or have "
        "a tenth of it%s%s. z shows the condition of these samples, and their counterfactuals have no support.",
        r->unshared.alone[k], r->counts[k], comp_model_level_name(r->model, k), list.text[0] ? "; by label: " : "",
        comp__names_finish(&list));
  }
}

/* A few samples that lie alone say something of themselves, and nothing of the model as a whole. */
static void judge_strays(comp__examiner *j) {
  const comp__strays *s = &j->r->strays;
  const char *measure = "samples far from all others";
  comp__names list = {0};
  if (s->count == 0) return;
  for (size_t i = 0; i < s->count; i++) {
    const bool far = isfinite(s->items[i].distance);
    comp__names_add_number(&list, s->items[i].name, far ? "distance x %.3g" : "error x %.3g",
                           far ? s->items[i].distance : s->items[i].error);
  }
  comp__examiner_add(
      j, COMP__ASKS_KEPT, "stray-samples", COMP_FINDING_CAUTION, (double)s->count, measure,
      "Look at these samples: leave them out and train again, or do not use their counterfactuals.",
      "%zu sample%s far from all others, in z (distance to the 5th nearest sample over the median) or in the squared "
      "error of the reconstruction (over the median): %s. The explained variance leaves %s out.",
      s->count, s->count == 1 ? " is" : "s are", comp__names_finish(&list), s->count == 1 ? "it" : "them");
}

static void judge_reconstruction(comp__examiner *j) {
  const comp__results *r = j->r;
  const char *measure = "share of the explained variance that is lost";
  double own = r->reconstruction, other = r->reconstruction_against;
  if (own <= 0) {
    comp__examiner_add(
        j, COMP__ASKS_KEPT, "explains-nothing", COMP_FINDING_PROBLEM, own, "explained variance of the data",
        COMP__NO_FIT,
        "The model explains nothing of the data: its reconstructions are no better than the mean of each feature "
        "(explained variance %.3g).",
        own);
    return;
  }
  if (isnan(own)) {
    comp__examiner_add(j, COMP__ASKS_KEPT, "reconstruction", COMP_FINDING_NOTE, NAN, measure, "",
                       "The data does not vary: there is nothing to explain.");
    return;
  }
  if (isnan(other)) {
    comp__examiner_add(
        j, COMP__ASKS_KEPT, "reconstruction", COMP_FINDING_NOTE, NAN, measure,
        comp__examiner_penalised(j) ? "Train with --gamma 0 and give that model with --against." : "",
        comp__examiner_penalised(j)
            ? "The model explains %.3f of the variance of the data. It is not known how much it would without the "
              "penalty."
            : "The model explains %.3f of the variance of the data. It has no penalty that could reduce this.",
        own);
    return;
  }
  if (other <= 0) {
    comp__examiner_add(
        j, COMP__ASKS_KEPT, "reconstruction", COMP_FINDING_NOTE, NAN, measure,
        "Train the model to compare with longer.",
        "The model explains %.3f of the variance of the data. The one without a penalty explains nothing (%.3g), so "
        "they "
        "cannot be compared.",
        own, other);
    return;
  }
  double lost = fmax(0, 1 - own / other);
  comp_finding_level level = comp__level_from(lost, LOST_CAUTION, LOST_PROBLEM);
  comp__examiner_add(
      j, COMP__ASKS_KEPT, "reconstruction", level, lost, measure, level == COMP_FINDING_OK ? "" : COMP__LESS_PENALTY,
      "The model explains %.3f of the variance of the data, without the penalty %.3f: a share of %.2f is lost.", own,
      other, lost);
}

void comp__judge_kept(comp__examiner *j) {
  judge_labels(j);
  judge_unshared(j);
  judge_strays(j);
  judge_reconstruction(j);
}
