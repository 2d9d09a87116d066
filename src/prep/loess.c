/*
 * loess.c: local quadratic regression after Cleveland and Grosse, with R's defaults: surface = "interpolate", cell =
 * 0.2.
 *
 * A k-d tree (of one dimension: intervals halved at medians) cuts the range of x until a cell holds at most
 * n * span * cell points. At each cut, and at both ends, a weighted quadratic is fitted to the nearest n * span points;
 * its value and slope there define a cubic (Hermite) in every cell. The interpolation is part of what R computes: to
 * agree with it to rounding, the cuts must be the same ones.
 */
#include "prep/loess.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

static const double CELL = 0.2;
static const double MARGIN = 0.005; /* of the range, by which the outer vertices stand outside of the data */

enum { TERMS = 3 }; /* of a quadratic */

typedef struct vertex {
  double x, value, slope;
} vertex;

typedef struct fit {
  size_t n;
  const double *x, *y; /* sorted by x */
  size_t neighbours;   /* points in a local fit */
  size_t cell;         /* points that a cell may hold */
  vertex *vertices;    /* sorted by x when all are found */
  size_t count, capacity;
} fit;

static comp_status add_vertex(fit *f, double x) {
  for (size_t i = 0; i < f->count; i++)
    if (f->vertices[i].x == x) return COMP_OK;
  comp_status status = comp__grow(&f->vertices, &f->capacity, f->count, f->count + 1, sizeof *f->vertices);
  if (status == COMP_OK) f->vertices[f->count++] = (vertex){x, 0.0, 0.0};
  return status;
}

/* The last point of the lower half of first .. last: the middle, or else the nearest place to it (above before below)
 * where x changes, so that equal points stay together. When x changes nowhere, the middle. */
static size_t cut_place(const double *x, size_t first, size_t last) {
  size_t middle = first + (last - first) / 2;
  for (size_t step = 0;; step++) {
    if (middle + step >= last) return middle;
    if (x[middle + step] != x[middle + step + 1]) return middle + step;
    if (step == 0) continue;
    if (middle < first + step) return middle;
    if (x[middle - step] != x[middle - step + 1]) return middle - step;
  }
}

/* Halves the points first .. last, which lie between two vertices, as long as there are too many. */
static comp_status cut_cell(fit *f, size_t first, size_t last, double low, double high) {
  if (last - first + 1 <= f->cell || high <= low) return COMP_OK;
  size_t place = cut_place(f->x, first, last);
  double x = f->x[place];
  if (x == low || x == high) return COMP_OK;
  comp_status status = add_vertex(f, x);
  if (status == COMP_OK) status = cut_cell(f, first, place, low, x);
  if (status == COMP_OK && place < last) status = cut_cell(f, place + 1, last, x, high);
  return status;
}

static int compare_vertices(const void *a, const void *b) {
  double x = ((const vertex *)a)->x, y = ((const vertex *)b)->x;
  return (x > y) - (x < y);
}

static comp_status find_vertices(fit *f) {
  double low = f->x[0], high = f->x[f->n - 1];
  double margin = MARGIN * fmax(high - low, 1e-10 * fmax(fabs(low), fabs(high)) + 1e-30);
  comp_status status = add_vertex(f, low - margin);
  if (status == COMP_OK) status = add_vertex(f, high + margin);
  if (status == COMP_OK) status = cut_cell(f, 0, f->n - 1, low - margin, high + margin);
  if (status == COMP_OK) qsort(f->vertices, f->count, sizeof *f->vertices, compare_vertices);
  return status;
}

