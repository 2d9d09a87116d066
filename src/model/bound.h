/*
 * bound.h: keeps single samples from leaving all others.
 *
 * A sample that is far from all others, together with one of each other condition, costs the CoMP penalty nothing: the
 * two mixtures agree there. Its likelihood is better there, because the decoder can learn it alone, and a KL of weight
 * 0.1 is weak. So such pairs run away. The bound is a spring that acts on nothing else: with l_i the length of the
 * posterior mean of sample i and m the length that 95 % of the batch do not exceed, a step's loss has
 *
 *   B = 1/B sum_i w/2 max(0, l_i - bound m)^2
 *
 * m is taken as a constant: no sample is pushed outward to make room for another. It is no median: a population that
 * one condition lacks may well be some times as far out as the rest, and should be left there.
 */
#ifndef COMP_MODEL_BOUND_H
#define COMP_MODEL_BOUND_H

#include <stddef.h>

/* w: stiff beside the pull of a likelihood, which is tens of nats for each unit of length. */
#define COMP__BOUND_WEIGHT 100.0

/* lengths[rows] of the rows of mean [rows, dims]. */
void comp__bound_lengths(float *lengths, const float *mean, size_t rows, size_t dims);

/* The length that 95 % of n lengths do not exceed; overwrites `spare` [n]. */
float comp__bound_quantile(float *spare, const float *lengths, size_t n);

/* The sum over rows of w/2 max(0, l_i - limit)^2, in order. */
double comp__bound_loss(const float *lengths, size_t rows, double limit);

/* What the derivative by a row's mean is, over that mean: w max(0, l - limit) / l. */
float comp__bound_slope(float length, float limit);

#endif
