/* map.c: comp_map(): from data sets to a mapping. */
#include "comp/map.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comp/io.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/json.h"
#include "core/matrix.h"
#include "map/components.h"
#include "map/counterparts.h"
#include "map/extend.h"
#include "map/field.h"
#include "map/judge.h"
#include "map/place.h"
#include "map/residual.h"
#include "map/together.h"
#include "model/moves.h"
#include "neighbors/overlap.h"
#include "task/coder.h"

/* A mapping in progress. */
typedef struct job {
  comp_context *context;
  const comp_model *model; /* the caller's */
  const comp__map_options *options;
  const comp_dataset *reference_data, *query_data;
  comp_model *larger;
  size_t known, n_new;
  char **names;       /* [n_new] */
  comp_groups groups; /* of the query's condition column */
  int32_t *codes;     /* [query]: levels of the larger model; NULL: the model sees no condition */
  comp__aligned reference, query;
  comp_matrix *z_reference, *scale_reference, *z;
  float *ratio;                         /* [query]: counterparts.h; 0 where a condition was not fitted */
  float *residual_reference, *residual; /* [reference], [query] */
  comp_map_method *used;                /* [n_new] */
} job;

static void release(job *m) {
  comp_model_free(m->larger);
  for (size_t k = 0; m->names && k < m->n_new; k++) comp__free(m->names[k]);
  comp__free(m->names);
  comp_groups_release(&m->groups);
  comp__free(m->codes);
  comp__aligned_release(&m->reference);
  comp__aligned_release(&m->query);
  comp_matrix_free(m->z_reference);
  comp_matrix_free(m->scale_reference);
  comp_matrix_free(m->z);
  comp__free(m->ratio);
  comp__free(m->residual_reference);
  comp__free(m->residual);
  comp__free(m->used);
}

/* ---- Conditions of the query ----------------------------------------------------------------------------------- */

static bool sees_condition(const comp_model *model) {
  return comp__encoder_needs_condition(model) || model->network.options.decoder_sees_condition;
}

static int32_t find_level(const comp_model *model, const char *name) {
  for (size_t k = 0; k < comp_model_level_count(model); k++)
    if (strcmp(comp_model_level_name(model, k), name) == 0) return (int32_t)k;
  return -1;
}

static comp_status add_name(int32_t *out, job *m, const char *name) {
  const comp_status status = comp__strdup(&m->names[m->n_new], name);
  *out = (int32_t)(m->known + m->n_new);
  if (status == COMP_OK) m->n_new++;
  return status;
}

/* All samples are of one new condition. */
static comp_status name_query(job *m, const char *name, size_t samples) {
  int32_t code;
  comp_status status;
  if (!name[0]) return comp__error(COMP_ERR_ARGUMENT, "as: the name of the new condition is empty");
  if (find_level(m->model, name) >= 0)
    return comp__error(COMP_ERR_ARGUMENT,
                       "as: the model knows a condition '%s' already. Choose another name; or, if the new samples are "
                       "of that condition, put it into their column '%s'",
                       name, comp_model_condition(m->model));
  COMP__TRY(comp__calloc(&m->names, 1, sizeof *m->names));
  COMP__TRY(add_name(&code, m, name));
  for (size_t i = 0; i < samples; i++) m->codes[i] = code;
done:
  return status;
}

static comp_status read_column(job *m, const char *column, size_t samples) {
  const comp_table *obs = comp_dataset_obs(m->query_data);
  const size_t at = comp_table_find(obs, column);
  int32_t *codes = NULL;
  size_t missing = 0;
  comp_status status;
  if (at == COMP_NOT_FOUND)
    COMP__FAIL(COMP_ERR_DATA,
               "the query has no column '%s', which holds the condition. Add it, or name the new condition with "
               "--as NAME",
               column);
  COMP__TRY(comp_table_groups(&m->groups, obs, at));
  COMP__TRY(comp__calloc(&m->names, m->groups.n_levels, sizeof *m->names));
  COMP__TRY(comp__alloc(&codes, m->groups.n_levels, sizeof *codes));
  for (size_t k = 0; k < m->groups.n_levels; k++) {
    codes[k] = find_level(m->model, m->groups.levels[k]);
    if (codes[k] >= 0)
      comp__info(m->context,
                 "the model knows the condition '%s': its %zu samples are embedded as such. If they are another batch "
                 "of the same name, give them a new one with --as NAME",
                 m->groups.levels[k], m->groups.counts[k]);
    else
      COMP__TRY(add_name(&codes[k], m, m->groups.levels[k]));
  }
  for (size_t i = 0; i < samples; i++) {
    missing += m->groups.codes[i] < 0;
    m->codes[i] = m->groups.codes[i] < 0 ? -1 : codes[m->groups.codes[i]];
  }
  if (missing)
    COMP__FAIL(COMP_ERR_DATA, "%zu of %zu samples of the query have no value in column '%s'", missing, samples, column);
done:
  comp__free(codes);
  return status;
}

