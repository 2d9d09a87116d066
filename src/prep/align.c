/* align.c: bringing the features of a data set into a given order, with zeros for those that it lacks. */
#include <string.h>

#include "comp/prep.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"

/* Where the wanted features are. */
typedef struct plan {
  size_t *cols;  /* [found]: in the data set */
  size_t *place; /* [found]: in the result, ascending */
  size_t found;
  const char *first_missing;
} plan;

static comp_status find_features(plan *p, const comp_dataset *d, const char *const *names, size_t n) {
  comp_status status;
  comp__string_index index = {0};
  bool *taken = NULL;
  COMP__TRY(comp__string_index_init(&index, &d->var_names, NULL));
  COMP__TRY(comp__alloc(&p->cols, n, sizeof *p->cols));
  COMP__TRY(comp__alloc(&p->place, n, sizeof *p->place));
  COMP__TRY(comp__calloc(&taken, d->features, sizeof *taken));
  for (size_t i = 0; i < n; i++) {
    size_t col = comp__string_index_find(&index, names[i]);
    if (col == SIZE_MAX) {
      if (!p->first_missing) p->first_missing = names[i];
      continue;
    }
    if (taken[col]) COMP__FAIL(COMP_ERR_DATA, "the feature '%s' is asked for twice", names[i]);
    taken[col] = true;
    p->cols[p->found] = col;
    p->place[p->found++] = i;
  }
done:
  comp__free(taken);
  comp__string_index_release(&index);
  return status;
}

/* Spreads columns to their places among more columns. Takes the matrix over. */
static comp_status widen(comp_matrix **matrix, comp_context *context, const plan *p, size_t n) {
  comp_matrix *m = *matrix, *wide;
  if (m->kind == COMP_CSR) {
    size_t nnz = comp_matrix_nnz(m);
    for (size_t k = 0; k < nnz; k++) m->indices[k] = (int32_t)p->place[m->indices[k]];
    m->cols = n;
    return COMP_OK;
  }
  comp_status status = comp__matrix_new_dense_in(&wide, context, m->rows, n);
  if (status != COMP_OK) return status;
  for (size_t row = 0; row < m->rows; row++) {
    memset(wide->values + row * n, 0, n * sizeof *wide->values);
    for (size_t k = 0; k < p->found; k++) wide->values[row * n + p->place[k]] = m->values[row * m->cols + k];
  }
  comp_matrix_free(m);
  *matrix = wide;
  return COMP_OK;
}

/* Makes a data set of `part`, which has the found features only, with all n; takes everything out of it. */
static comp_status widen_dataset(comp_dataset **out, comp_context *context, comp_dataset *part, const plan *p,
                                 const char *const *names, size_t n) {
  comp_status status;
  comp__strings var = {0};
  comp_dataset *d = NULL;
  comp__slot *layers = &part->slots[COMP_SLOT_LAYERS];
  for (size_t i = 0; i < n; i++) COMP__TRY(comp__strings_append(&var, names[i], strlen(names[i])));
  COMP__TRY(comp__dataset_new(&d, &part->obs_names, &var));
  COMP__TRY(widen(&part->x, context, p, n));
  for (size_t i = 0; i < layers->count; i++) COMP__TRY(widen(&layers->entries[i].matrix, context, p, n));
  comp_table_free(d->obs);
  d->obs = part->obs;
  part->obs = NULL;
  d->x = part->x;
  part->x = NULL;
  memcpy(d->slots, part->slots, sizeof d->slots);
  memset(part->slots, 0, sizeof part->slots);
  d->record = part->record;
  part->record = NULL;
  d->raw = part->raw;
  part->raw = NULL;
  *out = d;
  d = NULL;
done:
  comp__strings_release(&var);
  comp_dataset_free(d);
  return status;
}

comp_status comp_align_features(comp_dataset **dataset, comp_context *context, const char *const *names,
                                size_t n_names) {
  COMP__NEED(dataset && *dataset, context, names || !n_names);
  comp_status status;
  comp_dataset *part = NULL, *whole = NULL;
  plan p = {0};
  COMP__TRY(find_features(&p, *dataset, names, n_names));
  if (p.found == 0)
    COMP__FAIL(COMP_ERR_DATA, "none of the %zu features needed is in the data, whose first is '%s' (needed: '%s')",
               n_names, (*dataset)->features ? comp_dataset_var_name(*dataset, 0) : "", n_names ? names[0] : "");
  COMP__TRY(comp_dataset_select(&part, context, *dataset, NULL, 0, p.cols, p.found));
  if (p.found < n_names) {
    comp__warn(context, "%zu of the %zu features needed are not in the data and taken as 0: '%s'%s", n_names - p.found,
               n_names, p.first_missing, n_names - p.found > 1 ? ", ..." : "");
    COMP__TRY(widen_dataset(&whole, context, part, &p, names, n_names));
  }
  comp_dataset_free(*dataset);
  *dataset = whole ? whole : part;
  if (!whole) part = NULL;
done:
  comp_dataset_free(part);
  comp__free(p.cols);
  comp__free(p.place);
  return status;
}
