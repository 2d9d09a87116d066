/*
 * task.h: using a trained model: embeddings, counterfactuals, correction.
 *
 *     comp_model *model;
 *     comp_matrix *z;
 *     if (comp_model_load(&model, "model.comp") != COMP_OK) ...
 *     if (comp_embed(&z, NULL, context, model, dataset, NULL) != COMP_OK) ...
 *
 * The data need not be what the model was trained on. Before anything else it is fitted to the model:
 *
 *   preparation  what the model's file says was done to its data (totals, logs; genes dropped by name) is done again,
 *                unless the data's own record says that it is done, or the values look like it (with a warning)
 *   features     are found by name, in any order. Those that the data lacks are filled with their mean in the training
 *                data, those that the model does not know are ignored; both are counted in a message. With fewer than
 *                half of the model's features the data is refused
 *   conditions   are read from the column that the model was trained with, where the model needs them (the encoder of
 *                `vae` does not). A value that the model does not know is an error
 *
 * The data set itself stays as it is. Everything runs in blocks of rows on all threads; sparse data stays sparse, and
 * besides a prepared copy of X no memory is used that grows with the number of samples, but for the results. Results
 * are the same bytes at any number of threads.
 */
#ifndef COMP_TASK_H
#define COMP_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/io.h"
#include "comp/train.h"

/* ---- Data as a model reads it ---------------------------------------------------------------------------------- */

/* Reads a file as comp_dataset_read() does (options of the kind "read"; NULL: the defaults). A .csv or .tsv for a model
 * of an encoded table is encoded as the model's record says: comp_tabular_apply(). It should be freed via
 * comp_dataset_free(). */
COMP_API comp_status comp_dataset_read_for(comp_dataset **out, comp_context *context, const comp_model *model,
                                           const char *path, const comp_options *read);

/* A new data set with the features of the model, in its order: X is prepared and aligned as said above, what was
 * lacking is filled in. obs and the record go along, and var when nothing was lacking; else var has the bool column
 * "comp_in_data". Layers and obsm do not go along. For negative binomial models X is counts. It should be freed via
 * comp_dataset_free(). */
COMP_API comp_status comp_model_align(comp_dataset **out, comp_context *context, const comp_model *model,
                                      const comp_dataset *dataset);

/* ---- Representations ------------------------------------------------------------------------------------------- */

/* z [samples, latent]: the posterior means, or draws (options of the kind "embed"). `scales` (may be NULL) gets the
 * standard deviations of the posteriors, of the same shape. Both should be freed via comp_matrix_free(). */
COMP_API comp_status comp_embed(comp_matrix **out, comp_matrix **scales, comp_context *context, const comp_model *model,
                                const comp_dataset *dataset, const comp_options *options);

/* x [rows, features]: what the decoder expects of z [rows, latent] under a condition (NULL, when the decoder does not
 * see it). Not for negative binomial models. It should be freed via comp_matrix_free(). */
COMP_API comp_status comp_decode(comp_matrix **out, comp_context *context, const comp_model *model,
                                 const comp_matrix *z, const char *condition);

/* ---- Counterfactuals and correction ---------------------------------------------------------------------------- */

#define COMP_MAX_DRAWS 10000

/* What is predicted: dense matrices [samples, features of the model], on the scale that the model was trained on;
 * expected counts, at each sample's own library size, for a negative binomial model. Rows that are not predicted
 * (`from`) hold their own values, as the model reads them. */
typedef struct comp_prediction {
  comp_matrix *values; /* the decoded mean; with draws: the mean over the draws */
  comp_matrix *sd;     /* standard deviation over the draws (n - 1); NULL without draws. 0 where nothing is predicted */
  comp_matrix *lower; /* quantiles (1 -+ interval) / 2 over the draws, interpolated as numpy does; NULL without draws */
  comp_matrix *upper;
  int8_t *predicted; /* [samples]: 1 or 0 */
  size_t n_predicted;
} comp_prediction;

/* Encodes every sample under its own condition and decodes it under another (options of the kind "counterfactual"; "to"
 * must be set). The spread over the draws is that of the
 * expected values, given what the encoder says of z: not that of single measurements. With a model whose decoder does
 * not see the condition a warning says that the result is only a reconstruction. The result should be released
 * via comp_prediction_release(). */
COMP_API comp_status comp_counterfactual(comp_prediction *out, comp_context *context, const comp_model *model,
                                         const comp_dataset *dataset, const comp_options *options);

/* Frees what a comp_prediction holds. */
COMP_API void comp_prediction_release(comp_prediction *prediction);

#define COMP_LAYER_NAME_SIZE 256

/* The name of the layer with the predictions for a condition: "counterfactual_VALUE", with '_' for each '/', which
 * names in an .h5ad cannot have, and cut to the size. Values that differ may give the same name. */
COMP_API void comp_counterfactual_layer_name(char out[COMP_LAYER_NAME_SIZE], const char *value);

/* ---- From file to file ----------------------------------------------------------------------------------------- */

/*
 * The same for data files; `out_path` is an .h5ad. Results are added to the user's file, in which nothing else changes;
 * in_path and out_path may be the same.
 *
 *   embed           obsm/KEY, and obsm/KEY_scale with `scales`. KEY is "X_comp" when NULL
 *   counterfactual  layers/KEY, and with draws layers/KEY_sd, KEY_lower, KEY_upper; with `from` the bool obs column
 *                   KEY_predicted. KEY is comp_counterfactual_layer_name() of `to` when NULL
 *
 * A layer has the shape of X. When the features of the file are not those of the model (in any order), there is no
 * honest value for the others: then `out_path` becomes a new file with the features of the model, in which X is the
 * data as the model reads it, and obs, obsm and uns are the user's. It may not be the input then.
 *
 * `read` is of the kind "read", `options` of "embed" or "counterfactual". A text table whose model was trained on an
 * encoded table (comp_tabular_encode()) is encoded the same way, and written as a new .h5ad.
 */
COMP_API comp_status comp_embed_file(comp_context *context, const comp_model *model, const char *in_path,
                                     const char *out_path, const comp_options *read, const comp_options *options,
                                     const char *key, bool scales);
COMP_API comp_status comp_counterfactual_file(comp_context *context, const comp_model *model, const char *in_path,
                                              const char *out_path, const comp_options *read,
                                              const comp_options *options, const char *key);

#endif
