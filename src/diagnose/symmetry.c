/* symmetry.c: see symmetry.h. */
#include "diagnose/symmetry.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/sort.h"
#include "diagnose/components.h"
#include "diagnose/energy.h"
#include "diagnose/special.h"
#include "diagnose/whiten.h"

enum {
  ITERATIONS = 50,        /* of FastICA on a half, from components that were found already */
  ENERGY_HALF = 2000,     /* rows of a half for an energy test */
  MOST_TESTS = 40,        /* energy tests */
  MOST_SETS = 4,          /* mirrored components of which every set is tried */
  MOST_PERMUTATIONS = 999 /* of an energy test */
};

#define HOPELESS 1e-9 /* a p that no error of mean and variance explains */

/* Components of two halves of the samples. */
typedef struct halves {
  size_t n, dims;    /* rows of each */
  double *rows[2];   /* [n, dims] */
  double *sorted[2]; /* [dims, n]: components one by one */
  double *work;      /* [2 * ENERGY_HALF, dims]: one half and the other mapped */
  double *signs;     /* [dims]: of the map */
  size_t *from;      /* [dims]: component that the map puts there */
  double alpha;      /* of one test */
  size_t permutations;
  uint64_t seed;
} halves;

double comp__smirnov_p(const double *a, size_t n, const double *b, size_t m, double scale, double shift) {
  size_t i = 0, j = 0;
  double most = 0;
  bool negate = scale < 0;
  while (i < n && j < m) {
    double x = a[i], y = shift + scale * b[negate ? m - 1 - j : j], low = fmin(x, y);
    while (i < n && a[i] <= low) i++;
    while (j < m && shift + scale * b[negate ? m - 1 - j : j] <= low) j++;
    most = fmax(most, fabs((double)i / (double)n - (double)j / (double)m));
  }
  double size = sqrt((double)n * (double)m / ((double)n + (double)m));
  return comp__kolmogorov_sf((size + 0.12 + 0.11 / size) * most);
}

/* Whitens rows in place by their own mean and covariance C: x becomes C^-1/2 x, the white values nearest to x. */
static comp_status whiten_nearby(double *x, size_t n, size_t dims) {
  comp_status status;
  double *y = NULL;
  comp__axes axes = {0};
  COMP__TRY(comp__axes_init(&axes, x, n, dims));
  COMP__TRY(comp__alloc(&y, dims, sizeof *y));
  for (size_t i = 0; i < n; i++) {
    double *row = x + i * dims;
    for (size_t k = 0; k < dims; k++) {
      y[k] = 0;
      for (size_t d = 0; d < dims; d++) y[k] += (row[d] - axes.mean[d]) * axes.vectors[k * dims + d];
      y[k] /= sqrt(fmax(axes.variances[k], 1e-12));
    }
    for (size_t d = 0; d < dims; d++) {
      row[d] = 0;
      for (size_t k = 0; k < dims; k++) row[d] += y[k] * axes.vectors[k * dims + d];
    }
  }
done:
  comp__free(y);
  comp__axes_release(&axes);
  return status;
}

/* Puts the rows of w in the order, and gives them the signs, that bring them nearest to those of `to`. */
static void match(double *w, const double *to, size_t dims, double *copy) {
  memcpy(copy, w, dims * dims * sizeof *w);
  for (size_t k = 0; k < dims; k++) {
    size_t best = 0;
    double most = -1, sign = 1;
    for (size_t j = 0; j < dims; j++) {
      double along = 0, size = 0;
      for (size_t d = 0; d < dims; d++) {
        along += copy[j * dims + d] * to[k * dims + d];
        size += copy[j * dims + d] * copy[j * dims + d];
      }
      if (size > 0 && fabs(along) > most) {
        most = fabs(along);
        best = j;
        sign = along < 0 ? -1 : 1;
      }
    }
    for (size_t d = 0; d < dims; d++) {
      w[k * dims + d] = sign * copy[best * dims + d];
      copy[best * dims + d] = 0; /* taken */
    }
  }
}