static comp_status read_conditions(job *m) {
  const size_t samples = comp_dataset_sample_count(m->query_data);
  comp_status status;
  m->known = comp_model_level_count(m->model);
  if (!sees_condition(m->model)) return COMP_OK;
  COMP__TRY(comp__alloc(&m->codes, samples, sizeof *m->codes));
  if (m->options->as)
    COMP__TRY(name_query(m, m->options->as, samples));
  else
    COMP__TRY(read_column(m, comp_model_condition(m->model), samples));
done:
  return status;
}

/* ---- Data ------------------------------------------------------------------------------------------------------ */

static comp_status align(job *m) {
  const bool conditions = sees_condition(m->model);
  comp_status status;
  COMP__TRY(comp__align(&m->reference, m->context, m->model, m->reference_data,
                        conditions ? COMP__CONDITIONS_ALL : COMP__CONDITIONS_NONE));
done:
  if (status != COMP_OK) return comp__error_context(status, "the reference");
  status = comp__align(&m->query, m->context, m->larger, m->query_data, COMP__CONDITIONS_NONE);
  if (status != COMP_OK) return comp__error_context(status, "the query");
  m->query.codes = m->codes; /* taken over */
  m->codes = NULL;
  return COMP_OK;
}

static comp_status encode(comp_matrix **z, comp_matrix **scale, job *m, const comp__aligned *aligned) {
  const size_t latent = aligned->model->network.options.latent;
  comp__coder *coder = NULL;
  comp_status status;
  COMP__TRY(comp__coder_new(&coder, m->context, aligned->model, COMP_PRECISION_F32));
  COMP__TRY(comp__matrix_new_dense_raw(z, aligned->samples, latent));
  if (scale) COMP__TRY(comp__matrix_new_dense_raw(scale, aligned->samples, latent));
  COMP__TRY(comp__encode(m->context, coder, aligned, (*z)->values, scale ? (*scale)->values : NULL));
done:
  comp__coder_free(coder);
  return status;
}

/* ---- New conditions -------------------------------------------------------------------------------------------- */

/* Every sample of a level takes the ratio of the nearest sample that was measured. */
static comp_status spread_ratios(job *m, size_t level, const size_t *rows, size_t n_rows, const float *ratio) {
  size_t *others = NULL, n = 0;
  comp_matrix *points = NULL, *queries = NULL;
  int32_t *nearest = NULL;
  int8_t *taken = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&taken, m->query.samples, sizeof *taken));
  COMP__TRY(comp__alloc(&others, m->query.samples, sizeof *others));
  for (size_t i = 0; i < n_rows; i++) {
    taken[rows[i]] = 1;
    m->ratio[rows[i]] = ratio[i];
  }
  for (size_t i = 0; i < m->query.samples; i++)
    if (m->query.codes[i] == (int32_t)level && !taken[i]) others[n++] = i;
  if (n == 0) goto done;
  COMP__TRY(comp_matrix_select(&points, m->context, m->z, rows, n_rows, NULL, 0));
  COMP__TRY(comp_matrix_select(&queries, m->context, m->z, others, n, NULL, 0));
  COMP__TRY(comp__alloc(&nearest, n, sizeof *nearest));
  COMP__TRY(comp__nearest(nearest, m->context, points, queries));
  for (size_t i = 0; i < n; i++) m->ratio[others[i]] = ratio[nearest[i]];
done:
  comp__free(taken);
  comp__free(others);
  comp__free(nearest);
  comp_matrix_free(points);
  comp_matrix_free(queries);
  return status;
}

/* The ratios in z where they are larger than those that were measured before (NULL: none were); then, of a fitted
 * condition, its moves. */
