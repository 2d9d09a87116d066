/* columns.c: maps, columns of obs and names of the samples on the page, as packed bytes. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/verdict.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/strings.h"
#include "report/colors.h"
#include "report/embedding.h"
#include "report/gather.h"
#include "report/mapping.h"
#include "report/pack.h"
#include "task/unshared.h"

enum { MAX_LEVELS = 200, MAX_COLUMNS = 60, MAX_MAPS = 6, MISSING = 65535 };

/* Packs bytes into object[key]. */
static comp_status put_packed(json_t *object, const char *key, const void *data, size_t size) {
  char *text = NULL;
  comp_status status = comp__pack(&text, data, size);
  if (status == COMP_OK) status = comp__put(object, key, json_string_nocheck(text));
  comp__free(text);
  return status;
}

/* ---- Maps ------------------------------------------------------------------------------------------------------ */

/* Two columns of 16 bits, x of all samples and then y, both over the larger range, so that shapes stay. */
static comp_status gather_map(json_t *list, const comp__subject *s, const char *name, const char *role,
                              const char *title) {
  const comp_matrix *map;
  uint16_t *places = NULL;
  json_t *object = json_object();
  comp_status status;
  COMP__TRY(comp__embedding_require(&map, s->dataset, name));
  COMP__TRY(comp__alloc(&places, 2 * s->n_rows, sizeof *places));
  double low[2], high[2];
  for (size_t d = 0; d < 2; d++) comp__embedding_range(&low[d], &high[d], map, d);
  double span = fmax(fmax(high[0] - low[0], high[1] - low[1]), 1e-12);
  const float *v = comp_matrix_const_values(map);
  size_t cols = comp_matrix_cols(map);
  for (size_t d = 0; d < 2; d++)
    for (size_t i = 0; i < s->n_rows; i++) {
      double centred = ((double)v[s->rows[i] * cols + d] - (low[d] + high[d]) / 2) / span + 0.5;
      places[d * s->n_rows + i] = (uint16_t)lround(65535 * fmin(1, fmax(0, centred)));
    }
  COMP__TRY(comp__put(object, "key", comp__json_text(name)));
  COMP__TRY(comp__put(object, "role", comp__json_text(role)));
  COMP__TRY(comp__put(object, "title", comp__json_text(title)));
  COMP__TRY(put_packed(object, "data", places, 2 * s->n_rows * sizeof *places));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  json_decref(object);
  comp__free(places);
  return status;
}

static bool same(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

comp_status comp__gather_maps(json_t **out, const comp__subject *s) {
  json_t *list = json_array();
  comp_status status = COMP_OK;
  if (s->before) COMP__TRY(gather_map(list, s, s->before, "before", "before"));
  if (s->after)
    COMP__TRY(gather_map(list, s, s->after, "after",
                         !s->before ? s->after
                         : s->kind  ? comp_embedding_title("X_comp", s->kind)
                                    : "after"));
  for (size_t i = 0; i < comp_dataset_matrix_count(s->dataset, COMP_SLOT_OBSM) && json_array_size(list) < MAX_MAPS;
       i++) {
    const char *name = comp_dataset_matrix_name(s->dataset, COMP_SLOT_OBSM, i);
    const comp_matrix *map;
    if (same(name, s->before) || same(name, s->after)) continue;
    if (comp__embedding_require(&map, s->dataset, name) == COMP_OK) COMP__TRY(gather_map(list, s, name, NULL, name));
  }
  *out = json_incref(list);
done:
  json_decref(list);
  return status;
}

/* ---- Columns --------------------------------------------------------------------------------------------------- */

/* 16 bits over the range of the column; 65535: missing. */
static comp_status gather_numbers(json_t *object, const comp__subject *s, size_t column, uint16_t *values) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  double min = INFINITY, max = -INFINITY;
  for (size_t i = 0; i < comp_table_row_count(obs); i++) {
    double value = comp_table_number(obs, column, i);
    if (!isfinite(value)) continue;
    min = fmin(min, value);
    max = fmax(max, value);
  }
  if (!(min <= max)) min = max = 0;
  for (size_t i = 0; i < s->n_rows; i++) {
    double value = comp_table_number(obs, column, s->rows[i]);
    values[i] = isfinite(value) ? (uint16_t)lround(65534 * (max > min ? (value - min) / (max - min) : 0)) : MISSING;
  }
  comp_status status = comp__put(object, "kind", json_string("number"));
  if (status == COMP_OK) status = comp__put(object, "min", json_real(min));
  if (status == COMP_OK) status = comp__put(object, "max", json_real(max));
  return status;
}

