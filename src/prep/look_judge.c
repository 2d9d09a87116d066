/*
 * look_judge.c: from evidence to a kind of data, and to words.
 *
 * In this order: signs, whole numbers, steps (proof by arithmetic), a common total (a second proof), shape. Only what
 * has no proof is judged by its shape, and there several observations must agree:
 *   - values of 30 or more are no logarithms: e^30 is 10^13, more than any count;
 *   - logarithms are rarely whole numbers, while many estimated counts are;
 *   - counts have many zeros, and their largest value is many times the median.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/strings.h"
#include "prep/look.h"

static const double LARGEST_LOG = 30.0, MOST = 0.9;

/* What a look says of itself after the numbers. */
static void say(comp_data_look *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out->reason, sizeof out->reason, format, arguments);
  va_end(arguments);
}

/* "natural logarithms", "log2", ... */
static const char *log_name(double base) {
  return base == 0.0    ? "logarithms"
         : base == 2.0  ? "log2(1 + x)"
         : base == 10.0 ? "log10(1 + x)"
                        : "natural log(1 + x)";
}

/* ---- One set of samples ---------------------------------------------------------------------------------------- */

static void judge_signed(comp_data_look *out, const comp__evidence *e) {
  comp__digits room;
  const char *negatives = comp__digits_of(&room, e->negatives);
  if (e->fractions == 0) {
    out->kind = COMP_DATA_NEGATIVE;
    say(out, "whole numbers from %g to %g, %s of them negative: counts cannot be negative", e->min, e->max, negatives);
    return;
  }
  bool centred = e->centre < 0.05, unit = centred && fabs(e->deviation - 1.0) < 0.1;
  out->kind = COMP_DATA_CENTERED;
  out->centred = centred;
  say(out, "%s negative value%s, the lowest %g: %s", negatives, e->negatives == 1 ? "" : "s", e->min,
      unit      ? "z-scores (each feature has mean 0 and variance 1)"
      : centred ? "centred (each feature has mean 0)"
                : "centred, scaled or log ratios");
}

static void judge_whole(comp_data_look *out, const comp__evidence *e) {
  out->kind = COMP_DATA_COUNTS;
  out->counts = out->linear = true;
  out->binary = e->binary;
  if (e->binary)
    say(out, "only 0 and 1: binary");
  else
    say(out, "whole numbers from %g to %g: counts", e->min, e->max);
}

static void be_log(comp_data_look *out, const comp__evidence *e, comp__scale scale, bool steps) {
  out->kind = COMP_DATA_LOG;
  out->log_base = comp__scale_base(scale);
  out->linear = true;
  out->counts = steps;
  out->common_total = e->common[scale];
  if (out->common_total > 0.0)
    say(out, "not whole numbers, from %g to %g: %s of samples with the same total, %.6g", e->min, e->max,
        log_name(out->log_base), out->common_total);
  else if (steps && e->unit[scale] >= MOST)
    say(out, "not whole numbers, from %g to %g: %s of counts that were not normalised", e->min, e->max,
        log_name(out->log_base));
  else
    say(out, "not whole numbers, from %g to %g: %s of normalised counts", e->min, e->max, log_name(out->log_base));
}

static void be_estimated(comp_data_look *out, const comp__evidence *e, double whole, bool widely) {
  out->kind = COMP_DATA_ESTIMATED;
  out->linear = out->counts = true;
  say(out, "from %g to %g, %.0f%% of the values above 0 whole numbers, and totals differ%s: estimated counts", e->min,
      e->max, 100.0 * whole, widely ? " widely" : "");
}

/* The share of whole numbers among the values that are not 0. */
static double whole_share(const comp__evidence *e) {
  double nonzero = (double)(e->values - e->zeros);
  return (nonzero - (double)e->fractions) / nonzero;
}

static void be_linear(comp_data_look *out, const comp__evidence *e, bool steps) {
  out->linear = true;
  out->counts = steps;
  out->common_total = e->common[COMP__LINEAR];
  out->kind = out->common_total > 0.0 ? COMP_DATA_NORMALIZED : COMP_DATA_SCALED;
  if (out->common_total > 0.0)
    say(out, "not whole numbers, from %g to %g, and every sample has the total %.6g: normalised, but not logged",
        e->min, e->max, out->common_total);
  else
    say(out, "not whole numbers, from %g to %g, but whole multiples of a factor of each sample: scaled counts", e->min,
        e->max);
}

