/*
 * fuzz_model.c: any bytes as a model file, and what is done with a model that was read.
 *
 * An input that begins with '{' is the header; its length is put before it, and behind it as many bytes of arrays as it
 * speaks of, so that the fuzzer need not find these. Any other input is the file as it is.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "core/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CELLS = 5, GENES = 6, MOST_ARRAYS = 1 << 20 };

/* The data that a model gets. */
static comp_dataset *new_data(void) {
  static const char *const cells[CELLS] = {"c0", "c1", "c2", "c3", "c4"};
  static const char *const genes[GENES] = {"gene0", "gene1", "gene2", "gene3", "gene4", "gene5"};
  static const char *const conditions[CELLS] = {"a", "b", "a", "b", "a"};
  float values[CELLS * GENES];
  for (int i = 0; i < CELLS * GENES; i++) values[i] = (float)(i * 7 % 5);
  comp_matrix *x;
  comp_dataset *dataset;
  if (comp_matrix_new_dense(&x, CELLS, GENES) != COMP_OK) abort();
  memcpy(comp_matrix_values(x), values, sizeof values);
  if (comp_dataset_new(&dataset, x, cells, genes) != COMP_OK) abort();
  if (comp_table_add_strings(comp_dataset_obs(dataset), "condition", conditions) != COMP_OK) abort();
  return dataset;
}

/* How many bytes of arrays a header speaks of, as far as that is possible. */
static size_t arrays_of(const char *text, size_t size) {
  json_t *header = json_loadb(text, size, 0, NULL), *entry;
  const char *name;
  size_t most = 0;
  json_object_foreach(header, name, entry) {
    json_int_t end = json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 1));
    if (end > (json_int_t)most && end <= MOST_ARRAYS) most = (size_t)end;
  }
  json_decref(header);
  return most;
}

static uint8_t *file_of(size_t *out, const uint8_t *header, size_t size) {
  const size_t arrays = arrays_of((const char *)header, size);
  *out = 8 + size + arrays;
  uint8_t *file = malloc(*out);
  if (!file) abort();
  for (int b = 0; b < 8; b++) file[b] = (uint8_t)((uint64_t)size >> (8 * b));
  memcpy(file + 8, header, size);
  for (size_t i = 0; i < arrays; i++) file[8 + size + i] = (uint8_t)((i & 3) == 3 ? 0x3d : i >> 2); /* 0.03 to 0.12 */
  return file;
}

/* What comp info, embed and counterfactual do with it. */
static void use(comp_context *context, const comp_model *model, const comp_dataset *dataset) {
  comp_matrix *z = NULL, *scales = NULL;
  comp_options *options;
  comp_prediction prediction = {0};
  char *text = NULL;
  void *bytes = NULL;
  size_t size;
  if (comp_training_json(&text, model) == COMP_OK) comp_free(text);
  if (comp_model_to_memory(&bytes, &size, model) == COMP_OK) comp_free(bytes);
  if (comp_embed(&z, &scales, context, model, dataset, NULL) == COMP_OK) {
    comp_matrix_free(z);
    comp_matrix_free(scales);
  }
  if (comp_options_new(&options, "counterfactual") != COMP_OK) abort();
  if (comp_options_set(options, "to", comp_model_level_name(model, 0)) == COMP_OK &&
      comp_counterfactual(&prediction, context, model, dataset, options) == COMP_OK)
    comp_prediction_release(&prediction);
  comp_options_free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static comp_context *context;
  static comp_dataset *dataset;
  comp__context_options options = comp__context_defaults();
  options.threads = 1;
  if (!context && comp__context_new(&context, &options) != COMP_OK) abort();
  if (!dataset) dataset = new_data();
  uint8_t *made = size > 0 && data[0] == '{' ? file_of(&size, data, size) : NULL;
  comp_model *model;
  if (comp_model_from_memory(&model, made ? made : data, size) == COMP_OK) {
    use(context, model, dataset);
    comp_model_free(model);
  } else if (comp_error_message()[0] == '\0') {
    abort();
  }
  free(made);
  return 0;
}
