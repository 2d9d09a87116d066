/* step.c: whether a step of a run has to be done, its command line and its place in the record. */
#include <math.h>
#include <string.h>

#include "comp/machine.h"
#include "core/context.h"
#include "core/error.h"
#include "pipeline/job.h"

bool comp__output_is_matrix(const char *output, comp_slot *slot, const char **name) {
  *name = strchr(output, '/') ? strchr(output, '/') + 1 : output;
  *slot = strncmp(output, "obsm/", 5) == 0 ? COMP_SLOT_OBSM : COMP_SLOT_LAYERS;
  return *slot == COMP_SLOT_OBSM || strncmp(output, "layers/", 7) == 0;
}

/* ---- Command lines --------------------------------------------------------------------------------------------- */

/* A file of the folder; `name` is a word of step->files. */
static void show_file(comp__plan *plan, const comp__job *job, const char *option, const char *name) {
  if (*name == '?' && !comp__run_made(job, name + 1)) return;
  const char *file = *name == '@' ? plan->outputs[0] : *name == '?' ? name + 1 : name;
  comp__words_show(&plan->line, option, comp__path_in(job->folder, file).text);
}

/* What the step was given, in the place that step->files has for it. */
static comp_status add_given(comp__plan *plan) {
  comp_status status = comp__words_end(&plan->words);
  if (status != COMP_OK || !plan->line.shown || !plan->line.key) return status;
  fputs(plan->words.shown_text, plan->line.shown);
  fputs(plan->words.key_text, plan->line.key);
  return plan->options ? comp__words_add_options(&plan->line, plan->options) : COMP_OK;
}

static comp_status compose(comp__plan *plan, const comp__job *job) {
  char files[256], *rest = files, option[32] = "";
  comp_status status = COMP_OK;
  snprintf(files, sizeof files, "%s", plan->step->files);
  comp__words_start(&plan->line, plan->command);
  for (char *word; (word = strsep(&rest, " ")) && status == COMP_OK;) {
    if (strcmp(word, "...") == 0)
      status = add_given(plan);
    else if (*word == '-')
      snprintf(option, sizeof option, "%s", word);
    else
      show_file(plan, job, option, word);
  }
  return status == COMP_OK ? comp__words_end(&plan->line) : status;
}

/* ---- Earlier results ------------------------------------------------------------------------------------------- */

static bool has_old_step(const comp__job *job, uint64_t fingerprint) {
  size_t i;
  json_t *step;
  json_array_foreach(json_object_get(job->old, "steps"), i, step) {
    if (comp__is_digest(step, "fingerprint", fingerprint)) return true;
  }
  return false;
}

/* Whether an output of the earlier run is as it was; a matrix is put into the data set. */
static bool take_over(comp__job *job, const char *output) {
  comp_slot slot;
  const char *name;
  comp_matrix *copy = NULL;
  if (!comp__output_is_matrix(output, &slot, &name)) return comp__file_is_intact(job->work, job->old, output);
  comp_dataset *old = job->reused ? job->dataset : comp__old_data(job);
  const comp_matrix *matrix = old ? comp_dataset_matrix(old, slot, name) : NULL;
  if (matrix && !comp__is_digest(json_object_get(job->old, "content"), output, comp__content_matrix(matrix)))
    return false;
  if (matrix && job->reused) return true;
  if (!matrix || comp_matrix_select(&copy, job->context, matrix, NULL, 0, NULL, 0) != COMP_OK) return false;
  comp_dataset_remove_matrix(old, slot, name); /* it is not needed twice */
  return comp_dataset_set_matrix(job->dataset, slot, name, copy) == COMP_OK;
}

static void take_fingerprint(comp__job *job, const comp__plan *plan) {
  const comp__step *step = plan->step;
  uint64_t upstream = step == comp__steps ? comp__mix_text(comp__mix_text(0, comp__program), job->digest)
                      : step->after_all   ? job->done[step->after].all
                                          : job->done[step->after].alone;
  job->fingerprint = comp__mix_text(comp__mix_text(upstream, plan->id), plan->line.key_text);
}

/* Whether all outputs of the step are there already. */
static bool is_found(comp__job *job, const comp__plan *plan) {
  bool found = !job->o.fresh && !plan->step->take && has_old_step(job, job->fingerprint);
  for (size_t i = 0; i < plan->n_outputs && found; i++) found = take_over(job, plan->outputs[i]);
  return found;
}

/* ---- A step ---------------------------------------------------------------------------------------------------- */

