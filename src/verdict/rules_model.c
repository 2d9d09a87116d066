/*
 * rules_model.c: from the numbers of comp diagnose to findings. docs/theory.md lists the limits. They are conventions,
 * tried on Kang alone: gamma 0 is a problem of independence, gamma 1,000 is flagged as over-correction.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "train/options.h"
#include "verdict/examiner.h"

#define DEPENDENCE_SAID 0.2 /* |correlation| of the squares of two components: above it is said */
/* Share of H(c) that z holds, estimated from below, and gain of the best classifier over chance. */
#define INFORMATION_CAUTION 0.1
#define INFORMATION_PROBLEM 0.3
#define GAIN_CAUTION        0.2
#define GAIN_PROBLEM        0.5
/* Divergence beyond that of shuffled conditions, in nats. */
#define DIVERGENCE_CAUTION 0.5
#define DIVERGENCE_PROBLEM 2.0
/* Between models. */
#define R2_CAUTION        0.8
#define R2_PROBLEM        0.5
#define AGREEMENT_CAUTION 0.95
#define AGREEMENT_PROBLEM 0.8
#define SINGLE_CAUTION    0.9
#define SINGLE_PROBLEM    0.7
/* Below these a test has no power: it is not made. */
#define LEAST_OF_CONDITION 10
#define LEAST_FOR_NORMAL   50
#define LEAST_FOR_SYMMETRY 100
/* So many standard deviations above what was measured may be true; a line passes when even that would not fail. */
#define DOUBT 1.64

/* Replaced by reconcile(), which looks at all findings. */
static const char SYMMETRY[] =
    "Use averages over samples, or validate single samples by a measurement. Models of other seeds (-m more than once) "
    "that disagree confirm it; models that agree do not rule it out.";

/* What to do when the permutations that were made cannot make p small enough. */
static const char *more_permutations(const comp__examiner *j, double tests) {
  return tests / j->r->options.alpha - 1 > 100000 ? "Give a larger --alpha: no number of permutations reaches it."
                                                  : "Give more --permutations, or a larger --alpha.";
}

static const char *label_name(const comp__examiner *j, size_t label) {
  return j->r->labels.n_levels ? j->r->labels.levels[label] : "all samples";
}

/* ---- identifiable ---- */

static void judge_normality(comp__examiner *j) {
  const comp__identify *i = &j->r->identify;
  const char *measure = "smallest p of all tests, adjusted";
  if (i->active == 0) {
    comp__examiner_add(
        j, COMP__ASKS_IDENTIFIABLE, "normality", COMP_FINDING_PROBLEM, NAN, measure,
        "Train with a smaller --beta, or more --epochs.",
        "The model has learned nothing from the data: none of the %zu dimensions of z carries more signal than noise.",
        i->dims);
    return;
  }
  double alpha = j->r->options.alpha;
  if (i->least_p > alpha && i->rows < LEAST_FOR_NORMAL) {
    comp__examiner_add(
        j, COMP__ASKS_IDENTIFIABLE, "normality", COMP_FINDING_NOTE, i->least_p, measure, "Use more samples.",
        "Too few samples to check whether predictions of single samples are unique: %zu cannot show that z is not "
        "normal.",
        i->rows);
    return;
  }
  if (i->least_p > alpha) {
    comp__examiner_add(
        j, COMP__ASKS_IDENTIFIABLE, "normality", COMP_FINDING_PROBLEM, i->least_p, measure,
        "Do not use predictions of single samples. More data, or another --latent size, may help.",
        "Predictions of single samples are not unique: z looks normal (%zu samples, %zu of %zu dimensions in use). A "
        "rotation of a normal z fits the data equally well and predicts other values.",
        i->rows, i->active, i->dims);
    return;
  }
  char p[32];
  if (i->least_p < 1e-99)
    snprintf(p, sizeof p, "below 1e-99");
  else
    snprintf(p, sizeof p, "%.2g", i->least_p);
  comp__examiner_add(
      j, COMP__ASKS_IDENTIFIABLE, "normality", COMP_FINDING_OK, i->least_p, measure, "",
      "z is not normal (p %s), so a rotation of it would fit worse. Of %zu coordinates and projections, "
      "Anderson-Darling rejects %zu, Lilliefors %zu, Shapiro-Wilk %zu; largest skewness %.2g, excess kurtosis %.2g "
      "(%zu "
      "of %zu dimensions in use).",
      p, i->coordinates + i->projections, i->rejected[0], i->rejected[1], i->rejected[2], i->largest_skewness,
      i->largest_kurtosis, i->active, i->dims);
}