/* Whole multiples of one step: on which scale? Of several, one with a common total. */
static bool judge_steps(comp_data_look *out, const comp__evidence *e) {
  int best = -1;
  for (int s = 0; s < COMP__SCALES; s++)
    if (e->steps[s] >= MOST && (best < 0 || (e->common[best] == 0.0 && e->common[s] > 0.0))) best = s;
  if (best < 0) return false;
  bool mostly_whole = e->unit[COMP__LINEAR] >= 0.5 && e->common[COMP__LINEAR] == 0.0; /* some fractions among counts */
  if (best != COMP__LINEAR)
    be_log(out, e, (comp__scale)best, true);
  else if (mostly_whole)
    be_estimated(out, e, whole_share(e), false);
  else
    be_linear(out, e, true);
  return true;
}

/* One total of all samples, on one scale only: samples whose values have the same distribution (quantile normalisation)
 * have it on every scale, and it proves nothing then. */
static bool judge_total(comp_data_look *out, const comp__evidence *e) {
  int found = -1, n = 0;
  for (int s = 0; s < COMP__SCALES; s++)
    if (e->common[s] > 0.0) {
      found = s;
      n++;
    }
  if (n != 1) return false;
  if (found == COMP__LINEAR)
    be_linear(out, e, false);
  else
    be_log(out, e, (comp__scale)found, false);
  return true;
}

static void judge_shape(comp_data_look *out, const comp__evidence *e) {
  double zeros = (double)e->zeros / (double)e->values, whole = whole_share(e);
  bool many_whole = whole >= 0.2, sparse = zeros >= 0.3;
  bool wide = e->max / e->median >= 10.0, depths = !(e->spread < 2.0);
  if (e->max < LARGEST_LOG && !(many_whole && sparse && wide)) {
    out->kind = COMP_DATA_LOG;
    say(out, "not whole numbers, from %g to %g: logarithms%s", e->min, e->max,
        e->max > 16.0 ? ", probably log2" : ""); /* e^16 is 9 million */
  } else if (many_whole || (depths && zeros >= 0.05)) {
    be_estimated(out, e, whole, depths);
  } else {
    out->kind = COMP_DATA_NORMALIZED;
    out->linear = true;
    say(out, "not whole numbers, from %g to %g: normalised, but not logged", e->min, e->max);
  }
}

void comp__look_judge(comp_data_look *out, const comp__evidence *e) {
  *out = (comp_data_look){.kind = COMP_DATA_COUNTS};
  if (e->negatives > 0)
    judge_signed(out, e);
  else if (e->fractions == 0)
    judge_whole(out, e);
  else if (!judge_steps(out, e) && !judge_total(out, e))
    judge_shape(out, e);
}

/* ---- Several sets ---------------------------------------------------------------------------------------------- */

/* A few words for a list of conditions. */
static void shortly(char *out, size_t size, const comp_data_look *l) {
  switch (l->kind) {
  case COMP_DATA_COUNTS:
    snprintf(out, size, l->binary ? "0 and 1 only" : "counts");
    break;
  case COMP_DATA_ESTIMATED:
    snprintf(out, size, "estimated counts");
    break;
  case COMP_DATA_SCALED:
    snprintf(out, size, "counts times a factor of each sample");
    break;
  case COMP_DATA_LOG:
    snprintf(out, size, "%s%s", log_name(l->log_base), l->log_base == 0.0 ? " of an unknown base" : "");
    break;
  case COMP_DATA_NORMALIZED:
    snprintf(out, size, "normalised values, not logged%s", l->common_total > 0.0 ? "," : "");
    break;
  case COMP_DATA_CENTERED:
    snprintf(out, size, "centred or scaled values");
    break;
  case COMP_DATA_NEGATIVE:
    snprintf(out, size, "negative whole numbers");
    break;
  case COMP_DATA_MIXED:
    snprintf(out, size, "samples on different scales");
    break;
  }
  size_t used = strlen(out);
  if (l->common_total > 0.0 && used < size) snprintf(out + used, size - used, " with the total %.6g", l->common_total);
}

