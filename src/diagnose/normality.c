/* normality.c: see normality.h. */
#include "diagnose/normality.h"

#include <math.h>

#include "core/alloc.h"
#include "diagnose/special.h"

static double polynomial(const double *c, size_t n, double x) {
  double value = c[n - 1];
  for (size_t k = n - 1; k-- > 0;) value = value * x + c[k];
  return value;
}

typedef struct moments {
  double mean, deviation; /* n - 1 */
} moments;

static moments moments_of(const double *x, size_t n) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += x[i];
  mean /= (double)n;
  for (size_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
  return (moments){mean, sqrt(squares / (double)(n - 1))};
}

comp__test comp__anderson_darling(const double *sorted, size_t n) {
  moments m = moments_of(sorted, n);
  double sum = 0, count = (double)n;
  for (size_t i = 0; i < n; i++) {
    double low = (sorted[i] - m.mean) / m.deviation, high = (sorted[n - 1 - i] - m.mean) / m.deviation;
    sum += (2 * (double)i + 1) * (comp__normal_logcdf(low) + comp__normal_logcdf(-high));
  }
  comp__test test = {-count - sum / count, 0};
  double a = test.statistic * (1 + 0.75 / count + 2.25 / (count * count));
  if (a < 0.2)
    test.p = 1 - exp(-13.436 + 101.14 * a - 223.73 * a * a);
  else if (a < 0.34)
    test.p = 1 - exp(-8.318 + 42.796 * a - 59.938 * a * a);
  else if (a < 0.6)
    test.p = exp(0.9177 - 4.279 * a - 1.38 * a * a);
  else if (a <= 13)
    test.p = exp(1.2937 - 5.709 * a + 0.0186 * a * a);
  return test;
}

/* Dallal and Wilkinson's p, good below 0.1. */
static double lilliefors_small_p(double d, double n) {
  if (n > 100) {
    d *= pow(n / 100, 0.49);
    n = 100;
  }
  return exp(-7.01256 * d * d * (n + 2.78019) + 2.99587 * d * sqrt(n + 2.78019) - 0.122119 + 0.974598 / sqrt(n) +
             1.67997 / n);
}

/* The rest by polynomials in Stephens' modified statistic, as in R's nortest. */
static double lilliefors_large_p(double d, double n) {
  static const double low[] = {2.76773, -19.828315, 80.709644, -138.55152, 81.218052};
  static const double middle[] = {-4.901232, 40.662806, -97.490286, 94.029866, -32.355711};
  static const double high[] = {6.198765, -19.558097, 23.186922, -12.234627, 2.423045};
  double k = (sqrt(n) - 0.01 + 0.85 / sqrt(n)) * d;
  if (k <= 0.302) return 1;
  if (k <= 0.5) return polynomial(low, 5, k);
  if (k <= 0.9) return polynomial(middle, 5, k);
  return k <= 1.31 ? polynomial(high, 5, k) : 0;
}

comp__test comp__lilliefors(const double *sorted, size_t n) {
  moments m = moments_of(sorted, n);
  comp__test test = {0, 0};
  for (size_t i = 0; i < n; i++) {
    double f = comp__normal_cdf((sorted[i] - m.mean) / m.deviation);
    test.statistic = fmax(test.statistic, fmax((double)(i + 1) / (double)n - f, f - (double)i / (double)n));
  }
  test.p = lilliefors_small_p(test.statistic, (double)n);
  if (test.p > 0.1) test.p = fmin(1, lilliefors_large_p(test.statistic, (double)n));
  return test;
}

/* The first half of Royston's coefficients; the second is its mirror image with the other sign. */
static void shapiro_coefficients(double *a, size_t n) {
  static const double c1[] = {0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056};
  static const double c2[] = {0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633};
  size_t half = n / 2, first = n > 5 ? 2 : 1;
  double squares = 0, root_n = 1 / sqrt((double)n);
  for (size_t i = 0; i < half; i++) {
    a[i] = comp__normal_quantile(((double)i + 1 - 0.375) / ((double)n + 0.25));
    squares += 2 * a[i] * a[i];
  }
  double m1 = a[0], m2 = a[1], root = sqrt(squares);
  double a1 = polynomial(c1, 6, root_n) - m1 / root, a2 = polynomial(c2, 6, root_n) - m2 / root;
  double above = squares - 2 * m1 * m1, below = 1 - 2 * a1 * a1;
  if (first == 2) {
    above -= 2 * m2 * m2;
    below -= 2 * a2 * a2;
  }
  double factor = sqrt(above / below);
  for (size_t i = first; i < half; i++) a[i] = -a[i] / factor;
  a[0] = a1;
  if (first == 2) a[1] = a2;
}

/* 1 - W, without cancellation. */
static double shapiro_distance(const double *a, const double *x, size_t n) {
  double range = x[n - 1] - x[0], mean = 0, ssa = 0, ssx = 0, sax = 0;
  for (size_t i = 0; i < n; i++) mean += x[i] / range;
  mean /= (double)n;
  for (size_t i = 0; i < n; i++) {
    size_t j = n - 1 - i;
    double weight = i == j ? 0 : i < j ? -a[i] : a[j], value = x[i] / range - mean;
    ssa += weight * weight;
    ssx += value * value;
    sax += weight * value;
  }
  double root = sqrt(ssa * ssx);
  return (root - sax) * (root + sax) / (ssa * ssx);
}

static double shapiro_p(double distance, size_t n) {
  static const double g[] = {-2.273, 0.459}, c3[] = {0.544, -0.39978, 0.025054, -6.714e-4},
                      c4[] = {1.3822, -0.77857, 0.062767, -0.0020322}, c5[] = {-1.5861, -0.31082, -0.083751, 0.0038915},
                      c6[] = {-0.4803, -0.082676, 0.0030302};
  double count = (double)n, y = log(distance);
  if (n > 11) return comp__normal_sf((y - polynomial(c5, 4, log(count))) / exp(polynomial(c6, 3, log(count))));
  double gamma = polynomial(g, 2, count);
  if (y >= gamma) return 0;
  return comp__normal_sf((-log(gamma - y) - polynomial(c3, 4, count)) / exp(polynomial(c4, 4, count)));
}

comp_status comp__shapiro_wilk(comp__test *out, const double *sorted, size_t n) {
  double *a;
  comp_status status = comp__alloc(&a, n / 2, sizeof *a);
  if (status != COMP_OK) return status;
  shapiro_coefficients(a, n);
  double distance = shapiro_distance(a, sorted, n);
  *out = (comp__test){1 - distance, shapiro_p(distance, n)};
  comp__free(a);
  return COMP_OK;
}
