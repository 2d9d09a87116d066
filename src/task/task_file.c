/* task_file.c: the tasks from file to file, and the data as a model reads it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "comp/file.h"
#include "comp/prep.h"
#include "comp/task.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/table.h"
#include "core/threads.h"
#include "dist/comm.h"
#include "io/options.h"
#include "task/coder.h"
#include "task/options.h"

/* ---- Data as a model reads it ---- */

typedef struct align_job {
  const comp__aligned *aligned;
  comp_matrix *out;
  float *rows; /* [threads, features] */
  bool *there; /* [threads, features]: entries of a sparse row; all false between rows */
} align_job;

static void align_dense(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const align_job *job = arg;
  for (size_t i = begin; i < end; i++) comp__aligned_row(job->out->values + i * job->out->cols, job->aligned, i);
}

static void align_sparse(void *arg, size_t begin, size_t end, int thread) {
  const align_job *job = arg;
  const comp__aligned *f = job->aligned;
  const size_t features = job->out->cols;
  float *row = job->rows + (size_t)thread * features;
  bool *there = job->there + (size_t)thread * features;
  for (size_t i = begin; i < end; i++) {
    comp__aligned_row(row, f, i);
    for (int64_t k = f->x->indptr[i]; k < f->x->indptr[i + 1]; k++)
      if (f->place[f->x->indices[k]] >= 0) there[f->place[f->x->indices[k]]] = true;
    for (size_t m = 0; m < f->n_missing; m++) there[f->missing[m]] = row[f->missing[m]] != 0.0f;
    int64_t at = job->out->indptr[i];
    for (size_t g = 0; g < features; g++) {
      if (!there[g]) continue;
      there[g] = false;
      job->out->indices[at] = (int32_t)g;
      job->out->values[at++] = row[g];
    }
  }
}

/* How many entries the rows will have. */
static size_t count_entries(int64_t *indptr, const comp__aligned *f) {
  indptr[0] = 0;
  for (size_t i = 0; i < f->samples; i++) {
    const float *fill = comp__aligned_fill(f, i);
    indptr[i + 1] = indptr[i];
    for (size_t m = 0; m < f->n_missing; m++) indptr[i + 1] += fill[f->missing[m]] != 0.0f;
    for (int64_t k = f->x->indptr[i]; k < f->x->indptr[i + 1]; k++) indptr[i + 1] += f->place[f->x->indices[k]] >= 0;
  }
  return (size_t)indptr[f->samples];
}

static comp_status align_csr(comp_matrix **out, comp_context *context, const comp__aligned *f) {
  size_t features = f->model->network.features, threads = (size_t)comp_context_thread_count(context);
  int64_t *indptr = NULL;
  align_job job = {.aligned = f};
  comp_status status;
  COMP__TRY(comp__alloc(&indptr, f->samples + 1, sizeof *indptr));
  COMP__TRY(comp__matrix_new_csr_in(out, context, f->samples, features, count_entries(indptr, f)));
  memcpy((*out)->indptr, indptr, (f->samples + 1) * sizeof *indptr);
  COMP__TRY(comp__alloc(&job.rows, threads * features, sizeof *job.rows));
  COMP__TRY(comp__calloc(&job.there, threads * features, sizeof *job.there));
  job.out = *out;
  comp__parallel_for(context, f->samples, 64, align_sparse, &job);
done:
  comp__free(indptr);
  comp__free(job.rows);
  comp__free(job.there);
  return status;
}

/* X with the model's features. */
static comp_status align(comp_matrix **out, comp_context *context, const comp__aligned *f) {
  *out = NULL;
  if (!f->place) return comp_matrix_select(out, context, f->x, NULL, 0, NULL, 0);
  comp_status status;
  if (f->x->kind == COMP_DENSE) {
    status = comp__matrix_new_dense_in(out, context, f->samples, f->model->network.features);
    align_job job = {.aligned = f, .out = *out};
    if (status == COMP_OK) comp__parallel_for(context, f->samples, 64, align_dense, &job);
  } else
    status = align_csr(out, context, f);
  if (status != COMP_OK) {
    comp_matrix_free(*out);
    *out = NULL;
  }
  return status;
}

