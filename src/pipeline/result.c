/* result.c: what a run gives back: the documents of its folder, and the verdict that they give. */
#include "pipeline/result.h"

#include <stdlib.h>

#include "core/alloc.h"
#include "core/error.h"
#include "pipeline/job.h"

struct comp_run_result {
  char *folder, *page;
  char *record, *scores; /* of jansson: should be freed via free() */
  comp_verdict *verdict;
};

void comp_run_result_free(comp_run_result *result) {
  if (!result) return;
  comp__free(result->folder);
  comp__free(result->page);
  free(result->record);
  free(result->scores);
  comp_verdict_free(result->verdict);
  comp__free(result);
}

/* The text of a document in the folder. It should be freed via free(). */
static comp_status read_document(char **out, const char *folder, const char *name) {
  const comp__path path = comp__path_in(folder, name);
  json_error_t problem;
  json_t *document = json_load_file(path.text, 0, &problem);
  if (!document) return comp__error(COMP_ERR_IO, "%s: cannot be read again: %s", path.text, problem.text);
  *out = json_dumps(document, JSON_COMPACT);
  json_decref(document);
  return *out ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

/* The record lists which files the run made. */
static comp_status add_diagnosis(comp_verdict *verdict, const char *folder, json_t *record) {
  char *text = NULL;
  if (!json_object_get(json_object_get(record, "files"), "diagnose.json")) return COMP_OK;
  comp_status status = read_document(&text, folder, "diagnose.json");
  if (status == COMP_OK) status = comp_verdict_add(verdict, COMP_DOCUMENT_DIAGNOSIS, text);
  free(text);
  return status;
}

static comp_status add_training(comp_verdict *verdict, json_t *record) {
  json_t *training = json_object_get(record, "training");
  char *text = training ? json_dumps(training, JSON_COMPACT) : NULL;
  comp_status status = text ? comp_verdict_add(verdict, COMP_DOCUMENT_TRAINING, text) : COMP_OK;
  free(text);
  return status;
}

/* From the same documents as the page. */
static comp_status judge(comp_run_result *result, json_t *record) {
  comp_status status = comp_verdict_new(&result->verdict);
  if (status == COMP_OK) status = comp_verdict_add(result->verdict, COMP_DOCUMENT_SCORES, result->scores);
  if (status == COMP_OK) status = add_diagnosis(result->verdict, result->folder, record);
  if (status == COMP_OK) status = add_training(result->verdict, record);
  return status == COMP_OK ? comp_verdict_judge(result->verdict) : status;
}

comp_status comp__run_result_new(comp_run_result **out, const char *folder, json_t *record) {
  comp_run_result *result = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&result, 1, sizeof *result));
  COMP__TRY(comp__strdup(&result->folder, folder));
  COMP__TRY(comp__strdup(&result->page, comp__path_in(folder, "report.html").text));
  COMP__TRY(read_document(&result->scores, folder, "scores.json"));
  result->record = json_dumps(record, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  if (!result->record) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(judge(result, record));
  *out = result;
  result = NULL;
done:
  comp_run_result_free(result);
  return status;
}

const char *comp_run_result_folder(const comp_run_result *result) {
  return result->folder;
}
const char *comp_run_result_page(const comp_run_result *result) {
  return result->page;
}
const char *comp_run_result_record(const comp_run_result *result) {
  return result->record;
}
const char *comp_run_result_scores(const comp_run_result *result) {
  return result->scores;
}
const comp_verdict *comp_run_result_verdict(const comp_run_result *result) {
  return result->verdict;
}
