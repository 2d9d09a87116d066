/* shared.c: weights of samples in the penalty, by how common their population is in other conditions. */
#include "train/shared.h"

#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"
#include "model/penalty.h"
#include "neighbors/members.h"
#include "neighbors/overlap.h"
#include "train/directions.h"

/* Members are at most this many, and as many numbers of X (the rows are made dense once). */
enum { MOST_MEMBERS = 8192, LEAST_MEMBERS = 1000, MOST_NUMBERS = 1 << 25, READ_ROWS = 256, ROUNDS = 3 };

/* The weight is 1 up to a log ratio of SLACK, which is within the noise of the estimate. Above, it decreases faster
 * than compositions require (COMP__WEIGHT_STEEPNESS): a population without counterpart that is pulled less moves away,
 * and is then not pulled at all. It stays at least LEAST: where a population is only rarer, its few samples in the
 * other condition must find it. (Chosen on half A of the suite: docs/experiments.md.) */
static const float SLACK = 0.5f, LEAST = 0.0025f;

/* From the first share of the steps to the second, the ratios go over to those in z where these are larger. */
static const double Z_FROM = 0.1, Z_ALONE = 0.4;

struct comp__shared {
  size_t samples, members, conditions, features, latent;
  size_t *member;      /* [members] samples, sorted by condition */
  size_t *start;       /* [conditions + 1] into the members */
  int32_t *follows;    /* [samples] the member whose weight a sample takes; -1: none */
  comp_matrix *x;      /* [members, features] */
  float *first, *now;  /* [members] ratios: of the data, and in use */
  float *mean, *fresh; /* [members, latent], [members]: scratch of a measurement */
  size_t *rows, *cut;  /* [members] 0, 1, ...; [conditions + 1] */
  comp__gather gather;
  float *batch; /* [capacity] weights of the last batch */
  size_t capacity;
};

/* ---- Members --------------------------------------------------------------------------------------------------- */

static comp__crowd crowd_of(const comp_groups *groups) {
  return (comp__crowd){
      .n = groups->rows, .conditions = groups->n_levels, .codes = groups->codes, .counts = groups->counts};
}

static comp_status choose_members(comp__shared *s, const comp_groups *groups) {
  const comp__crowd crowd = crowd_of(groups);
  size_t most = MOST_NUMBERS / s->features;
  most = most > MOST_MEMBERS ? MOST_MEMBERS : most < LEAST_MEMBERS ? LEAST_MEMBERS : most;
  comp_status status;
  COMP__TRY(comp__calloc(&s->start, s->conditions + 1, sizeof *s->start));
  COMP__TRY(comp__alloc(&s->follows, s->samples, sizeof *s->follows));
  COMP__TRY(comp__members_choose(&s->member, s->start, s->follows, &crowd, most));
  s->members = s->start[s->conditions];
done:
  return status;
}

/* ---- Rows of X ------------------------------------------------------------------------------------------------- */

typedef struct reading {
  comp__shared *shared;
  comp_context *context;
  const comp_groups *groups;
  const comp__directions *directions;
  size_t *lengths;                      /* [members] entries of their rows; of a CSR X */
  size_t entries;                       /* all of them; SIZE_MAX: X is dense */
  float *dense, *scratch, *coordinates; /* [features] twice; [samples, directions] */
} reading;

/* Counts the entries of members, then copies them. */
static comp_status read_members(void *arg, const comp_matrix *x, size_t first) {
  reading *r = arg;
  comp__shared *s = r->shared;
  for (size_t i = 0; i < x->rows; i++) {
    const int32_t m = s->follows[first + i];
    if (m < 0 || s->member[m] != first + i) continue;
    const size_t begin = comp__matrix_row_begin(x, i), n = comp__matrix_row_begin(x, i + 1) - begin;
    if (!s->x) {
      r->lengths[m] = n;
      r->entries += n;
      continue;
    }
    memcpy(s->x->values + comp__matrix_row_begin(s->x, (size_t)m), x->values + begin, n * sizeof(float));
    if (x->kind == COMP_CSR)
      memcpy(s->x->indices + comp__matrix_row_begin(s->x, (size_t)m), x->indices + begin, n * sizeof(int32_t));
  }
  if (!s->x && x->kind == COMP_DENSE) r->entries = SIZE_MAX;
  return COMP_OK;
}

