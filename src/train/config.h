/* config.h: the options of a training as JSON, in models and checkpoints. */
#ifndef COMP_TRAIN_CONFIG_H
#define COMP_TRAIN_CONFIG_H

#include <jansson.h>

#include "model/trained.h"
#include "train/options.h"

/* The options as JSON text. It should be freed via comp__free(). */
comp_status comp__config_write(char **out, const comp__train_options *options);

/* Adds what a configuration of an earlier version lacks, with the values that hold there. */
void comp__config_complete(json_t *root);

#endif
