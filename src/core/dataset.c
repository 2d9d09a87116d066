/* dataset.c: a matrix with the names and tables of its rows and columns. */
#include "core/dataset.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"

static const char *const slot_names[] = {"layers", "obsm", NULL};
COMP__ENUM_NAMES(comp_slot, slot_names, "slot")

/* Neither JSON nor HDF5 can hold other text. */
static comp_status check_text(const char *text, const char *what) {
  if (comp__utf8_valid(text, strlen(text), NULL)) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "%s is not valid UTF-8", what);
}

/* "0", "1", ... : what AnnData calls rows that have no name. */
static comp_status make_names(comp__strings *out, const char *const *names, size_t n) {
  char number[32];
  for (size_t i = 0; i < n; i++) {
    const char *name = names ? names[i] : number;
    if (!names) snprintf(number, sizeof number, "%zu", i);
    if (!name) return comp__error(COMP_ERR_ARGUMENT, "name %zu of %zu is NULL", i, n);
    if (!comp__utf8_valid(name, strlen(name), NULL))
      return comp__error(COMP_ERR_ARGUMENT, "name %zu of %zu is not valid UTF-8", i, n);
    comp_status status = comp__strings_append(out, name, strlen(name));
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp__dataset_new(comp_dataset **out, comp__strings *obs_names, comp__strings *var_names) {
  *out = NULL;
  comp_dataset *dataset = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&dataset, 1, sizeof *dataset));
  dataset->samples = obs_names->count;
  dataset->features = var_names->count;
  dataset->obs_names = *obs_names;
  dataset->var_names = *var_names;
  *obs_names = (comp__strings){0};
  *var_names = (comp__strings){0};
  COMP__TRY(comp_table_new(&dataset->obs, dataset->samples));
  COMP__TRY(comp_table_new(&dataset->var, dataset->features));
  *out = dataset;
done:
  comp__strings_release(obs_names);
  comp__strings_release(var_names);
  if (status != COMP_OK) comp_dataset_free(dataset);
  return status;
}

comp_status comp_dataset_new_without_x(comp_dataset **out, size_t samples, size_t features,
                                       const char *const *obs_names, const char *const *var_names) {
  COMP__NEED(out);
  *out = NULL;
  comp_status status;
  comp__strings obs = {0}, var = {0};
  COMP__TRY(make_names(&obs, obs_names, samples));
  COMP__TRY(make_names(&var, var_names, features));
  return comp__dataset_new(out, &obs, &var);
done:
  comp__strings_release(&obs);
  comp__strings_release(&var);
  return status;
}

/* What is NULL, of a function that has taken a matrix over. */
static comp_status refuse(comp_matrix *taken, const char *function, const char *names, const bool *given,
                          size_t count) {
  comp_matrix_free(taken);
  return comp__need(function, names, given, count);
}

comp_status comp_dataset_new(comp_dataset **out, comp_matrix *x, const char *const *obs_names,
                             const char *const *var_names) {
  if (out) *out = NULL;
  if (!out || !x) return refuse(x, __func__, "out, x", (const bool[]){out, x}, 2);
  comp_status status = comp_dataset_new_without_x(out, x->rows, x->cols, obs_names, var_names);
  if (status == COMP_OK)
    (*out)->x = x;
  else
    comp_matrix_free(x);
  return status;
}

void comp_dataset_free(comp_dataset *dataset) {
  if (!dataset) return;
  comp_matrix_free(dataset->x);
  comp__strings_release(&dataset->obs_names);
  comp__strings_release(&dataset->var_names);
  comp_table_free(dataset->obs);
  comp_table_free(dataset->var);
  for (int s = 0; s < 2; s++) {
    for (size_t i = 0; i < dataset->slots[s].count; i++) {
      comp__free(dataset->slots[s].entries[i].name);
      comp_matrix_free(dataset->slots[s].entries[i].matrix);
    }
    comp__free(dataset->slots[s].entries);
  }
  comp__free(dataset->record);
  comp_dataset_free(dataset->raw);
  comp__free(dataset);
}

size_t comp_dataset_sample_count(const comp_dataset *dataset) {
  return dataset->samples;
}
size_t comp_dataset_feature_count(const comp_dataset *dataset) {
  return dataset->features;
}
const comp_dataset *comp_dataset_raw(const comp_dataset *dataset) {
  return dataset->raw;
}
comp_matrix *comp_dataset_x(const comp_dataset *dataset) {
  return dataset->x;
}
comp_table *comp_dataset_obs(const comp_dataset *dataset) {
  return dataset->obs;
}
comp_table *comp_dataset_var(const comp_dataset *dataset) {
  return dataset->var;
}

const char *comp_dataset_obs_name(const comp_dataset *dataset, size_t i) {
  return comp__strings_get(&dataset->obs_names, i);
}

const char *comp_dataset_var_name(const comp_dataset *dataset, size_t j) {
  return comp__strings_get(&dataset->var_names, j);
}

