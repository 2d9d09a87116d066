/*
 * embed_rows.c: times comp__embed() from CSR in memory to latent means in memory. bench/embed.py runs it in turn with
 * PyTorch.
 *
 *   embed_rows ROWS f32|bf16 REPEATS [THREADS]
 *
 * 2,000 features, 5 % filled, the default network (3 layers of 512, 40 latent dimensions). Prints one line of JSON.
 * Where the CPU has no bf16 kernel, bf16 is refused with exit status 3.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "comp/comp.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "task/options.h"

enum { FEATURES = 2000, FILLED = 100 };

static const char *const arguments = "ROWS f32|bf16 REPEATS [THREADS]";

/* FILLED ascending columns in each row, one in each of as many equal parts. */
static comp_matrix *make_data(size_t rows) {
  comp_matrix *x;
  need(comp_matrix_new_csr(&x, rows, FEATURES, rows * FILLED));
  for (size_t i = 0; i < rows; i++) {
    comp__rng rng = comp__rng_at(1, COMP__RNG_TEST, 0, i);
    comp__rng_fill_uniform(x->values + i * FILLED, FILLED, rng, 0);
    for (size_t k = 0; k < FILLED; k++) {
      uint64_t step = FEATURES / FILLED;
      x->indices[i * FILLED + k] = (int32_t)(k * step + comp__rng_below(rng, k, step));
      x->values[i * FILLED + k] += 0.5f;
    }
    x->indptr[i + 1] = (int64_t)((i + 1) * FILLED);
  }
  return x;
}

static comp_model *make_model(void) {
  comp__train_options o;
  comp_model *model;
  char name[16];
  need(comp__train_options_init(&o, "comp", "default"));
  need(comp__model_new(&model, &o.model, FEATURES, 2));
  comp__layout_initialise(&model->network.params, model->params, 1);
  comp__layout_initialise(&model->network.buffers, model->buffers, 1);
  need(comp__strdup(&model->condition, "c"));
  need(comp__strings_append(&model->levels, "a", 1));
  need(comp__strings_append(&model->levels, "b", 1));
  for (size_t g = 0; g < FEATURES; g++)
    need(comp__strings_append(&model->features, name, (size_t)snprintf(name, sizeof name, "%zu", g)));
  return model;
}

int main(int argc, char **argv) {
  if (argc < 4) usage(arguments);
  size_t rows = (size_t)atoll(argv[1]), repeats = (size_t)atoi(argv[3]);
  comp__embed_options options = comp__embed_defaults();
  if (is_bf16(argv[2], arguments)) options.precision = COMP_PRECISION_BF16;
  comp__context_options context_options = comp__context_defaults();
  if (argc > 4) context_options.threads = atoi(argv[4]);
  comp_context *context;
  need(comp__context_new(&context, &context_options));
  comp_model *model = make_model();
  comp_dataset *data;
  need(comp_dataset_new(&data, make_data(rows), NULL, NULL));
  int32_t *codes = malloc(rows * sizeof *codes);
  for (size_t i = 0; i < rows; i++) codes[i] = (int32_t)(i % 2);
  need(comp_table_add_categorical(comp_dataset_obs(data), "c", codes, (const char *const[]){"a", "b"}, 2));
  printf("{\"seconds\": [");
  for (size_t r = 0; r < repeats + 1; r++) { /* the first makes primitives and touches memory */
    comp_matrix *z;
    double began = comp__seconds();
    need(comp__embed(&z, NULL, context, model, data, &options));
    if (r > 0) printf("%s%.6f", r > 1 ? ", " : "", comp__seconds() - began);
    comp_matrix_free(z);
  }
  printf("], \"peak_mb\": %.1f}\n", (double)comp_peak_memory() / 1e6);
  free(codes);
  comp_dataset_free(data);
  comp_model_free(model);
  comp_context_free(context);
  return 0;
}
