/*
 * judge.h: what the reference says of mapped samples: labels, and whether it has their population.
 *
 * The reference is its own yardstick. One part after another, a condition or some of them, is taken for a query: what
 * is predicted for it from the others calibrates probabilities, and its distances are those that are usual.
 */
#ifndef COMP_MAP_JUDGE_H
#define COMP_MAP_JUDGE_H

#include "comp/context.h"
#include "comp/matrix.h"

/* The reference, in z. */
typedef struct comp__yardstick {
  const comp_matrix *z;      /* [n, latent] */
  const int32_t *conditions; /* [n], none below 0; NULL: all are of one */
  size_t n_conditions;
  const float *residual;   /* [n]: residual.h */
  const double *doubt;     /* [n]: of comp__judge_labels(); NULL: there are no labels */
  const comp_matrix *data; /* [n, components]: components.h; NULL: they are not looked at, of either side */
  size_t k;                /* neighbours */
} comp__yardstick;

/* Samples of the query. */
typedef struct comp__mapped {
  const comp_matrix *z;      /* [n, latent] */
  const int32_t *conditions; /* [n], none below 0; NULL: all are of one */
  size_t n_conditions;
  const float *residual;   /* [n]: residual.h */
  const double *doubt;     /* [n]: of comp__judge_labels(); NULL: there are no labels */
  const comp_matrix *data; /* [n, components]: components.h */
  const float *ratio;      /* [n]: counterparts.h */
} comp__mapped;

/* The nearest row of `points` for each row of `queries`. */
comp_status comp__nearest(int32_t *out, comp_context *context, const comp_matrix *points, const comp_matrix *queries);

/*
 * Labels of a query: predicted [n], and probability [n], from labels [reference] of 0 .. n_labels - 1, or -1 where a
 * sample has none. The probabilities of weighted nearest neighbours and of logistic regression are averaged, and raised
 * to the power with which the parts of the reference are predicted best (power). doubt is what the largest average
 * lacks to 1: of the query, and of the reference's samples, predicted from the other parts.
 */
typedef struct comp__labels {
  int32_t *predicted;      /* [query] */
  double *probability;     /* [query] */
  double *doubt;           /* [query] */
  double *doubt_reference; /* [reference]; 0 where a sample has no label */
  double power;
} comp__labels;

/* It should be released via comp__labels_release(). */
comp_status comp__judge_labels(comp__labels *out, comp_context *context, const comp__yardstick *reference,
                               const int32_t *labels, size_t n_labels, const comp__mapped *query, uint64_t seed);
void comp__labels_release(comp__labels *labels);

/*
 * Is the population of a sample in the reference? distance [n]: mean distance to the k nearest samples of the
 * reference, over the mean of what these have themselves to samples of other conditions. novelty [n], 0 .. 1: where a
 * score stands among those of the reference's samples, each part of it taken for a query. The score is the sum of
 *
 *   the log of the distance, where it is above the median,
 *   the log of the residual over the mean of those of the k nearest samples, less its median over the condition,
 *   the doubt about the label, where there are labels,
 *   each as the mean of its own value and of the median over the sample and its neighbours in the query, less the
 *   median of the reference, in units of what 95 % of the reference do not exceed; the last two within -1 .. 3;
 *   the log of the shift: in principal components of the data, a sample less the mean of its k nearest samples of the
 *   reference in z, less the mean of that over the condition; averaged over the sample and those that are its
 *   neighbours in the data, which leaves what a population has in common. In the same units, or, where the query has
 *   larger shifts than the reference, less the median of the query, in units of twice what lies between that and
 *   what 75 % of it do not exceed: most populations of a query are known, and may have responded; and
 *   twice the ratio of shares, beyond what is noise (0 for samples of the reference)
 *
 * Beyond the 95 % the tail of the reference's scores is taken as exponential.
 */
comp_status comp__judge_novelty(double *distance, double *novelty, comp_context *context,
                                const comp__yardstick *reference, const comp__mapped *query);

#endif
