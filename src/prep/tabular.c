/*
 * tabular.c: from a table of numbers and names to a matrix of features. A plan says how; making it looks at the data,
 * applying it does not.
 */
#include "prep/tabular.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "prep/options.h"
#include "prep/record.h"

enum { UNKNOWN = -1 };

comp_status comp__tabular_check(const comp__tabular_options *o) {
  for (size_t i = 0; i < o->n_merge; i++) {
    comp__merge merge;
    comp_status status = comp__merge_parse(&merge, o->merge[i]);
    if (status != COMP_OK) return status;
    comp__free(merge.column);
  }
  return COMP_OK;
}

static bool in_list(const char *const *list, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

static comp_status append(comp__strings *strings, const char *text) {
  return comp__strings_append(strings, text, strlen(text));
}

static bool in_strings(const comp__strings *strings, const char *name) {
  for (size_t i = 0; i < strings->count; i++)
    if (strcmp(comp__strings_get(strings, i), name) == 0) return true;
  return false;
}

/* ---- Rows ---- */

/* Whether the plan reads this column: then its missing values count. */
static bool is_used(const comp__tabular *plan, const char *name) {
  for (size_t c = 0; c < plan->n_columns; c++)
    if (strcmp(plan->columns[c].name, name) == 0) return true;
  return in_strings(&plan->obs, name);
}

static comp_status refuse_row(const comp_table *table, size_t column, size_t row, size_t first_row) {
  return comp__error(COMP_ERR_DATA,
                     "row %zu has no value in column '%s'; leave out such rows (--drop-missing) or the column (--drop)",
                     row + first_row, comp_table_column_name(table, column));
}

/* The rows without missing values; with COMP_MISSING_REFUSE all, or an error. */
static comp_status complete_rows(size_t **out, size_t *count, const comp__tabular *plan, comp_context *context,
                                 const comp_table *table) {
  comp_status status;
  size_t n = comp_table_row_count(table), columns = comp_table_column_count(table);
  size_t *rows = NULL;
  bool *used = NULL;
  *count = 0;
  COMP__TRY(comp__alloc(&rows, n, sizeof *rows));
  COMP__TRY(comp__alloc(&used, columns, sizeof *used));
  for (size_t c = 0; c < columns; c++) used[c] = is_used(plan, comp_table_column_name(table, c));
  for (size_t i = 0; i < n; i++) {
    size_t c = 0;
    while (c < columns && !(used[c] && comp__is_missing(table, c, i))) c++;
    if (c < columns && plan->missing == COMP_MISSING_REFUSE) {
      status = refuse_row(table, c, i, 1);
      goto done;
    }
    if (c == columns) rows[(*count)++] = i;
  }
  if (*count == 0) COMP__FAIL(COMP_ERR_DATA, "no row of %zu has a value in every column", n);
  if (*count < n) comp__info(context, "dropped %zu of %zu rows, which have missing values", n - *count, n);
  *out = rows;
  rows = NULL;
done:
  comp__free(rows);
  comp__free(used);
  return status;
}

/* A copy of the table with values merged and incomplete rows left out; `rows` gets the numbers of those that stay. */
static comp_status clean_table(comp_table **out, size_t **rows, size_t *n_rows, const comp__tabular *plan,
                               comp_context *context, const comp_table *table) {
  comp_status status;
  comp_table *merged = NULL;
  *out = NULL;
  *rows = NULL;
  COMP__TRY(comp__table_copy(&merged, table));
  for (size_t i = 0; i < plan->merge.count; i++)
    COMP__TRY(comp__merge_apply(merged, context, comp__strings_get(&plan->merge, i)));
  COMP__TRY(complete_rows(rows, n_rows, plan, context, merged));
  COMP__TRY(comp_table_select(out, merged, *rows, *n_rows));
done:
  comp_table_free(merged);
  return status;
}

/* ---- Making a plan ---- */

static comp_status require_all(const comp_table *table, const char *const *names, size_t n, const char *option) {
  for (size_t i = 0; i < n; i++) {
    size_t column;
    comp_status status = comp_table_require(&column, table, names[i]);
    if (status != COMP_OK) return comp__error_context(status, "%s", option);
  }
  return COMP_OK;
}

/* Which columns give features; numbers before categories, as pandas.get_dummies has them. */
static comp_status plan_columns(comp__tabular *plan, const comp_table *table, const comp__tabular_options *o) {
  comp_status status;
  COMP__TRY(require_all(table, o->obs, o->n_obs, "obs"));
  COMP__TRY(require_all(table, o->drop, o->n_drop, "drop"));
  if (o->names) COMP__TRY(require_all(table, &o->names, 1, "names"));
  COMP__TRY(comp__strdup(&plan->names, o->names));
  plan->missing = o->missing;
  plan->standardize = !o->raw;
  for (size_t i = 0; i < o->n_merge; i++) COMP__TRY(append(&plan->merge, o->merge[i]));
  for (int categories = 0; categories < 2; categories++)
    for (size_t c = 0; c < comp_table_column_count(table); c++) {
      const char *name = comp_table_column_name(table, c);
      comp_column_kind kind = comp_table_column_kind(table, c);
      bool category = kind == COMP_COLUMN_STRING || kind == COMP_COLUMN_CATEGORICAL;
      bool to_obs = in_list(o->obs, o->n_obs, name);
      if (in_list(o->drop, o->n_drop, name) || (o->names && strcmp(o->names, name) == 0)) continue;
      if (to_obs && !categories) COMP__TRY(append(&plan->obs, name));
      if (!to_obs && category == (bool)categories) COMP__TRY(comp__tabular_add_column(plan, name, category));
    }
  if (plan->n_columns == 0) COMP__FAIL(COMP_ERR_DATA, "no column is left to make features of");
done:
  return status;
}

static int compare_strings(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The levels that occur in a column, sorted by bytes. */
static comp_status plan_levels(comp__encoded *column, comp_context *context, const comp_table *table) {
  comp_status status;
  comp_groups groups = {0};
  size_t c;
  COMP__TRY(comp_table_require(&c, table, column->name));
  COMP__TRY(comp_table_groups(&groups, table, c));
  qsort(groups.levels, groups.n_levels, sizeof *groups.levels, compare_strings);
  for (size_t l = 0; l < groups.n_levels; l++) COMP__TRY(append(&column->levels, groups.levels[l]));
  if (groups.n_levels > 100 && groups.n_levels > groups.rows / 2)
    comp__warn(context, "column '%s' has %zu different values in %zu rows: is it a name, to be dropped?", column->name,
               groups.n_levels, groups.rows);
done:
  comp_groups_release(&groups);
  return status;
}

static comp_status plan_features(comp__tabular *plan, const comp__tabular_options *o) {
  comp_status status = COMP_OK;
  char name[1024];
  for (size_t c = 0; c < plan->n_columns; c++) {
    const comp__encoded *column = &plan->columns[c];
    size_t levels = column->category ? column->levels.count : 1;
    for (size_t l = 0; l < levels; l++) {
      const char *level = column->category ? comp__strings_get(&column->levels, l) : NULL;
      snprintf(name, sizeof name, "%s%s%s", column->name, level ? "_" : "", level ? level : "");
      if (in_list(o->drop_features, o->n_drop_features, name)) continue;
      COMP__TRY(comp__tabular_add_feature(plan, name, c, l));
    }
  }
  if (plan->n_features == 0) COMP__FAIL(COMP_ERR_DATA, "no feature is left");
done:
  return status;
}

/* A column "a_b" and the level b of a column "a" would be two features of one name. */
static comp_status check_unique(const comp__tabular *plan) {
  comp_status status = COMP_OK;
  comp__strings names = {0};
  comp__string_index index = {0};
  size_t duplicate;
  for (size_t f = 0; f < plan->n_features; f++) COMP__TRY(append(&names, plan->features[f].name));
  COMP__TRY(comp__string_index_init(&index, &names, &duplicate));
  if (duplicate != SIZE_MAX)
    COMP__FAIL(COMP_ERR_DATA, "two features would be called '%s': rename one of their columns",
               comp__strings_get(&names, duplicate));
done:
  comp__string_index_release(&index);
  comp__strings_release(&names);
  return status;
}

/* A feature to drop that was never made is a spelling error. */
static comp_status check_drops(const comp__tabular *plan, const comp__tabular_options *o) {
  comp_status status = COMP_OK;
  comp__strings names = {0};
  char name[1024];
  for (size_t c = 0; c < plan->n_columns; c++) {
    const comp__encoded *column = &plan->columns[c];
    if (!column->category) COMP__TRY(append(&names, column->name));
    for (size_t l = 0; l < column->levels.count; l++) {
      snprintf(name, sizeof name, "%s_%s", column->name, comp__strings_get(&column->levels, l));
      COMP__TRY(append(&names, name));
    }
  }
  for (size_t i = 0; i < o->n_drop_features; i++) {
    if (in_strings(&names, o->drop_features[i])) continue;
    COMP__FAIL(COMP_ERR_DATA, "drop_features: there is no feature '%s'%s", o->drop_features[i],
               comp__strings_hint(&names, o->drop_features[i]).text);
  }
done:
  comp__strings_release(&names);
  return status;
}

/* ---- Values ---- */

/* The columns of a cleaned table as the plan reads them: numbers, or codes into the plan's levels. */
typedef struct values {
  const comp__tabular *plan;
  size_t rows;
  double *numbers; /* [columns x rows] */
} values;

static comp_status read_numbers(double *out, const comp_table *table, size_t c) {
  for (size_t i = 0; i < comp_table_row_count(table); i++) {
    bool number = comp_table_column_kind(table, c) == COMP_COLUMN_NUMBER;
    out[i] = number ? comp_table_number(table, c, i) : (double)comp_table_bool(table, c, i);
    if (!isfinite(out[i]))
      return comp__error(COMP_ERR_DATA, "column '%s', row %zu is not a finite number", comp_table_column_name(table, c),
                         i + 1);
  }
  return COMP_OK;
}

static comp_status read_codes(double *out, comp_context *context, const comp_table *table, size_t c,
                              const comp__encoded *column) {
  comp__string_index index;
  comp_status status = comp__string_index_init(&index, &column->levels, NULL);
  if (status != COMP_OK) return status;
  size_t unknown = 0, example = 0;
  char buffer[64];
  for (size_t i = 0; i < comp_table_row_count(table); i++) {
    const char *text = comp__text_of(table, c, i, buffer, sizeof buffer);
    size_t level = text ? comp__string_index_find(&index, text) : SIZE_MAX;
    out[i] = level == SIZE_MAX ? UNKNOWN : (double)level;
    if (level == SIZE_MAX && unknown++ == 0) example = i;
  }
  if (unknown > 0)
    comp__warn(context,
               "%zu rows have values in column '%s' that are not known, such as '%s': they count as none of "
               "the known ones",
               unknown, column->name, comp__text_of(table, c, example, buffer, sizeof buffer));
  comp__string_index_release(&index);
  return COMP_OK;
}

static comp_status read_values(values *v, comp_context *context, const comp_table *table) {
  comp_status status;
  size_t room;
  v->rows = comp_table_row_count(table);
  if (!comp__size_mul(&room, v->rows, v->plan->n_columns)) room = SIZE_MAX;
  COMP__TRY(comp__alloc(&v->numbers, room, sizeof *v->numbers));
  for (size_t k = 0; k < v->plan->n_columns; k++) {
    const comp__encoded *column = &v->plan->columns[k];
    double *out = v->numbers + k * v->rows;
    size_t c;
    COMP__TRY(comp_table_require(&c, table, column->name));
    comp_column_kind kind = comp_table_column_kind(table, c);
    if (column->category)
      COMP__TRY(read_codes(out, context, table, c, column));
    else if (kind == COMP_COLUMN_NUMBER || kind == COMP_COLUMN_BOOL)
      COMP__TRY(read_numbers(out, table, c));
    else
      COMP__FAIL(COMP_ERR_DATA, "column '%s' holds text, but it held numbers in the data that the encoding was made of",
                 column->name);
  }
done:
  return status;
}

static double value_at(const values *v, const comp__feature *f, size_t row) {
  double number = v->numbers[f->column * v->rows + row];
  return v->plan->columns[f->column].category ? (double)(number == (double)f->level) : number;
}

typedef struct measuring {
  const values *v;
  comp__feature *features;
} measuring;

/* Mean and deviation (divided by n). What varies only by rounding is constant. */
static void measure_features(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const measuring *m = arg;
  double n = (double)m->v->rows;
  for (size_t k = begin; k < end; k++) {
    comp__feature *f = &m->features[k];
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < m->v->rows; i++) sum += value_at(m->v, f, i);
    f->mean = sum / n;
    for (size_t i = 0; i < m->v->rows; i++) {
      double difference = value_at(m->v, f, i) - f->mean;
      squares += difference * difference;
    }
    f->sd = sqrt(squares / n);
    if (f->sd <= 10.0 * DBL_EPSILON * fabs(f->mean)) f->sd = 0.0;
  }
}

static void measure(comp__tabular *plan, comp_context *context, const values *v) {
  if (!plan->standardize) return;
  measuring m = {v, plan->features};
  comp__parallel_for(context, plan->n_features, 1, measure_features, &m);
  size_t constant = 0;
  const char *first = NULL;
  for (size_t f = 0; f < plan->n_features; f++)
    if (plan->features[f].sd == 0.0 && constant++ == 0) first = plan->features[f].name;
  if (constant > 0)
    comp__warn(context, "%zu features are constant and become 0: '%s'%s", constant, first, constant > 1 ? ", ..." : "");
}

typedef struct filling {
  const values *v;
  comp_matrix *x;
} filling;

static void fill_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const filling *f = arg;
  const comp__tabular *plan = f->v->plan;
  for (size_t row = begin; row < end; row++)
    for (size_t k = 0; k < plan->n_features; k++) {
      const comp__feature *feature = &plan->features[k];
      double value = value_at(f->v, feature, row);
      if (plan->standardize) value = feature->sd > 0.0 ? (value - feature->mean) / feature->sd : 0.0;
      f->x->values[row * f->x->cols + k] = (float)value;
    }
}

