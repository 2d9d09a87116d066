/* nb.h: the negative binomial likelihood of one row of counts, with its gradients. */
#ifndef COMP_NN_NB_H
#define COMP_NN_NB_H

#include <stddef.h>
#include <stdint.h>

/* Stored entries of a row of counts: `index` NULL means that all features are there. */
typedef struct comp__counts {
  const int32_t *index;
  const float *value;
  size_t nnz;
} comp__counts;

/*
 * mean_g = library * softmax(logits)_g, variance = mean + mean^2 / theta_g. Returns the negative log-likelihood. logits
 * [n] become the gradient of weight x it by them; d_log_theta [n] (NULL: not wanted) is added to likewise.
 */
double comp__nb_row(float *logits, float *d_log_theta, const float *log_theta, comp__counts counts, float library,
                    float weight, size_t n);

/* logits [n] become library * softmax(logits). */
void comp__nb_mean(float *logits, float library, size_t n);

#endif
