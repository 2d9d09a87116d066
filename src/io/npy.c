/* npy.c: X as a NumPy array file: float32, C order, header version 1.0. Written only. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "io/format.h"
#include "io/sink.h"

enum { HEADER_SIZE = 128, BLOCK_BYTES = 8 * 1024 * 1024, ROW_CHUNK = 64 };

/* The ten bytes of magic, version and length, then a Python dictionary padded with spaces to 64 bytes. */
static void make_header(char *out, size_t rows, size_t cols) {
  const int text_size = HEADER_SIZE - 10;
  memset(out, ' ', HEADER_SIZE);
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)text_size;
  out[9] = 0;
  char text[HEADER_SIZE];
  int n = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, cols);
  memcpy(out + 10, text, (size_t)n);
  out[HEADER_SIZE - 1] = '\n';
}

typedef struct block {
  const comp_matrix *matrix;
  size_t first;
  float *dense;
} block;

/* Little-endian machines only, which is all that this library builds for. */
static void fill_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const block *b = arg;
  size_t cols = b->matrix->cols;
  memset(b->dense + begin * cols, 0, (end - begin) * cols * sizeof(float));
  for (size_t i = begin; i < end; i++)
    for (int64_t k = b->matrix->indptr[b->first + i]; k < b->matrix->indptr[b->first + i + 1]; k++)
      b->dense[i * cols + (size_t)b->matrix->indices[k]] = b->matrix->values[k];
}

static comp_status write_sparse(comp__sink *sink, comp_context *context, const comp_matrix *m) {
  comp_status status;
  block b = {m, 0, NULL};
  size_t step = m->cols ? BLOCK_BYTES / sizeof(float) / m->cols + 1 : m->rows + 1;
  COMP__TRY(comp__alloc(&b.dense, step, m->cols * sizeof(float)));
  for (; b.first < m->rows; b.first += step) {
    size_t n = m->rows - b.first < step ? m->rows - b.first : step;
    comp__parallel_for(context, n, ROW_CHUNK, fill_rows, &b);
    COMP__TRY(comp__sink_write(sink, b.dense, n * m->cols * sizeof(float)));
    COMP__TRY(comp__check_interrupt(context));
  }
done:
  comp__free(b.dense);
  return status;
}

static comp_status write_npy(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                             const comp__write_options *options) {
  (void)options;
  comp_status status;
  comp__sink sink = COMP__SINK_INIT;
  const comp_matrix *x = dataset->x;
  char header[HEADER_SIZE];
  if (!x) COMP__FAIL(COMP_ERR_DATA, "cannot write %s: the data set has no X", name);
  make_header(header, x->rows, x->cols);
  COMP__TRY(comp__sink_open(&sink, path, name));
  COMP__TRY(comp__sink_write(&sink, header, sizeof header));
  if (x->kind == COMP_DENSE)
    COMP__TRY(comp__sink_write(&sink, x->values, x->rows * x->cols * sizeof(float)));
  else
    COMP__TRY(write_sparse(&sink, context, x));
  COMP__TRY(comp__sink_close(&sink));
done:
  comp__sink_abort(&sink);
  return status;
}

static comp_status probe_npy(bool *is, const comp__peek *peek) {
  (void)peek;
  *is = false;
  return COMP_OK;
}

const comp__format comp__format_npy = {
    .name = "npy",
    .description = "NumPy array (X alone)",
    .extensions = ".npy",
    .probe = probe_npy,
    .write = write_npy,
};
