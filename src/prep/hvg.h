/* hvg.h: what the flavors of highly variable genes share. Each flavor is one function that fills a comp__hvg. */
#ifndef COMP_PREP_HVG_H
#define COMP_PREP_HVG_H

#include "comp/table.h"
#include "prep/moments.h"
#include "prep/options.h"

/* The samples of each batch. Without a batch column there is one, with all samples. */
typedef struct comp__batches {
  size_t count;
  comp__samples *samples; /* [count] */
  size_t *rows;           /* what they point into */
} comp__batches;

/* What is found of every gene. Arrays that a flavor does not use stay NULL; NaN is a missing value. */
typedef struct comp__hvg {
  size_t genes;
  const bool *use;         /* genes that may be chosen; NULL: all */
  comp__transform_fn undo; /* what brings values to a linear scale; NULL: they are */
  bool *chosen;
  double *mean;
  double *spread;    /* dispersion or variance */
  double *norm;      /* normalised dispersion or variance */
  double *rank;      /* vst */
  double *n_batches; /* in how many batches it was chosen */
} comp__hvg;

/* Each fills `out`, whose arrays are allocated and zero (all but those that it leaves NULL). `dataset` gives X and the
 * names. */
comp_status comp__hvg_seurat(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                             const comp__batches *batches, const comp__hvg_options *options);
comp_status comp__hvg_vst(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                          const comp__batches *batches, const comp__hvg_options *options);
comp_status comp__hvg_variance(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                               const comp__batches *batches, const comp__hvg_options *options);

/* Its first part: vst among the genes that enough samples have. */
comp_status comp__hvg_auto(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                           const comp__batches *batches, const comp__hvg_options *options);

/* The samples of each batch, or all without a column. They should be released via comp__batches_release(). */
comp_status comp__batches_find(comp__batches *out, comp_context *context, const comp_dataset *dataset,
                               const char *column);
void comp__batches_release(comp__batches *batches);

/* In how many samples a gene must be seen to be chosen by COMP_HVG_AUTO: 1 % of them, at least 3 and at most 10. */
size_t comp__hvg_least_samples(size_t samples);

/* Sorts 0 .. n - 1 by `value`, high to low, equal values by index, NaN last. */
comp_status comp__order_descending(size_t *order, const double *value, size_t n);

/* A gene as a merge of batches sees it: first by `first` (high to low), then by `second` (low to high, NaN last), then
 * by name. */
typedef struct comp__candidate {
  double first, second;
  const char *name;
  size_t gene;
} comp__candidate;

void comp__sort_candidates(comp__candidate *candidates, size_t n);

#endif
