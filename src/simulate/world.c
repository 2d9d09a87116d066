/* world.c: draws what all cells of a simulation share. Sizes were chosen to look like droplet data: 80 to 95 %
 * zeros at 0.4 counts a gene, labels and programs that are plain to see but overlap. */
#include "simulate/world.h"

#include <assert.h>
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"

static const double GENE_SD = 1.7;        /* of log mean expression over genes */
static const double MARKER_SHARE = 0.15;  /* of genes, for each label */
static const double LOADING_SHARE = 0.25; /* of genes, for each program */
/* Loadings are from 0.2 to 0.8 in size: no state, however far out, makes one gene all of a cell. */
static const double LOADING_LEAST = 0.2, LOADING_MOST = 0.8;
static const double MARKER_UP = 0.7;   /* share of markers that are higher in their label */
static const double RESPONSE_UP = 0.6; /* share of response genes that go up */

/* base + marker of every label. */
static void draw_profiles(comp__sim_world *world) {
  const comp__simulate_options *o = &world->options;
  comp__rng base = comp__sim_rng(world, SIM_GENE_BASE, 0);
  comp__rng_fill_normal(world->profile, o->genes, base, 0);
  for (size_t g = 0; g < o->genes; g++) world->profile[g] = (float)GENE_SD * world->profile[g];
  for (size_t l = o->labels; l-- > 0;) { /* backwards: the first row holds the base until the end */
    comp__rng marker = comp__sim_rng(world, SIM_MARKER, l);
    float *row = world->profile + l * o->genes;
    for (size_t g = 0; g < o->genes; g++) {
      double which = comp__rng_uniform(marker, 2 * g), size = 0;
      if (which < MARKER_SHARE) {
        size = o->separation * (0.5 + comp__rng_uniform(marker, 2 * g + 1)); /* mean: separation */
        if (which >= MARKER_SHARE * MARKER_UP) size = -size;
      }
      row[g] = world->profile[g] + (float)size;
    }
  }
}

static double loading(comp__rng rng, size_t gene) {
  double size = LOADING_LEAST + (LOADING_MOST - LOADING_LEAST) * comp__rng_uniform(rng, 2 * gene);
  return comp__rng_uniform(rng, 2 * gene + 1) < 0.5 ? size : -size;
}

static void draw_loadings(comp__sim_world *world) {
  const comp__simulate_options *o = &world->options;
  for (size_t p = 0; p < o->programs; p++) {
    comp__rng which = comp__sim_rng(world, SIM_LOADING_GENE, p), size = comp__sim_rng(world, SIM_LOADING_SIZE, p);
    float *row = world->loadings + p * o->genes;
    for (size_t g = 0; g < o->genes; g++)
      row[g] = comp__rng_uniform(which, g) < LOADING_SHARE ? (float)loading(size, g) : 0.0f;
  }
}

/* A log fold change of mean 1 in size, 0.5 at least, 3 at most. */
static double response_size(comp__rng rng, size_t gene) {
  double size = fmin(0.5 - 0.5 * log(comp__rng_uniform(rng, 2 * gene)), 3.0);
  return comp__rng_uniform(rng, 2 * gene + 1) < RESPONSE_UP ? size : -size;
}

/* How many genes answer in a label: in all labels alike, and in this one only. */
static void response_counts(const comp__simulate_options *o, size_t *shared, size_t *specific) {
  *shared = *specific = 0;
  if (o->effect <= 0 || o->effect_genes <= 0) return;
  double both = fmax(1.0, round(o->effect_genes * (double)o->genes));
  *shared = (size_t)round(both * (1.0 - o->specific));
  *specific = (size_t)both - *shared;
}

/* The genes that answer to `condition` in every label, each label with its own gain in each module. */
static void draw_shared(comp__sim_world *world, size_t condition, const size_t *order, size_t n_shared) {
  const comp__simulate_options *o = &world->options;
  comp__rng size = comp__sim_rng(world, SIM_SHARED_SIZE, condition);
  comp__rng gains = comp__sim_rng(world, SIM_GAIN, condition);
  for (size_t l = 0; l < o->labels; l++) {
    float *row = comp__sim_response(world, condition, l);
    for (size_t j = 0; j < n_shared; j++) {
      size_t g = order[j], module = world->module[g] > 0.5f;
      double gain = 1.0 + o->specific * (2.0 * comp__rng_uniform(gains, SIM_MODULES * l + module) - 1.0);
      row[g] = (float)(o->effect * gain * response_size(size, g));
    }
  }
}

/* The genes that answer in one label only: the first of a random order that are not shared. */
static void draw_specific(comp__sim_world *world, size_t condition, size_t label, const size_t *order,
                          const char *is_shared, size_t n_specific) {
  const comp__simulate_options *o = &world->options;
  comp__rng size = comp__sim_rng(world, SIM_SPECIFIC_SIZE, condition * o->labels + label);
  float *row = comp__sim_response(world, condition, label);
  for (size_t j = 0; j < o->genes && n_specific > 0; j++) {
    if (is_shared[order[j]]) continue;
    row[order[j]] = (float)(o->effect * response_size(size, order[j]));
    n_specific--;
  }
}

