/*
 * neighborhood.h: statistics of what conditions the nearest neighbours of samples have: kBET's tests, local
 * silhouettes, Simpson's index. All take the same description of the neighbourhoods and give one number a sample.
 */
#ifndef COMP_METRICS_NEIGHBORHOOD_H
#define COMP_METRICS_NEIGHBORHOOD_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

typedef struct comp__neighborhoods {
  size_t n, k, stride;    /* samples; neighbours that count; neighbours that are stored for each */
  const int32_t *indices; /* [n, stride], nearest first, self not among them */
  const float *distances; /* [n, stride] */
  const int32_t *group;   /* [n]: what is counted, 0 .. groups - 1 */
  size_t groups;
  const size_t *counts;  /* [groups]: samples of each group in the population */
  const int32_t *within; /* NULL, or [n]: neighbours with another value than the sample do not count */
  const size_t *rows;    /* NULL, or [n_rows]: only these samples are looked at */
  size_t n_rows;
} comp__neighborhoods;

/* The p-value of a chi-square statistic x with `dof` >= 1 degrees of freedom; 1 for x <= 0. */
double comp__chi_square_tail(double x, double dof);

/* The chi-square statistic of a neighbourhood of k neighbours and the sample itself: observed [groups] (self included),
 * expected k * share + [group = own]. *dof gets the number of groups that exist, less one. */
double comp__kbet_statistic(const size_t *observed, const size_t *counts, size_t groups, size_t own, size_t k,
                            double *dof);

/* out [n_rows]: the p-value of each neighbourhood. One without neighbours cannot fail: 1. */
comp_status comp__kbet_pvals(double *out, comp_context *context, const comp__neighborhoods *hoods);

/* out [n_rows]: (b - a) / max(a, b), a and b the mean distances to neighbours of the own and of other groups; 1 when
 * all are own, -1 when none is, 0 without neighbours and when all distances are 0. */
comp_status comp__local_silhouettes(double *out, comp_context *context, const comp__neighborhoods *hoods);

/* out [n]: 1 / sum over groups of (sum of weights)^2; 1 without neighbours. The weights of the k neighbours are
 * exp(-beta d) / sum, with beta such that their entropy is log(floor((k + 1) / 3)). The sample itself has none, but it
 * is one of the k + 1 whose third is wanted. */
comp_status comp__lisi(double *out, comp_context *context, const comp__neighborhoods *hoods);

/* As comp__lisi(), and halves [splits, n_rows]: the same of each random split of the samples, with only those
 * neighbours that are in the same half. Bit r of half [n] is the half of a sample in split r; there are at most 32
 * splits. */
comp_status comp__lisi_halves(double *out, double *halves, const uint32_t *half, size_t splits, comp_context *context,
                              const comp__neighborhoods *hoods);

#endif
