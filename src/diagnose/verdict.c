/*
 * verdict.c: from numbers to pass, look and fail. All limits are here, in one place; docs/theory.md lists them. They
 * are conventions, tried on Kang alone: gamma 0 fails independence, gamma 1,000 is flagged as over-corrected.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "diagnose/results.h"

#define DEPENDENCE_LOOK 0.2 /* |correlation| of the squares of two components */
/* Share of H(c) that z surely holds, and gain of the best classifier over chance. */
#define INFORMATION_LOOK 0.1
#define INFORMATION_FAIL 0.3
#define GAIN_LOOK        0.2
#define GAIN_FAIL        0.5
/* Divergence beyond that of shuffled conditions, in nats. */
#define DIVERGENCE_LOOK 0.5
#define DIVERGENCE_FAIL 2.0
/* Between models. */
#define R2_LOOK        0.8
#define R2_FAIL        0.5
#define AGREEMENT_LOOK 0.95
#define AGREEMENT_FAIL 0.8
#define SINGLE_LOOK    0.9
#define SINGLE_FAIL    0.7
/* Of labels. */
#define SAME_LOOK   0.5 /* of the neighbours in other conditions, share of the own label */
#define SAME_FAIL   0.25
#define MIXING_LOOK 0.5 /* a label of one condition among samples of others */
#define MIXING_FAIL 0.9
#define LOST_LOOK   0.1 /* share of what was known of the label, or of the explained variance, that is gone */
#define LOST_FAIL   0.3

const char *comp_verdict_name(comp_verdict verdict) {
  static const char *const names[] = {"pass", "look", "fail", "not checked"};
  return names[verdict];
}

const char *comp_question_text(comp_question question) {
  static const char *const texts[] = {"Are counterfactuals identifiable?", "Is z independent of the condition?",
                                      "Do other seeds agree?", "Is anything lost but the condition?",
                                      "What no check can tell"};
  return texts[question];
}

typedef struct judge {
  comp_diagnosis *out;
  const comp__results *r;
  comp_status status;
} judge;

/* Adds a finding; `text` is the reason, with its arguments. After a failure nothing more is added. */
static void find(judge *j, comp_question question, const char *check, comp_verdict verdict, double value,
                 const char *measure, const char *advice, const char *text, ...) COMP_PRINTF(8, 9);
static void find(judge *j, comp_question question, const char *check, comp_verdict verdict, double value,
                 const char *measure, const char *advice, const char *text, ...) {
  if (j->status != COMP_OK) return;
  char reason[2048];
  va_list arguments;
  va_start(arguments, text);
  vsnprintf(reason, sizeof reason, text, arguments);
  va_end(arguments);
  comp_diagnosis *d = j->out;
  char *copy = NULL;
  j->status = comp__grow(&d->findings, &d->capacity, d->count, d->count + 1, sizeof *d->findings);
  if (j->status == COMP_OK) j->status = comp__strdup(&copy, reason);
  if (j->status != COMP_OK) return;
  d->findings[d->count++] = (comp_finding){question, check, verdict, value, measure, copy, advice};
  if (verdict != COMP_VERDICT_NOT_CHECKED && verdict > d->worst) d->worst = verdict;
}

/* Large values are bad. */
static comp_verdict above(double value, double look, double fail) {
  return value >= fail ? COMP_VERDICT_FAIL : value >= look ? COMP_VERDICT_LOOK : COMP_VERDICT_PASS;
}

/* Small values are bad. */
static comp_verdict below(double value, double look, double fail) {
  return above(-value, -look, -fail);
}

static const char *label_name(const judge *j, size_t label) {
  return j->r->labels.n_levels ? j->r->labels.levels[label] : "all samples";
}

/* ---- identifiable ---- */

