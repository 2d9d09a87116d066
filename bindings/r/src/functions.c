/* functions.c: what R calls: options, models, and every function of the library that computes. */
#include "functions.h"

#include <stdlib.h>
#include <string.h>

#include "glue.h"

/* ---- Options and other small things ---------------------------------------------------------------------------- */

/* `values` are character vectors, one an option. Lists of texts may have any length, all others have one element. */
SEXP r_options_new(SEXP kind, SEXP names, SEXP values) {
  SEXP handle = PROTECT(handle_new(HANDLE_OPTIONS, R_NilValue));
  comp_options *options;
  check(comp_options_new(&options, text_at(kind, 0)));
  handle_set(handle, options);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++) {
    const char *name = text_at(names, i);
    SEXP value = VECTOR_ELT(values, i);
    const comp_option *row = comp_options_find(options, name);
    bool list = row != NULL &&
                (comp_option_get_type(row) == COMP_OPTION_TEXTS || comp_option_get_type(row) == COMP_OPTION_NAMES);
    if (list && Rf_xlength(value) != 1)
      check(comp_options_set_list(options, name, texts_of(value), (size_t)Rf_xlength(value)));
    else
      check(comp_options_set(options, name, text_at(value, 0)));
  }
  check(comp_options_check(options));
  UNPROTECT(1);
  return handle;
}

/* The end of a message about a name that is not known: the nearest of the known ones, or "". */
SEXP r_hint(SEXP word, SEXP known) {
  comp_suggest search = {.word = text_at(word, 0)};
  const char **names = texts_of(known);
  for (R_xlen_t i = 0; i < Rf_xlength(known); i++)
    if (names[i]) comp_suggest_offer(&search, names[i]);
  return text_value(comp_suggest_hint(&search).text);
}

SEXP r_options_describe(void) {
  SEXP handle = PROTECT(handle_new(HANDLE_TEXT, R_NilValue));
  char *text;
  check(comp_options_describe(&text));
  char *copy = strdup(text);
  comp_free(text);
  handle_set(handle, copy);
  SEXP value = text_value(copy);
  UNPROTECT(1);
  return value;
}

SEXP r_version(void) {
  const char *names[] = {"version", "number", ""};
  SEXP value = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(value, 0, text_value(comp_version()));
  SET_VECTOR_ELT(value, 1, Rf_ScalarInteger(comp_version_number()));
  UNPROTECT(1);
  return value;
}

SEXP r_layer_name(SEXP to) {
  char name[COMP_LAYER_NAME_SIZE];
  comp_counterfactual_layer_name(name, text_at(to, 0));
  return text_value(name);
}

SEXP r_metric_titles(SEXP names) {
  SEXP value = PROTECT(Rf_duplicate(names));
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++) {
    const comp_score_metric *metric = comp_score_known_find(text_at(names, i));
    if (metric != NULL) SET_STRING_ELT(value, i, Rf_mkCharCE(metric->title, CE_UTF8));
  }
  UNPROTECT(1);
  return value;
}

/* ---- Models ---------------------------------------------------------------------------------------------------- */

SEXP r_model_load(SEXP path) {
  SEXP handle = PROTECT(handle_new(HANDLE_MODEL, R_NilValue));
  comp_model *model;
  check(comp_model_load(&model, text_at(path, 0)));
  handle_set(handle, model);
  UNPROTECT(1);
  return handle;
}

SEXP r_model_save(SEXP model, SEXP path) {
  check(comp_model_save(handle_get(model, HANDLE_MODEL), text_at(path, 0)));
  return R_NilValue;
}

SEXP r_model_from_bytes(SEXP bytes) {
  SEXP handle = PROTECT(handle_new(HANDLE_MODEL, R_NilValue));
  comp_model *model;
  check(comp_model_from_memory(&model, RAW_RO(bytes), (size_t)Rf_xlength(bytes)));
  handle_set(handle, model);
  UNPROTECT(1);
  return handle;
}

SEXP r_model_bytes(SEXP model) {
  SEXP holder = PROTECT(handle_new(HANDLE_TEXT, R_NilValue));
  void *bytes;
  size_t size;
  check(comp_model_to_memory(&bytes, &size, handle_get(model, HANDLE_MODEL)));
  void *copy = malloc(size + 1);
  if (copy != NULL) memcpy(copy, bytes, size);
  comp_free(bytes);
  if (copy == NULL) fail(COMP_ERR_MEMORY, "there is no memory for the model");
  handle_set(holder, copy);
  SEXP value = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
  memcpy(RAW(value), copy, size);
  UNPROTECT(2);
  return value;
}

