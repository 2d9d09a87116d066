/*
 * baseline.h: the methods that CoMP is set against, as rows of one table.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "baseline");
 *     comp_options_set(options, "condition", "stim");
 *     comp_dataset *results;
 *     if (comp_baseline_run(&results, context, dataset, "harmony", NULL, options) != COMP_OK)
 * puts(comp_error_message()); const comp_matrix *embedding = comp_dataset_matrix(results, COMP_SLOT_OBSM, "X_harmony");
 *
 * Every method gives an embedding (obsm/X_NAME); some give a corrected matrix too (layers/NAME). docs/baselines.md
 * states each method and what it was compared with. Values should be logged or standardised. The same data, options and
 * seed give the same bytes at any number of threads.
 */
#ifndef COMP_BASELINE_H
#define COMP_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/matrix.h"
#include "comp/model.h"
#include "comp/options.h"

/* A row of the table. */
typedef struct comp_baseline_method {
  const char *name;
  const char *summary;        /* one line */
  const char *takes;          /* the options that it reads besides `condition`, separated by spaces */
  const char *embedding;      /* what it writes to obsm */
  const char *layer;          /* what it writes to layers; NULL: nothing */
  const char *counterfactual; /* a further layer: every sample as it would be under another condition; NULL: none */
  size_t components;          /* the default of `components`; 0: it takes none */
  bool no_condition;          /* it corrects nothing, and needs no `condition` */
} comp_baseline_method;

COMP_API size_t comp_baseline_count(void);
COMP_API const comp_baseline_method *comp_baseline_at(size_t index);

/* The row of that name; an unknown name is an error that suggests the nearest. */
COMP_API comp_status comp_baseline_find(const comp_baseline_method **out, const char *name);

/* Checks every option that the method takes, and that no other one is set; the message names the first bad one. */
COMP_API comp_status comp_baseline_check(const comp_baseline_method *method, const comp_options *options);

/* The most principal components that can be had of x: of features that vary, and of samples less one. */
COMP_API comp_status comp_baseline_most_components(size_t *out, const comp_matrix *x);

/* Runs a method; options are of the kind "baseline". `model` is for scgen: a vae that was fitted to the same features;
 * NULL: one is fitted. `*out` is a data set without X that has the samples and features of `dataset` and holds the
 * results alone, as comp_dataset_update() takes them. It should be freed via comp_dataset_free(). */
COMP_API comp_status comp_baseline_run(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                                       const char *method, const comp_model *model, const comp_options *options);

#endif
