/* trained.h: the inner side of a comp_model: the network with its weights, and all that is needed to use it on other
 * data. */
#ifndef COMP_MODEL_TRAINED_H
#define COMP_MODEL_TRAINED_H

#include "core/strings.h"
#include "model/network.h"
#include "model/options.h"

struct comp_model {
  comp__network network;
  float *params;         /* [network.params.size] */
  float *buffers;        /* [network.buffers.size] */
  char *condition;       /* obs column */
  comp__strings levels;  /* its values, in the order of the network's condition rows */
  char *target;          /* obs column that training predicted from z; NULL: none */
  comp__strings classes; /* its values, in the order of the network's logits */
  comp__strings features;
  float *feature_means; /* [features]: what stands in for a feature that new data lack */
  float library_target; /* of counts: inputs are scaled to this total */
  float *anchors;       /* [n_anchors, 3 + 3 latent]: moves of levels that were added (moves.h); NULL: none */
  size_t n_anchors;
  char *record;     /* preprocessing, JSON; NULL: none */
  char *config;     /* JSON */
  bool finished;    /* training came to its end; only known where it was trained */
  char *history;    /* JSON array, one object an epoch */
  char *trained_on; /* "samples digest" of the training data; NULL in files of earlier versions */
  char *kernel;     /* "bf16 amx": what multiplied matrices in training; NULL in files of earlier versions */
  char *digest;     /* of the file that it was read from; NULL: it had none, or there was no file */
};

/* An untrained model with empty names. It should be freed via comp_model_free(). */
comp_status comp__model_new(comp_model **out, const comp__model_options *options, size_t features, size_t conditions);

/* The network's options from the JSON text of all options. */
comp_status comp__config_read(comp__model_options *out, const char *json);

#endif
