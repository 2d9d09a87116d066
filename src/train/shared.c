/* shared.c: weights of samples in the penalty, by how common their population is in other conditions. */
#include "train/shared.h"

#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"
#include "model/penalty.h"
#include "neighbors/overlap.h"
#include "train/directions.h"
#include "train/scale.h"

/* The weight is 1 up to a log ratio of SLACK, which is within the noise of the estimate. Above, it decreases faster
 * than compositions require (COMP__WEIGHT_STEEPNESS): a population without counterpart that is pulled less moves away,
 * and is then not pulled at all. It stays at least LEAST: where a population is only rarer, its few samples in the
 * other condition must find it. (Chosen on half A of the suite: docs/experiments.md.) */
static const float SLACK = 0.5f, LEAST = 0.0025f;

/* From the first share of the steps to the second, the ratios go over to those in z where these are larger; of large
 * data also where they are smaller. */
static const double Z_FROM = 0.1, Z_ALONE = 0.4;

struct comp__shared {
  comp__members *of; /* the samples that are measured */
  size_t latent;
  int32_t *follows;    /* [samples] the member whose weight a sample takes; -1: none */
  float *first, *now;  /* [members] ratios: of the data, and in use */
  float *mean, *fresh; /* [members, latent], [members]: scratch of a measurement */
  float *batch;        /* [capacity] weights of the last batch */
  size_t capacity;
};

/* ---- Before training ------------------------------------------------------------------------------------------- */

enum { BLOCK = 256, ROUNDS = 3 };

typedef struct reading {
  comp__shared *shared;
  comp_context *context;
  const comp_groups *groups;
  const comp__counterparts *counterparts;
  float *dense, *places; /* [BLOCK, features]; [samples, dims] */
  size_t rows[BLOCK];
} reading;

/* Places of all samples. */
static comp_status place_block(void *arg, const comp_matrix *x, size_t first) {
  reading *r = arg;
  comp_status status = COMP_OK;
  for (size_t begin = 0; begin < x->rows && status == COMP_OK; begin += BLOCK) {
    const size_t n = x->rows - begin < BLOCK ? x->rows - begin : BLOCK;
    for (size_t i = 0; i < n; i++) r->rows[i] = begin + i;
    status = comp__members_read(r->dense, r->context, r->shared->of, x, r->rows, n);
    if (status == COMP_OK)
      status = comp__counterparts_place(r->places + (first + begin) * r->counterparts->dims, r->context,
                                        r->counterparts, r->dense, r->groups->codes + first + begin, n);
  }
  return status;
}

static comp_status follow(comp__shared *s, comp_context *context, const comp__counterparts *counterparts,
                          const comp_matrix *x, comp__stream *stream, const comp_groups *groups) {
  reading r = {.shared = s, .context = context, .groups = groups, .counterparts = counterparts};
  const comp__crowd crowd = comp__members_crowd(groups);
  comp_status status;
  COMP__TRY(comp__alloc(&r.places, s->of->samples * counterparts->dims, sizeof *r.places));
  COMP__TRY(comp__alloc(&r.dense, BLOCK * s->of->features, sizeof *r.dense));
  COMP__TRY(comp__scan(context, x, stream, place_block, &r));
  COMP__TRY(comp__members_follow(s->follows, context, &crowd, s->of->start, counterparts->places, r.places,
                                 counterparts->dims));
done:
  comp__free(r.places);
  comp__free(r.dense);
  return status;
}

/* The ratios in directions in which all conditions vary. These depend on the means of the conditions, which depend on
 * their compositions: so the members are weighted by the ratios that were found, and the directions found again. Each
 * time, a population without counterpart may lie on another one; in one of the rounds it seldom does, so the largest
 * ratio counts. */
static comp_status measure_directions(comp__shared *s, comp_context *context) {
  const size_t n = s->of->n, features = s->of->features, *start = s->of->start;
  comp__directions d = {0};
  float *dense = NULL, *scratch = NULL, *places = NULL, *weight = NULL, *sum = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&dense, n * features, sizeof *dense));
  COMP__TRY(comp__alloc(&scratch, n * features, sizeof *scratch));
  COMP__TRY(comp__alloc(&places, n * COMP__DIRECTIONS, sizeof *places));
  COMP__TRY(comp__alloc(&weight, n, sizeof *weight));
  COMP__TRY(comp__calloc(&sum, n, sizeof *sum));
  COMP__TRY(comp__members_dense(dense, context, s->of));
  for (size_t m = 0; m < n; m++) weight[m] = 1.0f;
  for (int round = 0; round < ROUNDS; round++) {
    COMP__TRY(comp__directions_find(&d, context, dense, weight, start, s->of->conditions, features));
    for (size_t k = 0; k < s->of->conditions; k++)
      COMP__TRY(comp__directions_project(places + start[k] * d.count, context, &d, dense + start[k] * features,
                                         start[k + 1] - start[k], k, scratch));
    COMP__TRY(comp__overlap_ratios(s->fresh, context, places, start, s->of->conditions, d.count));
    for (size_t m = 0; m < n; m++) {
      sum[m] += s->fresh[m];
      s->first[m] = fmaxf(s->first[m], s->fresh[m]);
      weight[m] = fmaxf(0.01f, fminf(1.0f, expf(-sum[m] / (float)(round + 1))));
    }
  }
done:
  comp__directions_release(&d);
  comp__free(dense);
  comp__free(scratch);
  comp__free(places);
  comp__free(weight);
  comp__free(sum);
  return status;
}

/* Two views of the data, of which the larger ratio counts. Where populations were moved to their counterparts, ratios
 * are right for what conditions share in unequal parts; but two populations that each lack a counterpart may have been
 * moved to each other. In the directions that conditions share these stay apart. */
