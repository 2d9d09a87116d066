/*
 * grad_dump.c: a small problem with its loss, its gradients and ten steps of Adam, as a safetensors file, for
 * tests/oracle/test_gradients.py to compute again with PyTorch. Not installed.
 *
 *   grad_dump OUT MODEL [learned] [without-self] [p0] [nb] [mean] [single] [hidden] [z] [centred] [unseen] [K=3] [bf16]
 *             [target] [shards=4]
 *
 * bf16 products are those of this CPU, or of the emulated kernel for AMX where it has none.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "io/safetensors.h"
#include "model/shards.h"
#include "model/trained.h"
#include "nn/emulated.h"
#include "nn/vecmath.h"
#include "train/config.h"
#include "train/optimiser.h"
#include "train/options.h"

enum { ROWS = 96, FEATURES = 130, LATENT = 6, STEPS = 10 };

static void need(comp_status status) {
  if (status == COMP_OK) return;
  fprintf(stderr, "grad_dump: %s\n", comp_error_message());
  exit(1);
}

/* The batch as shards of neighbouring rows, which are views of its data. */
static void cut(comp__batch *out, const comp__batch *batch, size_t conditions, size_t shards) {
  static size_t take[ROWS], start[16][16];
  for (size_t i = 0; i < ROWS; i++) take[i] = i;
  for (size_t s = 0; s < shards; s++) {
    const size_t begin = comp__shard_begin(ROWS, s, shards), end = comp__shard_begin(ROWS, s + 1, shards);
    for (size_t k = 0; k <= conditions; k++) {
      const size_t at = batch->start[k];
      start[s][k] = at < begin ? 0 : at > end ? end - begin : at - begin;
    }
    out[s] = *batch;
    out[s].rows = end - begin;
    out[s].start = start[s];
    out[s].take = take + begin;
    out[s].ids = batch->ids + begin;
    out[s].library = batch->library + begin;
    if (batch->target) out[s].target = batch->target + begin;
  }
}

static void choose(comp__train_options *o, size_t *conditions, bool *bf16, int argc, char **argv) {
  comp__model_options *m = &o->model;
  m->latent = LATENT;
  m->n_hidden = 2;
  m->hidden[0] = 96;
  m->hidden[1] = 70;
  m->scale = 0.3;
  m->beta = 0.5;
  m->gamma = 2.0;
  m->mmd_scale = 2.0;
  o->rate = 1e-3;
  for (int i = 3; i < argc; i++) {
    if (strcmp(argv[i], "learned") == 0) m->learn_scale = true;
    if (strcmp(argv[i], "without-self") == 0) m->include_self = false;
    if (strcmp(argv[i], "blur") == 0) o->blur_from = o->blur_to = 0.7;
    if (strcmp(argv[i], "p0") == 0) m->penalty = COMP_PENALTY_COMP_P0;
    if (strcmp(argv[i], "nb") == 0) m->likelihood = COMP_LIKELIHOOD_NB;
    if (strcmp(argv[i], "mean") == 0) m->reduction = COMP_REDUCTION_MEAN;
    if (strcmp(argv[i], "single") == 0) m->multi_scale = false;
    if (strcmp(argv[i], "hidden") == 0) m->place = COMP_PLACE_HIDDEN;
    if (strcmp(argv[i], "z") == 0) m->place = COMP_PLACE_Z;
    if (strcmp(argv[i], "centred") == 0) m->centred = true;
    if (strcmp(argv[i], "unseen") == 0) m->encoder_sees_condition = false;
    if (strcmp(argv[i], "bf16") == 0) *bf16 = true;
    if (strcmp(argv[i], "target") == 0) {
      m->classes = 3;
      m->target_weight = 20.0;
      o->target = "target";
    }
    if (strncmp(argv[i], "shards=", 7) == 0) o->shards = (size_t)atoi(argv[i] + 7);
    if (strncmp(argv[i], "K=", 2) == 0) *conditions = (size_t)atoi(argv[i] + 2);
  }
}

static comp_matrix *make_data(const comp__model_options *m, float *library) {
  comp_matrix *x;
  need(comp_matrix_new_dense(&x, ROWS, FEATURES));
  comp__rng rng = comp__rng_at(5, COMP__RNG_TEST, 0, 0);
  for (size_t i = 0; i < ROWS * FEATURES; i++) {
    double u = comp__rng_uniform(rng, i);
    if (u > 0.6) x->values[i] = m->likelihood == COMP_LIKELIHOOD_NB ? (float)(int)(8 * u) : (float)(3 * u);
  }
  for (size_t i = 0; i < ROWS; i++) {
    library[i] = 1.0f;
    for (size_t g = 0; g < FEATURES; g++) library[i] += x->values[i * FEATURES + g];
  }
  return x;
}

/* All tensors of a layout under a prefix. The names are never freed: the program ends soon. */
static size_t list(comp__array *out, const comp__layout *layout, const float *values, const char *prefix) {
  for (size_t t = 0; t < layout->count; t++) {
    const comp__tensor *tensor = &layout->tensors[t];
    char *name = malloc(96);
    snprintf(name, 96, "%s%s", prefix, tensor->name);
    out[t] = (comp__array){name, values + tensor->offset, tensor->rows, tensor->cols};
  }
  return layout->count;
}

