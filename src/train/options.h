/* options.h: how a model is trained (kind "train"). */
#ifndef COMP_TRAIN_OPTIONS_H
#define COMP_TRAIN_OPTIONS_H

#include <stdint.h>

#include "comp/train.h"
#include "core/options.h"
#include "model/options.h"

/* What they are: schedule.h, precision.h. */
typedef enum comp_schedule { COMP_SCHEDULE_CONSTANT, COMP_SCHEDULE_COSINE, COMP_SCHEDULE_PLATEAU } comp_schedule;
typedef enum comp_precision { COMP_PRECISION_AUTO, COMP_PRECISION_F32, COMP_PRECISION_BF16 } comp_precision;

typedef enum comp_select {
  COMP_SELECT_BEST,   /* the weights with the lowest loss on the samples held out, of all epochs after the warm-up */
  COMP_SELECT_LAST,   /* the last ones */
  COMP_SELECT_AVERAGE /* the mean of those after each step of the last quarter, with statistics of their own; where a
                       * run ends before that quarter, the last ones */
} comp_select;

typedef enum comp_align {
  COMP_ALIGN_ALL,   /* every sample, as in the paper */
  COMP_ALIGN_SHARED /* samples whose population other conditions have, too: shared.h */
} comp_align;

typedef struct comp__train_options {
  comp__model_options model;
  char model_name[16];   /* row of the model table */
  char preset[32];       /* recipe that these options started from */
  bool self_out_asked;   /* leave-self-out was given, and is not the preset's choice */
  const char *condition; /* obs column */
  const char *target;    /* obs column that z is to predict; NULL: none */
  double target_hold;    /* share of the samples whose target training does not see */
  const char *unseen;    /* obs column that is true for samples to leave out; NULL: none */
  uint64_t seed;
  size_t epochs; /* 0: chosen by the size of the data: as many as make some `steps` steps */
  size_t steps; /* fewer for little data, so that an epoch is not too small a part; without effect where `epochs` is not
                   0 */
  size_t least_epochs; /* when `epochs` is 0 */
  size_t most_steps;   /* the bound of least_epochs asks for no more steps than this; 0: for as many as these are */
  size_t batch;        /* samples a step, at most */
  bool batch_asked;    /* batch was given, and is not the preset's choice */
  double rate;         /* learning rate of Adam */
  bool rate_asked;     /* rate was given, and is not the preset's choice */
  comp_schedule schedule;
  double warmup;       /* share of the steps with a rising rate (cosine) */
  double weight_decay; /* decoupled; 0: none */
  double clip;         /* largest norm of a gradient; 0: no limit */
  size_t patience;     /* epochs without a better validation loss before stopping, after the warm-up; 0: never */
  double max_seconds;  /* stop after this time; 0: no limit */
  double validation;   /* share of the samples held out, 0 .. 0.5 */
  comp_precision precision;
  comp_select select;
  comp_align align;
  double kl_target;          /* > 0: gamma is adjusted so that the penalty stays near this value */
  double blur_from, blur_to; /* > 0: noise of this standard deviation in CoMP's penalty, from the first step to the
                              * last: cell types align before single cells */
  const char *checkpoint;    /* file for the state of an unfinished run; NULL: none is kept */
  size_t checkpoint_epochs;  /* how often it is written; 0: not by epochs */
  double checkpoint_minutes; /* 0: not by time */
  bool resume;               /* go on from the checkpoint file when there is one */
  size_t shards;             /* parts of a batch whose gradients are added up in a fixed tree; 0: the batch is one */
  bool over_ranks;           /* together with the other processes that a launcher started */
  const char *stream; /* the data set has no X: it is read from this file, a part at a time; NULL: X is in memory */
  const char *stream_layer; /* which layer of it; NULL: X */
  size_t memory;            /* bytes that the streamed data may take */
  const char *log;          /* file that gets one line of JSON an epoch; NULL: none */
} comp__train_options;

extern const comp__options_kind comp__train_kind;

/* The options of a model (NULL: "comp") in a preset (NULL: "default"). An unknown name is an error that suggests the
 * nearest. */
comp_status comp__train_options_init(comp__train_options *out, const char *model, const char *preset);

/* What the preset `protect` changes where there is a target. (presets.c) */
void comp__train_options_aim(comp__train_options *options);

/* Whether training does not see the target of a sample: by the seed and its row. */
bool comp__target_is_held(uint64_t seed, double share, size_t row);

/* As the public functions, with plain options. */
comp_status comp__train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                        const comp__train_options *options);
bool comp__model_follows(const comp_model *model, const comp__train_options *options);

#endif
