/*
 * likelihood.h: how X is distributed around what the decoder puts out. A likelihood is one file with a row
 * (comp__likelihood), and a line of likelihoods.def.
 *
 * The decoder gives one number a feature, the output. A likelihood may ask for one more number a sample, which a layer
 * of its own makes from the decoder's last hidden layer, and for a trained vector of one number a feature. It works on
 * one sample at a time: memory, threads and the gradients of all layers are the network's.
 */
#ifndef COMP_MODEL_LIKELIHOOD_H
#define COMP_MODEL_LIKELIHOOD_H

#include <stdint.h>

#include "model/options.h"
#include "nn/kernels.h"

/* A sample as a likelihood sees it. Gradients are those of weight x loss. */
typedef struct comp__likelihood_row {
  const comp__kernels *kernels;
  size_t features;
  const int32_t *index; /* [stored] features of the values of X; NULL: `value` has all of them */
  const float *value;   /* [stored] */
  size_t stored;
  const float *bias;   /* [features]: to be added to the output */
  float library;       /* total of the sample's counts; only of counts */
  float sample;        /* the number of this sample; only with a sample_layer */
  const float *vector; /* [features]; only with a feature_vector */
  float weight;
  bool training;   /* gradients are wanted */
  float *output;   /* [features]: without the bias; in training it becomes the gradient by it */
  uint16_t *half;  /* [features]: gets that gradient in bf16; NULL: not wanted */
  float *d_sample; /* gets the gradient by `sample`; NULL: not wanted */
  float *d_vector; /* [features]: the gradient by `vector` is added to it; NULL: not wanted */
} comp__likelihood_row;

typedef struct comp__likelihood {
  const char *name;  /* as on the command line */
  const char *title; /* in sentences: "the negative binomial" */
  const char *help;  /* which data it is for; follows the name */
  /* X holds counts: whole numbers, 0 or more. Then the encoder reads log(1 + count scaled to a common total), and the
   * means of a sample add up to its own total, the library size. */
  bool counts;
  const char *sample_layer;   /* name of the tensors of the layer that gives one number a sample; NULL: none */
  const char *feature_vector; /* name of the trained vector, which starts at 0; NULL: none */
  /* The negative log-likelihood of a sample, and in training its gradients. */
  double (*loss)(const comp__likelihood_row *row);
  /* Turns the output [features], with its bias, into expected values of X. NULL: it is that already. */
  void (*mean)(float *output, float library, size_t features);
} comp__likelihood;

/* The row of a kind. */
const comp__likelihood *comp__likelihood_find(comp_likelihood kind);

/* Names and helps in the order of the enum; NULL past the last. */
const char *comp__likelihood_name(size_t index);
const char *comp__likelihood_help(size_t index);

#define LIKELIHOOD(KIND, name) extern const comp__likelihood comp__likelihood_##name;
#include "model/likelihoods.def"
#undef LIKELIHOOD

#endif