static comp_status measure_in_z(job *m, size_t level, const comp__sampled *query, const comp__posteriors *reference,
                                const float *before) {
  const size_t latent = m->z->cols, n = reference->n + query->n;
  float *z = NULL, *ratio = NULL;
  comp_status status;
  if (!reference->mean || !before) return COMP_OK;
  COMP__TRY(comp__alloc(&z, n * latent, sizeof *z));
  COMP__TRY(comp__alloc(&ratio, n, sizeof *ratio));
  memcpy(z, reference->mean, reference->n * latent * sizeof *z);
  for (size_t i = 0; i < query->n; i++)
    memcpy(z + (reference->n + i) * latent, m->z->values + query->rows[i] * latent, latent * sizeof *z);
  COMP__TRY(comp__counterparts_in_z(ratio, m->context, z, reference->n, query->n, latent));
  for (size_t i = 0; i < n; i++) ratio[i] = fmaxf(ratio[i], before[i]);
  COMP__TRY(spread_ratios(m, level, query->rows, query->n, ratio + reference->n));
  if (m->used[level - m->known] == COMP_MAP_FIT && comp__encoder_needs_condition(m->model)) {
    const comp__meeting meeting = {.reference = z,
                                   .query = z + reference->n * latent,
                                   .ratio = ratio,
                                   .n_reference = reference->n,
                                   .n_query = query->n};
    COMP__TRY(comp__field_find(m->context, m->larger, level, &meeting, m->options->seed));
  }
done:
  comp__free(z);
  comp__free(ratio);
  return status;
}

static comp_status posteriors_of(comp__posteriors *out, float **means, float **scales, const job *m,
                                 const comp__sampled *s) {
  const size_t latent = m->model->network.options.latent;
  comp_status status;
  COMP__TRY(comp__alloc(means, s->n * latent, sizeof **means));
  COMP__TRY(comp__alloc(scales, s->n * latent, sizeof **scales));
  for (size_t i = 0; i < s->n; i++) {
    memcpy(*means + i * latent, m->z_reference->values + s->rows[i] * latent, latent * sizeof **means);
    memcpy(*scales + i * latent, m->scale_reference->values + s->rows[i] * latent, latent * sizeof **scales);
  }
  *out = (comp__posteriors){.n = s->n, .mean = *means, .scale = *scales};
done:
  return status;
}

static comp_status place_one(job *m, const comp__place *place, size_t index, comp__sampled *query, float **ratio) {
  const size_t level = m->known + index;
  comp_status status;
  COMP__TRY(comp__sampled_read(query, m->context, &m->query, level, level + 1, comp__sampled_most(query->features)));
  COMP__TRY(comp__alloc(ratio, place->reference->n + query->n, sizeof **ratio));
  COMP__TRY(comp__place_level(&m->used[index], *ratio, m->context, place, level, query, m->options));
done:
  return status;
}

static comp_status measure_residuals(job *m) {
  comp_status status;
  COMP__TRY(comp__alloc(&m->residual_reference, m->reference.samples, sizeof *m->residual_reference));
  COMP__TRY(comp__alloc(&m->residual, m->query.samples, sizeof *m->residual));
  COMP__TRY(comp__residuals(m->residual_reference, m->context, &m->reference));
  COMP__TRY(comp__residuals(m->residual, m->context, &m->query));
done:
  return status;
}

static comp_status place_all(job *m) {
  const size_t most = comp__sampled_most(m->model->network.features);
  comp__sampled reference = {0}, *query = NULL;
  comp__posteriors posteriors = {0};
  float *means = NULL, *scales = NULL, **ratio = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&m->ratio, m->query.samples, sizeof *m->ratio));
  COMP__TRY(comp__calloc(&m->used, m->n_new, sizeof *m->used));
  COMP__TRY(comp__calloc(&query, m->n_new, sizeof *query));
  COMP__TRY(comp__calloc(&ratio, m->n_new, sizeof *ratio));
  if (m->n_new > 0) {
    COMP__TRY(comp__sampled_read(&reference, m->context, &m->reference, 0, m->known, most));
    COMP__TRY(posteriors_of(&posteriors, &means, &scales, m, &reference));
  }
  const comp__place place = {.model = m->larger, .known = m->known, .reference = &reference, .posteriors = &posteriors};
  for (size_t k = 0; k < m->n_new; k++) {
    query[k].features = m->model->network.features;
    COMP__TRY(place_one(m, &place, k, &query[k], &ratio[k]));
  }
  COMP__TRY(encode(&m->z, NULL, m, &m->query));
  COMP__TRY(measure_residuals(m)); /* before there are moves */
  for (size_t k = 0; k < m->n_new; k++) COMP__TRY(measure_in_z(m, m->known + k, &query[k], &posteriors, ratio[k]));
