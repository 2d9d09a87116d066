/* chi_square.c: the upper tail of the chi-square distribution, by the incomplete gamma function. */
#include <math.h>

#include "metrics/neighborhood.h"

enum { MAX_TERMS = 1000000 };

/* x^a exp(-x) / gamma(a): the factor that both expansions have. */
static double factor(double a, double x) {
  int sign;
  return exp(a * log(x) - x - lgamma_r(a, &sign));
}

/* The lower part by its series: for x < a + 1, where it converges fast and 1 - it loses nothing. */
static double lower_series(double a, double x) {
  double term = 1.0 / a, sum = term;
  for (int i = 1; i < MAX_TERMS; i++) {
    term *= x / (a + i);
    sum += term;
    if (term < sum * 1e-17) break;
  }
  return sum * factor(a, x);
}

/* The upper part by its continued fraction (Lentz), so that tails keep their relative accuracy. */
static double upper_fraction(double a, double x) {
  const double tiny = 1e-300;
  double b = x + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, h = d;
  for (int i = 1; i < MAX_TERMS; i++) {
    double an = -i * (i - a);
    b += 2.0;
    d = an * d + b;
    if (fabs(d) < tiny) d = tiny;
    c = b + an / c;
    if (fabs(c) < tiny) c = tiny;
    d = 1.0 / d;
    double step = d * c;
    h *= step;
    if (fabs(step - 1.0) < 1e-16) break;
  }
  return h * factor(a, x);
}

double comp__chi_square_tail(double x, double dof) {
  if (!(x > 0.0) || !(dof > 0.0)) return 1.0;
  double a = dof / 2.0;
  x /= 2.0;
  if (isinf(x)) return 0.0;
  double p = x < a + 1.0 ? 1.0 - lower_series(a, x) : upper_fraction(a, x);
  return p < 0.0 ? 0.0 : p > 1.0 ? 1.0 : p;
}
