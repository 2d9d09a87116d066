/* total.c: the means of scib: of what mixes batches, of what keeps biology, and 0.4 and 0.6 of both. */
#include <math.h>
#include <string.h>

#include "metrics/score.h"

/* The mean of what was chosen and computed of a family; NaN when nothing was. */
static double family_mean(const comp__scoring *s, const char *family) {
  double sum = 0.0;
  size_t n = 0;
  for (size_t m = 0; m < s->n_chosen; m++) {
    const comp__metric *metric = comp__metric_at(s->chosen[m]);
    if (!metric->in_total || strcmp(metric->info.family, family) != 0 || isnan(s->done[m].value)) continue;
    sum += s->done[m].value;
    n++;
  }
  return n ? sum / (double)n : NAN;
}

static comp_status set(comp__score_cell *out, double value) {
  if (isnan(value)) return comp__cell_fail(out, "none of the metrics that it is the mean of was computed");
  out->value = value;
  return COMP_OK;
}

comp_status comp__metric_total_batch(comp__score_cell *out, comp__scoring *s) {
  return set(out, family_mean(s, "batch"));
}

comp_status comp__metric_total_bio(comp__score_cell *out, comp__scoring *s) {
  return set(out, family_mean(s, "bio"));
}

comp_status comp__metric_total(comp__score_cell *out, comp__scoring *s) {
  return set(out, 0.4 * family_mean(s, "batch") + 0.6 * family_mean(s, "bio"));
}