done:
  for (size_t k = 0; k < m->n_new; k++) {
    if (query) comp__sampled_release(&query[k]);
    if (ratio) comp__free(ratio[k]);
  }
  comp__free(query);
  comp__free(ratio);
  comp__sampled_release(&reference);
  comp__free(means);
  comp__free(scales);
  return status;
}

/* ---- Results --------------------------------------------------------------------------------------------------- */

/* A column of the reference as labels. */
static comp_status read_labels(comp_groups *out, const job *m) {
  const comp_table *obs = comp_dataset_obs(m->reference_data);
  size_t column, levels = 0;
  comp_status status = comp_table_require(&column, obs, m->options->label);
  if (status == COMP_OK) status = comp_table_groups(out, obs, column);
  if (status != COMP_OK) return comp__error_context(status, "label: the reference");
  for (size_t l = 0; l < out->n_levels; l++) levels += out->counts[l] > 0;
  if (levels >= 2) return COMP_OK;
  return comp__error(COMP_ERR_DATA,
                     "label: column '%s' of the reference has %s; labels can be transferred when there "
                     "are two or more",
                     m->options->label, levels ? "only one value" : "no values");
}

static comp_status add_columns(job *m, comp_table *obs, const comp__yardstick *reference, const comp__mapped *query,
                               json_t *report) {
  const size_t n = m->query.samples;
  double *distance = NULL, *novelty = NULL;
  int8_t *unknown = NULL;
  char name[512];
  size_t flagged = 0;
  comp_status status;
  COMP__TRY(comp__alloc(&distance, n, sizeof *distance));
  COMP__TRY(comp__alloc(&novelty, n, sizeof *novelty));
  COMP__TRY(comp__alloc(&unknown, n, sizeof *unknown));
  COMP__TRY(comp__judge_novelty(distance, novelty, m->context, reference, query));
  for (size_t i = 0; i < n; i++) {
    unknown[i] = novelty[i] > m->options->unknown;
    flagged += (size_t)unknown[i];
  }
  COMP__TRY(comp_table_add_numbers(obs, "comp_distance", distance, false));
  COMP__TRY(comp_table_add_numbers(obs, "comp_novelty", novelty, false));
  COMP__TRY(comp_table_add_bools(obs, "comp_unknown", unknown));
  json_object_set_new(report, "unknown", json_integer((json_int_t)flagged));
  if (m->options->label) {
    snprintf(name, sizeof name, "%s_unknown", m->options->label);
    COMP__TRY(comp_table_add_bools(obs, name, unknown));
  }
done:
  comp__free(distance);
  comp__free(novelty);
  comp__free(unknown);
  return status;
}

static void tell_unlabelled(const job *m, const comp_groups *labels) {
  size_t known = 0;
  for (size_t l = 0; l < labels->n_levels; l++) known += labels->counts[l];
  if (known < labels->rows)
    comp__info(m->context,
               "label: %zu of %zu samples of the reference have no value in '%s': labels come from the others",
               labels->rows - known, labels->rows, m->options->label);
}

static comp_status add_labels(comp__labels *found, job *m, comp_table *obs, const comp__yardstick *reference,
                              const comp__mapped *query, json_t *report) {
  comp_groups labels = {0};
  char name[512];
  comp_status status;
  if (!m->options->label) return COMP_OK;
  COMP__TRY(read_labels(&labels, m));
  tell_unlabelled(m, &labels);
  COMP__TRY(comp__judge_labels(found, m->context, reference, labels.codes, labels.n_levels, query, m->options->seed));
  snprintf(name, sizeof name, "%s_predicted", m->options->label);
  COMP__TRY(
      comp_table_add_categorical(obs, name, found->predicted, (const char *const *)labels.levels, labels.n_levels));
  snprintf(name, sizeof name, "%s_probability", m->options->label);
  COMP__TRY(comp_table_add_numbers(obs, name, found->probability, false));
  json_t *counts = json_object();
  for (size_t l = 0; l < labels.n_levels; l++) {
    size_t n = 0;
    for (size_t i = 0; i < m->query.samples; i++) n += found->predicted[i] == (int32_t)l;
    json_object_set_new(counts, labels.levels[l], json_integer((json_int_t)n));
  }
  json_object_set_new(
      report, "labels",
      json_pack("{s:s, s:f, s:o}", "column", m->options->label, "power", found->power, "predicted", counts));
done:
  comp_groups_release(&labels);
  return status;
}

