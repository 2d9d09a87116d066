/* experiment.c: the table of experiments, and the driver that does what is not done yet. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comp/baseline.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/strings.h"
#include "experiment/fit.h"
#include "experiment/jobs.h"
#include "experiment/lab.h"

/* Data of up to so many values, as in all the paper's experiments but that of Celligner, does not fill threads: each
 * training then gets one, while there are trainings enough. */
enum { SMALL_VALUES = 20 * 1000 * 1000 };

static const comp__experiment *const experiments[] = {
    &comp__experiment_adult,
    &comp__experiment_kang,
    &comp__experiment_pbmc,
    &comp__experiment_tumour,
};

size_t comp_experiment_count(void) {
  return sizeof experiments / sizeof(void *);
}

const char *comp_experiment_name(size_t index) {
  return experiments[index]->name;
}

const char *comp_experiment_summary(size_t index) {
  return experiments[index]->summary;
}

const char *comp_experiment_table(size_t index, size_t table) {
  return experiments[index]->tables[table].name;
}

/* ---- Options --------------------------------------------------------------------------------------------------- */

static const char *nth_name(const void *user, size_t i) {
  (void)user;
  return experiments[i]->name;
}

static comp_status find(const comp__experiment **out, const char *name) {
  for (size_t i = 0; i < comp_experiment_count(); i++)
    if (strcmp(experiments[i]->name, name) == 0) {
      *out = experiments[i];
      return COMP_OK;
    }
  const char *nearest = comp__nearest_name(name, comp_experiment_count(), nth_name, NULL);
  return comp__error(COMP_ERR_ARGUMENT, "there is no experiment '%s'%s%s%s; there are adult, kang, pbmc and tumour",
                     name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Calls known() on each name of a list. */
static comp_status check_list(const char *list, const void *user, bool (*known)(const void *user, const char *name),
                              const char *what) {
  comp_status status = COMP_OK;
  char *copy = NULL;
  if (!list) return COMP_OK;
  COMP__TRY(comp__strdup(&copy, list));
  char *rest = copy;
  for (char *name; (name = strsep(&rest, ","));)
    if (!known(user, name)) COMP__FAIL(COMP_ERR_ARGUMENT, "there is no %s '%s'", what, name);
done:
  comp__free(copy);
  return status;
}

static bool is_table(const void *user, const char *name) {
  const comp__experiment *experiment = user;
  for (const comp__table *t = experiment->tables; t->name; t++)
    if (strcmp(t->name, name) == 0) return true;
  return false;
}

static bool is_baseline(const void *user, const char *name) {
  const comp_baseline_method *method;
  (void)user;
  return comp_baseline_find(&method, name) == COMP_OK;
}

static bool is_model(const void *user, const char *name) {
  (void)user;
  for (size_t i = 0; i < comp_model_kind_count(); i++)
    if (strcmp(comp_model_kind_name(i), name) == 0) return true;
  return false;
}

comp_status comp_experiment_options_check(const comp_experiment_options *o) {
  const comp__experiment *experiment = NULL;
  if (!o->name) return comp__error(COMP_ERR_ARGUMENT, "which experiment? adult, kang, pbmc or tumour");
  comp_status status = find(&experiment, o->name);
  if (status == COMP_OK) status = check_list(o->tables, experiment, is_table, "table");
  if (status == COMP_OK) status = check_list(o->models, NULL, is_model, "model");
  if (status == COMP_OK && o->baselines && strcmp(o->baselines, "none") != 0)
    status = check_list(o->baselines, NULL, is_baseline, "baseline");
  if (status != COMP_OK) return status;
  if (!o->data || !o->out)
    return comp__error(COMP_ERR_ARGUMENT, "the folders of the data and of the results are needed");
  if (strlen(o->out) > 3000) return comp__error(COMP_ERR_ARGUMENT, "the name of the folder is too long");
  if (strcmp(o->preset, "default") != 0 && strcmp(o->preset, "paper") != 0)
    return comp__error(COMP_ERR_ARGUMENT, "preset must be default or paper, not '%s'", o->preset);
  if (o->jobs < 0 || o->jobs > COMP_MAX_THREADS)
    return comp__error(COMP_ERR_ARGUMENT, "jobs: %d is not between 0 and %d", o->jobs, COMP_MAX_THREADS);
  if (o->n_seeds == 0) return comp__error(COMP_ERR_ARGUMENT, "no seeds");
  for (size_t i = 0; i < o->n_embeddings; i++) {
    const char *equals = strchr(o->embeddings[i], '=');
    if (!equals || equals == o->embeddings[i] || !equals[1])
      return comp__error(COMP_ERR_ARGUMENT, "embedding '%s' is not of the form NAME=FILE[:KEY]", o->embeddings[i]);
    const size_t length = (size_t)(equals - o->embeddings[i]);
    char path[4096];
    struct stat info;
    comp__embedding_file(path, sizeof path, equals + 1);
    if (access(path, R_OK) != 0) return comp__error_errno("embedding: '%s' cannot be read", path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
      return comp__error(COMP_ERR_ARGUMENT, "embedding: '%s' is a folder", path);
    for (size_t j = 0; j < i; j++)
      if (strncmp(o->embeddings[j], o->embeddings[i], length + 1) == 0)
        return comp__error(COMP_ERR_ARGUMENT, "embedding: two are named '%.*s'", (int)length, o->embeddings[i]);
    for (size_t m = 0; m < comp_model_kind_count(); m++)
      if (strlen(comp_model_kind_name(m)) == length && strncmp(comp_model_kind_name(m), o->embeddings[i], length) == 0)
        return comp__error(COMP_ERR_ARGUMENT, "embedding: '%.*s' is the name of a model", (int)length,
                           o->embeddings[i]);
  }
  return COMP_OK;
}

/* ---- The driver ------------------------------------------------------------------------------------------------ */

static comp_status make_folder(const char *path) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return COMP_OK;
  return comp__error_errno("cannot make the folder '%s'", path);
}

/* Whether the folder is there, or can be made; before the work. Makes nothing. */
static comp_status check_folder(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0) {
    if (!S_ISDIR(info.st_mode)) return comp__error(COMP_ERR_IO, "'%s' is there, and is not a folder", path);
    return access(path, W_OK | X_OK) == 0 ? COMP_OK : comp__error_errno("the folder '%s' cannot be written to", path);
  }
  char parent[4096];
  snprintf(parent, sizeof parent, "%s", path);
  size_t length = strlen(parent);
  while (length > 1 && parent[length - 1] == '/') length--;
  while (length > 0 && parent[length - 1] != '/') length--;
  snprintf(parent, sizeof parent, "%.*s", length ? (int)length : 1, length ? path : ".");
  return access(parent, W_OK | X_OK) == 0 ? COMP_OK : comp__error_errno("cannot make the folder '%s'", path);
}

/* Runs of other data, or of another experiment, are not taken for those of this one: what names their files tells. */
static comp_status tag_data(comp__lab *lab) {
  comp_status status = COMP_OK;
  const comp_matrix *x = comp_dataset_x(lab->dataset);
  const comp_table *obs = comp_dataset_obs(lab->dataset);
  const char *columns[] = {lab->experiment->condition, lab->experiment->label};
  const uint64_t shape[] = {x->rows, x->cols};
  comp_groups groups = {0};
  comp__digest digest;
  comp__digest_init(&digest);
  comp__digest_add(&digest, shape, sizeof shape);
  size_t count = x->rows * x->cols;
  if (x->kind == COMP_CSR) {
    count = (size_t)x->indptr[x->rows];
    comp__digest_add(&digest, x->indptr, (x->rows + 1) * sizeof *x->indptr);
    comp__digest_add(&digest, x->indices, count * sizeof *x->indices);
  }
  comp__digest_add(&digest, x->values, count * sizeof *x->values);
  for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
    size_t column;
    COMP__TRY(comp_table_require(&column, obs, columns[c]));
    COMP__TRY(comp_table_groups(&groups, obs, column));
    comp__digest_add(&digest, groups.codes, x->rows * sizeof *groups.codes);
    for (size_t l = 0; l < groups.n_levels; l++)
      comp__digest_add(&digest, groups.levels[l], strlen(groups.levels[l]) + 1);
    comp_groups_release(&groups);
  }
  snprintf(lab->tag, sizeof lab->tag, "%s-%08x", lab->experiment->name, (unsigned)comp__digest_end(&digest));
done:
  return status;
}

