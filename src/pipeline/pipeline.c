/* pipeline.c: the public calls of a run. */
#include "comp/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "comp/machine.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/sha256.h"
#include "pipeline/job.h"
#include "pipeline/result.h"

/* ---- Before the steps ------------------------------------------------------------------------------------------ */

static comp_status take_digest(comp__job *job) {
  const char *paths[] = {job->o.input, job->o.read.metadata};
  comp__sha256 digest;
  comp_status status = COMP_OK;
  if (job->given) {
    comp__content_sha256(job->digest, job->given);
    return COMP_OK;
  }
  comp__sha256_init(&digest);
  bool store = strcmp(job->format, "zarr") == 0; /* folders in folders */
  for (int i = 0; i < 2 && paths[i] && status == COMP_OK; i++) status = comp__sha256_add_path(&digest, paths[i], store);
  comp__sha256_end(&digest, job->digest);
  return status;
}

/* What the record says before any step. */
static comp_status start_record(comp__job *job) {
  json_t *libraries = json_array(), *options;
  comp_status status = comp__run_options_list(&options, job->options, NULL);
  if (status != COMP_OK) {
    json_decref(libraries);
    return status;
  }
  for (const char *const *l = comp_build_libraries(); *l; l++) json_array_append_new(libraries, json_string(*l));
  job->record = json_pack("{s:s, s:s, s:o, s:{s:s, s:s, s:s}, s:o, s:[]}", "version", comp_version(), "sources",
                          comp__program_sources, "libraries", libraries, "input", "path", job->source, "format",
                          job->format, "sha256", job->digest, "options", options, "steps");
  if (!job->record || json_object_set(job->record, "findings", job->findings) != 0)
    return comp__error(COMP_ERR_MEMORY, "out of memory");
  return COMP_OK;
}

/* The program, the data and every option that decides on the result, as one number. */
static comp_status take_identity(uint64_t *out, const comp__job *job) {
  char *text = NULL;
  comp_status status = comp__run_options_text(&text, job->options, NULL);
  if (status != COMP_OK) return status;
  *out = comp__mix_text(comp__mix_text(comp__mix_text(1, comp__program), job->digest), text);
  comp_free(text);
  return COMP_OK;
}

/* ---- A run ----------------------------------------------------------------------------------------------------- */

static comp_status run_all(comp__job *job) {
  uint64_t identity;
  comp_status status;
  COMP__TRY(comp__folder_check(job));
  COMP__TRY(comp__check_data(job));
  COMP__TRY(take_digest(job));
  COMP__TRY(start_record(job));
  COMP__TRY(comp__folder_open(job));
  COMP__TRY(take_identity(&identity, job));
  if (comp__folder_is_complete(job, identity)) {
    comp__info(job->context, "nothing to do: %s already holds the results of this run (--fresh repeats it)",
               job->folder);
    return COMP_OK;
  }
  COMP__TRY(comp__steps_run(job));
  status = comp__folder_publish(job);
done:
  return status;
}

static void release(comp__job *job) {
  comp__folder_close(job);
  json_decref(job->findings);
  comp_model_free(job->model);
  comp_table_free(job->columns);
  comp_dataset_free(job->dataset);
  comp_groups_release(&job->conditions);
  free(job->keep_known);
  comp__free(job);
}

static comp_status run(comp_run_result **out, comp_context *context, const comp_dataset *dataset,
                       const comp_options *options) {
  comp__job *job = NULL;
  *out = NULL;
  comp_status status = comp__calloc(&job, 1, sizeof *job);
  if (status != COMP_OK) return status;
  job->lock = -1;
  job->context = context;
  job->options = options;
  job->given = dataset;
  job->format = "memory";
  status = comp__options_resolve(&job->o, &comp__run_kind, options);
  if (status == COMP_OK && !dataset && !job->o.input)
    status = comp__error(COMP_ERR_ARGUMENT, "input: no file is named");
  job->source = job->o.input ? job->o.input : "data in memory";
  if (status == COMP_OK) status = run_all(job);
  if (status == COMP_OK) status = comp__run_result_new(out, job->folder, job->record);
  release(job);
  return status;
}

/* A run records its options: what cannot be recorded is refused before any work. */
static comp_status check_options(const comp_options *options) {
  char *text;
  if (!options) return comp__error(COMP_ERR_ARGUMENT, "options: a run needs an input, an output and a condition");
  comp_status status = comp_options_to_json(&text, options);
  comp_free(text);
  return status;
}

comp_status comp_run(comp_run_result **out, comp_context *context, const comp_options *options) {
  COMP__NEED_OUT(out, context);
  *out = NULL;
  comp_status status = check_options(options);
  return status == COMP_OK ? run(out, context, NULL, options) : status;
}

comp_status comp_run_dataset(comp_run_result **out, comp_context *context, const comp_dataset *dataset,
                             const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset);
  *out = NULL;
  comp_status status = check_options(options);
  if (status == COMP_OK && !comp_dataset_x(dataset)) status = comp__error(COMP_ERR_ARGUMENT, "the data set has no X");
  return status == COMP_OK ? run(out, context, dataset, options) : status;
}