/* What is known of the features, in the model's order, when the data has them all. */
static comp_status take_var(comp_dataset *d, const comp__aligned *f, const comp_dataset *from) {
  comp__string_index index = {0};
  size_t *cols = NULL;
  comp_table *var = NULL;
  comp_status status;
  assert(from);
  COMP__TRY(comp__alloc(&cols, d->features, sizeof *cols));
  COMP__TRY(comp__string_index_init(&index, &from->var_names, NULL));
  for (size_t g = 0; g < d->features; g++) {
    cols[g] = comp__string_index_find(&index, comp_model_feature_name(f->model, g));
    if (cols[g] == SIZE_MAX) goto done; /* dropped by name on the way */
  }
  COMP__TRY(comp_table_select(&var, from->var, cols, d->features));
  comp_table_free(d->var);
  d->var = var;
done:
  comp__string_index_release(&index);
  comp__free(cols);
  return status;
}

/* var/comp_in_data: which features the data had. */
static comp_status mark_features(comp_dataset *d, const comp__aligned *f) {
  int8_t *there = NULL;
  size_t features = f->model->network.features;
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&there, features, sizeof *there));
  memset(there, 1, features);
  for (size_t m = 0; m < f->n_missing; m++) there[f->missing[m]] = 0;
  COMP__TRY(comp_table_add_bools(d->var, "comp_in_data", there));
done:
  comp__free(there);
  return status;
}

/* A data set without X: the samples of one and the features of a model, with empty tables. */
static comp_status new_results(comp_dataset **out, const comp_dataset *samples, const comp__strings *features) {
  comp__strings obs = {0}, var = {0};
  comp_status status = comp__strings_select(&obs, &samples->obs_names, NULL, 0);
  if (status == COMP_OK) status = comp__strings_select(&var, features, NULL, 0);
  if (status == COMP_OK) return comp__dataset_new(out, &obs, &var);
  comp__strings_release(&obs);
  comp__strings_release(&var);
  return status;
}

static comp_status copy_table(comp_table **out, const comp_table *table) {
  size_t n = comp_table_row_count(table), *rows = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&rows, n, sizeof *rows));
  for (size_t i = 0; i < n; i++) rows[i] = i;
  COMP__TRY(comp_table_select(out, table, rows, n));
done:
  comp__free(rows);
  return status;
}

comp_status comp_model_align(comp_dataset **out, comp_context *context, const comp_model *model,
                             const comp_dataset *dataset) {
  COMP__NEED_OUT(out, context, model, dataset);
  *out = NULL;
  comp__aligned aligned = {0};
  comp_dataset *d = NULL;
  comp_status status;
  assert(dataset);
  /* A centred model fills a lacking feature with the centre of the sample's condition. */
  const bool by_condition = model->network.options.centred &&
                            comp_table_find(comp_dataset_obs(dataset), comp_model_condition(model)) != COMP_NOT_FOUND;
  COMP__TRY(
      comp__align(&aligned, context, model, dataset, by_condition ? COMP__CONDITIONS_SOME : COMP__CONDITIONS_NONE));
  COMP__TRY(new_results(&d, dataset, &model->features));
  COMP__TRY(align(&d->x, context, &aligned));
  if (aligned.n_missing == 0)
    COMP__TRY(take_var(d, &aligned, dataset));
  else
    COMP__TRY(mark_features(d, &aligned));
  comp_table_free(d->obs);
  d->obs = NULL;
  COMP__TRY(copy_table(&d->obs, dataset->obs));
  COMP__TRY(comp_dataset_set_record(d, comp_dataset_record(aligned.dataset)));
  *out = d;
  d = NULL;
done:
  comp_dataset_free(d);
  comp__aligned_release(&aligned);
  return status;
}

/* ---- Files ---- */

