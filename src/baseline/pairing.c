/* pairing.c: the correction that follows from pairs of mutual nearest neighbours. */
#include "baseline/pairing.h"

#include <math.h>
#include <string.h>

#include "comp/neighbors.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "neighbors/options.h"

enum { CHUNK = 256 };

/* vectors [paired, d] = for each right sample that has partners the mean vector to them; cells [paired] are their
 * numbers, ascending. */
static size_t average(double *vectors, size_t *cells, const comp_matrix *left, const comp_matrix *right,
                      const comp__mutual *pairs) {
  size_t d = left->cols, n = 0;
  for (size_t p = 0; p < pairs->n;) {
    size_t cell = (size_t)pairs->right[p], first = p;
    double *own = vectors + n * d;
    memset(own, 0, d * sizeof *own);
    for (; p < pairs->n && (size_t)pairs->right[p] == cell; p++)
      for (size_t j = 0; j < d; j++)
        own[j] += (double)left->values[(size_t)pairs->left[p] * d + j] - right->values[cell * d + j];
    for (size_t j = 0; j < d; j++) own[j] /= (double)(p - first);
    cells[n++] = cell;
  }
  return n;
}

void comp__flatten_along(comp_matrix *x, const double *direction) {
  double mean = 0.0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < x->rows; i++) {
      float *row = x->values + i * x->cols;
      double place = 0.0;
      for (size_t j = 0; j < x->cols; j++) place += row[j] * direction[j];
      if (pass == 0)
        mean += place / (double)x->rows;
      else
        for (size_t j = 0; j < x->cols; j++) row[j] = (float)(row[j] + (mean - place) * direction[j]);
    }
}

/* Overall mean of the vectors, of length 1. */
static void find_overall(double *overall, const double *vectors, size_t n, size_t d) {
  double length = 0.0;
  memset(overall, 0, d * sizeof *overall);
  for (size_t p = 0; p < n; p++)
    for (size_t j = 0; j < d; j++) overall[j] += vectors[p * d + j] / (double)n;
  for (size_t j = 0; j < d; j++) length += overall[j] * overall[j];
  for (size_t j = 0; j < d; j++) overall[j] = length > 0.0 ? overall[j] / sqrt(length) : 0.0;
}

typedef struct spreading {
  comp_matrix *right;
  const double *vectors;
  const int32_t *near;
  const float *distances;
  size_t k;
} spreading;

static void spread_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const spreading *s = arg;
  size_t d = s->right->cols, k = s->k;
  for (size_t i = begin; i < end; i++) {
    const float *distance = s->distances + i * k;
    double bandwidth = fmax(1e-8, 3.0 * distance[(k + 1) / 2 - 1]), total = 0.0;
    for (int pass = 0; pass < 2; pass++)
      for (size_t a = 0; a < k; a++) {
        double relative = fmin(1.0, distance[a] / bandwidth), cube = 1.0 - relative * relative * relative;
        double weight = cube * cube * cube;
        if (pass == 0)
          total += weight;
        else
          for (size_t j = 0; j < d; j++)
            s->right->values[i * d + j] =
                (float)(s->right->values[i * d + j] + weight / total * s->vectors[(size_t)s->near[i * k + a] * d + j]);
      }
  }
}

/* Moves every right sample by what moves those near it. */
static comp_status spread(comp_context *context, comp_matrix *right, const comp_matrix *space, const double *vectors,
                          const size_t *cells, size_t n, size_t k) {
  comp_status status;
  comp_matrix *paired = NULL;
  comp_neighbors *near = NULL;
  COMP__TRY(comp_matrix_select(&paired, context, space, cells, n, NULL, 0));
  COMP__TRY(comp__neighbors_nearest(&near, context, paired, space, k));
  spreading s = {right, vectors, comp_neighbors_indices(near), comp_neighbors_distances(near), comp_neighbors_k(near)};
  comp__parallel_for(context, right->rows, CHUNK, spread_rows, &s);
done:
  comp_matrix_free(paired);
  comp_neighbors_free(near);
  return status;
}

comp_status comp__pairing_correct(comp_context *context, comp_matrix *left, comp_matrix *right,
                                  const comp_matrix *right_space, const comp__mutual *pairs, size_t k,
                                  double *overall) {
  comp_status status;
  double *vectors = NULL;
  size_t *cells = NULL;
  COMP__TRY(comp__alloc(&vectors, right->rows, right->cols * sizeof *vectors));
  COMP__TRY(comp__alloc(&cells, right->rows, sizeof *cells));
  size_t n = average(vectors, cells, left, right, pairs);
  find_overall(overall, vectors, n, right->cols);
  comp__flatten_along(left, overall);
  comp__flatten_along(right, overall);
  n = average(vectors, cells, left, right, pairs);
  COMP__TRY(spread(context, right, right_space ? right_space : right, vectors, cells, n, k));
done:
  comp__free(vectors);
  comp__free(cells);
  return status;
}
