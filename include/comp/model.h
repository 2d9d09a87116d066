/*
 * model.h: what a model is: the five of the paper as rows of one table, and the trained thing itself.
 *
 *   vae     no condition seen, no penalty            cvae   encoder and decoder see the condition
 *   vfae    cvae + MMD at z                          trvae  cvae + MMD at the decoder's first hidden layer
 *   comp    cvae + Contrastive Mixture of Posteriors at z
 *
 * docs/maths.md states the objective exactly. All models share one reduction: the negative log-likelihood is summed
 * over features and averaged over the batch, and gamma is on that scale.
 */
#ifndef COMP_MODEL_H
#define COMP_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"

typedef struct comp_model comp_model;

/* ---- The five models ------------------------------------------------------------------------------------------- */

/* The number of models, and the name and one-line description of each. */
COMP_API size_t comp_model_kind_count(void);
COMP_API const char *comp_model_kind_name(size_t index);
COMP_API const char *comp_model_kind_summary(size_t index);

/* ---- A trained model ------------------------------------------------------------------------------------------- */

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
COMP_API bool comp_file_is_model(const char *path);

/* What a model knows, owned by it. */
COMP_API size_t comp_model_feature_count(const comp_model *model);
COMP_API const char *comp_model_feature_name(const comp_model *model, size_t index);
COMP_API const char *comp_model_condition(const comp_model *model);
COMP_API size_t comp_model_level_count(const comp_model *model);
COMP_API const char *comp_model_level_name(const comp_model *model, size_t index);

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
