/* rules.c: the table of rules, in the order in which findings are read, and what rules share. Limits are rules of
 * thumb; docs/formats.md lists them. */
#include "verdict/rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MIXED    "Are conditions mixed?"
#define KEPT     "Were labels lost (over-correction)?"
#define HIDDEN   "Can the condition be predicted from z?"
#define USEFUL   "Is the target kept, and are groups treated alike?"
#define PREDICTS "Are predictions good?"
#define DATA     "Does the data allow it?"
#define TRAINED  "Did the training succeed?"

/* clang-format off */
static const comp__rule table[] = {
    /* First, because it decides what all others mean. The share of labels that are in one condition only: caution above
     * 0, a problem from the second limit on, and when a condition has no label in common with any other. */
    {"confounded", DATA, 0, 0.5, comp__rule_confounded},
    /* kBET over all samples, or m-kBET: the share of badly mixed neighbourhoods. (Limits of s: rules_embedding.c.) */
    {"mixing", MIXED, 0.2, 0.5, comp__rule_mixing},
    /* The largest difference of a label's share between two conditions. */
    {"composition", MIXED, 0.1, NAN, comp__rule_composition},
    /* The local silhouette below 0. */
    {"silhouette", MIXED, 0.1, NAN, comp__rule_silhouette},
    /* How much lower the share of samples is whose neighbours mostly have their label, in one label that was separate
     * before. A problem only if most of its samples now have neighbours of another label. (More: rules_embedding.c.) */
    {"labels-lost", KEPT, 0.1, 0.3, comp__rule_labels_lost},
    /* Accuracy, or balanced accuracy, of the best classifier above that of a guess. */
    {"hidden", HIDDEN, 0.02, 0.1, comp__rule_hidden},
    /* The same in draws from posteriors, of an audit. */
    {"hidden-draws", HIDDEN, 0.02, 0.1, comp__rule_hidden_draws},
    /* Where it must be hidden: accuracy, or balanced accuracy, above that in the data before. Always a problem. */
    {"reveals-more", HIDDEN, 0.02, 0.02, comp__rule_reveals_more},
    {"hidden-from-some", HIDDEN, 0.02, NAN, comp__rule_hidden_from_some},
    /* Balanced accuracy below chance. */
    {"below-chance", HIDDEN, 0.04, NAN, comp__rule_below_chance},
    {"target", USEFUL, NAN, NAN, comp__rule_target},
    /* How much larger a gap between groups is than before. */
    {"fairness", USEFUL, 0.05, NAN, comp__rule_fairness},
    /* Of an audit: the largest of the parity, odds and opportunity gaps that is above two standard errors. */
    {"gaps", USEFUL, 0.1, 0.2, comp__rule_gaps},
    {"target-differs", USEFUL, 0.02, NAN, comp__rule_target_differs},
    /* Pearson's r of predicted and real change: below these. */
    {"predictions", PREDICTS, 0.5, 0.2, comp__rule_predictions},
    {"predictions-low", PREDICTS, 0.5, NAN, comp__rule_predictions_low},
    {"predictions-worse", PREDICTS, NAN, NAN, comp__rule_predictions_worse},
    /* The error of the top DE features over that of adding the mean change. */
    {"predictions-shift", PREDICTS, 1.05, NAN, comp__rule_predictions_shift},
    {"predictions-some", PREDICTS, NAN, NAN, comp__rule_predictions_some},
    /* Fewer samples, in all and of a label in a condition. */
    {"few-samples", DATA, 500, NAN, comp__rule_few_samples},
    {"sampled", DATA, NAN, NAN, comp__rule_sampled},
    {"small-groups", DATA, 50, NAN, comp__rule_small_groups},
    {"one-condition", DATA, NAN, NAN, comp__rule_one_condition},
    /* So many times as many samples as the smallest condition has. */
    {"unequal-conditions", DATA, 20, NAN, comp__rule_unequal},
    {"missing-values", DATA, NAN, NAN, comp__rule_missing},
    {"not-named", DATA, NAN, NAN, comp__rule_unnamed},
    {"training", TRAINED, NAN, NAN, comp__rule_training},
    /* What comp diagnose found; its rules are in rules_model.c. */
    {"checks", "", NAN, NAN, comp__rule_checks},
};
/* clang-format on */

size_t comp__rules_count(void) {
  return sizeof table / sizeof *table;
}

const comp__rule *comp__rule_at(size_t index) {
  return &table[index];
}

const comp__rule *comp__rule_of(const char *id) {
  const comp__rule *rule = table;
  while (strcmp(rule->id, id) != 0) rule++;
  return rule;
}

