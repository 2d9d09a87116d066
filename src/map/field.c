/* field.c: see field.h. */
#include "map/field.h"

#include <math.h>
#include <string.h>

#include "cluster/kmeans.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/sort.h"
#include "map/counterparts.h"
#include "model/moves.h"

enum { ROUNDS = 2, ANCHORS = 20, SAMPLES_AN_ANCHOR = 15 };

/* A difference of means counts n / (n + FEW), n the samples at the anchor on the smaller side; a ratio of spreads
 * n / (n + MANY) of its logarithm, n all samples of the smaller side. */
static const double FEW = 10.0, MANY = 50.0;

/* Samples of less weight do not count. */
static const double LEAST = 0.01;

/* No spread is changed by more than this factor. */
static const double MOST = 2.0;

/* One side. */
typedef struct side {
  size_t n;
  const float *z; /* [n, latent] */
  double *weight; /* [n] */
  double *share;  /* [n, anchors]: weights of anchors, which sum up to 1 */
  double *count;  /* [anchors]: weighted samples */
  double *mean;   /* [anchors, latent] */
  double *spread; /* [latent]: mean squares around the means */
} side;

typedef struct field {
  size_t latent, anchors;
  float width, *places; /* [anchors, latent] */
  float *moving;        /* [query, latent] */
  side reference, query;
} field;

static void release_side(side *s) {
  comp__free(s->weight);
  comp__free(s->share);
  comp__free(s->count);
  comp__free(s->mean);
  comp__free(s->spread);
}

static comp_status init_side(side *s, const field *f, size_t n, const float *z, const float *ratio) {
  comp_status status;
  s->n = n;
  s->z = z;
  COMP__TRY(comp__alloc(&s->weight, n, sizeof *s->weight));
  COMP__TRY(comp__alloc(&s->share, n * f->anchors, sizeof *s->share));
  COMP__TRY(comp__alloc(&s->count, f->anchors, sizeof *s->count));
  COMP__TRY(comp__alloc(&s->mean, f->anchors * f->latent, sizeof *s->mean));
  COMP__TRY(comp__alloc(&s->spread, f->latent, sizeof *s->spread));
  for (size_t i = 0; i < n; i++) {
    const double weight = (double)comp__counterpart_weight(ratio[i]);
    s->weight[i] = weight < LEAST ? 0.0 : weight; /* many with next to no weight would be outliers of the means */
  }
done:
  return status;
}

static float square_between(const float *x, const float *y, size_t n) {
  float sum = 0.0f;
  for (size_t d = 0; d < n; d++) sum += (x[d] - y[d]) * (x[d] - y[d]);
  return sum;
}

/* Anchors at centres of the reference. Their width is twice the typical distance along one axis. */
static comp_status place_anchors(field *f, comp_context *context, const comp__meeting *m, uint64_t seed) {
  const comp__kmeans_options options = {.clusters = f->anchors, .starts = 2, .iterations = 100, .seed = seed};
  int32_t *assignment = NULL;
  double *centres = NULL;
  float *square = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&f->places, f->anchors * f->latent, sizeof *f->places));
  COMP__TRY(comp__alloc(&assignment, m->n_reference, sizeof *assignment));
  COMP__TRY(comp__alloc(&centres, f->anchors * f->latent, sizeof *centres));
  COMP__TRY(comp__alloc(&square, m->n_reference, sizeof *square));
  COMP__TRY(comp__kmeans(assignment, centres, NULL, context, m->reference, m->n_reference, f->latent, &options));
  for (size_t i = 0; i < f->anchors * f->latent; i++) f->places[i] = (float)centres[i];
  for (size_t i = 0; i < m->n_reference; i++)
    square[i] = square_between(m->reference + i * f->latent, f->places + (size_t)assignment[i] * f->latent, f->latent);
  f->width = fmaxf(1e-6f, 2.0f * sqrtf(comp__median_floats(square, m->n_reference) / (float)f->latent));
done:
  comp__free(assignment);
  comp__free(centres);
  comp__free(square);
  return status;
}

/* ---- One round ------------------------------------------------------------------------------------------------- */

/* As the weights in model/moves.c. */
static void share_out(side *s, const field *f) {
  for (size_t i = 0; i < s->n; i++) {
    double *share = s->share + i * f->anchors, least = INFINITY, total = 0.0;
    for (size_t a = 0; a < f->anchors; a++) {
      share[a] = (double)square_between(s->z + i * f->latent, f->places + a * f->latent, f->latent) /
                 (2.0 * (double)f->width * (double)f->width);
      least = fmin(least, share[a]);
    }
    for (size_t a = 0; a < f->anchors; a++) total += share[a] = exp(least - share[a]);
    for (size_t a = 0; a < f->anchors; a++) share[a] /= total;
  }
}

