/* bound.c: see bound.h. */
#include "model/bound.h"

#include <math.h>
#include <string.h>

void comp__bound_lengths(float *lengths, const float *mean, size_t rows, size_t dims) {
  for (size_t i = 0; i < rows; i++) {
    double squares = 0.0;
    for (size_t d = 0; d < dims; d++) squares += (double)mean[i * dims + d] * (double)mean[i * dims + d];
    lengths[i] = (float)sqrt(squares);
  }
}

/* Values from *i to *j around their middle one: afterwards those up to *j are not above it, those from *i on not below.
 */
static void split(float *values, ptrdiff_t *i, ptrdiff_t *j) {
  const float pivot = values[*i + (*j - *i) / 2];
  while (*i <= *j) {
    while (values[*i] < pivot) ++*i;
    while (values[*j] > pivot) --*j;
    if (*i > *j) return;
    const float kept = values[*i];
    values[(*i)++] = values[*j];
    values[(*j)--] = kept;
  }
}

/* Quickselect: the library's qsort may allocate, which a step must not. What is not a number stops the search on either
 * side, so that it ends; the losses tell of it. */
float comp__bound_quantile(float *spare, const float *lengths, size_t n) {
  if (n == 0) return 0.0f;
  memcpy(spare, lengths, n * sizeof *spare);
  ptrdiff_t first = 0, last = (ptrdiff_t)n - 1;
  const ptrdiff_t wanted = (ptrdiff_t)(n * 95 / 100);
  while (first < last) {
    ptrdiff_t i = first, j = last;
    split(spare, &i, &j);
    if (wanted > j && wanted < i) break;
    if (wanted <= j)
      last = j;
    else
      first = i;
  }
  return spare[wanted];
}

double comp__bound_loss(const float *lengths, size_t rows, double limit) {
  double sum = 0.0;
  for (size_t i = 0; i < rows; i++) {
    const double over = fmax(0.0, (double)lengths[i] - limit);
    sum += 0.5 * COMP__BOUND_WEIGHT * over * over;
  }
  return sum;
}

float comp__bound_slope(float length, float limit) {
  return length > limit && length > 0.0f ? (float)COMP__BOUND_WEIGHT * (length - limit) / length : 0.0f;
}
