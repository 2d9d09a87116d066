/*
 * asw.c: silhouettes in the sense of Rousseeuw, over all pairs of samples: of labels, of conditions within labels, of
 * those labels that the fewest conditions have.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "metrics/pairs.h"
#include "metrics/score.h"
#include "metrics/silhouette.h"

typedef struct silhouette_job {
  const comp__sorted *sorted;
  const size_t *counts; /* [groups] */
  double *sums;         /* [threads, COMP__VISIT_ROWS, groups]: of the distances from the current rows */
  double *out;          /* [n], rows as the caller has them */
} silhouette_job;

/* Eight sums side by side: one alone waits for each addition. */
static double sum_roots(const float *squared, size_t n) {
  double part[8] = {0};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t p = 0; p < 8; p++) part[p] += (double)sqrtf(squared[i + p]);
  for (; i < n; i++) part[0] += (double)sqrtf(squared[i]);
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* The group of a place in sorted order: the last that begins there or before. */
static size_t group_at(const comp__sorted *s, size_t place) {
  size_t low = 0, high = s->groups;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (s->starts[middle] <= place)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static double width(double a, double b) {
  double larger = fmax(a, b);
  return larger > 0.0 ? (b - a) / larger : 0.0;
}

double comp__silhouette(const double *sums, const size_t *counts, size_t groups, size_t own) {
  double b = INFINITY;
  if (counts[own] < 2) return 0.0;
  for (size_t g = 0; g < groups; g++)
    if (g != own && counts[g] > 0) b = fmin(b, sums[g] / (double)counts[g]);
  return isinf(b) ? 0.0 : width(sums[own] / (double)(counts[own] - 1), b);
}

static void add_tile(void *arg, size_t row, size_t first, size_t count, float *squared, int thread) {
  silhouette_job *job = arg;
  const comp__sorted *s = job->sorted;
  double *sums = job->sums + ((size_t)thread * COMP__VISIT_ROWS + row % COMP__VISIT_ROWS) * s->groups;
  if (first == 0) memset(sums, 0, s->groups * sizeof *sums);
  if (row >= first && row < first + count) squared[row - first] = 0.0f;
  for (size_t g = group_at(s, first); g < s->groups && s->starts[g] < first + count; g++) {
    size_t begin = s->starts[g] > first ? s->starts[g] : first;
    size_t end = s->starts[g + 1] < first + count ? s->starts[g + 1] : first + count;
    if (begin < end) sums[g] += sum_roots(squared + (begin - first), end - begin);
  }
  if (first + count == s->n) job->out[s->order[row]] = comp__silhouette(sums, job->counts, s->groups, group_at(s, row));
}

comp_status comp__silhouettes(double *out, comp_context *context, const float *points, size_t n, size_t dims,
                              const int32_t *group, size_t groups) {
  comp_status status;
  comp__sorted sorted = {0};
  double *sums = NULL;
  size_t *counts = NULL;
  COMP__TRY(comp__alloc(&counts, groups, sizeof *counts));
  COMP__TRY(comp__alloc(&sums, (size_t)comp_context_thread_count(context) * COMP__VISIT_ROWS * groups, sizeof *sums));
  COMP__TRY(comp__sorted_init(&sorted, points, n, dims, group, groups));
  for (size_t g = 0; g < groups; g++) counts[g] = sorted.starts[g + 1] - sorted.starts[g];
  COMP__TRY(
      comp__pairs_visit(context, sorted.points, n, dims, add_tile, &(silhouette_job){&sorted, counts, sums, out}));
done:
  comp__sorted_release(&sorted);
  comp__free(counts);
  comp__free(sums);
  return status;
}

/* Labels and their silhouettes. */
typedef struct label_widths {
  size_t *counts; /* [labels]: samples of each */
  double *means;  /* [labels]: mean silhouette of these samples; 0 of none */
  double mean;    /* of all samples */
  size_t present; /* labels that have samples */
} label_widths;

static void release_widths(label_widths *w) {
  comp__free(w->counts);
  comp__free(w->means);
}

/* The silhouettes of labels are made once. The result should be released via release_widths(). */
static comp_status init_widths(label_widths *out, comp__scoring *s) {
  comp_status status;
  const comp__view *v = s->labelled;
  *out = (label_widths){0};
  COMP__TRY(comp__calloc(&out->counts, s->n_labels, sizeof *out->counts));
  COMP__TRY(comp__calloc(&out->means, s->n_labels, sizeof *out->means));
  if (!s->has_label_widths) {
    if (!s->label_widths) COMP__TRY(comp__alloc(&s->label_widths, v->n, sizeof *s->label_widths));
    COMP__TRY(comp__silhouettes(s->label_widths, s->context, v->matrix->values, v->n, v->dims, v->label, s->n_labels));
    s->has_label_widths = true;
  }
  for (size_t i = 0; i < v->n; i++) {
    out->counts[v->label[i]]++;
    out->means[v->label[i]] += s->label_widths[i];
    out->mean += s->label_widths[i];
  }
  out->mean /= (double)v->n;
  for (size_t l = 0; l < s->n_labels; l++) {
    if (out->counts[l] == 0) continue;
    out->means[l] /= (double)out->counts[l];
    out->present++;
  }
done:
  return status;
}

static double scaled(double silhouette) {
  return (silhouette + 1.0) / 2.0;
}

comp_status comp__metric_asw_label(comp__score_cell *out, comp__scoring *s) {
  comp_status status;
  label_widths w;
  COMP__TRY(init_widths(&w, s));
  if (w.present < 2) {
    status = comp__cell_fail(out, "there is one label only");
    goto done;
  }
  out->value = scaled(w.mean);
  double squares = 0.0;
  for (size_t i = 0; i < s->labelled->n; i++) squares += (s->label_widths[i] - w.mean) * (s->label_widths[i] - w.mean);
  out->interval = comp__error_interval(out->value, sqrt(squares) / (double)s->labelled->n / 2.0, 0, 1);
  for (size_t l = 0; l < s->n_labels; l++)
    if (w.counts[l] > 0) COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, w.counts[l], 0, scaled(w.means[l]), NULL));
