/*
 * spectral.c: the vectors that vary least along a graph's edges: the eigenvectors of its normalised Laplacian with the
 * smallest eigenvalues, after the constant one.
 *
 * They are those of M = D^-1/2 W D^-1/2 with the largest eigenvalues. A block of vectors is multiplied by Chebyshev
 * polynomials of M, which are small on the unwanted part of the spectrum, [-1, cut], and grow quickly beyond it; then
 * the best vectors of the block's span are taken, which also gives a better cut. Small graphs are solved densely.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "linalg/linalg.h"
#include "nn/kernels.h"
#include "umap/umap.h"

enum { CHUNK = 512, DEGREE = 24, ITERATIONS = 16, DENSE = 400, SPARE = 8, PAD = 16 };

static const double TOLERANCE = 2e-4;

/* The matrix M of one component and a block of vectors, [n, width]. */
typedef struct block {
  comp_context *context;
  const comp__graph *m;
  size_t width;
  float *x, *mx, *older; /* [n, width] */
  double *partial;       /* [chunks, width, width] */
  double *small;         /* [width, width] */
  double *rotation;      /* [width, width]: eigenvectors as rows */
  double *values;        /* [width] */
  const float *source;   /* of a product */
  float *target;
  double scale, shift, back; /* target = scale (M source - shift source) - back older */
} block;

static void multiply_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const block *b = arg;
  const size_t w = b->width;
  const comp__kernels *kernels = comp__kernels_get();
  const comp__blocks source = comp__blocks_of_matrix(b->source, w);
  const float scale = (float)b->scale, shift = (float)b->shift, back = (float)b->back;
  for (size_t i = begin; i < end; i++) {
    float row[128];
    const size_t first = b->m->indptr[i], count = b->m->indptr[i + 1] - first;
    kernels->gather_rows(row, NULL, b->m->indices + first, b->m->weights + first, count, &source, w);
    for (size_t j = 0; j < w; j++) {
      float older = back != 0.0f ? back * b->older[i * w + j] : 0.0f;
      b->target[i * w + j] = scale * (row[j] - shift * b->source[i * w + j]) - older;
    }
  }
}

static void multiply(block *b, float *target, const float *source, double scale, double shift, double back) {
  b->target = target;
  b->source = source;
  b->scale = scale;
  b->shift = shift;
  b->back = back;
  comp__parallel_for(b->context, b->m->n, CHUNK, multiply_rows, b);
}

static void gram_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const block *b = arg;
  const size_t w = b->width;
  double *sum = b->partial + begin / CHUNK * w * w;
  memset(sum, 0, w * w * sizeof *sum);
  for (size_t i = begin; i < end; i++)
    for (size_t j = 0; j < w; j++) {
      const double x = (double)b->source[i * w + j];
      for (size_t k = 0; k < w; k++) sum[j * w + k] += x * (double)b->target[i * w + k];
    }
}

/* small = source^T target, made symmetric. */
static void gram(block *b, float *target, const float *source) {
  const size_t w = b->width, chunks = (b->m->n + CHUNK - 1) / CHUNK;
  b->source = source;
  b->target = target;
  comp__parallel_for(b->context, b->m->n, CHUNK, gram_rows, b);
  memset(b->small, 0, w * w * sizeof *b->small);
  for (size_t c = 0; c < chunks; c++)
    for (size_t j = 0; j < w * w; j++) b->small[j] += b->partial[c * w * w + j];
  for (size_t j = 0; j < w; j++)
    for (size_t k = 0; k < j; k++)
      b->small[j * w + k] = b->small[k * w + j] = 0.5 * (b->small[j * w + k] + b->small[k * w + j]);
}

static void rotate_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const block *b = arg;
  const size_t w = b->width;
  for (size_t i = begin; i < end; i++) {
    double row[128] = {0.0};
    for (size_t k = 0; k < w; k++) {
      const double x = (double)b->target[i * w + k];
      for (size_t j = 0; j < w; j++) row[j] += x * b->rotation[k * w + j];
    }
    for (size_t j = 0; j < w; j++) b->target[i * w + j] = (float)row[j];
  }
}

/* target = target R, with R's columns the eigenvectors of `small`, each times factor(value). */
static comp_status rotate(block *b, float *first, float *second, bool whiten) {
  const size_t w = b->width;
  comp_status status = comp__eigen_symmetric(b->small, w, b->values);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < w; j++) {
    double factor = 1.0;
    /* A direction that has vanished is left out. */
    if (whiten) factor = b->values[j] > 1e-10 * b->values[0] ? 1.0 / sqrt(b->values[j]) : 0.0;
    for (size_t k = 0; k < w; k++) b->rotation[k * w + j] = b->small[j * w + k] * factor;
  }
  for (int which = 0; which < 2; which++) {
    b->target = which ? second : first;
    if (b->target) comp__parallel_for(b->context, b->m->n, CHUNK, rotate_rows, b);
  }
  return COMP_OK;
}

