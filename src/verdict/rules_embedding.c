/* rules_embedding.c: are conditions mixed, and were labels mixed with them (over-correction)? */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verdict/json.h"
#include "verdict/rules.h"

/* The local silhouette of the condition above 0, and in the middle of a label. */
static const double S_CAUTION = 0.05, S_PROBLEM = 0.2;
/* Where neighbours are not known label by label: how much lower cLISI is, and the share of NMI that is gone. */
static const double CLISI_CAUTION = 0.1, CLISI_PROBLEM = 0.3, NMI_CAUTION = 0.2, NMI_PROBLEM = 0.5;
/* Labels with fewer samples are not judged one by one; with fewer than the second number they are no problem, but need
 * caution. */
enum { LEAST_OF_LABEL = 10, SMALL_LABEL = 50 };
/* How much lower the share of all samples is whose neighbours mostly have their label. */
static const double SHARE_CAUTION = 0.05, SHARE_PROBLEM = 0.15;
/* In a label that was separate before, most samples had neighbours of it. */
static const double SEPARATE = 0.5;

static double score(const comp__judge *j, const char *metric, const char *embedding) {
  return comp__scores_find(&j->evidence->scores, metric, embedding);
}

/* The same before; NaN when nothing is known of it. */
static double score_before(const comp__judge *j, const char *metric) {
  const char *before = comp__evidence_before(j->evidence);
  return before ? score(j, metric, before) : NAN;
}

/* ---- Mixing ---------------------------------------------------------------------------------------------------- */

bool comp__is_within_labels(const comp__judge *j, double *gap) {
  comp__cross labels;
  *gap = comp__design_label(&labels, NULL, j->evidence) ? comp__cross_guess(&labels).gap : NAN;
  return *gap > 0.1 && !isnan(score(j, "m_kbet", comp__evidence_embedding(j->evidence)));
}

static const char MORE_SAMPLES[] = "Add samples before you rely on it.";

/* Appends to a text of `used` characters; returns its length. */
COMP_PRINTF(4, 5) static size_t append(char *out, size_t size, size_t used, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(out + used, size - used, format, arguments);
  va_end(arguments);
  return length < 0 || used + (size_t)length >= size ? size - 1 : used + (size_t)length;
}

/* What is known of kBET besides its value; NaN: not known. */
typedef struct about_kbet {
  comp__interval interval;
  double chance, before;
} about_kbet;

/* " (95 % interval 0.080 to 0.130; perfect mixing: 0.080; before: 0.930)": what is known. */
static size_t put_about(char *out, size_t size, size_t used, const about_kbet *a) {
  const char *mark = " (";
  if (!isnan(a->interval.low) && !isnan(a->interval.high)) {
    used = append(out, size, used, "%s95 %% interval %.3f to %.3f", mark, a->interval.low, a->interval.high);
    mark = "; ";
  }
  if (!isnan(a->chance)) {
    used = append(out, size, used, "%sperfect mixing: %.3f", mark, a->chance);
    mark = "; ";
  }
  if (!isnan(a->before)) {
    used = append(out, size, used, "%sbefore: %.3f", mark, a->before);
    mark = "; ";
  }
  return *mark == ';' ? append(out, size, used, ")") : used;
}

/* Whether mixing is clearly less than perfect: by more than half of what chance makes, and more than is unsure. */
static bool is_above_chance(const about_kbet *a) {
  return a->interval.low > 1.5 * a->chance; /* never where one is not known */
}

/* "kBET 0.100 (...), local silhouette 0.010": those that are known; and what is best where perfect mixing is not. */
static void put_measures(char *out, size_t size, const char *kbet_name, double kbet, const about_kbet *about,
                         const char *s_name, double s) {
  size_t used = 0;
  out[0] = '\0';
  if (!isnan(kbet)) {
    used = append(out, size, used, "%s %.3f", kbet_name, kbet);
    used = put_about(out, size, used, about);
  }
  if (!isnan(s)) used = append(out, size, used, "%s%s %.3f", used ? ", " : "", s_name, s);
  if (isnan(kbet) || isnan(about->chance)) append(out, size, used, "; 0 is best");
}

/* Whether each label is in every condition; false where that is not known. */
static bool all_are_shared(const comp__evidence *e) {
  comp__cross labels;
  if (!comp__design_label(&labels, NULL, e)) return false;
  for (size_t value = 0; value < labels.n_values; value++)
    for (size_t condition = 0; condition < labels.n_conditions; condition++)
      if (comp__cross_count(&labels, value, condition) == 0) return false;
  return labels.n_values > 0;
}