/* The first of the `neighbours` consecutive points that are nearest to x. */
static size_t nearest_window(const fit *f, double x) {
  size_t low = 0, high = f->n - f->neighbours;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (x - f->x[middle] > f->x[middle + f->neighbours] - x)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Householder: a (rows x TERMS, column after column) becomes R in its top, and b becomes Q'b. */
static void triangulate(double *a, double *b, size_t rows) {
  for (size_t j = 0; j < TERMS; j++) {
    double *v = a + j * rows, norm = 0.0;
    for (size_t i = j; i < rows; i++) norm += v[i] * v[i];
    norm = sqrt(norm);
    if (norm == 0.0) continue;
    double diagonal = v[j] > 0.0 ? -norm : norm;
    v[j] -= diagonal;
    double scale = -1.0 / (diagonal * v[j]); /* 2 / |v|^2 */
    for (size_t k = j + 1; k <= TERMS; k++) {
      double *target = k < TERMS ? a + k * rows : b, dot = 0.0;
      for (size_t i = j; i < rows; i++) dot += v[i] * target[i];
      for (size_t i = j; i < rows; i++) target[i] -= scale * dot * v[i];
    }
    v[j] = diagonal; /* the reflector itself is not needed any more */
  }
}

/* One-sided Jacobi: u (columns) becomes U * diag(sigma), v the rotations. */
static void jacobi(double u[TERMS][TERMS], double v[TERMS][TERMS]) {
  for (int sweep = 0; sweep < 60; sweep++) {
    double off = 0.0;
    for (int p = 0; p < TERMS; p++)
      for (int q = p + 1; q < TERMS; q++) {
        double alpha = 0.0, beta = 0.0, gamma = 0.0;
        for (int i = 0; i < TERMS; i++) {
          alpha += u[p][i] * u[p][i];
          beta += u[q][i] * u[q][i];
          gamma += u[p][i] * u[q][i];
        }
        if (gamma == 0.0 || fabs(gamma) <= 1e-17 * sqrt(alpha * beta)) continue;
        off = fmax(off, fabs(gamma) / sqrt(alpha * beta));
        double zeta = (beta - alpha) / (2.0 * gamma);
        double t = copysign(1.0, zeta) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
        double c = 1.0 / sqrt(1.0 + t * t), s = c * t;
        for (int i = 0; i < TERMS; i++) {
          double up = u[p][i], vp = v[p][i];
          u[p][i] = c * up - s * u[q][i];
          u[q][i] = s * up + c * u[q][i];
          v[p][i] = c * vp - s * v[q][i];
          v[q][i] = s * vp + c * v[q][i];
        }
      }
    if (off < 1e-16) return;
  }
}

/* Least squares by pseudo-inverse, singular values below 100 epsilon taken as 0 (as R does): neighbours may have fewer
 * than three different x. */
static void solve(double out[TERMS], const double *r, const double *b, size_t rows, const double norms[TERMS]) {
  double u[TERMS][TERMS] = {{0}}, v[TERMS][TERMS] = {{0}}, sigma[TERMS], largest = 0.0;
  for (size_t j = 0; j < TERMS; j++) {
    v[j][j] = 1.0;
    for (size_t i = 0; i <= j; i++) u[j][i] = r[j * rows + i];
  }
  jacobi(u, v);
  for (int j = 0; j < TERMS; j++) {
    sigma[j] = sqrt(u[j][0] * u[j][0] + u[j][1] * u[j][1] + u[j][2] * u[j][2]);
    largest = fmax(largest, sigma[j]);
  }
  memset(out, 0, TERMS * sizeof *out);
  for (int j = 0; j < TERMS; j++) {
    if (sigma[j] <= largest * 100.0 * DBL_EPSILON) continue;
    double dot = (u[j][0] * b[0] + u[j][1] * b[1] + u[j][2] * b[2]) / (sigma[j] * sigma[j]);
    for (int i = 0; i < TERMS; i++) out[i] += v[j][i] * dot;
  }
  for (int i = 0; i < TERMS; i++) out[i] /= norms[i];
}

/* Scales the columns to length 1, which keeps the singular values comparable. */
static void equilibrate(double norms[TERMS], double *a, size_t rows) {
  for (size_t j = 0; j < TERMS; j++) {
    double sum = 0.0;
    for (size_t i = 0; i < rows; i++) sum += a[j * rows + i] * a[j * rows + i];
    norms[j] = sum > 0.0 ? sqrt(sum) : 1.0;
    for (size_t i = 0; i < rows; i++) a[j * rows + i] /= norms[j];
  }
}

/* Fits a quadratic around a vertex, with tricube weights. `design` has room for neighbours x (TERMS + 1). */
static comp_status fit_vertex(fit *f, vertex *at, double *design) {
  size_t rows = f->neighbours, first = nearest_window(f, at->x);
  double *b = design + TERMS * rows;
  double radius = fmax(fabs(f->x[first] - at->x), fabs(f->x[first + rows - 1] - at->x));
  if (radius <= 0.0)
    return comp__error(COMP_ERR_DATA,
                       "loess: %zu or more of %zu points share x = %g, more than its span of %zu points "
                       "can smooth over",
                       rows, f->n, at->x, rows);
  for (size_t i = 0; i < rows; i++) {
    double d = f->x[first + i] - at->x, h = fabs(d) / radius, w = 1.0 - h * h * h;
    w = sqrt(w * w * w);
    design[i] = w;
    design[rows + i] = w * d;
    design[2 * rows + i] = w * d * d;
    b[i] = w * f->y[first + i];
  }
  double norms[TERMS], coefficients[TERMS];
  equilibrate(norms, design, rows);
  triangulate(design, b, rows);
  solve(coefficients, design, b, rows, norms);
  at->value = coefficients[0];
  at->slope = coefficients[1];
  return COMP_OK;
}

static double interpolate(const vertex *a, const vertex *b, double x) {
  double width = b->x - a->x, h = (x - a->x) / width, g = 1.0 - h;
  return g * g * (1.0 + 2.0 * h) * a->value + h * h * (3.0 - 2.0 * h) * b->value +
         (h * g * g * a->slope - h * h * g * b->slope) * width;
}

typedef struct point {
  double x, y;
  size_t index;
} point;

static int compare_points(const void *a, const void *b) {
  const point *p = a, *q = b;
  if (p->x != q->x) return p->x < q->x ? -1 : 1;
  return (p->index > q->index) - (p->index < q->index);
}

comp_status comp__loess(double *fitted, const double *x, const double *y, size_t n, double span) {
  comp_status status;
  point *points = NULL;
  double *sorted = NULL, *design = NULL;
  fit f = {.n = n};
  f.neighbours = (size_t)fmin((double)n, floor((double)n * span + 1e-5));
  f.cell = (size_t)floor((double)n * (span * CELL));
  if (f.neighbours < TERMS + 1)
    return comp__error(COMP_ERR_DATA, "loess: a span of %g of %zu points is too few for a quadratic", span, n);
  COMP__TRY(comp__alloc(&points, n, sizeof *points));
  COMP__TRY(comp__alloc(&sorted, n, 2 * sizeof *sorted));
  COMP__TRY(comp__alloc(&design, f.neighbours, (TERMS + 1) * sizeof *design));
  for (size_t i = 0; i < n; i++) points[i] = (point){x[i], y[i], i};
  qsort(points, n, sizeof *points, compare_points);
  for (size_t i = 0; i < n; i++) {
    sorted[i] = points[i].x;
    sorted[n + i] = points[i].y;
  }
  f.x = sorted;
  f.y = sorted + n;
  COMP__TRY(find_vertices(&f));
  for (size_t i = 0; i < f.count; i++) COMP__TRY(fit_vertex(&f, &f.vertices[i], design));
  for (size_t i = 0, cell = 0; i < n; i++) {
    while (cell + 2 < f.count && points[i].x > f.vertices[cell + 1].x) cell++;
    fitted[points[i].index] = interpolate(&f.vertices[cell], &f.vertices[cell + 1], points[i].x);
  }
done:
  comp__free(f.vertices);
  comp__free(design);
  comp__free(sorted);
  comp__free(points);
  return status;
}
