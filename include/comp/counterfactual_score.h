/*
 * counterfactual_score.h: how good predictions of another condition are.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "score");
 *     comp_options_set(options, "condition", "stim");
 *     comp_options_set(options, "label", "cell_type");
 *     comp_options_set(options, "counterfactual", "counterfactual_STIM");
 *     comp_options_set(options, "from", "CTRL");
 *     comp_options_set(options, "to", "STIM");
 *     comp_scores *scores;                                                  comp/score.h
 *     if (comp_scores_run(&scores, context, dataset, options) != COMP_OK) puts(comp_error_message());
 *     const comp_counterfactual_score *score = comp_scores_change_at(scores, 0);
 *
 * The data set has X (real values, logged) and, in a layer, what comp counterfactual predicted for the samples of
 * `from`. For each label, with
 *
 *     control    the samples of `from` in X          p  the mean of what is predicted for them
 *     target     the samples of `to` in X            t  the mean of the target samples,  c  that of the controls
 *
 * four predictions are scored side by side:
 *
 *     prediction  the layer
 *     no change   the controls as they are
 *     mean shift  the controls plus one vector, the same for every label: the mean of all samples of `to` minus the
 *                 mean of all samples of `from`, those of this label among them
 *     ceiling     the noise ceiling: the target samples are split in halves by the seed; one half is scored as a
 *                 prediction of the other. With halves there is more noise than with all samples, so that a prediction
 *                 may get past it. Not defined for fewer than 4 target samples, nor for the errors of single samples
 *
 * Over all genes, and over the top n_de DE genes (the highest scores of comp_de_run(), to against from,
 * within the label):
 *
 *     r         Pearson correlation of p and t
 *     mse       mean of (p - t)^2
 *     r2        1 - sum (p - t)^2 / sum (t - mean t)^2
 *     r_change  Pearson correlation of p - c and t - c; not defined (NaN) for "no change"
 *
 * r_change_top is the same over the n_top genes whose scores are farthest from 0, lower ones among them.
 *
 * and over the cells:
 *
 *     e_distance  2 E|P - T| - E|P - P'| - E|T - T'|, Euclidean distances over all genes, each mean over all pairs, a
 *                 cell with itself among them (Szekely and Rizzo's energy distance; 0 only for equal distributions).
 *                 Of more than max_cells cells on a side that many are drawn
 *     wasserstein the mean over all genes of the Wasserstein-1 distance of the gene's values in P and in T: of the
 *                 one-dimensional distributions, gene by gene. The same cells
 *     common_de   the share of the n_top genes of the real change that are also among the n_top genes of the
 *                 prediction: both by the scores farthest from 0 of comp_de_run(), P against the controls (the same
 *                 cells), and the real target against the controls. 0 for "no change", which has no DE genes
 *
 * Where the truth of every sample is known, also the error of single samples, rmse = the root of the mean over samples
 * and genes of (predicted - truth)^2:
 *
 *     truth  the layer truth_TO (of comp simulate: expected counts; their log(1 + x) when X is logged)
 *     pair   samples of `from` and `to` that share a value of the column `pair` (a patient): predicted against the real
 *            target. Several of one value, label and condition are averaged on their side first
 */
#ifndef COMP_COUNTERFACTUAL_SCORE_H
#define COMP_COUNTERFACTUAL_SCORE_H

#include <stddef.h>

#include "comp/metrics.h"
#include "comp/table.h"

typedef struct comp_counterfactual_score comp_counterfactual_score;

/* The predictions, in this order everywhere. */
typedef enum comp_predictor {
  COMP_PREDICTOR_MODEL,
  COMP_PREDICTOR_NO_CHANGE,
  COMP_PREDICTOR_MEAN_SHIFT,
  COMP_PREDICTOR_CEILING,
  COMP_PREDICTORS
} comp_predictor;

/* "prediction", "no change", "mean shift", "ceiling"; and in documents: "prediction", "no_change", "mean_shift",
 * "ceiling". NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_predictor_name(comp_predictor predictor);
COMP_API const char *comp_predictor_key(comp_predictor predictor);
COMP_API comp_status comp_predictor_parse(comp_predictor *out, const char *name);

/* NaN: not defined, or not asked for. */
typedef struct comp_counterfactual_values {
  double r_all, mse_all, r2_all, r_change_all;
  double r_de, mse_de, r2_de, r_change_de;
  double r_change_top;
  double e_distance, wasserstein, common_de;
  double rmse_truth, rmse_pair;
} comp_counterfactual_values;

typedef struct comp_counterfactual_label {
  const char *label; /* "" without a column; owned by the score */
  size_t n_from, n_to, n_pairs;
  comp_counterfactual_values values[COMP_PREDICTORS];
} comp_counterfactual_label;

/* The change of condition, and the layer with the predictions. */
COMP_API const char *comp_counterfactual_score_from(const comp_counterfactual_score *score);
COMP_API const char *comp_counterfactual_score_to(const comp_counterfactual_score *score);
COMP_API const char *comp_counterfactual_score_layer(const comp_counterfactual_score *score);

/* The labels that were scored, in the order of their column, and the mean over them (each label counts once; undefined
 * values are left out), whose name is "mean" and whose numbers of samples are sums. Owned by the score. */
COMP_API size_t comp_counterfactual_score_label_count(const comp_counterfactual_score *score);
COMP_API const comp_counterfactual_label *comp_counterfactual_score_label_at(const comp_counterfactual_score *score,
                                                                             size_t index);
COMP_API const comp_counterfactual_label *comp_counterfactual_score_mean(const comp_counterfactual_score *score);

/* The members of comp_counterfactual_values by number: what is known of each (NULL past the last), and its value. */
COMP_API size_t comp_counterfactual_measure_count(void);
COMP_API const comp_score_metric *comp_counterfactual_measure_at(size_t measure);
COMP_API double comp_counterfactual_measure_value(const comp_counterfactual_values *values, size_t measure);

/* As a table: a row for each label and predictor, then the mean; columns label, predictor, n_from, n_to, and the
 * measures. It should be freed via comp_table_free(). */
COMP_API comp_status comp_counterfactual_score_table(comp_table **out, const comp_counterfactual_score *score);

#endif