static comp_status halves_init(halves *h, comp_context *context, const double *w, const double *y, size_t n,
                               size_t dims) {
  comp_status status;
  double *own = NULL, *first = NULL, *copy = NULL, *row = NULL;
  size_t square = dims * dims, iterations;
  bool converged;
  *h = (halves){.n = n / 2, .dims = dims};
  COMP__TRY(comp__alloc(&own, square, sizeof *own));
  COMP__TRY(comp__alloc(&first, square, sizeof *first));
  COMP__TRY(comp__alloc(&copy, square, sizeof *copy));
  COMP__TRY(comp__alloc(&row, dims, sizeof *row));
  COMP__TRY(comp__alloc(&h->work, 2 * ENERGY_HALF, dims * sizeof *h->work));
  COMP__TRY(comp__alloc(&h->signs, dims, sizeof *h->signs));
  COMP__TRY(comp__alloc(&h->from, dims, sizeof *h->from));
  memcpy(first, w, square * sizeof *w);
  for (int half = 0; half < 2; half++) {
    COMP__TRY(comp__alloc(&h->rows[half], h->n, dims * sizeof **h->rows));
    COMP__TRY(comp__alloc(&h->sorted[half], h->n, dims * sizeof **h->sorted));
    double *x = h->rows[half];
    memcpy(x, y + (size_t)half * h->n * dims, h->n * dims * sizeof *x);
    COMP__TRY(whiten_nearby(x, h->n, dims));
    memcpy(own, first, square * sizeof *own);
    COMP__TRY(comp__fast_ica(own, &iterations, &converged, context, x, h->n, dims, ITERATIONS));
    match(own, first, dims, copy);
    memcpy(first, own, square * sizeof *own);
    for (size_t i = 0; i < h->n; i++) {
      memcpy(row, x + i * dims, dims * sizeof *row);
      for (size_t k = 0; k < dims; k++) {
        double sum = 0;
        for (size_t d = 0; d < dims; d++) sum += own[k * dims + d] * row[d];
        x[i * dims + k] = h->sorted[half][k * h->n + i] = sum;
      }
    }
    for (size_t k = 0; k < dims; k++) comp__sort_doubles(h->sorted[half] + k * h->n, h->n);
  }
done:
  comp__free(own);
  comp__free(first);
  comp__free(copy);
  comp__free(row);
  return status;
}

static void halves_release(halves *h) {
  for (int half = 0; half < 2; half++) {
    comp__free(h->rows[half]);
    comp__free(h->sorted[half]);
  }
  comp__free(h->work);
  comp__free(h->signs);
  comp__free(h->from);
}

/*
 * Component a of one half against b of the other, or its negative. Both were given mean 0 and variance 1 by their own
 * values, which moves a sharp edge by more than the test forgives: the best p over the errors of mean and variance.
 */
static double alone_p(const halves *h, size_t a, size_t b, bool negate) {
  const double *x = h->sorted[0] + a * h->n, *y = h->sorted[1] + b * h->n;
  double n = (double)h->n, fourth = 0, sign = negate ? -1 : 1, best = comp__smirnov_p(x, h->n, y, h->n, sign, 0);
  if (best > h->alpha || best < HOPELESS) return best;
  for (size_t i = 0; i < h->n; i++) fourth += (x[i] * x[i] * x[i] * x[i] + y[i] * y[i] * y[i] * y[i]) / (2 * n);
  double of_mean = sqrt(2 / n), of_scale = sqrt(fmax(fourth - 1, 0) / (2 * n));
  for (int k = -2; k <= 2; k++)
    for (int l = -2; l <= 2; l++)
      best = fmax(best, comp__smirnov_p(x, h->n, y, h->n, sign * exp(k * of_scale), l * of_mean));
  return best;
}

/* The map that changes nothing. */
static void reset(const halves *h) {
  for (size_t d = 0; d < h->dims; d++) {
    h->signs[d] = 1;
    h->from[d] = d;
  }
}

