/* multivariate.c: see multivariate.h. */
#include "diagnose/multivariate.h"

#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/threads.h"
#include "diagnose/special.h"

enum { ROWS = 32 }; /* of a tile */

typedef struct pair_job {
  const double *y;
  size_t n, dims;
  const double *squares; /* [n]: |y_i|^2 */
  double rate;           /* beta^2 / 2 of Henze-Zirkler */
  double *cubes;         /* [chunks]: sums of (y_i . y_j)^3 */
  double *kernels;       /* [chunks]: sums of exp(-rate |y_i - y_j|^2) */
} pair_job;

/* Pairs (i, j) with j < i count twice, with the diagonal once. */
static void add_pairs(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  pair_job *job = arg;
  double cubes = 0, kernels = 0;
  for (size_t i = begin; i < end; i++) {
    const double *a = job->y + i * job->dims;
    double row_cubes = 0, row_kernels = 0;
    for (size_t j = 0; j < i; j++) {
      const double *b = job->y + j * job->dims;
      double dot = 0;
      for (size_t d = 0; d < job->dims; d++) dot += a[d] * b[d];
      row_cubes += dot * dot * dot;
      row_kernels += exp(-job->rate * fmax(0, job->squares[i] + job->squares[j] - 2 * dot));
    }
    double s = job->squares[i];
    cubes += 2 * row_cubes + s * s * s;
    kernels += 2 * row_kernels + 1;
  }
  job->cubes[begin / ROWS] = cubes;
  job->kernels[begin / ROWS] = kernels;
}

static double sum(const double *values, size_t n) {
  double total = 0;
  for (size_t i = 0; i < n; i++) total += values[i];
  return total;
}

static void mardia(comp__multivariate *out, const pair_job *job, double cubes) {
  double n = (double)job->n, p = (double)job->dims, fourth = 0;
  for (size_t i = 0; i < job->n; i++) fourth += job->squares[i] * job->squares[i];
  out->b1 = cubes / (n * n);
  out->b2 = fourth / n;
  double k = (p + 1) * (n + 1) * (n + 3) / (n * ((n + 1) * (p + 1) - 6));
  out->skewness.statistic = n * k * out->b1 / 6;
  out->skewness.p = comp__chi_square_sf(out->skewness.statistic, p * (p + 1) * (p + 2) / 6);
  double mean = p * (p + 2) * (n - 1) / (n + 1);
  double variance = 8 * p * (p + 2) * (n - 3) * (n - p - 1) * (n - p + 1) / ((n + 1) * (n + 1) * (n + 3) * (n + 5));
  out->kurtosis.statistic = (out->b2 - mean) / sqrt(variance);
  out->kurtosis.p = 2 * comp__normal_sf(fabs(out->kurtosis.statistic));
}

/* Mean and variance of the limit distribution by Henze and Zirkler (1990), matched by a log-normal one. */
static void henze_zirkler(comp__multivariate *out, const pair_job *job, double kernels) {
  double n = (double)job->n, p = (double)job->dims, b2 = 2 * job->rate, b4 = b2 * b2, b8 = b4 * b4, singles = 0;
  for (size_t i = 0; i < job->n; i++) singles += exp(-b2 / (2 * (1 + b2)) * job->squares[i]);
  double hz = kernels / n - 2 * pow(1 + b2, -p / 2) * singles + n * pow(1 + 2 * b2, -p / 2);
  double a = 1 + 2 * b2, w = (1 + b2) * (1 + 3 * b2);
  double mean = 1 - pow(a, -p / 2) * (1 + p * b2 / a + p * (p + 2) * b4 / (2 * a * a));
  double variance = 2 * pow(1 + 4 * b2, -p / 2) +
                    2 * pow(a, -p) * (1 + 2 * p * b4 / (a * a) + 3 * p * (p + 2) * b8 / (4 * a * a * a * a)) -
                    4 * pow(w, -p / 2) * (1 + 3 * p * b4 / (2 * w) + p * (p + 2) * b8 / (2 * w * w));
  double spread = sqrt(log1p(variance / (mean * mean)));
  double centre = log(mean) - 0.5 * spread * spread;
  out->henze_zirkler.statistic = hz;
  out->henze_zirkler.p = hz > 0 ? comp__normal_sf((log(hz) - centre) / spread) : 1;
}

comp_status comp__multivariate_test(comp__multivariate *out, comp_context *context, const double *y, size_t n,
                                    size_t dims) {
  comp_status status;
  double *squares = NULL, *cubes = NULL, *kernels = NULL;
  size_t chunks = (n + ROWS - 1) / ROWS;
  COMP__TRY(comp__alloc(&squares, n, sizeof *squares));
  COMP__TRY(comp__alloc(&cubes, chunks, sizeof *cubes));
  COMP__TRY(comp__alloc(&kernels, chunks, sizeof *kernels));
  for (size_t i = 0; i < n; i++) {
    squares[i] = 0;
    for (size_t d = 0; d < dims; d++) squares[i] += y[i * dims + d] * y[i * dims + d];
  }
  double p = (double)dims, beta = M_SQRT1_2 * pow((2 * p + 1) * (double)n / 4, 1 / (p + 4));
  pair_job job = {y, n, dims, squares, 0.5 * beta * beta, cubes, kernels};
  comp__parallel_for(context, n, ROWS, add_pairs, &job);
  mardia(out, &job, sum(cubes, chunks));
  henze_zirkler(out, &job, sum(kernels, chunks));
done:
  comp__free(squares);
  comp__free(cubes);
  comp__free(kernels);
  return status;
}
