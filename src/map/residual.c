/* residual.c: see residual.h. */
#include "map/residual.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/threads.h"
#include "map/sampled.h"
#include "task/coder.h"

typedef struct measuring {
  comp_context *context;
  comp__coder *coder;
  const comp__aligned *aligned;
  const int8_t *skip; /* [features] */
  float *expected;    /* [threads, block rows, features] */
  float *row;         /* [threads, features] */
  float *out;
} measuring;

static float mean_square(const measuring *m, const float *input, const float *expected, float factor) {
  const size_t features = m->aligned->model->network.features;
  double sum = 0.0;
  for (size_t g = 0; g < features; g++) {
    if (m->skip[g]) continue;
    const double d = (double)input[g] - (double)(factor > 0.0f ? log1pf(factor * expected[g]) : expected[g]);
    sum += d * d;
  }
  return (float)(sum / (double)(features - m->aligned->n_missing));
}

static comp_status measure_rows(void *arg, size_t begin, size_t end, int thread) {
  const measuring *m = arg;
  const comp_model *model = m->aligned->model;
  const size_t features = model->network.features;
  const bool counts = model->network.likelihood->counts;
  float *expected = m->expected + (size_t)thread * COMP__BLOCK_ROWS * features,
        *row = m->row + (size_t)thread * features;
  comp__block *b;
  comp_status status;
  COMP__TRY(comp__block_read(&b, m->coder, m->aligned, begin, end, NULL, thread));
  COMP__TRY(comp__block_encode(m->context, m->coder, b, thread));
  COMP__TRY(comp__block_decode(m->context, m->coder, expected, b->mean, b->start, b->library, b->rows, thread));
  for (size_t i = 0; i < b->rows; i++) {
    comp__dense_row(row, &b->input, i);
    m->out[b->order[i]] =
        mean_square(m, row, expected + i * features, counts ? model->library_target / b->library[i] : 0);
  }
done:
  return status;
}

comp_status comp__residuals(float *out, comp_context *context, const comp__aligned *aligned) {
  const size_t features = aligned->model->network.features, threads = (size_t)comp_context_thread_count(context);
  measuring m = {.context = context, .aligned = aligned, .out = out};
  int8_t *skip = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&skip, features, sizeof *skip));
  for (size_t i = 0; i < aligned->n_missing; i++) skip[aligned->missing[i]] = 1;
  m.skip = skip;
  COMP__TRY(comp__alloc(&m.expected, threads * COMP__BLOCK_ROWS * features, sizeof *m.expected));
  COMP__TRY(comp__alloc(&m.row, threads * features, sizeof *m.row));
  COMP__TRY(comp__coder_new(&m.coder, context, aligned->model, COMP_PRECISION_F32));
  COMP__TRY(comp__parallel_try(context, aligned->samples, COMP__BLOCK_ROWS, measure_rows, &m));
done:
  comp__coder_free(m.coder);
  comp__free(skip);
  comp__free(m.expected);
  comp__free(m.row);
  return status;
}
