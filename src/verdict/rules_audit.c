/* rules_audit.c: is an attribute hidden, from attackers that were tried and from any other; is the target kept? */
#include "verdict/rules_audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/strings.h"
#include "model/options.h"
#include "verdict/json.h"
#include "verdict/rules.h"

#define HIDDEN  "Can the attribute be found?"
#define ANY     "What can any attacker find?"
#define USEFUL  "Is the target kept, and are groups treated alike?"
#define CAUTION 0.02 /* excess over chance, as of the rule "hidden" */
#define PROBLEM 0.10
#define VACUOUS 0.95 /* a balanced accuracy that a bound must be below to say anything */
#define FEW     0.10 /* what the number of samples may add to a bound of the parity gap: more samples would lower it */

typedef struct judge {
  comp__findings *out;
  json_t *audit;
  const char *condition, *use;
  double chance, majority;
  comp_status status;
} judge;

static void add(judge *j, const char *id, comp_finding_level level, const char *question, const char *advice,
                const char *format, ...) COMP_PRINTF(6, 7);
static void add(judge *j, const char *id, comp_finding_level level, const char *question, const char *advice,
                const char *format, ...) {
  char text[2048];
  va_list arguments;
  if (j->status != COMP_OK) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  j->status = comp__findings_add(j->out, id, level, question, text, advice);
}

static void number(judge *j, const char *name, double value) {
  if (j->status == COMP_OK && !isnan(value)) j->status = comp__findings_number(j->out, name, value);
}

/* ---- Attackers ---- */

/* The strongest by balanced accuracy, and the best accuracy of any. */
typedef struct strongest {
  const char *title; /* NULL: none */
  double balanced, low, high;
  const char *by_accuracy;
  double accuracy;
} strongest;

static strongest strongest_of(json_t *audit, const char *source) {
  strongest s = {.balanced = NAN, .accuracy = NAN, .low = NAN, .high = NAN};
  size_t i, k;
  json_t *entry, *attack;
  json_array_foreach(json_object_get(audit, "attacks"), i, entry) {
    if (strcmp(comp__member_text(entry, "source"), source) != 0) continue;
    json_array_foreach(json_object_get(entry, "attackers"), k, attack) {
      json_t *balanced = json_object_get(attack, "balanced_accuracy");
      const double value = comp__member_number(balanced, "value"),
                   accuracy = comp__member_number(json_object_get(attack, "accuracy"), "value");
      if (!(value <= s.balanced)) {
        s.title = comp__member_text(attack, "title");
        s.balanced = value;
        s.low = comp__member_number(balanced, "low");
        s.high = comp__member_number(balanced, "high");
      }
      if (!(accuracy <= s.accuracy)) {
        s.by_accuracy = comp__member_text(attack, "title");
        s.accuracy = accuracy;
      }
    }
  }
  return s;
}

static double chance_of(json_t *audit) {
  const size_t levels = json_array_size(json_object_get(audit, "levels"));
  return levels ? 1 / (double)levels : NAN;
}

/* How much more is found than by guessing; NaN: nothing was tried. */
static double excess_of(json_t *audit, const strongest *s) {
  return fmax(s->balanced - chance_of(audit), s->accuracy - comp__member_number(audit, "majority"));
}

/* Whether a source reveals more than the data does, beyond what chance explains. */
static bool reveals_more(const strongest *s, const strongest *data) {
  if (!s->title || !data->title) return false;
  return fmax(s->balanced - data->balanced, s->accuracy - data->accuracy) > fmax(CAUTION, (s->high - s->low) / 2);
}

/* ---- Advice ---- */

typedef struct advised {
  char text[512];
} advised;

/* " (this model: 10)", where the model's value of an option is known. */
static const char *own(char out[48], json_t *audit, const char *name) {
  const double value = comp__member_number(json_object_get(audit, "model"), name);
  out[0] = '\0';
  if (!isnan(value)) snprintf(out, 48, " (this model: %g)", value);
  return out;
}

/* Whether the encoder sees the attribute, as far as is known. */
static bool sees_condition(json_t *audit) {
  return !json_is_false(json_object_get(json_object_get(audit, "model"), "encoder_sees_condition"));
}

