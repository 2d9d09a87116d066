/* trend.c: a trend in bins, where points are too few or too much alike for loess. */

#include "core/alloc.h"
#include "core/error.h"
#include "core/sort.h"
#include "prep/hvg.h"
#include "prep/loess.h"

enum { MOST_BINS = 20, LEAST_IN_BIN = 10 };

/* The median of y over a bin, order[begin .. end - 1]; `room` holds as many. */
static double bin_median(double *room, const double *y, const size_t *order, size_t begin, size_t end) {
  size_t n = end - begin;
  for (size_t i = 0; i < n; i++) room[i] = y[order[begin + i]];
  return comp__median_doubles(room, n);
}

/* Points of one x are never in two bins: a bin ends where x changes. */
comp_status comp__trend_in_bins(double *fitted, const double *x, const double *y, size_t n) {
  comp_status status;
  size_t *order = NULL, bins = n / LEAST_IN_BIN;
  double *room = NULL;
  bins = bins > MOST_BINS ? MOST_BINS : bins == 0 ? 1 : bins;
  size_t size = (n + bins - 1) / bins;
  COMP__TRY(comp__alloc(&order, n, sizeof *order));
  COMP__TRY(comp__alloc(&room, n, sizeof *room));
  COMP__TRY(comp__order_descending(order, x, n));
  for (size_t begin = 0, end; begin < n; begin = end) {
    end = begin + size < n ? begin + size : n;
    while (end < n && x[order[end]] == x[order[end - 1]]) end++;
    double median = bin_median(room, y, order, begin, end);
    for (size_t i = begin; i < end; i++) fitted[order[i]] = median;
  }
done:
  comp__free(order);
  comp__free(room);
  return status;
}
