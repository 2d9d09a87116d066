/* options.h: a whole run (kind "run"): options of its own, and those of reading, preparation and training. */
#ifndef COMP_PIPELINE_OPTIONS_H
#define COMP_PIPELINE_OPTIONS_H

#include "core/options.h"
#include "io/options.h"
#include "prep/options.h"
#include "train/options.h"

typedef enum comp__data_as { COMP__AS_AUTO, COMP__AS_OMICS, COMP__AS_TABLE } comp__data_as;

typedef enum comp__predict_how { COMP__PREDICT_CELLS, COMP__PREDICT_RESIDUAL, COMP__PREDICT_DECODED } comp__predict_how;

typedef enum comp__clip_how { COMP__CLIP_AUTO, COMP__CLIP_YES, COMP__CLIP_NO } comp__clip_how;

typedef struct comp__run_options {
  const char *input, *output;
  const char *label, *target, *from, *to, *reference;
  const char *compare; /* names of methods, commas between */
  bool protect, force, fresh;
  comp__data_as as;
  const char *values; /* "auto", or a name of comp_data_kind */
  bool no_hvg;
  size_t k; /* 0: by the number of samples */
  double alpha;
  double test_share; /* of the samples that a protected attribute is measured on; 0: none are held out */
  comp__predict_how predict;
  comp__clip_how clip;
  bool no_umap, no_correct, no_diagnose, no_counterfactual, all_counterfactuals;
  const char *figures; /* "svg", "png", "pdf" */
  comp__read_options read;
  comp__prep_options prep;
  comp__tabular_options tabular;
  comp__train_options train;
} comp__run_options;

extern const comp__options_kind comp__run_kind;

/* The options in the order of help; null where one was not set and a preset or the data decides on it. With `groups`,
 * a list that ends with NULL, only those under these headings. Text that is not UTF-8 is an error. */
comp_status comp__run_options_list(json_t **out, const comp_options *options, const char *const *groups);

/* The same as canonical text, without those that do not decide on the result. It should be freed via free(). */
comp_status comp__run_options_text(char **out, const comp_options *options, const char *const *groups);

#endif
