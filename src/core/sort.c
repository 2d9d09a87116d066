/* sort.c: qsort() of numbers. */
#include "core/sort.h"

#include <math.h>
#include <stdlib.h>

static int by_double(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int by_float(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

void comp__sort_doubles(double *values, size_t n) {
  qsort(values, n, sizeof *values, by_double);
}

void comp__sort_floats(float *values, size_t n) {
  qsort(values, n, sizeof *values, by_float);
}

double comp__median_doubles(double *values, size_t n) {
  if (n == 0) return NAN;
  comp__sort_doubles(values, n);
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

float comp__median_floats(float *values, size_t n) {
  if (n == 0) return NAN;
  comp__sort_floats(values, n);
  return n % 2 ? values[n / 2] : 0.5f * (values[n / 2 - 1] + values[n / 2]);
}
