/* to_counts.c: back to the scale of counts: logarithms and factors of samples undone, by condition. */
#include <math.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "prep/look.h"
#include "prep/record.h"

enum { ROW_CHUNK = 64 };

typedef struct undoing {
  comp_matrix *matrix;
  const comp_groups *groups;     /* NULL: no conditions, parts[0] */
  const comp__look_parts *parts; /* by level; the last: samples of no condition */
} undoing;

/* Divides by the step where there is one, to whole numbers. A sample whose values are all the same is taken as
 * counted once in each feature. */
static void undo_row(float *values, size_t stored, const comp_data_look *look) {
  comp__scale scale = look->kind == COMP_DATA_LOG ? comp__scale_of(look->log_base) : COMP__LINEAR;
  double step = look->counts ? comp__row_step(values, stored, scale) : 0.0;
  for (size_t k = 0; k < stored; k++) {
    double value = comp__scale_undo(scale, values[k]);
    if (values[k] == 0.0f) continue;
    values[k] = (float)(isnan(step) ? 1.0 : step > 0.0 ? round(value / step) : value);
  }
}

/* Counts and estimated counts are what they are. */
static bool stays(const comp_data_look *look) {
  return look->kind == COMP_DATA_COUNTS || look->kind == COMP_DATA_ESTIMATED;
}

static bool is_whole(const float *values, size_t stored) {
  for (size_t k = 0; k < stored; k++)
    if (values[k] < 0.0f || values[k] != floorf(values[k])) return false;
  return true;
}

static void undo_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const undoing *u = arg;
  comp_matrix *m = u->matrix;
  for (size_t row = begin; row < end; row++) {
    int32_t code = u->groups ? u->groups->codes[row] : 0;
    const comp__look_parts *parts = &u->parts[code < 0 ? u->groups->n_levels : (size_t)code];
    size_t first = m->kind == COMP_CSR ? (size_t)m->indptr[row] : row * m->cols;
    size_t stored = m->kind == COMP_CSR ? (size_t)m->indptr[row + 1] - first : m->cols;
    const comp_data_look *look = is_whole(m->values + first, stored) ? &parts->whole : &parts->other;
    if (!stays(look)) undo_row(m->values + first, stored, look);
  }
}

static comp_status check_linear(const comp_data_look *look, const char *condition) {
  if (look->linear) return COMP_OK;
  return comp__error(
      COMP_ERR_DATA,
      "X cannot be brought back to counts%s%s: %s. Only logarithms of a known base, normalised values and "
      "counts can",
      condition ? " in each value of " : "", condition ? condition : "", look->reason);
}

/* Conditions that go together otherwise may not be known well enough for this: logarithms of an unknown base. */
static comp_status check_parts(const comp__look_parts *parts, size_t n, const char *condition) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < n && status == COMP_OK; i++) {
    status = check_linear(&parts[i].whole, condition);
    if (status == COMP_OK) status = check_linear(&parts[i].other, condition);
  }
  return status;
}

comp_status comp_to_counts(comp_context *context, comp_dataset *dataset, const char *condition) {
  COMP__NEED(context, dataset);
  comp_status status;
  comp_groups groups = {0};
  comp_data_look all;
  comp__look_parts *parts = NULL;
  size_t column, row, col;
  COMP__TRY(comp__dataset_need_x(dataset));
  if (condition) {
    COMP__TRY(comp_table_require(&column, dataset->obs, condition));
    COMP__TRY(comp_table_groups(&groups, dataset->obs, column));
  }
  bool grouped = groups.n_levels > 0;
  COMP__TRY(comp__alloc(&parts, groups.n_levels + 1, sizeof *parts));
  for (size_t i = 0; i <= groups.n_levels; i++) parts[i].whole = parts[i].other = (comp_data_look){.linear = true};
  COMP__TRY(comp__look_parts_by(&all, NULL, parts, context, dataset->x, grouped ? &groups : NULL));
  COMP__TRY(check_linear(&all, condition));
  COMP__TRY(check_parts(parts, groups.n_levels + 1, condition));
  COMP__TRY(comp__matrix_own(context, dataset->x));
  undoing u = {dataset->x, grouped ? &groups : NULL, parts};
  comp__parallel_for(context, dataset->samples, ROW_CHUNK, undo_rows, &u);
  if (comp__matrix_find_nonfinite(&row, &col, context, dataset->x))
    COMP__FAIL(COMP_ERR_DATA,
               "X cannot be brought back to counts: %s. Sample '%s' does not fit this: its values are too large for "
               "logarithms",
               all.reason, comp__strings_get(&dataset->obs_names, row));
  COMP__TRY(comp__record_step(dataset, json_pack("{s:s, s:s?}", "step", "to_counts", "condition", condition)));
  comp__info(context, "brought back to the scale of counts: %s", all.reason);
done:
  comp__free(parts);
  comp_groups_release(&groups);
  return status;
}
