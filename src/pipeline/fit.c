/* fit.c: steps of a run: the model, embeddings and maps, other methods, predictions; then data.h5ad. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/hold.h"
#include "comp/baseline.h"
#include "comp/io.h"
#include "comp/pca.h"
#include "comp/umap.h"
#include "comp/verdict.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "pipeline/job.h"
#include "task/options.h"

/* The map before is for the page, which draws so many samples. */
enum { COMPONENTS = 50, LAID_OUT_BEFORE = 100000 };

/* ---- The model ------------------------------------------------------------------------------------------------- */

/* Hiding an attribute of rows of a table takes another recipe than aligning cells, however many features there are:
 * with the default, a forest found the attribute far more often than in the data itself where there were 13 of them. */
static bool takes_protect(const comp__job *job) {
  return !comp_options_given(job->options, "preset") && job->o.protect && job->encoded;
}

/* Samples a step, where the recipe's are too many for the data: then every step would see the same ones. */
static comp_status limit_batch(comp_options *t, const comp__job *job) {
  char preset[64];
  const double held = comp__job_holds(job) ? job->o.test_share : 0;
  int64_t batch, quarter = (int64_t)((double)comp_dataset_sample_count(job->dataset) * (1 - held)) / 4;
  comp_status status = comp_options_get_int(&batch, t, "batch");
  if (status != COMP_OK || comp_options_given(t, "batch") || batch <= quarter) return status;
  if (strcmp(comp_options_get(t, "preset", preset, sizeof preset), "protect") != 0) return COMP_OK;
  return comp_options_set_int(t, "batch", quarter < 32 ? 32 : quarter);
}

bool comp__job_aims(const comp__job *job) {
  const char *weight = comp__options_text(job->options, "target-weight");
  return job->o.target && !(weight && strtod(weight, NULL) == 0.0);
}

/* The target, and the rows to leave out. */
static comp_status add_target(comp_options *t, const comp__job *job) {
  comp_status status = job->o.target ? comp_options_set(t, "target", job->o.target) : COMP_OK;
  return status == COMP_OK && comp__job_holds(job) ? comp_options_set(t, "unseen", COMP__UNSEEN) : status;
}

/* The same where the model knows what it is used for. */
static void tell_aim(comp__job *job, const comp_options *t) {
  char latent[32], gamma[32], weight[32];
  comp__info(
      job->context,
      "--protect: the model learns to predict '%s' (weight %s) in %s dimensions, and keeps little else; gamma %s "
      "takes out what reveals '%s', which the encoder does not see (--target-weight 0: it does not see '%s'; --preset "
      "default: other options, too)",
      job->o.target, comp_options_get(t, "target-weight", weight, sizeof weight),
      comp_options_get(t, "latent", latent, sizeof latent), comp_options_get(t, "gamma", gamma, sizeof gamma),
      job->o.train.condition, job->o.target);
}

/* What --protect changes, and why. */
static void tell_recipe(comp__job *job, const comp_options *t) {
  char scale[32], batch[32], gamma[32];
  comp__info(
      job->context,
      "--protect: posteriors of standard deviation %s, steps of %s rows, gamma %s, and no stop before the end: "
      "narrow posteriors barely overlap, and then the penalty cannot mix the values of '%s'; the encoder does not see "
      "'%s', which it would write into the means (--preset "
      "default: "
      "none of this)",
      comp_options_get(t, "scale", scale, sizeof scale), comp_options_get(t, "batch", batch, sizeof batch),
      comp_options_get(t, "gamma", gamma, sizeof gamma), job->o.train.condition, job->o.train.condition);
}

comp_status comp__train_plan(comp__plan *plan, comp__job *job) {
  comp_status status = comp__options_part(&plan->options, job->options, &comp__train_kind);
  if (status == COMP_OK && takes_protect(job)) status = comp_options_set(plan->options, "preset", "protect");
  if (status == COMP_OK) status = add_target(plan->options, job);
  if (status == COMP_OK) status = limit_batch(plan->options, job);
  if (status == COMP_OK) status = comp_options_check(plan->options);
  if (status != COMP_OK || !takes_protect(job)) return status;
  if (comp__job_aims(job))
    tell_aim(job, plan->options);
  else
    tell_recipe(job, plan->options);
  return COMP_OK;
}

static comp_status train(comp__job *job, const comp_options *options, const char *checkpoint, bool resume) {
  comp_options *t = NULL;
  comp_status status = comp_options_copy(&t, options);
  if (status == COMP_OK) status = comp_options_set(t, "checkpoint", checkpoint);
  if (status == COMP_OK) status = comp_options_set_bool(t, "resume", resume);
  if (status == COMP_OK) status = comp_options_set_int(t, "checkpoint-minutes", 1);
  if (status == COMP_OK) status = comp_train(&job->model, job->context, job->dataset, t);
  comp_options_free(t);
  return status;
}

