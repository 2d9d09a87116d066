/*
 * pcr.c: principal component regression, before and after.
 *
 * The share of variance that conditions explain, summed over all principal components with their variances as weights,
 * is the share that they explain of the data itself: a rotation changes neither sum of squares. So no components are
 * computed.
 */
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "metrics/score.h"

enum { COLUMN_CHUNK = 16 };

typedef struct pcr_job {
  const comp_matrix *matrix;
  const comp__view *view; /* whose samples count: rows, condition */
  size_t conditions;
  double *total, *between; /* [cols]: sums of squares */
  double *sums;            /* [cols, conditions] */
} pcr_job;

/* Both sums of squares of a column from its sums by condition and its sum of squares. */
static void finish_column(pcr_job *job, size_t col, double squares) {
  const double *sums = job->sums + col * job->conditions;
  double sum = 0.0, between = 0.0, n = (double)job->view->n;
  for (size_t c = 0; c < job->conditions; c++) {
    if (job->view->condition_counts[c] == 0) continue;
    sum += sums[c];
    between += sums[c] * sums[c] / (double)job->view->condition_counts[c];
  }
  job->total[col] = fmax(0.0, squares - sum * sum / n);
  job->between[col] = fmax(0.0, between - sum * sum / n);
}

static void dense_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  pcr_job *job = arg;
  const comp__view *v = job->view;
  double squares[COLUMN_CHUNK] = {0};
  const float *first = job->matrix->values + v->rows[0] * job->matrix->cols; /* taken off, so that means are small */
  for (size_t i = 0; i < v->n; i++) {
    const float *row = job->matrix->values + v->rows[i] * job->matrix->cols;
    for (size_t j = begin; j < end; j++) {
      double x = (double)row[j] - (double)first[j];
      job->sums[j * job->conditions + (size_t)v->condition[i]] += x;
      squares[j - begin] += x * x;
    }
  }
  for (size_t j = begin; j < end; j++) finish_column(job, j, squares[j - begin]);
}

static comp_status sparse_columns(pcr_job *job) {
  const comp__view *v = job->view;
  const comp_matrix *m = job->matrix;
  double *squares;
  comp_status status = comp__calloc(&squares, m->cols, sizeof *squares);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < v->n; i++)
    for (int64_t e = m->indptr[v->rows[i]]; e < m->indptr[v->rows[i] + 1]; e++) {
      double x = (double)m->values[e];
      job->sums[(size_t)m->indices[e] * job->conditions + (size_t)v->condition[i]] += x;
      squares[m->indices[e]] += x * x;
    }
  for (size_t j = 0; j < m->cols; j++) finish_column(job, j, squares[j]);
  comp__free(squares);
  return COMP_OK;
}

/* The share of the variance of a matrix that conditions explain; 0 when it has none. */
static comp_status explained(double *out, comp__scoring *s, const comp_matrix *matrix, const comp__view *view) {
  comp_status status;
  pcr_job job = {.matrix = matrix, .view = view, .conditions = s->n_conditions};
  COMP__TRY(comp__calloc(&job.total, matrix->cols, sizeof *job.total));
  COMP__TRY(comp__calloc(&job.between, matrix->cols, sizeof *job.between));
  COMP__TRY(comp__calloc(&job.sums, matrix->cols * s->n_conditions, sizeof *job.sums));
  if (matrix->kind == COMP_CSR)
    COMP__TRY(sparse_columns(&job));
  else
    comp__parallel_for(s->context, matrix->cols, COLUMN_CHUNK, dense_chunk, &job);
  double total = 0.0, between = 0.0;
  for (size_t j = 0; j < matrix->cols; j++) {
    total += job.total[j];
    between += job.between[j];
  }
  *out = total > 0.0 ? between / total : 0.0;
done:
  comp__free(job.total);
  comp__free(job.between);
  comp__free(job.sums);
  return status;
}

comp_status comp__metric_pcr(comp__score_cell *out, comp__scoring *s) {
  if (!s->before) return comp__cell_fail(out, "the data before integration was not read");
  double before, after;
  comp_status status = explained(&before, s, s->before, &s->all);
  if (status != COMP_OK) return status;
  status = explained(&after, s, s->points, &s->all);
  if (status != COMP_OK) return status;
  if (!(before > 0.0))
    return comp__cell_fail(out, "conditions explain none of the variance of '%s'", s->options->before);
  out->value = fmax(0.0, (before - after) / before);
  return COMP_OK;
}