/* Whether the model is one that has no use for --gamma. */
static bool lacks_penalty(json_t *audit) {
  const char *name = comp__member_text(json_object_get(audit, "model"), "model");
  comp__model_options o;
  return *name && comp__model_options_init(&o, name) == COMP_OK && o.penalty == COMP_PENALTY_NONE;
}

#define WITH_PENALTY "--model comp --preset protect"

/* Whether draws are known to be no way out: the attribute is found in them, too. */
static bool draws_reveal(json_t *audit) {
  const strongest draws = strongest_of(audit, "draws"), data = strongest_of(audit, "data");
  return excess_of(audit, &draws) > PROBLEM || reveals_more(&draws, &data);
}

/* What to release in place of means. */
static const char *other_release(json_t *audit) {
  return draws_reveal(audit) ? "cells" : "draws (comp embed --sample) or cells";
}

/* What hides it better in means. An option that the model has already is no advice. */
static advised hide_means(json_t *audit) {
  char gamma[48];
  advised a;
  if (lacks_penalty(audit))
    snprintf(a.text, sizeof a.text, "Train a model that has a penalty (" WITH_PENALTY "), or release %s.",
             other_release(audit));
  else
    snprintf(a.text, sizeof a.text, "Release %s in place of means, or train with %sa larger --gamma%s.",
             other_release(audit), sees_condition(audit) ? "--encoder-without-condition or " : "",
             own(gamma, audit, "gamma"));
  return a;
}

static advised hide_draws(json_t *audit) {
  char gamma[48];
  advised a;
  if (lacks_penalty(audit))
    snprintf(a.text, sizeof a.text, "Train a model that has a penalty (" WITH_PENALTY "), or release cells.");
  else
    snprintf(a.text, sizeof a.text, "Train with a larger --gamma%s, or release cells.", own(gamma, audit, "gamma"));
  return a;
}

/* The same where `what` reveals more than the data: then cells need a bound, too. */
static advised hide_more(json_t *audit, const char *what) {
  const bool other = strcmp(comp__member_text(json_object_get(audit, "model"), "preset"), "protect") != 0;
  const bool draws = strcmp(what, "means") == 0 && !draws_reveal(audit);
  char gamma[48], train[96] = "";
  advised a;
  if (lacks_penalty(audit))
    snprintf(train, sizeof train, " a model that has a penalty (" WITH_PENALTY ")");
  else if (other || sees_condition(audit))
    snprintf(train, sizeof train, " with%s%s", other ? " --preset protect" : "",
             sees_condition(audit) ? " --encoder-without-condition" : "");
  else
    snprintf(train, sizeof train, " with a larger --gamma%s", own(gamma, audit, "gamma"));
  if (draws)
    snprintf(a.text, sizeof a.text, "Do not release it. Release draws or cells in place of means, or train%s.", train);
  else
    snprintf(a.text, sizeof a.text, "Do not release %s. Train%s, or release cells, with a bound (--release cells:64).",
             strcmp(what, "means") == 0 ? "it, and no draws either" : "them", train);
  return a;
}

/* ---- What was found ---- */

/* Not to have found it is an answer only where more samples would not find it either. */
static bool is_open(const judge *j, const strongest *s, comp_finding_level level) {
  return level == COMP_FINDING_OK && s->high - j->chance > PROBLEM;
}

static const char test_more[] = "Test more samples: a larger --test-share, or more data.";

static void judge_attack(judge *j, const char *id, const char *source, const char *name, const char *advice) {
  static const char *const words[] = {"was not found", "", "was found to some degree", "was found"};
  const strongest s = strongest_of(j->audit, source), data = strongest_of(j->audit, "data");
  if (!s.title) return;
  /* Half of the interval's width, where that is more than the limit. */
  const double margin = fmax(CAUTION, (s.high - s.low) / 2);
  const comp_finding_level level = comp__level_above(excess_of(j->audit, &s), margin, fmax(PROBLEM, margin));
  const bool open = is_open(j, &s, level);
  char before[96] = "";
  if (data.title) snprintf(before, sizeof before, "; in the data: %.3f and %.3f", data.balanced, data.accuracy);
  add(j, id, open ? COMP_FINDING_CAUTION : level, HIDDEN,
      open                      ? test_more
      : level > COMP_FINDING_OK ? advice
                                : "An attacker that was not tried may still find it: see --release for a bound on all.",
      "'%s' %s in %s: best balanced accuracy %.3f (%.3f to %.3f; %s), chance %.3f; best accuracy %.3f (%s), most "
      "common "
      "value %.3f%s.%s",
      j->condition, words[level], name, s.balanced, s.low, s.high, s.title, j->chance, s.accuracy, s.by_accuracy,
      j->majority, before, open ? " Too few samples were tested to say that it is hidden." : "");
  number(j, "excess", excess_of(j->audit, &s));
  number(j, "balanced_accuracy", s.balanced);
  number(j, "accuracy", s.accuracy);
}