static void judge_components(comp__examiner *j) {
  const comp__identify *i = &j->r->identify;
  const comp__components *c = &i->components;
  const char *measure = "independent components that may be normal";
  if (!i->has_components) {
    comp__examiner_add(j, COMP__ASKS_IDENTIFIABLE, "components", COMP_FINDING_NOTE, NAN, measure,
                       i->active < 2 ? "" : "Use more samples.",
                       i->active == 0   ? "No dimension of z is in use: there are no components."
                       : i->active == 1 ? "With one dimension in use there is nothing to rotate."
                                        : "There are too few samples for independent components.");
    return;
  }
  comp_finding_level level = COMP_FINDING_OK;
  bool unique = c->found_again >= 1;
  if (c->normal > 1 || !c->converged || !unique) level = COMP_FINDING_CAUTION;
  if (c->normal > 1 && 2 * c->normal >= c->count) level = COMP_FINDING_PROBLEM;
  char more[300] = "", other[200] = "";
  if (!c->converged)
    snprintf(other, sizeof other, " The search for components did not converge.");
  else if (!unique)
    snprintf(other, sizeof other,
             " A second search, equally good, found %.0f %% of the same components: they are not unique.",
             100 * c->found_again);
  /* What decides is symmetry, which does not need independence where the components are unique (docs/theory.md). */
  if (c->dependence > DEPENDENCE_SAID)
    snprintf(more, sizeof more,
             " They are not fully independent (the squares of two correlate %.2f), as the theorem assumes.",
             c->dependence);
  comp__examiner_add(
      j, COMP__ASKS_IDENTIFIABLE, "components", level, (double)c->normal, measure,
      level == COMP_FINDING_OK
          ? ""
          : "Trust averages over samples more than single samples. A smaller --latent, or more data, may help.",
      "%s%zu of %zu independent components of z may be normal (%s).%s%s",
      level == COMP_FINDING_OK ? "" : "Predictions of single samples may not be unique. ", c->normal, c->count,
      c->normal < 2 ? "the theorem allows one" : "a rotation among them changes predictions, but not the fit", other,
      more);
}

/* What is known of maps of single components. */
static void symmetry_text(char *text, size_t size, const comp__identify *i) {
  const comp__symmetries *m = &i->components.symmetries;
  size_t count = i->components.count, used = 0;
  text[0] = 0;
  if (!i->has_components) return;
  if (m->mirrored)
    used += (size_t)snprintf(text + used, size - used,
                             " z looks the same when a single component is mirrored (%zu of %zu).", m->mirrored, count);
  if (m->together)
    used += (size_t)snprintf(text + used, size - used,
                             " z looks the same when several of its components are mirrored together.");
  if (m->alike)
    used += (size_t)snprintf(text + used, size - used,
                             " z looks the same when two components are exchanged (%zu of %zu pairs).", m->alike,
                             count * (count - 1) / 2);
  if (m->untested)
    used += (size_t)snprintf(text + used, size - used, " %zu of these changes were too many to test.", m->untested);
  if (used == 0 && m->mirrored_alone + m->alike_alone)
    snprintf(text, size,
             " It also differs when components are mirrored or exchanged, although some of them alone may equal their "
             "mirror images or each other.");
  else if (used == 0)
    snprintf(text, size, " No component equals its mirror image or another component.");
}

