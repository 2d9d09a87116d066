/* components.c: see components.h. FastICA by Hyvarinen (1999): symmetric, with log cosh. */
#include "diagnose/components.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "diagnose/normality.h"
#include "diagnose/special.h"
#include "linalg/linalg.h"

enum { STEP_START = 500000, MOST_ITERATIONS = 200, ROWS = 128 };
#define TOLERANCE 1e-4

typedef struct ica_job {
  const double *y;
  size_t dims;
  const double *w; /* [dims, dims], one component a row */
  double *partial; /* [chunks, dims * dims + dims]: sums of g(s) y', then of g'(s) */
  size_t width;
} ica_job;

static double dot(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t d = 0; d < n; d++) sum += a[d] * b[d];
  return sum;
}

static void add_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  ica_job *job = arg;
  double *partial = job->partial + begin / ROWS * job->width, *slopes = partial + job->dims * job->dims;
  memset(partial, 0, job->width * sizeof *partial);
  for (size_t i = begin; i < end; i++) {
    const double *y = job->y + i * job->dims;
    for (size_t k = 0; k < job->dims; k++) {
      double g = tanh(dot(job->w + k * job->dims, y, job->dims));
      slopes[k] += 1 - g * g;
      for (size_t d = 0; d < job->dims; d++) partial[k * job->dims + d] += g * y[d];
    }
  }
}

/* w = (w w')^-1/2 w */
static comp_status decorrelate(double *w, size_t dims, double *gram, double *copy, double *values) {
  for (size_t a = 0; a < dims; a++)
    for (size_t b = 0; b < dims; b++) gram[a * dims + b] = dot(w + a * dims, w + b * dims, dims);
  comp_status status = comp__eigen_symmetric(gram, dims, values);
  if (status != COMP_OK) return status;
  memcpy(copy, w, dims * dims * sizeof *w);
  memset(w, 0, dims * dims * sizeof *w);
  for (size_t k = 0; k < dims; k++) {
    const double *v = gram + k * dims;
    double scale = 1 / sqrt(fmax(values[k], 1e-300));
    for (size_t d = 0; d < dims; d++) {
      double along = 0;
      for (size_t a = 0; a < dims; a++) along += v[a] * copy[a * dims + d];
      for (size_t a = 0; a < dims; a++) w[a * dims + d] += scale * v[a] * along;
    }
  }
  return COMP_OK;
}

/* w [dims, dims] of the rows of y [n, dims]. */
static comp_status fast_ica(double *w, comp__components *out, comp_context *context, const double *y, size_t n,
                            size_t dims, uint64_t seed) {
  comp_status status;
  size_t square = dims * dims, chunks = (n + ROWS - 1) / ROWS;
  double *partial = NULL, *before = NULL, *gram = NULL, *copy = NULL, *values = NULL;
  COMP__TRY(comp__alloc(&partial, chunks, (square + dims) * sizeof *partial));
  COMP__TRY(comp__alloc(&before, square, sizeof *before));
  COMP__TRY(comp__alloc(&gram, square, sizeof *gram));
  COMP__TRY(comp__alloc(&copy, square, sizeof *copy));
  COMP__TRY(comp__alloc(&values, dims, sizeof *values));
  comp__rng rng = comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_START, 0);
  for (size_t k = 0; k < square; k++) w[k] = comp__rng_normal(rng, k);
  COMP__TRY(decorrelate(w, dims, gram, copy, values));
  for (out->iterations = 0; out->iterations < MOST_ITERATIONS && !out->converged; out->iterations++) {
    ica_job job = {y, dims, w, partial, square + dims};
    comp__parallel_for(context, n, ROWS, add_rows, &job);
    for (size_t c = 1; c < chunks; c++)
      for (size_t k = 0; k < square + dims; k++) partial[k] += partial[c * (square + dims) + k];
    memcpy(before, w, square * sizeof *w);
    for (size_t k = 0; k < dims; k++)
      for (size_t d = 0; d < dims; d++)
        w[k * dims + d] = (partial[k * dims + d] - partial[square + k] * before[k * dims + d]) / (double)n;
    COMP__TRY(decorrelate(w, dims, gram, copy, values));
    double least = 1;
    for (size_t k = 0; k < dims; k++) least = fmin(least, fabs(dot(w + k * dims, before + k * dims, dims)));
    out->converged = 1 - least < TOLERANCE;
    COMP__TRY(comp__check_interrupt(context));
  }