comp_status comp__train_step(comp__job *job, const comp__plan *plan) {
  comp__path checkpoint = comp__path_at_work(job, "model.checkpoint");
  const bool resume = access(checkpoint.text, F_OK) == 0 || errno != ENOENT; /* reading it tells what is wrong */
  comp_status status = train(job, plan->options, checkpoint.text, resume);
  if (resume && (status == COMP_ERR_DATA || status == COMP_ERR_FORMAT)) {
    /* a checkpoint of other options or other data is of no use here */
    comp_model_free(job->model);
    job->model = NULL;
    unlink(checkpoint.text);
    status = train(job, plan->options, checkpoint.text, false);
  }
  if (status == COMP_OK) status = comp_model_save(job->model, comp__path_at_work(job, "model.safetensors").text);
  if (status == COMP_OK) unlink(checkpoint.text);
  return status;
}

/* A model file that cannot be read is made again. */
comp_status comp__train_found(bool *out, comp__job *job) {
  *out = comp_model_load(&job->model, comp__path_at_work(job, "model.safetensors").text) == COMP_OK;
  return COMP_OK;
}

/* The recipe and how the training ended, for the record. */
comp_status comp__train_finish(comp__job *job) {
  char *text;
  json_t *config = json_loads(comp_model_config(job->model), 0, NULL);
  if (config) json_object_set_new(job->record, "model", config);
  comp_status status = comp_training_json(&text, job->model);
  if (status != COMP_OK) return status;
  json_object_set_new(job->record, "training", json_loads(text, 0, NULL));
  comp_free(text);
  return comp__folder_save(job, false);
}

/* ---- Embeddings and maps --------------------------------------------------------------------------------------- */

/* As many components as there can be, up to COMPONENTS. */
comp_status comp__pca_plan(comp__plan *plan, comp__job *job) {
  size_t n = comp_dataset_sample_count(job->dataset) - 1, f = comp_dataset_feature_count(job->dataset),
         most = n < f ? n : f;
  comp_status status = comp_options_new(&plan->options, "pca");
  if (status != COMP_OK) return status;
  return comp_options_set_int(plan->options, "components", (int64_t)(most < COMPONENTS ? most : COMPONENTS));
}

comp_status comp__pca_step(comp__job *job, const comp__plan *plan) {
  comp_pca pca = {0};
  comp_status status = comp_pca_run(&pca, job->context, job->dataset, plan->options);
  comp_pca_release(&pca);
  return status;
}

comp_status comp__embed_step(comp__job *job, const comp__plan *plan) {
  (void)plan;
  comp_matrix *z;
  comp_status status = comp_embed(&z, NULL, job->context, job->model, job->dataset, NULL);
  return status == COMP_OK ? comp_dataset_set_matrix(job->dataset, COMP_SLOT_OBSM, "X_comp", z) : status;
}

size_t comp__map_count(comp__job *job) {
  return !job->o.no_umap;
}

/* The embedding that a map is of. */
static const char *mapped(const comp__plan *plan) {
  return plan->step == &comp__steps[COMP__STEP_MAP] ? "X_comp" : "X_pca";
}

comp_status comp__map_plan(comp__plan *plan, comp__job *job) {
  comp__words_add(&plan->words, "--use", mapped(plan));
  comp__words_add(&plan->words, "--key", plan->id);
  comp_status status = comp_options_new(&plan->options, "umap");
  if (status == COMP_OK && plan->step == &comp__steps[COMP__STEP_MAP_BEFORE] &&
      comp_dataset_sample_count(job->dataset) > LAID_OUT_BEFORE)
    status = comp_options_set_int(plan->options, "max-samples", LAID_OUT_BEFORE);
  return status == COMP_OK ? comp_options_set_int(plan->options, "seed", (int64_t)job->o.train.seed) : status;
}

comp_status comp__map_step(comp__job *job, const comp__plan *plan) {
  comp_matrix *layout;
  const comp_matrix *points = comp_dataset_matrix(job->dataset, COMP_SLOT_OBSM, mapped(plan));
  comp_status status = comp_umap_run(&layout, NULL, job->context, points, plan->options);
  return status == COMP_OK ? comp_dataset_set_matrix(job->dataset, COMP_SLOT_OBSM, plan->id, layout) : status;
}

/* ---- Other methods --------------------------------------------------------------------------------------------- */

size_t comp__compare_count(comp__job *job) {
  size_t n = 0;
  for (const char *at = job->o.compare; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) n++;
  return n;
}