static void judge_symmetry(comp__examiner *j) {
  const comp__identify *i = &j->r->identify;
  const comp__components *c = &i->components;
  const char *measure = "larger p of the two tests";
  double alpha = j->r->options.alpha;
  if (i->active == 0) {
    comp__examiner_add(j, COMP__ASKS_IDENTIFIABLE, "symmetry", COMP_FINDING_NOTE, NAN, measure, "",
                       "No dimension of z is in use: there is nothing to mirror or to rotate.");
    return;
  }
  if (1 > alpha * (double)(i->symmetry_permutations + 1) * (1 + 1e-12)) {
    comp__examiner_add(j, COMP__ASKS_IDENTIFIABLE, "symmetry", COMP_FINDING_NOTE, NAN, measure, more_permutations(j, 1),
                       "%zu permutations cannot make p as small as %g: that takes %.0f.", i->symmetry_permutations,
                       alpha, ceil(1 / alpha * (1 - 1e-12)) - 1);
    return;
  }
  bool rotated = i->rotation.p > alpha, mirrored = i->mirror.p > alpha;
  if ((rotated || mirrored) && i->symmetry_rows < LEAST_FOR_SYMMETRY) {
    comp__examiner_add(
        j, COMP__ASKS_IDENTIFIABLE, "symmetry", COMP_FINDING_NOTE, fmax(i->rotation.p, i->mirror.p), measure,
        "Use more samples.",
        "Too few samples to check whether predictions of single samples are unique: %zu cannot show that z differs "
        "from its mirror image or from a rotation of itself.",
        i->symmetry_rows);
    return;
  }
  const comp__symmetries *m = &c->symmetries;
  bool parts = i->has_components && (m->mirrored || m->together || m->alike);
  comp_finding_level level = rotated             ? COMP_FINDING_PROBLEM
                             : mirrored || parts ? COMP_FINDING_CAUTION
                                                 : COMP_FINDING_OK;
  char text[600];
  symmetry_text(text, sizeof text, i);
  const char *said = level == COMP_FINDING_OK
                         ? "No second solution was found."
                         : "A second solution may fit the data equally well and predict other single samples.";
  /* The parts come first where they decide: that z as a whole differs would read as if all were well. */
  comp__examiner_add(j, COMP__ASKS_IDENTIFIABLE, "symmetry", level, fmax(i->rotation.p, i->mirror.p), measure,
                     level == COMP_FINDING_OK ? "" : SYMMETRY,
                     "%s%s %s %s its mirror image (p %.3g) and %s a rotation of itself (p %.3g).%s", said,
                     parts ? text : "", parts ? "As a whole, z" : "z", mirrored ? "looks like" : "differs from",
                     i->mirror.p, rotated ? "looks like" : "differs from", i->rotation.p, parts ? "" : text);
}

/* ---- independent ---- */

/* The condition with the fewest samples, when they are too few for any test. */
static bool too_few(comp__examiner *j, const char *check, const char *measure) {
  const comp__results *r = j->r;
  size_t least = 0;
  for (size_t k = 1; k < r->conditions; k++)
    if (r->counts[k] < r->counts[least]) least = k;
  if (r->counts[least] >= LEAST_OF_CONDITION) return false;
  comp__examiner_add(j, COMP__ASKS_INDEPENDENT, check, COMP_FINDING_NOTE, NAN, measure, "Use more samples.",
                     "Too few samples: %zu of '%s', where at least %d are needed.", r->counts[least],
                     comp_model_level_name(r->model, least), LEAST_OF_CONDITION);
  return true;
}

/*
 * A size with its p. A large size needs a small p, or chance could have made it; when permutations cannot make p small
 * and none of them reached the size, the size stands. A small size passes when chance cannot have hidden a large one.
 * A note: there are too few samples for a judgement.
 */
static comp_finding_level weigh(const comp__examiner *j, double value, double caution, double problem, double deviation,
                                double p, double least_p) {
  comp_finding_level size = comp__level_from(value, caution, problem);
  double alpha = j->r->options.alpha;
  if (size == COMP_FINDING_OK) return value + DOUBT * deviation < problem ? COMP_FINDING_OK : COMP_FINDING_NOTE;
  if (p <= alpha * (1 + 1e-12)) return size;
  return least_p > alpha && p <= least_p * (1 + 1e-12) ? size : COMP_FINDING_NOTE;
}

static const char *weighed_advice(comp_finding_level level) {
  return level == COMP_FINDING_OK ? "" : level == COMP_FINDING_NOTE ? "Use more samples." : COMP__MORE_PENALTY;
}

static comp_finding_level weigh_divergence(const comp__examiner *j, const comp__null *n) {
  return weigh(j, n->excess, DIVERGENCE_CAUTION, DIVERGENCE_PROBLEM, n->deviation, n->p, 1 / (double)(n->shuffles + 1));
}

