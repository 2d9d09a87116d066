/* members.c: see members.h. */
#include "train/members.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"

/* Members are at most this many, and as many numbers of X (the rows are made dense once). */
enum { MOST_MEMBERS = 8192, LEAST_MEMBERS = 1000, MOST_NUMBERS = 1 << 25, READ_ROWS = 256 };

comp__crowd comp__members_crowd(const comp_groups *groups) {
  return (comp__crowd){
      .n = groups->rows, .conditions = groups->n_levels, .codes = groups->codes, .counts = groups->counts};
}

static comp_status choose(comp__members *m, const comp_groups *groups) {
  const comp__crowd crowd = comp__members_crowd(groups);
  size_t most = MOST_NUMBERS / m->features;
  most = most > MOST_MEMBERS ? MOST_MEMBERS : most < LEAST_MEMBERS ? LEAST_MEMBERS : most;
  comp_status status;
  COMP__TRY(comp__calloc(&m->start, m->conditions + 1, sizeof *m->start));
  COMP__TRY(comp__alloc(&m->follows, m->samples, sizeof *m->follows));
  COMP__TRY(comp__members_choose(&m->member, m->start, m->follows, &crowd, most));
  m->n = m->start[m->conditions];
done:
  return status;
}

typedef struct reading {
  comp__members *members;
  size_t *lengths; /* [n] entries of their rows; of a CSR X */
  size_t entries;  /* all of them; SIZE_MAX: X is dense */
} reading;

/* Counts the entries of members, then copies them. */
static comp_status read_block(void *arg, const comp_matrix *x, size_t first) {
  reading *r = arg;
  comp__members *m = r->members;
  for (size_t i = 0; i < x->rows; i++) {
    const int32_t place = m->follows[first + i];
    if (place < 0) continue;
    const size_t begin = comp__matrix_row_begin(x, i), n = comp__matrix_row_begin(x, i + 1) - begin;
    if (!m->x) {
      r->lengths[place] = n;
      r->entries += n;
      continue;
    }
    memcpy(m->x->values + comp__matrix_row_begin(m->x, (size_t)place), x->values + begin, n * sizeof(float));
    if (x->kind == COMP_CSR)
      memcpy(m->x->indices + comp__matrix_row_begin(m->x, (size_t)place), x->indices + begin, n * sizeof(int32_t));
  }
  if (!m->x && x->kind == COMP_DENSE) r->entries = SIZE_MAX;
  return COMP_OK;
}

/* Two passes: how much, and what. */
static comp_status read_all(comp__members *m, comp_context *context, const comp_matrix *x, comp__stream *stream) {
  reading r = {.members = m};
  comp_status status;
  COMP__TRY(comp__calloc(&r.lengths, m->n, sizeof *r.lengths));
  COMP__TRY(comp__scan(context, x, stream, read_block, &r));
  if (r.entries == SIZE_MAX)
    COMP__TRY(comp__matrix_new_dense_raw(&m->x, m->n, m->features));
  else
    COMP__TRY(comp_matrix_new_csr(&m->x, m->n, m->features, r.entries));
  for (size_t i = 0; i < m->n && m->x->kind == COMP_CSR; i++)
    m->x->indptr[i + 1] = m->x->indptr[i] + (int64_t)r.lengths[i];
  COMP__TRY(comp__scan(context, x, stream, read_block, &r));
done:
  comp__free(r.lengths);
  return status;
}

comp_status comp__members_take(comp__members *out, comp_context *context, const comp_model *model, const comp_matrix *x,
                               comp__stream *stream, const comp_groups *groups) {
  comp_status status;
  *out = (comp__members){.samples = groups->rows, .conditions = groups->n_levels, .features = model->network.features};
  out->gather.counts = model->network.likelihood->counts;
  out->gather.library_target = model->library_target;
  COMP__TRY(choose(out, groups));
  COMP__TRY(comp__alloc(&out->rows, out->n, sizeof *out->rows));
  COMP__TRY(comp__calloc(&out->cut, out->conditions + 1, sizeof *out->cut));
  for (size_t i = 0; i < out->n; i++) out->rows[i] = i;
  COMP__TRY(read_all(out, context, x, stream));
done:
  if (status != COMP_OK) comp__members_release(out);
  return status;
}

void comp__members_release(comp__members *m) {
  comp__free(m->member);
  comp__free(m->start);
  comp__free(m->follows);
  comp_matrix_free(m->x);
  comp__free(m->rows);
  comp__free(m->cut);
  comp__gather_release(&m->gather);
  *m = (comp__members){0};
}

comp_status comp__members_read(float *out, comp_context *context, comp__members *m, const comp_matrix *x,
                               const size_t *rows, size_t n) {
  comp__batch batch;
  memset(m->cut, 0, (m->conditions + 1) * sizeof *m->cut); /* a batch must have it, though nothing reads it here */
  comp_status status = comp__gather_rows(&batch, context, &m->gather, x, rows, n, m->cut, false);
  if (status != COMP_OK) return status;
  const comp_matrix *in = batch.input;
  if (in->kind == COMP_CSR) memset(out, 0, n * in->cols * sizeof *out);
  for (size_t i = 0; i < n; i++) {
    if (in->kind == COMP_DENSE) {
      memcpy(out + i * in->cols, comp__batch_row(&batch, in, i), in->cols * sizeof *out);
      continue;
    }
    for (size_t e = comp__matrix_row_begin(in, i); e < comp__matrix_row_begin(in, i + 1); e++)
      out[i * in->cols + (size_t)in->indices[e]] = in->values[e];
  }
  return COMP_OK;
}

comp_status comp__members_dense(float *out, comp_context *context, comp__members *m) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < m->n && status == COMP_OK; i += READ_ROWS)
    status = comp__members_read(out + i * m->features, context, m, m->x, m->rows + i,
                                m->n - i < READ_ROWS ? m->n - i : READ_ROWS);
  return status;
}
