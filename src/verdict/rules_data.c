/* rules_data.c: does the data allow what is asked of it, did the training succeed, and what did comp diagnose find? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verdict/json.h"
#include "verdict/rules.h"

/* ---- Conditions and labels ------------------------------------------------------------------------------------- */

static const char *condition_at(const comp__judge *j, size_t c) {
  return comp__member_text(json_array_get(json_object_get(j->evidence->design, "conditions"), c), "value");
}

static void find_confounded(comp__judge *j, const comp__overlap *o, const char *labels, comp__listing *cut_off) {
  const double share = (double)o->alone / (double)o->labels;
  const bool one = o->alone == 1;
  char strays[96] = "";
  if (o->strays)
    snprintf(strays, sizeof strays, ", but for %zu sample%s, which %s too few to learn from", o->strays,
             o->strays == 1 ? "" : "s", o->strays == 1 ? "is" : "are");
  if (o->none)
    comp__find(
        j, COMP_FINDING_PROBLEM,
        "No method can correct this data: do not use embeddings, corrected values or predictions of it. Add "
        "samples so that labels occur in several conditions, or choose another --condition or --label.",
        "Every label is in one condition only%s: %s. So the effect of the condition cannot be separated from the "
        "difference between labels (complete confounding), and mixing conditions mixes labels.",
        strays, labels);
  else if (cut_off->count) {
    const bool single = cut_off->count == 1;
    comp__find(j, COMP_FINDING_PROBLEM,
               "Do not compare them with other conditions. Leave them out (--keep), or add samples of labels that "
               "several conditions have.",
               "%s %s no label with any other condition: nothing shows how %s samples compare with others (%zu of %zu "
               "labels %s in one condition only: %s).",
               comp__listing_text(cut_off), single ? "shares" : "share", single ? "its" : "their", o->alone, o->labels,
               one ? "is" : "are", labels);
  } else
    comp__find(j, share < j->rule->problem ? COMP_FINDING_CAUTION : COMP_FINDING_PROBLEM,
               "Check on the map that they are not mixed with other labels. Predictions for them cannot be checked.",
               "%zu of %zu labels %s in one condition only: %s. There is nothing to align %s with (partial "
               "confounding).",
               o->alone, o->labels, one ? "is" : "are", labels, one ? "it" : "them");
  comp__find_number(j, "share", share);
}

/* How much of the condition the label alone says, from 0 (nothing) to 1 (all). */
static const double NEARLY = 0.8, NEARLY_ALL = 0.95;

/* Every condition has labels of others, but few samples of them. */
static void find_nearly_confounded(comp__judge *j, const comp__cross *labels, size_t conditions) {
  const comp__guess guess = comp__cross_guess(labels);
  const double chance = 1 / (double)conditions, said = (guess.balanced - chance) / (1 - chance);
  if (!(said > NEARLY)) return;
  comp__find(
      j, said > NEARLY_ALL ? COMP_FINDING_PROBLEM : COMP_FINDING_CAUTION,
      "Add samples of labels under the conditions where they are rare. Do not rely on what the embedding says of "
      "them, nor on predictions.",
      "The label nearly determines the condition: it is predicted from the label alone with a balanced accuracy "
      "of %.3f. Few samples show how the conditions differ within a label, so their effect can barely be separated "
      "from the difference between labels (strong confounding).",
      guess.balanced);
  comp__find_number(j, "from_label", said);
}

void comp__rule_confounded(comp__judge *j) {
  comp__cross labels;
  comp__listing alone = {0}, cut_off = {0};
  size_t where = 0;
  if (!comp__design_label(&labels, NULL, j->evidence)) return;
  const comp__overlap o = comp__cross_overlap(&labels);
  if (o.conditions < 2) return;
  if (o.alone == 0) {
    find_nearly_confounded(j, &labels, o.conditions);
    return;
  }
  for (size_t v = 0; v < labels.n_values; v++)
    if (comp__overlap_label(&where, &o, &labels, v) == 1)
      comp__listing_add(&alone, "%.250s (%.250s)", comp__cross_value(&labels, v), condition_at(j, where));
  for (size_t c = 0; c < labels.n_conditions; c++)
    if (o.totals[c] > 0 && !o.shares[c]) comp__listing_add(&cut_off, "'%.250s'", condition_at(j, c));
  find_confounded(j, &o, comp__listing_text(&alone), &cut_off);
  for (size_t v = 0; v < labels.n_values; v++)
    if (comp__overlap_label(&where, &o, &labels, v) == 1) comp__find_label(j, comp__cross_value(&labels, v));
}

void comp__rule_few_samples(comp__judge *j) {
  if (!j->evidence->design) return;
  double n = (double)comp__member_count(j->evidence->design, "samples");
  if (n >= j->rule->caution) return;
  comp__find(j, COMP_FINDING_CAUTION, "Do not rely on small differences.",
             "There %s only %.0f sample%s: all scores are uncertain, and the model may overfit.", n == 1 ? "is" : "are",
             n, n == 1 ? "" : "s");
  comp__find_number(j, "samples", n);
}

