/* normalize.c: library sizes, normalisation of totals, log1p. Sparse stays sparse: all of them keep 0 at 0. */
#include <math.h>
#include <string.h>

#include "comp/prep.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/sort.h"
#include "core/threads.h"
#include "prep/moments.h"
#include "prep/record.h"

enum { ROW_CHUNK = 256, VALUE_CHUNK = 1 << 16 };

comp_status comp_library_sizes(comp_context *context, comp_dataset *dataset) {
  COMP__NEED(context, dataset);
  double *totals = NULL;
  comp_status status = comp__dataset_need_x(dataset);
  if (status == COMP_OK) status = comp__alloc(&totals, dataset->samples, sizeof *totals);
  if (status == COMP_OK) status = comp__sample_sums(totals, NULL, context, dataset->x, NULL);
  bool whole = true;
  for (size_t i = 0; i < dataset->samples && status == COMP_OK; i++) whole = whole && totals[i] == floor(totals[i]);
  if (status == COMP_OK) status = comp_table_add_numbers(dataset->obs, COMP_LIBRARY_SIZE, totals, whole);
  comp__free(totals);
  return status;
}

/* The median of the totals that are not 0; 0 when there is none. */
static comp_status median_total(double *out, const double *totals, size_t n) {
  *out = 0.0;
  double *sorted;
  comp_status status = comp__alloc(&sorted, n, sizeof *sorted);
  if (status != COMP_OK) return status;
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (totals[i] > 0.0) sorted[count++] = totals[i];
  if (count > 0) *out = comp__median_doubles(sorted, count);
  comp__free(sorted);
  return COMP_OK;
}

typedef struct scaling {
  comp_matrix *matrix;
  const double *totals;
  double target;
} scaling;

static void scale_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const scaling *s = arg;
  comp_matrix *m = s->matrix;
  for (size_t row = begin; row < end; row++) {
    if (s->totals[row] <= 0.0) continue;
    double factor = s->target / s->totals[row];
    size_t first = m->kind == COMP_CSR ? (size_t)m->indptr[row] : row * m->cols;
    size_t last = m->kind == COMP_CSR ? (size_t)m->indptr[row + 1] : first + m->cols;
    for (size_t k = first; k < last; k++) m->values[k] = (float)(m->values[k] * factor);
  }
}

/* Counts can be normalised, with fractions or without, and whatever factor a sample has; shares of a total of 1, too.
 * What is below 0 never can: a total of differences means nothing. */
static bool can_normalize(const comp_data_look *look) {
  bool shares = look->kind == COMP_DATA_NORMALIZED && look->common_total > 0.0 && look->common_total < 100.0;
  return look->kind == COMP_DATA_COUNTS || look->kind == COMP_DATA_ESTIMATED || look->kind == COMP_DATA_SCALED ||
         shares;
}

static comp_status check_counts(comp_context *context, const comp_dataset *dataset, bool force) {
  comp_data_look look;
  comp_status status = comp_data_look_at(&look, context, dataset->x);
  if (status != COMP_OK) return status;
  if (look.negatives > 0)
    return comp__error(COMP_ERR_DATA, "cannot normalise totals: X is not counts (%s)", look.reason);
  if (force || comp__record_last_is(dataset, "to_counts")) return COMP_OK;
  if (comp__record_has(dataset, "normalize_total"))
    return comp__error(
        COMP_ERR_DATA,
        "X is already normalised, as its record says. Leave out --normalize-total; --force does it again");
  if (!can_normalize(&look))
    return comp__error(COMP_ERR_DATA,
                       "cannot normalise totals: X does not look like counts (%s). Read the counts (--layer), or do it "
                       "anyway (--force)",
                       look.reason);
  return COMP_OK;
}

comp_status comp_normalize_total(double *used, comp_context *context, comp_dataset *dataset, double target,
                                 bool force) {
  COMP__NEED(context, dataset);
  if (!(target >= 0.0) || !isfinite(target))
    return comp__error(COMP_ERR_ARGUMENT, "target_sum: %g is not a positive number", target);
  comp_status status;
  double *totals = NULL;
  size_t n = dataset->samples, empty = 0;
  COMP__TRY(comp__dataset_need_x(dataset));
  COMP__TRY(check_counts(context, dataset, force));
  COMP__TRY(comp__alloc(&totals, n, sizeof *totals));
  COMP__TRY(comp__sample_sums(totals, NULL, context, dataset->x, NULL));
  if (target == 0.0) COMP__TRY(median_total(&target, totals, n));
  if (target == 0.0) COMP__FAIL(COMP_ERR_DATA, "cannot normalise totals: every sample is empty");
  for (size_t i = 0; i < n; i++) empty += totals[i] <= 0.0;
  if (empty > 0)
    comp__warn(context, "%zu sample%s no counts at all: %s 0", empty, empty == 1 ? " has" : "s have",
               empty == 1 ? "it stays" : "they stay");
  COMP__TRY(comp__matrix_own(context, dataset->x));
  scaling s = {dataset->x, totals, target};
  comp__parallel_for(context, n, ROW_CHUNK, scale_rows, &s);
  COMP__TRY(comp__record_step(dataset, json_pack("{s:s, s:f}", "step", "normalize_total", "target_sum", target)));
  if (used) *used = target;
done:
  comp__free(totals);
  return status;
}

static comp_status check_not_logged(comp_context *context, const comp_dataset *dataset, bool force) {
  comp_data_look look;
  comp_status status = comp_data_look_at(&look, context, dataset->x);
  if (status != COMP_OK) return status;
  if (look.min <= -1.0) return comp__error(COMP_ERR_DATA, "cannot take log(1 + x): X holds %g", look.min);
  if (force) return COMP_OK;
  if (comp__record_has(dataset, "log1p"))
    return comp__error(COMP_ERR_DATA,
                       "X is already logged, as its record says. Leave out --log1p; --force does it again");
  /* Counts normalised to a small total look like logs: what we normalised ourselves is known not to be. */
  bool ours = comp__record_has(dataset, "normalize_total");
  if (look.negatives > 0 || (look.kind == COMP_DATA_LOG && !ours))
    return comp__error(COMP_ERR_DATA, "X looks already logged (%s). Leave out --log1p, or do it anyway (--force)",
                       look.reason);
  return COMP_OK;
}

static void log_values(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  float *values = arg;
  for (size_t i = begin; i < end; i++) values[i] = (float)log1p((double)values[i]);
}

comp_status comp_log1p(comp_context *context, comp_dataset *dataset, bool force) {
  COMP__NEED(context, dataset);
  comp_status status = comp__dataset_need_x(dataset);
  if (status == COMP_OK) status = check_not_logged(context, dataset, force);
  if (status == COMP_OK) status = comp__matrix_own(context, dataset->x);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, comp_matrix_nnz(dataset->x), VALUE_CHUNK, log_values, dataset->x->values);
  return comp__record_step(dataset, json_pack("{s:s}", "step", "log1p"));
}