static SEXP names_value(const comp_model *model, size_t n, const char *(*name)(const comp_model *, size_t)) {
  SEXP value = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)n));
  for (size_t i = 0; i < n; i++) SET_STRING_ELT(value, (R_xlen_t)i, Rf_mkCharCE(name(model, i), CE_UTF8));
  UNPROTECT(1);
  return value;
}

/* What a model knows of itself; history, config and record are JSON. */
SEXP r_model_info(SEXP handle) {
  const comp_model *model = handle_get(handle, HANDLE_MODEL);
  const char *names[] = {"condition", "conditions", "features", "config", "history",
                         "record",    "kernel",     "finished", ""};
  SEXP value = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(value, 0, text_value(comp_model_condition(model)));
  SET_VECTOR_ELT(value, 1, names_value(model, comp_model_level_count(model), comp_model_level_name));
  SET_VECTOR_ELT(value, 2, names_value(model, comp_model_feature_count(model), comp_model_feature_name));
  SET_VECTOR_ELT(value, 3, text_value(comp_model_config(model)));
  SET_VECTOR_ELT(value, 4, text_value(comp_model_history(model)));
  SET_VECTOR_ELT(value, 5, text_value(comp_model_record(model)));
  SET_VECTOR_ELT(value, 6, text_value(comp_model_kernel(model)));
  SET_VECTOR_ELT(value, 7, Rf_ScalarLogical(comp_model_finished(model)));
  UNPROTECT(1);
  return value;
}

/* ---- Work ------------------------------------------------------------------------------------------------------ */

/* What a piece of work takes and makes; each uses some of it. */
typedef struct job {
  comp_context *context;
  const comp_options *options;
  comp_dataset *dataset;
  comp_model *model;
  const comp_model *const *models;
  size_t n_models;
  const char *path;
  comp_matrix *matrix;
  comp_prediction prediction;
  const comp_dataset *reference;
  comp_mapping mapping;
  char *texts[5];
} job;

static job job_of(SEXP context, SEXP options) {
  return (job){.context = handle_get(context, HANDLE_CONTEXT), .options = handle_get(options, HANDLE_OPTIONS)};
}

/* ---- Data sets */

static comp_status read_work(void *user) {
  job *j = user;
  return comp_dataset_read(&j->dataset, j->context, j->path, j->options);
}

static comp_status simulate_work(void *user) {
  job *j = user;
  return comp_simulate(&j->dataset, j->context, j->options);
}

static comp_status prep_work(void *user) {
  job *j = user;
  return comp_prep(&j->dataset, j->context, j->options);
}

/* Runs work that makes a data set or changes the one of the handle; its value is what the data set then holds. */
static SEXP make_dataset(SEXP context, SEXP handle, job *j, comp_status (*work)(void *)) {
  call_end end;
  call_run(&end, context, work, j);
  handle_set(handle, j->dataset);
  call_finish(&end);
  return dataset_value(j->dataset);
}

SEXP r_read(SEXP context, SEXP path, SEXP options) {
  job j = job_of(context, options);
  j.path = text_at(path, 0);
  SEXP handle = PROTECT(handle_new(HANDLE_DATASET, R_NilValue));
  SEXP value = PROTECT(make_dataset(context, handle, &j, read_work));
  r_free(handle);
  UNPROTECT(2);
  return value;
}

SEXP r_simulate(SEXP context, SEXP options) {
  job j = job_of(context, options);
  SEXP handle = PROTECT(handle_new(HANDLE_DATASET, R_NilValue));
  SEXP value = PROTECT(make_dataset(context, handle, &j, simulate_work));
  r_free(handle);
  UNPROTECT(2);
  return value;
}

SEXP r_prep(SEXP context, SEXP dataset, SEXP options) {
  job j = job_of(context, options);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  return make_dataset(context, dataset, &j, prep_work);
}

/* ---- Models */

static comp_status train_work(void *user) {
  job *j = user;
  return comp_train(&j->model, j->context, j->dataset, j->options);
}