void comp_dataset_obs_names(const char **out, const comp_dataset *dataset) {
  comp__strings_list(out, &dataset->obs_names);
}

void comp_dataset_var_names(const char **out, const comp_dataset *dataset) {
  comp__strings_list(out, &dataset->var_names);
}

static comp_status set_names(comp__strings *names, const char *const *values, size_t n) {
  comp__strings made = {0};
  comp_status status = make_names(&made, values, n);
  if (status != COMP_OK) {
    comp__strings_release(&made);
    return status;
  }
  comp__strings_release(names);
  *names = made;
  return COMP_OK;
}

comp_status comp_dataset_set_obs_names(comp_dataset *dataset, const char *const *names) {
  COMP__NEED(dataset, names || !dataset || !dataset->samples);
  return set_names(&dataset->obs_names, names, dataset->samples);
}

comp_status comp_dataset_set_var_names(comp_dataset *dataset, const char *const *names) {
  COMP__NEED(dataset, names || !dataset || !dataset->features);
  return set_names(&dataset->var_names, names, dataset->features);
}

size_t comp_dataset_find_var(const comp_dataset *dataset, const char *name) {
  for (size_t j = 0; j < dataset->features; j++)
    if (strcmp(comp__strings_get(&dataset->var_names, j), name) == 0) return j;
  return COMP_NOT_FOUND;
}

comp_status comp_dataset_set_x(comp_dataset *dataset, comp_matrix *x) {
  if (!dataset || !x) return refuse(x, __func__, "dataset, x", (const bool[]){dataset, x}, 2);
  if (x->rows != dataset->samples || x->cols != dataset->features) {
    comp_status status = comp__error(COMP_ERR_ARGUMENT, "a matrix of %zu x %zu cannot be the X of %zu x %zu", x->rows,
                                     x->cols, dataset->samples, dataset->features);
    comp_matrix_free(x);
    return status;
  }
  comp_matrix_free(dataset->x);
  dataset->x = x;
  return COMP_OK;
}

/* Other languages pass any number: one that is no slot holds nothing. */
static bool is_slot(comp_slot slot) {
  return slot == COMP_SLOT_LAYERS || slot == COMP_SLOT_OBSM;
}

size_t comp_dataset_matrix_count(const comp_dataset *dataset, comp_slot slot) {
  return is_slot(slot) ? dataset->slots[slot].count : 0;
}

const char *comp_dataset_matrix_name(const comp_dataset *dataset, comp_slot slot, size_t index) {
  return index < comp_dataset_matrix_count(dataset, slot) ? dataset->slots[slot].entries[index].name : NULL;
}

static comp__named_matrix *find_entry(const comp_dataset *dataset, comp_slot slot, const char *name) {
  for (size_t i = 0; i < comp_dataset_matrix_count(dataset, slot); i++) {
    comp__named_matrix *entry = &dataset->slots[slot].entries[i];
    if (strcmp(entry->name, name) == 0) return entry;
  }
  return NULL;
}

comp_matrix *comp_dataset_matrix(const comp_dataset *dataset, comp_slot slot, const char *name) {
  comp__named_matrix *entry = find_entry(dataset, slot, name);
  return entry ? entry->matrix : NULL;
}

static comp_status check_shape(const comp_dataset *dataset, comp_slot slot, const char *name, const comp_matrix *m) {
  bool fits = m->rows == dataset->samples;
  if (slot == COMP_SLOT_LAYERS)
    fits = fits && m->cols == dataset->features;
  else
    fits = fits && m->kind == COMP_DENSE;
  if (fits) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "a %s matrix of %zu x %zu cannot be '%s' in %s of %zu x %zu",
                     m->kind == COMP_DENSE ? "dense" : "sparse", m->rows, m->cols, name, comp_slot_name(slot),
                     dataset->samples, dataset->features);
}

comp_status comp_dataset_set_matrix(comp_dataset *dataset, comp_slot slot, const char *name, comp_matrix *matrix) {
  if (!dataset || !name || !matrix)
    return refuse(matrix, __func__, "dataset, name, matrix", (const bool[]){dataset, name, matrix}, 3);
  comp_status status;
  if (!is_slot(slot)) COMP__FAIL(COMP_ERR_ARGUMENT, "%d is no place for matrices of a data set", (int)slot);
  comp__slot *s = &dataset->slots[slot];
  COMP__TRY(check_text(name, "the name of a matrix"));
  COMP__TRY(check_shape(dataset, slot, name, matrix));
  comp__named_matrix *entry = find_entry(dataset, slot, name);
  if (!entry) {
    COMP__TRY(comp__grow(&s->entries, &s->capacity, s->count, s->count + 1, sizeof *s->entries));
    entry = &s->entries[s->count];
    *entry = (comp__named_matrix){NULL, NULL, false};
    COMP__TRY(comp__strdup(&entry->name, name));
    s->count++;
  }
  comp_matrix_free(entry->matrix);
  entry->matrix = matrix;
  entry->from_file = false;
  return COMP_OK;
done:
  comp_matrix_free(matrix);
  return status;
}

