/* lisi.c: the local inverse Simpson index of conditions and of labels, scaled as scib-metrics does. */
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/sort.h"
#include "metrics/score.h"

/* The median over samples; *present gets the number of groups that there are. */
static comp_status median_lisi(double *out, size_t *present, comp__scoring *s, comp__view *view, const int32_t *group,
                               size_t groups) {
  comp_status status;
  comp__neighborhoods h;
  double *values = NULL;
  size_t *counts = NULL, k = view->n < COMP__LISI_NEIGHBORS ? view->n : COMP__LISI_NEIGHBORS;
  COMP__TRY(comp__alloc(&values, view->n, sizeof *values));
  COMP__TRY(comp__calloc(&counts, groups, sizeof *counts));
  COMP__TRY(comp__view_neighborhoods(&h, s, view, k - 1)); /* the sample itself is one of the k */
  h.group = group;
  h.groups = groups;
  COMP__TRY(comp__lisi(values, s->context, &h));
  *out = comp__median_doubles(values, view->n);
  *present = 0;
  for (size_t i = 0; i < view->n; i++) *present += counts[group[i]]++ == 0;
done:
  comp__free(counts);
  comp__free(values);
  return status;
}

comp_status comp__metric_ilisi(comp__score_cell *out, comp__scoring *s) {
  double value;
  size_t present;
  comp_status status = median_lisi(&value, &present, s, &s->all, s->all.condition, s->n_conditions);
  if (status == COMP_OK) out->value = (value - 1.0) / ((double)present - 1.0);
  return status;
}

comp_status comp__metric_clisi(comp__score_cell *out, comp__scoring *s) {
  double value;
  size_t present;
  comp_status status = median_lisi(&value, &present, s, s->labelled, s->labelled->label, s->n_labels);
  if (status != COMP_OK) return status;
  if (present < 2) return comp__cell_fail(out, "there is one label only");
  out->value = ((double)present - value) / ((double)present - 1.0);
  return COMP_OK;
}