static comp_status record_step(comp__job *job, const comp__plan *plan) {
  json_t *outputs = json_array();
  for (size_t i = 0; i < plan->n_outputs; i++) json_array_append_new(outputs, json_string(plan->outputs[i]));
  json_t *step = json_pack("{s:s, s:s, s:s, s:f, s:o}", "name", plan->id, "command", plan->line.shown_text,
                           "fingerprint", comp__hex_of(job->fingerprint).text, "seconds",
                           round(1000 * (comp__seconds() - plan->started)) / 1000, "outputs", outputs);
  if (step && plan->step->take) json_object_set_new(step, "request", json_string(comp__hex_of(job->request).text));
  bool good = step && json_array_append_new(json_object_get(job->record, "steps"), step) == 0;
  job->all = comp__mix(job->all, &job->fingerprint, sizeof job->fingerprint);
  return good ? COMP_OK : comp__error(COMP_ERR_MEMORY, "the step '%s' cannot be recorded: out of memory", plan->id);
}

static void name_plan(comp__plan *plan, const comp__job *job) {
  const comp__step *step = plan->step;
  snprintf(plan->id, sizeof plan->id, "%s", step->id ? step->id : "");
  snprintf(plan->command, sizeof plan->command, "%s", step->command ? step->command : "");
  snprintf(plan->outputs[0], sizeof plan->outputs[0], "%s", step->output ? step->output : "");
  plan->n_outputs = 1;
  if (step->name) step->name(plan, job);
}

static void count_matrices(comp__job *job, const comp__plan *plan) {
  comp_slot slot;
  const char *name;
  for (size_t i = 0; i < plan->n_outputs; i++)
    if (comp__output_is_matrix(plan->outputs[i], &slot, &name)) job->data_changed++;
}

static comp_status do_step(comp__job *job, const comp__step *step, size_t i) {
  comp__plan plan = {.step = step, .i = i, .started = comp__seconds()};
  comp_status status = COMP_OK;
  name_plan(&plan, job);
  if (step->plan) COMP__TRY(step->plan(&plan, job));
  COMP__TRY(compose(&plan, job));
  take_fingerprint(job, &plan);
  bool found = is_found(job, &plan);
  if (found) comp__tell_stopped(job);
  comp__info(job->context, "$ %s%s", plan.line.shown_text, found ? "    # as before" : "");
  if (!found) count_matrices(job, &plan);
  if (found && step->found) COMP__TRY(step->found(&found, job));
  if (!found) COMP__TRY(step->run(job, &plan));
  status = record_step(job, &plan);
done:
  comp_options_free(plan.options);
  comp__words_release(&plan.words);
  comp__words_release(&plan.line);
  return status;
}

static comp_status do_row(comp__job *job, comp__step_id id) {
  const comp__step *step = &comp__steps[id];
  bool taken = false;
  size_t n = step->count ? step->count(job) : 1;
  comp_status status = step->take ? step->take(&taken, job) : COMP_OK;
  for (size_t i = 0; i < n && !taken && status == COMP_OK; i++) status = do_step(job, step, i);
  if (status == COMP_OK) job->done[id] = (comp__done){job->fingerprint, job->all};
  return status == COMP_OK && step->finish ? step->finish(job) : status;
}

comp_status comp__steps_run(comp__job *job) {
  comp_status status = COMP_OK;
  for (int id = 0; id < COMP__STEPS && status == COMP_OK; id++) status = do_row(job, (comp__step_id)id);
  return status;
}

/* Whether `is_it` holds for an output that this run makes, by its options, in a row up to `last`. */
static bool any_output(comp__job *job, comp__step_id last, bool (*is_it)(const char *output, const void *arg),
                       const void *arg) {
  for (const comp__step *step = comp__steps; step <= &comp__steps[last]; step++) {
    size_t n = step->count ? step->count(job) : 1;
    for (size_t i = 0; i < n; i++) {
      comp__plan plan = {.step = step, .i = i};
      name_plan(&plan, job);
      for (size_t k = 0; k < plan.n_outputs; k++)
        if (is_it(plan.outputs[k], arg)) return true;
    }
  }
  return false;
}

static bool is_same(const char *output, const void *arg) {
  return strcmp(output, arg) == 0;
}

bool comp__steps_make(comp__job *job, const char *output) {
  return any_output(job, COMP__STEP_CORRECT, is_same, output); /* later steps make files */
}

static bool is_not_recorded(const char *output, const void *arg) {
  return !comp__record_lists(*(json_t *const *)arg, output);
}

bool comp__steps_are_recorded(comp__job *job, json_t *record) {
  return !any_output(job, COMP__STEPS - 1, is_not_recorded, &record);
}