/* Two passes: how much, and what. */
static comp_status take_members(comp__shared *s, comp_context *context, const comp_matrix *x, comp__stream *stream) {
  reading r = {.shared = s, .context = context};
  comp_status status;
  COMP__TRY(comp__calloc(&r.lengths, s->members, sizeof *r.lengths));
  COMP__TRY(comp__scan(context, x, stream, read_members, &r));
  if (r.entries == SIZE_MAX)
    COMP__TRY(comp__matrix_new_dense_raw(&s->x, s->members, s->features));
  else
    COMP__TRY(comp_matrix_new_csr(&s->x, s->members, s->features, r.entries));
  for (size_t m = 0; m < s->members && s->x->kind == COMP_CSR; m++)
    s->x->indptr[m + 1] = s->x->indptr[m] + (int64_t)r.lengths[m];
  COMP__TRY(comp__scan(context, x, stream, read_members, &r));
done:
  comp__free(r.lengths);
  return status;
}

/* Some rows of x as the encoder reads them, dense. */
static comp_status read_dense(float *out, comp_context *context, comp__gather *gather, const comp_matrix *x,
                              const size_t *rows, size_t n, const size_t *start) {
  comp__batch batch;
  comp_status status = comp__gather_rows(&batch, context, gather, x, rows, n, start, false);
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

/* ---- Before training ------------------------------------------------------------------------------------------- */

static comp_status project_members(float *out, comp_context *context, const comp__shared *s, const comp__directions *d,
                                   const float *dense, float *scratch) {
  comp_status status = COMP_OK;
  for (size_t k = 0; k < s->conditions && status == COMP_OK; k++)
    status = comp__directions_project(out + s->start[k] * d->count, context, d, dense + s->start[k] * s->features,
                                      s->start[k + 1] - s->start[k], k, scratch);
  return status;
}

/* The directions depend on the means of the conditions, which depend on their compositions: so the members are weighted
 * by the ratios that were found, and the directions found again. Each time, a population without counterpart may lie on
 * another one; in one of the rounds it seldom does, so the largest ratio counts. */
static comp_status measure_data(comp__shared *s, comp__directions *d, float *coordinates, comp_context *context,
                                const float *dense) {
  float *weight = NULL, *scratch = NULL, *sum = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&weight, s->members, sizeof *weight));
  COMP__TRY(comp__calloc(&sum, s->members, sizeof *sum));
  COMP__TRY(comp__alloc(&scratch, s->members * s->features, sizeof *scratch));
  for (size_t m = 0; m < s->members; m++) weight[m] = 1.0f;
  for (int round = 0; round < ROUNDS; round++) {
    COMP__TRY(comp__directions_find(d, context, dense, weight, s->start, s->conditions, s->features));
    COMP__TRY(project_members(coordinates, context, s, d, dense, scratch));
    COMP__TRY(comp__overlap_ratios(s->fresh, context, coordinates, s->start, s->conditions, d->count));
    for (size_t m = 0; m < s->members; m++) {
      sum[m] += s->fresh[m];
      s->first[m] = round > 0 ? fmaxf(s->first[m], s->fresh[m]) : s->fresh[m];
      weight[m] = fmaxf(0.01f, fminf(1.0f, expf(-sum[m] / (float)(round + 1))));
    }
  }
  memcpy(s->now, s->first, s->members * sizeof *s->now);
done:
  comp__free(weight);
  comp__free(sum);
  comp__free(scratch);
  return status;
}

