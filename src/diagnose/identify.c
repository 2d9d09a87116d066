/* identify.c: see identify.h. */
#include "diagnose/identify.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/sort.h"
#include "diagnose/energy.h"
#include "diagnose/special.h"
#include "diagnose/whiten.h"

enum { STEP_ROWS = 4000000, STEP_PROJECTION, STEP_ROTATION, ENERGY_ROWS = 4000, COMPONENT_ROWS = 20000 };

/* Draws of some samples along the active axes of the means: x [n, active]. */
static comp_status project(double **x, size_t *active, const comp__latent *l, const size_t *order, size_t n,
                           uint64_t seed) {
  comp_status status;
  double *all = NULL, *noise = NULL;
  comp__axes axes = {0};
  comp_matrix *z = NULL;
  size_t dims = l->dims;
  COMP__TRY(comp__alloc(&all, n, dims * sizeof *all));
  COMP__TRY(comp__calloc(&noise, dims, sizeof *noise));
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) {
      double scale = (double)l->scale[order[i] * dims + d];
      all[i * dims + d] = (double)l->mean[order[i] * dims + d];
      noise[d] += scale * scale / (double)n;
    }
  COMP__TRY(comp__axes_init(&axes, all, n, dims));
  *active = 0;
  for (size_t k = 0; k < dims; k++) {
    double along = 0;
    for (size_t d = 0; d < dims; d++) along += axes.vectors[k * dims + d] * axes.vectors[k * dims + d] * noise[d];
    if (axes.variances[k] <= along) break;
    ++*active;
  }
  COMP__TRY(comp__alloc(x, n, (*active + 1) * sizeof **x));
  COMP__TRY(comp__latent_rows(&z, l, order, n, true, seed));
  const float *draws = comp_matrix_const_values(z);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < *active; k++) {
      double sum = 0;
      for (size_t d = 0; d < dims; d++) sum += (double)draws[i * dims + d] * axes.vectors[k * dims + d];
      (*x)[i * *active + k] = sum;
    }
done:
  comp__free(all);
  comp__free(noise);
  comp__axes_release(&axes);
  comp_matrix_free(z);
  return status;
}

/* Skewness and excess kurtosis of sorted values, the larger kept. */
static void note_shape(comp__identify *out, const double *x, size_t n) {
  double mean = 0, m2 = 0, m3 = 0, m4 = 0, count = (double)n;
  for (size_t i = 0; i < n; i++) mean += x[i] / count;
  for (size_t i = 0; i < n; i++) {
    double d = x[i] - mean;
    m2 += d * d / count;
    m3 += d * d * d / count;
    m4 += d * d * d * d / count;
  }
  out->largest_skewness = fmax(out->largest_skewness, fabs(m3) / pow(m2, 1.5));
  double kurtosis = m4 / (m2 * m2) - 3;
  if (fabs(kurtosis) > fabs(out->largest_kurtosis)) out->largest_kurtosis = kurtosis;
}

/* The three tests of each axis of y [n, dims] and of random directions. */
static comp_status test_variables(comp__identify *out, const double *y, size_t n, size_t dims, double alpha,
                                  uint64_t seed) {
  comp_status status;
  size_t variables = dims + COMP__PROJECTIONS, most = n < COMP__SHAPIRO_MOST ? n : COMP__SHAPIRO_MOST;
  double *column = NULL, *p = NULL, *direction = NULL, *part = NULL;
  COMP__TRY(comp__alloc(&column, n, sizeof *column));
  COMP__TRY(comp__alloc(&part, most, sizeof *part));
  COMP__TRY(comp__alloc(&p, COMP__UNIVARIATE * variables, sizeof *p));
  COMP__TRY(comp__alloc(&direction, dims, sizeof *direction));
  for (size_t v = 0; v < variables; v++) {
    for (size_t d = 0; d < dims; d++)
      direction[d] =
          v < dims ? d == v : comp__rng_normal(comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_PROJECTION, v - dims), d);
    for (size_t i = 0; i < n; i++) {
      column[i] = 0;
      for (size_t d = 0; d < dims; d++) column[i] += direction[d] * y[i * dims + d];
    }
    memcpy(part, column, most * sizeof *part); /* rows are in random order */
    comp__sort_doubles(column, n);
    comp__sort_doubles(part, most);
    comp__test shapiro;
    COMP__TRY(comp__shapiro_wilk(&shapiro, part, most));
    p[v] = comp__anderson_darling(column, n).p;
    p[variables + v] = comp__lilliefors(column, n).p;
    p[2 * variables + v] = shapiro.p;
    note_shape(out, column, n);
  }
  out->coordinates = dims;
  out->projections = COMP__PROJECTIONS;
  for (size_t k = 0; k < COMP__UNIVARIATE * variables; k++)
    out->least_p = fmin(out->least_p, p[k] * (double)(COMP__UNIVARIATE * variables));
  for (size_t t = 0; t < COMP__UNIVARIATE; t++) {
    COMP__TRY(comp__holm(p + t * variables, p + t * variables, variables));
    for (size_t v = 0; v < variables; v++) out->rejected[t] += p[t * variables + v] <= alpha;
  }
done:
  comp__free(column);
  comp__free(part);
  comp__free(p);
  comp__free(direction);
  return status;
}

