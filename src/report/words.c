/*
 * words.c: what the numbers mean, in sentences: is it aligned, is it over-corrected, are predictions good, and what is
 * not to be trusted. Thresholds are rules of thumb, stated beside each.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "report/gather.h"

enum { FEW_SAMPLES = 500, FEW_IN_GROUP = 50, NAMED = 5 };

typedef struct words {
  const comp__subject *subject;
  json_t *summary, *warnings;
  const char *aligned, *overcorrected; /* "yes", "partly", "no", "unknown" */
  const char *embedding;               /* that the verdict is about; NULL: any */
  comp_status status;
} words;

/* Cut text can end inside of a character: comp__json_text() mends it. */
static void say(words *w, const char *format, ...) COMP_PRINTF(2, 3);
static void say(words *w, const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (w->status == COMP_OK) w->status = comp__append(w->summary, comp__json_text(text));
}

/* kind: "warning", or "note" for what is good to know. */
static void warn(words *w, const char *kind, const char *format, ...) COMP_PRINTF(3, 4);
static void warn(words *w, const char *kind, const char *format, ...) {
  char text[2048];
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
  char text[1024];
  size_t count;
} list;

static void add(list *l, const char *name) {
  size_t used = strlen(l->text);
  if (l->count < NAMED) snprintf(l->text + used, sizeof l->text - used, "%s%.150s", l->count ? ", " : "", name);
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

static void judge_alignment(words *w) {
  static const char *const verdicts[] = {"yes", "partly", "no"};
  const comp__scores *scores = &w->subject->scores;
  double kbet = comp__scores_find(scores, "kbet", w->embedding);
  double s = comp__scores_find(scores, "silhouette", w->embedding);
  /* kBET: a fifth of the neighbourhoods off is still good, half is not. s: 0.05 and 0.2 above 0. */
  int by_kbet = grade(kbet, 0.2, 0.5), by_s = grade(s, 0.05, 0.2), worst = by_kbet > by_s ? by_kbet : by_s;
  w->aligned = worst < 0 ? "unknown" : verdicts[worst];
  if (worst < 0) {
    say(w,
        "No scores were given, so this page cannot say whether the conditions are aligned. Judge by the map, and run "
        "comp score for numbers.");
    return;
  }
  const char *condition = w->subject->condition ? w->subject->condition : "condition";
  static const char *const how[] = {"well mixed", "only partly mixed", "still apart"};
  char text[256] = "", name[128] = "";
  if (w->embedding) snprintf(name, sizeof name, " %.100s", w->embedding);
  if (by_kbet >= 0 && by_s >= 0)
    snprintf(text, sizeof text, ": kBET %.3f (0 is best), local silhouette %.3f (0 is best)", kbet, s);
  else if (by_kbet >= 0)
    snprintf(text, sizeof text, ": kBET %.3f (0 is best)", kbet);
  else
    snprintf(text, sizeof text, ": local silhouette %.3f (0 is best)", s);
  say(w, "Samples of different '%s' are %s in the representation%s%s.", condition, how[worst], name, text);
  double before = comp__scores_find(scores, "kbet", "X_pca");
  if (!isnan(before) && !isnan(kbet) && w->embedding && strcmp(w->embedding, "X_pca") != 0)
    say(w, "Before, in X_pca, kBET was %.3f.", before);
}

static void judge_correction(words *w) {
  const comp__scores *scores = &w->subject->scores;
  double kbet = comp__scores_find(scores, "kbet", w->embedding),
         within = comp__scores_find(scores, "m_kbet", w->embedding);
  double s = comp__scores_find(scores, "silhouette", w->embedding),
         s_within = comp__scores_find(scores, "m_silhouette", w->embedding);
  if (isnan(within) && isnan(s_within)) {
    w->overcorrected = "unknown";
    say(w, "Whether labels were mixed with each other (over-correction) is not known: comp score --label measures it.");
    return;
  }
  /* Mixed over all but not within labels: what was mixed are samples of different labels. */
  bool by_kbet = !isnan(within) && within > 0.3 && (isnan(kbet) || within > kbet + 0.2);
  bool by_s = !isnan(s_within) && fabs(s_within) > 0.1 && (isnan(s) || fabs(s_within) > fabs(s) + 0.05);
  bool sound = !(by_kbet || by_s) && strcmp(w->aligned, "no") != 0;
  w->overcorrected = by_kbet && by_s ? "yes" : by_kbet || by_s ? "partly" : sound ? "no" : "unknown";
  char text[128] = "";
  if (!isnan(within)) snprintf(text, sizeof text, "m-kBET %.3f", within);
  if (!isnan(s_within)) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%ss~ %.3f", used ? ", " : "", s_within);
  }
  if (sound) {
    say(w, "Within labels the conditions are mixed as well (%s; 0 is best): no sign of over-correction.", text);
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

static void judge_predictions(words *w) {
  const comp__subject *s = w->subject;
  if (s->n_effects == 0) {
    say(w, "No counterfactuals are in the file; comp counterfactual makes them.");
    return;
  }
  for (size_t e = 0; e < s->n_effects; e++) {
    const comp__effects *effects = &s->effects[e];
    double low = INFINITY, sum = 0;
    size_t n = 0;
    const char *lowest = "";
    list worse = {0};
    for (size_t l = 0; l < effects->n_labels; l++) {
      const comp__effect *x = &effects->labels[l];
      if (x->n_de && x->mse_de > x->mse_none) add(&worse, s->label ? x->label : "all samples");
      if (isnan(x->r_change)) continue;
      sum += x->r_change;
      n++;
      if (x->r_change < low) {
        low = x->r_change;
        lowest = x->label;
      }
    }
    if (n > 1)
      say(w,
          "Predicted effect of %s \u2192 %s: the predicted change of a gene goes with the real one at r = %.2f on "
          "average "
          "over %zu labels; lowest in %s (%.2f).",
          effects->source, effects->target, sum / (double)n, n, lowest, low);
    else if (n == 1)
      say(w, "Predicted effect of %s \u2192 %s: the predicted change of a gene goes with the real one at r = %.2f.",
          effects->source, effects->target, sum);
    if (n && low < 0.5)
      warn(w, "warning",
           "%s \u2192 %s: in %s the predicted change agrees little with the real one (r = %.2f). Do not rely on "
           "single genes there.",
           effects->source, effects->target, s->label ? lowest : "all samples", low);
    if (worse.count)
      warn(w, "warning",
           "%s \u2192 %s: in %s the genes that differ most are predicted worse than by saying that nothing "
           "changes.",
           effects->source, effects->target, listed(&worse));
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
        char text[400];
        snprintf(text, sizeof text, "%.120s in %.120s (%zu)", labels->levels[l], conditions->levels[c], n);
        add(&small, text);
      }
    }
    if (present == 1) {
      char text[400];
      snprintf(text, sizeof text, "%.150s (only in %.150s)", labels->levels[l], conditions->levels[where]);
      add(&alone, text);
    }
  }
  if (alone.count)
    warn(w, "warning",
         "%zu of %zu labels exist in one condition only: %s. A model that aligns conditions has nothing to "
         "align them with and may place them among other labels; what it predicts for them cannot be checked.",
         alone.count, labels->n_levels, listed(&alone));
  if (small.count)
    warn(w, "warning", "%zu groups have fewer than %d samples: %s. Their means and scores are uncertain.", small.count,
         FEW_IN_GROUP, listed(&small));
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
  if (n >= 10 && best + 1 == n)
    warn(w, "note", "The validation loss was lowest in the very last of %zu epochs: a longer training might do better.",
         n);
}

/* A full stop, unless the text has one. */
static const char *stop(const char *text) {
  size_t length = strlen(text);
  return length && strchr(".?!", text[length - 1]) ? "" : ".";
}

/* A finding of comp diagnose: a check with its verdict, reason and advice. What passed is not repeated. */
static void repeat_check(words *w, json_t *item, const char *verdict) {
  const char *reason = json_string_value(json_object_get(item, "reason"));
  const char *advice = json_string_value(json_object_get(item, "advice"));
  const char *question = json_string_value(json_object_get(item, "question"));
  if (!reason || strcmp(verdict, "pass") == 0) return;
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
  judge_alignment(&w);
  judge_correction(&w);
  judge_low_silhouette(&w);
  judge_predictions(&w);
  judge_data(&w);
  if (subject->history) judge_training(&w);
  if (subject->findings) repeat_findings(&w);
  if (w.status == COMP_OK) {
    *out = json_pack("{s:O, s:O, s:s, s:s}", "summary", w.summary, "warnings", w.warnings, "aligned", w.aligned,
                     "overcorrected", w.overcorrected);
    if (!*out) w.status = comp__error(COMP_ERR_MEMORY, "out of memory");
  }
  json_decref(w.summary);
  json_decref(w.warnings);
  return w.status;
}