static void find_means(side *s, const field *f) {
  memset(s->count, 0, f->anchors * sizeof *s->count);
  memset(s->mean, 0, f->anchors * f->latent * sizeof *s->mean);
  for (size_t i = 0; i < s->n; i++)
    for (size_t a = 0; a < f->anchors; a++) {
      const double w = s->weight[i] * s->share[i * f->anchors + a];
      s->count[a] += w;
      for (size_t d = 0; d < f->latent; d++) s->mean[a * f->latent + d] += w * (double)s->z[i * f->latent + d];
    }
  for (size_t a = 0; a < f->anchors; a++)
    for (size_t d = 0; d < f->latent; d++) s->mean[a * f->latent + d] /= fmax(s->count[a], 1e-9);
}

/* Mean squares around the means, each anchor with the weight that is given: both sides have the same composition. */
static void find_spread(side *s, const field *f, const double *composition) {
  double total = 0.0;
  memset(s->spread, 0, f->latent * sizeof *s->spread);
  for (size_t i = 0; i < s->n; i++) {
    const double *share = s->share + i * f->anchors;
    double w = 0.0;
    for (size_t a = 0; a < f->anchors; a++) w += share[a] * composition[a] / fmax(s->count[a], 1e-9);
    w *= s->weight[i];
    total += w;
    for (size_t d = 0; d < f->latent; d++) {
      double away = (double)s->z[i * f->latent + d];
      for (size_t a = 0; a < f->anchors; a++) away -= share[a] * s->mean[a * f->latent + d];
      s->spread[d] += w * away * away;
    }
  }
  for (size_t d = 0; d < f->latent; d++) s->spread[d] /= fmax(total, 1e-9);
}

static double sum_of(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum;
}

/* Writes the anchors of a round: rows of model/moves.h. */
static void find_round(float *out, field *f, size_t level, size_t round, size_t size) {
  side *r = &f->reference, *q = &f->query;
  double composition[ANCHORS];
  share_out(q, f);
  find_means(q, f);
  const double all_r = sum_of(r->count, f->anchors), all_q = sum_of(q->count, f->anchors), fewer = fmin(all_r, all_q),
               trust = fewer / (fewer + MANY);
  for (size_t a = 0; a < f->anchors; a++)
    composition[a] = fmin(r->count[a] / fmax(all_r, 1e-9), q->count[a] / fmax(all_q, 1e-9));
  find_spread(r, f, composition);
  find_spread(q, f, composition);
  for (size_t a = 0; a < f->anchors; a++) {
    float *row = out + a * size, *place = row + COMP__ANCHOR_PLACE, *move = place + f->latent,
          *factor = move + f->latent;
    const double n = fmin(r->count[a], q->count[a]), part = n / (n + FEW);
    row[COMP__ANCHOR_LEVEL] = (float)level;
    row[COMP__ANCHOR_ROUND] = (float)round;
    row[COMP__ANCHOR_WIDTH] = f->width;
    memcpy(place, f->places + a * f->latent, f->latent * sizeof *place);
    for (size_t d = 0; d < f->latent; d++) {
      const double wider =
                       q->spread[d] > 0.0 && r->spread[d] > 0.0 ? pow(r->spread[d] / q->spread[d], 0.5 * trust) : 1.0,
                   by = fmax(1.0 / MOST, fmin(MOST, wider)) - 1.0, own = q->mean[a * f->latent + d];
      factor[d] = (float)by;
      move[d] = (float)(part * (r->mean[a * f->latent + d] - own) - by * own);
    }
  }
}

comp_status comp__field_find(comp_context *context, comp_model *model, size_t level, const comp__meeting *m,
                             uint64_t seed) {
  const size_t latent = model->network.options.latent, size = comp__anchor_size(model),
               fewer = m->n_reference < m->n_query ? m->n_reference : m->n_query, most = fewer / SAMPLES_AN_ANCHOR;
  field f = {.latent = latent, .anchors = most > ANCHORS ? ANCHORS : most};
  float *rows = NULL;
  comp_status status = COMP_OK;
  if (f.anchors == 0) return COMP_OK;
  COMP__TRY(comp__alloc(&rows, f.anchors * size, sizeof *rows));
  COMP__TRY(comp__alloc(&f.moving, m->n_query * latent, sizeof *f.moving));
  COMP__TRY(place_anchors(&f, context, m, seed));
  COMP__TRY(init_side(&f.reference, &f, m->n_reference, m->reference, m->ratio));
  COMP__TRY(init_side(&f.query, &f, m->n_query, f.moving, m->ratio + m->n_reference));
  share_out(&f.reference, &f);
  find_means(&f.reference, &f);
  for (size_t round = 0; round < ROUNDS; round++) {
    /* The query after the rounds so far: the model has them. */
    memcpy(f.moving, m->query, m->n_query * latent * sizeof *f.moving);
    comp__moves_apply(model, level, f.moving, m->n_query);
    find_round(rows, &f, level, round, size);
    COMP__TRY(comp__moves_add(model, rows, f.anchors));
  }
done:
  comp__free(rows);
  comp__free(f.places);
  comp__free(f.moving);
  release_side(&f.reference);
  release_side(&f.query);
  return status;
}