/* Rows of a random rotation [dims, dims], by Gram and Schmidt. */
static void random_rotation(double *r, size_t dims, uint64_t seed) {
  for (size_t k = 0; k < dims; k++) {
    double *row = r + k * dims, norm = 0;
    comp__rng rng = comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_ROTATION, k);
    for (size_t d = 0; d < dims; d++) row[d] = comp__rng_normal(rng, d);
    for (int twice = 0; twice < 2; twice++)
      for (size_t j = 0; j < k; j++) {
        double dot = 0;
        for (size_t d = 0; d < dims; d++) dot += row[d] * r[j * dims + d];
        for (size_t d = 0; d < dims; d++) row[d] -= dot * r[j * dims + d];
      }
    for (size_t d = 0; d < dims; d++) norm += row[d] * row[d];
    for (size_t d = 0; d < dims; d++) row[d] /= sqrt(norm);
  }
}

/* One half of the rows against the mirrored or rotated other half: the halves are independent, as the test wants. */
static comp_status test_symmetry(comp__identify *out, comp_context *context, const double *y, size_t n, size_t dims,
                                 size_t permutations, uint64_t seed) {
  comp_status status;
  double *x = NULL, *rotation = NULL;
  size_t rows = n < ENERGY_ROWS ? n : ENERGY_ROWS, half = rows / 2;
  COMP__TRY(comp__alloc(&x, rows, dims * sizeof *x));
  COMP__TRY(comp__alloc(&rotation, dims * dims, sizeof *rotation));
  random_rotation(rotation, dims, seed);
  memcpy(x, y, rows * dims * sizeof *x);
  for (size_t i = half * dims; i < rows * dims; i++) x[i] = -y[i];
  COMP__TRY(comp__energy_test(&out->mirror, context, x, rows, half, dims, permutations, seed));
  for (size_t i = half; i < rows; i++)
    for (size_t k = 0; k < dims; k++) {
      x[i * dims + k] = 0;
      for (size_t d = 0; d < dims; d++) x[i * dims + k] += rotation[k * dims + d] * y[i * dims + d];
    }
  if (dims > 1)
    COMP__TRY(comp__energy_test(&out->rotation, context, x, rows, half, dims, permutations, seed));
  else
    out->rotation = out->mirror; /* the only other rotation of a line */
  out->symmetry_rows = rows;
  out->symmetry_permutations = permutations;
done:
  comp__free(x);
  comp__free(rotation);
  return status;
}

/* Tests on at most `rows` of n whitened rows. */
static comp_status test_all(comp__identify *out, comp_context *context, const double *y, size_t n, size_t dims,
                            size_t rows, double alpha, size_t permutations, uint64_t seed) {
  comp_status status;
  double *part = NULL;
  size_t used = n < rows ? n : rows;
  out->rows = used;
  out->least_p = 1;
  COMP__TRY(comp__alloc(&part, used, dims * sizeof *part));
  COMP__TRY(test_variables(out, y, used, dims, alpha, seed));
  out->joint = used >= 10 * dims;
  if (out->joint) {
    size_t kept;
    COMP__TRY(comp__whiten(part, &kept, y, used, dims));
    COMP__TRY(comp__multivariate_test(&out->all, context, part, used, kept));
    out->hz_dims = kept < COMP__HZ_DIMS ? kept : COMP__HZ_DIMS;
    for (size_t i = 0; i < used; i++) memmove(part + i * out->hz_dims, part + i * kept, out->hz_dims * sizeof *part);
    comp__multivariate first;
    COMP__TRY(comp__multivariate_test(&first, context, part, used, out->hz_dims));
    out->henze_zirkler = first.henze_zirkler;
    double joint = fmin(out->all.skewness.p, fmin(out->all.kurtosis.p, out->henze_zirkler.p));
    out->least_p = 2 * fmin(out->least_p, 3 * joint);
  }
  out->least_p = fmin(1, out->least_p);
  size_t most = n < COMPONENT_ROWS ? n : COMPONENT_ROWS;
  if (dims > 1 && most >= 40 * dims && most >= 200) {
    COMP__TRY(comp__components_find(&out->components, context, y, most, dims, alpha, seed));
    out->has_components = true;
  }
  COMP__TRY(test_symmetry(out, context, y, used, dims, permutations, seed));
done:
  comp__free(part);
  return status;
}

comp_status comp__identify_run(comp__identify *out, comp_context *context, const comp__latent *latent, size_t rows,
                               double alpha, size_t permutations, uint64_t seed) {
  comp_status status;
  size_t *order = NULL, kept = 0, n = latent->n < COMPONENT_ROWS ? latent->n : COMPONENT_ROWS;
  double *x = NULL, *y = NULL;
  *out = (comp__identify){.dims = latent->dims, .least_p = NAN, .largest_skewness = NAN, .largest_kurtosis = NAN};
  COMP__TRY(comp__random_order(&order, latent->n, seed, STEP_ROWS));
  COMP__TRY(project(&x, &out->active, latent, order, n, seed));
  if (out->active == 0) goto done;
  COMP__TRY(comp__alloc(&y, n, out->active * sizeof *y));
  COMP__TRY(comp__whiten(y, &kept, x, n, out->active));
  out->active = kept;
  if (kept == 0) goto done; /* nothing to test: no p is known */
  out->largest_skewness = out->largest_kurtosis = 0;
  COMP__TRY(test_all(out, context, y, n, kept, rows, alpha, permutations, seed));
done:
  comp__free(order);
  comp__free(x);
  comp__free(y);
  if (status != COMP_OK) comp__identify_release(out);
  return status;
}

void comp__identify_release(comp__identify *identify) {
  comp__components_release(&identify->components);
  *identify = (comp__identify){0};
}
