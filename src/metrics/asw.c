/*
 * asw.c: silhouettes in the sense of Rousseeuw, over all pairs of samples: of labels, of conditions within labels, of
 * single labels against the rest.
 */
#include <math.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "metrics/pairs.h"
#include "metrics/score.h"
#include "metrics/silhouette.h"

typedef struct sums_job {
  const comp__sorted *sorted;
  double *sums; /* [n, groups], rows as the caller has them */
} sums_job;

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

static void add_tile(void *arg, size_t row, size_t first, size_t count, float *squared) {
  sums_job *job = arg;
  const comp__sorted *s = job->sorted;
  double *sums = job->sums + s->order[row] * s->groups;
  if (row >= first && row < first + count) squared[row - first] = 0.0f;
  for (size_t g = group_at(s, first); g < s->groups && s->starts[g] < first + count; g++) {
    size_t begin = s->starts[g] > first ? s->starts[g] : first;
    size_t end = s->starts[g + 1] < first + count ? s->starts[g + 1] : first + count;
    if (begin < end) sums[g] += sum_roots(squared + (begin - first), end - begin);
  }
}

comp_status comp__distance_sums(double *sums, comp_context *context, const float *points, size_t n, size_t dims,
                                const int32_t *group, size_t groups) {
  comp_status status;
  comp__sorted sorted = {0};
  for (size_t i = 0; i < n * groups; i++) sums[i] = 0.0;
  COMP__TRY(comp__sorted_init(&sorted, points, n, dims, group, groups));
  COMP__TRY(comp__pairs_visit(context, sorted.points, n, dims, add_tile, &(sums_job){&sorted, sums}));
done:
  comp__sorted_release(&sorted);
  return status;
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

/* Sums for each sample and each label: so many numbers at most, which is 4 GB. */
static const size_t MOST_SUMS = (size_t)1 << 29;

/* The sums of distances to each label, made once, and how many samples each has. */
static comp_status label_sums(size_t *counts, comp__scoring *s) {
  const comp__view *v = s->labelled;
  for (size_t l = 0; l < s->n_labels; l++) counts[l] = 0;
  for (size_t i = 0; i < v->n; i++) counts[v->label[i]]++;
  if (s->label_sums) return COMP_OK;
  comp_status status = comp__alloc(&s->label_sums, v->n * s->n_labels, sizeof *s->label_sums);
  if (status != COMP_OK) return status;
  return comp__distance_sums(s->label_sums, s->context, v->matrix->values, v->n, v->dims, v->label, s->n_labels);
}

static size_t count_present(const size_t *counts, size_t n) {
  size_t present = 0;
  for (size_t i = 0; i < n; i++) present += counts[i] > 0;
  return present;
}

static comp_status too_many(comp__score_cell *out, const comp__scoring *s) {
  return comp__cell_fail(out, "%zu labels are too many for %zu samples: their distances do not fit into memory",
                         s->n_labels, s->labelled->n);
}

comp_status comp__metric_asw_label(comp__score_cell *out, comp__scoring *s) {
  comp_status status;
  const comp__view *v = s->labelled;
  size_t *counts = NULL;
  double *by_label = NULL, total = 0.0;
  if (s->n_labels > MOST_SUMS / v->n) return too_many(out, s);
  COMP__TRY(comp__alloc(&counts, s->n_labels, sizeof *counts));
  COMP__TRY(comp__calloc(&by_label, s->n_labels, sizeof *by_label));
  COMP__TRY(label_sums(counts, s));
  if (count_present(counts, s->n_labels) < 2) {
    status = comp__cell_fail(out, "there is one label only");
    goto done;
  }
  for (size_t i = 0; i < v->n; i++) {
    double width_i = comp__silhouette(s->label_sums + i * s->n_labels, counts, s->n_labels, (size_t)v->label[i]);
    by_label[v->label[i]] += width_i;
    total += width_i;
  }
  out->value = (total / (double)v->n + 1.0) / 2.0;
  for (size_t l = 0; l < s->n_labels; l++)
    if (counts[l] > 0)
      COMP__TRY(
          comp__cell_add(out, s, l, COMP_NOT_FOUND, counts[l], 0, (by_label[l] / (double)counts[l] + 1.0) / 2.0, NULL));
done:
  comp__free(by_label);
  comp__free(counts);
  return status;
}

/* The mean of 1 - |silhouette| of the conditions among the samples of a view. */
static comp_status batch_width(double *out, comp__scoring *s, const comp__view *v) {
  comp_status status;
  double *sums = NULL, total = 0.0;
  COMP__TRY(comp__alloc(&sums, v->n * s->n_conditions, sizeof *sums));
  COMP__TRY(comp__distance_sums(sums, s->context, v->matrix->values, v->n, v->dims, v->condition, s->n_conditions));
  for (size_t i = 0; i < v->n; i++)
    total += 1.0 - fabs(comp__silhouette(sums + i * s->n_conditions, v->condition_counts, s->n_conditions,
                                         (size_t)v->condition[i]));
  *out = total / (double)v->n;
done:
  comp__free(sums);
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

/* out [n]: the sums of the distances to all samples. */
static void sum_labels(double *out, const comp__scoring *s) {
  for (size_t i = 0; i < s->labelled->n; i++) {
    out[i] = 0.0;
    for (size_t l = 0; l < s->n_labels; l++) out[i] += s->label_sums[i * s->n_labels + l];
  }
}

/* The mean silhouette of all samples when they are only told apart as of this label or not. */
static double against_rest(const comp__scoring *s, size_t label, const size_t *counts, const double *all) {
  const comp__view *v = s->labelled;
  double total = 0.0;
  for (size_t i = 0; i < v->n; i++) {
    const double *sums = s->label_sums + i * s->n_labels;
    double both[2] = {all[i] - sums[label], sums[label]};
    total +=
        comp__silhouette(both, (const size_t[]){v->n - counts[label], counts[label]}, 2, (size_t)v->label[i] == label);
  }
  return (total / (double)v->n + 1.0) / 2.0;
}

comp_status comp__metric_isolated(comp__score_cell *out, comp__scoring *s) {
  comp_status status;
  size_t *counts = NULL, *conditions = NULL, fewest = SIZE_MAX;
  double *all = NULL;
  if (s->n_labels > MOST_SUMS / s->labelled->n) return too_many(out, s);
  COMP__TRY(comp__alloc(&counts, s->n_labels, sizeof *counts));
  COMP__TRY(comp__calloc(&conditions, s->n_labels, sizeof *conditions));
  COMP__TRY(label_sums(counts, s));
  if (count_present(counts, s->n_labels) < 2) {
    status = comp__cell_fail(out, "there is one label only");
    goto done;
  }
  for (size_t l = 0; l < s->n_labels; l++) {
    comp__view *view;
    COMP__TRY(comp__scoring_label(&view, s, l));
    conditions[l] = view->present;
    if (counts[l] > 0 && conditions[l] < fewest) fewest = conditions[l];
  }
  COMP__TRY(comp__alloc(&all, s->labelled->n, sizeof *all));
  sum_labels(all, s);
  for (size_t l = 0; l < s->n_labels; l++) {
    if (counts[l] == 0 || conditions[l] != fewest) continue;
    COMP__TRY(comp__check_interrupt(s->context));
    COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, counts[l], 0, against_rest(s, l, counts, all), NULL));
  }
  COMP__TRY(comp__cell_mean_labels(out));
done:
  comp__free(all);
  comp__free(conditions);
  comp__free(counts);
  return status;
}
