/* shards.c: see shards.h. */
#include "model/shards.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "dist/tree.h"
#include "model/bound.h"

/* Takes a piece, or, while the block is not there yet, only counts it. */
static void *piece(comp__shards *s, bool wanted, size_t rows, size_t cols, size_t size) {
  size_t count;
  if (!wanted) return NULL;
  if (!comp__size_mul(&count, rows, cols)) count = SIZE_MAX;
  if (s->workspace.base) return comp__workspace_take(&s->workspace, count, size);
  if (!comp__size_add(&s->workspace.size, s->workspace.size, comp__workspace_size(count, size)))
    s->workspace.size = SIZE_MAX;
  return NULL;
}

/* All pieces in one place: run once to count, once to take. */
static void lay_out(comp__shards *s, const comp__network *n, size_t rows) {
  const comp__model_options *o = &n->options;
  const comp__penalty *penalty = comp__penalty_find(o->penalty);
  size_t widest = o->latent;
  for (size_t l = 0; l < o->n_hidden; l++)
    if (o->hidden[l] > widest) widest = o->hidden[l];
  const size_t dims = o->place == COMP_PLACE_HIDDEN && o->n_hidden > 0 ? n->decoder[0].dense.out : o->latent;
  s->moments = piece(s, true, 2 * s->total, widest, sizeof(float));
  s->mean = piece(s, true, 1, widest, sizeof(float));
  s->variance = piece(s, true, 1, widest, sizeof(float));
  s->values = piece(s, penalty, rows, dims, sizeof(float));
  s->means = piece(s, penalty, rows, dims, sizeof(float));
  s->scales = piece(s, penalty && o->learn_scale, rows, dims, sizeof(float));
  s->d_values = piece(s, penalty, rows, dims, sizeof(float));
  s->d_means = piece(s, penalty, rows, dims, sizeof(float));
  s->d_scales = piece(s, penalty && o->learn_scale, rows, dims, sizeof(float));
  s->lengths = piece(s, o->bound > 0, rows, 1, sizeof(float));
  s->spare_lengths = piece(s, o->bound > 0, rows, 1, sizeof(float));
  s->sums = piece(s, true, s->total, COMP__SUMS, sizeof(double));
  s->buffers = piece(s, true, n->buffers.size, 1, sizeof(float));
  s->tree = piece(s, true, comp__tree_scratch(s->comm, n->params.size), 1, sizeof(float));
  for (size_t i = 0; i < s->count; i++) s->grads[i] = piece(s, true, n->params.size, 1, sizeof(float));
  if (penalty) s->penalty_scratch = piece(s, true, penalty->scratch(o, rows, dims, n->conditions), 1, 1);
}

comp_status comp__shards_new(comp__shards **out, comp__comm *comm, const comp__network *network, size_t total,
                             size_t rows, comp__work *clock) {
  const size_t ranks = comp__comm_ranks(comm);
  *out = NULL;
  comp__shards *s;
  assert(total > 0 && total <= COMP__MOST_SHARDS && (total & (total - 1)) == 0 && total % ranks == 0);
  comp_status status = comp__calloc(&s, 1, sizeof *s);
  if (status != COMP_OK) return status;
  s->comm = comm;
  s->total = total;
  s->count = total / ranks;
  s->first = comp__comm_rank(comm) * s->count;
  lay_out(s, network, rows); /* counts */
  const size_t size = s->workspace.size;
  COMP__TRY(comp__workspace_init(&s->workspace, size));
  lay_out(s, network, rows); /* takes */
  memset(s->workspace.base, 0, size);
  for (size_t i = 0; i < s->count; i++) {
    COMP__TRY(comp__work_new(&s->work[i], network, rows / total + 1, clock->bf16, true));
    s->work[i]->clock = clock->clock;
  }
  *out = s;
  return COMP_OK;
done:
  comp__shards_free(s);
  return comp__error_context(status, "%zu shards of a batch", total);
}

