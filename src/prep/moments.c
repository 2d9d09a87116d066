/* moments.c: sums over samples or features; ranks of a context that was joined (dist/comm.h) share them out. Nothing
 * here decides anything. */
#include "prep/moments.h"

#include <assert.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "dist/comm.h"

/* Pieces of a sum over samples. A constant, so that the order of additions never changes; as few as keep some dozens of
 * threads busy, since each needs room for all features. */
enum { PIECES = 32, ROW_CHUNK = 256 };

typedef struct sums {
  comp__samples samples;
  comp__term_fn term;
  const void *arg;
  size_t piece;    /* samples in a piece */
  size_t first;    /* sample of this rank */
  double *partial; /* [PIECES x features] */
} sums;

static void add_row(double *out, const sums *s, size_t row) {
  const comp_matrix *m = s->samples.matrix;
  if (m->kind == COMP_CSR) {
    for (int64_t k = m->indptr[row]; k < m->indptr[row + 1]; k++)
      if (m->values[k] != 0.0f) out[m->indices[k]] += s->term(s->arg, m->values[k], (size_t)m->indices[k]);
    return;
  }
  const float *values = m->values + row * m->cols;
  for (size_t col = 0; col < m->cols; col++)
    if (values[col] != 0.0f) out[col] += s->term(s->arg, values[col], col);
}

static void sum_piece(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const sums *s = arg;
  double *out = s->partial + (s->first + begin) / s->piece * s->samples.matrix->cols;
  for (size_t i = s->first + begin; i < s->first + end; i++) add_row(out, s, s->samples.rows ? s->samples.rows[i] : i);
}

comp_status comp__feature_sums(double *out, comp_context *context, comp__samples samples, comp__term_fn term,
                               const void *arg) {
  size_t features = samples.matrix->cols, room;
  size_t piece = (samples.n + PIECES - 1) / PIECES;
  if (piece == 0) piece = 1;
  size_t pieces = (samples.n + piece - 1) / piece;
  comp__comm *comm = comp__comm_of(context);
  size_t begin[COMP__MOST_RANKS + 1], part[COMP__MOST_RANKS + 1];
  comp__comm_share(begin, comm, samples.n, piece);
  comp__comm_share(part, comm, pieces, 1); /* the same pieces */
  sums s = {samples, term, arg, piece, begin[comp__comm_rank(comm)], NULL};
  if (!comp__size_mul(&room, pieces, features)) room = SIZE_MAX;
  comp_status status = comp__calloc(&s.partial, room, sizeof *s.partial);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, begin[comp__comm_rank(comm) + 1] - s.first, piece, sum_piece, &s);
  status = comp__comm_collect(comm, context, s.partial, part, features * sizeof *s.partial, COMP__TO_ALL);
  if (status != COMP_OK) {
    comp__free(s.partial);
    return status;
  }
  for (size_t j = 0; j < features; j++) out[j] = 0.0;
  for (size_t p = 0; p < pieces; p++)
    for (size_t j = 0; j < features; j++) out[j] += s.partial[p * features + j];
  comp__free(s.partial);
  return COMP_OK;
}

typedef struct moment_arg {
  comp__transform_fn transform;
  const double *mean;
} moment_arg;

static double transformed(const moment_arg *a, double value) {
  return a->transform ? a->transform(value) : value;
}

static double term_one(const void *arg, double value, size_t feature) {
  (void)arg, (void)value, (void)feature;
  return 1.0;
}

static double term_value(const void *arg, double value, size_t feature) {
  (void)feature;
  return transformed(arg, value);
}

static double term_square(const void *arg, double value, size_t feature) {
  const moment_arg *a = arg;
  double difference = transformed(a, value) - a->mean[feature];
  return difference * difference;
}

comp_status comp__feature_moments(double *mean, double *variance, double *nonzero, comp_context *context,
                                  comp__samples samples, comp__transform_fn transform) {
  comp_status status = COMP_OK;
  size_t features = samples.matrix->cols;
  double n = (double)samples.n;
  double *counts = NULL;
  moment_arg arg = {transform, mean};
  if (mean) {
    COMP__TRY(comp__feature_sums(mean, context, samples, term_value, &arg));
    for (size_t j = 0; j < features; j++) mean[j] = n > 0 ? mean[j] / n : 0.0;
  }
  if (nonzero) COMP__TRY(comp__feature_sums(nonzero, context, samples, term_one, NULL));
  if (!variance) goto done;
  assert(mean);
  COMP__TRY(comp__alloc(&counts, features, sizeof *counts));
  if (nonzero)
    memcpy(counts, nonzero, features * sizeof *counts);
  else
    COMP__TRY(comp__feature_sums(counts, context, samples, term_one, NULL));
  COMP__TRY(comp__feature_sums(variance, context, samples, term_square, &arg));
  for (size_t j = 0; j < features; j++) {
    double squares = variance[j] + (n - counts[j]) * mean[j] * mean[j];
    variance[j] = n > 1 ? squares / (n - 1) : 0.0;
  }
done:
  comp__free(counts);
  return status;
}

typedef struct row_sums {
  const comp_matrix *matrix;
  const bool *keep;
  double *sum, *nonzero;
  size_t first; /* row of this rank */
} row_sums;

static void sum_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const row_sums *r = arg;
  const comp_matrix *m = r->matrix;
  bool sparse = m->kind == COMP_CSR;
  for (size_t row = r->first + begin; row < r->first + end; row++) {
    size_t first = sparse ? (size_t)m->indptr[row] : row * m->cols;
    size_t last = sparse ? (size_t)m->indptr[row + 1] : first + m->cols;
    double sum = 0.0, nonzero = 0.0;
    for (size_t k = first; k < last; k++) {
      size_t col = sparse ? (size_t)m->indices[k] : k - first;
      if (m->values[k] == 0.0f || (r->keep && !r->keep[col])) continue;
      sum += m->values[k];
      nonzero += 1.0;
    }
    if (r->sum) r->sum[row] = sum;
    if (r->nonzero) r->nonzero[row] = nonzero;
  }
}

comp_status comp__sample_sums(double *sum, double *nonzero, comp_context *context, const comp_matrix *matrix,
                              const bool *keep) {
  comp__comm *comm = comp__comm_of(context);
  size_t begin[COMP__MOST_RANKS + 1];
  comp__comm_share(begin, comm, matrix->rows, ROW_CHUNK);
  row_sums r = {matrix, keep, sum, nonzero, begin[comp__comm_rank(comm)]};
  comp_status status = COMP_OK;
  comp__parallel_for(context, begin[comp__comm_rank(comm) + 1] - r.first, ROW_CHUNK, sum_rows, &r);
  if (sum) status = comp__comm_collect(comm, context, sum, begin, sizeof *sum, COMP__TO_ALL);
  if (nonzero && status == COMP_OK)
    status = comp__comm_collect(comm, context, nonzero, begin, sizeof *nonzero, COMP__TO_ALL);
  return status;
}