static const char *method_name(comp_map_method method) {
  static const char *const names[] = {"fit", "shift", "nearest"};
  return names[method];
}

/* Conditions and features. */
static void describe(json_t *report, const job *m) {
  const comp_model *model = m->larger;
  json_t *conditions = json_array(), *missing = json_array();
  for (size_t k = 0; k < comp_model_level_count(model); k++) {
    size_t n = 0, alone = 0;
    for (size_t i = 0; m->query.codes && i < m->query.samples; i++) {
      n += m->query.codes[i] == (int32_t)k;
      alone += m->query.codes[i] == (int32_t)k && m->ratio[i] >= COMP__UNSHARED;
    }
    if (n == 0) continue;
    json_t *one =
        json_pack("{s:s, s:I, s:b, s:s}", "name", comp_model_level_name(model, k), "samples", (json_int_t)n, "new",
                  k >= m->known, "method", k < m->known ? "known" : method_name(m->used[k - m->known]));
    if (k >= m->known) json_object_set_new(one, "without_counterpart", json_integer((json_int_t)alone));
    json_array_append_new(conditions, one);
  }
  for (size_t i = 0; i < m->query.n_missing; i++)
    json_array_append_new(missing, json_string(comp_model_feature_name(model, (size_t)m->query.missing[i])));
  json_object_set_new(report, "conditions", conditions);
  json_object_set_new(report, "features",
                      json_pack("{s:I, s:I, s:I, s:s, s:o}", "model", (json_int_t)comp_model_feature_count(model),
                                "found", (json_int_t)(comp_model_feature_count(model) - m->query.n_missing), "ignored",
                                (json_int_t)m->query.n_extra, "filled_with",
                                model->network.options.centred ? "mean of the conditions" : "mean of the training data",
                                "missing", missing));
}

/* With --as: the column of the condition, so that the larger model reads what is written. */
static comp_status add_condition(const job *m, comp_table *obs) {
  const comp_model *model = m->larger;
  const char **levels = NULL;
  comp_status status;
  if (!m->options->as || !m->query.codes) return COMP_OK;
  COMP__TRY(comp__alloc(&levels, comp_model_level_count(model), sizeof *levels));
  for (size_t k = 0; k < comp_model_level_count(model); k++) levels[k] = comp_model_level_name(model, k);
  COMP__TRY(comp_table_add_categorical(obs, comp_model_condition(model), m->query.codes, levels,
                                       comp_model_level_count(model)));
done:
  comp__free(levels);
  return status;
}

/* Labels and novelty were judged where the encoder puts samples: moves make both sides alike, also what is new. */
static void move_query(job *m) {
  for (size_t i = 0; m->query.codes && i < m->query.samples; i++)
    if (m->query.codes[i] >= (int32_t)m->known)
      comp__moves_apply(m->larger, (size_t)m->query.codes[i], m->z->values + i * m->z->cols, 1);
}

static comp_status write_together(const job *m, const comp_mapping *mapping) {
  const comp__sides sides = {.reference = &m->reference,
                             .query = &m->query,
                             .reference_data = m->reference_data,
                             .query_data = m->query_data,
                             .z_reference = m->z_reference,
                             .z = m->z,
                             .obs = mapping->obs,
                             .label = m->options->label};
  comp_dataset *both = NULL;
  comp_status status = COMP_OK;
  if (!m->options->together) return COMP_OK;
  COMP__TRY(comp__map_together(&both, &sides));
  COMP__TRY(comp_dataset_write(m->context, both, m->options->together, NULL));
done:
  comp_dataset_free(both);
  return status;
}

