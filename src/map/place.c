/* place.c: see place.h. */
#include "map/place.h"

#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "map/counterparts.h"
#include "nn/matmul.h"

/* Fewer samples say too little of a condition. */
enum { FEW_SAMPLES = 20 };

/* Samples of each side in a step, and those that a likelihood is measured on. */
enum { BATCH = 384 };

static float *row_of(comp_model *m, const comp__dense *dense, size_t level) {
  return m->params + dense->weight + (dense->in + level) * dense->out;
}

static float *centre_of(comp_model *m, size_t level) {
  return m->buffers + m->network.centre + level * m->network.features;
}

/* ---- The nearest known condition ------------------------------------------------------------------------------- */

static comp_status likelihood_under(double *out, comp_context *context, const comp__place *p, size_t level,
                                    const comp__sampled *query) {
  size_t rows[BATCH];
  float weight[BATCH + 1];
  const size_t n = query->n < BATCH ? query->n : BATCH, zero = 0;
  comp__fit *fit = NULL;
  comp__losses losses;
  comp_status status;
  for (size_t i = 0; i < n; i++) rows[i] = i * query->n / n;
  for (size_t i = 0; i <= n; i++) weight[i] = 1.0f;
  const comp__fit_batch batch = {.reference = &zero, .n_reference = 1, .query = rows, .n_query = n, .weight = weight};
  COMP__TRY(comp__fit_new(&fit, context, p->model, level, query, p->posteriors, BATCH));
  COMP__TRY(comp__fit_step(&losses, context, fit, &batch, (comp__pull){0.0, 0.0}, 0, 0));
  *out = losses.likelihood;
done:
  comp__fit_free(fit);
  return status;
}

static void copy_level(comp_model *m, size_t to, size_t from) {
  const comp__dense *layers[] = {&m->network.encoder[0].dense, &m->network.decoder[0].dense};
  for (int l = 0; l < 2; l++)
    if (layers[l]->conditions)
      memcpy(row_of(m, layers[l], to), row_of(m, layers[l], from), layers[l]->out * sizeof(float));
  if (m->network.options.centred) memcpy(centre_of(m, to), centre_of(m, from), m->network.features * sizeof(float));
}

static comp_status take_nearest(comp_context *context, const comp__place *p, size_t level, const comp__sampled *query) {
  double best = INFINITY, loss;
  size_t nearest = 0;
  comp_status status = COMP_OK;
  for (size_t k = 0; k < p->known; k++) {
    COMP__TRY(likelihood_under(&loss, context, p, k, query));
    if (loss < best) nearest = k;
    best = fmin(best, loss);
  }
  comp__info(context, "'%s' is most like '%s' of the conditions that the model knows",
             comp_model_level_name(p->model, level), comp_model_level_name(p->model, nearest));
  copy_level(p->model, level, nearest);
done:
  return status;
}

/* ---- Equal means ----------------------------------------------------------------------------------------------- */

/* out [features] = the mean over samples, each with its share; less the means of their conditions where `model` is not
 * NULL and centred. */
static void weighted_mean(double *out, const comp__sampled *s, const float *ratio, comp_model *model) {
  double total = 0.0;
  memset(out, 0, s->features * sizeof *out);
  for (size_t k = 0; k < s->levels; k++) {
    const float *centre = model && model->network.options.centred ? centre_of(model, k) : NULL;
    for (size_t i = s->start[k]; i < s->start[k + 1]; i++) {
      const double share = comp__counterpart_share(ratio[i]);
      const float *x = s->input + i * s->features;
      total += share;
      for (size_t g = 0; g < s->features; g++) out[g] += share * ((double)x[g] - (centre ? (double)centre[g] : 0.0));
    }
  }
  for (size_t g = 0; g < s->features; g++) out[g] /= total;
}

/* The mean over samples of the reference of the rows of their conditions. */
static void mean_row(float *out, comp_model *m, const comp__dense *dense, const comp__sampled *s, const float *ratio) {
  double total = 0.0;
  memset(out, 0, dense->out * sizeof *out);
  for (size_t i = 0; i < s->n; i++) total += (double)comp__counterpart_share(ratio[i]);
  for (size_t k = 0; k < s->levels; k++) {
    double share = 0.0;
    for (size_t i = s->start[k]; i < s->start[k + 1]; i++) share += (double)comp__counterpart_share(ratio[i]);
    for (size_t c = 0; c < dense->out && share > 0.0; c++)
      out[c] += (float)(share / total * (double)row_of(m, dense, k)[c]);
  }
}

