/*
 * train.h: fitting a model to a data set.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "train");
 *     comp_options_set(options, "condition", "stim");
 *     comp_options_set(options, "gamma", "12");
 *     comp_model *model;
 *     comp_status status = comp_train(&model, context, dataset, options);
 *
 * Options are of the kind "train". Its options "model" and "preset" decide on the defaults of the others: an option
 * that is not set has the value that the preset gives this model.
 *
 * Training is deterministic: the same data, options and seed give the same bytes at any number of threads, and a run
 * that was stopped and resumed ends with the bytes of one that was not.
 */
#ifndef COMP_TRAIN_H
#define COMP_TRAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/model.h"
#include "comp/options.h"

/* The presets, by name: "default", "protect" (hides an attribute of rows of a table) and the recipes of the paper. */
COMP_API size_t comp_preset_count(void);
COMP_API const char *comp_preset_name(size_t index);
COMP_API const char *comp_preset_summary(size_t index);

/* Fits a model. With COMP_ERR_INTERRUPTED and with COMP_ERR_NUMERIC there may still be a usable model: then *out
 * is not NULL. It should be freed via comp_model_free(). */
COMP_API comp_status comp_train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                                const comp_options *options);

/* Whether a model was trained with these options; what they leave to the data or the machine is not compared. */
COMP_API bool comp_model_trained_with(const comp_model *model, const comp_options *options);

#endif
