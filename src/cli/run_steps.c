/* run_steps.c: the steps of `comp run` after the data is prepared. Each shows the command that does the same alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/run.h"
#include "comp/figure.h"
#include "comp/report.h"

enum { COMPONENTS = 50, DIAGNOSE_SAMPLES = 2000, DIAGNOSE_PERMUTATIONS = 99 };

static const char *const *one(const char *list[2], const char *output) {
  list[0] = output;
  list[1] = NULL;
  return list;
}

static int fail(run_job *job, comp_status status) {
  int code = cli_fail(job->session, status);
  if (status == COMP_ERR_INTERRUPTED) run_say(job, "give the same command again to go on from here");
  return code;
}

/* Whether a module is there; says what its absence means if not. */
static bool has_module(run_job *job, const char *name, const char *without) {
  const char *library;
  if (comp_module_load(&library, name) == COMP_OK) return true;
  run_say(job, "comp: warning: %s: %s", without, comp_error_message());
  return false;
}

static void in_place(run_job *job) {
  run_line_path(job, "-i", "data.h5ad");
  run_line_path(job, "-o", "data.h5ad");
}

/* ---- The model ------------------------------------------------------------------------------------------------- */

/* Hiding an attribute of rows of a table takes another recipe than aligning cells. Few features leave dimensions of
 * wide posteriors unused, and in these a trace of the attribute stays that the penalty does not see and a classifier
 * does. */
static bool takes_protect(const run_job *job) {
  enum { LEAST_FEATURES = 20 };
  bool few = job->dataset && comp_dataset_feature_count(job->dataset) < LEAST_FEATURES;
  return !comp_options_given(job->options->train, "preset") && job->options->protect && job->encoded && !few;
}

/* Samples a step, where the recipe's are too many for the data: then every step would see the same ones. */
static comp_status limit_batch(comp_options *t, const run_job *job) {
  char preset[64];
  int64_t batch, quarter = job->dataset ? (int64_t)comp_dataset_sample_count(job->dataset) / 4 : INT64_MAX;
  comp_status status = comp_options_get_int(&batch, t, "batch");
  if (status != COMP_OK || comp_options_given(t, "batch") || batch <= quarter) return status;
  if (strcmp(comp_options_get(t, "preset", preset, sizeof preset), "protect") != 0) return COMP_OK;
  return comp_options_set_int(t, "batch", quarter < 32 ? 32 : quarter);
}

/* The options of the training, with what the data decides on. *out should be freed via comp_options_free(). */
static int train_options(comp_options **out, run_job *job) {
  comp_status status = comp_options_copy(out, job->options->train);
  if (status == COMP_OK && takes_protect(job)) status = comp_options_set(*out, "preset", "protect");
  if (status == COMP_OK) status = limit_batch(*out, job);
  if (status != COMP_OK) return fail(job, status);
  status = comp_options_check(*out);
  return status == COMP_ERR_ARGUMENT ? cli_option_error(job->session) : status != COMP_OK ? fail(job, status) : 0;
}

static comp_status train(run_job *job, comp_options *t, const char *checkpoint, bool resume) {
  comp_status status = comp_options_set(t, "checkpoint", checkpoint);
  if (status == COMP_OK) status = comp_options_set_bool(t, "resume", resume);
  if (status == COMP_OK) status = comp_options_set_int(t, "checkpoint-minutes", 1);
  return status == COMP_OK ? comp_train(&job->model, job->context, job->dataset, t) : status;
}

static int fit(run_job *job, comp_options *t) {
  const char *checkpoint = run_path(job, "model.checkpoint"), *model = run_path(job, "model.safetensors");
  const bool resume = access(checkpoint, F_OK) == 0;
  comp_status status = train(job, t, checkpoint, resume);
  if (resume && (status == COMP_ERR_DATA || status == COMP_ERR_FORMAT)) {
    /* a checkpoint of other options or other data is of no use here */
    comp_model_free(job->model);
    job->model = NULL;
    unlink(checkpoint);
    status = train(job, t, checkpoint, false);
  }
  if (status == COMP_OK) status = comp_model_save(job->model, model);
  if (status != COMP_OK) return fail(job, status);
  unlink(checkpoint);
  return 0;
}