/* Whether the map may leave z as it is. */
static comp_status may_be(bool *out, comp__symmetries *s, const halves *h, comp_context *context) {
  *out = true;
  if (s->tests == MOST_TESTS) {
    s->untested++;
    return COMP_OK;
  }
  s->tests++;
  size_t used = h->n < ENERGY_HALF ? h->n : ENERGY_HALF, dims = h->dims;
  double *mapped = h->work + used * dims;
  memcpy(h->work, h->rows[0], used * dims * sizeof *h->work);
  for (size_t i = 0; i < used; i++)
    for (size_t d = 0; d < dims; d++) mapped[i * dims + d] = h->signs[d] * h->rows[1][i * dims + h->from[d]];
  comp__test test;
  comp_status status = comp__energy_test(&test, context, h->work, 2 * used, used, dims, h->permutations, h->seed);
  if (status == COMP_OK) *out = test.p > h->alpha * (1 + 1e-12);
  return status;
}

/* One component mirrored. `left` lists those that may equal their own mirror images. */
static comp_status try_mirrors(comp__symmetries *s, size_t *left, const halves *h, comp_context *context) {
  for (size_t a = 0; a < h->dims; a++) {
    bool open;
    if (alone_p(h, a, a, true) <= h->alpha) continue;
    left[s->mirrored_alone++] = a;
    reset(h);
    h->signs[a] = -1;
    comp_status status = may_be(&open, s, h, context);
    if (status != COMP_OK) return status;
    s->mirrored += open;
  }
  return COMP_OK;
}

/* Several mirrored at once: every set of a few, else all of them. */
static comp_status try_sets(comp__symmetries *s, const size_t *left, const halves *h, comp_context *context) {
  size_t count = s->mirrored_alone, sets = count <= MOST_SETS ? (size_t)1 << count : 2;
  if (count < 2 || s->mirrored) return COMP_OK; /* one of them says enough */
  for (size_t set = 1; set < sets; set++) {
    size_t size = 0;
    bool open;
    reset(h);
    for (size_t k = 0; k < count; k++)
      if (count > MOST_SETS || (set >> k & 1)) {
        h->signs[left[k]] = -1;
        size++;
      }
    if (size < 2) continue;
    comp_status status = may_be(&open, s, h, context);
    if (status != COMP_OK) return status;
    s->together += open;
  }
  return COMP_OK;
}

/* Two components exchanged, with the signs that each of them allows. */
static comp_status try_exchange(comp__symmetries *s, size_t a, size_t b, const halves *h, comp_context *context) {
  bool alone = false, open = false;
  for (unsigned signs = 0; signs < 4 && !open; signs++) {
    bool first = signs & 1, second = signs >> 1;
    if (2 * fmin(alone_p(h, a, b, first), alone_p(h, b, a, second)) <= h->alpha) continue;
    alone = true;
    reset(h);
    h->from[a] = b;
    h->from[b] = a;
    h->signs[a] = first ? -1 : 1;
    h->signs[b] = second ? -1 : 1;
    comp_status status = may_be(&open, s, h, context);
    if (status != COMP_OK) return status;
  }
  s->alike_alone += alone;
  s->alike += open;
  return COMP_OK;
}

comp_status comp__symmetries_find(comp__symmetries *out, comp_context *context, const double *w, const double *y,
                                  size_t n, size_t dims, double alpha, uint64_t seed) {
  comp_status status;
  halves h = {0};
  size_t *left = NULL;
  *out = (comp__symmetries){0};
  COMP__TRY(comp__alloc(&left, dims, sizeof *left));
  COMP__TRY(halves_init(&h, context, w, y, n, dims));
  h.alpha = alpha / 2;
  h.seed = seed;
  double needed = ceil(1 / h.alpha * (1 - 1e-12)) - 1;
  h.permutations = needed < MOST_PERMUTATIONS ? (size_t)needed : MOST_PERMUTATIONS;
  COMP__TRY(try_mirrors(out, left, &h, context));
  COMP__TRY(try_sets(out, left, &h, context));
  for (size_t a = 1; a < dims; a++)
    for (size_t b = 0; b < a; b++) COMP__TRY(try_exchange(out, a, b, &h, context));
done:
  comp__free(left);
  halves_release(&h);
  return status;
}
