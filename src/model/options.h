/* options.h: what a network is, as the code works with it. Its options are listed in options.def. */
#ifndef COMP_MODEL_OPTIONS_H
#define COMP_MODEL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/model.h"
#include "core/options.h"

/* The most hidden layers of an encoder or decoder, and their largest width. */
enum { COMP_MAX_HIDDEN = 8, COMP_MAX_WIDTH = 65536, COMP_MAX_LATENT = 1024 };

/* What a penalty is: penalty.h. */
#define PENALTY(KIND, name) COMP_PENALTY_##KIND,
typedef enum comp_penalty_kind {
  COMP_PENALTY_NONE,
#include "model/penalties.def"
} comp_penalty_kind;
#undef PENALTY

typedef enum comp_penalty_place { COMP_PLACE_Z, COMP_PLACE_HIDDEN } comp_penalty_place;

/* What a likelihood is: likelihood.h. */
#define LIKELIHOOD(KIND, name) COMP_LIKELIHOOD_##KIND,
typedef enum comp_likelihood {
#include "model/likelihoods.def"
} comp_likelihood;
#undef LIKELIHOOD

typedef enum comp_reduction {
  COMP_REDUCTION_SUM, /* sum over features, mean over the batch */
  COMP_REDUCTION_MEAN /* mean over features too */
} comp_reduction;

typedef struct comp__model_options {
  size_t latent;                  /* dimensions of z */
  size_t hidden[COMP_MAX_HIDDEN]; /* widths of the encoder's layers; the decoder has them in reverse */
  size_t n_hidden;
  bool encoder_sees_condition;
  bool centred; /* samples are encoded less the centre of their condition, and decoded with that of theirs or another */
  bool decoder_sees_condition;
  double scale;     /* standard deviation of every posterior, unless learned */
  bool learn_scale; /* the encoder gives a standard deviation a dimension */
  comp_likelihood likelihood;
  comp_reduction reduction;
  double beta;  /* weight of KL(posterior || prior) */
  double gamma; /* weight of the penalty */
  double bound; /* lengths of posterior means beyond this multiple of their 95 % quantile are pulled back; 0: none.
                   bound.h */
  comp_penalty_kind penalty;
  comp_penalty_place place; /* where an MMD attaches */
  double target_weight;     /* of the cross-entropy of the target, where there is one */
  bool include_self;        /* CoMP: a sample's own posterior is part of its own mixture */
  bool multi_scale;         /* MMD: the 19 scales of trVAE instead of one */
  double mmd_scale;         /* MMD with one scale: l in exp(-|a - b|^2 / (2 l^2)) */
  size_t classes; /* values of the target, which z is to predict; 0: there is none. Not an option: by the data */
} comp__model_options;

/* Reads the options of a network from a model file. Users set them through the kind "train". */
extern const comp__options_kind comp__model_kind;

/* Names in the order of the enums; they end with NULL. */
extern const char *const comp__place_names[], *const comp__reduction_names[];

#define COMP__BY_PRESET .varies = "a preset may change it"

/* The options of a model by name, with the default recipe's values; an unknown name is an error that suggests the
 * nearest. */
comp_status comp__model_options_init(comp__model_options *out, const char *model);

/* Checks the rules that concern several fields; ranges are in options.def. */
comp_status comp__model_options_check(const comp__model_options *options);

/* The network's part of the options of a model, owned by it. */
const comp__model_options *comp__model_get_options(const comp_model *model);

#endif