/* The epochs that a trained model was to have. */
static double planned_epochs(const comp_model *model) {
  json_t *root = json_loads(comp_model_config(model), 0, NULL);
  double epochs = json_number_value(json_object_get(json_object_get(root, "training"), "epochs"));
  json_decref(root);
  return epochs;
}

/* What one model takes, with all epochs of the recipe: from one step of it, which says how many these are, and one and
 * three epochs. Stopping early can only make it less. *asked is for the epochs that the user wants. */
static comp_status estimate(double *whole, double *asked, comp__lab *lab, const comp__trial *trial) {
  comp__train_options options;
  comp_model *model = NULL;
  comp_status status = lab->experiment->recipe(&options, lab, trial);
  if (status != COMP_OK) return status;
  options.condition = lab->experiment->condition;
  options.max_seconds = 0.001; /* the least that there is: a step or a few */
  status = comp__train(&model, lab->context, lab->dataset, &options);
  double epochs = status == COMP_OK ? planned_epochs(model) : 0, times[2];
  comp_model_free(model);
  options.max_seconds = 0;
  for (size_t i = 0; i < 2 && status == COMP_OK; i++) {
    options.epochs = 1 + 2 * i;
    double start = comp__seconds();
    status = comp__train(&model, lab->context, lab->dataset, &options);
    times[i] = comp__seconds() - start;
    comp_model_free(model);
  }
  if (status != COMP_OK) return status;
  const double epoch = fmax(times[1] - times[0], 0) / 2;
  *whole = times[0] + epoch * (epochs - 1);
  *asked = lab->options->epochs ? times[0] + epoch * ((double)lab->options->epochs - 1) : *whole;
  return COMP_OK;
}