/* x becomes orthonormal. */
static comp_status orthonormalise(block *b) {
  for (int pass = 0; pass < 2; pass++) {
    gram(b, b->x, b->x);
    comp_status status = rotate(b, b->x, NULL, true);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* x = p(M) x with the scaled Chebyshev polynomial of [-1, cut], which is 1 at 1. */
static void filter(block *b, double cut) {
  const double half = (cut + 1.0) / 2.0, centre = (cut - 1.0) / 2.0;
  double sigma = half / (1.0 - centre);
  const double tau = 2.0 / sigma;
  multiply(b, b->mx, b->x, sigma / half, centre, 0.0);
  float *now = b->mx, *before = b->x, *spare = b->older;
  for (int degree = 2; degree <= DEGREE; degree++) {
    const double next = 1.0 / (tau - sigma);
    b->older = before;
    multiply(b, spare, now, 2.0 * next / half, centre, sigma * next);
    float *free_one = before;
    before = now;
    now = spare;
    spare = free_one;
    sigma = next;
  }
  b->x = now;
  b->mx = before;
  b->older = spare;
}

/* The largest residual |M x - value x| of the first `wanted` vectors. */
static double residual(const block *b, size_t wanted) {
  const size_t w = b->width;
  double sums[128] = {0.0}, most = 0.0;
  for (size_t i = 0; i < b->m->n; i++)
    for (size_t j = 0; j < wanted; j++) {
      double r = (double)b->mx[i * w + j] - b->values[j] * (double)b->x[i * w + j];
      sums[j] += r * r;
    }
  for (size_t j = 0; j < wanted; j++) most = fmax(most, sqrt(sums[j]));
  return most;
}

static comp_status iterate(block *b, size_t wanted) {
  comp_status status = COMP_OK;
  for (int i = 0; i <= ITERATIONS; i++) {
    COMP__TRY(comp__check_interrupt(b->context));
    COMP__TRY(orthonormalise(b));
    multiply(b, b->mx, b->x, 1.0, 0.0, 0.0);
    gram(b, b->mx, b->x);
    COMP__TRY(rotate(b, b->x, b->mx, false));
    double worst = residual(b, wanted);
    comp__debug(b->context, "spectral start: residual %.2g, eigenvalues %.6f .. %.6f", worst, b->values[1],
                b->values[b->width - 1]);
    if (worst < TOLERANCE || i == ITERATIONS) break;
    filter(b, fmin(fmax(b->values[b->width - 1], -0.9), 0.9999));
  }
done:
  return status;
}

static comp_status solve_block(float *out, comp_context *context, const comp__graph *m, const float *trivial,
                               size_t dims, uint64_t seed) {
  const size_t n = m->n, w = (dims + 1 + SPARE + PAD - 1) / PAD * PAD;
  block b = {.context = context, .m = m, .width = w};
  comp_status status;
  COMP__TRY(comp__alloc(&b.x, n, w * sizeof *b.x));
  COMP__TRY(comp__alloc(&b.mx, n, w * sizeof *b.mx));
  COMP__TRY(comp__alloc(&b.older, n, w * sizeof *b.older));
  COMP__TRY(comp__alloc(&b.partial, (n + CHUNK - 1) / CHUNK, w * w * sizeof *b.partial));
  COMP__TRY(comp__alloc(&b.small, w, w * sizeof *b.small));
  COMP__TRY(comp__alloc(&b.rotation, w, w * sizeof *b.rotation));
  COMP__TRY(comp__alloc(&b.values, w, sizeof *b.values));
  for (size_t i = 0; i < n; i++) {
    comp__rng_fill_normal(b.x + i * w, w, comp__rng_at(seed, COMP__RNG_UMAP, UINT64_MAX, i), 0);
    b.x[i * w] = trivial[i];
  }
  COMP__TRY(iterate(&b, dims + 1));
  for (size_t i = 0; i < n; i++) memcpy(out + i * dims, b.x + i * w + 1, dims * sizeof *out);
done:
  comp__free(b.x);
  comp__free(b.mx);
  comp__free(b.older);
  comp__free(b.partial);
  comp__free(b.small);
  comp__free(b.rotation);
  comp__free(b.values);
  return status;
}

static comp_status solve_dense(float *out, const comp__graph *m, size_t dims) {
  const size_t n = m->n;
  double *a = NULL, *values = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&a, n, n * sizeof *a));
  COMP__TRY(comp__alloc(&values, n, sizeof *values));
  for (size_t i = 0; i < n; i++)
    for (size_t e = m->indptr[i]; e < m->indptr[i + 1]; e++) a[i * n + (size_t)m->indices[e]] = (double)m->weights[e];
  COMP__TRY(comp__eigen_symmetric(a, n, values));
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) out[i * dims + d] = (float)a[(d + 1) * n + i];
done:
  comp__free(a);
  comp__free(values);
  return status;
}