/* ---- The data set ---- */

static comp_status copy_obs(comp_dataset *d, const comp__tabular *plan, const comp_table *table) {
  comp_status status;
  comp_table *obs = NULL;
  COMP__TRY(comp__table_copy(&obs, table));
  for (size_t c = comp_table_column_count(obs); c-- > 0;)
    if (!in_strings(&plan->obs, comp_table_column_name(obs, c))) comp_table_remove(obs, c);
  comp_table_free(d->obs);
  d->obs = obs;
done:
  return status;
}

static comp_status row_names(comp__strings *out, const comp__tabular *plan, const comp_table *table,
                             const size_t *rows) {
  comp_status status = COMP_OK;
  size_t column = COMP_NOT_FOUND;
  char buffer[64];
  if (plan->names) COMP__TRY(comp_table_require(&column, table, plan->names));
  for (size_t i = 0; i < comp_table_row_count(table); i++) {
    const char *text = column == COMP_NOT_FOUND ? NULL : comp__text_of(table, column, i, buffer, sizeof buffer);
    if (!text) { /* the number of the row in the input, as pandas would keep it */
      snprintf(buffer, sizeof buffer, "%zu", rows[i]);
      text = buffer;
    }
    COMP__TRY(append(out, text));
  }
done:
  return status;
}

