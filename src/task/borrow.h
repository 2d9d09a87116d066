/* borrow.h: changes for samples whose like was never seen under the other condition. */
#ifndef COMP_TASK_BORROW_H
#define COMP_TASK_BORROW_H

#include "comp/task.h"
#include "task/aligned.h"
#include "task/options.h"

/*
 * `prediction` holds x + change for the samples that are predicted. Where the neighbourhood of a sample in z has few
 * samples of condition `to`, the decoder was never trained there under `to`, and its change is a guess. Such a sample
 * gets the mean change of supported ones instead, near ones counting more:
 *
 *   support of i   share of `to` among its 100 nearest neighbours, over its share of all samples
 *   own change     where the support is at least 0.9
 *   donors         samples with a support of at least 0.5; at most 4,096, drawn by the seed
 *   else           sum_j w_ij change_j over donors, w_ij ~ exp(-0.1 d_ij^2 / h_i), d the distance in z, h_i the mean of
 * d^2 over the 30 nearest donors
 *
 * docs/experiments.md has the measurements behind these numbers.
 */
comp_status comp__borrow(comp_prediction *prediction, comp_context *context, const comp__aligned *aligned,
                         const comp__counterfactual_options *options, int32_t to);

#endif