/* The first finding with this id, if it needs caution or is a problem; `count` when there is none. */
static size_t find_bad(const comp__findings *list, const char *id) {
  size_t i = 0;
  while (i < list->count && !(strcmp(list->items[i].id, id) == 0 && list->items[i].level >= COMP_FINDING_CAUTION)) i++;
  return i;
}

comp_finding_level comp__level_of(const comp__judge *j, const char *id) {
  if (j->status != COMP_OK) return COMP_FINDING_OK; /* the last finding may be incomplete */
  const size_t i = find_bad(j->out, id);
  return i < j->out->count ? j->out->items[i].level : COMP_FINDING_OK;
}

/* No setting of the training helps where labels and conditions cannot be separated. */
static comp_status advise_confounded(comp__findings *list) {
  static const char *const ids[] = {"mixing", "labels-lost", "hidden", "silhouette", "hidden-from-some"};
  comp_status status = COMP_OK;
  for (size_t k = 0; k < sizeof ids / sizeof *ids && status == COMP_OK; k++) {
    size_t i = find_bad(list, ids[k]);
    if (i < list->count)
      status = comp__findings_advise(list, i, "No setting can help: labels and conditions are confounded.");
  }
  return status;
}

/* Rules advise one by one; more and less gamma at once would be no advice. */
static comp_status reconcile(comp__findings *list, bool confounded) {
  static const char both[] =
      "Train longer (--epochs), with larger batches (--batch): another --gamma alone trades mixing against labels.";
  if (confounded) return advise_confounded(list);
  size_t mixing = find_bad(list, "mixing"), lost = find_bad(list, "labels-lost");
  if (mixing == list->count || lost == list->count) return COMP_OK;
  comp_status status = comp__findings_advise(list, mixing, both);
  return status == COMP_OK ? comp__findings_advise(list, lost, both) : status;
}

comp_status comp__judge_evidence(comp__findings *out, const comp__evidence *evidence) {
  comp__judge j = {.evidence = evidence, .out = out, .status = COMP_OK};
  for (size_t r = 0; r < comp__rules_count(); r++) {
    j.rule = comp__rule_at(r);
    j.rule->judge(&j);
  }
  return j.status == COMP_OK ? reconcile(out, comp__design_is_confounded(evidence)) : j.status;
}

comp_finding_level comp__level_above(double value, double caution, double problem) {
  return value > problem ? COMP_FINDING_PROBLEM : value > caution ? COMP_FINDING_CAUTION : COMP_FINDING_OK;
}

bool comp__is_uncertain(const comp__judge *j, double high, double limit) {
  enum { FEWEST = 100 };
  json_t *samples = json_object_get(j->evidence->design, "samples");
  return (samples && json_integer_value(samples) < FEWEST) || high > limit;
}

void comp__find(comp__judge *j, comp_finding_level level, const char *advice, const char *format, ...) {
  char text[8192];
  va_list arguments;
  if (j->status != COMP_OK) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  j->status = comp__findings_add(j->out, j->rule->id, level, j->rule->question, text, advice);
}

bool comp__find_audited(comp__judge *j, const char *id) {
  comp__findings list = {0};
  json_t *audit = j->evidence->audit;
  if (!audit) return false;
  if (j->status == COMP_OK) j->status = comp__findings_read(&list, json_object_get(audit, "findings"));
  for (size_t i = 0; i < list.count && j->status == COMP_OK; i++) {
    if (strcmp(list.items[i].id, id) != 0) continue;
    j->status = comp__findings_copy(j->out, &list.items[i], j->rule->id);
    break;
  }
  comp__findings_release(&list);
  return true;
}

void comp__find_number(comp__judge *j, const char *name, double value) {
  if (j->status == COMP_OK && !isnan(value)) j->status = comp__findings_number(j->out, name, value);
}

void comp__find_label(comp__judge *j, const char *name) {
  if (j->status == COMP_OK) j->status = comp__findings_label(j->out, name);
}

enum { NAMED = 5 };

void comp__listing_add(comp__listing *l, const char *format, ...) {
  char item[700];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(item, sizeof item, format, arguments);
  va_end(arguments);
  size_t used = strlen(l->text);
  if (l->count < NAMED) snprintf(l->text + used, sizeof l->text - used, "%s%s", l->count ? ", " : "", item);
  l->count++;
}

const char *comp__listing_text(comp__listing *l) {
  size_t used = strlen(l->text);
  if (l->count > NAMED) snprintf(l->text + used, sizeof l->text - used, " and %zu more", l->count - NAMED);
  return l->text;
}