static void judge_normality(judge *j) {
  const comp__identify *i = &j->r->identify;
  const char *measure = "smallest p of all tests, adjusted";
  if (i->active == 0) {
    find(j, COMP_QUESTION_IDENTIFIABLE, "normality", COMP_VERDICT_FAIL, NAN, measure,
         "train with a smaller beta, or more epochs",
         "none of the %zu dimensions of z carries more signal than the noise of the posteriors: the model has learned "
         "nothing from the data",
         i->dims);
    return;
  }
  double alpha = j->r->options.alpha;
  if (i->least_p > alpha) {
    find(j, COMP_QUESTION_IDENTIFIABLE, "normality", COMP_VERDICT_FAIL, i->least_p, measure,
         "do not rely on counterfactuals of single samples; more data may show a structure, another latent size may "
         "find it",
         "z cannot be told from a normal distribution (%zu samples, %zu of %zu dimensions in use). Of a normal z any "
         "rotation fits the data as well and gives other counterfactuals",
         i->rows, i->active, i->dims);
    return;
  }
  find(j, COMP_QUESTION_IDENTIFIABLE, "normality", COMP_VERDICT_PASS, i->least_p, measure, "",
       "z is not normal: of %zu coordinates and projections Anderson-Darling rejects %zu, Lilliefors %zu, "
       "Shapiro-Wilk %zu; largest skewness %.2g, excess kurtosis %.2g (%zu of %zu dimensions in use)",
       i->coordinates + i->projections, i->rejected[0], i->rejected[1], i->rejected[2], i->largest_skewness,
       i->largest_kurtosis, i->active, i->dims);
}

static void judge_components(judge *j) {
  const comp__identify *i = &j->r->identify;
  const comp__components *c = &i->components;
  const char *measure = "independent components that may be normal";
  if (!i->has_components) {
    find(j, COMP_QUESTION_IDENTIFIABLE, "components", COMP_VERDICT_NOT_CHECKED, NAN, measure,
         i->active < 2 ? "" : "more samples",
         i->active < 2 ? "with one dimension in use there is nothing to rotate"
                       : "there are too few samples for independent components");
    return;
  }
  comp_verdict verdict = COMP_VERDICT_PASS;
  if (c->normal > 1 || c->dependence > DEPENDENCE_LOOK) verdict = COMP_VERDICT_LOOK;
  if (c->normal > 1 && 2 * c->normal >= c->count) verdict = COMP_VERDICT_FAIL;
  char more[160] = "";
  if (c->dependence > DEPENDENCE_LOOK)
    snprintf(more, sizeof more,
             "; they are not independent (correlation of two squares %.2f), as the theorem wants them", c->dependence);
  find(j, COMP_QUESTION_IDENTIFIABLE, "components", verdict, (double)c->normal, measure,
       verdict == COMP_VERDICT_PASS ? ""
                                    : "fewer latent dimensions, or more data; trust averages more than single samples",
       "%zu of %zu independent components may be normal%s%s%s", c->normal, c->count,
       c->normal < 2 ? " (the theorem allows one)" : ": rotations among them change counterfactuals and not the fit",
       c->converged ? "" : " (the search for components did not converge)", more);
}

static void judge_symmetry(judge *j) {
  const comp__identify *i = &j->r->identify;
  const comp__components *c = &i->components;
  double alpha = j->r->options.alpha;
  if (i->active == 0) return;
  bool rotated = i->rotation.p > alpha, mirrored = i->mirror.p > alpha;
  bool parts = i->has_components && (c->mirrored > 0 || c->alike > 0);
  comp_verdict verdict = rotated ? COMP_VERDICT_FAIL : mirrored || parts ? COMP_VERDICT_LOOK : COMP_VERDICT_PASS;
  char more[160] = "";
  if (parts)
    snprintf(more, sizeof more, "; of %zu components %zu may equal their mirror image, and %zu pairs each other",
             c->count, c->mirrored, c->alike);
  find(j, COMP_QUESTION_IDENTIFIABLE, "symmetry", verdict, fmax(i->rotation.p, i->mirror.p),
       "larger p of the two tests",
       verdict == COMP_VERDICT_PASS ? ""
                                    : "compare several seeds (-m more than once): a symmetry shows as seeds that "
                                      "disagree",
       "z %s its mirror image (p %.3g) and %s a rotation of itself (p %.3g)%s",
       mirrored ? "may be distributed like" : "differs from", i->mirror.p,
       rotated ? "may be distributed like" : "differs from", i->rotation.p, more);
}

/* ---- independent ---- */

static const char *more_penalty(const judge *j, comp_verdict verdict) {
  const comp_model_options *o = comp_model_get_options(j->r->model);
  if (verdict == COMP_VERDICT_PASS) return "";
  if (o->penalty == COMP_PENALTY_NONE || o->gamma == 0)
    return "this model has no penalty: train with --model comp and a gamma";
  return "raise gamma, or set --kl-target; train longer, with larger batches";
}