const comp_baseline_method *comp__compare_method(const comp__job *job, size_t i) {
  const comp_baseline_method *method = NULL;
  const char *at = job->o.compare;
  char name[64];
  for (; i > 0; i--) at = strchr(at, ',') + 1;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
  comp_status status = comp_baseline_find(&method, name);
  (void)status;
  return method;
}

void comp__compare_name(comp__plan *plan, const comp__job *job) {
  const comp_baseline_method *method = comp__compare_method(job, plan->i);
  snprintf(plan->id, sizeof plan->id, "%s", method->name);
  snprintf(plan->command, sizeof plan->command, "baseline %s", method->name);
  snprintf(plan->outputs[0], sizeof plan->outputs[0], "obsm/%s", method->embedding);
  snprintf(plan->outputs[1], sizeof plan->outputs[1], "layers/%s", method->layer ? method->layer : "");
  plan->n_outputs = method->layer ? 2 : 1;
}

/* No more components than the data has. */
comp_status comp__compare_plan(comp__plan *plan, comp__job *job) {
  const comp_baseline_method *method = comp__compare_method(job, plan->i);
  size_t most;
  comp_status status = comp_options_new(&plan->options, "baseline");
  if (status == COMP_OK) status = comp_options_set(plan->options, "condition", job->o.train.condition);
  if (status == COMP_OK) status = comp_baseline_most_components(&most, comp_dataset_x(job->dataset));
  if (status == COMP_OK && most < method->components)
    status = comp_options_set_int(plan->options, "components", (int64_t)most);
  if (status == COMP_OK && strstr(method->takes, "seed"))
    status = comp_options_set_int(plan->options, "seed", (int64_t)job->o.train.seed);
  return status;
}

/* Copies what a method gave into the data set. */
static comp_status merge(comp__job *job, const comp_dataset *results) {
  comp_status status = COMP_OK;
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < comp_dataset_matrix_count(results, (comp_slot)slot) && status == COMP_OK; i++) {
      const char *name = comp_dataset_matrix_name(results, (comp_slot)slot, i);
      comp_matrix *copy;
      status = comp_matrix_select(&copy, job->context, comp_dataset_matrix(results, (comp_slot)slot, name), NULL, 0,
                                  NULL, 0);
      if (status == COMP_OK) status = comp_dataset_set_matrix(job->dataset, (comp_slot)slot, name, copy);
    }
  return status;
}

comp_status comp__compare_step(comp__job *job, const comp__plan *plan) {
  comp_dataset *results = NULL;
  comp_status status = comp_baseline_run(&results, job->context, job->dataset, comp__compare_method(job, plan->i)->name,
                                         NULL, plan->options);
  if (status == COMP_OK) status = merge(job, results);
  comp_dataset_free(results);
  return status;
}

/* ---- Predictions ----------------------------------------------------------------------------------------------- */

size_t comp__predict_count(comp__job *job) {
  return job->to ? job->n_predicted : 0;
}

void comp__predict_name(comp__plan *plan, const comp__job *job) {
  comp_counterfactual_layer_name(plan->id, job->predicted[plan->i]);
  snprintf(plan->outputs[0], sizeof plan->outputs[0], "layers/%s", plan->id);
}

/* Whether the data has a value below 0. */
static bool has_negative(const comp_matrix *x) {
  const size_t n = x->kind == COMP_CSR ? comp_matrix_nnz(x) : x->rows * x->cols;
  for (size_t i = 0; i < n; i++)
    if (x->values[i] < 0) return true;
  return false;
}

/* Whether values below 0 become 0. By default they do where the data has none: a count or its logarithm below 0 means
 * nothing, and programs that read the layer refuse it. Means get a little larger by it where a change is negative. */
static bool clips(comp__job *job) {
  if (job->o.clip != COMP__CLIP_AUTO) return job->o.clip == COMP__CLIP_YES;
  if (job->clips == 0) job->clips = has_negative(comp_dataset_x(job->dataset)) ? -1 : 1;
  return job->clips > 0;
}

/* Which conditions have no predictions, why, and how to get them. */
static void tell_predicted(comp__job *job) {
  const comp_groups *g = &job->conditions;
  char names[600] = "";
  size_t left = 0;
  for (size_t l = 0; l < g->n_levels; l++) {
    size_t used = strlen(names);
    if (comp__is_predicted(job, g->levels[l])) continue;
    if (left < 5) snprintf(names + used, sizeof names - used, "%s%.100s", left ? ", " : "", g->levels[l]);
    left++;
  }
  if (left == 0 || job->o.to) return;
  comp__info(job->context,
             "predictions are made for %zu of %zu conditions, because each takes about %.1f GB; not for %s%s "
             "(--all-counterfactuals makes all, comp counterfactual --to VALUE one)",
             job->n_predicted, g->n_levels, job->layer_bytes / 1e9, names, left > 5 ? ", ..." : "");
}

