/* scale.h: how many samples a step has, at what rate it learns, and how many steps there are, by the number of samples.
 */
#ifndef COMP_TRAIN_SCALE_H
#define COMP_TRAIN_SCALE_H

#include "train/options.h"

enum { COMP__LARGE = 100000 }; /* samples that have a condition */

/* Whether the number of samples decides: in CoMP's default recipe without a target, when neither batch nor epochs were
 * given. */
bool comp__scale_is_open(const comp__train_options *options);

/* Sets batch and steps, and the rate unless it was given, for so many samples that have a condition. Below COMP__LARGE
 * nothing changes. */
void comp__scale_follow(comp__train_options *options, size_t samples);

/* How many steps are made, when an epoch has `batches`: whole epochs, unless the data is so large that a part of the
 * last one is enough. */
size_t comp__scale_steps(const comp__train_options *options, size_t batches);

#endif
