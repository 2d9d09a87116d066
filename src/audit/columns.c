/* columns.c: features that an audit needs as columns of obs. */
#include "audit/columns.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"

enum { MOST_NUMBERS = 20 }; /* more are a measurement */

static size_t find_feature(const comp_dataset *d, const char *name) {
  for (size_t g = 0; name && g < d->features; g++)
    if (strcmp(comp_dataset_var_name(d, g), name) == 0) return g;
  return COMP_NOT_FOUND;
}

/* values[samples] of a feature. */
static void read_feature(double *values, const comp_matrix *x, size_t feature) {
  for (size_t i = 0; i < x->rows; i++) {
    if (x->kind == COMP_DENSE) {
      values[i] = (double)x->values[i * x->cols + feature];
      continue;
    }
    values[i] = 0;
    for (size_t k = (size_t)x->indptr[i]; k < (size_t)x->indptr[i + 1]; k++)
      if ((size_t)x->indices[k] == feature) values[i] = (double)x->values[k];
  }
}

/* How many different numbers; 0: one of them is not whole, or they are too many. */
static size_t count_numbers(const double *values, size_t n) {
  double found[MOST_NUMBERS];
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    if (values[i] != floor(values[i])) return 0;
    while (k < count && found[k] != values[i]) k++;
    if (k < count) continue;
    if (count == MOST_NUMBERS) return 0;
    found[count++] = values[i];
  }
  return count;
}

comp_status comp__audit_columns(comp_dataset **out, comp_context *context, const comp_dataset *d,
                                const comp__audit_options *o) {
  const char *names[] = {o->condition, o->target, o->unseen};
  size_t taken[sizeof names / sizeof *names], n_taken = 0, n_kept = 0, *kept = NULL;
  double *values = NULL;
  comp_status status;
  *out = NULL;
  if (!d->x) return COMP_OK;
  COMP__TRY(comp__alloc(&values, d->samples, sizeof *values));
  COMP__TRY(comp__alloc(&kept, d->features, sizeof *kept));
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const size_t g = find_feature(d, names[k]);
    if (g == COMP_NOT_FOUND || comp_table_find(d->obs, names[k]) != COMP_NOT_FOUND) continue;
    read_feature(values, d->x, g);
    const size_t numbers = count_numbers(values, d->samples);
    if (numbers == 0)
      COMP__FAIL(COMP_ERR_DATA,
                 "column '%s' holds numbers with a fraction, or more than %d different ones: it was read as a "
                 "measurement, and not as groups. Make groups of them",
                 names[k], (int)MOST_NUMBERS);
    comp__info(context, "column '%s' holds %zu different numbers: it is taken as groups, and not as a feature",
               names[k], numbers);
    taken[n_taken++] = g;
  }
  if (n_taken == 0) goto done;
  for (size_t g = 0; g < d->features; g++) {
    bool is_taken = false;
    for (size_t k = 0; k < n_taken; k++) is_taken = is_taken || taken[k] == g;
    if (!is_taken) kept[n_kept++] = g;
  }
  if (n_kept == 0) COMP__FAIL(COMP_ERR_DATA, "there is no feature beside the columns that are named");
  COMP__TRY(comp_dataset_select(out, context, d, NULL, 0, kept, n_kept));
  for (size_t k = 0; k < n_taken; k++) {
    read_feature(values, d->x, taken[k]);
    COMP__TRY(comp_table_add_numbers((*out)->obs, comp_dataset_var_name(d, taken[k]), values, true));
  }
done:
  comp__free(values);
  comp__free(kept);
  if (status == COMP_OK) return COMP_OK;
  comp_dataset_free(*out);
  *out = NULL;
  return status;
}