done:
  comp__free(partial);
  comp__free(before);
  comp__free(gram);
  comp__free(copy);
  comp__free(values);
  return status;
}

double comp__smirnov_p(const double *a, size_t n, const double *b, size_t m, bool negate) {
  size_t i = 0, j = 0;
  double most = 0;
  while (i < n && j < m) {
    double x = a[i], y = negate ? -b[m - 1 - j] : b[j], low = fmin(x, y);
    while (i < n && a[i] <= low) i++;
    while (j < m && (negate ? -b[m - 1 - j] : b[j]) <= low) j++;
    most = fmax(most, fabs((double)i / (double)n - (double)j / (double)m));
  }
  double size = sqrt((double)n * (double)m / ((double)n + (double)m));
  return comp__kolmogorov_sf((size + 0.12 + 0.11 / size) * most);
}

/* Correlation of the squares of two components. */
static double square_correlation(const double *a, const double *b, size_t n) {
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0, count = (double)n;
  for (size_t i = 0; i < n; i++) {
    double x = a[i] * a[i], y = b[i] * b[i];
    sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
  }
  double va = saa - sa * sa / count, vb = sbb - sb * sb / count;
  return va > 0 && vb > 0 ? (sab - sa * sb / count) / sqrt(va * vb) : 0;
}

/* Looks at components s [dims, n] of rows that did not choose them; sorts them. */
static comp_status look(comp__components *out, double *s, size_t n, size_t dims, double alpha) {
  comp_status status;
  size_t half = n / 2;
  double *sorted = NULL;
  COMP__TRY(comp__alloc(&sorted, n, sizeof *sorted));
  for (size_t a = 0; a < dims; a++) {
    for (size_t b = 0; b < a; b++)
      out->dependence = fmax(out->dependence, fabs(square_correlation(s + a * n, s + b * n, n)));
    memcpy(sorted, s + a * n, n * sizeof *sorted);
    comp__sort_doubles(sorted, n);
    out->p[a] = comp__anderson_darling(sorted, n).p;
  }
  COMP__TRY(comp__holm(out->p, out->p, dims));
  /* One component against its own mirror image: two halves, which are independent. Two components are independent of
   * each other already: all rows. */
  for (size_t a = 0; a < dims; a++) {
    double *x = s + a * n;
    out->normal += out->p[a] > alpha;
    comp__sort_doubles(x, half);
    comp__sort_doubles(x + half, n - half);
    out->mirrored += comp__smirnov_p(x, half, x + half, n - half, true) > alpha;
    comp__sort_doubles(x, n);
  }
  for (size_t a = 0; a < dims; a++)
    for (size_t b = 0; b < a; b++)
      out->alike += comp__smirnov_p(s + a * n, n, s + b * n, n, true) > alpha ||
                    comp__smirnov_p(s + a * n, n, s + b * n, n, false) > alpha;
done:
  comp__free(sorted);
  return status;
}

comp_status comp__components_find(comp__components *out, comp_context *context, const double *y, size_t n, size_t dims,
                                  double alpha, uint64_t seed) {
  comp_status status;
  size_t fit = n / 2, rest = n - fit;
  double *w = NULL, *s = NULL;
  *out = (comp__components){.count = dims};
  COMP__TRY(comp__calloc(&out->p, dims, sizeof *out->p));
  COMP__TRY(comp__alloc(&w, dims * dims, sizeof *w));
  COMP__TRY(comp__alloc(&s, rest, dims * sizeof *s));
  COMP__TRY(fast_ica(w, out, context, y, fit, dims, seed));
  for (size_t k = 0; k < dims; k++)
    for (size_t i = 0; i < rest; i++) s[k * rest + i] = dot(w + k * dims, y + (fit + i) * dims, dims);
  COMP__TRY(look(out, s, rest, dims, alpha));
done:
  comp__free(w);
  comp__free(s);
  if (status != COMP_OK) comp__components_release(out);
  return status;
}

void comp__components_release(comp__components *components) {
  comp__free(components->p);
  *components = (comp__components){0};
}
