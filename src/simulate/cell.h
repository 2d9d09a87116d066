/*
 * cell.h: one cell of a simulated world: its state, its expected profile under any condition, its counts.
 * Kernels: they allocate nothing and cannot fail. Everything is a pure function of the world and the cell's number.
 */
#ifndef COMP_SIMULATE_CELL_H
#define COMP_SIMULATE_CELL_H

#include "simulate/world.h"

/* state [programs]: where the cell lies within its label. */
void comp__sim_state(float *state, const comp__sim_world *world, size_t cell);

/* The library size L of a cell. */
double comp__sim_library(const comp__sim_world *world, size_t cell);

/* eta [genes]: log expression under the first condition, up to a constant, of a cell of this label in this state. */
void comp__sim_log_expression(float *eta, const comp__sim_world *world, size_t label, const float *state);

/* rho [genes]: expected proportions under `condition`, for the eta of this label and state; they sum to 1. */
void comp__sim_proportions(float *rho, const float *eta, const comp__sim_world *world, size_t label, const float *state,
                           size_t condition);

/* Draws the counts of a cell whose expected proportions are rho [genes]: the genes that have any, ascending, into genes
 * [up to genes] and counts. `uniform` [genes] is scratch. Returns how many there are. */
size_t comp__sim_counts(int32_t *genes, float *counts, const float *rho, float *uniform, const comp__sim_world *world,
                        size_t cell);

#endif
