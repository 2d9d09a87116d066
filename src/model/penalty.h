/*
 * penalty.h: what couples the samples of a batch so that z forgets the condition. A penalty is one file with a row
 * (comp__penalty), and a line of penalties.def.
 */
#ifndef COMP_MODEL_PENALTY_H
#define COMP_MODEL_PENALTY_H

#include "comp/context.h"
#include "dist/comm.h"
#include "model/options.h"

/* A sample's weight falls with this power of how much rarer its population is in the other conditions (train/shared.c).
 */
#define COMP__WEIGHT_STEEPNESS 5.0f

/* A batch as a penalty sees it, sorted by condition: block k holds the rows start[k] .. start[k + 1] - 1. */
typedef struct comp__penalty_input {
  size_t rows, dims;
  size_t conditions;
  const size_t *start; /* [conditions + 1] */
  const float *values; /* [rows, dims]: z, or the decoder's first hidden layer */
  const float *mean;   /* [rows, dims] of the posteriors; only at z */
  const float *scale;  /* [rows, dims] standard deviations; NULL when they are all alike: */
  double fixed_scale;
  const float *weight; /* [rows], 0 .. 1: how much a sample is pulled towards other conditions; NULL: all 1. Only for
                          penalties with the option "align" */
  comp__comm *comm;    /* ranks that all have this batch and may share the work; each gets the whole result, the same at
                          any number of ranks. NULL: none */
} comp__penalty_input;

/* Gradients of weight * penalty, written (not added). NULL: not wanted; without `values` only the value is computed. */
typedef struct comp__penalty_gradient {
  float *values; /* [rows, dims] */
  float *mean;   /* [rows, dims] */
  float *scale;  /* [rows, dims] */
} comp__penalty_gradient;

typedef struct comp__penalty {
  const char *name;           /* as on the command line */
  const char *help;           /* what it is; follows the name */
  bool needs_posteriors;      /* attaches to z, reads mean and scale, and can be blurred */
  const char *const *options; /* those that only some penalties have, of the kind "train"; ends with NULL. NULL: none */
  /* Bytes of scratch memory for a batch of at most `rows`: O(rows x dims). */
  size_t (*scratch)(const comp__model_options *options, size_t rows, size_t dims, size_t conditions);
  /* The value, a mean over the batch; the gradients of weight x value. `scratch` is that many bytes. */
  comp_status (*run)(double *out, comp_context *context, const comp__model_options *options,
                     const comp__penalty_input *input, const comp__penalty_gradient *gradient, float weight,
                     void *scratch);
} comp__penalty;

/* The row of a kind; NULL for COMP_PENALTY_NONE. */
const comp__penalty *comp__penalty_find(comp_penalty_kind kind);

/* Names and helps in the order of the enum; NULL past the last. */
const char *comp__penalty_name(size_t index);
const char *comp__penalty_help(size_t index);

/* Whether a penalty has an option; NULL has none. */
bool comp__penalty_has_option(const comp__penalty *penalty, const char *option);

/* The index-th option that only some penalties have, in the order of the table, each once; NULL past the last. */
const char *comp__penalty_option(size_t index);

#define PENALTY(KIND, name) extern const comp__penalty comp__penalty_##name;
#include "model/penalties.def"
#undef PENALTY

#endif
