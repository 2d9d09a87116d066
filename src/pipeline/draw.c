/* draw.c: the last steps of a run: figures and the page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comp/figure.h"
#include "comp/machine.h"
#include "comp/report.h"
#include "core/context.h"
#include "core/error.h"
#include "pipeline/job.h"

comp_status comp__find_module(bool *found, comp__job *job, const char *name, const char *without) {
  const char *library;
  comp_status status = comp_module_load(&library, name);
  *found = status == COMP_OK;
  if (status != COMP_ERR_UNAVAILABLE) return status;
  comp__warn(job->context, "%s: %s", without, comp_error_message());
  return COMP_OK;
}

/* ---- Figures --------------------------------------------------------------------------------------------------- */

size_t comp__figure_count(comp__job *job) {
  const char *library;
  (void)job;
  return comp_module_load(&library, "figures") == COMP_OK;
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

static comp_status plan_figure(comp__plan *plan, const comp__job *job, const char *label) {
  comp_status status = comp_options_new(&plan->options, "figure");
  if (status == COMP_OK) status = comp_options_set(plan->options, "condition", job->o.train.condition);
  return status == COMP_OK ? comp_options_set(plan->options, "label", label) : status;
}

comp_status comp__figure_map_plan(comp__plan *plan, comp__job *job) {
  return plan_figure(plan, job, job->o.label ? job->o.label : job->o.target);
}

comp_status comp__figure_change_plan(comp__plan *plan, comp__job *job) {
  comp_status status = plan_figure(plan, job, job->o.label);
  if (status == COMP_OK) status = comp_options_set(plan->options, "from", job->from);
  return status == COMP_OK ? comp_options_set(plan->options, "to", job->to) : status;
}

static comp_status draw_maps(comp__job *job, const char *path, const comp_options *options) {
  const char *maps[] = {"X_umap_before", "X_umap"}, *columns[2];
  columns[0] = comp_options_get(options, "condition", NULL, 0);
  columns[1] = comp_options_get(options, "label", NULL, 0);
  return comp_figure_scatter(job->context, job->dataset, path, maps, 2, columns, columns[1] ? 2 : 1, options);
}

static comp_status draw(comp__job *job, comp__step_id id, const char *path, const comp_options *options) {
  comp__path scores = comp__path_at_work(job, "scores.json");
  const char *documents = scores.text;
  if (id == COMP__STEP_FIGURE_MAP) return draw_maps(job, path, options);
  if (id == COMP__STEP_FIGURE_HISTORY) return comp_figure_history(job->model, path, options);
  if (id == COMP__STEP_FIGURE_CHANGE) return comp_figure_counterfactual(job->context, job->dataset, path, options);
  if (id == COMP__STEP_FIGURE_STRIP) return comp_figure_strip(job->context, job->dataset, path, options);
  return comp_figure_metrics(&documents, 1, path, options);
}

/* Data that a figure cannot be drawn of is no reason to fail. */
comp_status comp__figure_step(comp__job *job, const comp__plan *plan) {
  comp__path path = comp__path_at_work(job, plan->outputs[0]);
  comp_status status = draw(job, (comp__step_id)(plan->step - comp__steps), path.text, plan->options);
  if (status != COMP_ERR_DATA && status != COMP_ERR_ARGUMENT) return status;
  comp__warn(job->context, "no figure %s: %s", plan->outputs[0], comp_error_message());
  return COMP_OK;
}

/* ---- The page -------------------------------------------------------------------------------------------------- */

/* The options of the command line of the run that decide on the result. Folders of absolute paths are left out: they
 * say nothing on another machine. */
static comp_status put_command(comp_options *page, const comp_options *options) {
  comp_options *own = NULL;
  comp__words words = {0};
  const comp_option *option;
  comp_status status;
  COMP__TRY(comp_options_copy(&own, options));
  for (size_t i = 0; (option = comp_options_at(own, i)); i++) {
    const char *path = option->type == COMP_OPTION_FILE ? comp_options_get(own, option->name, NULL, 0) : NULL;
    if (path && path[0] == '/') {
      char name[4096];
      snprintf(name, sizeof name, "%s", strrchr(path, '/') + 1);
      COMP__TRY(comp_options_set(own, option->name, name));
    }
  }
  COMP__TRY(comp_options_set(own, "output", NULL));
  COMP__TRY(comp_options_set(own, "fresh", NULL));
  comp__words_start(&words, "run");
  COMP__TRY(comp__words_add_options(&words, own));
  COMP__TRY(comp__words_end(&words));
  COMP__TRY(comp_options_set(page, "command", words.shown_text));
done:
  comp__words_release(&words);
  comp_options_free(own);
  return status;
}

comp_status comp__page_plan(comp__plan *plan, comp__job *job) {
  comp_status status = comp_options_new(&plan->options, "report");
  comp_options *r = plan->options;
  if (status == COMP_OK) status = comp_options_set(r, "condition", job->o.train.condition);
  if (status == COMP_OK) status = comp_options_set(r, "label", job->o.label);
  if (status == COMP_OK) status = comp_options_set(r, "source", job->source);
  if (status == COMP_OK) status = put_command(r, job->options);
  if (status == COMP_OK) status = comp_options_set(r, "before", job->o.no_umap ? "X_pca" : NULL);
  return status == COMP_OK ? comp_options_set(r, "after", job->o.no_umap ? "X_comp" : NULL) : status;
}

/* When the page is made; SOURCE_DATE_EPOCH sets it, for the same bytes again. */
static const char *now(char *buffer, size_t size) {
  const char *fixed = getenv("SOURCE_DATE_EPOCH");
  time_t when = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
  struct tm parts;
  if (!gmtime_r(&when, &parts) || strftime(buffer, size, "%Y-%m-%d %H:%M UTC", &parts) == 0) return NULL;
  return buffer;
}

/* The options with what does not decide on the page: where the documents are, and when it is made. *out should be
 * freed via comp_options_free(). */
static comp_status page_options(comp_options **out, const comp__job *job, const comp_options *options) {
  char created[64];
  comp__path scores = comp__path_at_work(job, "scores.json"), diagnosis = comp__path_at_work(job, "diagnose.json");
  comp_status status = comp_options_copy(out, options);
  if (status == COMP_OK) status = comp_options_add(*out, "scores", scores.text);
  if (status == COMP_OK && comp__run_made(job, "diagnose.json"))
    status = comp_options_set(*out, "diagnose", diagnosis.text);
  return status == COMP_OK ? comp_options_set(*out, "created", now(created, sizeof created)) : status;
}

comp_status comp__page_step(comp__job *job, const comp__plan *plan) {
  comp_options *options = NULL;
  comp__path path = comp__path_at_work(job, plan->outputs[0]);
  comp_status status = page_options(&options, job, plan->options);
  if (status == COMP_OK) status = comp_report_write(job->context, job->dataset, job->model, path.text, options);
  comp_options_free(options);
  return status;
}
