/* simulate.h: the inner side of comp/simulate.h. */
#ifndef COMP_SIMULATE_SIMULATE_H
#define COMP_SIMULATE_SIMULATE_H

#include "simulate/block.h"
#include "simulate/options.h"

/* As the public functions, with the number of cells made at a time (0: chosen by memory): the result does not depend on
 * it, which a test shows. */
comp_status comp__simulate(comp_dataset **out, comp_context *context, const comp__simulate_options *options,
                           size_t block_cells);
comp_status comp__simulate_file(comp_context *context, const char *path, const comp__simulate_options *options,
                                int compression, size_t block_cells);

/* Takes what a block holds. */
typedef comp_status (*comp__sim_take_fn)(void *sink, comp_context *context, const comp__sim_block *block);

/* Makes all cells in blocks, in order, with progress, until done, failed or interrupted. */
comp_status comp__sim_each_block(comp_context *context, const comp__sim_world *world, size_t block_cells,
                                 comp__sim_take_fn take, void *sink);

/* Tells the user when the truth was left out for its size. */
void comp__sim_say_if_no_truth(comp_context *context, const comp__simulate_options *asked,
                               const comp__sim_world *world);

#endif
