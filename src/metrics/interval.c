/* interval.c: 95 % intervals of scores. */
#include "metrics/interval.h"

#include <math.h>

#include "core/rng.h"

/* The quantiles of the normal distribution, and of t with about as many degrees of freedom as there are splits. */
static const double Z = 1.959964, T = 2.086;
enum { MOST_SPLITS = 20, FEWEST_SPLITS = 4, WORK = 400000 };

comp__interval comp__share_interval(double share, double n) {
  if (isnan(share) || !(n > 0)) return (comp__interval){NAN, NAN};
  const double z2 = Z * Z, centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = Z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return (comp__interval){share <= 0 ? 0 : fmax(0, centre - half), share >= 1 ? 1 : fmin(1, centre + half)};
}

comp__interval comp__share_error_interval(double share, double halves, double error, double n) {
  double effective = error > 0 ? halves * (1 - halves) / (error * error) : n;
  return comp__share_interval(share, fmax(2, fmin(effective, n)));
}

comp__interval comp__error_interval(double value, double error, double min, double max) {
  if (isnan(value) || isnan(error)) return (comp__interval){NAN, NAN};
  return (comp__interval){fmax(min, value - T * error), fmin(max, value + T * error)};
}

size_t comp__split_count(size_t n) {
  size_t splits = n ? WORK / n : MOST_SPLITS;
  return splits > MOST_SPLITS ? MOST_SPLITS : splits < FEWEST_SPLITS ? FEWEST_SPLITS : splits;
}

bool comp__split_half(uint64_t seed, size_t split, size_t sample) {
  return comp__rng_bits(comp__rng_at(seed, COMP__RNG_METRICS, 1000 + split, 0), sample) & 1;
}

double comp__split_error(double sum, size_t splits) {
  return splits ? sqrt(sum / (double)splits / 4) : NAN;
}
