/* schedule.h: how the learning rate changes over a run. A schedule is a row of the table in schedule.c and a value of
 * comp_schedule. */
#ifndef COMP_TRAIN_SCHEDULE_H
#define COMP_TRAIN_SCHEDULE_H

#include "train/options.h"

typedef struct comp__schedule {
  const char *name; /* as on the command line */
  const char *help; /* follows the name; NULL: the name says it */
  /* The share of options->rate at a step of `total`; NULL: always 1. */
  double (*share)(const comp__train_options *options, uint64_t step, uint64_t total);
  bool warms_up;    /* options->warmup has an effect */
  size_t cut_after; /* the rate is halved after this many epochs without a lower validation loss; 0: never */
} comp__schedule;

/* The row of a schedule. */
const comp__schedule *comp__schedule_find(comp_schedule schedule);

/* Names and helps in the order of the enum; NULL past the last. */
const char *comp__schedule_name(size_t index);
const char *comp__schedule_help(size_t index);

/* Steps at the start in which the rate rises. */
uint64_t comp__schedule_warmup(const comp__train_options *options, uint64_t total);

/* The rate at a step of `total`, without the cuts. */
double comp__schedule_rate(const comp__train_options *options, uint64_t step, uint64_t total);

#endif
