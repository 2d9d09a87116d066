/* report_testing.h: a small data set with maps, labels, counterfactuals, and files of scores, for the tests of figures
 * and reports. */
#ifndef COMP_REPORT_TESTING_H
#define COMP_REPORT_TESTING_H

#include "testing.h"

#include <unistd.h>

#include "core/rng.h"

typedef struct sample_shape {
  size_t labels, conditions, per_group, genes;
  const char *label_format; /* with one %zu */
  bool hole;                /* the last label is in the first condition only */
  bool sparse;
} sample_shape;

static inline const char *condition_name(size_t c) {
  static const char *const names[] = {"ctrl", "stim", "third"};
  return names[c];
}

/* Value j of sample i: deterministic, never negative. */
static inline float sample_value(size_t i, size_t j, size_t condition) {
  double u = comp__rng_uniform(comp__rng_at(7, COMP__RNG_TEST, 0, i), j);
  double effect = condition && j % 5 == 0 ? 1.5 * (double)condition : 0;
  return u < 0.4 ? 0.0f : (float)(u + effect);
}

/* It should be freed via comp_dataset_free(). */
static inline comp_dataset *sample_dataset(comp_context *context, const sample_shape *shape) {
  size_t n = shape->labels * shape->conditions * shape->per_group, genes = shape->genes;
  comp_matrix *x, *map, *before, *predicted;
  int32_t *label = calloc(n, sizeof *label), *condition = calloc(n, sizeof *condition);
  assert_ok(comp_matrix_new_dense(&x, n, genes));
  assert_ok(comp_matrix_new_dense(&predicted, n, genes));
  assert_ok(comp_matrix_new_dense(&map, n, 2));
  assert_ok(comp_matrix_new_dense(&before, n, 2));
  for (size_t i = 0; i < n; i++) {
    label[i] = (int32_t)(i % shape->labels);
    condition[i] = (int32_t)(i / shape->labels % shape->conditions);
    if (shape->hole && (size_t)label[i] == shape->labels - 1) condition[i] = 0;
    for (size_t j = 0; j < genes; j++) {
      comp_matrix_values(x)[i * genes + j] = sample_value(i, j, (size_t)condition[i]);
      comp_matrix_values(predicted)[i * genes + j] = sample_value(i, j, 1) * 0.9f;
    }
    for (size_t d = 0; d < 2; d++) {
      float z = (float)comp__rng_normal(comp__rng_at(7, COMP__RNG_TEST, 1, i), d);
      double angle = 6.28 * label[i] / (double)shape->labels;
      comp_matrix_values(map)[2 * i + d] = z * 0.3f + 4.0f * (float)(d ? sin(angle) : cos(angle));
      comp_matrix_values(before)[2 * i + d] = comp_matrix_values(map)[2 * i + d] + 6.0f * (float)condition[i];
    }
  }
  if (shape->sparse) {
    comp_matrix *csr;
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  comp_dataset *d;
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  char **names = calloc(shape->labels, sizeof *names);
  for (size_t l = 0; l < shape->labels; l++) {
    names[l] = malloc(400);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(names[l], 400, shape->label_format, l + 1);
#pragma GCC diagnostic pop
  }
  const char *conditions[] = {condition_name(0), condition_name(1), condition_name(2)};
  comp_table *obs = comp_dataset_obs(d);
  assert_ok(comp_table_add_categorical(obs, "condition", condition, conditions, shape->conditions));
  assert_ok(comp_table_add_categorical(obs, "label", label, (const char *const *)names, shape->labels));
  double *depth = calloc(n, sizeof *depth);
  for (size_t i = 0; i < n; i++) depth[i] = i % 17 == 3 ? NAN : (double)i * 0.5;
  assert_ok(comp_table_add_numbers(obs, "depth", depth, false));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_umap", map));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_umap_before", before));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "counterfactual_stim", predicted));
  for (size_t l = 0; l < shape->labels; l++) free(names[l]);
  free(names);
  free(depth);
  free(label);
  free(condition);
  return d;
}

static const sample_shape SMALL_SHAPE = {3, 2, 60, 40, "type%zu", false, false};

/* A path in a folder of this process; the same buffer each time. */
static inline const char *scratch(const char *name) {
  static char folder[64], path[256];
  if (!*folder) {
    snprintf(folder, sizeof folder, "/tmp/comp-report-XXXXXX");
    if (!mkdtemp(folder)) fail_msg("no temporary folder");
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static inline char *read_text(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*size + 1);
  assert_int_equal(fread(text, 1, *size, file), *size);
  text[*size] = '\0';
  fclose(file);
  return text;
}

static inline void write_text(const char *path, const char *text) {
  assert_ok(comp_file_write(path, text, strlen(text)));
}

#endif
