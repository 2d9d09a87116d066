/*
 * train_steps.c: times whole training steps (batch, forward, backward, optimiser) at the shapes of the paper's
 * experiments. bench/train.py runs it in turn with PyTorch.
 *
 *   train_steps kang|adult|tumour f32|bf16 STEPS [THREADS] [BATCH]
 *
 * With a BATCH there are just so many samples: each step is on all of them.
 *
 * Prints one line of JSON: seconds of each step, seconds by phase, arithmetic of a step, peak memory. Where the CPU has
 * no bf16 kernel, bf16 is refused with exit status 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "comp/comp.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "nn/vecmath.h"
#include "train/loader.h"
#include "train/optimiser.h"
#include "train/options.h"

typedef struct shape {
  const char *name;
  size_t samples, features, width, layers, latent, batch;
  double filled; /* share of entries; 1: dense */
} shape;

static const shape shapes[] = {
    {"kang", 4377, 2000, 512, 3, 40, 512, 0.05},
    {"adult", 40700, 82, 64, 2, 16, 4096, 1.0},
    {"tumour", 5500, 9468, 512, 3, 16, 5500, 1.0},
};

static const char *const arguments = "kang|adult|tumour f32|bf16 STEPS [THREADS] [BATCH]";

static comp_matrix *make_data(comp_context *context, const shape *s) {
  comp_matrix *dense, *x;
  need(comp_matrix_new_dense(&dense, s->samples, s->features));
  for (size_t i = 0; i < s->samples; i++) {
    float *row = dense->values + i * s->features;
    comp__rng_fill_normal(row, s->features, comp__rng_at(1, COMP__RNG_TEST, 0, i), 0);
    if (s->filled >= 1.0) continue;
    for (size_t g = 0; g < s->features; g++)
      row[g] = comp__rng_uniform(comp__rng_at(2, COMP__RNG_TEST, 0, i), g) < s->filled ? 1.0f + 0.3f * row[g] : 0.0f;
  }
  if (s->filled >= 1.0) return dense;
  need(comp_matrix_to_csr(&x, context, dense));
  comp_matrix_free(dense);
  return x;
}

/* Multiplications and additions of one step's products: forward, and twice that backward, less the input's gradient. */
static double arithmetic(const comp__network *n, double rows, double filled) {
  double total = 0;
  for (size_t l = 0; l < n->options.n_hidden; l++) {
    const comp__dense *e = &n->encoder[l].dense, *d = &n->decoder[l].dense;
    total += (l == 0 ? 2 * filled : 3) * (double)e->in * (double)e->out + 3 * (double)d->in * (double)d->out;
  }
  total += 3 * ((double)n->mean.in * (double)n->mean.out + (double)n->output.in * (double)n->output.out);
  return 2 * rows * total;
}

int main(int argc, char **argv) {
  if (argc < 4) usage(arguments);
  shape chosen = {0}, *s = &chosen;
  for (size_t i = 0; i < 3; i++)
    if (strcmp(shapes[i].name, argv[1]) == 0) chosen = shapes[i];
  if (!chosen.name) usage(arguments);
  const bool bf16 = is_bf16(argv[2], arguments);
  size_t steps = (size_t)atoi(argv[3]), batch_size = argc > 5 ? (size_t)atoi(argv[5]) : s->batch;
  const size_t before = argc > 5 ? 1 : 2; /* steps that are not counted: they make primitives and touch memory */
  if (argc > 5) s->samples = batch_size;
  comp__context_options context_options = comp__context_defaults();
  if (argc > 4) context_options.threads = atoi(argv[4]);
  comp_context *context;
  need(comp__context_new(&context, &context_options));
  comp__train_options o;
  need(comp__train_options_init(&o, "comp", "default"));
  o.model.scale = 0.1; /* that of the paper and of the other program: wider posteriors leave less to skip */
  o.model.centred = false;
  o.model.latent = s->latent;
  o.model.n_hidden = s->layers;
  for (size_t l = 0; l < s->layers; l++) o.model.hidden[l] = s->width;
  comp_matrix *x = make_data(context, s);
  int32_t *codes = malloc(s->samples * sizeof *codes);
  for (size_t i = 0; i < s->samples; i++) codes[i] = (int32_t)(i % 2);
  comp__loader *loader;
  comp__loader_options lo = {.x = x, .codes = codes, .samples = s->samples, .conditions = 2, .batch = batch_size};
  need(comp__loader_new(&loader, context, &lo));
  comp_model *model;
  need(comp__model_new(&model, &o.model, s->features, 2));
  size_t n = model->network.params.size;
  comp__state state = {model->params, NULL, model->buffers, NULL};
  comp__optimiser optimiser = {0};
  need(comp__calloc(&state.grads, n, sizeof(float)));
  need(comp__calloc(&optimiser.m, n, sizeof(float)));
  need(comp__calloc(&optimiser.v, n, sizeof(float)));
  comp__layout_initialise(&model->network.params, model->params, 1);
  comp__layout_initialise(&model->network.buffers, model->buffers, 1);
  if (bf16) {
    need(comp__alloc(&state.half, n, sizeof(uint16_t)));
    comp__f32_to_bf16(state.half, state.params, n);
  }
  comp__work *work;
  need(comp__work_new(&work, &model->network, comp__loader_largest_batch(loader), bf16, true));
  double *seconds = comp__work_seconds(work), rows = 0;
  printf("{\"steps\": [");
  for (size_t step = 0; step < steps + before; step++) {
    if (step == before) memset(seconds, 0, COMP__PHASES * sizeof *seconds);
    double began = comp__seconds();
    bool finite;
    comp__batch batch;
    comp__losses losses;
    need(comp__loader_batch(&batch, context, loader, step % comp__loader_batches(loader)));
    seconds[COMP__PHASE_GATHER] += comp__seconds() - began;
    need(comp__network_step(&losses, context, &model->network, &state, &batch, work, (comp__pull){10, 0}, 1, step));
    double computed = comp__seconds();
    need(comp__optimiser_step(&finite, context, &optimiser, &state, n, 1e-4, 0, 0));
    seconds[COMP__PHASE_ADAM] += comp__seconds() - computed;
    rows = (double)batch.rows;
    if (step >= before) printf("%s%.6f", step > before ? ", " : "", comp__seconds() - began);
  }
  printf("], \"phases\": {");
  for (int p = 0; p < COMP__PHASES; p++)
    printf("%s\"%s\": %.6f", p ? ", " : "", comp__phase_name((comp__phase)p), seconds[p] / (double)steps);
  printf("}, \"flops\": %.6g, \"rows\": %.0f, \"peak_mb\": %.1f}\n", arithmetic(&model->network, rows, s->filled), rows,
         (double)comp_peak_memory() / 1e6);
  return 0;
}
