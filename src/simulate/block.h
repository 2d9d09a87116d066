/*
 * block.h: consecutive cells of a simulated world as matrices, made on all threads.
 */
#ifndef COMP_SIMULATE_BLOCK_H
#define COMP_SIMULATE_BLOCK_H

#include "simulate/world.h"

typedef struct comp__sim_block {
  const comp__sim_world *world;
  size_t capacity;     /* cells */
  comp_matrix *x;      /* counts of the current cells, CSR */
  comp_matrix *states; /* [cells, programs] */
  comp_matrix **truth; /* [conditions] of [cells, genes]; NULL when there is no truth */
  /* Scratch. */
  int32_t *genes;    /* [capacity, genes]: of each cell, the genes with counts */
  float *counts;     /* [capacity, genes] */
  float *per_thread; /* [threads, 3, genes] */
  size_t *found;     /* [capacity] */
  size_t first;      /* the cell that the block begins with */
} comp__sim_block;

/* A block for at most `cells` cells at a time; 0: as many as fit a moderate amount of memory. It should be released via
 * comp__sim_block_release(), also when this fails. */
comp_status comp__sim_block_init(comp__sim_block *block, comp_context *context, const comp__sim_world *world,
                                 size_t cells);
void comp__sim_block_release(comp__sim_block *block);

/* Fills the matrices with cells first .. first + cells - 1, cells <= capacity. They are the block's, and hold until the
 * next call. */
comp_status comp__sim_block_make(comp__sim_block *block, comp_context *context, size_t first, size_t cells);

#endif