bool comp__could_align_all(const comp__evidence *e) {
  return strcmp(comp__member_text(e->training, "align"), "shared") == 0 && all_are_shared(e);
}

static const char *mix_more(const comp__evidence *e) {
  if (comp__could_align_all(e))
    return "Each label is in every condition: align all samples (--align all). If that is not enough, train longer "
           "(--epochs) or raise --gamma.";
  return "Train longer (--epochs) or raise --gamma.";
}

void comp__rule_mixing(comp__judge *j) {
  const char *embedding = comp__evidence_embedding(j->evidence), *condition = comp__design_condition(j->evidence);
  double gap;
  bool within = comp__is_within_labels(j, &gap);
  const char *kbet_name = within ? "m_kbet" : "kbet", *s_name = within ? "s_label" : "s";
  double kbet = score(j, kbet_name, embedding), s = score(j, s_name, embedding), before = score_before(j, kbet_name);
  if (isnan(kbet) && isnan(s)) {
    comp__find(j, COMP_FINDING_NOTE, "Run comp score, and look at the map.",
               "It is not known whether conditions are mixed: %s.",
               j->evidence->scores.count ? "the scores have neither kBET nor a local silhouette"
                                         : "there are no scores");
    return;
  }
  comp_finding_level by_kbet = comp__level_above(kbet, j->rule->caution, j->rule->problem);
  comp_finding_level by_s = comp__level_above(s, S_CAUTION, S_PROBLEM), level = by_kbet > by_s ? by_kbet : by_s;
  char text[320], name[160] = "";
  if (embedding && strcmp(embedding, "X_comp") == 0) /* of whatever model */
    snprintf(name, sizeof name, " in the embedding");
  else if (embedding)
    snprintf(name, sizeof name, " in %.100s", comp_embedding_title(embedding, NULL));
  const comp__interval of_kbet = comp__scores_interval(&j->evidence->scores, kbet_name, embedding);
  const comp__interval of_s = comp__scores_interval(&j->evidence->scores, s_name, embedding);
  const bool unsure = level == COMP_FINDING_OK && (comp__is_uncertain(j, of_kbet.high, j->rule->caution) ||
                                                   comp__is_uncertain(j, of_s.high, S_CAUTION));
  const about_kbet about = {of_kbet, comp__scores_chance(&j->evidence->scores, kbet_name, embedding), before};
  put_measures(text, sizeof text, comp__score_title(kbet_name, false), kbet, &about, within ? "s~" : "local silhouette",
               s);
  const char *words = unsure                                                ? "mixed"
                      : level == COMP_FINDING_OK && is_above_chance(&about) ? "mixed, though not perfectly,"
                      : level == COMP_FINDING_OK                            ? "well mixed"
                      : level == COMP_FINDING_CAUTION                       ? "partly mixed"
                                                                            : "not mixed";
  const bool confounded = level < COMP_FINDING_PROBLEM && comp__design_is_confounded(j->evidence);
  if (confounded || unsure) level = COMP_FINDING_CAUTION;
  comp__find(
      j, level,
      level == COMP_FINDING_OK ? ""
      : unsure                 ? MORE_SAMPLES
                               : mix_more(j->evidence),
      "%s'%s' is %s%s%s: %s.%s%s", within ? "Within labels, " : "", condition, words, name,
      unsure ? ", but with so few samples this is uncertain" : "", text,
      by_s > by_kbet && !isnan(kbet) ? " The silhouette decides: samples are nearer to their own condition." : "",
      confounded ? " This is no success: each label is in one condition only, so different labels were mixed." : "");
  comp__find_number(j, within ? "m_kbet" : "kbet", kbet);
  comp__find_number(j, "low", of_kbet.low);
  comp__find_number(j, "high", of_kbet.high);
  comp__find_number(j, "chance", about.chance);
  comp__find_number(j, within ? "m_kbet_before" : "kbet_before", before);
  comp__find_number(j, within ? "s_label" : "s", s);
}

void comp__rule_composition(comp__judge *j) {
  double gap, kbet = score(j, "kbet", comp__evidence_embedding(j->evidence));
  if (!comp__is_within_labels(j, &gap) || !(gap > j->rule->caution) || isnan(kbet)) return;
  comp__find(
      j, COMP_FINDING_NOTE, "",
      "The shares of labels differ between conditions by up to %.0f points. So kBET over all samples (%.3f) cannot "
      "be low, and mixing is judged within labels.",
      100 * gap, kbet);
  comp__find_number(j, "gap", gap);
  comp__find_number(j, "kbet", kbet);
}

