/* look_rows.c: scales and steps: what the values of one sample tell by arithmetic. */
#include <math.h>

#include "prep/look.h"

/* Values per sample that are tried, multiples of the step that the smallest value may be, and the largest ratio tried:
 * single-precision numbers leave an error of 1e-6 of a ratio, which must stay well below 1. */
enum { MOST_VALUES = 200, MOST_MULTIPLES = 6, LARGEST_RATIO = 300, SMALL_RATIO = LARGEST_RATIO / MOST_MULTIPLES };
static const double TOLERANCE = 1e-3, ROUNDING = 2e-6;

double comp__scale_undo(comp__scale scale, double value) {
  switch (scale) {
  case COMP__LOG_E:
    return expm1(value);
  case COMP__LOG_2:
    return expm1(value * M_LN2);
  case COMP__LOG_10:
    return expm1(value * M_LN10);
  default:
    return value;
  }
}

double comp__scale_base(comp__scale scale) {
  static const double bases[COMP__SCALES] = {0.0, M_E, 2.0, 10.0};
  return bases[scale];
}

comp__scale comp__scale_of(double base) {
  for (int s = 1; s < COMP__SCALES; s++)
    if (base == comp__scale_base((comp__scale)s)) return (comp__scale)s;
  return COMP__LINEAR;
}

/* Whether values (ascending use is not needed) are whole multiples of `step`. */
static bool are_multiples(const double *values, size_t n, double step) {
  for (size_t i = 0; i < n; i++) {
    double ratio = values[i] / step;
    if (ratio > LARGEST_RATIO) continue; /* rounding hides what it is */
    if (fabs(ratio - round(ratio)) > TOLERANCE + ROUNDING * ratio) return false;
  }
  return true;
}

/* Some of the values other than 0, evenly, the smallest first. */
static size_t take_values(double *out, const float *values, size_t stored, comp__scale scale) {
  size_t n = 0, every = stored / (MOST_VALUES - 1) + 1;
  float smallest = INFINITY;
  for (size_t k = 0; k < stored; k++)
    if (values[k] > 0.0f && values[k] < smallest) smallest = values[k];
  if (smallest == INFINITY) return 0;
  out[n++] = comp__scale_undo(scale, smallest);
  for (size_t k = 0, seen = 0; k < stored && n < MOST_VALUES; k++)
    if (values[k] > smallest && seen++ % every == 0) out[n++] = comp__scale_undo(scale, values[k]);
  return n;
}

bool comp__row_is_rounded(const float *values, size_t stored) {
  double some[MOST_VALUES];
  size_t n = take_values(some, values, stored, COMP__LINEAR), tried = 0;
  bool whole = true;
  for (size_t i = 0; i < n; i++) {
    if (some[i] > 50.0) continue; /* single precision itself rounds larger ones */
    if (fabs(some[i] * 1000.0 - round(some[i] * 1000.0)) > 1e-2) return false;
    whole = whole && some[i] == round(some[i]);
    tried++;
  }
  return tried > 1 && !whole;
}

double comp__row_step(const float *values, size_t stored, comp__scale scale) {
  double some[MOST_VALUES];
  size_t n = take_values(some, values, stored, scale), small = 0;
  for (size_t i = 1; i < n; i++) small += some[i] / some[0] <= SMALL_RATIO;
  if (small == 0) return NAN;
  for (int multiple = 1; multiple <= MOST_MULTIPLES; multiple++)
    if (are_multiples(some, n, some[0] / multiple)) return some[0] / multiple;
  return 0.0;
}