void comp__shards_free(comp__shards *s) {
  if (!s) return;
  for (size_t i = 0; i < s->count; i++) comp__work_free(s->work[i]);
  comp__workspace_release(&s->workspace);
  comp__free(s);
}

size_t comp__parts_rows(const comp__parts *parts) {
  return parts->shards ? parts->shards->all->rows : parts->batch[0].rows;
}

static size_t rows_of(const comp__shards *s, size_t shard) {
  return s->begin[shard + 1] - s->begin[shard];
}

/* ---- Normalisation --------------------------------------------------------------------------------------------- */

float *comp__shards_moments(comp__shards *s, size_t i, size_t cols) {
  return s->moments + 2 * cols * (s->first + i);
}

comp_status comp__shards_statistics(comp_context *context, comp__shards *s, const comp__batchnorm *bn) {
  const size_t cols = bn->cols;
  const double rows = (double)s->all->rows, unbias = rows > 1 ? rows / (rows - 1) : 1.0;
  comp_status status = comp__comm_gather_even(s->comm, context, s->moments, 2 * cols * s->count, sizeof(float));
  if (status != COMP_OK) return status;
  for (size_t c = 0; c < cols; c++) {
    double mean = 0.0, squares = 0.0;
    for (size_t k = 0; k < s->total; k++) mean += (double)rows_of(s, k) * (double)s->moments[2 * cols * k + c];
    mean /= rows;
    for (size_t k = 0; k < s->total; k++) {
      const float *moments = s->moments + 2 * cols * k;
      const double off = (double)moments[c] - mean;
      squares += (double)rows_of(s, k) * ((double)moments[cols + c] + off * off);
    }
    const double variance = squares / rows, keep = 1.0 - (double)bn->momentum, take = (double)bn->momentum;
    s->mean[c] = (float)mean;
    bn->inv_std[c] = (float)(1.0 / sqrt(variance + (double)bn->epsilon));
    bn->running_mean[c] = (float)((double)bn->running_mean[c] * keep + mean * take);
    bn->running_var[c] = (float)((double)bn->running_var[c] * keep + variance * unbias * take);
  }
  return COMP_OK;
}

comp_status comp__shards_means(comp_context *context, comp__shards *s, size_t cols) {
  comp_status status = comp__comm_gather_even(s->comm, context, s->moments, 2 * cols * s->count, sizeof(float));
  for (size_t c = 0; c < cols && status == COMP_OK; c++) {
    double sum = 0.0, other = 0.0;
    for (size_t k = 0; k < s->total; k++) {
      sum += (double)s->moments[2 * cols * k + c];
      other += (double)s->moments[2 * cols * k + cols + c];
    }
    s->mean[c] = (float)(sum / (double)s->all->rows);
    s->variance[c] = (float)(other / (double)s->all->rows);
  }
  return status;
}

/* ---- Penalty and losses ---------------------------------------------------------------------------------------- */

static void put_rows(float *all, const comp__shards *s, size_t i, const float *rows, size_t dims) {
  const size_t shard = s->first + i;
  if (rows) memcpy(all + s->begin[shard] * dims, rows, rows_of(s, shard) * dims * sizeof *all);
}

static void take_rows(float *rows, const comp__shards *s, size_t i, const float *all, size_t dims) {
  const size_t shard = s->first + i;
  memcpy(rows, all + s->begin[shard] * dims, rows_of(s, shard) * dims * sizeof *rows);
}

void comp__shards_put(comp__shards *s, size_t i, const comp__penalty_input *view) {
  put_rows(s->values, s, i, view->values, view->dims);
  put_rows(s->means, s, i, view->mean, view->dims);
  put_rows(s->scales, s, i, view->scale, view->dims);
}

static comp_status gather_rows(comp_context *context, comp__shards *s, float *all, size_t dims) {
  return comp__comm_gather(s->comm, context, all, s->of_rank, dims * sizeof *all);
}