/* A population that another condition lacks takes its change from others; one that is only rarer there was seen. */
static comp_status plan_borrowing(comp_options *options) {
  comp_status status = comp_options_set_bool(options, "borrow", true);
  return status == COMP_OK ? comp_options_set_real(options, "rarer", COMP__UNSHARED_TIMES) : status;
}

comp_status comp__predict_plan(comp__plan *plan, comp__job *job) {
  static const char *const how[] = {[COMP__PREDICT_CELLS] = "cells", [COMP__PREDICT_RESIDUAL] = "residual"};
  comp_status status = comp_options_new(&plan->options, "counterfactual");
  if (status == COMP_OK && plan->i == 0) tell_predicted(job);
  if (status == COMP_OK) status = comp_options_set(plan->options, "to", job->predicted[plan->i]);
  if (status == COMP_OK && job->o.predict == COMP__PREDICT_CELLS)
    status = comp_options_set_int(plan->options, "seed", (int64_t)job->o.train.seed);
  if (status == COMP_OK && clips(job)) status = comp_options_set_bool(plan->options, "clip", true);
  if (status != COMP_OK || job->o.predict == COMP__PREDICT_DECODED) return status;
  status = comp_options_set_bool(plan->options, how[job->o.predict], true);
  return status == COMP_OK ? plan_borrowing(plan->options) : status;
}

/* Dense values that nothing in the report reads are not made of large data, unless they are asked for. */
size_t comp__correct_count(comp__job *job) {
  const bool wanted = (!job->o.protect || job->to || job->o.reference) && !job->o.no_correct;
  if (wanted && comp__layer_is_large(job) && !job->told_large) {
    job->told_large = true;
    comp__info(job->context,
               "corrected values are not made, because they take about %.1f GB (comp correct --to %s makes them, or "
               "--all-counterfactuals)",
               job->layer_bytes / 1e9, job->reference);
  }
  return wanted && !comp__layer_is_large(job);
}

/* All samples as if under the reference. */
comp_status comp__correct_plan(comp__plan *plan, comp__job *job) {
  comp_status status = comp_options_new(&plan->options, "counterfactual");
  if (status == COMP_OK) status = comp_options_set(plan->options, "to", job->reference);
  if (status == COMP_OK) status = comp_options_set_bool(plan->options, "residual", true);
  if (status == COMP_OK && clips(job)) status = comp_options_set_bool(plan->options, "clip", true);
  if (status == COMP_OK)
    comp__info(job->context, "corrected: every sample as if '%s' were '%s'%s%s", job->o.train.condition, job->reference,
               job->o.reference       ? ""
               : job->reference_named ? ", a control by its name (--reference VALUE takes another)"
                                      : ", the first value (--reference VALUE takes another)",
               clips(job) ? "; values below 0 become 0 (--clip-values no keeps them)" : "");
  return status;
}

comp_status comp__predict_step(comp__job *job, const comp__plan *plan) {
  comp_prediction prediction;
  comp_status status = comp_counterfactual(&prediction, job->context, job->model, job->dataset, plan->options);
  comp_matrix *values = prediction.values;
  prediction.values = NULL;
  comp_prediction_release(&prediction);
  return status == COMP_OK ? comp_dataset_set_matrix(job->dataset, COMP_SLOT_LAYERS, plan->id, values) : status;
}

/* ---- data.h5ad ------------------------------------------------------------------------------------------------- */

/* Matrices of the earlier file that nobody took over are of steps that are not wanted any more. */
static bool has_unwanted(const comp__job *job) {
  for (int slot = 0; slot < 2 && job->old_data; slot++)
    for (size_t i = 0; i < comp_dataset_matrix_count(job->old_data, (comp_slot)slot); i++)
      if (!comp_dataset_matrix(job->dataset, (comp_slot)slot,
                               comp_dataset_matrix_name(job->old_data, (comp_slot)slot, i)))
        return true;
  return false;
}

comp_status comp__write_data(comp__job *job) {
  comp__path path = comp__path_at_work(job, "data.h5ad");
  bool there = access(path.text, F_OK) == 0;
  comp_status status = !there || job->data_changed > 0 || has_unwanted(job) ? comp__save_data(job) : COMP_OK;
  comp_dataset_free(job->old_data);
  comp_dataset_free(job->dataset);
  job->old_data = job->dataset = NULL;
  if (status == COMP_OK) status = comp_dataset_read(&job->dataset, job->context, path.text, NULL);
  if (status != COMP_OK) return status;
  json_object_set_new(job->record, "content", comp__content_list(job->dataset));
  return comp__folder_save(job, false);
}
