/*
 * interval.h: how uncertain a score of so many samples is: 95 % intervals.
 *
 * Means over neighbourhoods are no means of independent numbers, because neighbourhoods overlap. So their error is
 * found by random halves: the samples are split into two halves, in each of which only neighbours of that half count,
 * and the score of one is compared with that of the other, for several splits. The mean of the squared difference is
 * four times the squared error of the whole. The embedding itself is taken as given: the error does not hold what
 * another training, or other donors, would change.
 */
#ifndef COMP_METRICS_INTERVAL_H
#define COMP_METRICS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct comp__interval {
  double low, high; /* NaN: not known */
} comp__interval;

/* Of a share of n samples (Wilson's score interval). n need not be a whole number. */
comp__interval comp__share_interval(double share, double n);

/* Of a share of n samples whose standard error was measured by halves, which had the share `halves` (fewer neighbours
 * make another share): the error says how many independent samples there are. */
comp__interval comp__share_error_interval(double share, double halves, double error, double n);

/* Of a value with a standard error, within what the score can be. */
comp__interval comp__error_interval(double value, double error, double min, double max);

/* How many random splits are made of n samples, and the half that a sample is in. */
size_t comp__split_count(size_t n);
bool comp__split_half(uint64_t seed, size_t split, size_t sample);

/* The standard error by the sum over splits of the squared difference between halves. */
double comp__split_error(double sum, size_t splits);

#endif