static void judge_divergence(judge *j) {
  const comp__results *r = j->r;
  const comp__null *n = &r->null;
  comp_verdict verdict = above(n->excess, DIVERGENCE_LOOK, DIVERGENCE_FAIL);
  if (n->p > r->options.alpha) verdict = COMP_VERDICT_PASS;
  find(j, COMP_QUESTION_INDEPENDENT, "divergence", verdict, n->excess, "KL beyond that of shuffled conditions, nats",
       more_penalty(j, verdict),
       "sum of p(c) KL[q(z | c) || q(z | not c)]: %.3g nats beyond shuffled conditions (p %.2g). All posteriors as "
       "mixture: at most %.3g +- %.1g; the training bound at a batch of %zu: %.3g",
       n->excess, n->p, r->independence.kl.value, r->independence.kl.error, r->batch, r->bound.value);
}

static void judge_information(judge *j) {
  const comp__results *r = j->r;
  double share = r->information.value / r->independence.entropy;
  comp_verdict verdict = above(share, INFORMATION_LOOK, INFORMATION_FAIL);
  find(j, COMP_QUESTION_INDEPENDENT, "information", verdict, share, "share of H(c) that z surely holds",
       more_penalty(j, verdict), "I(z; c) is at least %.3g +- %.1g and at most %.3g of the %.3g nats of the condition",
       r->information.value, r->information.error,
       fmax(r->information.value, fmin(r->independence.information.value, r->independence.entropy)),
       r->independence.entropy);
}

static void judge_prediction(judge *j) {
  const comp__results *r = j->r;
  const comp__prediction_check *best =
      r->condition_draws.gain > r->condition_means.gain ? &r->condition_draws : &r->condition_means;
  const char *measure = "gain of the best classifier over chance";
  if (!best->done) {
    find(j, COMP_QUESTION_INDEPENDENT, "prediction", COMP_VERDICT_NOT_CHECKED, NAN, measure, "more samples",
         "fewer than two conditions have 10 samples");
    return;
  }
  comp_verdict verdict = above(best->gain, GAIN_LOOK, GAIN_FAIL);
  if (best->p > r->options.alpha) verdict = COMP_VERDICT_PASS;
  const comp__score *m = r->condition_means.scores, *d = r->condition_draws.scores;
  find(j, COMP_QUESTION_INDEPENDENT, "prediction", verdict, best->gain, measure, more_penalty(j, verdict),
       "balanced accuracy of the condition from means (from draws): logistic %.3f (%.3f), forest %.3f (%.3f), boosted "
       "%.3f (%.3f); chance %.3f, p %.2g",
       m[0].balanced, d[0].balanced, m[1].balanced, d[1].balanced, m[2].balanced, d[2].balanced,
       1 / (double)best->n_levels, best->p);
}

/* ---- stable ---- */

