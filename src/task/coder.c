/* coder.c: encoder and decoder over blocks of rows. A block is read, encoded and decoded by one thread, so that its
 * activations stay in that thread's cache. */
#include "task/coder.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "dist/comm.h"
#include "model/moves.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"
#include "train/loader.h"
#include "train/precision.h"

/* Rows between two looks at the clock and at Ctrl-C. */
enum { ROWS_A_REPORT = 64 * COMP__BLOCK_ROWS };

/* What one thread works with. */
typedef struct worker {
  comp__work *work;
  comp__block block;
  float *z;       /* [COMP__BLOCK_ROWS, latent] in the order of a block */
  float *output;  /* [COMP__BLOCK_ROWS, features] likewise */
  size_t *order;  /* [COMP__BLOCK_ROWS] */
  size_t *start;  /* [levels + 1] */
  size_t entries; /* capacity of the arrays of a sparse block */
  bool dense;     /* the block's arrays are those of a dense one */
} worker;

struct comp__coder {
  const comp_model *model;
  comp__state state;
  worker *workers;
  int threads;
};

static size_t latent_of(const comp__coder *c) {
  return c->model->network.options.latent;
}

static comp_status new_worker(worker *w, const comp_model *model, bool bf16) {
  size_t latent = model->network.options.latent, levels = model->network.conditions, rows = COMP__BLOCK_ROWS;
  comp_status status;
  COMP__TRY(comp__work_new(&w->work, &model->network, rows, bf16, false));
  COMP__TRY(comp__alloc(&w->z, rows * latent, sizeof(float)));
  COMP__TRY(comp__alloc(&w->order, rows, sizeof(size_t)));
  COMP__TRY(comp__alloc(&w->start, levels + 1, sizeof(size_t)));
  COMP__TRY(comp__alloc(&w->block.order, rows, sizeof(size_t)));
  COMP__TRY(comp__alloc(&w->block.start, levels + 1, sizeof(size_t)));
  COMP__TRY(comp__alloc(&w->block.library, rows, sizeof(float)));
  COMP__TRY(comp__alloc(&w->block.mean, rows * latent, sizeof(float)));
  COMP__TRY(comp__alloc(&w->block.scale, rows * latent, sizeof(float)));
done:
  return status;
}

static void release_arrays(comp__block *b) {
  if (b->input.values != b->x.values) comp__free(b->input.values);
  comp__free(b->x.values);
  comp__free(b->x.indptr);
  comp__free(b->x.indices);
  b->x = b->input = (comp_matrix){0};
}

static void release_worker(worker *w) {
  comp__work_free(w->work);
  comp__free(w->z);
  comp__free(w->output);
  comp__free(w->order);
  comp__free(w->start);
  comp__free(w->block.order);
  comp__free(w->block.start);
  comp__free(w->block.library);
  comp__free(w->block.mean);
  comp__free(w->block.scale);
  release_arrays(&w->block);
}

comp_status comp__coder_new(comp__coder **out, comp_context *context, const comp_model *model,
                            comp_precision precision) {
  *out = NULL;
  comp__coder *c;
  const bool bf16 = comp__precision_find(precision)->bf16;
  comp_status status = bf16 ? comp__matmul_bf16_check() : COMP_OK;
  if (status == COMP_OK) status = comp__calloc(&c, 1, sizeof *c);
  if (status != COMP_OK) return status;
  c->model = model;
  c->threads = comp_context_thread_count(context);
  c->state = (comp__state){.params = model->params, .buffers = model->buffers};
  if (bf16) {
    size_t size = model->network.params.size;
    COMP__TRY(comp__alloc(&c->state.half, size, sizeof(uint16_t)));
    comp__f32_to_bf16(c->state.half, model->params, size);
  }
  COMP__TRY(comp__calloc(&c->workers, (size_t)c->threads, sizeof *c->workers));
  for (int t = 0; t < c->threads; t++) COMP__TRY(new_worker(&c->workers[t], model, bf16));
  *out = c;
done:
  if (status != COMP_OK) comp__coder_free(c);
  return status;
}

void comp__coder_free(comp__coder *c) {
  if (!c) return;
  for (int t = 0; c->workers && t < c->threads; t++) release_worker(&c->workers[t]);
  comp__free(c->workers);
  comp__free(c->state.half);
  comp__free(c);
}

/* ---- Reading a block ---- */

