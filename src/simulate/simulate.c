/* simulate.c: the loop over blocks of cells, and a simulated data set in memory. What is simulated is in
 * world.c and cell.c. */
#include "simulate/simulate.h"

#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "simulate/tables.h"

comp_status comp__sim_each_block(comp_context *context, const comp__sim_world *world, size_t block_cells,
                                 comp__sim_take_fn take, void *sink) {
  comp__sim_block block = {0};
  size_t cells = world->options.cells;
  comp_status status;
  comp__progress_begin(context, "simulating", "cells", cells);
  COMP__TRY(comp__sim_block_init(&block, context, world, block_cells));
  for (size_t first = 0; first < cells;) {
    size_t n = cells - first < block.capacity ? cells - first : block.capacity;
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(comp__sim_block_make(&block, context, first, n));
    COMP__TRY(take(sink, context, &block));
    first += n;
    comp__progress_update(context, first, NULL);
  }
done:
  comp__progress_end(context);
  if (block.world) comp__sim_block_release(&block);
  return status;
}

void comp__sim_say_if_no_truth(comp_context *context, const comp__simulate_options *asked,
                               const comp__sim_world *world) {
  if (asked->truth == COMP_TRUTH_AUTO && world->options.truth == COMP_TRUTH_OFF)
    comp__info(context, "the truth layers would take more than %zu GB and are left out; ask for them to have them",
               COMP_TRUTH_AUTO_BYTES >> 30);
}

/* ---- in memory ---- */

typedef struct memory_sink {
  const comp__sim_world *world;
  int64_t *indptr; /* [cells + 1] */
  int32_t *indices;
  float *values;
  size_t nnz, indices_capacity, values_capacity;
  comp_matrix *states;
  comp_matrix **truth; /* [conditions], or NULL */
} memory_sink;

static comp_status memory_init(memory_sink *sink, const comp__sim_world *world) {
  const comp__simulate_options *o = &world->options;
  comp_status status;
  sink->world = world;
  COMP__TRY(comp__calloc(&sink->indptr, o->cells + 1, sizeof *sink->indptr));
  COMP__TRY(comp__matrix_new_dense_raw(&sink->states, o->cells, o->programs));
  if (o->truth != COMP_TRUTH_ON) goto done;
  COMP__TRY(comp__calloc(&sink->truth, o->conditions, sizeof(comp_matrix *)));
  for (size_t k = 0; k < o->conditions; k++) COMP__TRY(comp__matrix_new_dense_raw(&sink->truth[k], o->cells, o->genes));
done:
  return status;
}

static void memory_release(memory_sink *sink) {
  comp__free(sink->indptr);
  comp__free(sink->indices);
  comp__free(sink->values);
  comp_matrix_free(sink->states);
  for (size_t k = 0; sink->truth && k < sink->world->options.conditions; k++) comp_matrix_free(sink->truth[k]);
  comp__free(sink->truth);
}

/* Copies a block's rows to their place in the whole. */
static void place_rows(comp_matrix *whole, const comp_matrix *rows, size_t first) {
  memcpy(whole->values + first * whole->cols, rows->values, rows->rows * rows->cols * sizeof(float));
}

static comp_status memory_take(void *raw, comp_context *context, const comp__sim_block *block) {
  (void)context;
  memory_sink *sink = raw;
  size_t more = comp_matrix_nnz(block->x), needed = sink->nnz + more;
  comp_status status;
  COMP__TRY(comp__grow(&sink->indices, &sink->indices_capacity, sink->nnz, needed, sizeof *sink->indices));
  COMP__TRY(comp__grow(&sink->values, &sink->values_capacity, sink->nnz, needed, sizeof *sink->values));
  memcpy(sink->indices + sink->nnz, block->x->indices, more * sizeof *sink->indices);
  memcpy(sink->values + sink->nnz, block->x->values, more * sizeof *sink->values);
  for (size_t i = 0; i < block->x->rows; i++)
    sink->indptr[block->first + i + 1] = (int64_t)sink->nnz + block->x->indptr[i + 1];
  sink->nnz = needed;
  place_rows(sink->states, block->states, block->first);
  for (size_t k = 0; sink->truth && k < sink->world->options.conditions; k++)
    place_rows(sink->truth[k], block->truth[k], block->first);
done:
  return status;
}