/* The input, read, and how it goes back. */
typedef struct files {
  const char *in, *out;
  comp__read_options read;
  comp_dataset *dataset;
  bool encoded; /* a text table that was encoded as the model's was: written as a new file */
  bool anndata; /* .h5ad or .zarr */
} files;

comp_status comp__dataset_read_for(comp_dataset **out, bool *encoded, comp_context *context, const comp_model *model,
                                   const char *path, const comp__read_options *read) {
  const char *format;
  comp_table *table = NULL;
  *out = NULL;
  comp_status status = comp_file_format(&format, path);
  if (status != COMP_OK) return status;
  *encoded = strcmp(format, "csv") == 0 && comp__model_is_tabular(model) && !read->metadata && !read->transpose;
  if (!*encoded) return comp__dataset_read(out, context, path, read);
  status = comp__table_read(&table, context, path, read);
  if (status == COMP_OK) status = comp_tabular_apply(out, context, table, model->record);
  comp_table_free(table);
  return status;
}

comp_status comp_dataset_read_for(comp_dataset **out, comp_context *context, const comp_model *model, const char *path,
                                  const comp_options *read) {
  COMP__NEED_OUT(out, context, model, path);
  comp__read_options plain;
  bool encoded;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__read_kind, read);
  return status == COMP_OK ? comp__dataset_read_for(out, &encoded, context, model, path, &plain) : status;
}

static comp_status open_files(files *f, comp_context *context, const comp_model *model, const char *in, const char *out,
                              const comp_options *read) {
  const char *format;
  *f = (files){.in = in, .out = out};
  comp_status status = comp__options_resolve(&f->read, &comp__read_kind, read);
  f->read.skip_slots = true;
  if (status == COMP_OK) status = comp__dataset_check_update(in, out);
  if (status == COMP_OK) status = comp_file_format(&format, in);
  if (status != COMP_OK) return status;
  f->anndata = strcmp(format, "h5ad") == 0 || strcmp(format, "zarr") == 0;
  return comp__dataset_read_for(&f->dataset, &f->encoded, context, model, in, &f->read);
}

/* Of several ranks, the first one writes. */
static bool writes(const comp_context *context) {
  return comp__comm_rank(comp__comm_of(context)) == 0;
}

/* Adds results to the user's file. */
static comp_status update(const files *f, comp_context *context, const comp_dataset *results) {
  comp__read_options read = f->read;
  if (!writes(context)) return COMP_OK;
  read.skip_slots = false;
  return comp__dataset_update(context, results, f->in, f->out, &read);
}

/* Moves the matrices of one data set to another of the same shape. */
static comp_status move_slots(comp_dataset *to, comp_dataset *from) {
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < from->slots[slot].count; i++) {
      comp__named_matrix *entry = &from->slots[slot].entries[i];
      comp_matrix *matrix = entry->matrix;
      entry->matrix = NULL;
      comp_status status = comp_dataset_set_matrix(to, (comp_slot)slot, entry->name, matrix);
      if (status != COMP_OK) return status;
    }
  return COMP_OK;
}

/* Hands a matrix over, which is so also when it fails. */
static comp_status give(comp_dataset *results, const char *key, comp_matrix **matrix) {
  comp_matrix *taken = *matrix;
  *matrix = NULL;
  return comp_dataset_set_matrix(results, COMP_SLOT_OBSM, key, taken);
}