/* Coordinates of samples that are no members. */
static comp_status project_block(void *arg, const comp_matrix *x, size_t first) {
  reading *r = arg;
  comp__shared *s = r->shared;
  const size_t count = r->directions->count;
  for (size_t i = 0; i < x->rows; i++) {
    const int32_t k = r->groups->codes[first + i];
    if (k < 0) continue;
    comp_status status = read_dense(r->dense, r->context, &s->gather, x, &i, 1, s->cut);
    if (status == COMP_OK)
      status = comp__directions_project(r->coordinates + (first + i) * count, r->context, r->directions, r->dense, 1,
                                        (size_t)k, r->scratch);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status follow(comp__shared *s, comp_context *context, const comp_matrix *x, comp__stream *stream,
                          const comp_groups *groups, const comp__directions *d, const float *members) {
  reading r = {.shared = s, .context = context, .groups = groups, .directions = d};
  const comp__crowd crowd = crowd_of(groups);
  comp_status status;
  COMP__TRY(comp__alloc(&r.coordinates, s->samples * d->count, sizeof *r.coordinates));
  COMP__TRY(comp__alloc(&r.dense, s->features, sizeof *r.dense));
  COMP__TRY(comp__alloc(&r.scratch, s->features, sizeof *r.scratch));
  COMP__TRY(comp__scan(context, x, stream, project_block, &r));
  COMP__TRY(comp__members_follow(s->follows, context, &crowd, s->start, members, r.coordinates, d->count));
done:
  comp__free(r.coordinates);
  comp__free(r.dense);
  comp__free(r.scratch);
  return status;
}

static comp_status survey(comp__shared *s, comp_context *context, const comp_matrix *x, comp__stream *stream,
                          const comp_groups *groups) {
  comp__directions d = {0};
  float *dense = NULL, *coordinates = NULL;
  comp_status status;
  size_t known = 0;
  COMP__TRY(comp__alloc(&dense, s->members * s->features, sizeof *dense));
  COMP__TRY(comp__alloc(&coordinates, s->members * 64, sizeof *coordinates));
  for (size_t m = 0; m < s->members; m += READ_ROWS)
    COMP__TRY(read_dense(dense + m * s->features, context, &s->gather, s->x, s->rows + m,
                         s->members - m < READ_ROWS ? s->members - m : READ_ROWS, s->cut));
  COMP__TRY(measure_data(s, &d, coordinates, context, dense));
  for (size_t k = 0; k < s->conditions; k++) known += groups->counts[k];
  if (s->members < known) COMP__TRY(follow(s, context, x, stream, groups, &d, coordinates));
done:
  comp__free(dense);
  comp__free(coordinates);
  comp__directions_release(&d);
  return status;
}

comp_status comp__shared_new(comp__shared **out, comp_context *context, const comp_model *model, const comp_matrix *x,
                             comp__stream *stream, const comp_groups *groups) {
  comp__shared *s = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&s, 1, sizeof *s));
  s->samples = groups->rows;
  s->conditions = groups->n_levels;
  s->features = model->network.features;
  s->latent = model->network.options.latent;
  s->gather.counts = model->network.likelihood->counts;
  s->gather.library_target = model->library_target;
  COMP__TRY(choose_members(s, groups));
  COMP__TRY(comp__alloc(&s->first, s->members, sizeof *s->first));
  COMP__TRY(comp__alloc(&s->now, s->members, sizeof *s->now));
  COMP__TRY(comp__alloc(&s->fresh, s->members, sizeof *s->fresh));
  COMP__TRY(comp__alloc(&s->mean, s->members * s->latent, sizeof *s->mean));
  COMP__TRY(comp__alloc(&s->rows, s->members, sizeof *s->rows));
  COMP__TRY(comp__calloc(&s->cut, s->conditions + 1, sizeof *s->cut));
  for (size_t m = 0; m < s->members; m++) s->rows[m] = m;
  COMP__TRY(take_members(s, context, x, stream));
  COMP__TRY(survey(s, context, x, stream, groups));
  *out = s;
  s = NULL;
done:
  comp__shared_free(s);
  return status;
}

void comp__shared_free(comp__shared *s) {
  if (!s) return;
  comp__free(s->member);
  comp__free(s->start);
  comp__free(s->follows);
  comp_matrix_free(s->x);
  comp__free(s->first);
  comp__free(s->now);
  comp__free(s->mean);
  comp__free(s->fresh);
  comp__free(s->rows);
  comp__free(s->cut);
  comp__gather_release(&s->gather);
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
  for (size_t m = 0; m < s->members && status == COMP_OK; m += rows) {
    const size_t n = s->members - m < rows ? s->members - m : rows;
    comp__batch batch;
    for (size_t k = 0; k <= s->conditions; k++)
      s->cut[k] = s->start[k] < m ? 0 : s->start[k] - m > n ? n : s->start[k] - m;
    status = comp__gather_rows(&batch, context, &s->gather, s->x, s->rows + m, n, s->cut, false);
    if (status == COMP_OK)
      status = comp__network_encode(context, network, state, &batch, work, s->mean + m * s->latent, NULL);
  }
  return status;
}

comp_status comp__shared_measure(comp__shared *s, comp_context *context, const comp__network *network,
                                 const comp__state *state, comp__work *work, size_t rows, uint64_t step,
                                 uint64_t total) {
  const double done = (double)step / (double)total;
  const double part = fmax(0.0, fmin(1.0, (done - Z_FROM) / (Z_ALONE - Z_FROM)));
  comp_status status = encode_members(s, context, network, state, work, rows);
  if (status == COMP_OK) status = comp__overlap_ratios(s->fresh, context, s->mean, s->start, s->conditions, s->latent);
  for (size_t m = 0; m < s->members && status == COMP_OK; m++)
    s->now[m] = s->first[m] + (float)part * fmaxf(0.0f, s->fresh[m] - s->first[m]);
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
  *n = s->members;
  return s->now;
}

double comp__shared_alone(const comp__shared *s, size_t k) {
  const size_t members = s->start[k + 1] - s->start[k];
  size_t n = 0;
  for (size_t m = s->start[k]; m < s->start[k + 1]; m++) n += s->now[m] >= COMP__UNSHARED;
  return members > 0 ? (double)n / (double)members : 0.0;
}