/* Neighbours of fewer samples lie farther away: finer differences between conditions are not seen. */
void comp__rule_sampled(comp__judge *j) {
  const comp__scores *s = &j->evidence->scores;
  if (s->drawn_from <= s->scored) return;
  comp__find(j, COMP_FINDING_NOTE, "Compare these scores only with scores of as many samples.",
             "Embeddings were scored on %zu of %zu samples, drawn at random. On all samples, kBET and m-kBET may be "
             "higher.",
             s->scored, s->drawn_from);
  comp__find_number(j, "scored", (double)s->scored);
  comp__find_number(j, "samples", (double)s->drawn_from);
}

static bool is_small(const comp__judge *j, size_t n) {
  return n > 0 && (double)n < j->rule->caution;
}

void comp__rule_small_groups(comp__judge *j) {
  comp__cross labels;
  comp__listing small = {0};
  if (!comp__design_label(&labels, NULL, j->evidence) || labels.n_conditions < 2) return;
  for (size_t v = 0; v < labels.n_values; v++)
    for (size_t c = 0; c < labels.n_conditions; c++) {
      size_t n = comp__cross_count(&labels, v, c);
      if (is_small(j, n))
        comp__listing_add(&small, "%.250s in %.250s (%zu)", comp__cross_value(&labels, v), condition_at(j, c), n);
    }
  if (small.count == 0) return;
  size_t count = small.count;
  comp__find(j, COMP_FINDING_CAUTION, "Read their means and scores with care.", "%zu %s fewer than %.0f samples: %s.",
             count, count == 1 ? "group has" : "groups have", j->rule->caution, comp__listing_text(&small));
  comp__find_number(j, "groups", (double)count);
  for (size_t v = 0; v < labels.n_values; v++) {
    size_t c = 0;
    while (c < labels.n_conditions && !is_small(j, comp__cross_count(&labels, v, c))) c++;
    if (c < labels.n_conditions) comp__find_label(j, comp__cross_value(&labels, v));
  }
}

void comp__rule_one_condition(comp__judge *j) {
  json_t *conditions = json_object_get(j->evidence->design, "conditions");
  if (!conditions || json_array_size(conditions) > 1) return;
  comp__find(j, COMP_FINDING_PROBLEM, "Name another column with --condition.",
             "The column '%s' has only one value: there is nothing to align.", comp__design_condition(j->evidence));
}

void comp__rule_unequal(comp__judge *j) {
  json_t *conditions = json_object_get(j->evidence->design, "conditions"), *entry, *least = NULL, *most = NULL;
  size_t i;
  json_array_foreach(conditions, i, entry) {
    size_t n = comp__member_count(entry, "samples");
    if (!least || n < comp__member_count(least, "samples")) least = entry;
    if (!most || n > comp__member_count(most, "samples")) most = entry;
  }
  double few = (double)comp__member_count(least, "samples"), many = (double)comp__member_count(most, "samples");
  if (!(many > j->rule->caution * few)) return;
  comp__find(j, COMP_FINDING_CAUTION, "Read the scores of the small condition with care.",
             "Conditions have very different sizes: '%s' has %.0f samples, '%s' has %.0f.",
             comp__member_text(least, "value"), few, comp__member_text(most, "value"), many);
  comp__find_number(j, "ratio", many / few);
}

void comp__rule_missing(comp__judge *j) {
  json_t *design = j->evidence->design, *entry;
  size_t samples = comp__member_count(design, "samples"), n = comp__member_count(design, "missing"), i;
  comp__listing columns = {0};
  if (n) comp__listing_add(&columns, "'%.250s' (%zu)", comp__design_condition(j->evidence), n);
  json_array_foreach(json_object_get(design, "columns"), i, entry) {
    n = comp__member_count(entry, "missing");
    if (n) comp__listing_add(&columns, "'%.250s' (%zu)", comp__member_text(entry, "column"), n);
  }
  if (columns.count)
    comp__find(j, COMP_FINDING_NOTE, "", "Of %zu samples, some have no value: %s.", samples,
               comp__listing_text(&columns));
}

void comp__rule_unnamed(comp__judge *j) {
  json_t *design = j->evidence->design;
  comp__cross labels;
  if (!design) return;
  if (!json_object_get(design, "condition"))
    comp__find(j, COMP_FINDING_NOTE, "Name a column with --condition.",
               "No condition was named, so nothing compares conditions.");
  else if (!comp__design_label(&labels, NULL, j->evidence) && !j->evidence->scores.protect)
    comp__find(j, COMP_FINDING_NOTE, "Name a column with --label.",
               "No labels were named, so it cannot be checked whether different labels were mixed.");
}

/* ---- Training -------------------------------------------------------------------------------------------------- */

/* Where the weights are not those of the epoch with the lowest loss: "" for other models. */
static const char *kept_weights(const json_t *training) {
  const char *kept = json_string_value(json_object_get(training, "kept"));
  if (!kept || strcmp(kept, "best") == 0) return "";
  return strcmp(kept, "average") == 0 ? "the average weights of the last quarter of the steps were kept"
                                      : "the weights of the last step were kept";
}

