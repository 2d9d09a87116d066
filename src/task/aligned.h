/* aligned.h: a data set as a model reads it, without a copy where none is needed. */
#ifndef COMP_TASK_ALIGNED_H
#define COMP_TASK_ALIGNED_H

#include "comp/dataset.h"
#include "io/options.h"
#include "model/trained.h"

/* Zero-initialise to start. Points into the model and, unless it had to be prepared, into the data set. */
typedef struct comp__aligned {
  const comp_model *model;
  size_t samples;
  const comp_matrix *x;        /* [samples, columns]: prepared values, the columns of the data */
  const comp_dataset *dataset; /* the data that x belongs to: the caller's, or `prepared` */
  comp_dataset *prepared;      /* a copy that was prepared, or NULL */
  int32_t *place;              /* [columns]: the model's feature, or -1; NULL: column j is feature j */
  int32_t *missing;            /* [n_missing]: features that the data lacks */
  size_t n_missing, n_extra;
  int32_t *codes; /* [samples]: the model's level, or -1; NULL: conditions were not asked for */
} comp__aligned;

/* What is needed of the condition column. */
typedef enum comp__conditions {
  COMP__CONDITIONS_NONE, /* it is not looked at */
  COMP__CONDITIONS_ALL,  /* every sample must have a level of the model */
  COMP__CONDITIONS_SOME  /* samples with none, or with an unknown one, get -1 */
} comp__conditions;

/* Fits a data set, which must outlive the result. It should be released via comp__aligned_release(). */
comp_status comp__align(comp__aligned *out, comp_context *context, const comp_model *model, const comp_dataset *dataset,
                        comp__conditions conditions);
void comp__aligned_release(comp__aligned *aligned);

/* Whether the encoder must know the condition. */
bool comp__encoder_needs_condition(const comp_model *model);

/* The index of a level of the model; an unknown one is the error `unknown`, which lists them and suggests the nearest.
 * `what` says where the value comes from. */
comp_status comp__model_find_level(int32_t *out, const comp_model *model, const char *value, comp_status unknown,
                                   const char *what);

/* Whether the model was trained on an encoded table of mixed columns. */
bool comp__model_is_tabular(const comp_model *model);

/* As comp_dataset_read_for(), with plain options. *encoded: it was a text table, and is encoded now. (task_file.c) */
comp_status comp__dataset_read_for(comp_dataset **out, bool *encoded, comp_context *context, const comp_model *model,
                                   const char *path, const comp__read_options *read);

#endif