static comp_status draw_responses(comp__sim_world *world) {
  const comp__simulate_options *o = &world->options;
  size_t n_shared, n_specific, *order = NULL;
  char *is_shared = NULL;
  comp_status status;
  response_counts(o, &n_shared, &n_specific);
  COMP__TRY(comp__alloc(&order, o->genes, sizeof *order));
  COMP__TRY(comp__alloc(&is_shared, o->genes, 1));
  for (size_t g = 0; g < o->genes; g++)
    world->module[g] = comp__rng_uniform(comp__sim_rng(world, SIM_GENE_MODULE, 0), g) < 0.5 ? 0.0f : 1.0f;
  for (size_t k = 1; k < o->conditions; k++) {
    comp__rng_permutation(order, o->genes, comp__sim_rng(world, SIM_SHARED_GENES, k));
    for (size_t j = 0; j < o->genes; j++) is_shared[order[j]] = j < n_shared;
    draw_shared(world, k, order, n_shared);
    for (size_t l = 0; l < o->labels && n_specific > 0; l++) {
      comp__rng_permutation(order, o->genes, comp__sim_rng(world, SIM_SPECIFIC_GENES, k * o->labels + l));
      draw_specific(world, k, l, order, is_shared, n_specific);
    }
  }
done:
  comp__free(order);
  comp__free(is_shared);
  return status;
}

/* Unit vectors: which side of the state space answers more. */
static void draw_directions(comp__sim_world *world) {
  size_t programs = world->options.programs;
  for (size_t i = 0; i < (world->options.conditions - 1) * SIM_MODULES; i++) {
    float *row = world->directions + i * programs;
    double square = 0;
    comp__rng_fill_normal(row, programs, comp__sim_rng(world, SIM_DIRECTION, i), 0);
    for (size_t p = 0; p < programs; p++) square += (double)row[p] * row[p];
    for (size_t p = 0; p < programs; p++) row[p] = (float)(row[p] / sqrt(square));
  }
}

/* Group sizes are exact; which cell belongs to which group is a random order. */
static comp_status assign_cells(comp__sim_world *world) {
  const comp__simulate_options *o = &world->options;
  size_t absent, *sizes = NULL, *order = NULL, next = 0;
  comp_status status;
  COMP__TRY(comp__sim_absent_group(&absent, o));
  COMP__TRY(comp__alloc(&sizes, o->conditions * o->labels, sizeof *sizes));
  COMP__TRY(comp__alloc(&order, o->cells, sizeof *order));
  COMP__TRY(comp__sim_group_sizes(sizes, o, absent));
  comp__rng_permutation(order, o->cells, comp__sim_rng(world, SIM_ORDER, 0));
  for (size_t k = 0; k < o->conditions; k++)
    for (size_t l = 0; l < o->labels; l++)
      for (size_t n = sizes[k * o->labels + l]; n > 0; n--, next++) {
        world->conditions[order[next]] = (int32_t)k;
        world->labels[order[next]] = (int32_t)l;
      }
  assert(next == o->cells);
done:
  comp__free(sizes);
  comp__free(order);
  return status;
}

static comp_status allocate(comp__sim_world *world) {
  const comp__simulate_options *o = &world->options;
  size_t treatments = o->conditions - 1;
  comp_status status;
  COMP__TRY(comp__alloc(&world->profile, o->labels, o->genes * sizeof(float)));
  COMP__TRY(comp__alloc(&world->loadings, o->programs, o->genes * sizeof(float)));
  COMP__TRY(comp__calloc(&world->response, treatments * o->labels, o->genes * sizeof(float)));
  COMP__TRY(comp__alloc(&world->module, o->genes, sizeof(float)));
  COMP__TRY(comp__alloc(&world->directions, treatments * SIM_MODULES, o->programs * sizeof(float)));
  COMP__TRY(comp__alloc(&world->conditions, o->cells, sizeof *world->conditions));
  COMP__TRY(comp__alloc(&world->labels, o->cells, sizeof *world->labels));
done:
  return status;
}

/* What the user left to us. */
static void resolve(comp__simulate_options *o) {
  if (o->library == 0) o->library = 0.4 * (double)o->genes;
  if (o->truth != COMP_TRUTH_AUTO) return;
  double bytes = (double)o->cells * (double)o->genes * (double)o->conditions * sizeof(float);
  o->truth = bytes < (double)COMP_TRUTH_AUTO_BYTES ? COMP_TRUTH_ON : COMP_TRUTH_OFF;
}

comp_status comp__sim_world_init(comp__sim_world *world, const comp__simulate_options *options) {
  *world = (comp__sim_world){.options = *options};
  comp_status status;
  COMP__TRY(comp__options_check(&comp__simulate_kind, options));
  resolve(&world->options);
  COMP__TRY(comp__sim_condition_names(&world->condition_names, options->conditions));
  COMP__TRY(comp__sim_label_names(&world->label_names, options->labels));
  COMP__TRY(allocate(world));
  draw_profiles(world);
  draw_loadings(world);
  draw_directions(world);
  COMP__TRY(draw_responses(world));
  COMP__TRY(assign_cells(world));
done:
  return status;
}

void comp__sim_world_release(comp__sim_world *world) {
  comp__strings_release(&world->condition_names);
  comp__strings_release(&world->label_names);
  comp__free(world->profile);
  comp__free(world->loadings);
  comp__free(world->response);
  comp__free(world->module);
  comp__free(world->directions);
  comp__free(world->conditions);
  comp__free(world->labels);
  *world = (comp__sim_world){0};
}
