/* together.c: see together.h. */
#include "map/together.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "task/coder.h"

/* Values of comp_role. */
static const char *const ROLES[] = {"reference", "query", "query, not in the reference"};

/* ---- Values ---------------------------------------------------------------------------------------------------- */

static const comp__aligned *side_of(size_t *row, const comp__sides *s, size_t i) {
  const bool query = i >= s->reference->samples;
  *row = query ? i - s->reference->samples : i;
  return query ? s->query : s->reference;
}

static comp_status make_sparse(comp_matrix **out, const comp__sides *s, size_t samples, size_t features, float *row) {
  size_t nnz = 0, at;
  for (size_t i = 0; i < samples; i++) {
    const comp__aligned *side = side_of(&at, s, i);
    comp__aligned_row(row, side, at);
    for (size_t g = 0; g < features; g++) nnz += row[g] != 0.0f;
  }
  comp_status status = comp_matrix_new_csr(out, samples, features, nnz);
  nnz = 0;
  for (size_t i = 0; status == COMP_OK && i < samples; i++) {
    const comp__aligned *side = side_of(&at, s, i);
    comp__aligned_row(row, side, at);
    for (size_t g = 0; g < features; g++) {
      if (row[g] == 0.0f) continue;
      (*out)->indices[nnz] = (int32_t)g;
      (*out)->values[nnz++] = row[g];
    }
    (*out)->indptr[i + 1] = (int64_t)nnz;
  }
  return status;
}

static comp_status make_values(comp_matrix **out, const comp__sides *s) {
  const size_t samples = s->reference->samples + s->query->samples, features = s->reference->model->network.features;
  float *row = NULL;
  size_t at;
  comp_status status;
  COMP__TRY(comp__alloc(&row, features, sizeof *row));
  if (s->reference->x->kind == COMP_CSR && s->query->x->kind == COMP_CSR) {
    status = make_sparse(out, s, samples, features, row);
  } else {
    COMP__TRY(comp__matrix_new_dense_raw(out, samples, features));
    for (size_t i = 0; i < samples; i++) {
      const comp__aligned *side = side_of(&at, s, i);
      comp__aligned_row((*out)->values + i * features, side, at);
    }
  }
done:
  comp__free(row);
  return status;
}

static comp_status make_embedding(comp_matrix **out, const comp__sides *s) {
  const size_t first = s->z_reference->rows * s->z_reference->cols, second = s->z->rows * s->z->cols;
  const comp_status status = comp__matrix_new_dense_raw(out, s->z_reference->rows + s->z->rows, s->z->cols);
  if (status != COMP_OK) return status;
  memcpy((*out)->values, s->z_reference->values, first * sizeof(float));
  memcpy((*out)->values + first, s->z->values, second * sizeof(float));
  return COMP_OK;
}

static comp_status make_names(comp__strings *out, const comp__sides *s) {
  const comp__strings *old = &s->reference_data->obs_names, *new = &s->query_data->obs_names;
  comp__string_index index = {0};
  char longer[1024];
  comp_status status;
  COMP__TRY(comp__strings_select(out, old, NULL, 0));
  COMP__TRY(comp__string_index_init(&index, old, NULL));
  for (size_t i = 0; i < new->count; i++) {
    const char *name = comp__strings_get(new, i);
    if (name && comp__string_index_find(&index, name) != SIZE_MAX) {
      snprintf(longer, sizeof longer, "%.1000s-query", name);
      name = longer;
    }
    COMP__TRY(comp__strings_append(out, name ? name : "", name ? strlen(name) : 0));
  }
done:
  comp__string_index_release(&index);
  return status;
}

/* ---- Columns --------------------------------------------------------------------------------------------------- */

/* A column of text of both sides, each of which may lack it (NULL). */
static comp_status add_text(comp_table *obs, const char *name, const comp_groups *reference, const comp_groups *query,
                            size_t n_reference) {
  const comp_groups *sides[] = {reference, query};
  const size_t rows = comp_table_row_count(obs);
  const char **values = NULL;
  comp_table *text = NULL;
  comp_groups groups = {0};
  comp_status status;
  COMP__TRY(comp__calloc(&values, rows, sizeof *values));
  for (size_t i = 0; i < rows; i++) {
    const bool second = i >= n_reference;
    const comp_groups *side = sides[second];
    const int32_t code = side && side->codes ? side->codes[second ? i - n_reference : i] : -1;
    values[i] = code < 0 ? NULL : side->levels[code];
  }
  COMP__TRY(comp_table_new(&text, rows));
  COMP__TRY(comp_table_add_strings(text, name, values));
  COMP__TRY(comp_table_groups(&groups, text, 0));
  COMP__TRY(comp_table_add_categorical(obs, name, groups.codes, (const char *const *)groups.levels, groups.n_levels));
done:
  comp__free(values);
  comp_table_free(text);
  comp_groups_release(&groups);
  return status;
}

