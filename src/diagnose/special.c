/* special.c: see special.h. */
#include "diagnose/special.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/error.h"

double comp__normal_cdf(double x) {
  return 0.5 * erfc(-x * M_SQRT1_2);
}

double comp__normal_sf(double x) {
  return 0.5 * erfc(x * M_SQRT1_2);
}

/* Below -35 erfc leaves the range of doubles: Mills' ratio as an asymptotic series. */
double comp__normal_logcdf(double x) {
  if (x > -35) return x > 5 ? log1p(-comp__normal_sf(x)) : log(comp__normal_cdf(x));
  double r = 1 / (x * x);
  return -0.5 * x * x - log(-x) - 0.5 * log(2 * M_PI) + log1p(r * (-1 + r * (3 + r * (-15 + r * 105))));
}

/* A rational approximation (Acklam's, 1e-9), then two steps of Halley's method with erfc: full precision. */
double comp__normal_quantile(double p) {
  static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                             1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                             6.680131188771972e+01, -1.328068155288572e+01};
  static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                             -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                             3.754408661907416e+00};
  if (p > 0.5) return -comp__normal_quantile(1 - p);
  double x;
  if (p < 0.02425) {
    double q = sqrt(-2 * log(p));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  } else {
    double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  for (int step = 0; step < 2; step++) {
    double u = (comp__normal_cdf(x) - p) * sqrt(2 * M_PI) * exp(0.5 * x * x);
    x -= u / (1 + 0.5 * x * u);
  }
  return x;
}

/* The regularised upper incomplete gamma function: a series for small x, else Lentz's continued fraction. */
static double gamma_q(double a, double x) {
  enum { STEPS = 100000 };
  double front = exp(-x + a * log(x) - lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < STEPS && term > sum * DBL_EPSILON; n++) sum += term *= x / (a + n);
    return fmax(0, 1 - sum * front);
  }
  double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, h = d;
  for (int n = 1; n < STEPS; n++) {
    double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (fabs(d) < DBL_MIN) d = DBL_MIN;
    c = b + an / c;
    if (fabs(c) < DBL_MIN) c = DBL_MIN;
    d = 1 / d;
    h *= d * c;
    if (fabs(d * c - 1) < DBL_EPSILON) break;
  }
  return front * h;
}

double comp__chi_square_sf(double x, double freedom) {
  return x <= 0 ? 1 : gamma_q(0.5 * freedom, 0.5 * x);
}

double comp__kolmogorov_sf(double x) {
  if (x < 0.3) return 1; /* 1 - 1e-5 at 0.3 */
  double sum = 0;
  for (int k = 1; k <= 100; k++) {
    double term = exp(-2.0 * k * k * x * x);
    sum += k % 2 ? term : -term;
    if (term < 1e-18) break;
  }
  return fmin(1, fmax(0, 2 * sum));
}

typedef struct ranked {
  double p;
  size_t at;
} ranked;

/* Equal p-values keep their order, so that results do not depend on the sort. */
static int by_p(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->p != y->p) return x->p < y->p ? -1 : 1;
  return x->at < y->at ? -1 : 1;
}

comp_status comp__holm(double *adjusted, const double *p, size_t n) {
  ranked *order;
  comp_status status = comp__alloc(&order, n, sizeof *order);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) order[i] = (ranked){p[i], i};
  qsort(order, n, sizeof *order, by_p);
  double most = 0;
  for (size_t k = 0; k < n; k++) {
    most = fmax(most, fmin(1, order[k].p * (double)(n - k)));
    adjusted[order[k].at] = most;
  }
  comp__free(order);
  return COMP_OK;
}
