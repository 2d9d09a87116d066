/* prediction.h: two sets of samples against each other, as distributions. */
#ifndef COMP_METRICS_PREDICTION_H
#define COMP_METRICS_PREDICTION_H

#include <stddef.h>

#include "comp/context.h"

/* Dense rows [n, genes]. */
typedef struct comp__samples {
  float *rows;
  size_t n, genes;
} comp__samples;

/* 2 E|a - b| - E|a - a'| - E|b - b'|, each mean over all pairs, a sample with itself among them. */
comp_status comp__energy_distance(double *out, comp_context *context, comp__samples a, comp__samples b);

/* The mean over genes of the Wasserstein-1 distance of the gene's values in a and in b (of its one-dimensional
 * distributions: scipy.stats.wasserstein_distance). */
comp_status comp__wasserstein(double *out, comp_context *context, comp__samples a, comp__samples b);

/* scores [genes]: Wilcoxon's, as comp_de_run() has them; positive: more in the target. */
comp_status comp__samples_de(double *scores, comp_context *context, comp__samples target, comp__samples reference);

/* The n genes whose scores are farthest from 0, of equal ones the first. n at most `genes`. */
comp_status comp__top_genes(size_t *out, size_t n, const double *scores, size_t genes);

/* The share of a [n] that is in b [n]. */
double comp__share_common(const size_t *a, const size_t *b, size_t n);

#endif
