/*
 * words.c: what the numbers mean, in sentences: is it aligned, is it over-corrected, are predictions good, and what is
 * not to be trusted. Thresholds are rules of thumb, stated beside each.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "comp/diagnose.h"
#include "core/alloc.h"
#include "core/error.h"
#include "report/gather.h"
#include "report/told.h"

enum { FEW_SAMPLES = 500, FEW_IN_GROUP = 50, NAMED = 5 };

typedef struct words {
  const comp__subject *subject;
  json_t *summary, *warnings;
  const char *aligned, *overcorrected, *hidden; /* "yes", "partly", "no", "unknown" */
  const char *embedding;                        /* that the verdict is about; NULL: any */
  comp__guess by_label;                         /* the condition guessed from the label alone */
  comp_status status;
} words;

/* Cut text can end inside of a character: comp__json_text() mends it. */
static void say(words *w, const char *format, ...) COMP_PRINTF(2, 3);
static void say(words *w, const char *format, ...) {
  char text[8192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (w->status == COMP_OK) w->status = comp__append(w->summary, comp__json_text(text));
}

/* kind: "warning", or "note" for what is good to know. */
static void warn(words *w, const char *kind, const char *format, ...) COMP_PRINTF(3, 4);
static void warn(words *w, const char *kind, const char *format, ...) {
  char text[8192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (w->status != COMP_OK) return;
  json_t *object = json_object();
  w->status = comp__put(object, "kind", json_string(kind));
  if (w->status == COMP_OK) w->status = comp__put(object, "text", comp__json_text(text));
  if (w->status == COMP_OK) w->status = comp__append(w->warnings, json_incref(object));
  json_decref(object);
}

/* "a, b, c and 4 more". */
typedef struct list {
  char text[4096];
  size_t count;
} list;

static void add(list *l, const char *name) {
  size_t used = strlen(l->text);
  if (l->count < NAMED) snprintf(l->text + used, sizeof l->text - used, "%s%.700s", l->count ? ", " : "", name);
  l->count++;
}

static const char *listed(list *l) {
  size_t used = strlen(l->text);
  if (l->count > NAMED) snprintf(l->text + used, sizeof l->text - used, " and %zu more", l->count - NAMED);
  return l->text;
}

/* ---- Alignment ------------------------------------------------------------------------------------------------- */

/* The embedding that the verdict is about: X_comp where it was scored, else what was scored last. */
static const char *judged_embedding(const comp__scores *scores) {
  const char *last = NULL;
  for (size_t i = 0; i < scores->count; i++) {
    const char *name = scores->items[i].embedding;
    if (name && strcmp(name, "X_comp") == 0) return name;
    if (name) last = name;
  }
  return last;
}

/* A verdict by two thresholds. */
static int grade(double value, double good, double fair) {
  return isnan(value) ? -1 : value <= good ? 0 : value <= fair ? 1 : 2;
}

/* The measures of mixing: over all samples and within labels; NaN: not known. */
typedef struct mixing {
  double kbet, within, s, s_within;
} mixing;

static mixing mixing_of(const words *w) {
  const comp__scores *scores = &w->subject->scores;
  return (mixing){comp__scores_find(scores, "kbet", w->embedding), comp__scores_find(scores, "m_kbet", w->embedding),
                  comp__scores_find(scores, "silhouette", w->embedding),
                  comp__scores_find(scores, "m_silhouette", w->embedding)};
}

/* "kBET 0.100, s -0.010", as far as they are known. */
static void put_measures(char *out, size_t size, const char *a, double x, const char *b, double y) {
  out[0] = '\0';
  if (!isnan(x)) snprintf(out, size, "%s %.3f", a, x);
  size_t used = strlen(out);
  if (!isnan(y)) snprintf(out + used, size - used, "%s%s %.3f", used ? ", " : "", b, y);
}

static void judge_alignment(words *w) {
  static const char *const verdicts[] = {"yes", "partly", "no"};
  mixing m = mixing_of(w);
  /* Conditions that hold labels in other shares (from 10 points on) cannot be mixed in those of the whole without
   * mixing labels: then what counts is how they are mixed within labels. */
  bool shares = w->by_label.gap > 0.1 && !isnan(m.within);
  /* kBET: a fifth of the neighbourhoods off is still good, half is not. s: 0.05 and 0.2 above 0. */
  int by_kbet = grade(shares ? m.within : m.kbet, 0.2, 0.5);
  int by_s = grade(shares && !isnan(m.s_within) ? m.s_within : m.s, 0.05, 0.2);
  int worst = by_kbet > by_s ? by_kbet : by_s;
  w->aligned = worst < 0 ? "unknown" : verdicts[worst];
  if (worst < 0) {
    say(w,
        "%s so this page cannot say whether the conditions are aligned. Judge by the map, and run comp score for "
        "numbers.",
        w->subject->scores.count ? "The scores that were given have neither kBET nor a silhouette of the condition,"
                                 : "No scores were given,");
    return;
  }
  const char *condition = w->subject->condition ? w->subject->condition : "condition";
  static const char *const how[] = {"well mixed", "only partly mixed", "still apart"};
  char text[256] = "", name[128] = "";
  if (w->embedding) snprintf(name, sizeof name, " %.100s", w->embedding);
  if (shares)
    put_measures(text, sizeof text, "m-kBET", m.within, "s~", m.s_within);
  else
    put_measures(text, sizeof text, "kBET", m.kbet, "local silhouette", m.s);
  say(w, "%samples of different '%s' are %s in the representation%s: %s (0 is best).",
      shares ? "Within labels, s" : "S", condition, how[worst], name, text);
  double before = comp__scores_find(&w->subject->scores, shares ? "m_kbet" : "kbet", "X_pca");
  if (!isnan(before) && !isnan(shares ? m.within : m.kbet) && w->embedding && strcmp(w->embedding, "X_pca") != 0)
    say(w, "Before, in X_pca, %s was %.3f.", shares ? "m-kBET" : "kBET", before);
  if (!shares || isnan(m.kbet)) return;
  put_measures(text, sizeof text, "kBET", m.kbet, "local silhouette", m.s);
  say(w,
      "Over all samples: %s. The conditions have labels in different shares (up to %.0f points apart), so kBET over "
      "all "
      "samples cannot be 0 unless labels are mixed, too, and what counts is within labels.",
      text, 100 * w->by_label.gap);
}

/* The worst verdict of comp diagnose on what must not be lost (labels, neighbours, the data itself): 0 pass or not
 * known, 1 look, 2 fail; *explains is false when it found that the model explains nothing. */
static int found_lost(const words *w, bool *explains) {
  static const char *const checks[] = {"neighbours", "label", "reconstruction", "shared labels"};
  json_t *items = w->subject->findings, *item;
  size_t index;
  int worst = 0;
  *explains = true;
  if (!json_is_array(items)) items = json_object_get(items, "findings");
  json_array_foreach(items, index, item) {
    const char *check = json_string_value(json_object_get(item, "check"));
    const char *verdict = json_string_value(json_object_get(item, "verdict"));
    for (size_t k = 0; check && verdict && k < sizeof checks / sizeof *checks; k++) {
      if (strcmp(check, checks[k]) != 0) continue;
      int grade = strcmp(verdict, "fail") == 0 ? 2 : strcmp(verdict, "look") == 0 ? 1 : 0;
      if (grade > worst) worst = grade;
      /* Its value is then the explained variance, else the share of it that was lost. */
      if (grade == 2 && strcmp(check, "reconstruction") == 0 && json_number_value(json_object_get(item, "value")) <= 0)
        *explains = false;
    }
  }
  return worst;
}

/* The NMI of an embedding over all samples, the last in the list, of any clustering or of the named one. */
static const comp__score *find_nmi(const words *w, const char *embedding, const char *name) {
  for (size_t i = w->subject->scores.count; i-- > 0;) {
    const comp__score *s = &w->subject->scores.items[i];
    if (s->label || !comp__score_is(s, "nmi") || (name && strcmp(s->name, name) != 0)) continue;
    if (s->embedding && strcmp(s->embedding, embedding) == 0) return s;
  }
  return NULL;
}

/* Labels that were told apart before and are not now: NMI of clusters with labels has fallen by more than a fifth.
 * Both are of one way to cluster; `title` names it. */
static bool labels_fell(const words *w, double *before, double *after, const char **title) {
  if (!w->embedding || strcmp(w->embedding, "X_pca") == 0) return false;
  const comp__score *now = find_nmi(w, w->embedding, NULL), *old = now ? find_nmi(w, "X_pca", now->name) : NULL;
  if (!old) return false;
  *before = old->value;
  *after = now->value;
  *title = comp__score_title(now->name, false);
  return !isnan(*before) && !isnan(*after) && *after < 0.8 * *before;
}

static void judge_correction(words *w) {
  mixing m = mixing_of(w);
  bool explains;
  double nmi_before = NAN, nmi_after = NAN;
  const char *nmi = "NMI";
  int lost = found_lost(w, &explains);
  bool fell = labels_fell(w, &nmi_before, &nmi_after, &nmi);
  if (!explains) say(w, "The model explains nothing of the data: nothing else on this page means much.");
  double kbet = m.kbet, within = m.within, s = m.s, s_within = m.s_within;
  if (isnan(within) && isnan(s_within)) {
    w->overcorrected = "unknown";
    say(w,
        "Whether labels were mixed with each other (over-correction) is not known: comp run and comp score measure it, "
        "with --label.");
    return;
  }
  /* Mixed over all but not within labels: what was mixed are samples of different labels. */
  bool apart = strcmp(w->aligned, "no") == 0;
  bool by_kbet = !apart && !isnan(within) && within > 0.3 && (isnan(kbet) || within > kbet + 0.2);
  bool by_s = !apart && !isnan(s_within) && fabs(s_within) > 0.1 && (isnan(s) || fabs(s_within) > fabs(s) + 0.05);
  bool sound = !(by_kbet || by_s) && !apart;
  w->overcorrected = by_kbet && by_s ? "yes" : by_kbet || by_s ? "partly" : sound ? "no" : "unknown";
  char text[128];
  put_measures(text, sizeof text, "m-kBET", within, "s~", s_within);
  if (sound && (fell || lost)) { /* a representation without any content is mixed within labels, too */
    w->overcorrected = fell || lost == 2 ? "yes" : "partly";
    if (fell)
      say(w,
          "The conditions are mixed within labels (%s; 0 is best), but labels are less apart than before: clusters "
          "agree with them by %.2f (%s), in X_pca by %.2f.",
          text, nmi_after, nmi, nmi_before);
    else
      say(w,
          "The conditions are mixed within labels (%s; 0 is best), but something else was lost: see the warnings of "
          "comp diagnose.",
          text);
    return;
  }
  if (sound) {
    say(w,
        "There is no sign of over-correction: the conditions are not mixed at the cost of labels, but within labels as "
        "well (%s; 0 is best).",
        text);
    return;
  }
  if (!by_kbet && !by_s) {
    say(w, "Within labels: %s. Over-correction is no question while the conditions are apart.", text);
    return;
  }
  say(w,
      "There are signs of over-correction: over all samples the conditions look mixed, but within labels they are not "
      "(%s; 0 is best).",
      text);
  warn(w, "warning",
       "Over-correction is likely: %s. Samples of one label may have been aligned with samples of another. Look at the "
       "map "
       "by label, and try a smaller gamma or --kl-target.",
       text);
}

static void judge_low_silhouette(words *w) {
  double s = comp__scores_find(&w->subject->scores, "silhouette", w->embedding);
  if (!isnan(s) && s < -0.1)
    warn(w, "warning",
         "The local silhouette is %.3f, below 0: samples are nearer to those of other conditions than to their own, "
         "more "
         "than mixing alone would do.",
         s);
}

/* ---- Predictions ----------------------------------------------------------------------------------------------- */

/* What the predictions of one change are like: r of the change, mean over labels, each label weighing the same. */
typedef struct quality {
  double mean, mean_de; /* over all features, and over those that differ most */
  double low;
  const char *lowest; /* label */
  size_t n, n_de;     /* labels */
} quality;

static quality quality_of(const comp__effects *effects) {
  quality q = {.low = INFINITY, .lowest = ""};
  for (size_t l = 0; l < effects->n_labels; l++) {
    const comp__effect *x = &effects->labels[l];
    if (!isnan(x->r_change_de)) {
      q.mean_de += x->r_change_de;
      q.n_de++;
    }
    if (isnan(x->r_change)) continue;
    q.mean += x->r_change;
    q.n++;
    if (x->r_change < q.low) {
      q.low = x->r_change;
      q.lowest = x->label;
    }
  }
  q.mean = q.n ? q.mean / (double)q.n : NAN;
  q.mean_de = q.n_de ? q.mean_de / (double)q.n_de : NAN;
  return q;
}

static void say_quality(words *w, const comp__effects *effects, const quality *q) {
  const char *noun = w->subject->noun;
  char over[64] = "", de[160] = "", low[400] = "";
  if (q->n == 0) return;
  if (q->n > 1) snprintf(over, sizeof over, " (mean over %zu labels)", q->n);
  if (!isnan(q->mean_de))
    snprintf(de, sizeof de, ", and %.2f over the %zu that rise most%s", q->mean_de, effects->labels[0].n_de,
             effects->n_labels > 1 ? " in a label" : "");
  if (q->n > 1) snprintf(low, sizeof low, " Over all %ss it is lowest in %.300s (%.2f).", noun, q->lowest, q->low);
  say(w,
      "Predicted effect of %s \u2192 %s: Pearson's r of the predicted change with the real one is %.2f over all "
      "%ss%s%s.%s",
      effects->source, effects->target, q->mean, noun, de, over, low);
}

/* Of many changes only the span is told; the table of the page has them all. */
static void say_qualities(words *w) {
  const comp__subject *s = w->subject;
  double sum = 0;
  size_t n = 0, low = 0, high = 0;
  quality lowest = {.mean = INFINITY}, highest = {.mean = -INFINITY};
  for (size_t e = 0; e < s->n_effects; e++) {
    quality q = quality_of(&s->effects[e]);
    if (s->n_effects <= 2) say_quality(w, &s->effects[e], &q);
    if (q.n == 0) continue;
    sum += q.mean;
    n++;
    if (q.mean < lowest.mean) lowest = q, low = e;
    if (q.mean > highest.mean) highest = q, high = e;
  }
  if (s->n_effects <= 2 || n == 0) return;
  say(w,
      "Predicted effects, %zu changes of condition: Pearson's r of the predicted change with the real one over all "
      "%ss%s, is %.2f on average; best in %s \u2192 %s (%.2f), lowest in %s \u2192 %s (%.2f).",
      n, s->noun, s->label ? ", mean over labels" : "", sum / (double)n, s->effects[high].source,
      s->effects[high].target, highest.mean, s->effects[low].source, s->effects[low].target, lowest.mean);
}

static void judge_predictions(words *w) {
  const comp__subject *s = w->subject;
  list little = {0}, worse = {0};
  if (s->n_effects == 0) { /* where an attribute is to be hidden, none are wanted */
    if (json_array_size(s->scores.fairness) == 0)
      say(w, "No counterfactuals are in the file; comp counterfactual makes them.");
    return;
  }
  say_qualities(w);
  for (size_t e = 0; e < s->n_effects; e++)
    for (size_t l = 0; l < s->effects[e].n_labels; l++) {
      const comp__effect *x = &s->effects[e].labels[l];
      char text[700];
      int length = snprintf(text, sizeof text, "%.200s \u2192 %.200s%s%.250s", s->effects[e].source,
                            s->effects[e].target, s->label ? " in " : "", s->label ? x->label : "");
      if (x->n_de && x->mse_de > x->mse_none) add(&worse, text);
      if (!(x->r_change < 0.5)) continue;
      snprintf(text + length, sizeof text - (size_t)length, " (r = %.2f)", x->r_change);
      add(&little, text);
    }
  if (little.count)
    warn(w, "warning",
         "The predicted change agrees little with the real one (r of the change over all %ss below 0.5): %s. Do not "
         "rely on single %ss there.",
         s->noun, listed(&little), s->noun);
  if (worse.count)
    warn(w, "warning", "The %ss that rise most are predicted worse than by saying that nothing changes: %s.", s->noun,
         listed(&worse));
  if (s->left_out_effects)
    warn(w, "note", "Predictions of %zu more changes of condition are in the data, but not on this page.",
         s->left_out_effects);
}

/* ---- What can be told ------------------------------------------------------------------------------------------ */

/* How far the strongest classifier is above what needs no representation, in shares of the samples. */
typedef struct secrecy {
  comp__told told;
  double floor, balanced_floor, over;
  bool by_label; /* the label alone tells more than the commonest value */
} secrecy;

static secrecy secrecy_of(const words *w, const char *embedding) {
  const comp__subject *s = w->subject;
  secrecy x = {.told = comp__told_find(&s->scores, s->condition, embedding)};
  x.by_label = w->by_label.accuracy > x.told.majority;
  x.floor = x.by_label ? w->by_label.accuracy : x.told.majority;
  x.balanced_floor = 1 / (double)(x.told.levels ? x.told.levels : 2);
  if (w->by_label.balanced > x.balanced_floor) x.balanced_floor = w->by_label.balanced;
  /* A classifier can be no better than the commonest value and still know more than nothing: then it finds each of the
   * values more often than chance would. */
  x.over = fmax(x.told.accuracy - x.floor, x.told.balanced - x.balanced_floor);
  return x;
}

/* What a classifier must be above the floor to count: 2 points are as good as nothing, or what chance alone can do to
 * so few samples, two standard errors. */
static double margin_of(const secrecy *x) {
  return fmax(0.02, 1 / sqrt((double)(x->told.samples ? x->told.samples : 1)));
}

static void say_secrecy(words *w, const secrecy *x) {
  static const char *const how[] = {"can hardly be told from", "can still be told to some degree from",
                                    "is not hidden in"};
  const comp__told *t = &x->told;
  int worst = strcmp(w->hidden, "yes") == 0 ? 0 : strcmp(w->hidden, "partly") == 0 ? 1 : 2;
  char balanced[256] = "", others[64] = "", margin[192] = "";
  double least = margin_of(x);
  if (t->samples)
    snprintf(
        margin, sizeof margin,
        " Up to %.1f points above that count as hidden (the larger of 2 points and two standard errors at n = %zu), "
        "up to 10 as partly hidden.",
        100 * least, t->samples);
  if (!isnan(t->balanced))
    snprintf(balanced, sizeof balanced, "; with every value weighing the same, %s %.1f\u00a0%% (%.1f\u00a0%% by %s)",
             strcmp(t->balanced_classifier, t->classifier) == 0 ? "that is"
                                                                : comp__classifier_words(t->balanced_classifier),
             100 * t->balanced, 100 * x->balanced_floor,
             x->balanced_floor > 1.0001 / (double)(t->levels ? t->levels : 2) ? "the label alone" : "chance");
  if (t->tried > 1) snprintf(others, sizeof others, "the strongest of %zu classifiers, ", t->tried);
  say(w, "'%s' %s the representation: %s%s, is right for %.1f\u00a0%% of the samples, %s for %.1f\u00a0%%%s.%s%s",
      t->column, how[worst], others, comp__classifier_words(t->classifier), 100 * t->accuracy,
      x->by_label ? "the label alone" : "always saying the commonest value", 100 * x->floor, balanced, margin,
      worst == 0 ? " Another classifier may find more than these did." : "");
}

/* Whether one classifier is fooled while another is not. */
static void warn_of_stronger(words *w, const secrecy *x, double margin) {
  size_t k;
  json_t *result;
  list fooled = {0};
  json_array_foreach(x->told.classifiers, k, result) {
    const char *name = json_string_value(json_object_get(result, "classifier"));
    double accuracy = json_number_value(json_object_get(result, "accuracy"));
    double balanced = json_number_value(json_object_get(result, "balanced_accuracy"));
    if (name && accuracy <= x->floor + margin && balanced <= x->balanced_floor + margin)
      add(&fooled, comp__classifier_words(name));
  }
  if (fooled.count && fooled.count < x->told.tried)
    warn(w, "warning", "'%s' is hidden from %s, but not from %s: what one classifier does not find can still be there.",
         x->told.column, listed(&fooled),
         comp__classifier_words(x->told.accuracy - x->floor >= x->told.balanced - x->balanced_floor ||
                                        !x->told.balanced_classifier
                                    ? x->told.classifier
                                    : x->told.balanced_classifier));
}

/* Worse than chance is not better hidden: the order in which samples were laid between others can be read backwards. */
static void warn_of_order(words *w, const secrecy *x, double margin) {
  size_t k;
  json_t *result;
  double chance = 1 / (double)(x->told.levels ? x->told.levels : 2), lowest = chance - 2 * margin;
  const char *name = NULL;
  json_array_foreach(x->told.classifiers, k, result) {
    json_t *balanced = json_object_get(result, "balanced_accuracy");
    if (!json_is_number(balanced) || json_number_value(balanced) >= lowest) continue;
    lowest = json_number_value(balanced);
    name = json_string_value(json_object_get(result, "classifier"));
  }
  if (name)
    warn(w, "note",
         "Of the classifiers, %s finds '%s' less often than chance would (%.1f\u00a0%%, by chance %.1f\u00a0%%, with "
         "every value "
         "weighing the same): "
         "a sign that the model laid these very samples between those of other conditions. New samples may be hidden "
         "less well.",
         comp__classifier_words(name), x->told.column, 100 * lowest, 100 * chance);
}

static void judge_secrecy(words *w) {
  const comp__subject *s = w->subject;
  w->hidden = "unknown";
  if (!s->condition) return;
  secrecy x = secrecy_of(w, w->embedding);
  if (!x.told.classifier || isnan(x.floor)) return;
  double margin = margin_of(&x);
  w->hidden = x.over <= margin ? "yes" : x.over <= 0.1 ? "partly" : "no";
  say_secrecy(w, &x);
  secrecy before = secrecy_of(w, "X_pca");
  if (before.told.classifier && w->embedding && strcmp(w->embedding, "X_pca") != 0)
    say(w, "Before, in X_pca, %s was right for %.1f\u00a0%%.", comp__classifier_words(before.told.classifier),
        100 * before.told.accuracy);
  bool wanted = json_array_size(s->scores.fairness) > 0, plain = !(x.told.balanced - x.balanced_floor == x.over);
  if (wanted && strcmp(w->hidden, "yes") != 0)
    warn(
        w, "warning",
        "'%s' can still be told from the representation: the strongest classifier, %s, is %.1f points above what "
        "needs no representation%s%s. Whoever has the representation can do the same. More epochs or another gamma may "
        "hide it better.",
        x.told.column, comp__classifier_words(plain ? x.told.classifier : x.told.balanced_classifier), 100 * x.over,
        plain ? "" : " (with every value weighing the same)",
        before.told.accuracy < x.told.accuracy ? ", and finds it more often than one could before, in X_pca" : "");
  warn_of_stronger(w, &x, margin);
  warn_of_order(w, &x, margin);
}

/* The gaps between groups, of the given classifier where that was measured, else of the first that was. */
static json_t *fairness_of(const words *w, const char *column, const char *embedding, const char *classifier) {
  size_t i;
  json_t *entry, *first = NULL;
  json_array_foreach(w->subject->scores.fairness, i, entry) {
    const char *own = json_string_value(json_object_get(entry, "column"));
    const char *on = json_string_value(json_object_get(entry, "embedding"));
    const char *by = json_string_value(json_object_get(entry, "classifier"));
    if (!own || !on || strcmp(own, column) != 0 || strcmp(on, embedding) != 0) continue;
    if (classifier && by && strcmp(by, classifier) == 0) return entry;
    if (!first) first = entry;
  }
  return first;
}

/* Which classifier a sentence quotes, with its part in telling the protected attribute. */
static void put_quoted(char *out, size_t size, const char *by, const comp__told *adversary) {
  const char *words_of = by ? comp__classifier_words(by) : "a classifier";
  snprintf(out, size, "%s", words_of);
  if (!by || !adversary->classifier || adversary->tried < 2) return;
  if (strcmp(by, adversary->classifier) == 0)
    snprintf(out, size, "%s (of %zu classifiers the one that tells '%.100s' best)", words_of, adversary->tried,
             adversary->column);
  else
    snprintf(out, size, "%s (the only one measured; %s tells '%.100s' best)", words_of,
             comp__classifier_words(adversary->classifier), adversary->column);
}

/* What is left of the target, and how differently groups are treated. */
static void judge_target(words *w, const char *column) {
  const comp__subject *s = w->subject;
  comp__told now = comp__told_find(&s->scores, column, w->embedding);
  comp__told before = comp__told_find(&s->scores, column, "X_pca");
  comp__guess by_target;
  comp__told adversary = {0};
  if (s->condition) adversary = comp__told_find(&s->scores, s->condition, w->embedding);
  json_t *gaps = fairness_of(w, column, w->embedding, adversary.classifier);
  const char *by = json_string_value(json_object_get(gaps, "classifier"));
  json_t *gaps_before = fairness_of(w, column, "X_pca", by);
  char text[256] = "", quoted[400];
  if (w->status == COMP_OK) w->status = comp__told_guess(&by_target, s, column);
  if (w->status != COMP_OK || !now.classifier) return;
  if (before.classifier) snprintf(text, sizeof text, " (before, in X_pca: %.1f\u00a0%%)", 100 * before.accuracy);
  say(w,
      "'%s' is told from the representation best by %s, which is right for %.1f\u00a0%% of the samples%s; always "
      "saying the "
      "commonest value is right for %.1f\u00a0%%.",
      column, comp__classifier_words(now.classifier), 100 * now.accuracy, text, 100 * now.majority);
  if (!gaps) return;
  put_quoted(quoted, sizeof quoted, by, &adversary);
  text[0] = '\0';
  if (gaps_before)
    snprintf(text, sizeof text, " Before, in X_pca, these were %.1f and %.1f points.",
             100 * json_number_value(json_object_get(gaps_before, "parity_gap")),
             100 * json_number_value(json_object_get(gaps_before, "odds_gap")));
  say(w,
      "Where %s predicts '%s', groups of '%s' get a value up to %.1f points more often than others (demographic "
      "parity), "
      "and its rates of true and false positives differ by up to %.1f points (equalised odds).%s",
      quoted, column, s->condition ? s->condition : "condition",
      100 * json_number_value(json_object_get(gaps, "parity_gap")),
      100 * json_number_value(json_object_get(gaps, "odds_gap")), text);
  if (by_target.gap > 0.02)
    say(w,
        "In the data itself '%s' differs between the groups by %.1f points: no useful classifier can have both gaps at "
        "0, and knowing '%s' alone tells something of '%s'.",
        column, 100 * by_target.gap, column, s->condition ? s->condition : "condition");
}

static void judge_fairness(words *w) {
  size_t i;
  json_t *entry, *fairness = w->subject->scores.fairness;
  const char *last = "";
  json_array_foreach(fairness, i, entry) {
    const char *column = json_string_value(json_object_get(entry, "column"));
    if (!column || !w->embedding || strcmp(column, last) == 0) continue;
    judge_target(w, column);
    last = column;
  }
}

/* ---- Data ------------------------------------------------------------------------------------------------------ */

static comp_status read_groups(comp_groups *out, const comp__subject *s, const char *column) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  return comp_table_groups(out, obs, comp_table_find(obs, column));
}

static void warn_missing(words *w, const comp_groups *groups, const char *column) {
  size_t missing = 0;
  for (size_t i = 0; i < groups->rows; i++) missing += groups->codes[i] < 0;
  if (missing) warn(w, "note", "%zu of %zu samples have no value in '%s'.", missing, groups->rows, column);
}

static void warn_holes(words *w, const comp_groups *conditions, const comp_groups *labels, const size_t *counts) {
  list alone = {0}, small = {0};
  size_t k = conditions->n_levels;
  for (size_t l = 0; l < labels->n_levels; l++) {
    size_t present = 0, where = 0;
    for (size_t c = 0; c < k; c++) {
      size_t n = counts[l * k + c];
      present += n > 0;
      if (n > 0) where = c;
      if (n > 0 && n < FEW_IN_GROUP) {
        char text[600];
        snprintf(text, sizeof text, "%.250s in %.250s (%zu)", labels->levels[l], conditions->levels[c], n);
        add(&small, text);
      }
    }
    if (present == 1) {
      char text[600];
      snprintf(text, sizeof text, "%.250s (only in %.250s)", labels->levels[l], conditions->levels[where]);
      add(&alone, text);
    }
  }
  if (alone.count)
    warn(w, "warning",
         "%zu of %zu labels exist in one condition only: %s. A model that aligns conditions has nothing to "
         "align them with and may place them among other labels; what it predicts for them cannot be checked.",
         alone.count, labels->n_levels, listed(&alone));
  if (small.count)
    warn(w, "warning", "%zu %s fewer than %d samples: %s. %s means and scores are uncertain.", small.count,
         small.count == 1 ? "group has" : "groups have", FEW_IN_GROUP, listed(&small),
         small.count == 1 ? "Its" : "Their");
}

static void judge_data(words *w) {
  const comp__subject *s = w->subject;
  comp_groups conditions = {0}, labels = {0};
  size_t *counts = NULL, n = comp_dataset_samples(s->dataset);
  if (n < FEW_SAMPLES)
    warn(w, "warning", "There are only %zu samples: everything here is uncertain, and a model can learn them by heart.",
         n);
  if (!s->condition) {
    warn(w, "note", "No condition was named (--condition), so nothing here compares conditions.");
    return;
  }
  comp_status status;
  COMP__TRY(read_groups(&conditions, s, s->condition));
  warn_missing(w, &conditions, s->condition);
  size_t least = n, most = 0, rarest = 0;
  for (size_t c = 0; c < conditions.n_levels; c++) {
    if (conditions.counts[c] < least) {
      least = conditions.counts[c];
      rarest = c;
    }
    if (conditions.counts[c] > most) most = conditions.counts[c];
  }
  if (conditions.n_levels < 2)
    warn(w, "warning", "The column '%s' has only one value: there is nothing to align.", s->condition);
  else if (most > 20 * least)
    warn(w, "warning", "Conditions are of very different size: '%s' has %zu samples, the largest %zu.",
         conditions.levels[rarest], least, most);
  if (!s->label) {
    warn(w, "note", "No labels were named (--label): whether different kinds of samples were mixed cannot be checked.");
    goto done;
  }
  COMP__TRY(read_groups(&labels, s, s->label));
  warn_missing(w, &labels, s->label);
  COMP__TRY(comp__calloc(&counts, conditions.n_levels * labels.n_levels, sizeof *counts));
  for (size_t i = 0; i < n; i++)
    if (conditions.codes[i] >= 0 && labels.codes[i] >= 0)
      counts[(size_t)labels.codes[i] * conditions.n_levels + (size_t)conditions.codes[i]]++;
  if (conditions.n_levels > 1) warn_holes(w, &conditions, &labels, counts);
done:
  if (status != COMP_OK) w->status = status;
  comp_groups_release(&conditions);
  comp_groups_release(&labels);
  comp__free(counts);
}

/* ---- Training and findings ------------------------------------------------------------------------------------- */

static void judge_training(words *w) {
  json_t *history = w->subject->history;
  size_t n = json_array_size(history), best = 0;
  double lowest = INFINITY;
  for (size_t i = 0; i < n; i++) {
    json_t *entry = json_array_get(history, i), *held = json_object_get(entry, "validation");
    double loss = json_number_value(json_object_get(held ? held : json_object_get(entry, "train"), "total"));
    if (loss < lowest) {
      lowest = loss;
      best = i;
    }
  }
  const char *which = json_object_get(json_array_get(history, 0), "validation") ? "validation" : "training";
  if (n >= 2 && best == 0)
    warn(w, "warning",
         "The %s loss was lowest in the first of %zu epochs: nothing was learned after it. Try a lower learning rate "
         "(comp train --lr), more samples, or another preparation of the data.",
         which, n);
  else if (n >= 10 && best + 1 == n)
    warn(w, "note", "The %s loss was lowest in the very last of %zu epochs: a longer training might do better.", which,
         n);
}

/* A full stop, unless the text has one. */
static const char *stop(const char *text) {
  size_t length = strlen(text);
  return length && strchr(".?!", text[length - 1]) ? "" : ".";
}

/* Several checks that could not be made for the same reason, with the same advice, need one note. */
static bool is_repeated(words *w, json_t *item, const char *verdict) {
  json_t *earlier, *items = w->subject->findings;
  size_t index;
  const char *advice = json_string_value(json_object_get(item, "advice"));
  if (!json_is_array(items)) items = json_object_get(items, "findings");
  if (!advice || !*advice || strcmp(verdict, "look") == 0 || strcmp(verdict, "fail") == 0) return false;
  json_array_foreach(items, index, earlier) {
    if (earlier == item) return false;
    if (json_equal(json_object_get(earlier, "question"), json_object_get(item, "question")) &&
        json_equal(json_object_get(earlier, "advice"), json_object_get(item, "advice")) &&
        json_equal(json_object_get(earlier, "verdict"), json_object_get(item, "verdict")))
      return true;
  }
  return false;
}

/* Whether single counterfactuals were compared with what the samples really are under the other condition. */
static bool is_compared(const words *w) {
  const comp__scores *scores = &w->subject->scores;
  for (size_t i = 0; i < scores->count; i++)
    if (comp__score_is(&scores->items[i], "rmse_single") && !isnan(scores->items[i].value)) return true;
  return false;
}

/* Whether the data has layers that begin so: "truth_" as of comp simulate --truth, "counterfactual_". */
static bool has_layers(const words *w, const char *prefix) {
  const comp_dataset *d = w->subject->dataset;
  for (size_t i = 0; i < comp_dataset_count(d, COMP_SLOT_LAYERS); i++)
    if (strncmp(comp_dataset_entry_name(d, COMP_SLOT_LAYERS, i), prefix, strlen(prefix)) == 0) return true;
  return false;
}

/* A finding of comp diagnose: a check with its verdict, reason and advice. What passed is not repeated. */
static void repeat_check(words *w, json_t *item, const char *verdict) {
  const char *reason = json_string_value(json_object_get(item, "reason"));
  const char *advice = json_string_value(json_object_get(item, "advice"));
  const char *question = json_string_value(json_object_get(item, "question"));
  const char *check = json_string_value(json_object_get(item, "check"));
  if (!reason || strcmp(verdict, "pass") == 0 || is_repeated(w, item, verdict)) return;
  /* Where none are made, as when an attribute is to be hidden, it is no question. */
  if (question && strcmp(question, comp_question_text(COMP_QUESTION_IDENTIFIABLE)) == 0 &&
      !has_layers(w, "counterfactual_"))
    return;
  bool compared = is_compared(w);
  if (check && strcmp(check, "truth") == 0 &&
      (compared || has_layers(w, "truth_"))) { /* comp diagnose does not look for it */
    warn(w, "note", "Here it is known what single samples are under another condition (layers truth_VALUE, or pairs)%s",
         compared ? ": how far their counterfactuals are from it is under Scores, as the error of single samples."
                  : ", but it was not compared with their counterfactuals: comp score does that.");
    return;
  }
  bool serious = strcmp(verdict, "look") == 0 || strcmp(verdict, "fail") == 0, advised = advice && *advice;
  warn(w, serious ? "warning" : "note", "%s \u2013 %s%s%s%s%s", question ? question : "Finding", reason, stop(reason),
       advised ? " What to do: " : "", advised ? advice : "", advised ? stop(advice) : "");
}

/* Findings are checks, plain texts, or objects with a text and how bad it is. */
static void repeat_findings(words *w) {
  json_t *root = w->subject->findings, *items = root;
  static const char *const lists[] = {"findings", "warnings"};
  for (int k = 0; k < 2 && !json_is_array(items); k++) items = json_object_get(root, lists[k]);
  size_t index;
  json_t *item;
  json_array_foreach(items, index, item) {
    static const char *const texts[] = {"text", "message", "sentence", "summary"};
    const char *text = json_string_value(item), *kind = json_string_value(json_object_get(item, "kind"));
    const char *verdict = json_string_value(json_object_get(item, "verdict"));
    if (verdict) {
      repeat_check(w, item, verdict);
      continue;
    }
    if (!kind) kind = json_string_value(json_object_get(item, "level"));
    for (int k = 0; k < 4 && !text; k++) text = json_string_value(json_object_get(item, texts[k]));
    if (!text) continue;
    bool harmless = kind && (strcmp(kind, "note") == 0 || strcmp(kind, "info") == 0 || strcmp(kind, "ok") == 0);
    warn(w, harmless ? "note" : "warning", "%s", text);
  }
}

comp_status comp__gather_words(json_t **out, const comp__subject *subject) {
  words w = {.subject = subject, .summary = json_array(), .warnings = json_array(), .status = COMP_OK};
  w.embedding = judged_embedding(&subject->scores);
  w.status = comp__told_guess(&w.by_label, subject, subject->label);
  judge_alignment(&w);
  judge_correction(&w);
  judge_low_silhouette(&w);
  judge_secrecy(&w);
  judge_fairness(&w);
  judge_predictions(&w);
  judge_data(&w);
  if (subject->history) judge_training(&w);
  if (subject->findings) repeat_findings(&w);
  if (w.status == COMP_OK) {
    *out = json_pack("{s:O, s:O, s:s, s:s, s:s}", "summary", w.summary, "warnings", w.warnings, "aligned", w.aligned,
                     "overcorrected", w.overcorrected, "hidden", w.hidden);
    if (!*out) w.status = comp__error(COMP_ERR_MEMORY, "out of memory");
  }
  json_decref(w.summary);
  json_decref(w.warnings);
  return w.status;
}
