/*
 * boosting.h: what the module `boosted` does for boosted.c. Every function runs on the calling thread alone. On failure
 * it returns COMP_ERR_MEMORY or COMP_ERR_UNAVAILABLE, and message() says why.
 */
#ifndef COMP_CLASSIFY_BOOSTING_H
#define COMP_CLASSIFY_BOOSTING_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

typedef struct comp__boosting {
  /* A copy of values [rows, features]. It should be freed via matrix_free(). Not to be shared between threads. */
  comp_status (*matrix_new)(void **out, const float *values, size_t rows, size_t features);
  void (*matrix_free)(void *matrix);
  /* labels [rows], each 0 or 1. */
  comp_status (*matrix_set_labels)(void *matrix, const float *labels, size_t rows);
  /* A model of two classes without trees, for trees of a depth that each count for `rate`. It should be freed via
   * model_free(). */
  comp_status (*model_new)(void **out, void *matrix, int depth, double rate, uint64_t seed);
  void (*model_free)(void *model);
  /* Adds one tree, number `round`. */
  comp_status (*model_grow)(void *model, int round, void *matrix);
  /* The probability of class 1 for each row; the memory is the model's, until its next call. */
  comp_status (*model_predict)(const float **out, void *model, void *matrix);
  /* The last failure of this thread. */
  const char *(*message)(void);
} comp__boosting;

#endif
