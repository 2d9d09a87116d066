/* plan.c: which trials there are: models with seeds, other integration methods, embeddings of other programs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comp/baseline.h"
#include "core/alloc.h"
#include "core/error.h"
#include "experiment/lab.h"

bool comp__listed(const char *list, const char *name) {
  size_t length = strlen(name);
  if (!list) return true;
  for (const char *at = list; at; at = strchr(at, ',')) {
    if (*at == ',') at++;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

comp_status comp__plan_add(comp__plan *plan, const comp__lab *lab, const comp__trial *trial) {
  const comp_experiment_options *o = lab->options;
  comp_status status = comp__grow(&plan->trials, &plan->capacity, plan->count, plan->count + 1, sizeof *plan->trials);
  if (status != COMP_OK) return status;
  comp__trial *t = &plan->trials[plan->count++];
  char epochs[32] = "";
  *t = *trial;
  if (t->model[0] && t->fits == 0) t->fits = 1;
  if (o->epochs && t->model[0]) snprintf(epochs, sizeof epochs, "-%zuepochs", o->epochs);
  if (t->model[0])
    snprintf(t->id, sizeof t->id, "%s-%s-%s%s-seed%llu", t->table, t->row, o->preset, epochs,
             (unsigned long long)t->seed);
  else
    snprintf(t->id, sizeof t->id, "%s-%s%s", t->table, t->baseline ? "baseline-" : "", t->row);
  for (char *c = t->id; *c; c++)
    if (strchr(" /=:'\"\\*?", *c)) *c = '_';
  return COMP_OK;
}

static comp_status add_models(comp__plan *plan, const comp__lab *lab, const char *table, const char *const *models) {
  const comp_experiment_options *o = lab->options;
  for (size_t m = 0; models[m]; m++)
    for (size_t s = 0; s < o->n_seeds && comp__listed(o->models, models[m]); s++) {
      comp__trial trial = {.gamma = NAN, .seed = o->seeds[s]};
      snprintf(trial.table, sizeof trial.table, "%s", table);
      snprintf(trial.row, sizeof trial.row, "%s", models[m]);
      snprintf(trial.model, sizeof trial.model, "%s", models[m]);
      comp_status status = comp__plan_add(plan, lab, &trial);
      if (status != COMP_OK) return status;
    }
  return COMP_OK;
}

static bool is_embedding(const comp_experiment_options *o, const char *name) {
  size_t length = strlen(name);
  for (size_t e = 0; e < o->n_embeddings; e++)
    if (strncmp(o->embeddings[e], name, length) == 0 && o->embeddings[e][length] == '=') return true;
  return false;
}

/* Those that were asked for; without a word, those of the experiment when all its models are. */
static comp_status add_baselines(comp__plan *plan, const comp__lab *lab, const char *table) {
  const comp_experiment_options *o = lab->options;
  const char *wanted = o->baselines ? o->baselines : o->models ? NULL : lab->experiment->baselines;
  if (!wanted || strcmp(wanted, "none") == 0) return COMP_OK;
  for (size_t b = 0; b < comp_baseline_count(); b++) {
    comp__trial trial = {.gamma = NAN, .baseline = comp_baseline_at(b)->name};
    if (!comp__listed(wanted, trial.baseline) || is_embedding(o, trial.baseline)) continue;
    snprintf(trial.table, sizeof trial.table, "%s", table);
    snprintf(trial.row, sizeof trial.row, "%s", trial.baseline);
    comp_status status = comp__plan_add(plan, lab, &trial);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status add_embeddings(comp__plan *plan, const comp__lab *lab, const char *table) {
  const comp_experiment_options *o = lab->options;
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

comp_status comp__plan_models(comp__plan *plan, const comp__lab *lab, const char *table, const char *const *models) {
  comp_status status = add_baselines(plan, lab, table);
  if (status == COMP_OK) status = add_models(plan, lab, table, models);
  return status == COMP_OK ? add_embeddings(plan, lab, table) : status;
}
