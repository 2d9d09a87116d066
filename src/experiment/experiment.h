/*
 * experiment.h: the paper's experiments: prepare the data, fit every model with every seed, score, and write tables
 * with the paper's own numbers next to ours.
 *
 *     comp_experiment_options options = COMP_EXPERIMENT_OPTIONS_INIT;
 *     options.name = "kang";
 *     options.data = "data";
 *     options.out = "kang";
 *     options.seeds = (const uint64_t[]){0, 1, 2};
 *     options.n_seeds = 3;
 *     if (comp_experiment_run(NULL, context, &options) != COMP_OK) puts(comp_error_message());
 *
 * In the folder `out`:
 *
 *   runs/ID.json          the figures of one run; a run whose file is there is not done again
 *   runs/ID.safetensors   its model; training that was interrupted goes on from runs/ID.checkpoint
 *   TABLE.txt .csv .json .md   mean and standard error over seeds, the best of each column marked
 */
#ifndef COMP_EXPERIMENT_EXPERIMENT_H
#define COMP_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

/* The experiments by name, and one line on each. */
size_t comp_experiment_count(void);
const char *comp_experiment_name(size_t index);
const char *comp_experiment_summary(size_t index);

/* The tables of an experiment, such as "models" and "gamma"; NULL past the last. */
const char *comp_experiment_table(size_t index, size_t table);

typedef struct comp_experiment_options {
  const char *name;
  const char *data;              /* folder with the data; docs/experiments.md says which files */
  const char *out;               /* folder for the results; made if it is not there */
  const char *models;            /* names separated by commas; NULL: all that the experiment compares */
  const char *baselines;         /* methods of comp/baseline.h, separated by commas, or "none"; NULL: those that the
                                    experiment compares with, unless `models` is given */
  const char *tables;            /* names separated by commas; NULL: the first */
  const char *preset;            /* "default": the recipe found by measurement; "paper": that of the paper */
  const char *const *embeddings; /* "NAME=FILE.h5ad[:KEY]": further rows, of embeddings made by other programs */
  size_t n_embeddings;
  const uint64_t *seeds;
  size_t n_seeds;
  size_t epochs;      /* in place of the recipe's; 0: the recipe's */
  int jobs;           /* trainings side by side, each on its share of the threads; 0: by the size of the data. No number
                         depends on it */
  bool estimate_only; /* say what it would cost, and stop */
} comp_experiment_options;

#define COMP_EXPERIMENT_OPTIONS_INIT                                                                                   \
  { NULL, NULL, NULL, NULL, NULL, NULL, "default", NULL, 0, NULL, 0, 0, 0, false }

/* Checks names and lists; the message names the bad field. */
comp_status comp_experiment_options_check(const comp_experiment_options *options);

/* Does what is not done yet, and writes the tables. *text (may be NULL) gets them as text and should be freed via
 * free(). */
comp_status comp_experiment_run(char **text, comp_context *context, const comp_experiment_options *options);

#endif
