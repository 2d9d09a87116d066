/* precision.h: how matrices are multiplied. A precision is a row of the table in precision.c and a value of
 * comp_precision. */
#ifndef COMP_TRAIN_PRECISION_H
#define COMP_TRAIN_PRECISION_H

#include "train/options.h"

typedef struct comp__precision {
  const char *name; /* as on the command line */
  bool bf16;        /* bf16 factors, f32 sums and master weights; else all is f32 */
  /* Whether it can be used here: NULL: everywhere. */
  comp_status (*check)(void);
  /* For training: which other precision it stands for. NULL: for itself. */
  comp_precision (*choose)(comp_context *context, const comp__train_options *options);
} comp__precision;

/* The row of a precision; NULL when there is none of that number. */
const comp__precision *comp__precision_find(comp_precision precision);

/* Names in the order of the enum; NULL past the last. */
const char *comp__precision_name(size_t index);

#endif
