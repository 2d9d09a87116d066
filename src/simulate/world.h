/*
 * world.h: what all cells of a simulation share: genes, labels, programs, responses, and which cell is what.
 * The model is written down in comp/simulate.h.
 */
#ifndef COMP_SIMULATE_WORLD_H
#define COMP_SIMULATE_WORLD_H

#include "core/rng.h"
#include "core/strings.h"
#include "simulate/options.h"

/* The `step` of a random number says what it decides. Append only: reordering changes every simulation. */
typedef enum comp__sim_step {
  SIM_GENE_BASE,
  SIM_GENE_MODULE,
  SIM_MARKER,
  SIM_LOADING_GENE,
  SIM_LOADING_SIZE,
  SIM_SHARED_GENES,
  SIM_SHARED_SIZE,
  SIM_SPECIFIC_GENES,
  SIM_SPECIFIC_SIZE,
  SIM_GAIN,
  SIM_DIRECTION,
  SIM_SHAPE,
  SIM_COMPOSITION,
  SIM_ORDER,
  SIM_STATE,
  SIM_LIBRARY,
  SIM_COUNT,
  SIM_LARGE_COUNT
} comp__sim_step;

enum { SIM_MODULES = 2 };

typedef struct comp__sim_world {
  comp__simulate_options options; /* with `library` and `truth` resolved */
  comp__strings condition_names;
  comp__strings label_names;
  float *profile;      /* [labels, genes]: base + marker, log scale */
  float *loadings;     /* [programs, genes]: W */
  float *response;     /* [conditions - 1, labels, genes]: effect * R */
  float *module;       /* [genes]: 0 or 1 */
  float *directions;   /* [conditions - 1, SIM_MODULES, programs]: d, of length 1 */
  int32_t *conditions; /* [cells] */
  int32_t *labels;     /* [cells] */
} comp__sim_world;

/* Makes a world. It should be released via comp__sim_world_release(), also when this fails. */
comp_status comp__sim_world_init(comp__sim_world *world, const comp__simulate_options *options);
void comp__sim_world_release(comp__sim_world *world);

static inline comp__rng comp__sim_rng(const comp__sim_world *world, comp__sim_step step, size_t row) {
  return comp__rng_at(world->options.seed, COMP__RNG_SIMULATE, (uint64_t)step, row);
}

/* The response of a label's genes to a condition other than the first: [genes]. */
static inline float *comp__sim_response(const comp__sim_world *world, size_t condition, size_t label) {
  return world->response + ((condition - 1) * world->options.labels + label) * world->options.genes;
}

/* The names of conditions and labels that these numbers of them get. */
comp_status comp__sim_condition_names(comp__strings *out, size_t conditions);
comp_status comp__sim_label_names(comp__strings *out, size_t labels);

/* The cells of every group [conditions, labels] that `options` ask for: they sum to options->cells, and every group has
 * at least one but the absent one, whose index is given (SIZE_MAX: none). */
comp_status comp__sim_group_sizes(size_t *out, const comp__simulate_options *options, size_t absent);

/* The index into [conditions, labels] of options->absent, or SIZE_MAX when it is NULL. */
comp_status comp__sim_absent_group(size_t *out, const comp__simulate_options *options);

#endif