/* The data set of a cleaned table, with the plan in its record. */
static comp_status build(comp_dataset **out, comp_context *context, const values *v, const comp_table *table,
                         const size_t *rows) {
  const comp__tabular *plan = v->plan;
  comp_status status;
  comp__strings obs = {0}, var = {0};
  comp_dataset *d = NULL;
  for (size_t f = 0; f < plan->n_features; f++) COMP__TRY(append(&var, plan->features[f].name));
  COMP__TRY(row_names(&obs, plan, table, rows));
  COMP__TRY(comp__dataset_new(&d, &obs, &var));
  COMP__TRY(comp__matrix_new_dense_raw(&d->x, v->rows, plan->n_features));
  filling f = {v, d->x};
  comp__parallel_for(context, v->rows, 256, fill_rows, &f);
  COMP__TRY(copy_obs(d, plan, table));
  COMP__TRY(comp__record_step(d, comp__tabular_to_json(plan)));
  *out = d;
  d = NULL;
done:
  comp_dataset_free(d);
  comp__strings_release(&obs);
  comp__strings_release(&var);
  return status;
}

comp_status comp__tabular_encode(comp_dataset **out, comp_context *context, const comp_table *table,
                                 const comp__tabular_options *options) {
  *out = NULL;
  comp_status status;
  comp__tabular plan = {0};
  values v = {&plan, 0, NULL};
  comp_table *clean = NULL;
  size_t *rows = NULL, n_rows;
  COMP__TRY(comp__tabular_check(options));
  COMP__TRY(plan_columns(&plan, table, options));
  COMP__TRY(clean_table(&clean, &rows, &n_rows, &plan, context, table));
  for (size_t c = 0; c < plan.n_columns; c++)
    if (plan.columns[c].category) COMP__TRY(plan_levels(&plan.columns[c], context, clean));
  COMP__TRY(check_drops(&plan, options));
  COMP__TRY(plan_features(&plan, options));
  COMP__TRY(check_unique(&plan));
  COMP__TRY(read_values(&v, context, clean));
  measure(&plan, context, &v);
  COMP__TRY(build(out, context, &v, clean, rows));
done:
  comp__free(v.numbers);
  comp__free(rows);
  comp_table_free(clean);
  comp__tabular_release(&plan);
  return status;
}