SEXP r_train(SEXP context, SEXP dataset, SEXP options) {
  job j = job_of(context, options);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  SEXP handle = PROTECT(handle_new(HANDLE_MODEL, R_NilValue));
  call_end end;
  call_run(&end, context, train_work, &j);
  handle_set(handle, j.model);
  call_finish(&end);
  UNPROTECT(1);
  return handle;
}

static comp_status embed_work(void *user) {
  job *j = user;
  return comp_embed(&j->matrix, NULL, j->context, j->model, j->dataset, j->options);
}

/* [latent, samples] */
SEXP r_embed(SEXP context, SEXP model, SEXP dataset, SEXP options) {
  job j = job_of(context, options);
  j.model = handle_get(model, HANDLE_MODEL);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  SEXP z = PROTECT(handle_new(HANDLE_MATRIX, R_NilValue));
  call_end end;
  call_run(&end, context, embed_work, &j);
  handle_set(z, j.matrix);
  call_finish(&end);
  SEXP value = PROTECT(matrix_value(j.matrix));
  r_free(z);
  UNPROTECT(2);
  return value;
}

static comp_status map_work(void *user) {
  job *j = user;
  return comp_map(&j->mapping, j->context, j->model, j->reference, j->dataset, j->options);
}

/* list(model, z [latent, samples], obs, report). */
SEXP r_map(SEXP context, SEXP model, SEXP reference, SEXP dataset, SEXP options) {
  job j = job_of(context, options);
  j.model = handle_get(model, HANDLE_MODEL);
  j.reference = handle_get(reference, HANDLE_DATASET);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  const char *names[] = {"model", "z", "obs", "report", ""};
  SEXP value = PROTECT(Rf_mkNamed(VECSXP, names)), larger = PROTECT(handle_new(HANDLE_MODEL, R_NilValue));
  SEXP z = PROTECT(handle_new(HANDLE_MATRIX, R_NilValue)), obs = PROTECT(handle_new(HANDLE_TABLE, R_NilValue));
  SEXP report = PROTECT(handle_new(HANDLE_TEXT, R_NilValue));
  call_end end;
  call_run(&end, context, map_work, &j);
  comp_mapping *m = &j.mapping;
  handle_set(larger, m->model);
  handle_set(z, m->z);
  handle_set(obs, m->obs);
  handle_set(report, m->report ? strdup(m->report) : NULL);
  comp_free(m->report);
  call_finish(&end);
  SET_VECTOR_ELT(value, 0, larger);
  SET_VECTOR_ELT(value, 1, matrix_value(m->z));
  SET_VECTOR_ELT(value, 2, table_value(m->obs));
  SET_VECTOR_ELT(value, 3, text_value(handle_get(report, HANDLE_TEXT)));
  r_free(z);
  r_free(obs);
  r_free(report);
  UNPROTECT(5);
  return value;
}

static comp_status counterfactual_work(void *user) {
  job *j = user;
  return comp_counterfactual(&j->prediction, j->context, j->model, j->dataset, j->options);
}

/* list(values, sd, lower, upper), each [features of the model, samples] or NULL. */
SEXP r_counterfactual(SEXP context, SEXP model, SEXP dataset, SEXP options) {
  job j = job_of(context, options);
  j.model = handle_get(model, HANDLE_MODEL);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  const char *names[] = {"values", "sd", "lower", "upper", ""};
  SEXP value = PROTECT(Rf_mkNamed(VECSXP, names));
  SEXP handles[4];
  for (int i = 0; i < 4; i++) handles[i] = PROTECT(handle_new(HANDLE_MATRIX, R_NilValue));
  call_end end;
  call_run(&end, context, counterfactual_work, &j);
  comp_prediction *p = &j.prediction;
  comp_matrix *parts[] = {p->values, p->sd, p->lower, p->upper};
  for (int i = 0; i < 4; i++) handle_set(handles[i], parts[i]);
  p->values = p->sd = p->lower = p->upper = NULL; /* the handles have them */
  comp_prediction_release(p);
  call_finish(&end);
  for (int i = 0; i < 4; i++) {
    SET_VECTOR_ELT(value, i, matrix_value(parts[i]));
    r_free(handles[i]);
  }
  UNPROTECT(5);
  return value;
}

/* ---- Results that are text */

static char *copy_text(const char *text) {
  return text == NULL ? NULL : strdup(text);
}

