/*
 * model.h: what a model is: the five of the paper as rows of one table, their options, and the trained thing itself.
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
#include <stdint.h>

#include "comp/status.h"

typedef struct comp_model comp_model;

/* The most hidden layers of an encoder or decoder, and their largest width. */
enum { COMP_MAX_HIDDEN = 8, COMP_MAX_WIDTH = 65536, COMP_MAX_LATENT = 1024 };

typedef enum comp_penalty_kind {
  COMP_PENALTY_NONE,
  COMP_PENALTY_COMP,    /* log q(z | c) - log q(z | not c), mixtures of the batch's posteriors */
  COMP_PENALTY_COMP_P0, /* -log q(z | not c) alone */
  COMP_PENALTY_MMD      /* maximum mean discrepancy with a Gaussian kernel */
} comp_penalty_kind;

typedef enum comp_penalty_place { COMP_PLACE_Z, COMP_PLACE_HIDDEN } comp_penalty_place;

typedef enum comp_likelihood {
  COMP_LIKELIHOOD_GAUSSIAN, /* one scale a sample */
  COMP_LIKELIHOOD_NB        /* negative binomial of counts, mean = library size x softmax, one dispersion a feature */
} comp_likelihood;

typedef enum comp_reduction {
  COMP_REDUCTION_SUM, /* sum over features, mean over the batch */
  COMP_REDUCTION_MEAN /* mean over features too */
} comp_reduction;

typedef struct comp_model_options {
  size_t latent;                  /* dimensions of z */
  size_t hidden[COMP_MAX_HIDDEN]; /* widths of the encoder's layers; the decoder has them in reverse */
  size_t n_hidden;
  bool encoder_sees_condition;
  bool centred; /* samples are encoded less the mean of their condition, and decoded with that of theirs or another */
  bool decoder_sees_condition;
  double scale;     /* standard deviation of every posterior, unless learned */
  bool learn_scale; /* the encoder gives a standard deviation a dimension */
  comp_likelihood likelihood;
  comp_reduction reduction;
  double beta;  /* weight of KL(posterior || prior) */
  double gamma; /* weight of the penalty */
  comp_penalty_kind penalty;
  comp_penalty_place place; /* where an MMD attaches */
  bool include_self;        /* CoMP: a sample's own posterior is part of its own mixture */
  bool multi_scale;         /* MMD: the 19 scales of trVAE instead of one */
  double mmd_scale;         /* MMD with one scale: l in exp(-|a - b|^2 / (2 l^2)) */
} comp_model_options;

/* The number of models, and the name and one-line description of each. */
COMP_API size_t comp_model_count(void);
COMP_API const char *comp_model_name(size_t index);
COMP_API const char *comp_model_summary(size_t index);

/* The options of a model by name, with the default recipe's values; an unknown name is an error that suggests the
 * nearest. */
COMP_API comp_status comp_model_options_init(comp_model_options *out, const char *model);

/* Checks every field; the message names the first bad one. */
COMP_API comp_status comp_model_options_check(const comp_model_options *options);

#endif
