/* response.c: the change of a population that was never seen changed, from those that were. */
#include "task/response.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

/* Small against the mean of any gene that is worth a prediction: one count in a few hundred cells. */
static const double LEAST_LEVEL = 0.002;

/* exp() of more than this is no level of expression: the values are not logarithms. */
static const double LARGEST_LOGARITHM = 50.0;

comp_status comp__response_init(comp__response *r, size_t populations, size_t features) {
  *r = (comp__response){.populations = populations, .features = features, .terms = {1.0}};
  comp_status status;
  COMP__TRY(comp__calloc(&r->expression, populations, features * sizeof *r->expression));
  COMP__TRY(comp__calloc(&r->change, populations, features * sizeof *r->change));
  COMP__TRY(comp__calloc(&r->fold, populations, features * sizeof *r->fold));
  COMP__TRY(comp__calloc(&r->apart, populations, populations * sizeof *r->apart));
done:
  return status;
}

void comp__response_release(comp__response *r) {
  comp__free(r->expression);
  comp__free(r->change);
  comp__free(r->fold);
  comp__free(r->apart);
  *r = (comp__response){0};
}

static double squared_distance(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t g = 0; g < n; g++) sum += (a[g] - b[g]) * (a[g] - b[g]);
  return sum;
}

/* The logarithm of the factor by which a feature of this value changes; 0 where values are no logarithms of levels. */
static double log_fold(double value, double change) {
  const double after = value + change;
  if (value < 0.0 || after < 0.0 || value > LARGEST_LOGARITHM || after > LARGEST_LOGARITHM) return 0.0;
  return log((expm1(after) + LEAST_LEVEL) / (expm1(value) + LEAST_LEVEL));
}

void comp__response_measure(comp__response *r) {
  for (size_t i = 0; i < r->populations * r->features; i++) r->fold[i] = log_fold(r->expression[i], r->change[i]);
  for (size_t u = 0; u < r->populations; u++)
    for (size_t v = 0; v < r->populations; v++)
      r->apart[u * r->populations + v] =
          squared_distance(r->expression + u * r->features, r->expression + v * r->features, r->features);
}

double comp__response_nearest(const comp__response *r, const float *expression) {
  double least = INFINITY;
  for (size_t u = 0; u < r->populations; u++) {
    const double *c = r->expression + u * r->features;
    double sum = 0;
    for (size_t g = 0; g < r->features; g++) sum += ((double)expression[g] - c[g]) * ((double)expression[g] - c[g]);
    if (sum < least) least = sum;
  }
  return least;
}

/* Weights of populations at a distance of at least `radius`: near [populations] by distance, all [populations] without
 * it. False: there is none. */
static bool weigh(double *near, double *all, const comp__response *r, const double *distance, double radius) {
  double least = INFINITY, sum = 0, sum_all = 0;
  for (size_t u = 0; u < r->populations; u++)
    if (distance[u] >= radius && distance[u] < least) least = distance[u];
  if (!isfinite(least)) return false;
  const double width = least > 0.0 ? least : 1.0;
  for (size_t u = 0; u < r->populations; u++) {
    double alike = 0;
    near[u] = all[u] = 0.0;
    if (distance[u] < radius) continue;
    for (size_t v = 0; v < r->populations; v++)
      if (distance[v] >= radius) alike += exp(-r->apart[u * r->populations + v] / width);
    all[u] = 1.0 / alike;
    near[u] = exp(-(distance[u] - least) / width) / alike;
    sum += near[u];
    sum_all += all[u];
  }
  for (size_t u = 0; u < r->populations; u++) {
    near[u] /= sum;
    all[u] /= sum_all;
  }
  return true;
}

/* The change of a value whose level changes by a factor. */
static double scale_level(double value, double log_factor) {
  if (value <= 0.0 || value > LARGEST_LOGARITHM) return 0.0;
  return log1p(expm1(value) * exp(log_factor)) - value;
}