static const char *spell_time(char *out, size_t size, double seconds) {
  if (seconds < 100)
    snprintf(out, size, "%.0f seconds", fmax(ceil(seconds), 2));
  else if (seconds < 100 * 60)
    snprintf(out, size, "%.0f minutes", seconds / 60);
  else
    snprintf(out, size, "%.1f hours", seconds / 3600);
  return out;
}

/* What the trials with models will take, when a recipe is a long one. */
static comp_status say_cost(comp__lab *lab) {
  double total = 0, total_asked = 0, whole = 0, asked = 0;
  size_t trained = 0;
  char last[sizeof lab->plan.trials->model] = "", time[32];
  const size_t epochs = lab->options->epochs;
  for (size_t i = 0; i < lab->plan.count; i++) {
    const comp__trial *trial = &lab->plan.trials[i];
    char path[4096];
    comp__lab_path(path, sizeof path, lab, trial, NULL, ".json");
    if (!trial->model[0] || access(path, R_OK) == 0) continue;
    if (strcmp(last, trial->model) != 0) {
      comp__log_mute(lab->context, true); /* what is said of models that nobody gets */
      comp_status status = estimate(&whole, &asked, lab, trial);
      comp__log_mute(lab->context, false);
      if (status != COMP_OK) return status;
      snprintf(last, sizeof last, "%s", trial->model);
      comp__info(lab->context, "one model of %s takes some %s by the whole recipe", trial->model,
                 spell_time(time, sizeof time, whole));
    }
    total += whole * (double)trial->fits;
    total_asked += asked * (double)trial->fits;
    trained += trial->fits;
  }
  comp__info(lab->context,
             "all %zu models take some %s of training by the whole recipe, one after the other; scores "
             "come on top",
             trained, spell_time(time, sizeof time, total));
  if (epochs)
    comp__info(lab->context, "with --epochs %zu they take some %s", epochs, spell_time(time, sizeof time, total_asked));
  return COMP_OK;
}

static comp_status make_plan(comp__lab *lab) {
  const comp_experiment_options *o = lab->options;
  for (const comp__table *t = lab->experiment->tables; t->name; t++) {
    bool wanted = o->tables ? comp__listed(o->tables, t->name) : t == lab->experiment->tables;
    if (t->source) continue; /* it comes with its source */
    comp_status status = wanted ? lab->experiment->plan(&lab->plan, lab, t->name) : COMP_OK;
    if (status != COMP_OK) return status;
  }
  if (lab->plan.count == 0)
    return comp__error(COMP_ERR_ARGUMENT, "none of the models '%s' is part of experiment %s", o->models, o->name);
  return COMP_OK;
}

/* ---- Trials ---------------------------------------------------------------------------------------------------- */

/* Trials that are done together. */
typedef struct session {
  comp__lab *lab;
  comp__figures *results; /* of each trial of the plan */
  size_t *items;          /* the trials to do, as places in the plan */
  size_t count;
  comp_dataset **datasets; /* of each job: trials put their embeddings into it */
  char *text;              /* the tables as they are now */
} session;

static const char *name_trial(const void *user, size_t item) {
  const session *s = user;
  return s->lab->plan.trials[s->items[item]].id;
}

static comp_status do_trial(void *user, comp_context *context, size_t item, int job) {
  session *s = user;
  const comp__trial *trial = &s->lab->plan.trials[s->items[item]];
  comp__figures *own = &s->results[s->items[item]];
  comp__lab lab = *s->lab;
  char path[4096];
  double start = comp__seconds();
  lab.context = context;
  lab.dataset = s->datasets[job];
  comp__lab_path(path, sizeof path, &lab, trial, NULL, ".json");
  comp_status status = lab.experiment->run(own, &lab, trial);
  if (status == COMP_OK) status = comp__figures_save(own, trial, comp__seconds() - start, path);
  if (status == COMP_OK) return status;
  own->count = 0;
  return comp__error_context(status, "%s", trial->id);
}

/* After every trial, so that a run that is stopped leaves what it has. */
static comp_status write_tables(void *user, size_t item) {
  session *s = user;
  (void)item;
  free(s->text);
  s->text = NULL;
  return comp__tables_write(&s->text, s->lab, s->results);
}

