/*
 * energy.c: see energy.h. With weights w = 1 / n_a on one sample and -1 / n_b on the other, E = -w' D w: one product of
 * a tile of distances with the weights of all permutations.
 */
#include "diagnose/energy.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"

/* Permutations are made a block of columns at a time, so that memory does not grow with them. */
enum { ROWS = 32, COLUMNS = 256 };

typedef struct energy_job {
  const double *x;
  size_t n, dims, columns;
  const double *weights; /* [n, columns]: column 0 is the true division */
  double *partial;       /* [chunks, columns] */
} energy_job;

static void add_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  energy_job *job = arg;
  double *partial = job->partial + begin / ROWS * job->columns;
  memset(partial, 0, job->columns * sizeof *partial);
  for (size_t i = begin; i < end; i++) {
    const double *a = job->x + i * job->dims, *wi = job->weights + i * job->columns;
    for (size_t j = 0; j < i; j++) {
      const double *b = job->x + j * job->dims, *wj = job->weights + j * job->columns;
      double squares = 0;
      for (size_t d = 0; d < job->dims; d++) squares += (a[d] - b[d]) * (a[d] - b[d]);
      double distance = -2 * sqrt(squares);
      for (size_t c = 0; c < job->columns; c++) partial[c] += distance * wi[c] * wj[c];
    }
  }
}

/* Columns first .. first + columns - 1. */
static comp_status make_weights(double *weights, size_t n, size_t n_a, size_t first, size_t columns, uint64_t seed) {
  size_t *order;
  comp_status status = comp__alloc(&order, n, sizeof *order);
  if (status != COMP_OK) return status;
  for (size_t c = 0; c < columns; c++) {
    if (first + c == 0)
      for (size_t i = 0; i < n; i++) order[i] = i;
    else
      comp__rng_permutation(order, n, comp__rng_at(seed, COMP__RNG_DIAGNOSE, first + c, 0));
    for (size_t i = 0; i < n; i++) weights[order[i] * columns + c] = i < n_a ? 1 / (double)n_a : -1 / (double)(n - n_a);
  }
  comp__free(order);
  return COMP_OK;
}

comp_status comp__energy_test(comp__test *out, comp_context *context, const double *x, size_t n, size_t n_a,
                              size_t dims, size_t permutations, uint64_t seed) {
  comp_status status;
  double *weights = NULL, *partial = NULL, *energies = NULL;
  size_t columns = permutations + 1, chunks = (n + ROWS - 1) / ROWS, widest = columns < COLUMNS ? columns : COLUMNS;
  COMP__TRY(comp__alloc(&weights, n, widest * sizeof *weights));
  COMP__TRY(comp__alloc(&partial, chunks, widest * sizeof *partial));
  COMP__TRY(comp__calloc(&energies, columns, sizeof *energies));
  for (size_t first = 0; first < columns; first += COLUMNS) {
    size_t width = columns - first < COLUMNS ? columns - first : COLUMNS;
    COMP__TRY(make_weights(weights, n, n_a, first, width, seed));
    energy_job job = {x, n, dims, width, weights, partial};
    comp__parallel_for(context, n, ROWS, add_rows, &job);
    for (size_t k = 0; k < chunks; k++)
      for (size_t c = 0; c < width; c++) energies[first + c] += partial[k * width + c];
    COMP__TRY(comp__check_interrupt(context));
  }
  size_t reached = 0;
  /* A permutation that gives the same division again may differ by rounding: it counts as reached. */
  for (size_t c = 1; c < columns; c++) reached += energies[c] >= energies[0] - 1e-12 * fabs(energies[0]);
  *out = (comp__test){energies[0], (double)(1 + reached) / (double)columns};
done:
  comp__free(weights);
  comp__free(partial);
  comp__free(energies);
  return status;
}