void comp_dataset_remove_matrix(comp_dataset *dataset, comp_slot slot, const char *name) {
  comp__named_matrix *entry = find_entry(dataset, slot, name);
  if (!entry) return;
  comp__slot *s = &dataset->slots[slot];
  comp_matrix_free(entry->matrix);
  comp__free(entry->name);
  size_t after = s->count - (size_t)(entry - s->entries) - 1;
  memmove(entry, entry + 1, after * sizeof *entry);
  s->count--;
}

comp_status comp__dataset_need_x(const comp_dataset *dataset) {
  return dataset->x ? COMP_OK : comp__error(COMP_ERR_ARGUMENT, "the data set has no X: it was read without");
}

const char *comp_dataset_record(const comp_dataset *dataset) {
  return dataset->record;
}

comp_status comp_dataset_set_record(comp_dataset *dataset, const char *json) {
  COMP__NEED(dataset);
  char *copy = NULL;
  comp_status status = json ? check_text(json, "a record") : COMP_OK;
  if (status == COMP_OK) status = comp__strdup(&copy, json);
  if (status != COMP_OK) return status;
  comp__free(dataset->record);
  dataset->record = copy;
  return COMP_OK;
}

static comp_status select_slot(comp_dataset *to, comp_slot slot, comp_context *context, const comp_dataset *from,
                               const size_t *rows, size_t n_rows, const size_t *cols, size_t n_cols) {
  for (size_t i = 0; i < from->slots[slot].count; i++) {
    const comp__named_matrix *entry = &from->slots[slot].entries[i];
    bool layer = slot == COMP_SLOT_LAYERS;
    comp_matrix *matrix;
    comp_status status =
        comp_matrix_select(&matrix, context, entry->matrix, rows, n_rows, layer ? cols : NULL, layer ? n_cols : 0);
    if (status == COMP_OK) status = comp_dataset_set_matrix(to, slot, entry->name, matrix);
    if (status != COMP_OK) return status;
    find_entry(to, slot, entry->name)->from_file = entry->from_file && !rows && !(layer && cols);
  }
  return COMP_OK;
}

/* A table's rows; NULL selects all. */
static comp_status select_table(comp_table **out, const comp_table *table, const size_t *rows, size_t n_rows) {
  size_t *all = NULL;
  comp_status status = COMP_OK;
  comp_table *selected = NULL;
  if (!rows) {
    n_rows = comp_table_row_count(table);
    COMP__TRY(comp__alloc(&all, n_rows, sizeof *all));
    for (size_t i = 0; i < n_rows; i++) all[i] = i;
  }
  COMP__TRY(comp_table_select(&selected, table, rows ? rows : all, n_rows));
  comp_table_free(*out);
  *out = selected;
done:
  comp__free(all);
  return status;
}

comp_status comp_dataset_select(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                                const size_t *rows, size_t n_rows, const size_t *cols, size_t n_cols) {
  COMP__NEED_OUT(out, context, dataset);
  *out = NULL;
  comp_status status;
  comp__strings obs = {0}, var = {0};
  comp_dataset *to = NULL;
  COMP__TRY(comp__strings_select(&obs, &dataset->obs_names, rows, n_rows));
  COMP__TRY(comp__strings_select(&var, &dataset->var_names, cols, n_cols));
  COMP__TRY(comp__dataset_new(&to, &obs, &var));
  if (dataset->x) COMP__TRY(comp_matrix_select(&to->x, context, dataset->x, rows, n_rows, cols, n_cols));
  COMP__TRY(select_table(&to->obs, dataset->obs, rows, n_rows));
  COMP__TRY(select_table(&to->var, dataset->var, cols, n_cols));
  COMP__TRY(select_slot(to, COMP_SLOT_LAYERS, context, dataset, rows, n_rows, cols, n_cols));
  COMP__TRY(select_slot(to, COMP_SLOT_OBSM, context, dataset, rows, n_rows, NULL, 0));
  COMP__TRY(comp_dataset_set_record(to, dataset->record));
  if (dataset->raw) COMP__TRY(comp_dataset_select(&to->raw, context, dataset->raw, rows, n_rows, NULL, 0));
  *out = to;
done:
  comp__strings_release(&obs);
  comp__strings_release(&var);
  if (status != COMP_OK) comp_dataset_free(to);
  return status;
}

static const char *nth_entry(const void *user, size_t i) {
  return ((const comp__slot *)user)->entries[i].name;
}

comp_hint comp__entry_hint(const comp_dataset *dataset, comp_slot slot, const char *name) {
  return comp__hint(name, dataset->slots[slot].count, nth_entry, &dataset->slots[slot]);
}
