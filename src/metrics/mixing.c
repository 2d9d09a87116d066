/*
 * mixing.c: the paper's metrics, kBET and the local silhouette, over all samples and within labels; and kBET by label
 * as scib-metrics chooses its neighbourhoods.
 *
 * Both are means of one number a sample, so they share the way through labels and conditions.
 */
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/rng.h"
#include "metrics/score.h"

/* One number a sample: whether its neighbourhood fails (a share), or its silhouette. */
typedef comp_status (*measure_fn)(double *out, comp_context *context, const comp__neighborhoods *hoods, double alpha);

static comp_status measure_kbet(double *out, comp_context *context, const comp__neighborhoods *hoods, double alpha) {
  comp_status status = comp__kbet_pvals(out, context, hoods);
  for (size_t i = 0; status == COMP_OK && i < hoods->n_rows; i++) out[i] = out[i] < alpha ? 1.0 : 0.0;
  return status;
}

static comp_status measure_silhouette(double *out, comp_context *context, const comp__neighborhoods *hoods,
                                      double alpha) {
  (void)alpha;
  return comp__local_silhouettes(out, context, hoods);
}

static double mean(const double *values, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  return n ? sum / (double)n : NAN;
}

/* Adds the mean of the values of each condition. */
static comp_status add_conditions(comp__score_cell *out, comp__scoring *s, size_t label, const double *values,
                                  const comp__neighborhoods *h) {
  for (size_t c = 0; c < s->n_conditions; c++) {
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = 0; i < h->n_rows; i++) {
      size_t sample = h->rows ? h->rows[i] : i;
      if ((size_t)h->group[sample] != c) continue;
      sum += values[i];
      n++;
    }
    if (n == 0) continue;
    comp_status status = comp__cell_add(out, s, label, c, n, h->k, sum / (double)n, NULL);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* The standard error of the mean of what is measured, by random halves (interval.h), and the mean of the halves. */
static comp_status measure_error(double *out, double *halves, comp__scoring *s, measure_fn measure,
                                 const comp__neighborhoods *h, double alpha) {
  comp_status status;
  comp__neighborhoods half = *h;
  int32_t *within = NULL;
  double *values = NULL, sum = 0.0, total = 0.0;
  const size_t splits = comp__split_count(h->n);
  COMP__TRY(comp__alloc(&within, h->n, sizeof *within));
  COMP__TRY(comp__alloc(&values, h->n_rows, sizeof *values));
  half.within = within;
  for (size_t r = 0; r < splits; r++) {
    double sums[2] = {0.0, 0.0};
    size_t counts[2] = {0, 0};
    for (size_t i = 0; i < h->n; i++)
      within[i] = 2 * (h->within ? h->within[i] : 0) + comp__split_half(s->options->seed, r, i);
    COMP__TRY(measure(values, s->context, &half, alpha));
    for (size_t i = 0; i < h->n_rows; i++) {
      const bool second = comp__split_half(s->options->seed, r, h->rows ? h->rows[i] : i);
      sums[second] += values[i];
      counts[second]++;
    }
    double difference = counts[0] && counts[1] ? sums[0] / (double)counts[0] - sums[1] / (double)counts[1] : 0.0;
    sum += difference * difference;
    total += (sums[0] + sums[1]) / (double)(counts[0] + counts[1]);
  }
  *out = comp__split_error(sum, splits);
  *halves = total / (double)splits;
done:
  comp__free(within);
  comp__free(values);
  return status;
}

/* What perfect mixing would have: the share of neighbourhoods that fail when the conditions are exchanged between the
 * samples at random, mean over as many exchanges as an interval has splits. Neighbourhoods stay as they are. */
static comp_status measure_chance(double *out, comp__scoring *s, const comp__neighborhoods *h) {
  comp_status status;
  comp__neighborhoods exchanged = *h;
  int32_t *group = NULL;
  size_t *order = NULL;
  double *values = NULL, sum = 0.0;
  const size_t exchanges = comp__split_count(h->n_rows);
  COMP__TRY(comp__alloc(&group, h->n, sizeof *group));
  COMP__TRY(comp__alloc(&order, h->n_rows, sizeof *order));
  COMP__TRY(comp__alloc(&values, h->n_rows, sizeof *values));
  for (size_t i = 0; i < h->n; i++) group[i] = h->group[i];
  exchanged.group = group;
  for (size_t r = 0; r < exchanges; r++) {
    comp__rng_permutation(order, h->n_rows, comp__rng_at(s->options->seed, COMP__RNG_METRICS, 2000 + r, 0));
    for (size_t i = 0; i < h->n_rows; i++)
      group[h->rows ? h->rows[i] : i] = h->group[h->rows ? h->rows[order[i]] : order[i]];
    COMP__TRY(measure_kbet(values, s->context, &exchanged, s->options->alpha));
    sum += mean(values, h->n_rows);
  }
  *out = sum / (double)exchanges;
done:
  comp__free(group);
  comp__free(order);
  comp__free(values);
  return status;
}

static comp_status over_all(comp__score_cell *out, comp__scoring *s, measure_fn measure) {
  comp_status status;
  comp__neighborhoods h;
  double *values = NULL, error, halves;
  COMP__TRY(comp__view_neighborhoods(&h, s, &s->all, s->options->k));
  COMP__TRY(comp__alloc(&values, h.n_rows, sizeof *values));
  COMP__TRY(measure(values, s->context, &h, s->options->alpha));
  out->value = mean(values, h.n_rows);
  COMP__TRY(measure_error(&error, &halves, s, measure, &h, s->options->alpha));
  out->interval = measure == measure_kbet ? comp__share_error_interval(out->value, halves, error, (double)h.n_rows)
                                          : comp__error_interval(out->value, error, -1, 1);
  if (measure == measure_kbet) COMP__TRY(measure_chance(&out->chance, s, &h));
  COMP__TRY(add_conditions(out, s, COMP_NOT_FOUND, values, &h));
done:
  comp__free(values);
  return status;
}

/* How many neighbours to look at within a label; 0 and a reason when it is left out. */
static size_t label_k(const char **why, const comp__scoring *s, const comp__view *view) {
  const comp__score_options *o = s->options;
  *why = NULL;
  if (view->n == 0)
    *why = "no samples";
  else if (view->present < 2)
    *why = "a single condition";
  else if (o->small_labels == COMP__SMALL_LEAVE_OUT && view->n / 4 < o->k)
    *why = "fewer samples than 4 times k";
  else if (o->small_labels == COMP__SMALL_SHRINK && (view->n < o->min_label || view->n < 4))
    *why = "fewer samples than the minimum";
  if (*why) return 0;
  return o->small_labels == COMP__SMALL_SHRINK && view->n / 4 < o->k ? view->n / 4 : o->k;
}

/* The neighbourhoods of one label among all samples. */
static comp_status global_hoods(comp__neighborhoods *h, comp__scoring *s, const comp__view *view, size_t label,
                                size_t k) {
  comp_status status = comp__view_neighborhoods(h, s, &s->all, k);
  if (status != COMP_OK) return status;
  h->within = s->all.label;
  h->counts = view->condition_counts;
  return comp__view_members(&h->rows, &h->n_rows, &s->all, s->n_labels, label);
}

/* The squared error of a mean over labels, and the mean of what perfect mixing has, in the making. */
typedef struct label_errors {
  double sum, chance;
  size_t labels;
} label_errors;

/* Adds the error of one label. A share of 0 or 1 of few samples has one, too. */
static void add_error(label_errors *e, double error, double value, double n, bool share) {
  const double smooth = (value * n + 1) / (n + 2), least = share ? smooth * (1 - smooth) / n : 0.0;
  e->sum += fmax(error * error, least);
  e->labels++;
}

static comp__interval interval_of(const label_errors *e, double value, double min) {
  return comp__error_interval(value, e->labels ? sqrt(e->sum) / (double)e->labels : NAN, min, 1);
}

static comp_status one_label(comp__score_cell *out, label_errors *errors, comp__scoring *s, measure_fn measure,
                             size_t label, size_t k, comp__view *view) {
  comp_status status;
  comp__neighborhoods h;
  double *values = NULL, error, halves;
  if (s->options->scope == COMP__SCOPE_GLOBAL)
    COMP__TRY(global_hoods(&h, s, view, label, k));
  else
    COMP__TRY(comp__view_neighborhoods(&h, s, view, k));
  COMP__TRY(comp__alloc(&values, h.n_rows, sizeof *values));
  COMP__TRY(measure(values, s->context, &h, s->options->alpha));
  COMP__TRY(comp__cell_add(out, s, label, COMP_NOT_FOUND, h.n_rows, k, mean(values, h.n_rows), NULL));
  COMP__TRY(measure_error(&error, &halves, s, measure, &h, s->options->alpha));
  add_error(errors, error, mean(values, h.n_rows), (double)h.n_rows, measure == measure_kbet);
  if (measure == measure_kbet) {
    double chance;
    COMP__TRY(measure_chance(&chance, s, &h));
    errors->chance += chance;
  }
  COMP__TRY(add_conditions(out, s, label, values, &h));
done:
  comp__free(values);
  return status;
}

/* The mean over labels for each condition. */
static comp_status add_condition_means(comp__score_cell *out, comp__scoring *s) {
  for (size_t c = 0; c < s->n_conditions; c++) {
    double sum = 0.0;
    size_t n = 0, samples = 0;
    for (size_t p = 0; p < out->n_parts; p++) {
      const comp_score_part *part = &out->parts[p];
      if (!part->label || part->condition != s->condition_names[c]) continue;
      sum += part->value;
      samples += part->samples;
      n++;
    }
    if (n == 0) continue;
    comp_status status = comp__cell_add(out, s, COMP_NOT_FOUND, c, samples, 0, sum / (double)n, NULL);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status within_labels(comp__score_cell *out, comp__scoring *s, measure_fn measure) {
  comp_status status;
  label_errors errors = {0};
  bool too_small = false; /* a label that COMP__SMALL_SHRINK would take */
  for (size_t l = 0; l < s->n_labels; l++) {
    comp__view *view;
    const char *why;
    COMP__TRY(comp__scoring_label(&view, s, l));
    size_t k = label_k(&why, s, view);
    too_small = too_small || (k == 0 && view->present > 1 && s->options->small_labels == COMP__SMALL_LEAVE_OUT);
    if (k == 0)
      COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, view->n, 0, NAN, why));
    else
      COMP__TRY(one_label(out, &errors, s, measure, l, k, view));
  }
  COMP__TRY(add_condition_means(out, s));
  COMP__TRY(comp__cell_mean_labels(out));
  out->interval = interval_of(&errors, out->value, measure == measure_kbet ? 0 : -1);
  if (measure == measure_kbet && errors.labels) out->chance = errors.chance / (double)errors.labels;
  if (isnan(out->value) && too_small)
    COMP__TRY(comp__cell_fail(
        out,
        "every label was left out; --small-labels shrink (and --min-label) looks at fewer neighbours in small ones"));
done:
  return status;
}

comp_status comp__metric_kbet(comp__score_cell *out, comp__scoring *s) {
  return over_all(out, s, measure_kbet);
}

comp_status comp__metric_s(comp__score_cell *out, comp__scoring *s) {
  return over_all(out, s, measure_silhouette);
}

comp_status comp__metric_m_kbet(comp__score_cell *out, comp__scoring *s) {
  return within_labels(out, s, measure_kbet);
}

comp_status comp__metric_s_label(comp__score_cell *out, comp__scoring *s) {
  return within_labels(out, s, measure_silhouette);
}

/* scib's neighbourhoods: a quarter of the mean size of a condition, from 10 to 70. */
static size_t scib_k(const comp__view *view) {
  size_t quarter = view->n / view->present / 4;
  size_t k = quarter < 10 ? 10 : quarter > 70 ? 70 : quarter;
  return k < view->n ? k : view->n - 1;
}

comp_status comp__metric_kbet_label(comp__score_cell *out, comp__scoring *s) {
  enum { FEWEST = 10 };
  const double alpha = 0.05;
  comp_status status;
  label_errors errors = {0};
  double *values = NULL, error, halves;
  for (size_t l = 0; l < s->n_labels; l++) {
    comp__view *view;
    comp__neighborhoods h;
    COMP__TRY(comp__scoring_label(&view, s, l));
    if (view->n < FEWEST || view->present < 2) {
      COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, view->n, 0, NAN,
                               view->present < 2 ? "a single condition" : "fewer than 10 samples"));
      continue;
    }
    COMP__TRY(comp__view_neighborhoods(&h, s, view, scib_k(view)));
    COMP__TRY(comp__alloc(&values, h.n_rows, sizeof *values));
    COMP__TRY(measure_kbet(values, s->context, &h, alpha));
    COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, view->n, h.k, 1.0 - mean(values, h.n_rows), NULL));
    COMP__TRY(measure_error(&error, &halves, s, measure_kbet, &h, alpha));
    add_error(&errors, error, mean(values, h.n_rows), (double)h.n_rows, true);
    comp__free(values);
    values = NULL;
  }
  COMP__TRY(comp__cell_mean_labels(out));
  out->interval = interval_of(&errors, out->value, 0);
done:
  comp__free(values);
  return status;
}
