/* block.c: cells in parallel. How many counts a cell has is known only when they are drawn, so every cell gets
 * room for all genes first, and is moved to its place in the CSR arrays when all of the block are there. */
#include "simulate/block.h"

#include <assert.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "simulate/cell.h"

/* What a block may take by default, in bytes. */
static const size_t BLOCK_BYTES = (size_t)128 << 20;
enum { CELLS_AT_ONCE = 16 }; /* for one thread */

static size_t default_cells(const comp__simulate_options *o) {
  size_t layers = o->truth == COMP_TRUTH_ON ? o->conditions : 0;
  size_t a_cell = o->genes * (sizeof(int32_t) + sizeof(float) + layers * sizeof(float));
  size_t cells = BLOCK_BYTES / a_cell;
  if (cells < CELLS_AT_ONCE) cells = CELLS_AT_ONCE;
  return cells < o->cells ? cells : o->cells;
}

comp_status comp__sim_block_init(comp__sim_block *block, comp_context *context, const comp__sim_world *world,
                                 size_t cells) {
  const comp__simulate_options *o = &world->options;
  *block = (comp__sim_block){.world = world, .capacity = cells ? cells : default_cells(o)};
  size_t threads = (size_t)comp_context_thread_count(context);
  comp_status status;
  COMP__TRY(comp__alloc(&block->genes, block->capacity, o->genes * sizeof *block->genes));
  COMP__TRY(comp__alloc(&block->counts, block->capacity, o->genes * sizeof *block->counts));
  COMP__TRY(comp__alloc(&block->found, block->capacity, sizeof *block->found));
  COMP__TRY(comp__alloc(&block->per_thread, threads, 3 * o->genes * sizeof *block->per_thread));
  if (o->truth == COMP_TRUTH_ON) COMP__TRY(comp__calloc(&block->truth, o->conditions, sizeof(comp_matrix *)));
done:
  return status;
}

static void drop_matrices(comp__sim_block *block) {
  comp_matrix_free(block->x);
  comp_matrix_free(block->states);
  block->x = block->states = NULL;
  for (size_t k = 0; block->truth && k < block->world->options.conditions; k++) {
    comp_matrix_free(block->truth[k]);
    block->truth[k] = NULL;
  }
}

void comp__sim_block_release(comp__sim_block *block) {
  drop_matrices(block);
  comp__free(block->truth);
  comp__free(block->genes);
  comp__free(block->counts);
  comp__free(block->found);
  comp__free(block->per_thread);
  *block = (comp__sim_block){0};
}

/* The truth layers of the block's i-th cell; leaves the proportions under its own condition in `own`. */
static void make_profiles(comp__sim_block *block, size_t i, const float *eta, const float *state, float *own) {
  const comp__sim_world *world = block->world;
  size_t cell = block->first + i, genes = world->options.genes;
  size_t label = (size_t)world->labels[cell], condition = (size_t)world->conditions[cell];
  comp__sim_proportions(own, eta, world, label, state, condition);
  if (!block->truth) return;
  float library = (float)world->options.library;
  for (size_t k = 0; k < world->options.conditions; k++) {
    float *truth = block->truth[k]->values + i * genes;
    if (k == condition)
      memcpy(truth, own, genes * sizeof *truth);
    else
      comp__sim_proportions(truth, eta, world, label, state, k);
    for (size_t g = 0; g < genes; g++) truth[g] *= library;
  }
}

static void make_cells(void *arg, size_t begin, size_t end, int thread) {
  comp__sim_block *block = arg;
  const comp__sim_world *world = block->world;
  size_t genes = world->options.genes, programs = world->options.programs;
  float *eta = block->per_thread + (size_t)thread * 3 * genes, *own = eta + genes, *uniform = own + genes;
  for (size_t i = begin; i < end; i++) {
    size_t cell = block->first + i;
    float *state = block->states->values + i * programs;
    comp__sim_state(state, world, cell);
    comp__sim_log_expression(eta, world, (size_t)world->labels[cell], state);
    make_profiles(block, i, eta, state, own);
    block->found[i] = comp__sim_counts(block->genes + i * genes, block->counts + i * genes, own, uniform, world, cell);
  }
}

static void move_cells(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp__sim_block *block = arg;
  size_t genes = block->world->options.genes;
  for (size_t i = begin; i < end; i++) {
    int64_t at = block->x->indptr[i];
    memcpy(block->x->indices + at, block->genes + i * genes, block->found[i] * sizeof *block->genes);
    memcpy(block->x->values + at, block->counts + i * genes, block->found[i] * sizeof *block->counts);
  }
}

static comp_status collect_counts(comp__sim_block *block, comp_context *context, size_t cells) {
  size_t nnz = 0;
  for (size_t i = 0; i < cells; i++) nnz += block->found[i];
  comp_status status = comp_matrix_new_csr(&block->x, cells, block->world->options.genes, nnz);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < cells; i++) block->x->indptr[i + 1] = block->x->indptr[i] + (int64_t)block->found[i];
  comp__parallel_for(context, cells, 64, move_cells, block);
  return COMP_OK;
}

comp_status comp__sim_block_make(comp__sim_block *block, comp_context *context, size_t first, size_t cells) {
  assert(cells <= block->capacity && first + cells <= block->world->options.cells);
  const comp__simulate_options *o = &block->world->options;
  comp_status status;
  drop_matrices(block);
  block->first = first;
  COMP__TRY(comp__matrix_new_dense_raw(&block->states, cells, o->programs));
  for (size_t k = 0; block->truth && k < o->conditions; k++)
    COMP__TRY(comp__matrix_new_dense_raw(&block->truth[k], cells, o->genes));
  comp__parallel_for(context, cells, CELLS_AT_ONCE, make_cells, block);
  COMP__TRY(collect_counts(block, context, cells));
done:
  return status;
}
