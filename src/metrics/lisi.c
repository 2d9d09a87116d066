/* lisi.c: the local inverse Simpson index of conditions and of labels, scaled as scib-metrics does. */
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/sort.h"
#include "metrics/score.h"

/* The median over samples, its standard error by random halves (interval.h), and the number of groups that there are.
 */
typedef struct lisi {
  double median, error;
  size_t present;
} lisi;

/* The error of the median: in each split the median of one half is compared with that of the other. `values` [n] is
 * overwritten. */
static double halves_error(double *values, const double *halves, const uint32_t *half, size_t splits, size_t n) {
  double sum = 0.0;
  for (size_t r = 0; r < splits; r++) {
    size_t first = 0, last = n;
    for (size_t i = 0; i < n; i++) values[(half[i] >> r) & 1 ? --last : first++] = halves[r * n + i];
    if (first == 0 || first == n) continue;
    const double difference = comp__median_doubles(values, first) - comp__median_doubles(values + first, n - first);
    sum += difference * difference;
  }
  return comp__split_error(sum, splits);
}

static comp_status measure_lisi(lisi *out, comp__scoring *s, comp__view *view, const int32_t *group, size_t groups) {
  comp_status status;
  comp__neighborhoods h;
  double *values = NULL, *halves = NULL;
  uint32_t *half = NULL;
  size_t *counts = NULL, k = view->n < COMP__LISI_NEIGHBORS ? view->n : COMP__LISI_NEIGHBORS;
  const size_t splits = comp__split_count(view->n);
  COMP__TRY(comp__alloc(&values, view->n, sizeof *values));
  COMP__TRY(comp__alloc(&halves, view->n, splits * sizeof *halves));
  COMP__TRY(comp__calloc(&half, view->n, sizeof *half));
  COMP__TRY(comp__calloc(&counts, groups, sizeof *counts));
  for (size_t i = 0; i < view->n; i++)
    for (size_t r = 0; r < splits; r++) half[i] |= (uint32_t)comp__split_half(s->options->seed, r, i) << r;
  COMP__TRY(comp__view_neighborhoods(&h, s, view, k - 1)); /* the sample itself is one of the k */
  h.group = group;
  h.groups = groups;
  COMP__TRY(comp__lisi_halves(values, halves, half, splits, s->context, &h));
  out->median = comp__median_doubles(values, view->n);
  out->error = halves_error(values, halves, half, splits, view->n);
  out->present = 0;
  for (size_t i = 0; i < view->n; i++) out->present += counts[group[i]]++ == 0;
done:
  comp__free(counts);
  comp__free(half);
  comp__free(halves);
  comp__free(values);
  return status;
}

/* 0 .. 1 for 1 .. present groups among neighbours, and the other way round. */
static double scaled(const lisi *l, double value) {
  return (value - 1.0) / ((double)l->present - 1.0);
}

static double purity(const lisi *l, double value) {
  return ((double)l->present - value) / ((double)l->present - 1.0);
}

comp_status comp__metric_ilisi(comp__score_cell *out, comp__scoring *s) {
  lisi l;
  comp_status status = measure_lisi(&l, s, &s->all, s->all.condition, s->n_conditions);
  if (status != COMP_OK) return status;
  const comp__interval i = comp__error_interval(l.median, l.error, 1.0, (double)l.present);
  out->value = scaled(&l, l.median);
  out->interval = (comp__interval){scaled(&l, i.low), scaled(&l, i.high)};
  return COMP_OK;
}

comp_status comp__metric_clisi(comp__score_cell *out, comp__scoring *s) {
  lisi l;
  comp_status status = measure_lisi(&l, s, s->labelled, s->labelled->label, s->n_labels);
  if (status != COMP_OK) return status;
  if (l.present < 2) return comp__cell_fail(out, "there is one label only");
  const comp__interval i = comp__error_interval(l.median, l.error, 1.0, (double)l.present);
  out->value = purity(&l, l.median);
  out->interval = (comp__interval){purity(&l, i.high), purity(&l, i.low)};
  return COMP_OK;
}
