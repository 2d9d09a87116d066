/*
 * stray.h: the few samples that a model has placed far from all others, or that it reconstructs as nothing like them.
 * Two of them are enough to make a mean of squares meaningless: they are named, and left out of it.
 */
#ifndef COMP_DIAGNOSE_STRAY_H
#define COMP_DIAGNOSE_STRAY_H

#include "diagnose/latent.h"

typedef struct comp__stray {
  size_t row;
  char *name;
  double distance; /* to its 5th nearest sample, over the median of all samples */
  double error;    /* squared error of its reconstruction, over the median of the samples that were decoded */
} comp__stray;

/* Zero-initialise to start. */
typedef struct comp__strays {
  comp__stray *items; /* by row */
  size_t count;
} comp__strays;

/* Looks at the z of all samples, and at the reconstructions of at most `rows` of them and of those that are far. Where
 * many samples qualify, they are a part of the data and none is stray. It should be released via
 * comp__strays_release(). */
comp_status comp__strays_find(comp__strays *out, comp_context *context, const comp__latent *latent,
                              const comp_dataset *dataset, size_t rows, uint64_t seed);
void comp__strays_release(comp__strays *strays);

bool comp__is_stray(const comp__strays *strays, size_t row);

#endif
