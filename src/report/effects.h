/*
 * effects.h: what a condition does to each label, in the data and in the prediction: means of every gene over the
 * samples of the source condition, over those of the target condition, and over the counterfactuals of the former.
 */
#ifndef COMP_REPORT_EFFECTS_H
#define COMP_REPORT_EFFECTS_H

#include <stddef.h>

#include "comp/dataset.h"

/* One label. Arrays hold one value a gene. */
typedef struct comp__effect {
  const char *label;
  size_t n_source, n_target;
  double *source, *target, *predicted;
  size_t *de; /* the top DE genes, the highest score first */
  size_t n_de;
  double *z, *p;          /* of the Wilcoxon test, target against source: score, and adjusted p */
  double r_all, r_de;     /* Pearson's r of predicted and target means; NaN when there is none */
  double r_change;        /* of predicted - source and target - source */
  double r_change_de;     /* the same over the DE genes */
  double mse_all, mse_de; /* mean squared error of the predicted means */
  double mse_none;        /* of the source means over the DE genes: predicting no change */
} comp__effect;

/* Zero-initialise to start. */
typedef struct comp__effects {
  const comp_dataset *dataset;
  char *source, *target, *layer;
  size_t genes;
  comp__effect *labels;
  size_t n_labels;
  char **label_names; /* what labels[].label points to */
  size_t n_names;
  size_t left_out; /* labels that are not in both conditions */
} comp__effects;

typedef struct comp__effects_options {
  const char *condition; /* obs column */
  const char *label;     /* obs column; NULL: all samples are one label */
  const char *source;    /* condition that is taken as the start; NULL: the first that is not the target */
  const char *target;    /* condition that was predicted; NULL: the first that has a layer */
  size_t n_de;           /* genes to mark in a label */
  size_t min_samples;    /* labels with fewer samples on a side are left out */
} comp__effects_options;

/* The layer that holds the counterfactuals for a condition, by comp_counterfactual_layer_name(). NULL when the data set
 * has none. */
const comp_matrix *comp__counterfactual_layer(const comp_dataset *dataset, const char *target);

/* Computes them. It should be released via comp__effects_release(), also when it fails. The data set must outlive it.
 */
comp_status comp__effects_init(comp__effects *out, comp_context *context, const comp_dataset *dataset,
                               const comp__effects_options *options);
void comp__effects_release(comp__effects *effects);

#endif