/* Lists the wanted samples of begin .. end - 1 by condition; without conditions all are of the first. */
static void sort_rows(comp__block *b, size_t levels, const int32_t *codes, size_t begin, size_t end,
                      const int8_t *only) {
  size_t at = 0;
  for (size_t k = 0; k < levels; k++) {
    b->start[k] = at;
    for (size_t i = begin; i < end; i++)
      if ((!only || only[i]) && (codes ? codes[i] == (int32_t)k : k == 0)) b->order[at++] = i;
  }
  b->start[levels] = b->rows = at;
}

static comp_status reserve(worker *w, const comp__aligned *f, size_t entries) {
  comp__block *b = &w->block;
  bool dense = f->x->kind == COMP_DENSE, counts = f->model->network.likelihood->counts;
  comp_status status = COMP_OK;
  if (!b->x.values || dense != w->dense || entries > w->entries) {
    size_t room = entries + entries / 4;
    release_arrays(b);
    w->entries = 0;
    COMP__TRY(comp__alloc(&b->x.values, room, sizeof(float)));
    if (counts) COMP__TRY(comp__alloc(&b->input.values, room, sizeof(float)));
    if (!dense) {
      COMP__TRY(comp__alloc(&b->x.indices, room, sizeof(int32_t)));
      COMP__TRY(comp__alloc(&b->x.indptr, COMP__BLOCK_ROWS + 1, sizeof(int64_t)));
    }
    w->dense = dense;
    w->entries = room;
  }
  b->x.kind = f->x->kind;
  b->x.rows = b->rows;
  b->x.cols = f->model->network.features;
  float *input = counts ? b->input.values : b->x.values;
  b->input = b->x;
  b->input.values = input;
done:
  return status;
}

static size_t most_entries(const comp__aligned *f, const comp__block *b) {
  if (f->x->kind == COMP_DENSE) return b->rows * f->model->network.features;
  size_t n = b->rows * f->n_missing;
  for (size_t r = 0; r < b->rows; r++) n += (size_t)(f->x->indptr[b->order[r] + 1] - f->x->indptr[b->order[r]]);
  return n;
}

/* The centre of the condition of a sample, as a centred model takes it off; NULL: the model is not centred. */
static const float *centre_of(const comp__aligned *f, size_t sample) {
  const comp__network *n = &f->model->network;
  if (!n->options.centred || !f->codes || f->codes[sample] < 0) return NULL;
  return f->model->buffers + n->centre + (size_t)f->codes[sample] * n->features;
}

const float *comp__aligned_fill(const comp__aligned *f, size_t sample) {
  const float *centre = f->model->network.likelihood->counts ? NULL : centre_of(f, sample);
  return centre ? centre : f->model->feature_means;
}

static void dense_row(float *out, const comp__aligned *f, size_t sample) {
  const float *from = f->x->values + sample * f->x->cols;
  if (!f->place) {
    memcpy(out, from, f->x->cols * sizeof(float));
    return;
  }
  const float *fill = comp__aligned_fill(f, sample);
  for (size_t m = 0; m < f->n_missing; m++) out[f->missing[m]] = fill[f->missing[m]];
  for (size_t j = 0; j < f->x->cols; j++)
    if (f->place[j] >= 0) out[f->place[j]] = from[j];
}

/* Appends a row to the arrays; gives the number of its entries. */
static size_t sparse_row(float *values, int32_t *indices, const comp__aligned *f, size_t sample) {
  size_t begin = (size_t)f->x->indptr[sample], end = (size_t)f->x->indptr[sample + 1], n = 0;
  if (!f->place) {
    memcpy(values, f->x->values + begin, (end - begin) * sizeof *values);
    memcpy(indices, f->x->indices + begin, (end - begin) * sizeof *indices);
    return end - begin;
  }
  for (size_t k = begin; k < end; k++) {
    int32_t g = f->place[f->x->indices[k]];
    if (g < 0) continue;
    indices[n] = g;
    values[n++] = f->x->values[k];
  }
  const float *fill = comp__aligned_fill(f, sample);
  for (size_t m = 0; m < f->n_missing; m++) {
    int32_t g = f->missing[m];
    if (fill[g] == 0.0f) continue;
    indices[n] = g;
    values[n++] = fill[g];
  }
  return n;
}