static comp_status survey(comp__shared *s, comp_context *context, const comp__counterparts *counterparts,
                          const comp_matrix *x, comp__stream *stream, const comp_groups *groups) {
  size_t known = 0;
  comp_status status;
  for (size_t k = 0; k < s->of->conditions; k++) known += groups->counts[k];
  COMP__TRY(comp__overlap_ratios(s->first, context, counterparts->matched, s->of->start, s->of->conditions,
                                 counterparts->dims));
  COMP__TRY(measure_directions(s, context));
  memcpy(s->now, s->first, s->of->n * sizeof *s->now);
  if (s->of->n < known) COMP__TRY(follow(s, context, counterparts, x, stream, groups));
done:
  return status;
}

comp_status comp__shared_new(comp__shared **out, comp_context *context, const comp_model *model, comp__members *members,
                             const comp__counterparts *counterparts, const comp_matrix *x, comp__stream *stream,
                             const comp_groups *groups) {
  comp__shared *s = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&s, 1, sizeof *s));
  s->of = members;
  s->latent = model->network.options.latent;
  COMP__TRY(comp__alloc(&s->follows, members->samples, sizeof *s->follows));
  COMP__TRY(comp__alloc(&s->first, members->n, sizeof *s->first));
  COMP__TRY(comp__alloc(&s->now, members->n, sizeof *s->now));
  COMP__TRY(comp__alloc(&s->fresh, members->n, sizeof *s->fresh));
  COMP__TRY(comp__alloc(&s->mean, members->n * s->latent, sizeof *s->mean));
  memcpy(s->follows, members->follows, members->samples * sizeof *s->follows);
  COMP__TRY(survey(s, context, counterparts, x, stream, groups));
  *out = s;
  s = NULL;
done:
  comp__shared_free(s);
  return status;
}

void comp__shared_free(comp__shared *s) {
  if (!s) return;
  comp__free(s->follows);
  comp__free(s->first);
  comp__free(s->now);
  comp__free(s->mean);
  comp__free(s->fresh);
  comp__free(s->batch);
  comp__free(s);
}

/* ---- While training -------------------------------------------------------------------------------------------- */

/* Often while z takes shape, then less often: in twentieths of the steps. */
bool comp__shared_is_due(uint64_t step, uint64_t total) {
  static const uint64_t twentieths[] = {2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18};
  for (size_t i = 0; i < sizeof twentieths / sizeof *twentieths; i++)
    if (step > 0 && step == total * twentieths[i] / 20) return true;
  return false;
}

static comp_status encode_members(comp__shared *s, comp_context *context, const comp__network *network,
                                  const comp__state *state, comp__work *work, size_t rows) {
  comp_status status = COMP_OK;
  for (size_t m = 0; m < s->of->n && status == COMP_OK; m += rows) {
    const size_t n = s->of->n - m < rows ? s->of->n - m : rows;
    comp__batch batch;
    for (size_t k = 0; k <= s->of->conditions; k++)
      s->of->cut[k] = s->of->start[k] < m ? 0 : s->of->start[k] - m > n ? n : s->of->start[k] - m;
    status = comp__gather_rows(&batch, context, &s->of->gather, s->of->x, s->of->rows + m, n, s->of->cut, false);
    if (status == COMP_OK)
      status = comp__network_encode(context, network, state, &batch, work, s->mean + m * s->latent, NULL);
  }
  return status;
}

float comp__shared_ratio(float first, float in_z, double done, size_t samples) {
  const double part = fmax(0.0, fmin(1.0, (done - Z_FROM) / (Z_ALONE - Z_FROM)));
  const float more = in_z - first;
  return first + (float)part * (samples < COMP__LARGE ? fmaxf(0.0f, more) : more);
}

comp_status comp__shared_measure(comp__shared *s, comp_context *context, const comp__network *network,
                                 const comp__state *state, comp__work *work, size_t rows, uint64_t step,
                                 uint64_t total) {
  const double done = (double)step / (double)total;
  comp_status status = encode_members(s, context, network, state, work, rows);
  if (status == COMP_OK)
    status = comp__overlap_ratios(s->fresh, context, s->mean, s->of->start, s->of->conditions, s->latent);
  for (size_t m = 0; m < s->of->n && status == COMP_OK; m++)
    s->now[m] = comp__shared_ratio(s->first[m], s->fresh[m], done, s->of->samples);
  return status;
}

static float weight_of(float ratio) {
  return ratio > SLACK ? fmaxf(LEAST, expf(-COMP__WEIGHT_STEEPNESS * (ratio - SLACK))) : 1.0f;
}

const float *comp__shared_weights(comp__shared *s, const comp__batch *batch) {
  if (batch->rows > s->capacity) {
    comp__free(s->batch);
    s->batch = NULL;
    s->capacity = 0;
    if (comp__alloc(&s->batch, batch->rows, sizeof *s->batch) != COMP_OK) return NULL;
    s->capacity = batch->rows;
  }
  for (size_t i = 0; i < batch->rows; i++) {
    const int32_t m = s->follows[batch->ids[i]];
    s->batch[i] = m < 0 ? 1.0f : weight_of(s->now[m]);
  }
  return s->batch;
}

float *comp__shared_ratios(size_t *n, comp__shared *s) {
  *n = s->of->n;
  return s->now;
}

double comp__shared_alone(const comp__shared *s, size_t k) {
  const size_t members = s->of->start[k + 1] - s->of->start[k];
  size_t n = 0;
  for (size_t m = s->of->start[k]; m < s->of->start[k + 1]; m++) n += s->now[m] >= COMP__UNSHARED;
  return members > 0 ? (double)n / (double)members : 0.0;
}
