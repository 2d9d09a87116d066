/* draw.c: the last steps of a run: figures and the page. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comp/figure.h"
#include "comp/machine.h"
#include "comp/report.h"
#include "core/context.h"
#include "core/error.h"
#include "pipeline/job.h"

bool comp__has_module(comp__job *job, const char *name, const char *without) {
  const char *library;
  if (comp_module_load(&library, name) == COMP_OK) return true;
  comp__warn(job->context, "%s: %s", without, comp_error_message());
  return false;
}

/* ---- Figures --------------------------------------------------------------------------------------------------- */

/* Looked for once, and not before figures are due. */
size_t comp__figure_count(comp__job *job) {
  if (!job->looked_for_figures)
    job->can_draw = comp__has_module(job, "figures", "there are no figures; the page has its own");
  job->looked_for_figures = true;
  return job->can_draw;
}

size_t comp__figure_map_count(comp__job *job) {
  return comp__figure_count(job) && !job->o.no_umap;
}

size_t comp__figure_change_count(comp__job *job) {
  return comp__figure_count(job) && job->to;
}

/* The file has the ending that the options ask for. */
void comp__figure_name(comp__plan *plan, const comp__job *job) {
  snprintf(plan->id, sizeof plan->id, "figures/%s.%s", plan->step->id, job->o.figures);
  snprintf(plan->outputs[0], sizeof plan->outputs[0], "%s", plan->id);
}

comp_status comp__figure_map_plan(comp__plan *plan, comp__job *job) {
  comp__words_add(&plan->words, "--condition", job->o.train.condition);
  comp__words_add_text(&plan->words, "--label", job->o.label ? job->o.label : job->o.target);
  return COMP_OK;
}

comp_status comp__figure_change_plan(comp__plan *plan, comp__job *job) {
  comp__words_add(&plan->words, "--condition", job->o.train.condition);
  comp__words_add_text(&plan->words, "--label", job->o.label);
  comp__words_add(&plan->words, "--from", job->from);
  comp__words_add(&plan->words, "--to", job->to);
  return COMP_OK;
}

static comp_status draw_maps(comp__job *job, const char *path, const comp_figure_options *f) {
  const char *maps[] = {"X_umap_before", "X_umap"}, *columns[] = {job->o.train.condition, NULL};
  columns[1] = job->o.label ? job->o.label : job->o.target;
  return comp_figure_scatter(job->context, job->dataset, path, maps, 2, columns, columns[1] ? 2 : 1, f);
}

static comp_status draw(comp__job *job, comp__step_id id, const char *path) {
  comp__path scores = comp__path_at_work(job, "scores.json");
  const char *documents = scores.text;
  comp_figure_options f = COMP_FIGURE_OPTIONS_INIT;
  comp_figure_effect e = COMP_FIGURE_EFFECT_INIT;
  e.condition = job->o.train.condition;
  e.label = job->o.label;
  e.source = job->from;
  e.target = job->to;
  if (id == COMP__STEP_FIGURE_MAP) return draw_maps(job, path, &f);
  if (id == COMP__STEP_FIGURE_HISTORY) return comp_figure_history(job->model, path, &f);
  if (id == COMP__STEP_FIGURE_CHANGE) return comp_figure_counterfactual(job->context, job->dataset, path, &e, &f);
  if (id == COMP__STEP_FIGURE_STRIP) return comp_figure_strip(job->context, job->dataset, path, &e, &f);
  return comp_figure_metrics(&documents, 1, path, &f);
}

/* Data that a figure cannot be drawn of is no reason to fail. */
comp_status comp__figure_step(comp__job *job, const comp__plan *plan) {
  comp_status status =
      draw(job, (comp__step_id)(plan->step - comp__steps), comp__path_at_work(job, plan->outputs[0]).text);
  if (status != COMP_ERR_DATA && status != COMP_ERR_ARGUMENT) return status;
  comp__warn(job->context, "no figure %s: %s", plan->outputs[0], comp_error_message());
  return COMP_OK;
}

/* ---- The page -------------------------------------------------------------------------------------------------- */

comp_status comp__page_plan(comp__plan *plan, comp__job *job) {
  comp__words_add(&plan->words, "--condition", job->o.train.condition);
  comp__words_add_text(&plan->words, "--label", job->o.label);
  comp__words_add(&plan->words, "--source", job->source);
  if (!job->o.no_umap) return COMP_OK;
  comp__words_add(&plan->words, "--before", "X_pca");
  comp__words_add(&plan->words, "--after", "X_comp");
  return COMP_OK;
}

/* When the page is made; SOURCE_DATE_EPOCH sets it, for the same bytes again. */
static const char *now(char *buffer, size_t size) {
  const char *fixed = getenv("SOURCE_DATE_EPOCH");
  time_t when = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
  struct tm parts;
  if (!gmtime_r(&when, &parts) || strftime(buffer, size, "%Y-%m-%d %H:%M UTC", &parts) == 0) return NULL;
  return buffer;
}

comp_status comp__page_step(comp__job *job, const comp__plan *plan) {
  char created[64];
  comp__path scores = comp__path_at_work(job, "scores.json"), diagnosis = comp__path_at_work(job, "diagnose.json");
  const char *documents = scores.text;
  comp_report_options r = COMP_REPORT_OPTIONS_INIT;
  r.source = job->source;
  r.condition = job->o.train.condition;
  r.label = job->o.label;
  r.model = job->model;
  r.scores = &documents;
  r.n_scores = 1;
  r.diagnose = comp__run_made(job, "diagnose.json") ? diagnosis.text : NULL;
  r.created = now(created, sizeof created);
  if (job->o.no_umap) r.before = "X_pca", r.after = "X_comp";
  return comp_report_write(job->context, job->dataset, comp__path_at_work(job, plan->outputs[0]).text, &r);
}