/* Populations that one condition lacks make z depend on the condition, unless they are mixed with others. */
static bool judge_divergence_of_shared(comp__examiner *j, const char *measure) {
  const comp__results *r = j->r;
  const comp__null *n = &r->null_shared;
  if (n->rows == 0 || weigh_divergence(j, &r->null) < COMP_FINDING_CAUTION) return false;
  if (weigh_divergence(j, n) != COMP_FINDING_OK) return false;
  comp__examiner_add(
      j, COMP__ASKS_INDEPENDENT, "divergence", COMP_FINDING_OK, n->excess, measure,
      "To hide the condition completely, use --align all: it mixes these samples with others.",
      "z depends on the condition by the %zu samples that have no counterpart in another condition, and almost not by "
      "others: the distance of z between conditions is %.3g nats above that of %zu shuffles of the conditions, and "
      "%.3g nats with these samples.",
      r->unshared.count, n->excess, n->shuffles, r->null.excess);
  return true;
}

static void judge_divergence(comp__examiner *j) {
  const comp__results *r = j->r;
  const comp__null *n = &r->null;
  const char *measure = "KL beyond that of shuffled conditions, nats";
  if (too_few(j, "divergence", measure)) return;
  if (judge_divergence_of_shared(j, measure)) return;
  comp_finding_level level = weigh_divergence(j, n);
  comp__examiner_add(
      j, COMP__ASKS_INDEPENDENT, "divergence", level, n->excess, measure, weighed_advice(level),
      "%sThe distance of z between conditions, sum of p(c) KL[q(z | c) || q(z | not c)], is %.3g nats above that of "
      "%zu shuffles of the conditions (standard deviation %.2g, p %.2g%s). With all posteriors as mixture, which is "
      "too "
      "high on average: %.3g +- %.1g; the training bound at a batch of %zu: %.3g.",
      level == COMP_FINDING_NOTE ? "Too few samples, it may be chance: " : "", n->excess, n->shuffles, n->deviation,
      n->p,
      n->p > r->options.alpha && level >= COMP_FINDING_CAUTION ? ", the smallest that so many shuffles allow" : "",
      r->independence.kl.value, r->independence.kl.error, r->batch, r->bound.value);
}

static void judge_information(comp__examiner *j) {
  const comp__results *r = j->r;
  const char *measure = "share of H(c) that z holds, estimated from below";
  if (too_few(j, "information", measure)) return;
  comp__estimate low = r->information, high = r->independence.information;
  double share = low.value / r->independence.entropy, error = sqrt(low.error * low.error + high.error * high.error);
  comp_finding_level level = comp__level_from(share, INFORMATION_CAUTION, INFORMATION_PROBLEM);
  const char *advice = level == COMP_FINDING_OK ? "" : COMP__MORE_PENALTY;
  if (low.value <= high.value)
    comp__examiner_add(
        j, COMP__ASKS_INDEPENDENT, "information", level, share, measure, advice,
        "z holds between %.3g +- %.1g nats (estimated from below, the best of several kernels) and %.3g +- %.1g nats "
        "(from above) of the %.3g nats of the condition.",
        low.value, low.error, fmin(high.value, r->independence.entropy), high.error, r->independence.entropy);
  else
    comp__examiner_add(
        j, COMP__ASKS_INDEPENDENT, "information", level, share, measure, advice,
        "What z holds of the condition, in nats: %.3g +- %.1g (estimated from below, the best of several kernels) and "
        "%.3g +- %.1g (from above): %s; the condition has %.3g nats.",
        low.value, low.error, high.value, high.error,
        low.value - high.value <= 2 * error ? "they agree within their errors"
                                            : "they differ by more than their errors, which leave out the choice of "
                                              "the best kernel and of samples",
        r->independence.entropy);
}

/* "logistic 0.512 (0.498), forest ...": the classifiers that were asked, about means (and draws). */
static void list_accuracies(char *out, size_t size, const comp__classifier_score *means,
                            const comp__classifier_score *draws) {
  size_t used = 0;
  for (size_t k = 0; k < COMP_CLASSIFIER_KINDS && used < size; k++)
    if (means[k].done)
      used +=
          (size_t)snprintf(out + used, size - used, "%s%s %.3f (%.3f)", used ? ", " : "",
                           comp_classifier_kind_name((comp_classifier_kind)k), means[k].balanced, draws[k].balanced);
}