/* The counts as a CSR matrix of their exact size. */
static comp_status memory_counts(comp_matrix **out, const memory_sink *sink) {
  const comp__simulate_options *o = &sink->world->options;
  comp_status status = comp_matrix_new_csr(out, o->cells, o->genes, sink->nnz);
  if (status != COMP_OK) return status;
  memcpy((*out)->indptr, sink->indptr, (o->cells + 1) * sizeof *sink->indptr);
  memcpy((*out)->indices, sink->indices, sink->nnz * sizeof *sink->indices);
  memcpy((*out)->values, sink->values, sink->nnz * sizeof *sink->values);
  return COMP_OK;
}

/* Moves what the sink holds into a data set with its names and tables. */
static comp_status memory_dataset(comp_dataset **out, memory_sink *sink) {
  const comp__sim_world *world = sink->world;
  comp_dataset *dataset = NULL;
  comp_matrix *x = NULL;
  comp__strings cell_names = {0}, gene_names = {0};
  char name[96], record[SIM_RECORD_SIZE];
  comp_status status;
  COMP__TRY(comp__sim_names(&cell_names, "cell", world->options.cells));
  COMP__TRY(comp__sim_names(&gene_names, "gene", world->options.genes));
  COMP__TRY(comp__dataset_new(&dataset, &cell_names, &gene_names));
  COMP__TRY(memory_counts(&x, sink));
  COMP__TRY(comp_dataset_set_x(dataset, x));
  COMP__TRY(comp__sim_fill_obs(comp_dataset_obs(dataset), world));
  COMP__TRY(comp__sim_fill_var(comp_dataset_var(dataset), world));
  comp_matrix *states = sink->states;
  sink->states = NULL;
  COMP__TRY(comp_dataset_set_matrix(dataset, COMP_SLOT_OBSM, "truth_state", states));
  for (size_t k = 0; sink->truth && k < world->options.conditions; k++) {
    comp_matrix *truth = sink->truth[k];
    sink->truth[k] = NULL;
    comp__sim_truth_name(name, sizeof name, "", world, k);
    COMP__TRY(comp_dataset_set_matrix(dataset, COMP_SLOT_LAYERS, name, truth));
  }
  COMP__TRY(comp__sim_record(record, &world->options));
  COMP__TRY(comp_dataset_set_record(dataset, record));
  *out = dataset;
  dataset = NULL;
done:
  comp__strings_release(&cell_names);
  comp__strings_release(&gene_names);
  comp_dataset_free(dataset);
  return status;
}

comp_status comp__simulate(comp_dataset **out, comp_context *context, const comp__simulate_options *options,
                           size_t block_cells) {
  *out = NULL;
  comp__sim_world world = {0};
  memory_sink sink = {0};
  comp_status status;
  COMP__TRY(comp__sim_world_init(&world, options));
  comp__sim_say_if_no_truth(context, options, &world);
  COMP__TRY(memory_init(&sink, &world));
  COMP__TRY(comp__sim_each_block(context, &world, block_cells, memory_take, &sink));
  COMP__TRY(memory_dataset(out, &sink));
done:
  if (sink.world) memory_release(&sink);
  comp__sim_world_release(&world);
  return status;
}

comp_status comp_simulate(comp_dataset **out, comp_context *context, const comp_options *options) {
  COMP__NEED_OUT(out, context);
  comp__simulate_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__simulate_kind, options);
  return status == COMP_OK ? comp__simulate(out, context, &plain, 0) : status;
}