comp_status comp_tabular_apply(comp_dataset **out, comp_context *context, const comp_table *table, const char *record) {
  COMP__NEED_OUT(out, context, table, record);
  *out = NULL;
  comp_status status;
  json_t *parsed = NULL;
  comp__tabular plan = {0};
  values v = {&plan, 0, NULL};
  comp_table *clean = NULL;
  size_t *rows = NULL, n_rows;
  COMP__TRY(comp__record_parse(&parsed, record));
  json_t *step = comp__record_find(parsed, "tabular");
  if (!step) COMP__FAIL(COMP_ERR_FORMAT, "the record holds no encoding of a table");
  COMP__TRY(comp__tabular_from_json(&plan, step));
  COMP__TRY(clean_table(&clean, &rows, &n_rows, &plan, context, table));
  COMP__TRY(read_values(&v, context, clean));
  COMP__TRY(build(out, context, &v, clean, rows));
done:
  comp__free(v.numbers);
  comp__free(rows);
  comp_table_free(clean);
  comp__tabular_release(&plan);
  json_decref(parsed);
  return status;
}

comp_status comp_tabular_encode(comp_dataset **out, comp_context *context, const comp_table *table,
                                const comp_options *options) {
  COMP__NEED_OUT(out, context, table);
  comp__tabular_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__tabular_kind, options);
  return status == COMP_OK ? comp__tabular_encode(out, context, table, &plain) : status;
}