/* What --protect changes, and why. */
static void tell_recipe(run_job *job, const comp_options *t) {
  char scale[32], batch[32], gamma[32];
  if (!takes_protect(job)) return;
  run_say(
      job,
      "--protect: posteriors of standard deviation %s, steps of %s rows, gamma %s, and no stop before the end: "
      "narrow posteriors hardly overlap, and then the penalty cannot mix the values of '%s'; a row's own posterior is "
      "not part of its mixture (--preset default: none of this)",
      comp_options_get(t, "scale", scale, sizeof scale), comp_options_get(t, "batch", batch, sizeof batch),
      comp_options_get(t, "gamma", gamma, sizeof gamma), job->options->condition);
}

/* How the training ended, for the record. */
static int record_training(run_job *job) {
  char *text;
  comp_status status = comp_training_json(&text, job->model);
  if (status != COMP_OK) return fail(job, status);
  json_object_set_new(job->record, "training", json_loads(text, 0, NULL));
  comp_free(text);
  return 0;
}

int run_train(run_job *job) {
  const char *list[2];
  comp_options *t = NULL;
  int code = train_options(&t, job);
  if (!code) {
    tell_recipe(job, t);
    run_line_start(job, "train", "train");
    run_line_path(job, "-i", "data.h5ad");
    run_line_path(job, "-o", "model.safetensors");
    run_line_options(job, t);
    bool needed = run_step_needed(job, job->prepared, one(list, "model.safetensors"));
    if (!needed && comp_model_load(&job->model, run_path(job, "model.safetensors")) != COMP_OK) needed = true;
    if (needed) code = fit(job, t);
    job->trained = job->fingerprint;
  }
  comp_options_free(t);
  if (!code) code = run_step_done(job);
  json_t *config = job->model ? json_loads(comp_model_config(job->model), 0, NULL) : NULL;
  if (config) json_object_set_new(job->record, "model", config);
  if (!code) code = record_training(job);
  return code ? code : run_folder_save(job, false);
}

/* ---- Representations ------------------------------------------------------------------------------------------- */

/* As many as there can be, up to COMPONENTS. */
static size_t count_components(const run_job *job) {
  size_t n = comp_dataset_sample_count(job->dataset) - 1, f = comp_dataset_feature_count(job->dataset),
         most = n < f ? n : f;
  return most < COMPONENTS ? most : COMPONENTS;
}

static int components(run_job *job) {
  const char *list[2];
  comp_options *p = NULL;
  comp_pca pca = {0};
  comp_status status = comp_options_new(&p, "pca");
  if (status == COMP_OK) status = comp_options_set_int(p, "components", (int64_t)count_components(job));
  if (status == COMP_OK) {
    run_line_start(job, "pca", "pca");
    in_place(job);
    run_line_options(job, p);
    if (run_step_needed(job, job->prepared, one(list, "obsm/X_pca")))
      status = comp_pca_run(&pca, job->context, job->dataset, p);
  }
  comp_pca_release(&pca);
  comp_options_free(p);
  return status == COMP_OK ? run_step_done(job) : fail(job, status);
}

static int embed(run_job *job) {
  const char *list[2];
  run_line_start(job, "embed", "embed");
  run_line_path(job, "-i", "data.h5ad");
  run_line_path(job, "-m", "model.safetensors");
  run_line_path(job, "-o", "data.h5ad");
  if (run_step_needed(job, job->trained, one(list, "obsm/X_comp"))) {
    comp_matrix *z;
    comp_status status = comp_embed(&z, NULL, job->context, job->model, job->dataset, NULL);
    if (status == COMP_OK) status = comp_dataset_set_matrix(job->dataset, COMP_SLOT_OBSM, "X_comp", z);
    if (status != COMP_OK) return fail(job, status);
  }
  return run_step_done(job);
}