/* M of one component, with its vertices renumbered, and M's first eigenvector, of which the length does not matter. */
static comp_status normalised(comp__graph *out, float **trivial, const comp__graph *graph, const int32_t *members,
                              size_t n, int32_t *place) {
  comp_status status;
  size_t edges = 0;
  *out = (comp__graph){.n = n};
  for (size_t i = 0; i < n; i++) {
    place[members[i]] = (int32_t)i;
    edges += graph->indptr[members[i] + 1] - graph->indptr[members[i]];
  }
  COMP__TRY(comp__alloc(&out->indptr, n + 1, sizeof *out->indptr));
  COMP__TRY(comp__alloc(&out->indices, edges, sizeof *out->indices));
  COMP__TRY(comp__alloc(&out->weights, edges, sizeof *out->weights));
  COMP__TRY(comp__alloc(trivial, n, sizeof **trivial));
  out->indptr[0] = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t first = graph->indptr[members[i]], last = graph->indptr[members[i] + 1];
    double degree = 0.0;
    for (size_t e = first; e < last; e++) {
      out->indices[out->indptr[i] + e - first] = place[graph->indices[e]];
      out->weights[out->indptr[i] + e - first] = graph->weights[e];
      degree += (double)graph->weights[e];
    }
    out->indptr[i + 1] = out->indptr[i] + last - first;
    (*trivial)[i] = (float)sqrt(degree);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t e = out->indptr[i]; e < out->indptr[i + 1]; e++)
      out->weights[e] /= (*trivial)[i] * (*trivial)[out->indices[e]];
done:
  return status;
}

/* Fixes signs, so that the layout does not depend on the solver's, and scales the largest entry to `reach`. */
static void tidy(float *x, size_t n, size_t dims, double reach) {
  float most = 0.0f;
  for (size_t d = 0; d < dims; d++) {
    float high = 0.0f;
    for (size_t i = 0; i < n; i++)
      if (fabsf(x[i * dims + d]) > fabsf(high)) high = x[i * dims + d];
    for (size_t i = 0; high < 0.0f && i < n; i++) x[i * dims + d] = -x[i * dims + d];
    most = fmaxf(most, fabsf(high));
  }
  for (size_t i = 0; most > 0.0f && i < n * dims; i++) x[i] = (float)((double)x[i] * (reach / (double)most));
}

/* Where the components go: on the axes when there are few, else by the smoothest vectors of a graph of their centres.
 * places [components, dims]. */
static comp_status place_components(double *places, const int32_t *component, size_t components,
                                    const comp_matrix *points, size_t dims, comp_context *context, uint64_t seed) {
  const size_t features = comp_matrix_cols(points), n = comp_matrix_rows(points);
  const float *x = comp_matrix_const_values(points);
  double *centres = NULL, *counts = NULL, *a = NULL, *values = NULL;
  comp_status status = COMP_OK;
  if (components <= 2 * dims || components > 2000) {
    const size_t half = (components + 1) / 2;
    for (size_t c = 0; c < components; c++)
      for (size_t d = 0; d < dims; d++) {
        if (components <= 2 * dims)
          places[c * dims + d] = c < half ? (d == c) : -(double)(d == c - half);
        else /* so many that no layout of them says anything */
          places[c * dims + d] =
              2.0 * comp__rng_uniform(comp__rng_at(seed, COMP__RNG_UMAP, UINT64_MAX - 1, c), d) - 1.0;
      }
    return COMP_OK;
  }
  (void)context;
  COMP__TRY(comp__calloc(&centres, components, features * sizeof *centres));
  COMP__TRY(comp__calloc(&counts, components, sizeof *counts));
  COMP__TRY(comp__alloc(&a, components, components * sizeof *a));
  COMP__TRY(comp__alloc(&values, components, sizeof *values));
  for (size_t i = 0; i < n; i++) {
    const size_t c = (size_t)component[i];
    counts[c] += 1.0;
    for (size_t f = 0; f < features; f++) centres[c * features + f] += (double)x[i * features + f];
  }
  double mean = 0.0;
  for (size_t c = 0; c < components; c++)
    for (size_t o = 0; o < components; o++) {
      double sum = 0.0;
      for (size_t f = 0; f < features; f++) {
        double difference = centres[c * features + f] / counts[c] - centres[o * features + f] / counts[o];
        sum += difference * difference;
      }
      a[c * components + o] = sum;
      mean += sum / (double)(components * components);
    }
  /* umap-learn takes exp(-d^2) as it is, which is 0 for far centres; relative to their mean it never is for all. */
  for (size_t j = 0; j < components * components; j++) a[j] = exp(-a[j] / (mean > 0.0 ? mean : 1.0));
  for (size_t c = 0; c < components; c++) {
    values[c] = 0.0;
    for (size_t o = 0; o < components; o++) values[c] += a[c * components + o];
  }
  for (size_t c = 0; c < components; c++)
    for (size_t o = 0; o < components; o++) a[c * components + o] /= sqrt(values[c] * values[o]);
  COMP__TRY(comp__eigen_symmetric(a, components, values));
  double most = 0.0;
  for (size_t d = 0; d < dims; d++)
    for (size_t c = 0; c < components; c++) most = fmax(most, fabs(a[(d + 1) * components + c]));
  for (size_t d = 0; d < dims; d++)
    for (size_t c = 0; c < components; c++)
      places[c * dims + d] = most > 0.0 ? a[(d + 1) * components + c] / most : 0.0;
done:
  comp__free(centres);
  comp__free(counts);
  comp__free(a);
  comp__free(values);
  return status;
}

