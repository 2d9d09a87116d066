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

/* Fits a model. With COMP_ERR_INTERRUPTED and with COMP_ERR_NUMERIC a usable model may be there all the same: then *out
 * is not NULL. It should be freed via comp_model_free(). */
COMP_API comp_status comp_train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                                const comp_options *options);

/* Whether a model was trained with these options; what they leave to the data or the machine is not compared. */
COMP_API bool comp_model_follows(const comp_model *model, const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_model_free(comp_model *model);

/* Writes and reads a model file (docs/formats.md: safetensors). A file that was changed since it was written is
 * refused: it holds a digest of its content. The loaded model should be freed via comp_model_free(). */
COMP_API comp_status comp_model_save(const comp_model *model, const char *path);
COMP_API comp_status comp_model_load(comp_model **out, const char *path);

/* The bytes of a model file, in memory. comp_model_from_memory() reads what either of the two made, and keeps no
 * pointer to it. The bytes should be freed via comp_free(), the model via comp_model_free(). */
COMP_API comp_status comp_model_to_memory(void **out, size_t *size, const comp_model *model);
COMP_API comp_status comp_model_from_memory(comp_model **out, const void *bytes, size_t size);

/* Whether a file looks like a model file (or another safetensors file), by its first bytes: only loading tells whether
 * it is a good one. False also when it cannot be read. */
COMP_API bool comp_model_probe(const char *path);

/* What a model knows, owned by it. */
COMP_API size_t comp_model_features(const comp_model *model);
COMP_API const char *comp_model_feature(const comp_model *model, size_t index);
COMP_API const char *comp_model_condition(const comp_model *model);
COMP_API size_t comp_model_levels(const comp_model *model);
COMP_API const char *comp_model_level(const comp_model *model, size_t index);

/* The tensors of a model: weights, running statistics and the means of the features, as in the file and in its order.
 * `*out` points to [rows, cols] values, row after row, owned by the model. An index that is too large is
 * COMP_ERR_ARGUMENT. */
COMP_API size_t comp_model_tensor_count(const comp_model *model);
COMP_API const char *comp_model_tensor_name(const comp_model *model, size_t index);
COMP_API comp_status comp_model_tensor(const float **out, size_t *rows, size_t *cols, const comp_model *model,
                                       size_t index);

/* Whether training came to its end: false after an interruption or when the time was up (a checkpoint can be resumed
 * then). Only a model that comp_train() made knows. */
COMP_API bool comp_model_finished(const comp_model *model);

/* The history of the training and everything that was chosen, as JSON text owned by the model. */
COMP_API const char *comp_model_history(const comp_model *model);
COMP_API const char *comp_model_config(const comp_model *model);

/* What was done to the data that it was trained on, as JSON text (comp_dataset_record()); NULL when nothing is known.
 */
COMP_API const char *comp_model_record(const comp_model *model);

/* The precision and the kernel that multiplied matrices in training, such as "bf16 amx" or "f32 avx2"; NULL in files of
 * version 0.1. The same data, options and seed give the same bytes with the same kernel. */
COMP_API const char *comp_model_kernel(const comp_model *model);

/* The digest of the file that it was loaded from, "xxh64:" and 16 digits, which agreed with the content; NULL when the
 * file is of a version that had none, or the model was not loaded from a file. */
COMP_API const char *comp_model_digest(const comp_model *model);

#endif