/* The same for what is read of counts: the features that were filled in, which a sparse row has at its end. */
static void fill_inputs(float *input, size_t n, const comp__aligned *f, size_t sample) {
  const float *centre = centre_of(f, sample), *fill = comp__aligned_fill(f, sample);
  if (!centre) return;
  for (size_t m = f->n_missing; m-- > 0;) {
    int32_t g = f->missing[m];
    if (f->x->kind == COMP_DENSE)
      input[g] = centre[g];
    else if (fill[g] != 0.0f)
      input[--n] = centre[g];
  }
}

static comp_status read_rows(worker *w, const comp__aligned *f) {
  comp__block *b = &w->block;
  comp_status status = reserve(w, f, most_entries(f, b));
  if (status != COMP_OK) return status;
  size_t at = 0, n;
  for (size_t r = 0; r < b->rows; r++, at += n) {
    if (f->x->kind == COMP_DENSE) {
      n = b->x.cols;
      dense_row(b->x.values + at, f, b->order[r]);
    } else {
      n = sparse_row(b->x.values + at, b->x.indices + at, f, b->order[r]);
      b->x.indptr[r] = (int64_t)at;
      b->x.indptr[r + 1] = (int64_t)(at + n);
    }
    if (!f->model->network.likelihood->counts) continue;
    b->library[r] = comp__scale_counts(b->input.values + at, b->x.values + at, n, f->model->library_target);
    fill_inputs(b->input.values + at, n, f, b->order[r]);
  }
  return COMP_OK;
}

comp_status comp__block_read(comp__block **out, comp__coder *coder, const comp__aligned *aligned, size_t begin,
                             size_t end, const int8_t *only, int thread) {
  worker *w = &coder->workers[thread];
  *out = &w->block;
  sort_rows(&w->block, coder->model->network.conditions, aligned->codes, begin, end, only);
  return read_rows(w, aligned);
}

void comp__aligned_row(float *out, const comp__aligned *f, size_t sample) {
  if (f->x->kind == COMP_DENSE) {
    dense_row(out, f, sample);
    return;
  }
  const float *fill = comp__aligned_fill(f, sample);
  memset(out, 0, f->model->network.features * sizeof *out);
  for (size_t m = 0; m < f->n_missing; m++) out[f->missing[m]] = fill[f->missing[m]];
  for (int64_t k = f->x->indptr[sample]; k < f->x->indptr[sample + 1]; k++) {
    int32_t g = f->place ? f->place[f->x->indices[k]] : f->x->indices[k];
    if (g >= 0) out[g] = f->x->values[k];
  }
}

/* ---- Running a block ---- */

