/* setup.h: between comp__train() (setup.c) and the loop (loop.c). */
#ifndef COMP_TRAIN_SETUP_H
#define COMP_TRAIN_SETUP_H

#include "train/training.h"

/* Trains to the end. The model's weights are then the chosen ones; also after an interruption, or a divergence that
 * left a best model. */
comp_status comp__training_finish(comp__training *t);

/* Whether losses of different steps can be compared: gamma and blur are the same all the time. (setup.c) */
bool comp__losses_compare(const comp__train_options *options);

/* Whether the number of samples decides if a row's own posterior is part of its mixture. (setup.c) */
bool comp__self_is_open(const comp__train_options *options);

/* An error (COMP_ERR_DATA) where a target says of each sample what the condition says: no representation can keep the
 * one and hide the other. Names are those of the columns; a target has 256 different values at most, and so has the
 * condition. (setup.c) */
comp_status comp__target_differs(const comp_groups *target, const comp_groups *conditions, const char *target_name,
                                 const char *condition_name);

#endif