void comp__rule_silhouette(comp__judge *j) {
  double s = score(j, "s", comp__evidence_embedding(j->evidence));
  if (!(s < -j->rule->caution) || j->evidence->scores.protect) return;
  comp__find(j, COMP_FINDING_CAUTION, "Use a smaller --gamma.",
             "The local silhouette is %.3f, below 0: samples are nearer to other conditions than to their own, more "
             "than mixing alone would do.",
             s);
  comp__find_number(j, "s", s);
}

/* ---- Labels ---------------------------------------------------------------------------------------------------- */

static const char LESS[] =
    "Use a smaller --gamma, or train longer (--epochs). Compare the map by label before and after.";

/* Samples of a label; 0 when that is not known. */
static size_t label_samples(const comp__judge *j, const char *label) {
  comp__cross labels;
  size_t total = 0;
  if (!comp__design_label(&labels, NULL, j->evidence)) return 0;
  for (size_t v = 0; v < labels.n_values; v++)
    for (size_t c = 0; c < labels.n_conditions && strcmp(comp__cross_value(&labels, v), label) == 0; c++)
      total += comp__cross_count(&labels, v, c);
  return total;
}

/* Labels whose neighbourhoods are less pure than they were. */
typedef struct losses {
  comp__listing names;
  const char *labels[64];
  size_t n, swallowed; /* swallowed: most samples now have neighbours of another label */
} losses;

static void add_loss(losses *l, const char *label, double before, double after) {
  if (isnan(before))
    comp__listing_add(&l->names, "%s (%.0f %%)", label, 100 * after);
  else
    comp__listing_add(&l->names, "%s (%.0f %%, before %.0f %%)", label, 100 * after, 100 * before);
  if (l->n < sizeof l->labels / sizeof *l->labels) l->labels[l->n++] = label;
}

/* A difference counts when it is larger than the limit and than chance makes of so few samples. */
static void find_losses(losses *out, const comp__judge *j, const char *embedding, const char *before) {
  const comp__scores *scores = &j->evidence->scores;
  for (size_t i = 0; i < scores->count; i++) {
    const comp__read_score *s = &scores->items[i];
    if (!s->label || !comp__score_is(s, "label_knn") || isnan(s->value)) continue;
    if (embedding && (!s->embedding || strcmp(s->embedding, embedding) != 0)) continue;
    size_t n = label_samples(j, s->label);
    if (n && n < LEAST_OF_LABEL) continue;
    double a = s->value, b = before ? comp__scores_find_label(scores, "label_knn", before, s->label) : NAN;
    double error = n && !isnan(b) ? sqrt((a * (1 - a) + b * (1 - b)) / (double)n) : 0;
    bool lost = isnan(b) ? a < SEPARATE : b >= SEPARATE && b - a > fmax(j->rule->caution, 2 * error);
    if (!lost) continue;
    add_loss(out, s->label, b, a);
    out->swallowed += b - a > j->rule->problem && a < SEPARATE && (n == 0 || n >= SMALL_LABEL);
  }
}

/* Where an attribute is to be hidden, labels that are lost are a price, and no over-correction. */
static const char *loss_words(const comp__judge *j, comp_finding_level level, bool unsure) {
  const bool protect = j->evidence->scores.protect;
  if (unsure)
    return protect ? "Labels are kept, but with so few samples this is uncertain"
                   : "No sign of over-correction, but with so few samples this is uncertain";
  if (level == COMP_FINDING_OK) return protect ? "Labels are kept" : "No sign of over-correction";
  if (level == COMP_FINDING_CAUTION) return protect ? "Some labels were lost" : "Signs of over-correction";
  return protect ? "Labels were lost" : "Over-correction";
}

