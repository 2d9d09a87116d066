/*
 * diagnose_dump.c: statistics of a table of numbers, for tests/oracle/test_diagnose.py to compute again. Not installed.
 *
 *   diagnose_dump < "N DIMS" and the values, row after row
 *
 * Prints lines of a name, numbers: for each column `ad`, `lilliefors` and `shapiro` (statistic, p); `skewness` (b1,
 * statistic, p), `kurtosis` (b2, statistic, p), `hz` (statistic, p); `energy` of the first half of the rows against the
 * rest (statistic, p).
 */
#include <stdio.h>
#include <stdlib.h>

#include "comp/comp.h"
#include "core/context.h"
#include "core/sort.h"
#include "diagnose/energy.h"
#include "diagnose/multivariate.h"
#include "diagnose/special.h"
#include "diagnose/whiten.h"

static void need(comp_status status) {
  if (status == COMP_OK) return;
  fprintf(stderr, "diagnose_dump: %s\n", comp_error_message());
  exit(1);
}

static void print_columns(const double *x, double *column, size_t n, size_t dims) {
  for (size_t d = 0; d < dims; d++) {
    for (size_t i = 0; i < n; i++) column[i] = x[i * dims + d];
    comp__sort_doubles(column, n);
    comp__test t = comp__anderson_darling(column, n);
    printf("ad %.17g %.17g\n", t.statistic, t.p);
    t = comp__lilliefors(column, n);
    printf("lilliefors %.17g %.17g\n", t.statistic, t.p);
    need(comp__shapiro_wilk(&t, column, n));
    printf("shapiro %.17g %.17g\n", t.statistic, t.p);
  }
}

int main(void) {
  size_t n, dims, kept;
  if (scanf("%zu %zu", &n, &dims) != 2 || n > 100000 || dims > 1000) return 2;
  double *x = malloc(n * dims * sizeof *x), *y = malloc(n * dims * sizeof *y), *column = malloc(n * sizeof *column);
  if (!x || !y || !column) return 2;
  for (size_t i = 0; i < n * dims; i++)
    if (scanf("%lf", &x[i]) != 1) return 2;
  comp__context_options options = comp__context_defaults();
  comp_context *context;
  need(comp__context_new(&context, &options));
  print_columns(x, column, n, dims);
  comp__multivariate m;
  need(comp__whiten(y, &kept, x, n, dims));
  need(comp__multivariate_test(&m, context, y, n, kept));
  printf("skewness %.17g %.17g %.17g\n", m.b1, m.skewness.statistic, m.skewness.p);
  printf("kurtosis %.17g %.17g %.17g\n", m.b2, m.kurtosis.statistic, m.kurtosis.p);
  printf("hz %.17g %.17g\n", m.henze_zirkler.statistic, m.henze_zirkler.p);
  comp__test energy;
  need(comp__energy_test(&energy, context, x, n, n / 2, dims, 199, 1));
  printf("energy %.17g %.17g\n", energy.statistic, energy.p);
  comp_context_free(context);
  free(x);
  free(y);
  free(column);
  return 0;
}