static void judge_stability(judge *j) {
  const comp__stability *s = &j->r->stability;
  const char *advice = "train with other seeds (comp train --seed) and give all models with -m";
  if (!j->r->stable) {
    find(j, COMP_QUESTION_STABLE, "latents", COMP_VERDICT_NOT_CHECKED, NAN, "smallest R2", advice,
         "one model was given: whether another seed gives the same is not known");
    find(j, COMP_QUESTION_STABLE, "counterfactuals", COMP_VERDICT_NOT_CHECKED, NAN, "smallest agreement", advice,
         "one model was given");
    find(j, COMP_QUESTION_STABLE, "single samples", COMP_VERDICT_NOT_CHECKED, NAN, "smallest correlation", advice,
         "one model was given");
    return;
  }
  comp_verdict verdict = below(s->least_r2, R2_LOOK, R2_FAIL);
  find(j, COMP_QUESTION_STABLE, "latents", verdict, s->least_r2, "smallest R2 of a linear map between latents",
       verdict == COMP_VERDICT_PASS ? "" : "longer training, more data, or fewer latent dimensions",
       "over %zu models: smallest R2 %.3f, smallest CKA %.3f", s->models, s->least_r2, s->least_cka);
  const comp__change *worst = NULL;
  for (size_t k = 0; k < s->n_changes; k++)
    if (!worst || s->changes[k].agreement < worst->agreement) worst = &s->changes[k];
  if (!worst) return;
  verdict = below(worst->agreement, AGREEMENT_LOOK, AGREEMENT_FAIL);
  char genes[512] = "";
  size_t used = 0;
  for (size_t g = 0; g < 5 && g < comp_model_features(j->r->model) && used < sizeof genes; g++)
    used += (size_t)snprintf(genes + used, sizeof genes - used, "%s%s (%.2g)", g ? ", " : "",
                             comp_model_feature(j->r->model, s->gene_order[g]), s->gene_spread[s->gene_order[g]]);
  find(j, COMP_QUESTION_STABLE, "counterfactuals", verdict, worst->agreement,
       "smallest mean correlation of a predicted change between models",
       verdict == COMP_VERDICT_PASS ? ""
                                    : "compare the objectives of the seeds (comp train --log): one that is worse is "
                                      "stuck; where they are alike, do not rely on "
                                      "what differs",
       "predicted changes agree least for %s to %s: r %.3f over features (%zu samples). Least stable features "
       "(standard deviation over models): %s",
       label_name(j, worst->label), comp_model_level(j->r->model, worst->to), worst->agreement, worst->samples, genes);
  const comp__change *odd = NULL;
  for (size_t k = 0; k < s->n_changes; k++)
    if (isfinite(s->changes[k].single) && (!odd || s->changes[k].single < odd->single)) odd = &s->changes[k];
  if (!odd) return;
  verdict = below(odd->single, SINGLE_LOOK, SINGLE_FAIL);
  find(j, COMP_QUESTION_STABLE, "single samples", verdict, odd->single,
       "smallest correlation of predictions of single samples between models",
       verdict == COMP_VERDICT_PASS ? ""
                                    : "use averages over samples; do not rely on counterfactuals of single samples",
       "within a label, predictions of single samples agree least for %s to %s: r %.3f over samples and features less "
       "their means",
       label_name(j, odd->label), comp_model_level(j->r->model, odd->to), odd->single);
}

/* ---- kept ---- */

/* Appends "name (number)" to a list that is cut when it is full. */
static void append(char *list, size_t size, const char *name, double number) {
  size_t used = strlen(list);
  snprintf(list + used, size - used, "%s%s (%.2f)", used ? ", " : "", name, number);
}

static void judge_shared(judge *j) {
  const comp__fates *f = &j->r->fates;
  char list[600] = "";
  double worst = 0;
  size_t count = 0;
  for (size_t d = 0; d < f->n_labels; d++) {
    if (f->labels[d].in > 1 || f->labels[d].looked_at == 0) continue;
    count++;
    worst = fmax(worst, f->labels[d].mixing);
    append(list, sizeof list, j->r->labels.levels[d], f->labels[d].mixing);
  }
  comp_verdict verdict = count == 0 ? COMP_VERDICT_PASS : above(worst, MIXING_LOOK, MIXING_FAIL);
  if (count == 0)
    find(j, COMP_QUESTION_KEPT, "shared labels", verdict, 0, "largest mixing of a label of one condition", "",
         "every label has samples in several conditions");
  else
    find(j, COMP_QUESTION_KEPT, "shared labels", verdict, worst, "largest mixing of a label of one condition",
         verdict == COMP_VERDICT_PASS ? ""
                                      : "lower gamma or set --kl-target; do not read counterfactuals of these labels",
         "%zu label%s in one condition only (single samples aside); their mixing with samples of other conditions (0: "
         "apart, 1: laid over "
         "others): %s",
         count, count == 1 ? " is" : "s are", list);
}

static void judge_neighbours(judge *j) {
  const comp__fates *f = &j->r->fates;
  char list[600] = "";
  double worst = NAN;
  comp_verdict verdict = COMP_VERDICT_PASS;
  for (size_t d = 0; d < f->n_labels; d++) {
    const comp__label_fate *l = &f->labels[d];
    if (l->in < 2 || !isfinite(l->same)) continue;
    worst = isnan(worst) ? l->same : fmin(worst, l->same);
    if (l->same > SAME_LOOK || l->mostly == d) continue;
    comp_verdict here = l->same <= SAME_FAIL ? COMP_VERDICT_FAIL : COMP_VERDICT_LOOK;
    if (here > verdict) verdict = here;
    char name[300];
    snprintf(name, sizeof name, "%s, mostly %s", j->r->labels.levels[d], j->r->labels.levels[l->mostly]);
    append(list, sizeof list, name, l->same);
  }
  if (isnan(worst))
    find(j, COMP_QUESTION_KEPT, "neighbours", COMP_VERDICT_NOT_CHECKED, NAN, "smallest share of the own label", "",
         "no label has samples in two conditions");
  else if (!list[0])
    find(j, COMP_QUESTION_KEPT, "neighbours", verdict, worst, "smallest share of the own label", "",
         "neighbours in other conditions are mostly of the own label, for every label");
  else
    find(j, COMP_QUESTION_KEPT, "neighbours", verdict, worst, "smallest share of the own label",
         "lower gamma or set --kl-target; a smaller beta",
         "labels whose nearest samples in other conditions are mostly of another label (share of the own): %s", list);
}

