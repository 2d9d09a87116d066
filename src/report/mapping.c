/* mapping.c: see mapping.h. */
#include "report/mapping.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

/* What is read of the file. */
typedef struct reading {
  comp_groups role, truth, predicted; /* the last two may be empty */
  int8_t *query, *unknown;            /* [rows] */
  int8_t *in_reference;               /* [labels of truth] */
  size_t n_reference, n_query, n_unknown, n_truth;
} reading;

static void release(reading *r) {
  comp_groups_release(&r->role);
  comp_groups_release(&r->truth);
  comp_groups_release(&r->predicted);
  comp__free(r->query);
  comp__free(r->unknown);
  comp__free(r->in_reference);
}

static comp_status read_column(comp_groups *out, const comp_table *obs, const char *name) {
  const size_t column = comp_table_find(obs, name);
  return column == COMP_NOT_FOUND ? COMP_OK : comp_table_groups(out, obs, column);
}

static comp_status read_sides(reading *r) {
  const size_t rows = r->role.rows;
  comp_status status;
  COMP__TRY(comp__calloc(&r->query, rows, sizeof *r->query));
  COMP__TRY(comp__calloc(&r->unknown, rows, sizeof *r->unknown));
  COMP__TRY(comp__calloc(&r->in_reference, r->truth.n_levels + 1, sizeof *r->in_reference));
  for (size_t i = 0; i < rows; i++) {
    const char *role = r->role.codes[i] < 0 ? "" : r->role.levels[r->role.codes[i]];
    r->query[i] = strncmp(role, "query", 5) == 0;
    r->unknown[i] = r->query[i] && strcmp(role, "query") != 0;
    r->n_query += (size_t)r->query[i];
    r->n_unknown += (size_t)r->unknown[i];
    r->n_reference += strcmp(role, "reference") == 0;
    if (!r->truth.codes || r->truth.codes[i] < 0) continue;
    r->n_truth += (size_t)r->query[i];
    if (!r->query[i]) r->in_reference[r->truth.codes[i]] = 1;
  }
done:
  return status;
}

/* Whether sample i of the query is of a row of the table: of a true label, or where there is none of a predicted one.
 */
static bool is_of(const reading *r, size_t i, size_t level) {
  const comp_groups *by = r->n_truth > 0 ? &r->truth : &r->predicted;
  return r->query[i] && by->codes[i] == (int32_t)level;
}

/* A row: how many samples of the query have this label, how many of them seem new, and what the others were called. */
static comp_status put_row(json_t *list, const reading *r, size_t level) {
  const size_t n = r->predicted.n_levels;
  size_t samples = 0, unknown = 0, *counts = NULL;
  json_t *object = json_object(), *given = json_array();
  comp_status status;
  COMP__TRY(comp__calloc(&counts, n + 1, sizeof *counts));
  for (size_t i = 0; i < r->role.rows; i++) {
    if (!is_of(r, i, level)) continue;
    samples++;
    unknown += (size_t)r->unknown[i];
    if (!r->unknown[i] && r->predicted.codes[i] >= 0) counts[r->predicted.codes[i]]++;
  }
  if (samples == 0) goto done;
  for (size_t l = 0; l < n; l++) COMP__TRY(comp__append(given, json_integer((json_int_t)counts[l])));
  COMP__TRY(comp__put(object, "label",
                      comp__json_text(r->n_truth > 0 ? r->truth.levels[level] : r->predicted.levels[level])));
  COMP__TRY(comp__put(object, "samples", json_integer((json_int_t)samples)));
  COMP__TRY(comp__put(object, "unknown", json_integer((json_int_t)unknown)));
  COMP__TRY(comp__put(object, "in_reference", json_boolean(r->n_truth == 0 || r->in_reference[level])));
  COMP__TRY(comp__put(object, "given", json_incref(given)));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  comp__free(counts);
  json_decref(object);
  json_decref(given);
  return status;
}

/* Over samples whose label the reference has: the share with the right label, whether they are called unknown or not.
 */
static json_t *accuracy(const reading *r) {
  size_t known = 0, right = 0;
  for (size_t i = 0; i < r->role.rows; i++) {
    if (!r->query[i] || !r->truth.codes || r->truth.codes[i] < 0 || !r->in_reference[r->truth.codes[i]]) continue;
    known++;
    right += r->predicted.codes[i] >= 0 &&
             strcmp(r->predicted.levels[r->predicted.codes[i]], r->truth.levels[r->truth.codes[i]]) == 0;
  }
  return known > 0 ? json_real((double)right / (double)known) : json_null();
}

static comp_status put_labels(json_t *object, const reading *r) {
  const size_t n = r->n_truth > 0 ? r->truth.n_levels : r->predicted.n_levels;
  json_t *rows = json_array(), *columns = json_array();
  comp_status status = COMP_OK;
  for (size_t l = 0; l < r->predicted.n_levels; l++)
    COMP__TRY(comp__append(columns, comp__json_text(r->predicted.levels[l])));
  for (size_t l = 0; l < n; l++) COMP__TRY(put_row(rows, r, l));
  COMP__TRY(comp__put(object, "truth", json_boolean(r->n_truth > 0)));
  COMP__TRY(comp__put(object, "accuracy", accuracy(r)));
  COMP__TRY(comp__put(object, "predicted", json_incref(columns)));
  COMP__TRY(comp__put(object, "rows", json_incref(rows)));
done:
  json_decref(rows);
  json_decref(columns);
  return status;
}

comp_status comp__gather_mapping(json_t **out, const comp__subject *s) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  char name[512];
  reading r = {0};
  json_t *object = json_object();
  comp_status status = COMP_OK;
  if (comp_table_find(obs, COMP__ROLE) == COMP_NOT_FOUND) {
    *out = json_null();
    goto done;
  }
  COMP__TRY(read_column(&r.role, obs, COMP__ROLE));
  if (s->label) {
    snprintf(name, sizeof name, "%.400s_predicted", s->label);
    COMP__TRY(read_column(&r.truth, obs, s->label));
    COMP__TRY(read_column(&r.predicted, obs, name));
  }
  COMP__TRY(read_sides(&r));
  COMP__TRY(comp__put(object, "reference", json_integer((json_int_t)r.n_reference)));
  COMP__TRY(comp__put(object, "query", json_integer((json_int_t)r.n_query)));
  COMP__TRY(comp__put(object, "unknown", json_integer((json_int_t)r.n_unknown)));
  if (r.predicted.codes) COMP__TRY(put_labels(object, &r));
  *out = json_incref(object);
done:
  release(&r);
  json_decref(object);
  return status;
}