static comp_status put_palette(json_t *object, const char *key, size_t n, comp__ground ground) {
  comp__color *palette = NULL;
  json_t *colors = json_array();
  comp_status status;
  COMP__TRY(comp__palette(&palette, n, ground));
  for (size_t l = 0; l < n; l++) {
    char color[8];
    snprintf(color, sizeof color, "#%06x", palette[l] & 0xFFFFFFu);
    COMP__TRY(comp__append(colors, json_string(color)));
  }
  COMP__TRY(comp__put(object, key, json_incref(colors)));
done:
  json_decref(colors);
  comp__free(palette);
  return status;
}

static comp_status gather_levels(json_t *object, const comp__subject *s, const comp_groups *groups, uint16_t *values) {
  json_t *levels = json_array(), *counts = json_array();
  comp_status status;
  for (size_t l = 0; l < groups->n_levels; l++) {
    COMP__TRY(comp__append(levels, comp__json_text(groups->levels[l])));
    COMP__TRY(comp__append(counts, json_integer((json_int_t)groups->counts[l])));
  }
  for (size_t i = 0; i < s->n_rows; i++) {
    int32_t code = groups->codes[s->rows[i]];
    values[i] = code < 0 ? MISSING : (uint16_t)code;
  }
  COMP__TRY(comp__put(object, "kind", json_string("categorical")));
  COMP__TRY(comp__put(object, "levels", json_incref(levels)));
  COMP__TRY(comp__put(object, "counts", json_incref(counts)));
  COMP__TRY(put_palette(object, "colors", groups->n_levels, COMP__ON_LIGHT));
  COMP__TRY(put_palette(object, "dark", groups->n_levels, COMP__ON_DARK));
done:
  json_decref(levels);
  json_decref(counts);
  return status;
}

/* Adds one column; one with too many values to tell apart is left out and counted. */
static comp_status gather_column(json_t *list, const comp__subject *s, size_t column, size_t *left_out) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  uint16_t *values = NULL;
  comp_groups groups = {0};
  json_t *object = json_object();
  comp_status status;
  COMP__TRY(comp__alloc(&values, s->n_rows, sizeof *values));
  COMP__TRY(comp__put(object, "name", comp__json_text(comp_table_column_name(obs, column))));
  if (comp__column_is_scale(obs, column)) {
    COMP__TRY(gather_numbers(object, s, column, values));
  } else {
    COMP__TRY(comp_table_groups(&groups, obs, column));
    if (groups.n_levels > MAX_LEVELS || groups.n_levels == 0) {
      ++*left_out;
      goto done;
    }
    COMP__TRY(gather_levels(object, s, &groups, values));
  }
  COMP__TRY(put_packed(object, "data", values, s->n_rows * sizeof *values));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  comp_groups_release(&groups);
  comp__free(values);
  json_decref(object);
  return status;
}

/* How far each sample's counterfactual is from the real samples of its label under that condition: root of the mean
 * squared difference over genes. */
static comp_status gather_error(json_t *list, const comp__subject *s, const comp__effects *effects) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  const comp_matrix *layer = comp_dataset_matrix(s->dataset, COMP_SLOT_LAYERS, effects->layer);
  comp_groups conditions = {0}, labels = {0};
  uint16_t *values = NULL;
  double *errors = NULL, max = 0;
  json_t *object = json_object();
  comp_status status;
  char name[512], note[512];
  if (!layer || comp_matrix_get_kind(layer) != COMP_DENSE) {
    status = COMP_OK;
    goto done;
  }
  COMP__TRY(comp_table_groups(&conditions, obs, comp_table_find(obs, s->condition)));
  if (s->label) COMP__TRY(comp_table_groups(&labels, obs, comp_table_find(obs, s->label)));
  COMP__TRY(comp__alloc(&values, s->n_rows, sizeof *values));
  COMP__TRY(comp__alloc(&errors, s->n_rows, sizeof *errors));
  for (size_t i = 0; i < s->n_rows; i++) {
    size_t row = s->rows[i];
    const comp__effect *of = NULL;
    errors[i] = NAN;
    if (conditions.codes[row] < 0 || strcmp(conditions.levels[conditions.codes[row]], effects->source) != 0) continue;
    for (size_t l = 0; l < effects->n_labels && !of; l++)
      if (!s->label ||
          (labels.codes[row] >= 0 && strcmp(labels.levels[labels.codes[row]], effects->labels[l].label) == 0))
        of = &effects->labels[l];
    if (!of) continue;
    const float *v = comp_matrix_const_values(layer) + row * effects->genes;
    double sum = 0;
    for (size_t j = 0; j < effects->genes; j++) sum += pow((double)v[j] - of->target[j], 2);
    errors[i] = sqrt(sum / (double)effects->genes);
    if (isfinite(errors[i])) max = fmax(max, errors[i]);
  }
  for (size_t i = 0; i < s->n_rows; i++)
    values[i] = isfinite(errors[i]) ? (uint16_t)lround(65534 * (max > 0 ? errors[i] / max : 0)) : MISSING;
  snprintf(name, sizeof name, "prediction error: %.200s \u2192 %.200s", effects->source, effects->target);
  COMP__TRY(comp__put(object, "name", comp__json_text(name)));
  snprintf(
      note, sizeof note,
      "Distance (root mean square over %ss) of a sample's prediction from the mean of the real samples of its label "
      "in that condition. Single samples differ from their mean, too, so it is never 0.",
      s->noun);
  COMP__TRY(comp__put(object, "note", json_string(note)));
  COMP__TRY(comp__put(object, "kind", json_string("number")));
  COMP__TRY(comp__put(object, "min", json_real(0)));
  COMP__TRY(comp__put(object, "max", json_real(max)));
  COMP__TRY(put_packed(object, "data", values, s->n_rows * sizeof *values));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  comp_groups_release(&conditions);
  comp_groups_release(&labels);
  comp__free(values);
  comp__free(errors);
  json_decref(object);
  return status;
}