/* Conditions that the reference has samples of, with numbers in their order: it may lack some that the model knows. */
static comp_status number_present(int32_t **codes, size_t *count, const job *m) {
  int32_t *number = NULL;
  comp_status status;
  *codes = NULL;
  *count = 1;
  if (!m->reference.codes) return COMP_OK;
  COMP__TRY(comp__calloc(&number, m->known, sizeof *number));
  COMP__TRY(comp__alloc(codes, m->reference.samples, sizeof **codes));
  for (size_t i = 0; i < m->reference.samples; i++) number[m->reference.codes[i]] = 1;
  *count = 0;
  for (size_t k = 0; k < m->known; k++)
    if (number[k]) number[k] = (int32_t)(*count)++;
  for (size_t i = 0; i < m->reference.samples; i++) (*codes)[i] = number[m->reference.codes[i]];
done:
  comp__free(number);
  return status;
}

static comp_status judge(comp_mapping *out, job *m) {
  int32_t *present = NULL;
  comp__yardstick reference = {.z = m->z_reference, .residual = m->residual_reference, .k = m->options->neighbors};
  comp__mapped query = {.z = m->z,
                        .conditions = m->query.codes,
                        .n_conditions = comp_model_level_count(m->larger),
                        .residual = m->residual,
                        .ratio = m->ratio};
  json_t *report = json_object();
  comp_table *obs = NULL;
  comp_matrix *components_reference = NULL, *components = NULL;
  comp__labels labels = {0};
  comp_status status;
  if (!report) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(number_present(&present, &reference.n_conditions, m));
  reference.conditions = present;
  json_object_set_new(report, "samples", json_integer((json_int_t)m->query.samples));
  json_object_set_new(report, "reference", json_integer((json_int_t)m->reference.samples));
  describe(report, m);
  COMP__TRY(comp_table_new(&obs, m->query.samples));
  COMP__TRY(add_labels(&labels, m, obs, &reference, &query, report));
  reference.doubt = labels.doubt_reference;
  query.doubt = labels.doubt;
  COMP__TRY(comp__components(&components_reference, &components, m->context, &m->reference, &m->query));
  reference.data = components_reference;
  query.data = components;
  COMP__TRY(add_columns(m, obs, &reference, &query, report));
  COMP__TRY(add_condition(m, obs));
  char *text = json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
  if (!text) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  out->report = text;
  out->obs = obs;
  obs = NULL;
done:
  comp__free(present);
  comp_matrix_free(components_reference);
  comp_matrix_free(components);
  json_decref(report);
  comp__labels_release(&labels);
  comp_table_free(obs);
  return status;
}

comp_status comp__map(comp_mapping *out, comp_context *context, const comp_model *model, const comp_dataset *reference,
                      const comp_dataset *query, const comp__map_options *options) {
  job m = {.context = context, .model = model, .options = options, .reference_data = reference, .query_data = query};
  comp_groups labels = {0};
  comp_status status;
  *out = (comp_mapping){0};
  COMP__TRY(comp__dataset_need_x(query));
  if (options->label) COMP__TRY(read_labels(&labels, &m)); /* before anything takes time */
  if (options->together) COMP__TRY(comp_dataset_check_update(options->together));
  COMP__TRY(read_conditions(&m));
  COMP__TRY(comp__model_extend(&m.larger, model, (const char *const *)m.names, m.n_new));
  COMP__TRY(align(&m));
  COMP__TRY(encode(&m.z_reference, &m.scale_reference, &m, &m.reference));
  COMP__TRY(place_all(&m));
  COMP__TRY(judge(out, &m));
  move_query(&m);
  COMP__TRY(write_together(&m, out));
  out->model = m.larger;
  out->z = m.z;
  m.larger = NULL;
  m.z = NULL;
done:
  comp_groups_release(&labels);
  if (status != COMP_OK) comp_mapping_release(out);
  release(&m);
  return status;
}

comp_status comp_map(comp_mapping *out, comp_context *context, const comp_model *model, const comp_dataset *reference,
                     const comp_dataset *query, const comp_options *options) {
  COMP__NEED_OUT(out, context, model, reference, query);
  comp__map_options plain;
  *out = (comp_mapping){0};
  comp__json_start();
  comp_status status = comp__options_resolve(&plain, &comp__map_kind, options);
  return status == COMP_OK ? comp__map(out, context, model, reference, query, &plain) : status;
}

void comp_mapping_release(comp_mapping *mapping) {
  if (!mapping) return;
  comp_model_free(mapping->model);
  comp_matrix_free(mapping->z);
  comp_table_free(mapping->obs);
  comp_free(mapping->report);
  *mapping = (comp_mapping){0};
}