comp_status comp_embed_file(comp_context *context, const comp_model *model, const char *in_path, const char *out_path,
                            const comp_options *read, const comp_options *options, const char *key, bool scales) {
  COMP__NEED(context, model, in_path, out_path);
  files f = {0};
  comp_matrix *z = NULL, *scale = NULL;
  comp_dataset *results = NULL;
  comp__embed_options plain;
  comp_status status;
  char scale_key[256];
  if (!key) key = "X_comp";
  COMP__TRY(comp__options_resolve(&plain, &comp__embed_kind, options));
  COMP__TRY(open_files(&f, context, model, in_path, out_path, read));
  COMP__TRY(comp__embed(&z, scales ? &scale : NULL, context, model, f.dataset, &plain));
  COMP__TRY(new_results(&results, f.dataset, &f.dataset->var_names));
  COMP__TRY(give(results, key, &z));
  snprintf(scale_key, sizeof scale_key, "%s_scale", key);
  if (scale) COMP__TRY(give(results, scale_key, &scale));
  if (f.encoded) {
    COMP__TRY(move_slots(f.dataset, results));
    if (writes(context)) COMP__TRY(comp_dataset_write(context, f.dataset, out_path, NULL));
  } else
    COMP__TRY(update(&f, context, results));
done:
  comp_matrix_free(z);
  comp_matrix_free(scale);
  comp_dataset_free(results);
  comp_dataset_free(f.dataset);
  return status;
}

/* ---- Layers ---- */

/* Whether the data has exactly the features of the model; place [features] says where each stands there. */
static comp_status find_places(bool *same, bool *moved, size_t *place, const comp_model *model, const comp_dataset *d) {
  comp__string_index index = {0};
  size_t duplicate;
  comp_status status;
  *same = comp_dataset_feature_count(d) == comp_model_feature_count(model);
  *moved = false;
  COMP__TRY(comp__string_index_init(&index, &d->var_names, &duplicate));
  *same = *same && duplicate == SIZE_MAX;
  for (size_t g = 0; *same && g < comp_model_feature_count(model); g++) {
    place[g] = comp__string_index_find(&index, comp_model_feature_name(model, g));
    *same = place[g] != SIZE_MAX;
    *moved = *moved || place[g] != g;
  }
done:
  comp__string_index_release(&index);
  return status;
}

typedef struct move_job {
  comp_matrix *matrix;
  const size_t *place;
  float *rows; /* [threads, features] */
} move_job;

static void move_rows(void *arg, size_t begin, size_t end, int thread) {
  const move_job *job = arg;
  size_t n = job->matrix->cols;
  float *row = job->rows + (size_t)thread * n;
  for (size_t i = begin; i < end; i++) {
    float *values = job->matrix->values + i * n;
    for (size_t g = 0; g < n; g++) row[job->place[g]] = values[g];
    memcpy(values, row, n * sizeof *values);
  }
}

/* Brings columns from the model's order into the file's. */
static comp_status move_columns(comp_context *context, comp_matrix *matrix, const size_t *place) {
  move_job job = {.matrix = matrix, .place = place};
  if (!matrix) return COMP_OK;
  comp_status status = comp__alloc(&job.rows, (size_t)comp_context_thread_count(context), matrix->cols * sizeof(float));
  if (status == COMP_OK) comp__parallel_for(context, matrix->rows, 64, move_rows, &job);
  comp__free(job.rows);
  return status;
}

/* Puts a prediction into a data set, which takes its matrices over. */
static comp_status put_layers(comp_dataset *d, comp_prediction *p, const char *key, bool some, const comp_table *obs) {
  comp_matrix **matrices[] = {&p->values, &p->sd, &p->lower, &p->upper};
  static const char *const suffixes[] = {"", "_sd", "_lower", "_upper"};
  char name[512];
  for (int i = 0; i < 4; i++) {
    if (!*matrices[i]) continue;
    comp_matrix *matrix = *matrices[i];
    *matrices[i] = NULL;
    snprintf(name, sizeof name, "%s%s", key, suffixes[i]);
    comp_status status = comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, name, matrix);
    if (status != COMP_OK) return status;
  }
  /* Without a choice of samples there is nothing to say, unless an earlier result said something. */
  snprintf(name, sizeof name, "%s_predicted", key);
  if (!some && comp_table_find(obs, name) == COMP_NOT_FOUND) return COMP_OK;
  return comp_table_add_bools(d->obs, name, p->predicted);
}