/* With both sides weighted to the same composition, the new condition's mean, or the encoder's row of a model that is
 * not centred, brings the query's mean at the first layer to that of the reference. */
static comp_status make_means_equal(comp_context *context, const comp__place *p, size_t level,
                                    const comp__sampled *query, const float *ratio) {
  comp_model *m = p->model;
  const comp__network *n = &m->network;
  const comp__dense *encoder = &n->encoder[0].dense, *decoder = &n->decoder[0].dense;
  double *reference = NULL, *own = NULL;
  float *mean = NULL, *shift = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&reference, n->features, sizeof *reference));
  COMP__TRY(comp__alloc(&own, n->features, sizeof *own));
  COMP__TRY(comp__alloc(&mean, n->features, sizeof *mean));
  COMP__TRY(comp__alloc(&shift, encoder->out, sizeof *shift));
  weighted_mean(reference, p->reference, ratio, m);
  weighted_mean(own, query, ratio + p->reference->n, NULL);
  for (size_t g = 0; g < n->features; g++) mean[g] = (float)(own[g] - reference[g]);
  if (encoder->conditions) mean_row(row_of(m, encoder, level), m, encoder, p->reference, ratio);
  if (decoder->conditions) mean_row(row_of(m, decoder, level), m, decoder, p->reference, ratio);
  if (n->options.centred) {
    /* What the query lacks was filled with the mean that the level had before: nothing of it must be left. */
    for (size_t i = 0; i < query->n_missing; i++) mean[query->missing[i]] = centre_of(m, level)[query->missing[i]];
    memcpy(centre_of(m, level), mean, n->features * sizeof *mean);
  } else if (encoder->conditions) {
    COMP__TRY(comp__matmul_f32(context, shift, encoder->out, mean, encoder->in, m->params + encoder->weight,
                               encoder->out, 1, encoder->out, encoder->in, 0));
    for (size_t c = 0; c < encoder->out; c++) row_of(m, encoder, level)[c] -= shift[c];
  }
done:
  comp__free(reference);
  comp__free(own);
  comp__free(mean);
  comp__free(shift);
  return status;
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

static comp_status fit_level(float *ratio, comp_context *context, const comp__place *p, size_t level,
                             const comp__sampled *query, size_t steps, uint64_t seed) {
  comp__fit *fit = NULL;
  comp_status status;
  COMP__TRY(comp__fit_new(&fit, context, p->model, level, query, p->posteriors, BATCH));
  COMP__TRY(comp__fit_run(context, fit, ratio, steps, seed));
  COMP__TRY(comp__fit_store(context, fit, p->model));
done:
  comp__fit_free(fit);
  return status;
}

comp_status comp__place_level(comp_map_method *used, float *ratio, comp_context *context, const comp__place *place,
                              size_t level, const comp__sampled *query, const comp__map_options *options) {
  comp_status status;
  *used = options->method;
  memset(ratio, 0, (place->reference->n + query->n) * sizeof *ratio);
  if (*used != COMP_MAP_NEAREST && (query->n < FEW_SAMPLES || place->reference->n < FEW_SAMPLES)) {
    const bool of_query = query->n < FEW_SAMPLES;
    const size_t few = of_query ? query->n : place->reference->n;
    comp__warn(
        context,
        "%s%s%s has %zu sample%s: too few to learn the condition from (%d are needed). '%s' gets the parameters of "
        "the known condition that fits best",
        of_query ? "condition '" : "the reference", of_query ? comp_model_level_name(place->model, level) : "",
        of_query ? "'" : "", few, few == 1 ? "" : "s", (int)FEW_SAMPLES, comp_model_level_name(place->model, level));
    *used = COMP_MAP_NEAREST;
  }
  if (*used == COMP_MAP_NEAREST) return take_nearest(context, place, level, query);
  COMP__TRY(comp__counterparts_in_data(ratio, context, place->reference, query));
  COMP__TRY(make_means_equal(context, place, level, query, ratio));
  if (*used == COMP_MAP_FIT) COMP__TRY(fit_level(ratio, context, place, level, query, options->steps, options->seed));
done:
  return status;
}
