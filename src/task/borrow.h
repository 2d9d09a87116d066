/* borrow.h: changes for samples whose like was never seen under the other condition. */
#ifndef COMP_TASK_BORROW_H
#define COMP_TASK_BORROW_H

#include "comp/task.h"
#include "task/aligned.h"
#include "task/options.h"

/*
 * `prediction` holds x + change for the samples that are predicted. Where a population was never seen under condition
 * `to`, the decoder was never trained there under `to`, and its change is a guess. Its samples take three quarters
 * of their change from populations that were seen under both conditions. For each other condition by itself:
 *
 *   populations    of the samples that are predicted, and of those of `to`: by k-means of z within the condition, one
 *                  for each 50 samples, at most 24 (on at most 4,096 samples, drawn by the seed)
 *   not seen       a population that is on average at least options->rarer times as common in its own condition as
 *                  under `to`, by neighbors/overlap.h in z: a model that aligns shared populations keeps others apart
 *   C_u, D_u       expression and change of a population that was seen: means of the samples as they were measured, of
 *                  the populations that match.h puts together
 *   weights        of a sample with expression c (decoded under its own condition), d the squared distance over all
 *                  features, d_min the least of d(c, C_u):
 *                      w_u ~ exp(-d(c, C_u) / d_min) / sum_v exp(-d(C_u, C_v) / d_min)
 *                  the sum makes populations that are alike count once
 *   change         b1 D_w + b2 D_m + b3 (c - C_w) + b4 (log(1 + (exp(c) - 1) F_w) - c)
 *                  D_w, C_w weighted means; D_m the mean with all first exponentials 1 (mean shift). F_w is the
 * weighted geometric mean of the factors by which levels exp(x) - 1 change (plus .002; 1 where a mean is below 0 or
 * above 50: no logarithm of a level). b3: a value that is high by chance falls; b4: a gene changes by a factor, so one
 * that is expressed more changes more
 *
 * b1 .. b4 are found by least squares on the populations themselves: each is predicted from those others that are at
 * least as far from it as samples that borrow are from their nearest population (the median of d_min), and counts by
 * 1 / mean(D_u^2). So the terms are chosen on the data, and no label is looked at. The change is then three quarters of
 * this one and a quarter of the decoder's: guesses that were made in different ways err in different ways.
 */
comp_status comp__borrow(comp_prediction *prediction, comp_context *context, const comp__aligned *aligned,
                         const comp__counterfactual_options *options, int32_t to);

#endif
