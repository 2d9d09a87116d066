/* setup.h: between comp_train() (setup.c) and the loop (loop.c). */
#ifndef COMP_TRAIN_SETUP_H
#define COMP_TRAIN_SETUP_H

#include "train/run.h"

/* Runs to the end. The model's weights are then the chosen ones; also after an interruption, or a divergence that left
 * a best model. */
comp_status comp__run_all(comp__run *run);

#endif