static void judge_more(judge *j, const char *source, const char *name) {
  const strongest s = strongest_of(j->audit, source), data = strongest_of(j->audit, "data");
  if (!reveals_more(&s, &data)) return;
  const bool balanced = s.balanced - data.balanced > s.accuracy - data.accuracy;
  const double more = balanced ? s.balanced - data.balanced : s.accuracy - data.accuracy;
  add(j, "reveals-more", COMP_FINDING_PROBLEM, HIDDEN, hide_more(j->audit, source).text,
      "%s '%s' more than the data itself: %saccuracy %.3f (%s), from the data %.3f. The model has put the "
      "attribute into %s.",
      name, j->condition, balanced ? "balanced " : "", balanced ? s.balanced : s.accuracy,
      balanced ? s.title : s.by_accuracy, balanced ? data.balanced : data.accuracy,
      strcmp(source, "means") == 0 ? "it" : "them");
  number(j, "more", more);
}

static void judge_known(judge *j) {
  const strongest s = strongest_of(j->audit, "known");
  if (!s.title) return;
  add(j, "known", COMP_FINDING_NOTE, HIDDEN, "",
      "The columns that are known anyway give '%s' away with a balanced accuracy of %.3f (%s), whatever is released.",
      j->condition, s.balanced, s.title);
  number(j, "balanced_accuracy", s.balanced);
}

/* ---- Certificates ---- */

static void judge_certificate(judge *j, json_t *c) {
  json_t *balanced = json_object_get(c, "balanced_accuracy"), *parity = json_object_get(c, "parity_gap"),
         *accuracy = json_object_get(c, "accuracy");
  const char *release = comp__member_text(c, "release");
  const double upper = comp__member_number(balanced, "upper"), gap = comp__member_number(parity, "upper"),
               delta = comp__member_number(c, "delta"), slack = comp__member_number(c, "slack");
  const bool draws = strcmp(release, "draws") == 0, vacuous = upper > VACUOUS;
  /* More samples do not help where these say already that it is found. */
  const bool few = slack > FEW && !(comp__member_number(balanced, "estimate") > VACUOUS);
  comp__digits needed, fewest;
  char advice[512] = "", scale[48], added[96] = "";
  if (few)
    snprintf(advice, sizeof advice, "Hold out more samples: about %s of each value; the rarest has %s.",
             comp__digits_of(&needed, comp__member_count(c, "needed")),
             comp__digits_of(&fewest, comp__member_count(c, "fewest")));
  else if (vacuous && draws)
    snprintf(advice, sizeof advice,
             "Posteriors are too narrow for a bound: train with a larger --scale%s, or release cells.",
             own(scale, j->audit, "scale"));
  else if (vacuous)
    snprintf(advice, sizeof advice, "Release fewer cells.");
  if (few) snprintf(added, sizeof added, " So few samples alone add %.3f to the bound of the gap.", slack);
  add(j, "certificate", vacuous ? COMP_FINDING_CAUTION : COMP_FINDING_OK, ANY, advice,
      "%sWhoever sees %s: no classifier of '%s' has a balanced accuracy above %.3f (accuracy %.3f), and no classifier "
      "of anything a demographic parity gap above %.3f. This fails with probability %.3g at most, for samples like the "
      "%zu that were looked at.%s",
      vacuous ? "The bound says next to nothing. " : "", draws ? "one draw of each posterior" : release, j->condition,
      upper, comp__member_number(accuracy, "upper"), gap, delta, comp__member_count(c, "samples"), added);
  number(j, "balanced_accuracy", upper);
  number(j, "accuracy", comp__member_number(accuracy, "upper"));
  number(j, "parity_gap", gap);
  number(j, "delta", delta);
  number(j, "slack", slack);
}

