/*
 * fuzz_json.c: any bytes as the JSON documents that commands read: scores, designs, trainings and diagnoses (for the
 * verdict), options of every kind, records of the preparation. The first byte picks one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "core/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Documents, which follow each other with a 0xff byte between, are judged together; `first` is the kind of the first.
 */
static void judge(char *text, size_t size, unsigned first) {
  comp_verdict *verdict;
  if (comp_verdict_new(&verdict) != COMP_OK) abort();
  for (unsigned k = 0; k < COMP_DOCUMENTS; k++) {
    char *cut = memchr(text, 0xff, size);
    if (cut) *cut = '\0';
    (void)comp_verdict_add(verdict, (comp_document)((first + k) % COMP_DOCUMENTS), text);
    if (!cut) break;
    size -= (size_t)(cut + 1 - text);
    text = cut + 1;
  }
  if (comp_verdict_judge(verdict) == COMP_OK && !comp_verdict_json(verdict)) abort();
  comp_verdict_free(verdict);
}

static void set_options(const char *text, const char *kind) {
  comp_options *options, *again;
  char *json, *second;
  if (comp_options_new(&options, kind) != COMP_OK) abort();
  if (comp_options_from_json(options, text) == COMP_OK && comp_options_to_json(&json, options) == COMP_OK) {
    (void)comp_options_check(options);
    if (comp_options_new(&again, kind) != COMP_OK) abort();
    /* What was written is read again, to the same. */
    if (comp_options_from_json(again, json) == COMP_OK) {
      if (comp_options_to_json(&second, again) != COMP_OK || strcmp(json, second) != 0) abort();
      comp_free(second);
    }
    comp_options_free(again);
    comp_free(json);
  } else if (comp_error_message()[0] == '\0')
    abort();
  comp_options_free(options);
}

static void prepare(const char *text, comp_context *context) {
  static const char *const cells[] = {"c0", "c1", "c2"}, *const genes[] = {"gene0", "gene1", "gene2", "gene3"};
  static const float values[] = {1, 0, 2, 5, 0, 3, 0, 1, 4, 1, 0, 0};
  comp_matrix *x;
  comp_dataset *dataset;
  if (comp_matrix_new_dense(&x, 3, 4) != COMP_OK) abort();
  memcpy(comp_matrix_values(x), values, sizeof values);
  if (comp_dataset_new(&dataset, x, cells, genes) != COMP_OK) abort();
  (void)comp_prep_apply_record(&dataset, context, text);
  if (dataset && comp_dataset_set_record(dataset, text) == COMP_OK) {
    (void)comp_log1p(context, dataset, false);
    (void)comp_to_counts(context, dataset, NULL);
  }
  comp_dataset_free(dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static comp_context *context;
  comp__context_options options = comp__context_defaults();
  options.threads = 1;
  if (!context && comp__context_new(&context, &options) != COMP_OK) abort();
  if (size == 0) return 0;
  char *text = malloc(size);
  if (!text) abort();
  memcpy(text, data + 1, size - 1);
  text[size - 1] = '\0';
  const unsigned kind = data[0] & 63;
  size_t kinds = 0;
  while (comp_options_kind_at(kinds)) kinds++;
  if (kind < 24)
    judge(text, size, kind % COMP_DOCUMENTS);
  else if (kind < 32)
    prepare(text, context);
  else
    set_options(text, comp_options_kind_at((kind - 32) % kinds));
  free(text);
  return 0;
}