static comp_status groups_of(comp_groups *out, const comp_table *table, const char *name) {
  const size_t column = comp_table_find(table, name);
  *out = (comp_groups){0};
  return column == COMP_NOT_FOUND ? COMP_OK : comp_table_groups(out, table, column);
}

static comp_status add_label(comp_table *obs, const comp__sides *s) {
  comp_groups reference = {0}, query = {0}, predicted = {0};
  char name[512];
  comp_status status;
  if (!s->label) return COMP_OK;
  COMP__TRY(groups_of(&reference, comp_dataset_obs(s->reference_data), s->label));
  COMP__TRY(groups_of(&query, comp_dataset_obs(s->query_data), s->label));
  COMP__TRY(
      add_text(obs, s->label, reference.codes ? &reference : NULL, query.codes ? &query : NULL, s->reference->samples));
  snprintf(name, sizeof name, "%s_predicted", s->label);
  COMP__TRY(groups_of(&predicted, s->obs, name));
  COMP__TRY(add_text(obs, name, NULL, &predicted, s->reference->samples));
done:
  comp_groups_release(&reference);
  comp_groups_release(&query);
  comp_groups_release(&predicted);
  return status;
}

static comp_status add_condition(comp_table *obs, const comp__sides *s) {
  const comp_model *model = s->query->model; /* it knows the conditions of both sides */
  const size_t rows = comp_table_row_count(obs), n = s->reference->samples;
  const char **levels = NULL;
  int32_t *codes = NULL;
  comp_status status;
  if (!s->query->codes || !s->reference->codes) return COMP_OK;
  COMP__TRY(comp__alloc(&levels, comp_model_level_count(model), sizeof *levels));
  COMP__TRY(comp__alloc(&codes, rows, sizeof *codes));
  for (size_t k = 0; k < comp_model_level_count(model); k++) levels[k] = comp_model_level_name(model, k);
  memcpy(codes, s->reference->codes, n * sizeof *codes);
  memcpy(codes + n, s->query->codes, s->query->samples * sizeof *codes);
  COMP__TRY(comp_table_add_categorical(obs, comp_model_condition(model), codes, levels, comp_model_level_count(model)));
done:
  comp__free(levels);
  comp__free(codes);
  return status;
}

static comp_status add_roles(comp_table *obs, const comp__sides *s) {
  const size_t n = s->reference->samples, unknown = comp_table_find(s->obs, "comp_unknown");
  int32_t *codes = NULL;
  comp_status status = comp__calloc(&codes, comp_table_row_count(obs), sizeof *codes);
  for (size_t i = 0; status == COMP_OK && i < s->query->samples; i++)
    codes[n + i] = comp_table_bool(s->obs, unknown, i) > 0 ? 2 : 1;
  if (status == COMP_OK) status = comp_table_add_categorical(obs, "comp_role", codes, ROLES, 3);
  comp__free(codes);
  return status;
}

/* The numbers of the mapping; NaN in the reference. */
static comp_status add_numbers(comp_table *obs, const comp__sides *s) {
  const size_t n = s->reference->samples, rows = comp_table_row_count(obs);
  double *values = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&values, rows, sizeof *values));
  for (size_t i = 0; i < n; i++) values[i] = NAN;
  for (size_t c = 0; c < comp_table_column_count(s->obs); c++) {
    const double *own;
    if (comp_table_column_kind(s->obs, c) != COMP_COLUMN_NUMBER) continue;
    COMP__TRY(comp_table_numbers(&own, s->obs, c));
    memcpy(values + n, own, s->query->samples * sizeof *values);
    COMP__TRY(comp_table_add_numbers(obs, comp_table_column_name(s->obs, c), values, false));
  }
done:
  comp__free(values);
  return status;
}

comp_status comp__map_together(comp_dataset **out, const comp__sides *s) {
  comp__strings names = {0}, features = {0};
  comp_matrix *x = NULL, *z = NULL;
  comp_dataset *d = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(make_names(&names, s));
  COMP__TRY(comp__strings_select(&features, &s->reference->model->features, NULL, 0));
  COMP__TRY(make_values(&x, s));
  COMP__TRY(comp__dataset_new(&d, &names, &features));
  d->x = x;
  x = NULL;
  COMP__TRY(make_embedding(&z, s));
  COMP__TRY(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_comp", z));
  COMP__TRY(add_roles(d->obs, s));
  COMP__TRY(add_condition(d->obs, s));
  COMP__TRY(add_label(d->obs, s));
  COMP__TRY(add_numbers(d->obs, s));
  COMP__TRY(comp_dataset_set_record(d, comp_dataset_record(s->reference->dataset)));
  *out = d;
  d = NULL;
done:
  comp__strings_release(&names);
  comp__strings_release(&features);
  comp_matrix_free(x);
  comp_dataset_free(d);
  return status;
}