/* By the neighbours of the samples of each label. */
static void judge_neighbours(comp__judge *j, const char *embedding, double after, double before) {
  losses lost = {0};
  double fell = before - after;
  find_losses(&lost, j, embedding, isnan(before) ? NULL : comp__evidence_before(j->evidence));
  comp_finding_level level = lost.n ? COMP_FINDING_CAUTION : COMP_FINDING_OK, whole = COMP_FINDING_OK;
  if (!isnan(fell)) whole = comp__level_above(fell, SHARE_CAUTION, SHARE_PROBLEM);
  if (lost.swallowed) level = COMP_FINDING_PROBLEM;
  if (whole > level) level = whole;
  /* The interval of the difference, from those of both. */
  const comp__interval now = comp__scores_interval(&j->evidence->scores, "label_knn", embedding);
  const char *earlier_name = comp__evidence_before(j->evidence);
  comp__interval then = {NAN, NAN};
  if (earlier_name) then = comp__scores_interval(&j->evidence->scores, "label_knn", earlier_name);
  const double high = fell + sqrt((after - now.low) * (after - now.low) + (then.high - before) * (then.high - before));
  /* What was not there cannot be lost. */
  if (level == COMP_FINDING_OK && before < SEPARATE && after < SEPARATE) {
    comp__find(j, COMP_FINDING_CAUTION, "Check the column that --label names, and look at the map by label.",
               "It cannot be judged whether labels were lost (over-correction): the neighbours of only %.0f %% of the "
               "samples mostly have their label, and of %.0f %% before.",
               100 * after, 100 * before);
    comp__find_number(j, "label_knn", after);
    comp__find_number(j, "label_knn_before", before);
    return;
  }
  const bool unsure = level == COMP_FINDING_OK && comp__is_uncertain(j, high, SHARE_PROBLEM);
  if (unsure) level = COMP_FINDING_CAUTION;
  char earlier[64] = "", names[4200] = "";
  if (!isnan(before)) snprintf(earlier, sizeof earlier, " (before: %.0f %%)", 100 * before);
  if (lost.n) snprintf(names, sizeof names, " Lost: %s.", comp__listing_text(&lost.names));
  comp__find(j, level,
             level == COMP_FINDING_OK ? ""
             : unsure                 ? MORE_SAMPLES
                                      : LESS,
             "%s: the neighbours of %.0f %% of the samples mostly have their label%s.%s", loss_words(j, level, unsure),
             100 * after, earlier, names);
  comp__find_number(j, "label_knn", after);
  comp__find_number(j, "label_knn_before", before);
  comp__find_number(j, "low", now.low);
  comp__find_number(j, "high", now.high);
  for (size_t i = 0; i < lost.n; i++) comp__find_label(j, lost.labels[i]);
}

/* The NMI of an embedding over all samples, the last in the list, of any clustering or of the named one. */
static const comp__read_score *find_nmi(const comp__judge *j, const char *embedding, const char *name) {
  for (size_t i = j->evidence->scores.count; i-- > 0;) {
    const comp__read_score *s = &j->evidence->scores.items[i];
    bool is_nmi = comp__score_is(s, "nmi_kmeans") || comp__score_is(s, "nmi_leiden");
    if (s->label || !is_nmi || (name && strcmp(s->name, name) != 0)) continue;
    if (embedding && s->embedding && strcmp(s->embedding, embedding) == 0) return s;
  }
  return NULL;
}

/* By cLISI, or by NMI of one way to cluster; false when neither is known before and after. */
static bool judge_summaries(comp__judge *j, const char *embedding) {
  double after = score(j, "clisi", embedding), before = score_before(j, "clisi");
  const char *name = comp__score_title("clisi", false);
  comp_finding_level level = comp__level_above(before - after, CLISI_CAUTION, CLISI_PROBLEM);
  if (isnan(before - after)) {
    const comp__read_score *now = find_nmi(j, embedding, NULL);
    const comp__read_score *old = now ? find_nmi(j, comp__evidence_before(j->evidence), now->name) : NULL;
    if (!now || !old || isnan(now->value) || isnan(old->value)) return false;
    after = now->value;
    before = old->value;
    name = comp__score_title(now->name, false);
    level = comp__level_above(1 - after / before, NMI_CAUTION, NMI_PROBLEM);
  }
  comp__find(j, level, level == COMP_FINDING_OK ? "" : LESS, "%s: labels are %s, %s %.2f (before: %.2f); 1 is best.",
             loss_words(j, level, false), level == COMP_FINDING_OK ? "still separate" : "less separate than before",
             name, after, before);
  comp__find_number(j, "after", after);
  comp__find_number(j, "before", before);
  return true;
}

void comp__rule_labels_lost(comp__judge *j) {
  const char *embedding = comp__evidence_embedding(j->evidence);
  comp__cross labels;
  double after = score(j, "label_knn", embedding), before = score_before(j, "label_knn");
  if (!isnan(after)) {
    judge_neighbours(j, embedding, after, before);
    return;
  }
  if (judge_summaries(j, embedding)) return;
  bool named = comp__design_label(&labels, NULL, j->evidence);
  if (!named && j->evidence->scores.protect) return; /* the target is what must be kept */
  comp__find(j, COMP_FINDING_NOTE,
             named ? "Run comp score with --label and --metrics paper,scib." : "Name a column of labels with --label.",
             "It is not known whether labels were mixed with each other (over-correction): %s.",
             named ? "the scores do not say how the neighbours of each label changed" : "no label was given");
}