/* The file has the model's features: layers are added to it. */
static comp_status add_layers(const files *f, comp_context *context, const comp_model *model,
                              const comp__counterfactual_options *o, const char *key, const size_t *place, bool moved) {
  comp_prediction p = {0};
  comp_dataset *results = NULL;
  comp_status status;
  assert(f->dataset);
  COMP__TRY(comp__counterfactual(&p, context, model, f->dataset, o));
  if (moved) {
    COMP__TRY(move_columns(context, p.values, place));
    COMP__TRY(move_columns(context, p.sd, place));
    COMP__TRY(move_columns(context, p.lower, place));
    COMP__TRY(move_columns(context, p.upper, place));
  }
  COMP__TRY(new_results(&results, f->dataset, &f->dataset->var_names));
  COMP__TRY(put_layers(results, &p, key, o->from, f->dataset->obs));
  COMP__TRY(update(f, context, results));
done:
  comp_prediction_release(&p);
  comp_dataset_free(results);
  return status;
}

/* The file has other features: a new one is made, with the model's. */
static comp_status make_file(files *f, comp_context *context, const comp_model *model,
                             const comp__counterfactual_options *o, const char *key) {
  comp__write_options write = comp__write_defaults();
  comp_prediction p = {0};
  comp_dataset *d = NULL;
  comp_status status;
  if (comp_file_same(f->in, f->out))
    COMP__FAIL(COMP_ERR_ARGUMENT,
               "%s has %zu features and the model %zu: the result is a file with the model's features, which must not "
               "replace the input; name another output",
               f->in, comp_dataset_feature_count(f->dataset), comp_model_feature_count(model));
  COMP__TRY(comp_model_align(&d, context, model, f->dataset));
  comp__info(context, "the data has %zu features and the model %zu: %s gets the model's features only",
             comp_dataset_feature_count(f->dataset), comp_model_feature_count(model), f->out);
  comp_dataset_free(f->dataset);
  f->dataset = NULL;
  COMP__TRY(comp__counterfactual(&p, context, model, d, o));
  COMP__TRY(put_layers(d, &p, key, o->from, d->obs));
  if (f->anndata && !f->read.raw) write.carry_from = f->in;
  if (writes(context)) COMP__TRY(comp__dataset_write(context, d, f->out, &write));
done:
  comp_prediction_release(&p);
  comp_dataset_free(d);
  return status;
}

static comp_status predict_file(files *f, comp_context *context, const comp_model *model,
                                const comp__counterfactual_options *o, const char *key) {
  size_t *place = NULL;
  bool same, moved;
  comp_status status;
  COMP__TRY(comp__alloc(&place, comp_model_feature_count(model), sizeof *place));
  COMP__TRY(find_places(&same, &moved, place, model, f->dataset));
  if (same && !f->encoded && !f->read.raw)
    COMP__TRY(add_layers(f, context, model, o, key, place, moved));
  else
    COMP__TRY(make_file(f, context, model, o, key));
done:
  comp__free(place);
  return status;
}

comp_status comp_counterfactual_file(comp_context *context, const comp_model *model, const char *in_path,
                                     const char *out_path, const comp_options *read, const comp_options *options,
                                     const char *key) {
  COMP__NEED(context, model, in_path, out_path);
  files f = {0};
  char own[COMP_LAYER_NAME_SIZE];
  int32_t level;
  comp__counterfactual_options plain;
  comp_status status;
  COMP__TRY(comp__options_resolve(&plain, &comp__counterfactual_kind, options));
  COMP__TRY(
      comp__model_find_level(&level, model, plain.to, COMP_ERR_ARGUMENT, "to:")); /* before reading: it may take long */
  if (plain.from) COMP__TRY(comp__model_find_level(&level, model, plain.from, COMP_ERR_ARGUMENT, "from:"));
  if (!key) {
    comp_counterfactual_layer_name(own, plain.to);
    key = own;
  }
  COMP__TRY(open_files(&f, context, model, in_path, out_path, read));
  COMP__TRY(predict_file(&f, context, model, &plain, key));
done:
  comp_dataset_free(f.dataset);
  return status;
}