done:
  release_widths(&w);
  return status;
}

/* The mean of 1 - |silhouette| of the conditions among the samples of a view. */
static comp_status batch_width(double *out, comp__scoring *s, const comp__view *v) {
  comp_status status;
  double *widths = NULL, total = 0.0;
  COMP__TRY(comp__alloc(&widths, v->n, sizeof *widths));
  COMP__TRY(comp__silhouettes(widths, s->context, v->matrix->values, v->n, v->dims, v->condition, s->n_conditions));
  for (size_t i = 0; i < v->n; i++) total += 1.0 - fabs(widths[i]);
  *out = total / (double)v->n;
done:
  comp__free(widths);
  return status;
}

comp_status comp__metric_asw_batch(comp__score_cell *out, comp__scoring *s) {
  comp_status status;
  for (size_t l = 0; l < s->n_labels; l++) {
    comp__view *view;
    double value = NAN;
    COMP__TRY(comp__scoring_label(&view, s, l));
    const char *why = view->present < 2          ? "a single condition"
                      : view->present == view->n ? "one sample of each condition"
                                                 : NULL;
    if (!why) COMP__TRY(batch_width(&value, s, view));
    COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, view->n, 0, value, why));
  }
  COMP__TRY(comp__cell_mean_labels(out));
done:
  return status;
}

comp_status comp__metric_isolated(comp__score_cell *out, comp__scoring *s) {
  comp_status status;
  label_widths w;
  size_t *conditions = NULL, fewest = SIZE_MAX;
  COMP__TRY(init_widths(&w, s));
  if (w.present < 2) {
    status = comp__cell_fail(out, "there is one label only");
    goto done;
  }
  COMP__TRY(comp__calloc(&conditions, s->n_labels, sizeof *conditions));
  for (size_t l = 0; l < s->n_labels; l++) {
    comp__view *view;
    COMP__TRY(comp__scoring_label(&view, s, l));
    conditions[l] = view->present;
    if (w.counts[l] > 0 && conditions[l] < fewest) fewest = conditions[l];
  }
  for (size_t l = 0; l < s->n_labels; l++)
    if (w.counts[l] > 0 && conditions[l] == fewest)
      COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, w.counts[l], 0, scaled(w.means[l]), NULL));
  COMP__TRY(comp__cell_mean_labels(out));
done:
  comp__free(conditions);
  release_widths(&w);
  return status;
}
