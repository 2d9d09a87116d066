/* step.h: one training step, and what the loop shares with it. */
#ifndef COMP_TRAIN_STEP_H
#define COMP_TRAIN_STEP_H

#include "train/training.h"

/* Adds weighted losses. */
void comp__losses_add(comp__losses *sums, const comp__losses *losses, double weight);

/* The blur of the current step. */
double comp__blur_now(const comp__training *t);

/* The error of a training whose numbers are not finite or have exploded: which, where, and what is left. */
comp_status comp__diverged(const comp__training *t, const comp__losses *losses, bool finite_gradient);

/* Gives a batch the weights of its samples in the penalty. */
comp_status comp__training_weigh(comp__batch *batch, comp__training *t);

/* Does the next step of the epoch. */
comp_status comp__training_step(comp__training *t);

#endif