/* The four parts of the change [4, features] of an expression c. */
static void find_parts(double *parts, const comp__response *r, const double *c, const double *near, const double *all) {
  const size_t n = r->features;
  double *weighted = parts, *mean = parts + n, *excess = parts + 2 * n, *scaled = parts + 3 * n;
  memset(parts, 0, COMP__RESPONSE_TERMS * n * sizeof *parts);
  for (size_t u = 0; u < r->populations; u++) {
    const double *expression = r->expression + u * n, *change = r->change + u * n, *fold = r->fold + u * n;
    if (all[u] == 0.0) continue;
    for (size_t g = 0; g < n; g++) {
      weighted[g] += near[u] * change[g];
      mean[g] += all[u] * change[g];
      excess[g] += near[u] * expression[g];
      scaled[g] += near[u] * fold[g];
    }
  }
  for (size_t g = 0; g < n; g++) {
    scaled[g] = scale_level(c[g], scaled[g]);
    excess[g] = c[g] - excess[g];
  }
}

/* Solves a x = b, a [TERMS, TERMS] symmetric and positive, by elimination. */
static void solve(double *x, double (*a)[COMP__RESPONSE_TERMS], double *b) {
  enum { N = COMP__RESPONSE_TERMS };
  for (int k = 0; k < N; k++)
    for (int i = k + 1; i < N; i++) {
      double factor = a[k][k] > 0.0 ? a[i][k] / a[k][k] : 0.0;
      for (int j = k; j < N; j++) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  for (int i = N - 1; i >= 0; i--) {
    x[i] = b[i];
    for (int j = i + 1; j < N; j++) x[i] -= a[i][j] * x[j];
    x[i] = a[i][i] > 0.0 ? x[i] / a[i][i] : 0.0;
  }
}

/* Adds one population to the normal equations. */
static void add_equations(double (*a)[COMP__RESPONSE_TERMS], double *b, const double *parts, const double *change,
                          size_t n) {
  double size = 0;
  for (size_t g = 0; g < n; g++) size += change[g] * change[g] / (double)n;
  for (int i = 0; size > 0.0 && i < COMP__RESPONSE_TERMS; i++) {
    const double *p = parts + (size_t)i * n;
    for (int j = 0; j <= i; j++) {
      const double *q = parts + (size_t)j * n;
      double sum = 0;
      for (size_t g = 0; g < n; g++) sum += p[g] * q[g];
      a[i][j] += sum / size;
    }
    double sum = 0;
    for (size_t g = 0; g < n; g++) sum += p[g] * change[g];
    b[i] += sum / size;
  }
}

comp_status comp__response_fit(comp__response *r, double radius) {
  static const double ridge = 1e-4; /* relative: for parts that are alike */
  double a[COMP__RESPONSE_TERMS][COMP__RESPONSE_TERMS] = {{0}}, b[COMP__RESPONSE_TERMS] = {0};
  double near[COMP__RESPONSE_MOST], all[COMP__RESPONSE_MOST], *parts = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&parts, COMP__RESPONSE_TERMS, r->features * sizeof *parts));
  r->fitted_on = 0;
  for (size_t u = 0; u < r->populations; u++) {
    const double *c = r->expression + u * r->features, *distance = r->apart + u * r->populations;
    /* itself is at a distance of 0, also where the radius is */
    if (!weigh(near, all, r, distance, radius > 0.0 ? radius : 1e-300)) continue;
    find_parts(parts, r, c, near, all);
    add_equations(a, b, parts, r->change + u * r->features, r->features);
    r->fitted_on++;
  }
  for (int i = 0; i < COMP__RESPONSE_TERMS; i++) {
    for (int j = i + 1; j < COMP__RESPONSE_TERMS; j++) a[i][j] = a[j][i];
    a[i][i] *= 1.0 + ridge;
  }
  if (r->fitted_on > 0) solve(r->terms, a, b);
done:
  comp__free(parts);
  return status;
}

void comp__response_predict(const comp__response *r, float *change, const float *expression, double *room) {
  double distance[COMP__RESPONSE_MOST], near[COMP__RESPONSE_MOST] = {0}, all[COMP__RESPONSE_MOST] = {0};
  double *c = room + COMP__RESPONSE_TERMS * r->features;
  for (size_t g = 0; g < r->features; g++) c[g] = (double)expression[g];
  for (size_t u = 0; u < r->populations; u++)
    distance[u] = squared_distance(c, r->expression + u * r->features, r->features);
  weigh(near, all, r, distance, 0.0);
  find_parts(room, r, c, near, all);
  for (size_t g = 0; g < r->features; g++) {
    double sum = 0;
    for (size_t i = 0; i < COMP__RESPONSE_TERMS; i++) sum += r->terms[i] * room[i * r->features + g];
    change[g] = (float)sum;
  }
}