static bool all_finite(const float *values, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

comp_status comp__block_encode(comp_context *context, comp__coder *coder, comp__block *block, int thread) {
  if (block->rows == 0) return COMP_OK;
  comp__batch batch = {
      .rows = block->rows, .x = &block->x, .input = &block->input, .start = block->start, .library = block->library};
  comp_status status = comp__network_encode(context, &coder->model->network, &coder->state, &batch,
                                            coder->workers[thread].work, block->mean, block->scale);
  const size_t levels = coder->model->network.conditions;
  for (size_t k = levels - coder->model->network.added; status == COMP_OK && k < levels; k++)
    comp__moves_apply(coder->model, k, block->mean + block->start[k] * latent_of(coder),
                      block->start[k + 1] - block->start[k]);
  if (status == COMP_OK && !(all_finite(block->mean, block->rows * latent_of(coder)) &&
                             all_finite(block->scale, block->rows * latent_of(coder))))
    return comp__error(COMP_ERR_NUMERIC, "the encoder gave a value that is not finite: values of X are too large, or "
                                         "the model file is damaged");
  return status;
}

comp_status comp__block_decode(comp_context *context, comp__coder *coder, float *out, const float *z,
                               const size_t *start, const float *library, size_t rows, int thread) {
  if (rows == 0) return COMP_OK;
  comp__batch batch = {.rows = rows, .start = start, .library = library};
  comp_status status =
      comp__network_decode(context, &coder->model->network, &coder->state, &batch, coder->workers[thread].work, z, out);
  if (status == COMP_OK && !all_finite(out, rows * coder->model->network.features))
    return comp__error(COMP_ERR_NUMERIC, "the decoder gave a value that is not finite: the model file is damaged");
  return status;
}

/* ---- All rows ---- */

typedef struct encode_job {
  comp_context *context;
  comp__coder *coder;
  const comp__aligned *aligned;
  float *mean, *scale;
  size_t offset; /* of the first row of this part */
} encode_job;

static comp_status encode_rows(void *arg, size_t begin, size_t end, int thread) {
  const encode_job *job = arg;
  size_t latent = latent_of(job->coder);
  comp__block *b;
  comp_status status =
      comp__block_read(&b, job->coder, job->aligned, job->offset + begin, job->offset + end, NULL, thread);
  if (status == COMP_OK) status = comp__block_encode(job->context, job->coder, b, thread);
  for (size_t r = 0; status == COMP_OK && r < b->rows; r++) {
    memcpy(job->mean + b->order[r] * latent, b->mean + r * latent, latent * sizeof(float));
    if (job->scale) memcpy(job->scale + b->order[r] * latent, b->scale + r * latent, latent * sizeof(float));
  }
  return status;
}

comp_status comp__encode(comp_context *context, comp__coder *coder, const comp__aligned *aligned, float *mean,
                         float *scale) {
  comp__comm *comm = comp__comm_of(context);
  size_t begin[COMP__MOST_RANKS + 1];
  comp__comm_share(begin, comm, aligned->samples, COMP__BLOCK_ROWS);
  const size_t end = begin[comp__comm_rank(comm) + 1];
  encode_job job = {context, coder, aligned, mean, scale, begin[comp__comm_rank(comm)]};
  comp_status status = COMP_OK;
  comp__progress_begin(context, "encoding", "samples", aligned->samples);
  for (; status == COMP_OK && job.offset < end; job.offset += ROWS_A_REPORT) {
    size_t left = end - job.offset;
    comp__progress_update(context, job.offset, NULL);
    status = comp__check_interrupt(context);
    if (status == COMP_OK)
      status =
          comp__parallel_try(context, left < ROWS_A_REPORT ? left : ROWS_A_REPORT, COMP__BLOCK_ROWS, encode_rows, &job);
  }
  const size_t row = latent_of(coder) * sizeof *mean;
  if (status == COMP_OK) status = comp__comm_collect(comm, context, mean, begin, row, COMP__TO_ALL);
  if (status == COMP_OK && scale) status = comp__comm_collect(comm, context, scale, begin, row, COMP__TO_ALL);
  if (status == COMP_OK) comp__progress_update(context, aligned->samples, NULL);
  comp__progress_end(context);
  return status;
}

typedef struct decode_job {
  comp_context *context;
  comp__coder *coder;
  float *out;
  const float *z, *library;
  const int32_t *codes;
  int32_t code;
} decode_job;

static comp_status decode_rows(void *arg, size_t begin, size_t end, int thread) {
  const decode_job *job = arg;
  worker *w = &job->coder->workers[thread];
  size_t latent = latent_of(job->coder), features = job->coder->model->network.features, at = 0;
  size_t levels = job->coder->model->network.conditions;
  comp_status status = COMP_OK;
  if (!w->output) status = comp__alloc(&w->output, COMP__BLOCK_ROWS * features, sizeof(float));
  if (status != COMP_OK) return status;
  for (size_t k = 0; k < levels; k++) {
    w->start[k] = at;
    for (size_t i = begin; i < end; i++)
      if ((job->codes ? job->codes[i] : job->code) == (int32_t)k) w->order[at++] = i;
  }
  w->start[levels] = at;
  if (at != end - begin) return comp__error(COMP_ERR_ARGUMENT, "a condition to decode under does not exist");
  for (size_t r = 0; r < at; r++) {
    memcpy(w->z + r * latent, job->z + w->order[r] * latent, latent * sizeof(float));
    if (job->library) w->block.library[r] = job->library[w->order[r]];
  }
  status = comp__block_decode(job->context, job->coder, w->output, w->z, w->start, w->block.library, at, thread);
  for (size_t r = 0; status == COMP_OK && r < at; r++)
    memcpy(job->out + w->order[r] * features, w->output + r * features, features * sizeof(float));
  return status;
}

comp_status comp__decode(comp_context *context, comp__coder *coder, float *out, const float *z, const int32_t *codes,
                         int32_t code, const float *library, size_t rows) {
  decode_job job = {context, coder, out, z, library, codes, code};
  if (coder->model->network.likelihood->counts && !library)
    return comp__error(COMP_ERR_ARGUMENT, "a negative binomial model needs library sizes to decode");
  return comp__parallel_try(context, rows, COMP__BLOCK_ROWS, decode_rows, &job);
}
