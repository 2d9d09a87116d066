/*
 * map.h: new samples (the query) in the embedding of a trained model (the reference), and labels for them.
 *
 *     comp_mapping mapping;
 *     comp_options *options;
 *     comp_options_new(&options, "map");
 *     comp_options_set(options, "label", "cell_type");
 *     if (comp_map(&mapping, context, model, reference, query, options) != COMP_OK) puts(comp_error_message());
 *     comp_model_save(mapping.model, "larger.comp");
 *     comp_mapping_release(&mapping);
 *
 * The query may be of conditions that the model does not know: a new batch, donor or technology. For each of them the
 * mean (of a centred model), the rows of the condition in the first layers of encoder and decoder and small moves in z
 * are fitted; no weight of the model changes (docs/maths.md, section 15). So the reference has the same embedding as
 * before, to the byte, under the old model and under the new one. A population of the query that the reference lacks is
 * not pulled onto another one.
 *
 * Labels come from the reference: the mean of the probabilities of weighted nearest neighbours and of logistic
 * regression in z, calibrated on the reference itself, of which one part after another is held out.
 */
#ifndef COMP_MAP_H
#define COMP_MAP_H

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/model.h"
#include "comp/options.h"
#include "comp/table.h"

/* What comp_map() gives. */
typedef struct comp_mapping {
  comp_model *model; /* knows the conditions of the query, too; the same weights */
  comp_matrix *z;    /* [samples of the query, latent]: posterior means */
  comp_table *obs;   /* [samples of the query]: the columns below */
  char *report;      /* JSON: conditions, features, labels (docs/formats.md) */
} comp_mapping;

/*
 * Maps `query`, with options of the kind "map". Both data sets are aligned with the model as comp/task.h says.
 * `reference` is the data that the model was trained on, or part of it: all its conditions must be known to the model.
 * Columns of obs:
 *
 *   comp_distance      distance to the nearest samples of the reference; 1 is usual in the reference
 *   comp_novelty       0 .. 1: share of the reference's samples that look less like something new
 *   comp_unknown       whether its population seems not to be in the reference: a novelty above "unknown"
 *   LABEL_predicted    with "label": the label
 *   LABEL_probability  its probability, if the true label is one of the reference's
 *   LABEL_unknown      as comp_unknown
 *
 * A condition that the model knows is not fitted: its samples are embedded as such. The mapping should be released via
 * comp_mapping_release().
 */
COMP_API comp_status comp_map(comp_mapping *out, comp_context *context, const comp_model *model,
                              const comp_dataset *reference, const comp_dataset *query, const comp_options *options);

/* Frees what a mapping holds. */
COMP_API void comp_mapping_release(comp_mapping *mapping);

/* The same for data files. `out_path`, an .h5ad, is the query with obsm/X_comp and the columns added; it may be the
 * query itself. `model_path` (may be NULL) gets the larger model. `report` (may be NULL) gets the mapping's report, and
 * should be freed via comp_free(). `read` is of the kind "read", for both files. */
COMP_API comp_status comp_map_file(char **report, comp_context *context, const comp_model *model,
                                   const char *reference_path, const char *query_path, const char *out_path,
                                   const char *model_path, const comp_options *read, const comp_options *options);

#endif
