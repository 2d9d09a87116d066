/* experiment.c: the table of experiments, and the driver that does what is not done yet. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/strings.h"
#include "experiment/fit.h"
#include "experiment/lab.h"

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

/* Whether a list "a,b" (NULL: everything) holds a name. */
static bool listed(const char *list, const char *name) {
  size_t length = strlen(name);
  if (!list) return true;
  for (const char *at = list; at; at = strchr(at, ',')) {
    if (*at == ',') at++;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
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

static bool is_model(const void *user, const char *name) {
  (void)user;
  for (size_t i = 0; i < comp_model_count(); i++)
    if (strcmp(comp_model_name(i), name) == 0) return true;
  return false;
}

comp_status comp_experiment_options_check(const comp_experiment_options *o) {
  const comp__experiment *experiment = NULL;
  if (!o->name) return comp__error(COMP_ERR_ARGUMENT, "which experiment? adult, kang, pbmc or tumour");
  comp_status status = find(&experiment, o->name);
  if (status == COMP_OK) status = check_list(o->tables, experiment, is_table, "table");
  if (status == COMP_OK) status = check_list(o->models, NULL, is_model, "model");
  if (status != COMP_OK) return status;
  if (!o->data || !o->out)
    return comp__error(COMP_ERR_ARGUMENT, "the folders of the data and of the results are needed");
  if (strlen(o->out) > 3000) return comp__error(COMP_ERR_ARGUMENT, "the name of the folder is too long");
  if (strcmp(o->preset, "default") != 0 && strcmp(o->preset, "paper") != 0)
    return comp__error(COMP_ERR_ARGUMENT, "preset must be default or paper, not '%s'", o->preset);
  if (o->n_seeds == 0) return comp__error(COMP_ERR_ARGUMENT, "no seeds");
  for (size_t i = 0; i < o->n_embeddings; i++) {
    const char *equals = strchr(o->embeddings[i], '=');
    if (!equals || equals == o->embeddings[i] || !equals[1])
      return comp__error(COMP_ERR_ARGUMENT, "embedding '%s' is not of the form NAME=FILE[:KEY]", o->embeddings[i]);
  }
  return COMP_OK;
}

/* ---- Plans ----------------------------------------------------------------------------------------------------- */

comp_status comp__plan_add(comp__plan *plan, const comp__lab *lab, const comp__trial *trial) {
  const comp_experiment_options *o = lab->options;
  comp_status status = comp__grow(&plan->trials, &plan->capacity, plan->count, plan->count + 1, sizeof *plan->trials);
  if (status != COMP_OK) return status;
  comp__trial *t = &plan->trials[plan->count++];
  char epochs[32] = "";
  *t = *trial;
  if (o->epochs && t->model[0]) snprintf(epochs, sizeof epochs, "-%zuepochs", o->epochs);
  if (t->model[0])
    snprintf(t->id, sizeof t->id, "%s-%s-%s%s-seed%llu", t->table, t->row, o->preset, epochs,
             (unsigned long long)t->seed);
  else
    snprintf(t->id, sizeof t->id, "%s-%s", t->table, t->row);
  for (char *c = t->id; *c; c++)
    if (strchr(" /=:'\"\\*?", *c)) *c = '_';
  return COMP_OK;
}

comp_status comp__plan_models(comp__plan *plan, const comp__lab *lab, const char *table, const char *const *models) {
  const comp_experiment_options *o = lab->options;
  for (size_t m = 0; models[m]; m++)
    for (size_t s = 0; s < o->n_seeds && listed(o->models, models[m]); s++) {
      comp__trial trial = {.gamma = NAN, .seed = o->seeds[s]};
      snprintf(trial.table, sizeof trial.table, "%s", table);
      snprintf(trial.row, sizeof trial.row, "%s", models[m]);
      snprintf(trial.model, sizeof trial.model, "%s", models[m]);
      comp_status status = comp__plan_add(plan, lab, &trial);
      if (status != COMP_OK) return status;
    }
  for (size_t e = 0; e < o->n_embeddings; e++) {
    comp__trial trial = {.gamma = NAN};
    const char *equals = strchr(o->embeddings[e], '=');
    snprintf(trial.table, sizeof trial.table, "%s", table);
    snprintf(trial.row, sizeof trial.row, "%.*s", (int)(equals - o->embeddings[e]), o->embeddings[e]);
    trial.embedding = equals + 1;
    comp_status status = comp__plan_add(plan, lab, &trial);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* ---- The driver ------------------------------------------------------------------------------------------------ */

static comp_status make_folder(const char *path) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return COMP_OK;
  return comp__error_errno("cannot make the folder '%s'", path);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The epochs that a recipe takes: for an estimate, two of them are run. */
static comp_status estimate(double *seconds, comp__lab *lab, const comp__trial *trial) {
  comp_train_options options;
  comp_model *model = NULL;
  comp_status status = lab->experiment->recipe(&options, lab, trial);
  if (status != COMP_OK) return status;
  size_t epochs = lab->options->epochs ? lab->options->epochs : options.epochs;
  options.condition = lab->experiment->condition;
  double times[2];
  for (size_t i = 0; i < 2; i++) {
    options.epochs = 1 + 2 * i;
    double start = now();
    status = comp_train(&model, lab->context, lab->dataset, &options);
    times[i] = now() - start;
    comp_model_free(model);
    model = NULL;
    if (status != COMP_OK) return status;
  }
  *seconds = times[0] + fmax(times[1] - times[0], 0) / 2 * (double)(epochs ? epochs : 100);
  return COMP_OK;
}

/* What the trials with models will take, when a recipe is a long one. */
static comp_status say_cost(comp__lab *lab) {
  double total = 0;
  size_t trained = 0;
  char last[sizeof lab->plan.trials->model] = "";
  double seconds = 0;
  for (size_t i = 0; i < lab->plan.count; i++) {
    const comp__trial *trial = &lab->plan.trials[i];
    char path[4096];
    comp__lab_path(path, sizeof path, lab, trial, NULL, ".json");
    if (!trial->model[0] || access(path, R_OK) == 0) continue;
    if (strcmp(last, trial->model) != 0) {
      comp_status status = estimate(&seconds, lab, trial);
      if (status != COMP_OK) return status;
      snprintf(last, sizeof last, "%s", trial->model);
      comp__info(lab->context, "one run of %s will take some %.1f minutes", trial->model, seconds / 60);
    }
    total += seconds;
    trained++;
  }
  comp__info(lab->context, "all %zu runs will take some %.1f hours of training", trained, total / 3600);
  return COMP_OK;
}

static comp_status do_trial(comp__figures *figures, comp__lab *lab, const comp__trial *trial) {
  char path[4096];
  bool found;
  comp__figures own = {0};
  comp__lab_path(path, sizeof path, lab, trial, NULL, ".json");
  comp_status status;
  COMP__TRY(comp__figures_load(&own, &found, path));
  if (!found) {
    double start = now();
    COMP__TRY(lab->experiment->run(&own, lab, trial));
    COMP__TRY(comp__figures_save(&own, trial, now() - start, path));
  }
  for (size_t i = 0; i < own.count; i++)
    COMP__TRY(comp__figures_add(figures, own.items[i].row, own.items[i].column, own.items[i].value));
done:
  comp__free(own.items);
  return status == COMP_OK ? status : comp__error_context(status, "%s", trial->id);
}

static comp_status make_plan(comp__lab *lab) {
  const comp_experiment_options *o = lab->options;
  for (const comp__table *t = lab->experiment->tables; t->name; t++) {
    bool wanted = o->tables ? listed(o->tables, t->name) : t == lab->experiment->tables;
    if (t->source) continue; /* it comes with its source */
    comp_status status = wanted ? lab->experiment->plan(&lab->plan, lab, t->name) : COMP_OK;
    if (status != COMP_OK) return status;
  }
  if (lab->plan.count == 0)
    return comp__error(COMP_ERR_ARGUMENT, "none of the models '%s' is part of experiment %s", o->models, o->name);
  return COMP_OK;
}

comp_status comp_experiment_run(char **text, comp_context *context, const comp_experiment_options *options) {
  comp__lab lab = {.context = context, .options = options};
  comp__figures figures = {0};
  size_t *owner = NULL;
  char path[4096];
  if (text) *text = NULL;
  comp_status status;
  COMP__TRY(comp_experiment_options_check(options));
  COMP__TRY(find(&lab.experiment, options->name));
  COMP__TRY(make_plan(&lab));
  COMP__TRY(lab.experiment->prepare(&lab.dataset, context, options->data));
  COMP__TRY(make_folder(options->out));
  snprintf(path, sizeof path, "%s/runs", options->out);
  COMP__TRY(make_folder(path));
  comp__info(context, "%s: %zu samples x %zu features, %zu runs", options->name, comp_dataset_samples(lab.dataset),
             comp_dataset_features(lab.dataset), lab.plan.count);
  if (options->estimate_only || strcmp(options->preset, "paper") == 0) COMP__TRY(say_cost(&lab));
  if (options->estimate_only) goto done;
  COMP__TRY(comp__alloc(&owner, lab.plan.count + 1, sizeof *owner));
  for (size_t i = 0; i < lab.plan.count; i++) {
    owner[i] = figures.count;
    COMP__TRY(do_trial(&figures, &lab, &lab.plan.trials[i]));
    owner[i + 1] = figures.count;
    /* After every trial, so that a run that is stopped leaves what it has. */
    char *so_far = NULL;
    COMP__TRY(comp__tables_write(&so_far, &lab, &figures, owner, i + 1));
    if (text && i + 1 == lab.plan.count)
      *text = so_far;
    else
      free(so_far);
  }
done:
  comp__free(owner);
  comp__free(figures.items);
  comp__free(lab.plan.trials);
  comp_dataset_free(lab.dataset);
  return status;
}