static void judge_certificates(judge *j) {
  json_t *list = json_object_get(j->audit, "certificates"), *c;
  size_t i;
  json_array_foreach(list, i, c) {
    judge_certificate(j, c);
  }
  if (json_array_size(list) && !json_is_true(json_object_get(j->audit, "unseen")))
    add(j, "unseen", COMP_FINDING_CAUTION, ANY,
        "Train on part of the samples, and name the column that marks the others (--gammas does both).",
        "The bounds hold only where the model was trained on none of these samples, and no column of unseen "
        "samples was named (--unseen).");
}

/* ---- Use ---- */

/* Within two standard errors of the most common value nothing is predicted. */
static bool is_worthless(json_t *use) {
  return comp__member_number(use, "accuracy") <=
         comp__member_number(use, "majority") + 1 / sqrt(fmax((double)comp__member_count(use, "samples"), 1));
}

/* Whether the data itself does not predict the target either. */
static bool never_useful(json_t *audit) {
  size_t i;
  json_t *u;
  json_array_foreach(json_object_get(audit, "utility"), i, u) {
    if (strcmp(comp__member_text(u, "source"), "data") == 0) return is_worthless(u);
  }
  return false;
}

static void judge_use(judge *j, json_t *u) {
  const char *source = comp__member_text(u, "source");
  const double accuracy = comp__member_number(u, "accuracy"), majority = comp__member_number(u, "majority");
  const bool data = strcmp(source, "data") == 0, worthless = is_worthless(u), cells = strncmp(source, "cells", 5) == 0;
  const bool weak = lacks_penalty(j->audit) || comp__member_number(json_object_get(j->audit, "model"), "gamma") == 0;
  char gamma[48], advice[128] = "";
  if (worthless && !data && never_useful(j->audit))
    snprintf(advice, sizeof advice,
             "No --gamma helps where the data does not predict it: choose another target, or add features.");
  else if (worthless && !data && weak)
    snprintf(advice, sizeof advice, "Train longer (--epochs)%s, or for this target (comp train --target).",
             cells ? ", use more cells" : "");
  else if (worthless && !data)
    snprintf(advice, sizeof advice, "Use a smaller --gamma%s%s.", own(gamma, j->audit, "gamma"),
             cells ? ", or more cells" : "");
  add(j, "target",
      data        ? COMP_FINDING_NOTE
      : worthless ? COMP_FINDING_CAUTION
                  : COMP_FINDING_OK,
      USEFUL, advice, "'%s' from %s: accuracy %.3f (%s), most common value %.3f.%s",
      comp__member_text(j->audit, "target"), source, accuracy, comp__member_text(u, "classifier"), majority,
      worthless ? " Nothing is predicted better than by the most common value: small gaps are worth nothing." : "");
  number(j, "accuracy", accuracy);
  number(j, "majority", majority);
}

/* Gaps in the data itself are what others are compared with. Small gaps of what is predicted no better than by the most
 * common value are no success. */
static void judge_gaps(judge *j, json_t *u) {
  static const char *const names[] = {"parity", "odds", "opportunity"};
  const comp__rule *limits = comp__rule_of("gaps");
  const char *source = comp__member_text(u, "source");
  double gaps[3], worst = 0;
  bool chance = false;
  for (size_t k = 0; k < 3; k++) {
    char key[32];
    snprintf(key, sizeof key, "%s_gap", names[k]);
    gaps[k] = comp__member_number(u, key);
    snprintf(key, sizeof key, "%s_error", names[k]);
    if (gaps[k] <= comp__member_number(u, key)) /* two standard errors */
      chance = chance || gaps[k] > limits->caution;
    else
      worst = fmax(worst, gaps[k]);
  }
  const bool data = strcmp(source, "data") == 0;
  const comp_finding_level sure = comp__level_above(worst, limits->caution, limits->problem);
  const bool open = chance && sure == COMP_FINDING_OK;
  const bool nothing = is_worthless(u) && sure == COMP_FINDING_OK;
  const comp_finding_level level = nothing ? COMP_FINDING_NOTE : open ? COMP_FINDING_CAUTION : sure;
  add(j, "gaps", data ? COMP_FINDING_NOTE : level, USEFUL,
      data || level < COMP_FINDING_CAUTION ? ""
      : open                               ? test_more
             : "A hidden attribute does not make predictions fair. Check the rates of each group before you use "
               "predictions, and compare models with other --gamma (comp audit --gammas).",
      "Where '%s' is predicted from %s, groups of '%s' differ by up to %.1f points in what is predicted (parity), %.1f "
      "in error rates (odds) and %.1f in true positives (opportunity).%s",
      comp__member_text(j->audit, "target"), source, j->condition, 100 * gaps[0], 100 * gaps[1], 100 * gaps[2],
      nothing  ? " This is no success: the target is predicted no better than by its most common value."
      : open   ? " With so few samples tested, this may be chance."
      : chance ? " With so few samples tested, a part of this may be chance."
               : "");
  number(j, "gap", worst);
  for (size_t k = 0; k < 3; k++) {
    char key[32];
    snprintf(key, sizeof key, "%s_gap", names[k]);
    number(j, key, gaps[k]);
  }
}

