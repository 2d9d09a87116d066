/* nb.c: negative binomial rows. The logarithms and gammas are scalar: count models still spend their time in matrix
 * products. */
#include "nn/nb.h"

#include <math.h>

/* Derivative of log gamma: recurrence up to 6, then the asymptotic series. x > 0. */
static double digamma(double x) {
  double result = 0.0;
  while (x < 6.0) {
    result -= 1.0 / x;
    x += 1.0;
  }
  double inv = 1.0 / x, inv2 = inv * inv;
  return result + log(x) - 0.5 * inv -
         inv2 * (1.0 / 12 - inv2 * (1.0 / 120 - inv2 * (1.0 / 252 - inv2 * (1.0 / 240 - inv2 / 132))));
}

void comp__nb_mean(float *logits, float library, size_t n) {
  float high = logits[0];
  for (size_t g = 1; g < n; g++) high = logits[g] > high ? logits[g] : high;
  double sum = 0.0;
  for (size_t g = 0; g < n; g++) {
    logits[g] = expf(logits[g] - high);
    sum += logits[g];
  }
  float factor = (float)(library / sum);
  for (size_t g = 0; g < n; g++) logits[g] *= factor;
}

/* What a zero count costs, theta log((theta + mean) / theta), and its derivatives by mean and by log theta. */
static double zero_cost(double mean, double theta, double *by_mean, double *by_log_theta) {
  double ratio = log1p(mean / theta);
  *by_mean = theta / (theta + mean);
  *by_log_theta = theta * (ratio - mean / (theta + mean));
  return theta * ratio;
}

/* What a count of x costs beyond a zero. */
static double more_cost(double x, double mean, double theta, double *by_mean, double *by_log_theta) {
  double total = theta + mean;
  *by_mean += x / total - x / mean;
  *by_log_theta += theta * (digamma(theta) - digamma(x + theta) + x / total);
  return lgamma(theta) + lgamma(x + 1.0) - lgamma(x + theta) - x * log(mean / total);
}

double comp__nb_row(float *logits, float *d_log_theta, const float *log_theta, comp__counts counts, float library,
                    float weight, size_t n) {
  comp__nb_mean(logits, library, n);
  double cost = 0.0, pull = 0.0; /* pull = sum_g mean_g dcost/dmean_g, for the softmax */
  size_t k = 0;
  for (size_t g = 0; g < n; g++) {
    double mean = fmax(logits[g], 1e-12), theta = exp((double)log_theta[g]), by_mean, by_log_theta, x = 0.0;
    if (!counts.index)
      x = counts.value[g];
    else if (k < counts.nnz && (size_t)counts.index[k] == g)
      x = counts.value[k++];
    cost += zero_cost(mean, theta, &by_mean, &by_log_theta);
    if (x != 0.0) cost += more_cost(x, mean, theta, &by_mean, &by_log_theta);
    if (d_log_theta) d_log_theta[g] += weight * (float)by_log_theta;
    pull += mean * by_mean;
    logits[g] = (float)mean;
  }
  /* d cost / d logit_g = mean_g (by_mean_g - pull / library): by_mean is cheap enough to make again. */
  k = 0;
  for (size_t g = 0; g < n; g++) {
    double mean = logits[g], theta = exp((double)log_theta[g]), x = 0.0;
    if (!counts.index)
      x = counts.value[g];
    else if (k < counts.nnz && (size_t)counts.index[k] == g)
      x = counts.value[k++];
    double by_mean = (theta + x) / (theta + mean) - x / mean;
    logits[g] = (float)((double)weight * mean * (by_mean - pull / (double)library));
  }
  return cost;
}
