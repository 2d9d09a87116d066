/*
 * fuzz_checkpoint.c: a sound checkpoint with changes, from which training goes on.
 *
 * The program makes the checkpoint itself when it starts, so that it fits the version. An input is lines: "KEY=TEXT"
 * puts another text into the header, "@NAME=JSON" another entry of an array, "-KEY" takes one out, and "!PLACE BYTE"
 * sets a byte of the arrays. Whether a run goes on or is refused, nothing else may happen.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comp/comp.h"
#include "core/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CELLS = 16, GENES = 3 };

static char path[64];
static json_t *header; /* of the sound one, without its digest */
static char *arrays;
static size_t n_arrays;

static void remove_path(void) {
  unlink(path);
}

static comp_dataset *new_data(void) {
  const char *cells[CELLS], *conditions[CELLS];
  static const char *const genes[GENES] = {"gene0", "gene1", "gene2"};
  static char names[CELLS][8];
  float values[CELLS * GENES];
  for (int i = 0; i < CELLS; i++) {
    snprintf(names[i], sizeof names[i], "c%d", i);
    cells[i] = names[i];
    conditions[i] = i % 2 ? "a" : "b";
    for (int j = 0; j < GENES; j++) values[i * GENES + j] = (float)((i * 7 + j * 3) % 5);
  }
  comp_matrix *x;
  comp_dataset *dataset;
  if (comp_matrix_new_dense(&x, CELLS, GENES) != COMP_OK) abort();
  memcpy(comp_matrix_values(x), values, sizeof values);
  if (comp_dataset_new(&dataset, x, cells, genes) != COMP_OK) abort();
  if (comp_table_add_strings(comp_dataset_obs(dataset), "condition", conditions) != COMP_OK) abort();
  return dataset;
}

static comp_options *new_options(void) {
  static const char *const settings[][2] = {{"condition", "condition"},
                                            {"hidden", "2"},
                                            {"latent", "1"},
                                            {"epochs", "3"},
                                            {"batch", "16"},
                                            {"align", "all"},
                                            {"validation", "0.25"},
                                            {"resume", "true"},
                                            {"checkpoint-epochs", "1"}};
  comp_options *options;
  if (comp_options_new(&options, "train") != COMP_OK) abort();
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (comp_options_set(options, settings[i][0], settings[i][1]) != COMP_OK) abort();
  if (comp_options_set(options, "checkpoint", path) != COMP_OK) abort();
  return options;
}

/* Stops the first run after its first epoch, when the checkpoint is there. */
static bool stop(void *user, const comp_epoch *epoch) {
  (void)user;
  (void)epoch;
  return false;
}

static void load_sound(void) {
  unsigned char length[8];
  uint64_t size = 0;
  FILE *file = fopen(path, "rb");
  if (!file || fread(length, 1, 8, file) != 8) abort();
  for (int b = 0; b < 8; b++) size |= (uint64_t)length[b] << (8 * b);
  char *text = malloc(size);
  arrays = malloc(1 << 20);
  if (!text || !arrays || fread(text, 1, size, file) != size) abort();
  n_arrays = fread(arrays, 1, 1 << 20, file);
  fclose(file);
  header = json_loadb(text, size, 0, NULL);
  free(text);
  json_t *texts = json_object_get(header, "__metadata__");
  if (!texts || json_object_del(texts, "digest") != 0) abort();
  json_object_set_new(texts, "format", json_string("comp-checkpoint-2")); /* that version had none */
}

static void make_sound(comp_context *context, const comp_dataset *dataset, const comp_options *options) {
  comp_model *model = NULL;
  comp_context_on_epoch(context, stop, NULL);
  (void)comp_train(&model, context, dataset, options);
  comp_model_free(model);
  comp_context_on_epoch(context, NULL, NULL);
  load_sound();
}

/* One line of the input; the text is ended by a NUL. */
static void change(json_t *changed, char *bytes, char *line) {
  json_t *texts = json_object_get(changed, "__metadata__");
  char *value = strchr(line, '=');
  if (line[0] == '!') {
    char *rest;
    unsigned long place = strtoul(line + 1, &rest, 10);
    if (place < n_arrays) bytes[place] = (char)strtoul(rest, NULL, 10);
  } else if (line[0] == '-') {
    if (json_object_del(texts, line + 1) != 0) json_object_del(changed, line + 1);
  } else if (value) {
    *value++ = '\0';
    if (line[0] == '@')
      json_object_set_new(changed, line + 1, json_loads(value, JSON_DECODE_ANY, NULL));
    else if (strcmp(line, "digest") != 0)
      json_object_set_new(texts, line, json_string(value));
  }
}

static void write_changed(const uint8_t *data, size_t size) {
  json_t *changed = json_deep_copy(header);
  char *bytes = malloc(n_arrays), *lines = malloc(size + 1), *rest = NULL;
  if (!changed || !bytes || !lines) abort();
  memcpy(bytes, arrays, n_arrays);
  if (size > 0) memcpy(lines, data, size);
  lines[size] = '\0';
  for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    change(changed, bytes, line);
  char *text = json_dumps(changed, JSON_COMPACT);
  const uint64_t length = text ? strlen(text) : 0;
  unsigned char start[8];
  for (int b = 0; b < 8; b++) start[b] = (unsigned char)(length >> (8 * b));
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(start, 1, 8, file) != 8 || fwrite(text, 1, length, file) != length ||
      fwrite(bytes, 1, n_arrays, file) != n_arrays || fclose(file) != 0)
    abort();
  free(text);
  free(bytes);
  free(lines);
  json_decref(changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static comp_context *context;
  static comp_dataset *dataset;
  static comp_options *options;
  comp__context_options settings = comp__context_defaults();
  settings.threads = 1;
  if (!context) {
    if (comp__context_new(&context, &settings) != COMP_OK) abort();
    snprintf(path, sizeof path, "%s/comp-fuzz-%d.checkpoint", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    atexit(remove_path);
    dataset = new_data();
    options = new_options();
    make_sound(context, dataset, options);
  }
  write_changed(data, size);
  comp_model *model = NULL;
  comp_status status = comp_train(&model, context, dataset, options);
  if (status != COMP_OK && comp_error_message()[0] == '\0') abort();
  if (size == 0 && status != COMP_OK) abort(); /* the sound one */
  comp_model_free(model);
  return 0;
}