/* Half the distance to the nearest other component: how far one may reach. */
static double reach_of(const double *places, size_t components, size_t dims, size_t c) {
  double least = INFINITY;
  for (size_t o = 0; o < components; o++) {
    double sum = 0.0;
    for (size_t d = 0; d < dims; d++)
      sum += (places[c * dims + d] - places[o * dims + d]) * (places[c * dims + d] - places[o * dims + d]);
    if (sum > 0.0) least = fmin(least, sum);
  }
  return isinf(least) ? 1.0 : sqrt(least) / 2.0;
}

/* The layout of one component around its place. */
static comp_status lay_component(float *layout, comp_context *context, const comp__graph *graph, const int32_t *members,
                                 size_t n, int32_t *place, const double *at, double reach, size_t dims, uint64_t seed) {
  comp__graph m = {0};
  float *trivial = NULL, *x = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&x, n, dims * sizeof *x));
  if (n < 2 * dims || n <= dims + 1) {
    for (size_t i = 0; i < n; i++)
      for (size_t d = 0; d < dims; d++) {
        comp__rng rng = comp__rng_at(seed, COMP__RNG_UMAP, UINT64_MAX - 2, (uint64_t)members[i]);
        x[i * dims + d] = (float)(reach * (2.0 * comp__rng_uniform(rng, d) - 1.0));
      }
  } else {
    COMP__TRY(normalised(&m, &trivial, graph, members, n, place));
    if (n <= DENSE || n <= 2 * (dims + 1 + SPARE + PAD))
      COMP__TRY(solve_dense(x, &m, dims));
    else
      COMP__TRY(solve_block(x, context, &m, trivial, dims, seed));
    tidy(x, n, dims, reach);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) layout[(size_t)members[i] * dims + d] = (float)(at[d] + (double)x[i * dims + d]);
done:
  comp__graph_release(&m);
  comp__free(trivial);
  comp__free(x);
  return status;
}

comp_status comp__umap_spectral(float *layout, comp_context *context, const comp__graph *graph,
                                const int32_t *component, size_t components, const comp_matrix *points, size_t dims,
                                uint64_t seed) {
  const size_t n = graph->n;
  double *places = NULL;
  int32_t *members = NULL, *place = NULL;
  size_t *starts = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&places, components, dims * sizeof *places));
  COMP__TRY(comp__alloc(&members, n, sizeof *members));
  COMP__TRY(comp__alloc(&place, n, sizeof *place));
  COMP__TRY(comp__calloc(&starts, components + 2, sizeof *starts));
  for (size_t i = 0; i < n; i++) starts[component[i] + 2]++;
  for (size_t c = 2; c < components + 2; c++) starts[c] += starts[c - 1];
  for (size_t i = 0; i < n; i++) members[starts[component[i] + 1]++] = (int32_t)i;
  if (components > 1) COMP__TRY(place_components(places, component, components, points, dims, context, seed));
  for (size_t c = 0; c < components; c++) {
    const double reach = components > 1 ? reach_of(places, components, dims, c) : 1.0;
    COMP__TRY(lay_component(layout, context, graph, members + starts[c], starts[c + 1] - starts[c], place,
                            places + c * dims, reach, dims, seed));
  }
done:
  comp__free(places);
  comp__free(members);
  comp__free(place);
  comp__free(starts);
  return status;
}
