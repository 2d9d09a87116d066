/* components.c: see components.h. FastICA by Hyvarinen (1999): symmetric, with log cosh. */
#include "diagnose/components.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/sort.h"
#include "core/threads.h"
#include "diagnose/normality.h"
#include "diagnose/special.h"
#include "linalg/linalg.h"

enum { STEP_START = 500000, MOST_ITERATIONS = 200, STARTS = 4, ROWS = 128 };
#define TOLERANCE       1e-4
#define NORMAL_LOG_COSH 0.374567207491 /* mean of log cosh of a standard normal variable */
#define SAME_COMPONENT  0.98           /* cosine up to sign: some 11 degrees */

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

comp_status comp__fast_ica(double *w, size_t *iterations, bool *converged, comp_context *context, const double *y,
                           size_t n, size_t dims, size_t most) {
  comp_status status;
  size_t square = dims * dims, chunks = (n + ROWS - 1) / ROWS;
  double *partial = NULL, *before = NULL, *gram = NULL, *copy = NULL, *values = NULL;
  COMP__TRY(comp__alloc(&partial, chunks, (square + dims) * sizeof *partial));
  COMP__TRY(comp__alloc(&before, square, sizeof *before));
  COMP__TRY(comp__alloc(&gram, square, sizeof *gram));
  COMP__TRY(comp__alloc(&copy, square, sizeof *copy));
  COMP__TRY(comp__alloc(&values, dims, sizeof *values));
  COMP__TRY(decorrelate(w, dims, gram, copy, values));
  *converged = false;
  for (*iterations = 0; *iterations < most && !*converged; ++*iterations) {
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
    *converged = 1 - least < TOLERANCE;
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

/* Looks at components s [dims, n] of rows that did not choose them. */
static comp_status look(comp__components *out, double *s, size_t n, size_t dims, double alpha) {
  for (size_t a = 0; a < dims; a++)
    for (size_t b = 0; b < a; b++)
      out->dependence = fmax(out->dependence, fabs(square_correlation(s + a * n, s + b * n, n)));
  for (size_t a = 0; a < dims; a++) {
    comp__sort_doubles(s + a * n, n);
    out->p[a] = comp__anderson_darling(s + a * n, n).p;
  }
  comp_status status = comp__holm(out->p, out->p, dims);
  if (status != COMP_OK) return status;
  for (size_t a = 0; a < dims; a++) out->normal += out->p[a] > alpha;
  return COMP_OK;
}

/* log cosh, without overflow. */
static double log_cosh(double x) {
  return fabs(x) + log1p(exp(-2 * fabs(x))) - M_LN2;
}

/*
 * How far from normal the components w of y [n, dims] are: J = sum_k |mean log cosh(s_k) - what a normal one has|,
 * which FastICA makes large, and each row's share [n] of J. A map that leaves z as it is leaves J as it is.
 */
static double contrast(double *shares, const double *w, const double *y, size_t n, size_t dims) {
  double sum = 0;
  memset(shares, 0, n * sizeof *shares);
  for (size_t k = 0; k < dims; k++) {
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += log_cosh(dot(w + k * dims, y + i * dims, dims)) - NORMAL_LOG_COSH;
    double sign = mean < 0 ? -1 : 1;
    for (size_t i = 0; i < n; i++)
      shares[i] += sign * (log_cosh(dot(w + k * dims, y + i * dims, dims)) - NORMAL_LOG_COSH);
    sum += sign * mean / (double)n;
  }
  return sum;
}

/* The share of the components of w that `other` has too. */
static double share_found(const double *w, const double *other, size_t dims) {
  size_t found = 0;
  for (size_t k = 0; k < dims; k++) {
    double most = 0;
    for (size_t j = 0; j < dims; j++) most = fmax(most, fabs(dot(w + k * dims, other + j * dims, dims)));
    found += most > SAME_COMPONENT;
  }
  return (double)found / (double)dims;
}

/* Whether the mean of b lies below that of a by no more than chance makes of it. */
static bool as_good(const double *a, const double *b, size_t n) {
  double mean = 0, squares = 0, count = (double)n;
  for (size_t i = 0; i < n; i++) mean += (a[i] - b[i]) / count;
  for (size_t i = 0; i < n; i++) squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean) / count;
  return mean < 2 * sqrt(squares / count);
}

/*
 * FastICA on the first `fit` of the rows of y [n, dims] from several starts; w becomes the one that is farthest from
 * normal. Starts that end elsewhere and are as good tell that the components are not unique.
 */
static comp_status search(double *w, comp__components *out, comp_context *context, const double *y, size_t n,
                          size_t fit, size_t dims, uint64_t seed) {
  comp_status status;
  size_t square = dims * dims, best = 0, starts = STARTS;
  double *all = NULL, *shares = NULL, *others = NULL, most = -1;
  COMP__TRY(comp__alloc(&all, square, STARTS * sizeof *all));
  COMP__TRY(comp__alloc(&shares, n, sizeof *shares));
  COMP__TRY(comp__alloc(&others, n, sizeof *others));
  for (size_t start = 0; start < starts; start++) {
    double *here = all + start * square;
    size_t iterations;
    bool converged;
    comp__rng rng = comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_START, start);
    for (size_t k = 0; k < square; k++) here[k] = comp__rng_normal(rng, k);
    COMP__TRY(comp__fast_ica(here, &iterations, &converged, context, y, fit, dims, MOST_ITERATIONS));
    double reached = contrast(shares, here, y, fit, dims);
    if (reached > most) {
      most = reached;
      best = start;
      out->iterations = iterations;
      out->converged = converged;
    }
    if (start == 0 && !converged) starts = 1; /* others will not either, and take their time */
  }
  memcpy(w, all + best * square, square * sizeof *w);
  contrast(shares, w, y, n, dims);
  out->found_again = 1;
  for (size_t start = 0; start < starts; start++) {
    double found = share_found(w, all + start * square, dims);
    if (found >= 1) continue;
    contrast(others, all + start * square, y, n, dims);
    if (as_good(shares, others, n)) out->found_again = fmin(out->found_again, found);
  }
done:
  comp__free(all);
  comp__free(shares);
  comp__free(others);
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
  COMP__TRY(search(w, out, context, y, n, fit, dims, seed));
  for (size_t k = 0; k < dims; k++)
    for (size_t i = 0; i < rest; i++) s[k * rest + i] = dot(w + k * dims, y + (fit + i) * dims, dims);
  COMP__TRY(look(out, s, rest, dims, alpha));
  COMP__TRY(comp__symmetries_find(&out->symmetries, context, w, y, n, dims, alpha, seed));
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
