/*
 * score.h: scores: how well embeddings mix conditions and keep labels apart, what classifiers predict from them, and
 * how good predictions of another condition are.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "score");
 *     comp_options_set(options, "condition", "stim");
 *     comp_options_set(options, "label", "cell_type");
 *     comp_scores *scores;
 *     if (comp_scores_run(&scores, context, dataset, options) != COMP_OK) puts(comp_error_message());
 *     puts(comp_scores_json(scores));
 *     comp_scores_free(scores);
 *
 * Options are of the kind "score". They decide on what is measured:
 *
 *     embeddings       always, unless "counterfactual" is set and neither "use" nor a classifier is
 *     classifiers      the columns in "predict"; with "fairness" also what a classifier does to each condition; with
 *                      "train-on" and "test-on" the label, from one condition to the other (comp/classify.h)
 *     counterfactuals  the layers in "counterfactual", each with its "from" and "to" (comp/counterfactual_score.h)
 *
 * The result is a handle and a JSON document (docs/formats.md), which also holds what the numbers mean
 * (comp/verdict.h). docs/metrics.md has the formulas. Samples without a condition take no part; samples without a label
 * take no part in metrics that need one. The same data and options give the same bytes at any number of threads.
 */
#ifndef COMP_SCORE_H
#define COMP_SCORE_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/classify.h"
#include "comp/context.h"
#include "comp/counterfactual_score.h"
#include "comp/dataset.h"
#include "comp/metrics.h"
#include "comp/options.h"

/* ---- Everything at once ---------------------------------------------------------------------------------------- */

typedef struct comp_scores comp_scores;

/* Measures all that the options ask for. X of the data set may be NULL unless comp_scores_needs_x() says otherwise. A
 * name or column that the data lacks is an error (COMP_ERR_DATA) before anything is computed. A metric that needs a
 * label is left out when no label was given, unless it was asked for by name, which is an error; a warning names labels
 * that were left out. A change of condition that cannot be scored is left out with a warning, unless it is all that was
 * asked for. It should be freed via comp_scores_free(). */
COMP_API comp_status comp_scores_run(comp_scores **out, comp_context *context, const comp_dataset *dataset,
                                     const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_scores_free(comp_scores *scores);

/* All of it as one JSON object, with the findings: text that ends with a line break, owned by the scores. */
COMP_API const char *comp_scores_json(const comp_scores *scores);

/* Whether X of the data set will be needed. Checks the options. */
COMP_API comp_status comp_scores_needs_x(bool *out, const comp_options *options);

/* ---- Embeddings (comp/metrics.h) ------------------------------------------------------------------------------- */

/* The scores of embeddings; NULL: none were asked for. Owned by `scores`. */
COMP_API const comp_score *comp_scores_embeddings(const comp_scores *scores);

/* ---- Classifiers ----------------------------------------------------------------------------------------------- */

/* A column that was predicted from an embedding. */
typedef struct comp_score_prediction {
  const char *column;
  size_t embedding; /* number of the embedding in the table */
  const comp_predictability_result *result;
  const comp_fairness_result *fairness; /* groups are the conditions; NULL: not asked for, or the condition itself */
} comp_score_prediction;

/* Columns in the order of the options, and of each column the embeddings; NULL past the last. Owned by `scores`. */
COMP_API size_t comp_scores_prediction_count(const comp_scores *scores);
COMP_API const comp_score_prediction *comp_scores_prediction_at(const comp_scores *scores, size_t index);

/* The label, from "train-on" to "test-on", by an embedding; NULL: not asked for. Owned by `scores`. */
COMP_API const comp_accuracy *comp_scores_transfer(const comp_scores *scores, size_t embedding);

/* ---- Predictions of another condition -------------------------------------------------------------------------- */

/* The changes of condition in the order of the options. One that could not be scored is NULL. Owned by `scores`. */
COMP_API size_t comp_scores_change_count(const comp_scores *scores);
COMP_API const comp_counterfactual_score *comp_scores_change_at(const comp_scores *scores, size_t index);

#endif