static void judge_label(judge *j) {
  const comp__prediction_check *before = &j->r->label_before, *after = &j->r->label_after;
  const char *measure = "share of what predicts the label that is lost";
  if (!before->done || !after->done) {
    find(j, COMP_QUESTION_KEPT, "label", COMP_VERDICT_NOT_CHECKED, NAN, measure, "more samples",
         "fewer than two labels have 10 samples");
    return;
  }
  double lost = before->gain > 0 ? fmax(0, 1 - after->gain / before->gain) : 0;
  comp_verdict verdict = above(lost, LOST_LOOK, LOST_FAIL);
  find(j, COMP_QUESTION_KEPT, "label", verdict, lost, measure,
       verdict == COMP_VERDICT_PASS ? "" : "lower gamma or set --kl-target; a smaller beta, more latent dimensions",
       "balanced accuracy of the label by logistic regression: %.3f from principal components of the data, %.3f from z",
       before->scores[before->best].balanced, after->scores[after->best].balanced);
}

static void judge_labels(judge *j) {
  if (j->r->labels.n_levels) {
    judge_shared(j);
    judge_neighbours(j);
    judge_label(j);
    return;
  }
  find(j, COMP_QUESTION_KEPT, "labels", COMP_VERDICT_NOT_CHECKED, NAN, "",
       "give a column of what must not be lost, such as the cell type: --label",
       "without labels nobody can tell whether different kinds of samples were laid over each other");
}

static void judge_reconstruction(judge *j) {
  const comp__results *r = j->r;
  const char *measure = "share of the explained variance that is lost";
  if (isnan(r->reconstruction_against)) {
    find(j, COMP_QUESTION_KEPT, "reconstruction", COMP_VERDICT_NOT_CHECKED, NAN, measure,
         "train with --gamma 0 and give that model with --against",
         "the model explains %.3f of the variance of the data; how much it would without the penalty is not known",
         r->reconstruction);
    return;
  }
  double lost = r->reconstruction_against > 0 ? fmax(0, 1 - r->reconstruction / r->reconstruction_against) : 0;
  comp_verdict verdict = above(lost, LOST_LOOK, LOST_FAIL);
  find(j, COMP_QUESTION_KEPT, "reconstruction", verdict, lost, measure,
       verdict == COMP_VERDICT_PASS ? "" : "lower gamma or set --kl-target",
       "explained variance of the data: %.3f, without the penalty %.3f", r->reconstruction, r->reconstruction_against);
}

/* ---- beyond ---- */

static void say_limits(judge *j) {
  find(j, COMP_QUESTION_BEYOND, "truth", COMP_VERDICT_NOT_CHECKED, NAN, "", "validate on measurements of a few cases",
       "whether a counterfactual is right: no sample was measured under two conditions, and passing every check is no "
       "proof of it");
  find(j, COMP_QUESTION_BEYOND, "linearity", COMP_VERDICT_NOT_CHECKED, NAN, "", "",
       "the theorem on identifiability is about linear decoders; this decoder is a network");
  find(j, COMP_QUESTION_BEYOND, "design", COMP_VERDICT_NOT_CHECKED, NAN, "", "",
       "whether conditions were given at random: a difference between who was sampled in them, not caused by them, is "
       "taken out as if they had caused it");
}

comp_status comp__judge(comp_diagnosis *out, const comp__results *results) {
  judge j = {out, results, COMP_OK};
  judge_normality(&j);
  judge_components(&j);
  judge_symmetry(&j);
  judge_divergence(&j);
  judge_information(&j);
  judge_prediction(&j);
  judge_stability(&j);
  judge_labels(&j);
  judge_reconstruction(&j);
  say_limits(&j);
  return j.status;
}