int main(int argc, char **argv) {
  if (!test_bf16_real("amx") && !test_bf16_real("avx512_bf16")) test_bf16_kernel = &comp__gemm_amx_emulated;
  if (argc < 3) return 2;
  comp__train_options o;
  comp__context_options context_options = comp__context_defaults();
  comp_context *context;
  comp_model *model;
  comp__work *work;
  size_t conditions = 2, start[16], count = 0;
  bool bf16 = false;
  need(comp__train_options_init(&o, argv[2], "default"));
  choose(&o, &conditions, &bf16, argc, argv);
  need(comp__context_new(&context, &context_options));
  need(comp__model_new(&model, &o.model, FEATURES, conditions));
  const comp__layout *layout = &model->network.params;
  int32_t target[ROWS];
  float targets[ROWS], library[ROWS], losses[STEPS], *eps, *initial, *grads, *m, *v, starts[16];
  need(comp__alloc(&eps, STEPS * ROWS * LATENT, sizeof(float)));
  need(comp__alloc(&initial, layout->size, sizeof(float)));
  need(comp__calloc(&grads, 2 * layout->size, sizeof(float)));
  need(comp__calloc(&m, layout->size, sizeof(float)));
  need(comp__calloc(&v, layout->size, sizeof(float)));
  comp_matrix *x = make_data(&o.model, library);
  for (size_t k = 0; k <= conditions; k++) starts[k] = (float)(start[k] = k * k * ROWS / (conditions * conditions));
  uint64_t ids[ROWS];
  for (size_t i = 0; i < ROWS; i++) ids[i] = i;
  for (size_t i = 0; i < ROWS; i++) targets[i] = (float)(target[i] = i % 7 == 2 ? -1 : (int32_t)(i * i % 3));
  comp__layout_initialise(layout, model->params, 1);
  comp__layout_initialise(&model->network.buffers, model->buffers, 1);
  for (size_t i = 0; o.model.centred && i < conditions * FEATURES; i++)
    model->buffers[model->network.centre + i] = (float)comp__rng_normal(comp__rng_at(6, COMP__RNG_TEST, 0, 0), i);
  memcpy(initial, model->params, layout->size * sizeof(float));
  comp__state state = {model->params, grads, model->buffers, NULL};
  if (bf16) {
    need(comp__alloc(&state.half, layout->size, sizeof(uint16_t)));
    comp__f32_to_bf16(state.half, state.params, layout->size);
  }
  comp__optimiser optimiser = {m, v, 0};
  comp__batch batch = {.rows = ROWS, .x = x, .input = x, .start = start, .ids = ids, .library = library};
  if (o.target) batch.target = target;
  comp__batch shard[16];
  comp__shards *shards = NULL;
  need(comp__work_new(&work, &model->network, ROWS, bf16, true));
  if (o.shards > 0) {
    need(comp__shards_new(&shards, NULL, &model->network, o.shards, ROWS, work));
    cut(shard, &batch, conditions, o.shards);
  }
  for (uint64_t step = 0; step < STEPS; step++) {
    comp__losses loss;
    bool finite;
    for (size_t i = 0; i < ROWS; i++)
      comp__rng_fill_normal(eps + (step * ROWS + i) * LATENT, LATENT, comp__rng_at(3, COMP__RNG_LATENT, step, i), 0);
    const comp__pull pull = {o.model.gamma, o.blur_from};
    if (shards)
      need(comp__shards_step(&loss, context, &model->network, &state, &batch, shard, shards, pull, 3, step));
    else
      need(comp__network_step(&loss, context, &model->network, &state, &batch, work, pull, 3, step));
    if (step == 0) memcpy(grads + layout->size, grads, layout->size * sizeof(float));
    losses[step] = (float)loss.total;
    need(comp__optimiser_step(&finite, context, &optimiser, &state, layout->size, o.rate, 0.0, 0.0));
  }
  comp__array arrays[128];
  count += list(arrays + count, layout, initial, "param.");
  count += list(arrays + count, layout, grads + layout->size, "grad.");
  count += list(arrays + count, &model->network.buffers, model->buffers, "buffer.");
  arrays[count++] = (comp__array){"x", x->values, ROWS, FEATURES};
  arrays[count++] = (comp__array){"library", library, 1, ROWS};
  arrays[count++] = (comp__array){"eps", eps, STEPS, ROWS * LATENT};
  arrays[count++] = (comp__array){"target", targets, 1, ROWS};
  arrays[count++] = (comp__array){"start", starts, 1, conditions + 1};
  arrays[count++] = (comp__array){"losses", losses, 1, STEPS};
  char *config;
  need(comp__config_write(&config, &o));
  need(comp__safetensors_write(argv[1], arrays, count, (comp__text[]){{"config", config}}, 1));
  return 0;
}