static void judge_prediction(comp__examiner *j) {
  const comp__results *r = j->r;
  const comp__prediction_check *best =
      r->condition_draws.gain > r->condition_means.gain ? &r->condition_draws : &r->condition_means;
  const char *measure = "gain of the best classifier over chance";
  if (!best->done) {
    comp__examiner_add(j, COMP__ASKS_INDEPENDENT, "prediction", COMP_FINDING_NOTE, NAN, measure, "Use more samples.",
                       "Too few samples: fewer than two conditions have 10.");
    return;
  }
  comp_finding_level level = weigh(j, best->gain, GAIN_CAUTION, GAIN_PROBLEM, best->deviation, best->p, best->least_p);
  char accuracies[128] = "";
  list_accuracies(accuracies, sizeof accuracies, r->condition_means.scores, r->condition_draws.scores);
  comp__examiner_add(
      j, COMP__ASKS_INDEPENDENT, "prediction", level, best->gain, measure, weighed_advice(level),
      "%sBalanced accuracy of the condition from means of z (from draws): %s; chance %.3f. Gain of the best %.2g (0: "
      "chance, 1: always right); chance alone makes about %.2g (p %.2g)%s.",
      level == COMP_FINDING_NOTE ? "Too few samples, it may be chance: " : "", accuracies, 1 / (double)best->n_levels,
      best->gain, best->deviation, best->p,
      level == COMP_FINDING_OK && best->p <= r->options.alpha ? ": more than chance, but little" : "");
}

/* ---- stable ---- */

static void judge_stability(comp__examiner *j) {
  const comp__stability *s = &j->r->stability;
  const char *advice = "Train with other seeds (comp train --seed) and give all models with -m.";
  if (!j->r->stable) {
    comp__examiner_add(j, COMP__ASKS_STABLE, "latents", COMP_FINDING_NOTE, NAN, "smallest R2", advice,
                       "One model was given: it is not known whether another seed gives the same.");
    comp__examiner_add(j, COMP__ASKS_STABLE, "counterfactuals", COMP_FINDING_NOTE, NAN, "smallest agreement", advice,
                       "One model was given.");
    comp__examiner_add(j, COMP__ASKS_STABLE, "single-samples", COMP_FINDING_NOTE, NAN, "smallest correlation", advice,
                       "One model was given.");
    return;
  }
  const comp__settings *other = &j->r->settings;
  if (other->models)
    comp__examiner_add(
        j, COMP__ASKS_STABLE, "settings", COMP_FINDING_CAUTION, (double)other->differences,
        "settings in which models differ", "Give models that differ in their --seed only.",
        "%zu of the %zu models %s trained with other settings than the first, not only another seed: %s. Differences "
        "below may come from that.",
        other->models, s->models, other->models == 1 ? "was" : "were", other->text);
  comp_finding_level level = comp__level_down_from(s->least_r2, R2_CAUTION, R2_PROBLEM);
  comp__examiner_add(j, COMP__ASKS_STABLE, "latents", level, s->least_r2, "smallest R2 of a linear map between latents",
                     level == COMP_FINDING_OK ? "" : "Train longer, use more data, or a smaller --latent.",
                     "Over %zu models, the smallest R2 of their z is %.3f, the smallest CKA %.3f.", s->models,
                     s->least_r2, s->least_cka);
  const comp__change *worst = NULL;
  for (size_t k = 0; k < s->n_changes; k++)
    if (!worst || s->changes[k].agreement < worst->agreement) worst = &s->changes[k];
  if (!worst) {
    comp__examiner_add(j, COMP__ASKS_STABLE, "counterfactuals", COMP_FINDING_NOTE, NAN, "smallest agreement", "",
                       "No label has samples whose condition could be changed.");
    comp__examiner_add(j, COMP__ASKS_STABLE, "single-samples", COMP_FINDING_NOTE, NAN, "smallest correlation", "",
                       "No label has samples whose condition could be changed.");
    return;
  }
  level = comp__level_down_from(worst->agreement, AGREEMENT_CAUTION, AGREEMENT_PROBLEM);
  comp__names genes = {0};
  for (size_t g = 0; g < 5 && g < comp_model_feature_count(j->r->model); g++)
    comp__names_add_number(&genes, comp_model_feature_name(j->r->model, s->gene_order[g]), "%.2g",
                           s->gene_spread[s->gene_order[g]]);
  comp__examiner_add(
      j, COMP__ASKS_STABLE, "counterfactuals", level, worst->agreement,
      "smallest correlation of a predicted change between two models",
      level == COMP_FINDING_OK ? ""
                               : "Compare the losses of the seeds (comp train --log): leave out one that is "
                                 "worse. Where they are alike, do not rely on what differs.",
      "Predicted changes agree least for %s to %s: r %.3f over features, between two models (%zu sample%s). Least "
      "stable features (standard deviation over models): %s.",
      label_name(j, worst->label), comp_model_level_name(j->r->model, worst->to), worst->agreement, worst->samples,
      comp__plural(worst->samples), comp__names_finish(&genes));
  const comp__change *odd = NULL;
  for (size_t k = 0; k < s->n_changes; k++)
    if (isfinite(s->changes[k].single) && (!odd || s->changes[k].single < odd->single)) odd = &s->changes[k];
  if (!odd) {
    comp__examiner_add(j, COMP__ASKS_STABLE, "single-samples", COMP_FINDING_NOTE, NAN, "smallest correlation",
                       "Use more samples.", "Too few samples: no label has several to compare.");
    return;
  }
  level = comp__level_down_from(odd->single, SINGLE_CAUTION, SINGLE_PROBLEM);
  comp__examiner_add(
      j, COMP__ASKS_STABLE, "single-samples", level, odd->single,
      "smallest correlation of predictions of single samples between models",
      level == COMP_FINDING_OK ? "" : "Use averages over samples; do not rely on predictions of single samples.",
      "Models agree least on single samples (beside the mean of their label) for %s to %s: r %.3f, between models %zu "
      "and "
      "%zu of those given.",
      label_name(j, odd->label), comp_model_level_name(j->r->model, odd->to), odd->single, odd->odd[0] + 1,
      odd->odd[1] + 1);
}

