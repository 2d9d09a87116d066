/* work.c: sizes and hands out the buffers of a step, once. */
#include "model/work.h"

#include "core/context.h"
#include "core/error.h"

static const char *const PHASE_NAMES[COMP__PHASES] = {
    "gathering batches", "matrix products", "sparse layer", "normalisation",
    "likelihood",        "sampling z",      "penalty",      "optimiser",
};

const char *comp__phase_name(comp__phase phase) {
  return PHASE_NAMES[phase];
}

void comp__work_clock(comp__work *work, comp__phase phase) {
  double now = comp__seconds();
  work->clock->seconds[phase] += now - work->clock->since;
  work->clock->since = now;
}

double *comp__work_seconds(comp__work *work) {
  return work->clock->seconds;
}

/* Takes a piece, or, while the block is not there yet, only counts it. */
static void *piece(comp__work *work, bool wanted, size_t rows, size_t cols, size_t size) {
  size_t count;
  if (!wanted) return NULL;
  if (!comp__size_mul(&count, rows, cols)) count = SIZE_MAX;
  size_t bytes = comp__workspace_size(count, size);
  if (work->workspace.base) return comp__workspace_take(&work->workspace, count, size);
  if (!comp__size_add(&work->workspace.size, work->workspace.size, bytes)) work->workspace.size = SIZE_MAX;
  return NULL;
}

/* The largest panel of any batch of at most `rows`. */
static size_t most_panel_rows(size_t rows, size_t features) {
  size_t most = comp__panel_rows(SIZE_MAX / 128, features);
  return rows < most ? rows : most;
}

static size_t widest_layer(const comp__network *n) {
  size_t widest = n->options.latent;
  for (size_t l = 0; l < n->options.n_hidden; l++)
    if (n->options.hidden[l] > widest) widest = n->options.hidden[l];
  return widest;
}

/* `next` is the hidden layer that reads this one; NULL: other layers do, or the penalty does, all in f32. */
static void hidden_pieces(comp__work *w, comp__layer_work *layer, const comp__dense *dense, const comp__dense *next) {
  const bool only_half = next && comp__dense_half(w, next);
  layer->xhat = piece(w, w->training, w->rows, comp__blocked_cols(dense->out), sizeof(float));
  layer->act = piece(w, !only_half, w->rows, dense->out, sizeof(float));
  layer->act_half = piece(w, w->bf16, w->rows, dense->out, sizeof(uint16_t));
  layer->inv_std = piece(w, true, 1, dense->out, sizeof(float));
}

/* All pieces in one place: run once to count, once to take. */
static void lay_out(comp__work *w, const comp__network *n) {
  const comp__model_options *o = &n->options;
  const size_t rows = w->rows, latent = o->latent, widest = widest_layer(n);
  const size_t panel = most_panel_rows(rows, n->features);
  const bool training = w->training;
  for (size_t l = 0; l < o->n_hidden; l++) {
    const bool last = l == o->n_hidden - 1, read = last || (l == 0 && o->place == COMP_PLACE_HIDDEN);
    hidden_pieces(w, &w->encoder[l], &n->encoder[l].dense, last ? NULL : &n->encoder[l + 1].dense);
    hidden_pieces(w, &w->decoder[l], &n->decoder[l].dense, read ? NULL : &n->decoder[l + 1].dense);
  }
  const bool half_input = comp__dense_half(w, &n->encoder[0].dense);
  w->x_half = piece(w, half_input, rows, n->features, sizeof(uint16_t));
  w->x_panel = piece(w, !half_input, panel, n->features, sizeof(float));
  w->centre_rows = piece(w, o->centred, n->conditions, n->encoder[0].dense.out, sizeof(float));
  w->centre_bias = piece(w, o->centred, n->conditions, n->features, sizeof(float));
  w->mean = piece(w, true, rows, latent, sizeof(float));
  w->raw = piece(w, o->learn_scale, rows, latent, sizeof(float));
  w->scale = piece(w, o->learn_scale, rows, latent, sizeof(float));
  w->eps = piece(w, true, rows, latent, sizeof(float));
  w->z = piece(w, true, rows, latent, sizeof(float));
  const bool posteriors = w->penalty && w->penalty->needs_posteriors;
  w->blur_z = piece(w, posteriors, rows, latent, sizeof(float));
  w->blur_scale = piece(w, posteriors && o->learn_scale, rows, latent, sizeof(float));
  w->output = piece(w, true, panel, n->features, sizeof(float));
  w->output_half = piece(w, training && comp__dense_half(w, &n->output), panel, n->features, sizeof(uint16_t));
  w->d_sample = piece(w, training && n->likelihood->sample_layer, rows, 1, sizeof(float));
  w->row_likelihood = piece(w, true, rows, 1, sizeof(double));
  w->row_kl = piece(w, true, rows, 1, sizeof(double));
  w->logits = piece(w, o->classes > 0, rows, o->classes, sizeof(float));
  w->row_target = piece(w, o->classes > 0, rows, 1, sizeof(double));
  w->lengths = piece(w, training && o->bound > 0, rows, 1, sizeof(float));
  w->spare_lengths = piece(w, training && o->bound > 0, rows, 1, sizeof(float));
  w->d_a = piece(w, training, rows, comp__blocked_cols(widest), sizeof(float));
  w->d_b = piece(w, training, rows, comp__blocked_cols(widest), sizeof(float));
  w->y = training ? w->d_a : piece(w, true, rows, widest, sizeof(float)); /* no gradient yet when y is in use */
  w->d_half = piece(w, training && w->bf16, rows, widest, sizeof(uint16_t));
  w->d_z = piece(w, training, rows, latent, sizeof(float));
  w->pen_values = piece(w, training && w->penalty, rows, widest, sizeof(float));
  w->pen_mean = piece(w, training && w->penalty, rows, latent, sizeof(float));
  w->pen_scale = piece(w, training && w->penalty && o->learn_scale, rows, latent, sizeof(float));
  w->d_mean = piece(w, training, rows, latent, sizeof(float));
  w->d_raw = piece(w, training && o->learn_scale, rows, latent, sizeof(float));
  w->d_vector =
      piece(w, training && n->likelihood->feature_vector, rows / COMP__ROW_CHUNK + 1, n->features, sizeof(float));
  if (!w->penalty) return;
  size_t dims = o->place == COMP_PLACE_HIDDEN && o->n_hidden > 0 ? n->decoder[0].dense.out : latent;
  w->penalty_scratch = piece(w, true, w->penalty->scratch(o, rows, dims, n->conditions), 1, 1);
}

comp_status comp__work_new(comp__work **out, const comp__network *network, size_t rows, bool bf16, bool training) {
  *out = NULL;
  comp__work *work;
  comp_status status = comp__calloc(&work, 1, sizeof *work);
  if (status != COMP_OK) return status;
  work->rows = rows;
  work->bf16 = bf16;
  work->training = training;
  work->kernels = comp__kernels_get();
  work->penalty = comp__penalty_find(network->options.penalty);
  lay_out(work, network); /* counts */
  size_t size = work->workspace.size;
  COMP__TRY(comp__workspace_init(&work->workspace, size));
  lay_out(work, network); /* takes */
  work->clock = &work->own_clock;
  work->clock->since = comp__seconds();
  *out = work;
  return COMP_OK;
done:
  comp__free(work);
  return comp__error_context(status, "the buffers for batches of %zu samples", rows);
}

void comp__work_free(comp__work *work) {
  if (!work) return;
  comp__workspace_release(&work->workspace);
  comp__free(work);
}
