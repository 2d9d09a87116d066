/* training.h: a training in progress: what the loop changes, and what a checkpoint must hold to go on with the same
 * bytes. */
#ifndef COMP_TRAIN_TRAINING_H
#define COMP_TRAIN_TRAINING_H

#include <jansson.h>
#include <stdio.h>

#include "model/shards.h"
#include "model/trained.h"
#include "train/loader.h"
#include "train/optimiser.h"
#include "train/options.h"
#include "train/shared.h"

/* The part of a run that is saved besides the vectors. */
typedef struct comp__training_numbers {
  uint64_t step;       /* steps done */
  uint64_t epoch;      /* the current one, from 0 */
  uint64_t batch;      /* next batch of the epoch */
  uint64_t since_best; /* epochs since the best validation loss; after the warm-up, since the best after it */
  uint64_t since_cut;  /* epochs since the plateau schedule last cut the rate or saw a better loss */
  double gamma;
  double rate_factor; /* of the plateau schedule */
  double best_loss;
  double first_loss; /* of the first step */
  comp__losses sums; /* of this epoch's steps so far, weighted by samples */
  double samples;
  uint64_t averaged; /* steps in the average */
} comp__training_numbers;

typedef struct comp__training {
  comp_context *context;
  const comp__train_options *options;
  comp_model *model;
  comp__loader *loader;
  comp__work *work;
  comp__comm *comm;     /* NULL: this process alone */
  bool joined;          /* by this run; else it is the context's, and goes back to it at the end */
  comp__shards *shards; /* NULL: a batch is not cut */
  comp__state state;    /* params and buffers are the model's own while it runs */
  comp__optimiser optimiser;
  float *best_params, *best_buffers;
  bool has_best;
  comp__members members; /* empty where nothing is measured on them */
  comp__shared *shared;  /* NULL: all samples are aligned */
  float *average;        /* [params] mean of the weights of the last part of the run; NULL unless it is wanted */
  comp__training_numbers now;
  json_t *history; /* array */
  char *identity;  /* what must be the same to resume: options and a digest of the data */
  FILE *log;
  double started, last_checkpoint;
  uint64_t total_steps;
  size_t epochs;
  bool stopped; /* the caller's epoch function asked to end */
} comp__training;

/* Whether this process writes files and messages: of several ranks, the first. */
static inline bool comp__training_writes(const comp__training *t) {
  return comp__comm_rank(t->comm) == 0;
}

/* Writes the state to options->checkpoint. Of several ranks, which all have the same state, only the first does. */
comp_status comp__checkpoint_save(const comp__training *t);

/* Where a checkpoint is to be resumed: gives the options the number of shards of that run, unless they have one; and
 * the values of a run of version 0.1 that today's recipes have changed, which are those of a command that does not name
 * them. Call it before the model is made. */
void comp__checkpoint_recipe(comp__train_options *options);

/* Reads it back when the file exists; *found tells. A file of another run is an error. */
comp_status comp__checkpoint_load(bool *found, comp__training *t);

/* Opens options->log, if there is one: empty, or when the run goes on (its checkpoint is loaded) with the lines of the
 * epochs that are done, so that each epoch stands there once. */
comp_status comp__log_open(comp__training *t);

#endif