static int map(run_job *job, const char *use, const char *key, uint64_t upstream) {
  const char *list[2];
  char output[64];
  if (job->options->no_umap) return 0;
  snprintf(output, sizeof output, "obsm/%s", key);
  run_line_start(job, key, "umap");
  in_place(job);
  run_line_text(job, "--use", use);
  run_line_text(job, "--key", key);
  comp_options *u = NULL;
  comp_status status = comp_options_new(&u, "umap");
  if (status == COMP_OK) status = comp_options_set_int(u, "seed", job->options->seed);
  if (status == COMP_OK) run_line_options(job, u);
  if (status == COMP_OK && run_step_needed(job, upstream, one(list, output))) {
    comp_matrix *layout;
    status = comp_umap_run(&layout, NULL, job->context, comp_dataset_matrix(job->dataset, COMP_SLOT_OBSM, use), u);
    if (status == COMP_OK) status = comp_dataset_set_matrix(job->dataset, COMP_SLOT_OBSM, key, layout);
  }
  comp_options_free(u);
  return status == COMP_OK ? run_step_done(job) : fail(job, status);
}

/* Moves what a method gave into the data set. */
static comp_status merge(run_job *job, comp_dataset *results) {
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

/* The options of a method, with no more components than the data has. *out should be freed via comp_options_free(). */
static comp_status compare_options(comp_options **out, run_job *job, const comp_baseline_method *method) {
  size_t most;
  comp_status status = comp_options_new(out, "baseline");
  if (status == COMP_OK) status = comp_options_set(*out, "condition", job->options->condition);
  if (status == COMP_OK) status = comp_baseline_most_components(&most, comp_dataset_x(job->dataset));
  if (status == COMP_OK && most < method->components) status = comp_options_set_int(*out, "components", (int64_t)most);
  if (status == COMP_OK && strstr(method->takes, "seed"))
    status = comp_options_set_int(*out, "seed", job->options->seed);
  return status;
}

static int compare(run_job *job, const comp_baseline_method *method) {
  char embedding[80], layer[80];
  const char *list[3] = {embedding, method->layer ? layer : NULL, NULL};
  char command[64];
  snprintf(embedding, sizeof embedding, "obsm/%s", method->embedding);
  snprintf(layer, sizeof layer, "layers/%s", method->layer ? method->layer : "");
  snprintf(command, sizeof command, "baseline %s", method->name);
  run_line_start(job, method->name, command);
  in_place(job);
  comp_options *b = NULL;
  comp_status status = compare_options(&b, job, method);
  if (status == COMP_OK) run_line_options(job, b);
  if (status == COMP_OK && run_step_needed(job, job->prepared, list)) {
    comp_dataset *results = NULL;
    status = comp_baseline_run(&results, job->context, job->dataset, method->name, NULL, b);
    if (status == COMP_OK) status = merge(job, results);
    comp_dataset_free(results);
  }
  comp_options_free(b);
  return status == COMP_OK ? run_step_done(job) : fail(job, status);
}

/* Whether the first `length` characters of a list with commas hold the name. */
static bool is_before(const char *list, size_t length, const char *name) {
  size_t size = strlen(name);
  for (const char *at = list; at < list + length; at += strcspn(at, ",") + 1)
    if (strcspn(at, ",") == size && strncmp(at, name, size) == 0) return true;
  return false;
}

/* Calls `visit` for each method of --compare; without it, checks their names. */
static int each_method(run_job *job, int (*visit)(run_job *job, const comp_baseline_method *method)) {
  int code = 0;
  if (!job->options->compare) return 0;
  char *copy = strdup(job->options->compare), *rest = copy;
  for (char *name; copy && !code && (name = strsep(&rest, ","));) {
    const comp_baseline_method *method;
    if (comp_baseline_find(&method, name) != COMP_OK)
      code = cli_usage_error(job->session, "--compare: %s", comp_error_message());
    else if (visit)
      code = visit(job, method);
    else if (is_before(job->options->compare, (size_t)(name - copy), name))
      code = cli_usage_error(job->session, "--compare: %s is named twice", name);
  }
  free(copy);
  return code;
}

int run_check_options(run_job *job) {
  const run_options *o = job->options;
  comp_options *t = NULL;
  if (o->target && !o->protect) return cli_usage_error(job->session, "--target goes with --protect");
  if (o->hvg && o->no_hvg) return cli_usage_error(job->session, "--hvg and --no-hvg exclude each other");
  int code = each_method(job, NULL);
  if (!code) code = train_options(&t, job);
  comp_options_free(t);
  return code;
}

int run_represent(run_job *job) {
  int code = components(job);
  uint64_t pca = job->fingerprint;
  if (!code) code = map(job, "X_pca", "X_umap_before", pca);
  if (!code) code = embed(job);
  uint64_t embedding = job->fingerprint;
  if (!code) code = map(job, "X_comp", "X_umap", embedding);
  if (!code) code = each_method(job, compare);
  job->mapped = job->all;
  return code;
}

/* ---- Predictions ----------------------------------------------------------------------------------------------- */

static int predict(run_job *job, const char *to, const char *layer, bool correct) {
  const char *list[2];
  char output[320], id[320];
  snprintf(output, sizeof output, "layers/%s", layer);
  snprintf(id, sizeof id, "%s", layer);
  run_line_start(job, id, correct ? "correct" : "counterfactual");
  run_line_path(job, "-i", "data.h5ad");
  run_line_path(job, "-m", "model.safetensors");
  run_line_path(job, "-o", "data.h5ad");
  comp_options *c = NULL;
  comp_status status = comp_options_new(&c, "counterfactual");
  if (status == COMP_OK) status = comp_options_set(c, "to", to);
  if (status == COMP_OK && correct) status = comp_options_set_bool(c, "residual", true);
  if (status == COMP_OK) run_line_options(job, c);
  if (status == COMP_OK && run_step_needed(job, job->trained, one(list, output))) {
    comp_prediction prediction;
    status = comp_counterfactual(&prediction, job->context, job->model, job->dataset, c);
    comp_matrix *values = prediction.values;
    prediction.values = NULL;
    comp_prediction_release(&prediction);
    if (status == COMP_OK) status = comp_dataset_set_matrix(job->dataset, COMP_SLOT_LAYERS, layer, values);
  }
  comp_options_free(c);
  return status == COMP_OK ? run_step_done(job) : fail(job, status);
}

int run_predict(run_job *job) {
  const comp_groups *g = &job->conditions;
  int code = 0;
  size_t largest = 0;
  for (size_t l = 0; l < g->n_levels; l++) {
    if (g->counts[l] > g->counts[largest]) largest = l;
    if (!job->goal || (job->options->to && strcmp(job->options->to, g->levels[l]) != 0)) continue;
    char layer[COMP_LAYER_NAME_SIZE];
    comp_counterfactual_layer_name(layer, g->levels[l]);
    if (!code) code = predict(job, g->levels[l], layer, false);
  }
  if (!code && job->goal && !job->options->no_correct) code = predict(job, g->levels[largest], "corrected", true);
  job->predicted = job->all;
  return code;
}

bool run_makes(run_job *job, const char *output) {
  static const char *const maps[] = {"obsm/X_umap", "obsm/X_umap_before"};
  const run_options *o = job->options;
  const comp_groups *g = &job->conditions;
  char name[COMP_LAYER_NAME_SIZE], layer[sizeof name + sizeof "layers/"];
  for (size_t i = 0; i < 2; i++)
    if (strcmp(output, maps[i]) == 0) return !o->no_umap;
  if (strcmp(output, "obsm/X_pca") == 0 || strcmp(output, "obsm/X_comp") == 0) return true;
  if (strcmp(output, "layers/corrected") == 0) return job->goal && !o->no_correct;
  for (size_t l = 0; l < g->n_levels && job->goal; l++) {
    comp_counterfactual_layer_name(name, g->levels[l]);
    snprintf(layer, sizeof layer, "layers/%s", name);
    if (strcmp(output, layer) == 0) return !o->to || strcmp(o->to, g->levels[l]) == 0;
  }
  bool made = false;
  for (size_t i = 0; o->compare && i < comp_baseline_count(); i++) {
    const comp_baseline_method *method = comp_baseline_at(i);
    if (!is_before(o->compare, strlen(o->compare), method->name)) continue;
    made = made || strcmp(strchr(output, '/') + 1, method->embedding) == 0 ||
           (method->layer && strcmp(strchr(output, '/') + 1, method->layer) == 0);
  }
  return made;
}

int run_save_data(run_job *job) {
  comp_options *write = NULL;
  const char *path = run_path(job, "data.h5ad");
  comp_status status = comp_options_new(&write, "write");
  if (status == COMP_OK)
    status = job->reused ? comp_options_set(write, "carry-from", path)
                         : cli_input_carry(write, job->read, job->options->input.path);
  job->data_changed++;
  if (status == COMP_OK) status = comp_dataset_write(job->context, job->dataset, path, write);
  comp_options_free(write);
  return status == COMP_OK ? 0 : fail(job, status);
}

int run_write_data(run_job *job) {
  bool there = access(run_path(job, "data.h5ad"), F_OK) == 0;
  /* Matrices of the earlier file that nobody took over are of steps that are not wanted any more. */
  size_t left = 0;
  if (job->old_data && job->data_changed == 0)
    for (int slot = 0; slot < 2; slot++)
      for (size_t i = 0; i < comp_dataset_matrix_count(job->old_data, (comp_slot)slot); i++)
        if (!comp_dataset_matrix(job->dataset, (comp_slot)slot,
                                 comp_dataset_matrix_name(job->old_data, (comp_slot)slot, i)))
          left++;
  int code = !there || job->data_changed > 0 || left > 0 ? run_save_data(job) : 0;
  comp_dataset_free(job->old_data);
  comp_dataset_free(job->dataset);
  job->old_data = job->dataset = NULL;
  if (code) return code;
  comp_status status = comp_dataset_read(&job->dataset, job->context, run_path(job, "data.h5ad"), NULL);
  if (status != COMP_OK) return fail(job, status);
  json_object_set_new(job->record, "content", run_content_list(job->dataset));
  return run_folder_save(job, false);
}

/* ---- Measures -------------------------------------------------------------------------------------------------- */

static int add_name(run_job *job, const comp_baseline_method *method) {
  size_t used = strlen(job->embeddings);
  snprintf(job->embeddings + used, sizeof job->embeddings - used, ",%s", method->embedding);
  return 0;
}

enum { MOST_CHANGES = 64, MIN_LABEL = 20 };

/* The changes of condition whose predictions are scored, the one that is shown first at the front. */
typedef struct change_list {
  const char *from[MOST_CHANGES], *to[MOST_CHANGES];
  char layers[MOST_CHANGES][COMP_LAYER_NAME_SIZE];
  size_t n, left; /* left: those that are not in the list, for lack of room */
} change_list;

static void list_changes(change_list *list, const run_job *job) {
  const comp_groups *g = &job->conditions;
  list->n = list->left = 0;
  for (int first = 1; first >= 0 && job->goal; first--)
    for (size_t t = 0; t < g->n_levels; t++)
      for (size_t f = 0; f < g->n_levels; f++) {
        const char *from = g->levels[f], *to = g->levels[t];
        bool main = strcmp(from, job->source) == 0 && strcmp(to, job->goal) == 0;
        if (f == t || main != (first == 1)) continue;
        if (job->options->to && strcmp(job->options->to, to) != 0) continue;
        if (!main && job->options->from && strcmp(job->options->from, from) != 0) continue;
        if (list->n == MOST_CHANGES) {
          list->left++;
          continue;
        }
        comp_counterfactual_layer_name(list->layers[list->n], to);
        list->from[list->n] = from;
        list->to[list->n++] = to;
      }
}

/* As comp score writes it. */
static comp_status write_scores(run_job *job, const comp_scores *scores) {
  cli_output output;
  if (!cli_output_open(&output, run_path(job, "scores.json"))) return COMP_ERR_IO;
  fputs(comp_scores_json(scores), output.file);
  return cli_output_commit(&output) ? COMP_OK : COMP_ERR_IO;
}

static int score(run_job *job, const comp_options *s, const change_list *list) {
  comp_scores *scores = NULL;
  if (list->left)
    run_say(job, "comp: warning: predictions of %zu more changes of condition are not scored: there are too many",
            list->left);
  comp_status status = comp_scores_run(&scores, job->context, job->dataset, s);
  if (status == COMP_OK) status = write_scores(job, scores);
  int code = status == COMP_OK ? 0 : fail(job, status);
  comp_scores_free(scores);
  return code;
}

/* The options of the scores but for changes of condition. *out should be freed via comp_options_free(). */
static comp_status score_options(comp_options **out, run_job *job) {
  const run_options *o = job->options;
  comp_status status = comp_options_new(out, "score");
  comp_options *s = *out;
  if (status == COMP_OK) status = comp_options_set(s, "use", job->embeddings);
  if (status == COMP_OK) status = comp_options_set(s, "condition", o->condition);
  if (status == COMP_OK) status = comp_options_set(s, "label", o->label);
  if (status == COMP_OK) status = comp_options_set(s, "metrics", "paper,scib");
  if (status == COMP_OK) status = comp_options_set_int(s, "k", (int64_t)job->k);
  if (status == COMP_OK) status = comp_options_set_real(s, "alpha", o->alpha);
  if (status == COMP_OK) status = comp_options_set(s, "small-labels", "shrink");
  if (status == COMP_OK) status = comp_options_set_int(s, "min-label", MIN_LABEL);
  if (status == COMP_OK) status = comp_options_set_int(s, "seed", o->seed);
  if (status == COMP_OK) status = comp_options_add(s, "predict", o->condition);
  if (status == COMP_OK && o->target) status = comp_options_add(s, "predict", o->target);
  if (status == COMP_OK && o->target) status = comp_options_set_bool(s, "fairness", true);
  if (status == COMP_OK && o->protect) {
    bool boosted = has_module(job, "boosted", "the condition is predicted without boosted trees");
    status = comp_options_set(s, "classifiers", boosted ? "logistic,forest,boosted" : "logistic,forest");
  }
  return status;
}

static int measure(run_job *job) {
  const run_options *o = job->options;
  const char *outputs[2];
  char text[512];
  change_list list;
  comp_options *s = NULL;
  int code = 0;
  snprintf(job->embeddings, sizeof job->embeddings, "X_pca,X_comp");
  each_method(job, add_name);
  list_changes(&list, job);
  comp_status status = score_options(&s, job);
  for (size_t i = 0; i < list.n && status == COMP_OK; i++) {
    status = comp_options_add(s, "counterfactual", list.layers[i]);
    if (status == COMP_OK) status = comp_options_add(s, "from", list.from[i]);
    if (status == COMP_OK) status = comp_options_add(s, "to", list.to[i]);
  }
  if (status == COMP_OK) status = comp_options_check(s);
  if (status != COMP_OK) {
    code = status == COMP_ERR_ARGUMENT ? cli_option_error(job->session) : fail(job, status);
    goto done;
  }
  run_line_start(job, "score", "score");
  run_line_path(job, "-i", "data.h5ad");
  run_line_text(job, "--use", job->embeddings);
  run_line_text(job, "--condition", o->condition);
  run_line_text(job, "--label", o->label);
  run_line_text(job, "--metrics", "paper,scib");
  run_line_number(job, "-k", (double)job->k);
  run_line_number(job, "--alpha", o->alpha);
  run_line_text(job, "--small-labels", "shrink");
  run_line_number(job, "--min-label", MIN_LABEL);
  run_line_number(job, "--seed", (double)o->seed);
  run_line_text(job, "--predict", o->condition);
  run_line_text(job, "--predict", o->target);
  if (o->protect) run_line_text(job, "--classifiers", comp_options_get(s, "classifiers", text, sizeof text));
  if (o->target) run_line_flag(job, "--fairness");
  for (size_t i = 0; i < list.n; i++) {
    run_line_text(job, "--counterfactual", list.layers[i]);
    run_line_text(job, "--from", list.from[i]);
    run_line_text(job, "--to", list.to[i]);
  }
  run_line_path(job, "--json", "scores.json");
  if (run_step_needed(job, job->all, one(outputs, "scores.json"))) code = score(job, s, &list);
  if (!code) code = run_step_done(job);
done:
  comp_options_free(s);
  return code;
}

/* As comp diagnose writes it. */
static comp_status write_diagnosis(run_job *job, const comp_diagnosis *diagnosis) {
  cli_output output;
  if (!cli_output_open(&output, run_path(job, "diagnose.json"))) return COMP_ERR_IO;
  fprintf(output.file, "%s\n", comp_diagnosis_json(diagnosis));
  return cli_output_commit(&output) ? COMP_OK : COMP_ERR_IO;
}

static comp_status diagnose_options(comp_options **out, const run_job *job) {
  comp_status status = comp_options_new(out, "diagnose");
  if (status == COMP_OK) status = comp_options_set(*out, "label", job->options->label);
  if (status == COMP_OK) status = comp_options_set_int(*out, "max-samples", DIAGNOSE_SAMPLES);
  if (status == COMP_OK) status = comp_options_set_int(*out, "permutations", DIAGNOSE_PERMUTATIONS);
  return status == COMP_OK ? comp_options_set_int(*out, "seed", job->options->seed) : status;
}

static int diagnose(run_job *job) {
  const char *list[2];
  comp_options *d = NULL;
  if (job->options->no_diagnose) return 0;
  comp_status status = diagnose_options(&d, job);
  if (status == COMP_OK) {
    run_line_start(job, "diagnose", "diagnose");
    run_line_path(job, "-i", "data.h5ad");
    run_line_path(job, "-m", "model.safetensors");
    run_line_options(job, d);
    run_line_path(job, "--json", "diagnose.json");
  }
  if (status == COMP_OK && run_step_needed(job, job->trained, one(list, "diagnose.json"))) {
    comp_diagnosis *diagnosis = NULL;
    const comp_model *model = job->model;
    status = comp_diagnose(&diagnosis, job->context, job->dataset, &model, 1, NULL, d);
    if (status == COMP_OK) status = write_diagnosis(job, diagnosis);
    comp_diagnosis_free(diagnosis);
    if (status == COMP_ERR_DATA) {
      run_say(job, "comp: warning: the model is not checked: %s", comp_error_message());
      unlink(run_path(job, "diagnose.json")); /* of an earlier run */
      status = COMP_OK;
    }
  }
  comp_options_free(d);
  return status == COMP_OK ? run_step_done(job) : fail(job, status);
}

int run_measure(run_job *job) {
  int code = measure(job);
  if (!code) code = diagnose(job);
  return code ? code : run_folder_save(job, false);
}

/* ---- Figures and the page -------------------------------------------------------------------------------------- */

typedef enum picture { PICTURE_MAP, PICTURE_HISTORY, PICTURE_CHANGE, PICTURE_STRIP, PICTURE_METRICS } picture;

static const struct {
  const char *kind, *file;
} pictures[] = {{"umap", "umap"},
                {"history", "training"},
                {"counterfactual", "counterfactual"},
                {"strip", "strip"},
                {"metrics", "metrics"}};

static comp_status draw_with(run_job *job, picture kind, const char *path, comp_options *f) {
  const run_options *o = job->options;
  const char *maps[] = {"X_umap_before", "X_umap"}, *columns[] = {o->condition, o->label ? o->label : o->target};
  const char *scores = run_path(job, "scores.json");
  comp_status status = comp_options_set(f, "condition", o->condition);
  if (status == COMP_OK) status = comp_options_set(f, "label", o->label);
  if (status == COMP_OK) status = comp_options_set(f, "from", job->source);
  if (status == COMP_OK) status = comp_options_set(f, "to", job->goal);
  if (status != COMP_OK) return status;
  switch (kind) {
  case PICTURE_MAP:
    return comp_figure_scatter(job->context, job->dataset, path, maps, 2, columns, columns[1] ? 2 : 1, f);
  case PICTURE_HISTORY:
    return comp_figure_history(job->model, path, f);
  case PICTURE_CHANGE:
    return comp_figure_counterfactual(job->context, job->dataset, path, f);
  case PICTURE_STRIP:
    return comp_figure_strip(job->context, job->dataset, path, f);
  case PICTURE_METRICS:
    return comp_figure_metrics(&scores, 1, path, f);
  }
  return COMP_OK;
}

static comp_status draw(run_job *job, picture kind, const char *path) {
  comp_options *figure = NULL;
  comp_status status = comp_options_new(&figure, "figure");
  if (status == COMP_OK) status = draw_with(job, kind, path, figure);
  comp_options_free(figure);
  return status;
}

static int draw_step(run_job *job, picture kind) {
  const run_options *o = job->options;
  const char *list[2];
  char name[64], command[64];
  bool change = kind == PICTURE_CHANGE || kind == PICTURE_STRIP;
  if ((kind == PICTURE_MAP && o->no_umap) || (change && !job->goal)) return 0;
  snprintf(name, sizeof name, "figures/%s.%s", pictures[kind].file, o->figures);
  snprintf(command, sizeof command, "figure %s", pictures[kind].kind);
  run_line_start(job, name, command);
  if (kind == PICTURE_HISTORY)
    run_line_path(job, "-m", "model.safetensors");
  else if (kind == PICTURE_METRICS)
    run_line_path(job, "--scores", "scores.json");
  else
    run_line_path(job, "-i", "data.h5ad");
  if (change || kind == PICTURE_MAP) {
    run_line_text(job, "--condition", o->condition);
    run_line_text(job, "--label", o->label || change ? o->label : o->target);
  }
  if (change) {
    run_line_text(job, "--from", job->source);
    run_line_text(job, "--to", job->goal);
  }
  run_line_path(job, "-o", name);
  uint64_t upstream = kind == PICTURE_MAP       ? job->mapped
                      : kind == PICTURE_HISTORY ? job->trained
                      : change                  ? job->predicted
                                                : job->measured;
  if (run_step_needed(job, upstream, one(list, name))) {
    comp_status status = draw(job, kind, run_path(job, name));
    if (status == COMP_ERR_DATA || status == COMP_ERR_ARGUMENT)
      run_say(job, "comp: warning: no figure %s: %s", name, comp_error_message());
    else if (status != COMP_OK)
      return fail(job, status);
  }
  return run_step_done(job);
}

/* When the page is made; SOURCE_DATE_EPOCH sets it, for the same bytes again. */
static const char *now(char *buffer, size_t size) {
  const char *fixed = getenv("SOURCE_DATE_EPOCH");
  time_t when = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
  struct tm parts;
  if (!gmtime_r(&when, &parts) || strftime(buffer, size, "%Y-%m-%d %H:%M UTC", &parts) == 0) return NULL;
  return buffer;
}

static comp_status write_page(run_job *job, const char *diagnose) {
  const run_options *o = job->options;
  const char *scores = run_path(job, "scores.json");
  char created[64];
  comp_options *r = NULL;
  comp_status status = comp_options_new(&r, "report");
  if (status == COMP_OK) status = comp_options_set(r, "source", o->input.path);
  if (status == COMP_OK) status = comp_options_set(r, "condition", o->condition);
  if (status == COMP_OK) status = comp_options_set(r, "label", o->label);
  if (status == COMP_OK) status = comp_options_set_list(r, "scores", &scores, 1);
  if (status == COMP_OK) status = comp_options_set(r, "diagnose", diagnose);
  if (status == COMP_OK) status = comp_options_set(r, "created", now(created, sizeof created));
  if (status == COMP_OK) status = comp_options_set(r, "before", o->no_umap ? "X_pca" : NULL);
  if (status == COMP_OK) status = comp_options_set(r, "after", o->no_umap ? "X_comp" : NULL);
  if (status == COMP_OK)
    status = comp_report_write(job->context, job->dataset, job->model, run_path(job, "report.html"), r);
  comp_options_free(r);
  return status;
}

static int page(run_job *job) {
  const run_options *o = job->options;
  const char *list[2];
  run_line_start(job, "report", "report");
  run_line_path(job, "-i", "data.h5ad");
  run_line_path(job, "-m", "model.safetensors");
  run_line_path(job, "--scores", "scores.json");
  bool checked = !o->no_diagnose && access(run_path(job, "diagnose.json"), F_OK) == 0;
  if (checked) run_line_path(job, "--diagnose", "diagnose.json");
  run_line_text(job, "--condition", o->condition);
  run_line_text(job, "--label", o->label);
  run_line_text(job, "--source", o->input.path);
  if (o->no_umap) {
    run_line_text(job, "--before", "X_pca");
    run_line_text(job, "--after", "X_comp");
  }
  run_line_path(job, "-o", "report.html");
  if (run_step_needed(job, job->measured, one(list, "report.html"))) {
    comp_status status = write_page(job, checked ? run_path(job, "diagnose.json") : NULL);
    if (status != COMP_OK) return fail(job, status);
  }
  return run_step_done(job);
}

int run_draw(run_job *job) {
  int code = 0;
  job->measured = job->all;
  const bool can_draw = has_module(job, "figures", "there are no figures; the page has its own");
  for (int kind = PICTURE_MAP; can_draw && kind <= PICTURE_METRICS && !code; kind++)
    code = draw_step(job, (picture)kind);
  return code ? code : page(job);
}