void comp__rule_training(comp__judge *j) {
  enum { LONG = 10 }; /* epochs */
  json_t *training = j->evidence->training;
  size_t epochs = comp__member_count(training, "epochs"), planned = comp__member_count(training, "planned");
  size_t best = comp__member_count(training, "best");
  const char *loss = json_is_true(json_object_get(training, "held_out")) ? "validation" : "training";
  const char *kept = kept_weights(training);
  if (epochs < 2 || best == 0) return;
  if (best == 1)
    comp__find(j, COMP_FINDING_CAUTION, "Try a smaller --lr, and look for very large values in the data.",
               "The %s loss was lowest in the first of %zu epochs: the model has learned nothing after it.", loss,
               epochs);
  else if (*kept && epochs < planned)
    comp__find(j, COMP_FINDING_NOTE, "Train to the end: without --max-time, and with --patience 0.",
               "Training stopped after %zu of %zu epochs, before the learning rate had fallen; %s.", epochs, planned,
               kept);
  else if (*kept)
    comp__find(j, COMP_FINDING_OK, "", "Training took %zu epochs; %s.", epochs, kept);
  else if (best == epochs && epochs >= LONG)
    comp__find(j, COMP_FINDING_NOTE, "Train longer (--epochs).",
               "The %s loss was lowest in the last of %zu epochs: a longer training may give a better model.", loss,
               epochs);
  else if (epochs < planned)
    comp__find(j, COMP_FINDING_OK, "",
               "Training stopped after %zu of %zu epochs: the %s loss was lowest in epoch %zu and did not fall again "
               "(--patience 0 trains to the end).",
               epochs, planned, loss, best);
  else
    comp__find(j, COMP_FINDING_OK, "", "Training took %zu epochs; the %s loss was lowest in epoch %zu.", epochs, loss,
               best);
  comp__find_number(j, "epochs", (double)epochs);
  comp__find_number(j, "best", (double)best);
}

/* ---- comp diagnose --------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *id, const char *const *ids) {
  for (; *ids; ids++)
    if (strcmp(id, *ids) == 0) return true;
  return false;
}

/* Whether single predictions were compared with what the samples really are under the other condition. */
static bool is_compared(const comp__evidence *e) {
  for (size_t i = 0; i < e->scores.count; i++) {
    const comp__read_score *s = &e->scores.items[i];
    if ((comp__score_is(s, "rmse_truth") || comp__score_is(s, "rmse_pair")) && !isnan(s->value)) return true;
  }
  return false;
}

/* Several checks that could not be made for the same reason, with the same advice, need one note. */
static bool is_repeated(const comp__findings *list, size_t index) {
  const comp_finding *f = &list->items[index];
  for (size_t i = 0; i < index; i++) {
    const comp_finding *g = &list->items[i];
    if (g->level == f->level && *f->advice && strcmp(g->advice, f->advice) == 0 &&
        strcmp(g->question, f->question) == 0)
      return f->level == COMP_FINDING_NOTE;
  }
  return false;
}

/* Whether the scores say of labels what was before and after. */
static bool is_measured(const comp__evidence *e) {
  const char *before = comp__evidence_before(e);
  return before && !isnan(comp__scores_find(&e->scores, "label_knn", comp__evidence_embedding(e))) &&
         !isnan(comp__scores_find(&e->scores, "label_knn", before));
}

/* Whether a finding of a diagnosis says what other rules know better: about predictions when there are none (as where
 * an attribute is to be hidden), about the truth when it is known, about labels when they were measured before. */
static bool is_superseded(const comp__evidence *e, const char *id) {
  static const char *const design[] = {"confounded", NULL}, *const shared[] = {"shared-labels", NULL};
  static const char *const corrected[] = {"labels", "neighbours", "label", "shared-labels", NULL};
  comp__cross cross;
  if (comp__design_label(&cross, NULL, e) && is_one_of(id, design)) return true; /* judged from the design itself */
  if (comp__design_is_confounded(e) && is_one_of(id, shared)) return true;
  if (e->scores.protect && is_one_of(id, corrected)) return true;
  static const char *const predictions[] = {"normality", "components", "symmetry", "truth", NULL};
  static const char *const truth[] = {"truth", NULL}, *const labels[] = {"neighbours", "label", NULL};
  return (json_array_size(e->changes) == 0 && is_one_of(id, predictions)) || (is_compared(e) && is_one_of(id, truth)) ||
         (is_measured(e) && is_one_of(id, labels));
}

/* The findings of a diagnosis, which were judged when it was made, but not those that are ok. */
void comp__rule_checks(comp__judge *j) {
  comp__findings list = {0};
  if (j->status == COMP_OK) j->status = comp__findings_read(&list, j->evidence->findings);
  for (size_t i = 0; i < list.count && j->status == COMP_OK; i++) {
    const comp_finding *f = &list.items[i];
    if (f->level == COMP_FINDING_OK || is_superseded(j->evidence, f->id) || is_repeated(&list, i)) continue;
    j->status = comp__findings_copy(j->out, f, NULL);
  }
  comp__findings_release(&list);
}