/* ---- beyond ---- */

static void say_limits(comp__examiner *j) {
  const comp__results *r = j->r;
  if (r->missing)
    comp__examiner_add(
        j, COMP__ASKS_BEYOND, "features", COMP_FINDING_CAUTION, (double)r->missing / (double)r->features,
        "share of the model's features that the data lacks", "Diagnose with the data that the model was trained on.",
        "%zu of the model's %zu features %s not in the data and filled with their training mean. All findings above "
        "are "
        "about the model with such data.",
        r->missing, r->features, r->missing == 1 ? "is" : "are");
  comp__examiner_add(j, COMP__ASKS_BEYOND, "truth", COMP_FINDING_NOTE, NAN, "",
                     "Validate a few predictions by measurements.",
                     "No check can show that a prediction is right: no sample was measured in two conditions.");
  comp__examiner_add(j, COMP__ASKS_BEYOND, "linearity", COMP_FINDING_NOTE, NAN, "", "",
                     "The theorem on identifiability is about linear decoders; this decoder is a network.");
  comp__examiner_add(
      j, COMP__ASKS_BEYOND, "design", COMP_FINDING_NOTE, NAN, "", "",
      "No check can show that conditions were given at random. A difference in who was sampled is removed as if the "
      "condition had caused it.");
}

/* ---- advice ---- */

/* The worst level among the findings with this advice; OK when there are none. */
static comp_finding_level advised(const comp__examiner *j, const char *advice) {
  comp_finding_level worst = COMP_FINDING_OK;
  for (size_t i = 0; i < j->out->count; i++) {
    const comp_finding *f = &j->out->items[i];
    if (strcmp(f->advice, advice) == 0 && f->level > worst) worst = f->level;
  }
  return worst;
}

/* Whether models of other seeds disagree. */
static bool seeds_disagree(const comp__examiner *j) {
  for (size_t i = 0; i < j->out->count; i++) {
    const comp_finding *f = &j->out->items[i];
    if (strcmp(f->question, comp__question(COMP__ASKS_STABLE)) == 0 && strcmp(f->id, "settings") != 0 &&
        f->level >= COMP_FINDING_CAUTION)
      return true;
  }
  return false;
}

/*
 * The share of H(c) that the labels alone hold, I(label; c) / H(c): where conditions differ in their composition, z
 * shows the condition by as much unless labels are merged, and no weight of the penalty changes that. 0: no labels.
 */
