/*
 * train.h: fitting a model to a data set.
 *
 *     comp_train_options options;
 *     comp_train_options_init(&options, "comp", "default");
 *     options.condition = "stim";
 *     comp_model *model;
 *     comp_status status = comp_train(&model, context, dataset, &options);
 *
 * Training is deterministic: the same data, options and seed give the same bytes at any number of threads, and a run
 * that was stopped and resumed ends with the bytes of one that was not.
 */
#ifndef COMP_TRAIN_H
#define COMP_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/io.h"
#include "comp/model.h"

typedef enum comp_schedule {
  COMP_SCHEDULE_CONSTANT,
  COMP_SCHEDULE_COSINE, /* linear warm-up, then half a cosine down to nearly 0 */
  COMP_SCHEDULE_PLATEAU /* halved when the validation loss has not fallen for a while */
} comp_schedule;

typedef enum comp_precision {
  COMP_PRECISION_AUTO, /* bf16 on CPUs that are faster with it (AMX; AVX512_BF16 of AMD) if the layers are wide, else
                          f32 */
  COMP_PRECISION_F32,
  COMP_PRECISION_BF16 /* bf16 factors, f32 sums and master weights; COMP_ERR_UNAVAILABLE where the CPU has none */
} comp_precision;

typedef enum comp_select {
  COMP_SELECT_BEST,   /* the weights with the lowest loss on the samples held out, of all epochs */
  COMP_SELECT_LAST,   /* the last ones */
  COMP_SELECT_AVERAGE /* the mean of those after each step of the last quarter, with statistics of their own; where a
                       * run ends before that quarter, the last ones */
} comp_select;

typedef struct comp_train_options {
  comp_model_options model;
  char model_name[16];   /* row of the model table */
  char preset[32];       /* recipe that these options started from */
  const char *condition; /* obs column */
  uint64_t seed;
  size_t epochs; /* 0: chosen by the size of the data: as many as make some `steps` steps */
  size_t steps;  /* of little data fewer, lest an epoch is too small a part; without effect where `epochs` is not 0 */
  size_t batch;  /* samples a step, at most */
  double rate;   /* learning rate of Adam */
  comp_schedule schedule;
  double warmup;       /* share of the steps with a rising rate (cosine) */
  double weight_decay; /* decoupled; 0: none */
  double clip;         /* largest norm of a gradient; 0: no limit */
  size_t patience;     /* epochs without a better validation loss before stopping; 0: never stop early */
  double max_seconds;  /* stop after this time; 0: no limit */
  double validation;   /* share of the samples held out, 0 .. 0.5 */
  comp_precision precision;
  comp_select select;
  double kl_target;          /* > 0: gamma is adjusted so that the penalty stays near this value */
  double blur_from, blur_to; /* > 0: noise of this standard deviation in CoMP's penalty, from the first step to the
                              * last: mixtures meet roughly before they meet exactly */
  const char *checkpoint;    /* file for the state of an unfinished run; NULL: none is kept */
  size_t checkpoint_epochs;  /* how often it is written; 0: not by epochs */
  double checkpoint_minutes; /* 0: not by time */
  bool resume;               /* go on from the checkpoint file when there is one */
  const char *stream; /* the data set has no X: it is read from this file, a part at a time; NULL: X is in memory */
  const comp_read_options *stream_read; /* which layer of it; NULL: X */
  size_t memory;                        /* bytes that the streamed data may take */
  const char *log;                      /* file that gets one line of JSON an epoch; NULL: none */
} comp_train_options;

/* The presets, by name: "default", "protect" (hides an attribute of rows of a table) and the recipes of the paper. */
COMP_API size_t comp_preset_count(void);
COMP_API const char *comp_preset_name(size_t index);
COMP_API const char *comp_preset_summary(size_t index);

/* The options of a model (NULL: "comp") in a preset (NULL: "default"). An unknown name is an error that suggests the
 * nearest. */
COMP_API comp_status comp_train_options_init(comp_train_options *out, const char *model, const char *preset);

/* Checks every field; the message names the first bad one. */
COMP_API comp_status comp_train_options_check(const comp_train_options *options);

/* Fits a model. With COMP_ERR_INTERRUPTED and with COMP_ERR_NUMERIC a usable model may be there all the same: then *out
 * is not NULL. It should be freed via comp_model_free(). */
COMP_API comp_status comp_train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                                const comp_train_options *options);

/* Whether a model was trained with these options; what they leave to the data or the machine is not compared. */
COMP_API bool comp_model_follows(const comp_model *model, const comp_train_options *options);

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
COMP_API const comp_model_options *comp_model_get_options(const comp_model *model);

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