/* Reads the figures of trials that were done before, by the recipes of today. */
static comp_status load_done(session *s, bool *done) {
  for (size_t i = 0; i < s->lab->plan.count; i++) {
    const comp__trial *trial = &s->lab->plan.trials[i];
    char path[4096];
    bool outdated;
    if (trial->embedding) continue; /* the file may be another one by now, and a score takes little */
    comp_status status = comp__lab_outdated(&outdated, s->lab, trial);
    if (status != COMP_OK) return status;
    if (outdated) comp__info(s->lab->context, "%s is done again: its model is not of this recipe", trial->id);
    comp__lab_path(path, sizeof path, s->lab, trial, NULL, ".json");
    if (!outdated) status = comp__figures_load(&s->results[i], &done[i], path);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* Trials that train share the threads: `jobs` of them at a time. */
static int choose_jobs(const session *s) {
  int threads = comp_context_thread_count(s->lab->context), jobs = s->lab->options->jobs;
  size_t features = comp_dataset_feature_count(s->lab->dataset);
  if (jobs == 0) jobs = comp_dataset_sample_count(s->lab->dataset) <= SMALL_VALUES / features ? threads : 1;
  return (size_t)jobs < s->count ? jobs : (int)s->count;
}

static comp_status do_trials(session *s, int jobs) {
  comp_status status;
  COMP__TRY(comp__calloc(&s->datasets, (size_t)jobs, sizeof(void *)));
  s->datasets[0] = s->lab->dataset;
  for (int j = 1; j < jobs; j++)
    COMP__TRY(comp_dataset_select(&s->datasets[j], s->lab->context, s->lab->dataset, NULL, 0, NULL, 0));
  if (jobs > 1) comp__info(s->lab->context, "%d runs at a time", jobs);
  COMP__TRY(comp__jobs_run(
      s->lab->context,
      &(comp__jobs){
          .count = s->count, .jobs = jobs, .user = s, .work = do_trial, .finished = write_tables, .name = name_trial}));
done:
  for (int j = 1; s->datasets && j < jobs; j++) comp_dataset_free(s->datasets[j]);
  comp__free(s->datasets);
  s->datasets = NULL;
  return status;
}

/* First what is not trained, one after the other: baselines use all threads, and HDF5, which reads the embeddings of
 * other programs, cannot be called from two at once. */
static comp_status do_all(char **text, comp__lab *lab) {
  session s = {.lab = lab};
  size_t n = lab->plan.count;
  bool *done = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&s.results, n, sizeof *s.results));
  COMP__TRY(comp__alloc(&s.items, n, sizeof *s.items));
  COMP__TRY(comp__calloc(&done, n, sizeof *done));
  COMP__TRY(load_done(&s, done));
  COMP__TRY(write_tables(&s, 0));
  for (int trained = 0; trained < 2; trained++) {
    s.count = 0;
    for (size_t i = 0; i < n; i++)
      if (!done[i] && (lab->plan.trials[i].model[0] != '\0') == trained) s.items[s.count++] = i;
    if (s.count > 0) COMP__TRY(do_trials(&s, trained ? choose_jobs(&s) : 1));
  }
  if (text) {
    *text = s.text;
    s.text = NULL;
  }
done:
  free(s.text);
  for (size_t i = 0; s.results && i < n; i++) comp__free(s.results[i].items);
  comp__free(s.results);
  comp__free(s.items);
  comp__free(done);
  return status;
}

comp_status comp_experiment_run(char **text, comp_context *context, const comp_experiment_options *options) {
  comp__lab lab = {.context = context, .options = options};
  char path[4096];
  if (text) *text = NULL;
  comp_status status;
  COMP__TRY(comp_experiment_options_check(options));
  COMP__TRY(find(&lab.experiment, options->name));
  COMP__TRY(check_folder(options->out));
  COMP__TRY(make_plan(&lab));
  COMP__TRY(lab.experiment->prepare(&lab));
  COMP__TRY(tag_data(&lab));
  comp__info(context, "%s, %s: %zu samples x %zu features, %zu runs", options->name, lab.used,
             comp_dataset_sample_count(lab.dataset), comp_dataset_feature_count(lab.dataset), lab.plan.count);
  if (options->estimate_only || strcmp(options->preset, "paper") == 0) COMP__TRY(say_cost(&lab));
  if (options->estimate_only) goto done;
  COMP__TRY(make_folder(options->out));
  snprintf(path, sizeof path, "%s/runs", options->out);
  COMP__TRY(make_folder(path));
  COMP__TRY(do_all(text, &lab));
done:
  comp__free(lab.plan.trials);
  comp_dataset_free(lab.dataset);
  return status;
}