static double composition(const comp__examiner *j) {
  const comp__fates *f = &j->r->fates;
  const size_t conditions = j->r->conditions;
  double total = 0, joint = 0, entropy = 0;
  for (size_t d = 0; d < f->n_labels; d++)
    for (size_t k = 0; k < conditions; k++) total += (double)f->labels[d].counts[k];
  for (size_t k = 0; k < conditions; k++) {
    double share = 0;
    for (size_t d = 0; d < f->n_labels; d++) share += (double)f->labels[d].counts[k] / total;
    if (share > 0) entropy -= share * log(share);
    for (size_t d = 0; d < f->n_labels && share > 0; d++) {
      double here = (double)f->labels[d].counts[k] / total, label = 0;
      for (size_t e = 0; e < conditions; e++) label += (double)f->labels[d].counts[e] / total;
      if (here > 0) joint += here * log(here / (label * share));
    }
  }
  return total > 0 && entropy > 0 ? joint / entropy : 0;
}

/* What to do about a finding whose advice is COMP__MORE_PENALTY (`more`) or COMP__LESS_PENALTY, given all others; NULL:
 * just that.
 */
static const char *reconciled(const comp__examiner *j, bool more) {
  comp_finding_level dependent = advised(j, COMP__MORE_PENALTY), lost = advised(j, COMP__LESS_PENALTY);
  if (advised(j, COMP__NO_FIT) != COMP_FINDING_OK) return "Improve the fit first: see explains-nothing.";
  if (!comp__examiner_penalised(j))
    return more ? "This model has no penalty: train with --model comp and a --gamma."
           : dependent != COMP_FINDING_OK
               ? "This model has no penalty, and conditions are not mixed. Train with one (--model comp): labels may "
                 "then align."
               : "This model has no penalty, so gamma is not the cause. Train longer, with a smaller --beta.";
  if (dependent != COMP_FINDING_OK && composition(j) >= INFORMATION_CAUTION)
    return lost != COMP_FINDING_OK
               ? "Conditions differ in their labels, so z shows the condition unless labels are merged. Lower --gamma "
                 "first, and judge the mixing within labels (comp score: m_kbet)."
           : more ? "Conditions differ in their labels, so z shows the condition unless labels are merged. Raise "
                    "--gamma only if samples are not mixed within labels (comp score: m_kbet)."
                  : NULL;
  if (dependent == COMP_FINDING_OK || lost == COMP_FINDING_OK) return NULL;
  if (dependent == lost)
    return "The condition can be predicted from z, and more than the condition is lost. One model does not show which "
           "gamma is better. Train with a tenth of this --gamma and with three times as much, and diagnose both.";
  if (more && lost > dependent)
    return "First reduce what is lost, which is worse (below); then train longer, with larger batches.";
  if (!more && dependent > lost)
    return "First make z independent of the condition, which is worse (above); then use a smaller --beta.";
  return NULL;
}

/* Findings are judged one by one; what to do about them must not contradict itself. */
static void reconcile(comp__examiner *j) {
  const char *more = reconciled(j, true), *less = reconciled(j, false);
  const char *symmetry = !j->r->stable ? NULL
                         : seeds_disagree(j)
                             ? "The seeds disagree below, as they do when there is a second solution. Do not rely on "
                               "what differs between them."
                             : "The seeds agree, which does not rule out a second solution (docs/theory.md). Validate "
                               "single samples by a measurement.";
  const struct {
    const char *from, *to;
  } changes[] = {{COMP__MORE_PENALTY, more}, {COMP__LESS_PENALTY, less}, {SYMMETRY, symmetry}};
  for (size_t i = 0; i < j->out->count && j->status == COMP_OK; i++)
    for (size_t k = 0; k < sizeof changes / sizeof *changes && j->status == COMP_OK; k++)
      if (changes[k].to && strcmp(j->out->items[i].advice, changes[k].from) == 0) {
        j->status = comp__findings_advise(j->out, i, changes[k].to);
        break;
      }
}

comp_status comp__judge_model(comp__findings *out, const comp__results *results) {
  comp__examiner j = {out, results, COMP_OK};
  judge_normality(&j);
  judge_components(&j);
  judge_symmetry(&j);
  judge_divergence(&j);
  judge_information(&j);
  judge_prediction(&j);
  judge_stability(&j);
  comp__judge_kept(&j);
  say_limits(&j);
  if (j.status == COMP_OK) reconcile(&j);
  return j.status;
}