static void judge_target(judge *j) {
  size_t i;
  json_t *u;
  json_array_foreach(json_object_get(j->audit, "utility"), i, u) {
    judge_use(j, u);
    judge_gaps(j, u);
  }
}

/* ---- A frontier ---- */

static void judge_frontier(judge *j) {
  size_t i;
  json_t *point;
  json_array_foreach(json_object_get(j->audit, "points"), i, point) {
    json_t *audit = json_object_get(point, "audit"), *u;
    const strongest means = strongest_of(audit, "means"), draws = strongest_of(audit, "draws"),
                    data = strongest_of(audit, "data");
    const bool more = reveals_more(&means, &data), draws_more = reveals_more(&draws, &data);
    bool worthless = false;
    double kept = NAN;
    size_t k;
    json_array_foreach(json_object_get(audit, "utility"), k, u) {
      if (strcmp(comp__member_text(u, "source"), "means") != 0) continue;
      kept = comp__member_number(u, "accuracy");
      worthless = is_worthless(u);
    }
    add(j, "frontier",
        more || draws_more ? COMP_FINDING_PROBLEM
        : worthless        ? COMP_FINDING_CAUTION
                           : COMP_FINDING_NOTE,
        HIDDEN, more || draws_more ? hide_more(audit, more ? "means" : "draws").text : "",
        "gamma %g: '%s' with balanced accuracy %.3f in means (accuracy %.3f), %.3f in draws; target %.3f.%s%s",
        comp__member_number(point, "gamma"), j->condition, means.balanced, means.accuracy, draws.balanced, kept,
        more && draws_more ? " Means and draws reveal more than the data itself."
        : more             ? " The means reveal more than the data itself."
        : draws_more       ? " The draws reveal more than the data itself."
                           : "",
        worthless ? " The target is predicted no better than by its most common value: what is hidden is worth nothing."
                  : "");
    number(j, "gamma", comp__member_number(point, "gamma"));
    number(j, "means", means.balanced);
    number(j, "means_accuracy", means.accuracy);
    number(j, "draws", draws.balanced);
    number(j, "target", kept);
  }
}

comp_status comp__judge_audit(comp__findings *out, json_t *audit) {
  judge j = {.out = out,
             .audit = audit,
             .condition = comp__member_text(audit, "condition"),
             .use = comp__member_text(audit, "use"),
             .majority = comp__member_number(audit, "majority"),
             .status = COMP_OK};
  j.chance = chance_of(audit);
  if (json_object_get(audit, "points")) {
    judge_frontier(&j);
    return j.status;
  }
  if (json_is_true(json_object_get(audit, "constant")))
    add(&j, "constant", COMP_FINDING_CAUTION, USEFUL, "Train again, with a smaller --gamma or --beta.",
        "%s is the same for all samples: it hides everything, and is of no use.", j.use);
  const bool data = strcmp(j.use, "X") == 0;
  judge_attack(&j, "attack", "means", data ? "the data" : j.use,
               data ? "Train a model that hides it: comp run --protect." : hide_means(audit).text);
  char reveals[512];
  snprintf(reveals, sizeof reveals, "%s reveals", j.use);
  judge_more(&j, "means", reveals);
  judge_attack(&j, "attack-draws", "draws", "draws", hide_draws(audit).text);
  judge_more(&j, "draws", "draws reveal");
  judge_known(&j);
  judge_certificates(&j);
  judge_target(&j);
  return j.status;
}
