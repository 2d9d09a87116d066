/* agreement.h: how alike two partitions of the same samples are. */
#ifndef COMP_METRICS_AGREEMENT_H
#define COMP_METRICS_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

/* Normalised mutual information (by the arithmetic mean of both entropies) and the adjusted Rand index of two
 * partitions a [n] in 0 .. groups_a - 1 and b [n] in 0 .. groups_b - 1. Two partitions that do not part anything agree:
 * 1. */
comp_status comp__partition_agreement(double *nmi, double *ari, const int32_t *a, size_t groups_a, const int32_t *b,
                                      size_t groups_b, size_t n);

#endif
