/* gather.c: rows of a matrix as a batch: a copy of its own, contiguous, with a transpose when it is sparse and trained
 * on. Rows of dense data that are read as they are need no copy. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "train/loader.h"

static comp_status new_like(comp_matrix **out, const comp_matrix *x, size_t rows, size_t nnz) {
  comp_matrix_free(*out);
  *out = NULL;
  if (x->kind == COMP_DENSE) return comp__matrix_new_dense_raw(out, rows, x->cols);
  return comp_matrix_new_csr(out, rows, x->cols, nnz);
}

static size_t count_entries(const comp_matrix *x, const size_t *rows, size_t n) {
  if (x->kind == COMP_DENSE) return n * x->cols;
  size_t nnz = 0;
  for (size_t i = 0; i < n; i++) nnz += (size_t)(x->indptr[rows[i] + 1] - x->indptr[rows[i]]);
  return nnz;
}

/* Makes room for n rows with nnz entries; what is there already is used again when it is large enough. */
static comp_status reserve(comp__gather *g, const comp_matrix *x, size_t n, size_t nnz, bool transpose) {
  comp_status status = COMP_OK;
  if (n > g->capacity || nnz > g->nnz_capacity) {
    size_t rows = n > g->capacity ? n : g->capacity, entries = nnz > g->nnz_capacity ? nnz + nnz / 8 : g->nnz_capacity;
    comp__free(g->ids);
    comp__free(g->library);
    g->ids = NULL;
    g->library = NULL;
    g->capacity = g->nnz_capacity = 0;
    COMP__TRY(new_like(&g->x, x, rows, entries));
    if (g->counts) COMP__TRY(new_like(&g->input, x, rows, entries));
    COMP__TRY(comp__alloc(&g->ids, rows, sizeof *g->ids));
    COMP__TRY(comp__alloc(&g->library, rows, sizeof *g->library));
    g->capacity = rows;
    g->nnz_capacity = entries;
  }
  if (transpose && x->kind == COMP_CSR && nnz > g->transposed_capacity) {
    comp_matrix_free(g->input_t);
    comp__free(g->fill);
    g->input_t = NULL;
    g->fill = NULL;
    g->transposed_capacity = 0;
    COMP__TRY(comp_matrix_new_csr(&g->input_t, x->cols, n, g->nnz_capacity));
    COMP__TRY(comp__alloc(&g->fill, x->cols, sizeof *g->fill));
    g->transposed_capacity = g->nnz_capacity;
  }
done:
  return status;
}

typedef struct copy_job {
  comp__gather *gather;
  const comp_matrix *x;
  const size_t *rows;
} copy_job;

float comp__scale_counts(float *out, const float *in, size_t n, float target) {
  double total = 0.0;
  for (size_t k = 0; k < n; k++) total += in[k];
  float library = (float)fmax(total, 1.0), factor = target / library;
  for (size_t k = 0; k < n; k++) out[k] = log1pf(in[k] * factor);
  return library;
}

static void copy_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const copy_job *job = arg;
  comp__gather *g = job->gather;
  const comp_matrix *x = job->x;
  for (size_t i = begin; i < end; i++) {
    size_t row = job->rows[i];
    size_t from = x->kind == COMP_CSR ? (size_t)x->indptr[row] : row * x->cols;
    size_t to = x->kind == COMP_CSR ? (size_t)g->x->indptr[i] : i * x->cols;
    size_t n = x->kind == COMP_CSR ? (size_t)x->indptr[row + 1] - from : x->cols;
    memcpy(g->x->values + to, x->values + from, n * sizeof(float));
    if (x->kind == COMP_CSR) memcpy(g->x->indices + to, x->indices + from, n * sizeof(int32_t));
    g->ids[i] = row;
    if (!g->counts) continue;
    g->library[i] = comp__scale_counts(g->input->values + to, x->values + from, n, g->library_target);
    if (x->kind == COMP_CSR) memcpy(g->input->indices + to, x->indices + from, n * sizeof(int32_t));
  }
}

/* A counting sort by column. One thread: it is short beside the products. */
static void transpose_into(comp_matrix *to, size_t *fill, const comp_matrix *from) {
  memset(to->indptr, 0, (to->rows + 1) * sizeof *to->indptr);
  int64_t nnz = from->indptr[from->rows];
  for (int64_t k = 0; k < nnz; k++) to->indptr[from->indices[k] + 1]++;
  for (size_t c = 0; c < to->rows; c++) {
    to->indptr[c + 1] += to->indptr[c];
    fill[c] = (size_t)to->indptr[c];
  }
  for (size_t row = 0; row < from->rows; row++)
    for (int64_t k = from->indptr[row]; k < from->indptr[row + 1]; k++) {
      size_t at = fill[from->indices[k]]++;
      to->indices[at] = (int32_t)row;
      to->values[at] = from->values[k];
    }
}

static comp_status view(comp__batch *out, comp__gather *g, const comp_matrix *x, const size_t *rows, size_t n,
                        const size_t *start) {
  if (n > g->capacity) {
    comp__free(g->ids);
    g->ids = NULL;
    g->capacity = 0;
    comp_status status = comp__alloc(&g->ids, n, sizeof *g->ids);
    if (status != COMP_OK) return status;
    g->capacity = n;
  }
  for (size_t i = 0; i < n; i++) g->ids[i] = rows[i];
  *out = (comp__batch){.rows = n, .x = x, .input = x, .start = start, .ids = g->ids, .take = rows};
  return COMP_OK;
}

comp_status comp__gather_rows(comp__batch *out, comp_context *context, comp__gather *g, const comp_matrix *x,
                              const size_t *rows, size_t n, const size_t *start, bool transpose) {
  if (x->kind == COMP_DENSE && !g->counts) return view(out, g, x, rows, n, start);
  comp_status status = reserve(g, x, n, count_entries(x, rows, n), transpose);
  if (status != COMP_OK) return status;
  bool sparse = x->kind == COMP_CSR;
  comp_matrix *parts[2] = {g->x, g->counts ? g->input : NULL};
  for (int p = 0; p < 2 && parts[p]; p++) {
    parts[p]->rows = n;
    for (size_t i = 0; sparse && i < n; i++)
      parts[p]->indptr[i + 1] = parts[p]->indptr[i] + x->indptr[rows[i] + 1] - x->indptr[rows[i]];
  }
  copy_job job = {g, x, rows};
  comp__parallel_for(context, n, 32, copy_rows, &job);
  const comp_matrix *input = g->counts ? g->input : g->x;
  if (transpose && sparse) {
    g->input_t->cols = n;
    transpose_into(g->input_t, g->fill, input);
  }
  *out = (comp__batch){.rows = n,
                       .x = g->x,
                       .input = input,
                       .input_t = transpose && sparse ? g->input_t : NULL,
                       .start = start,
                       .ids = g->ids,
                       .library = g->library};
  return COMP_OK;
}

void comp__gather_release(comp__gather *gather) {
  comp_matrix_free(gather->x);
  comp_matrix_free(gather->input);
  comp_matrix_free(gather->input_t);
  comp__free(gather->fill);
  comp__free(gather->ids);
  comp__free(gather->library);
  *gather = (comp__gather){0};
}