static comp_status scores_work(void *user) {
  job *j = user;
  comp_scores *scores;
  comp_status status = comp_scores_run(&scores, j->context, j->dataset, j->options);
  if (status != COMP_OK) return status;
  j->texts[0] = copy_text(comp_scores_json(scores));
  comp_scores_free(scores);
  return COMP_OK;
}

static comp_status diagnose_work(void *user) {
  job *j = user;
  comp_diagnosis *diagnosis;
  comp_status status = comp_diagnose(&diagnosis, j->context, j->dataset, j->models, j->n_models, j->model, j->options);
  if (status != COMP_OK) return status;
  j->texts[0] = copy_text(comp_diagnosis_json(diagnosis));
  comp_diagnosis_free(diagnosis);
  return COMP_OK;
}

static comp_status audit_work(void *user) {
  job *j = user;
  comp_audit *audit;
  comp_status status = j->model ? comp_audit_model(&audit, j->context, j->model, j->dataset, j->options)
                                : comp_audit_run(&audit, j->context, j->dataset, j->options);
  if (status != COMP_OK) return status;
  j->texts[0] = copy_text(comp_audit_json(audit));
  comp_audit_free(audit);
  return COMP_OK;
}

static comp_status run_work(void *user) {
  job *j = user;
  comp_run_result *result;
  comp_status status = comp_run_dataset(&result, j->context, j->dataset, j->options);
  if (status != COMP_OK) return status;
  j->texts[0] = copy_text(comp_run_result_folder(result));
  j->texts[1] = copy_text(comp_run_result_page(result));
  j->texts[2] = copy_text(comp_run_result_record(result));
  j->texts[3] = copy_text(comp_run_result_scores(result));
  j->texts[4] = copy_text(comp_verdict_json(comp_run_result_verdict(result)));
  comp_run_result_free(result);
  return COMP_OK;
}

/* Runs work that makes texts: a character vector with n of them. */
static SEXP make_texts(SEXP context, job *j, comp_status (*work)(void *), int n) {
  SEXP handles[5];
  for (int i = 0; i < 5; i++) handles[i] = PROTECT(handle_new(HANDLE_TEXT, R_NilValue));
  call_end end;
  call_run(&end, context, work, j);
  for (int i = 0; i < 5; i++) handle_set(handles[i], j->texts[i]);
  call_finish(&end);
  SEXP value = PROTECT(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n; i++)
    SET_STRING_ELT(value, i, j->texts[i] == NULL ? NA_STRING : Rf_mkCharCE(j->texts[i], CE_UTF8));
  for (int i = 0; i < 5; i++) r_free(handles[i]);
  UNPROTECT(6);
  return value;
}

SEXP r_scores_need_x(SEXP options) {
  bool needed;
  check(comp_scores_needs_x(&needed, handle_get(options, HANDLE_OPTIONS)));
  return Rf_ScalarLogical(needed);
}

SEXP r_scores(SEXP context, SEXP dataset, SEXP options) {
  job j = job_of(context, options);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  return make_texts(context, &j, scores_work, 1);
}

/* `against`: the model to compare with, or R's NULL. */
SEXP r_diagnose(SEXP context, SEXP dataset, SEXP models, SEXP against, SEXP options) {
  job j = job_of(context, options);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  j.n_models = (size_t)Rf_xlength(models);
  const comp_model **list = (const comp_model **)R_alloc(j.n_models + 1, sizeof *list);
  for (size_t i = 0; i < j.n_models; i++) list[i] = handle_get(VECTOR_ELT(models, (R_xlen_t)i), HANDLE_MODEL);
  j.models = list;
  if (against != R_NilValue) j.model = handle_get(against, HANDLE_MODEL);
  return make_texts(context, &j, diagnose_work, 1);
}

SEXP r_audit(SEXP context, SEXP dataset, SEXP model, SEXP options) {
  job j = job_of(context, options);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  if (model != R_NilValue) j.model = handle_get(model, HANDLE_MODEL);
  return make_texts(context, &j, audit_work, 1);
}

/* The folder, the page, run.json, scores.json and the findings. */
SEXP r_run(SEXP context, SEXP dataset, SEXP options) {
  job j = job_of(context, options);
  j.dataset = handle_get(dataset, HANDLE_DATASET);
  return make_texts(context, &j, run_work, 5);
}