/* Whether the population of a sample is there in other conditions, in CoMP's embedding. */
static comp_status gather_shared(json_t *list, const comp__subject *s) {
  char *levels[] = {"shared", "in one condition only"};
  size_t counts[2] = {0};
  const comp_table *obs = comp_dataset_obs(s->dataset);
  const comp_matrix *z = comp_dataset_matrix(s->dataset, COMP_SLOT_OBSM, "X_comp");
  comp_groups conditions = {0}, groups = {.n_levels = 2, .levels = levels, .counts = counts};
  uint16_t *values = NULL;
  json_t *object = json_object();
  comp_status status = COMP_OK;
  if (!z || !s->condition || comp_matrix_get_kind(z) != COMP_DENSE) goto done;
  COMP__TRY(comp_table_groups(&conditions, obs, comp_table_find(obs, s->condition)));
  COMP__TRY(comp__alloc(&groups.codes, conditions.rows, sizeof *groups.codes));
  COMP__TRY(comp__alloc(&values, s->n_rows, sizeof *values));
  COMP__TRY(comp__unshared_codes(groups.codes, s->context, z, &conditions));
  for (size_t i = 0; i < conditions.rows; i++)
    if (groups.codes[i] >= 0) counts[groups.codes[i]]++;
  if (counts[1] == 0) goto done;
  COMP__TRY(comp__put(object, "name", json_string("shared populations")));
  COMP__TRY(comp__put(object, "note",
                      json_string("In one condition only: other conditions lack the population of the sample, or have "
                                  "a tenth of it. CoMP does not align such samples with others.")));
  COMP__TRY(gather_levels(object, s, &groups, values));
  COMP__TRY(put_packed(object, "data", values, s->n_rows * sizeof *values));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  comp_groups_release(&conditions);
  comp__free(groups.codes);
  comp__free(values);
  json_decref(object);
  return status;
}

comp_status comp__gather_columns(json_t **out, const comp__subject *s) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  json_t *list = json_array();
  size_t left_out = 0;
  comp_status status = COMP_OK;
  const char *role = comp_table_find(obs, COMP__ROLE) == COMP_NOT_FOUND ? NULL : COMP__ROLE;
  const char *first[] = {role, s->condition, s->label};
  for (int k = 0; k < 3; k++)
    if (first[k]) COMP__TRY(gather_column(list, s, comp_table_find(obs, first[k]), &left_out));
  for (size_t e = 0; e < s->n_effects; e++) COMP__TRY(gather_error(list, s, &s->effects[e]));
  COMP__TRY(gather_shared(list, s));
  for (size_t c = 0; c < comp_table_column_count(obs); c++) {
    const char *name = comp_table_column_name(obs, c);
    if (same(name, role) || same(name, s->condition) || same(name, s->label)) continue;
    if (json_array_size(list) < MAX_COLUMNS)
      COMP__TRY(gather_column(list, s, c, &left_out));
    else
      left_out++;
  }
  if (left_out)
    comp__info(s->context, "%zu columns are not on the page: more than %d different values, or more than %d columns",
               left_out, MAX_LEVELS, MAX_COLUMNS);
  *out = json_incref(list);
done:
  json_decref(list);
  return status;
}

/* Names with a NUL after each. */
comp_status comp__gather_names(json_t **out, const comp__subject *s) {
  size_t size = 0, at = 0;
  char *text = NULL, *packed = NULL;
  comp_status status;
  for (size_t i = 0; i < s->n_rows; i++) size += strlen(comp_dataset_obs_name(s->dataset, s->rows[i])) + 1;
  COMP__TRY(comp__alloc(&text, size, 1));
  for (size_t i = 0; i < s->n_rows; i++) {
    const char *name = comp_dataset_obs_name(s->dataset, s->rows[i]);
    memcpy(text + at, name, strlen(name) + 1);
    at += strlen(name) + 1;
  }
  COMP__TRY(comp__pack(&packed, text, size));
  *out = json_string_nocheck(packed);
done:
  comp__free(packed);
  comp__free(text);
  return status;
}