comp_status comp__shards_penalty(double *out, comp_context *context, comp__shards *s,
                                 const comp__model_options *options, const comp__penalty_input *view, float weight) {
  const comp__penalty *penalty = s->work[0]->penalty;
  comp__penalty_input input = *view;
  comp__penalty_gradient gradient = {s->d_values, view->mean ? s->d_means : NULL, view->scale ? s->d_scales : NULL};
  comp_status status;
  input.rows = s->all->rows;
  input.start = s->all->start;
  input.weight = s->all->weight;
  input.values = s->values;
  input.mean = view->mean ? s->means : NULL;
  input.scale = view->scale ? s->scales : NULL;
  input.comm = s->comm;
  COMP__TRY(gather_rows(context, s, s->values, view->dims));
  if (view->mean) COMP__TRY(gather_rows(context, s, s->means, view->dims));
  if (view->scale) COMP__TRY(gather_rows(context, s, s->scales, view->dims));
  COMP__TRY(penalty->run(out, context, options, &input, &gradient, weight, s->penalty_scratch));
  for (size_t i = 0; i < s->count; i++) {
    take_rows(s->work[i]->pen_values, s, i, s->d_values, view->dims);
    if (penalty->needs_posteriors && view->mean) take_rows(s->work[i]->pen_mean, s, i, s->d_means, view->dims);
    if (penalty->needs_posteriors && view->scale) take_rows(s->work[i]->pen_scale, s, i, s->d_scales, view->dims);
  }
done:
  return status;
}

comp_status comp__shards_bound(double *out, comp_context *context, comp__shards *s, double bound) {
  const size_t rows = s->all->rows;
  for (size_t i = 0; i < s->count; i++) put_rows(s->lengths, s, i, s->work[i]->lengths, 1);
  comp_status status = gather_rows(context, s, s->lengths, 1);
  if (status != COMP_OK) return status;
  const float limit = (float)bound * comp__bound_quantile(s->spare_lengths, s->lengths, rows);
  for (size_t i = 0; i < s->count; i++) s->work[i]->length_limit = limit;
  *out = comp__bound_loss(s->lengths, rows, (double)limit) / (double)rows;
  return COMP_OK;
}

double *comp__shards_sums(comp__shards *s, size_t i) {
  return s->sums + COMP__SUMS * (s->first + i);
}

comp_status comp__shards_sum(double out[COMP__SUMS], comp_context *context, comp__shards *s) {
  comp_status status = comp__comm_gather_even(s->comm, context, s->sums, COMP__SUMS * s->count, sizeof *s->sums);
  for (size_t l = 0; l < COMP__SUMS; l++) {
    out[l] = 0.0;
    for (size_t k = 0; k < s->total; k++) out[l] += s->sums[COMP__SUMS * k + l];
  }
  return status;
}

/* ---- A step ---------------------------------------------------------------------------------------------------- */

comp_status comp__shards_step(comp__losses *out, comp_context *context, const comp__network *network,
                              const comp__state *state, const comp__batch *all, const comp__batch *batches,
                              comp__shards *s, comp__pull pull, uint64_t seed, uint64_t step) {
  const size_t params = network->params.size, buffers = network->buffers.size * sizeof(float);
  assert(all->rows >= s->total);
  s->all = all;
  for (size_t k = 0; k <= s->total; k++) s->begin[k] = comp__shard_begin(all->rows, k, s->total);
  for (size_t r = 0; r <= s->total / s->count; r++) s->of_rank[r] = s->begin[r * s->count];
  for (size_t i = 0; i < s->count; i++) {
    s->state[i] = *state;
    s->state[i].grads = s->grads[i];
  }
  memcpy(s->buffers, state->buffers, buffers);
  const comp__parts parts = {s->count, batches, s->work, s->state, s};
  comp_status status = comp__step_parts(out, context, network, &parts, pull, seed, step);
  if (status == COMP_OK) status = comp__tree_sum(s->comm, context, s->grads, s->count, params, s->tree);
  if (status == COMP_OK)
    memcpy(state->grads, s->grads[0], params * sizeof(float));
  else
    memcpy(state->buffers, s->buffers, buffers);
  return status;
}