/* Whether what holds for one may be said of the other. */
bool comp__looks_alike(const comp_data_look *a, const comp_data_look *b) {
  bool totals = a->common_total == b->common_total ||
                fabs(a->common_total - b->common_total) < 0.01 * fmax(a->common_total, b->common_total);
  return a->kind == b->kind && a->binary == b->binary && a->log_base == b->log_base && totals;
}

/* "counts (A, B); log2(1 + x) (C)". Texts that do not fit end with "...". */
static void list_all(comp_data_look *out, const comp_data_look *looks, const char *const *names, size_t n) {
  char words[96];
  size_t used = 0, size = sizeof out->reason - 4;
  for (size_t i = 0; i < n; i++) {
    bool first = true;
    for (size_t k = 0; k < i && first; k++) first = !comp__looks_alike(&looks[k], &looks[i]);
    if (!first) continue;
    shortly(words, sizeof words, &looks[i]);
    if (used < size) used += (size_t)snprintf(out->reason + used, size - used, "%s%s (", used ? "; " : "", words);
    for (size_t k = i; k < n && used < size; k++)
      if (comp__looks_alike(&looks[i], &looks[k]))
        used += (size_t)snprintf(out->reason + used, size - used, "%s%s", k > i ? ", " : "", names[k]);
    if (used < size) used += (size_t)snprintf(out->reason + used, size - used, ")");
  }
  if (used >= size) memcpy(out->reason + size - 1, "...", 4);
}

static bool is_count_like(const comp_data_look *l) {
  return (l->kind == COMP_DATA_COUNTS && !l->binary) || l->kind == COMP_DATA_ESTIMATED || l->kind == COMP_DATA_SCALED;
}

/* Values of which only the range is known: whether some of a condition are below 0 may be chance. */
static bool is_unproven(const comp_data_look *l) {
  return (l->kind == COMP_DATA_CENTERED && !l->centred) || (l->kind == COMP_DATA_LOG && l->log_base == 0.0);
}

/* Logarithms go together unless it is known that their bases or totals differ. */
static bool go_together(const comp_data_look *a, const comp_data_look *b) {
  if (is_count_like(a) && is_count_like(b)) return true;
  if (is_unproven(a) && is_unproven(b)) return true;
  if (a->kind != b->kind || a->kind == COMP_DATA_MIXED || a->binary != b->binary) return false;
  bool known = a->common_total > 0.0 && b->common_total > 0.0;
  double ratio = known ? a->common_total / b->common_total : 1.0;
  if (a->kind == COMP_DATA_NORMALIZED)
    return (a->common_total > 0.0) == (b->common_total > 0.0) && fabs(ratio - 1.0) < 0.01;
  if (a->kind != COMP_DATA_LOG) return true;
  bool bases = a->log_base == 0.0 || b->log_base == 0.0 || a->log_base == b->log_base;
  return bases && fabs(ratio - 1.0) < 0.01;
}

/* The kind that says most of what has to be done. */
static int weight(const comp_data_look *l) {
  if (l->kind == COMP_DATA_SCALED) return 3;
  if (l->kind == COMP_DATA_ESTIMATED) return 2;
  return l->kind == COMP_DATA_CENTERED || l->log_base > 0.0;
}

void comp__look_combine(comp_data_look *out, const comp_data_look *looks, const char *const *names, size_t n) {
  bool together = true, alike = true, counts = true, linear = true, whole = true;
  size_t main = 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) together = together && go_together(&looks[i], &looks[k]);
    alike = alike && comp__looks_alike(&looks[0], &looks[i]);
    counts = counts && looks[i].counts;
    whole = whole && (looks[i].kind == COMP_DATA_NEGATIVE || (looks[i].kind == COMP_DATA_COUNTS && !looks[i].binary));
    linear = linear && looks[i].linear && !looks[i].binary;
    if (weight(&looks[i]) > weight(&looks[main])) main = i;
  }
  *out = looks[main];
  out->counts = counts;
  if (alike) return;
  for (size_t i = 0; i < n; i++)
    if (looks[i].common_total != out->common_total) out->common_total = 0.0;
  list_all(out, looks, names, n);
  if (together) return;
  *out = (comp_data_look){.kind = whole ? COMP_DATA_NEGATIVE : COMP_DATA_MIXED, .counts = counts, .linear = linear};
  list_all(out, looks, names, n);
}
