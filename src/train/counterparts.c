/*
 * counterparts.c: see counterparts.h.
 *
 * Rounds, as in the registration of two clouds of points: find the pairs, move, find the pairs again. Pairs are sought
 * in principal components of the members less their centres, so that noise in thousands of features does not decide. A
 * pair counts less the further apart it is, compared with the typical pair: two populations that lack a counterpart may
 * be each other's mutual neighbours, but are not near.
 */
#include "train/counterparts.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/sort.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "neighbors/mutual.h"
#include "neighbors/options.h"
#include "nn/matmul.h"

enum {
  COMPONENTS = 30,
  NEIGHBORS = 15, /* among which mutual ones are sought */
  FEWEST_NEIGHBORS = 3,
  ROUNDS = 20,       /* of conditions as a whole, at most */
  LOCAL_ROUNDS = 10, /* of populations */
  SMOOTH = 50        /* paired samples whose moves a sample takes the mean of */
};

/* Conditions are at rest when none moves by more than this share of the members' typical distance from 0. */
static const double SMALL = 0.005;

/* A pair counts exp(-(its distance / (reach * that of the typical pair))^2 / 2): populations are moved by pairs that
 * are further apart, too, as conditions change some more than others. */
static const float REACH = 1.0f, LOCAL_REACH = 1.5f;

typedef struct matching {
  comp_context *context;
  comp__counterparts *out;
  const size_t *start;
  size_t n, features, conditions, dims;
  float *rows;   /* [n, features] less the centres */
  float *weight; /* [conditions, n]: a condition's step is the sum of weighted rows */
  float *step;   /* [conditions, features] */
  double *total; /* [conditions] weights of pairs; local rounds: [n] pairs of a member */
  float *moves;  /* [n, dims] of local rounds */
} matching;

/* ---- Pairs ----------------------------------------------------------------------------------------------------- */

/* One pair: member i of condition a, member j of condition b, and what the pair counts, up to 1. */
typedef void (*pair_fn)(matching *m, size_t a, size_t b, size_t i, size_t j, float counts);

static comp_status block_of(comp_matrix **out, const matching *m, const float *points, size_t k) {
  const size_t first = m->start[k], n = m->start[k + 1] - first;
  comp_status status = comp__matrix_new_dense_raw(out, n, m->dims);
  if (status == COMP_OK) memcpy((*out)->values, points + first * m->dims, n * m->dims * sizeof(float));
  return status;
}

static size_t neighbors_among(const comp_matrix *block) {
  const size_t k = block->rows / 8;
  return k > NEIGHBORS ? NEIGHBORS : k < FEWEST_NEIGHBORS ? FEWEST_NEIGHBORS : k;
}

static float square_between(const float *x, const float *y, size_t n) {
  float sum = 0.0f;
  for (size_t d = 0; d < n; d++) sum += (x[d] - y[d]) * (x[d] - y[d]);
  return sum;
}

static comp_status pair_two(matching *m, const float *points, const comp_matrix *left, const comp_matrix *right,
                            size_t a, size_t b, float reach, pair_fn fn) {
  comp__mutual pairs = {0};
  float *square = NULL, *sorted = NULL;
  comp_status status;
  COMP__TRY(comp__mutual_find(&pairs, m->context, left, right, neighbors_among(left), neighbors_among(right)));
  COMP__TRY(comp__alloc(&square, pairs.n, sizeof *square));
  COMP__TRY(comp__alloc(&sorted, pairs.n, sizeof *sorted));
  const size_t first = m->start[a], second = m->start[b];
  for (size_t p = 0; p < pairs.n; p++)
    sorted[p] = square[p] = square_between(points + (first + (size_t)pairs.left[p]) * m->dims,
                                           points + (second + (size_t)pairs.right[p]) * m->dims, m->dims);
  const float typical = pairs.n > 0 ? comp__median_floats(sorted, pairs.n) : 0.0f;
  for (size_t p = 0; p < pairs.n; p++)
    fn(m, a, b, first + (size_t)pairs.left[p], second + (size_t)pairs.right[p],
       typical > 0.0f ? expf(-0.5f * square[p] / (reach * reach * typical)) : 1.0f);
done:
  comp__mutual_release(&pairs);
  comp__free(square);
  comp__free(sorted);
  return status;
}

/* All pairs of members of different conditions that are mutual neighbours among points [n, dims]. */
static comp_status for_pairs(matching *m, const float *points, float reach, pair_fn fn) {
  comp_matrix **blocks = NULL;
  comp_status status;
  COMP__TRY(comp__check_interrupt(m->context));
  COMP__TRY(comp__calloc(&blocks, m->conditions, sizeof *blocks));
  for (size_t k = 0; k < m->conditions; k++) COMP__TRY(block_of(&blocks[k], m, points, k));
  for (size_t a = 0; a < m->conditions; a++)
    for (size_t b = a + 1; b < m->conditions; b++)
      COMP__TRY(pair_two(m, points, blocks[a], blocks[b], a, b, reach, fn));
done:
  for (size_t k = 0; blocks && k < m->conditions; k++) comp_matrix_free(blocks[k]);
  comp__free(blocks);
  return status;
}

/* ---- Conditions as a whole ------------------------------------------------------------------------------------- */

static void move_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const matching *m = arg;
  for (size_t i = begin; i < end; i++) {
    size_t k = 0;
    while (i >= m->start[k + 1]) k++;
    float *row = m->rows + i * m->features;
    for (size_t g = 0; g < m->features; g++) row[g] += m->step[k * m->features + g];
  }
}

/* Adds m->step to the rows, and takes it off the centres. */
static void move(matching *m) {
  comp__parallel_for(m->context, m->n, 64, move_rows, m);
  for (size_t i = 0; i < m->conditions * m->features; i++) m->out->centre[i] -= m->step[i];
}

static void pull_conditions(matching *m, size_t a, size_t b, size_t i, size_t j, float counts) {
  m->weight[a * m->n + i] -= counts;
  m->weight[a * m->n + j] += counts;
  m->weight[b * m->n + i] += counts;
  m->weight[b * m->n + j] -= counts;
  m->total[a] += (double)counts;
  m->total[b] += (double)counts;
}

static double square_of(const float *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  return sum;
}

static comp_status place(const matching *m) {
  return comp__matmul_f32(m->context, m->out->places, m->dims, m->rows, m->features, m->out->axes, m->features, m->n,
                          m->dims, m->features, COMP__TRANS_B);
}

/* Each condition moves half of the way to its partners. *moved is the longest step along the axes, as a share of the
 * typical place. */
static comp_status match_once(matching *m, double *moved) {
  const size_t features = m->features;
  float along[COMPONENTS];
  comp_status status;
  COMP__TRY(place(m));
  const double typical = square_of(m->out->places, m->n * m->dims) / (double)m->n;
  memset(m->weight, 0, m->conditions * m->n * sizeof *m->weight);
  memset(m->total, 0, m->conditions * sizeof *m->total);
  COMP__TRY(for_pairs(m, m->out->places, REACH, pull_conditions));
  for (size_t k = 0; k < m->conditions; k++)
    for (size_t i = 0; i < m->n && m->total[k] > 0.0; i++) m->weight[k * m->n + i] /= (float)(2.0 * m->total[k]);
  COMP__TRY(comp__matmul_f32(m->context, m->step, features, m->weight, m->n, m->rows, features, m->conditions, features,
                             m->n, 0));
  *moved = 0.0;
  for (size_t k = 0; k < m->conditions; k++) {
    COMP__TRY(comp__matmul_f32(m->context, along, m->dims, m->step + k * features, features, m->out->axes, features, 1,
                               m->dims, features, COMP__TRANS_B));
    *moved = fmax(*moved, typical > 0.0 ? sqrt(square_of(along, m->dims) / typical) : 0.0);
  }
  move(m);
done:
  return status;
}

/* The same for all conditions, so that the mean of the rows is 0. */
static void settle(matching *m) {
  for (size_t g = 0; g < m->features; g++) {
    double mean = 0.0;
    for (size_t i = 0; i < m->n; i++) mean += (double)m->rows[i * m->features + g] / (double)m->n;
    for (size_t k = 0; k < m->conditions; k++) m->step[k * m->features + g] = (float)-mean;
  }
  move(m);
}

/* The means of the conditions, as a step. */
static void start_at_means(matching *m) {
  for (size_t k = 0; k < m->conditions; k++) {
    const size_t first = m->start[k], n = m->start[k + 1] - first;
    for (size_t g = 0; g < m->features; g++) {
      double sum = 0.0;
      for (size_t i = first; i < first + n; i++) sum += (double)m->rows[i * m->features + g];
      m->step[k * m->features + g] = n > 0 ? (float)(-sum / (double)n) : 0.0f;
    }
  }
  move(m);
}

static comp_status find_axes(matching *m) {
  comp_matrix *rows = NULL;
  comp__pca pca = {0};
  comp_status status;
  COMP__TRY(comp__matrix_new_dense_raw(&rows, m->n, m->features));
  memcpy(rows->values, m->rows, m->n * m->features * sizeof(float));
  COMP__TRY(comp__pca_fit(&pca, m->context, rows, &(comp__pca_options){.components = m->dims}));
  memcpy(m->out->axes, pca.loadings, m->dims * m->features * sizeof(float));
done:
  comp_matrix_free(rows);
  comp__pca_release(&pca);
  return status;
}

static comp_status match_conditions(matching *m) {
  comp_status status;
  double moved = 1.0;
  start_at_means(m);
  COMP__TRY(find_axes(m));
  for (int round = 0; round < ROUNDS && moved > SMALL; round++) COMP__TRY(match_once(m, &moved));
  settle(m);
  COMP__TRY(place(m));
done:
  return status;
}

/* ---- Populations ----------------------------------------------------------------------------------------------- */

/* Half of the way to the partner; less where it is far. */
static void pull_members(matching *m, size_t a, size_t b, size_t i, size_t j, float counts) {
  (void)a;
  (void)b;
  const float *points = m->out->matched;
  for (size_t d = 0; d < m->dims; d++) {
    const float way = 0.5f * counts * (points[j * m->dims + d] - points[i * m->dims + d]);
    m->moves[i * m->dims + d] += way;
    m->moves[j * m->dims + d] -= way;
  }
  m->total[i] += 1.0;
  m->total[j] += 1.0;
}

typedef struct spreading {
  const matching *m;
  const comp_neighbors *near; /* of each member of condition k among its paired ones */
  const size_t *paired;       /* these, as members */
  size_t k;
  float *out; /* [n, dims] */
} spreading;

/* Each member takes the mean move of the paired members near it, with tricube weights. */
static void spread_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const spreading *s = arg;
  const matching *m = s->m;
  const size_t k = comp_neighbors_k(s->near), first = m->start[s->k];
  for (size_t i = begin; i < end; i++) {
    const float *distance = comp_neighbors_distances(s->near) + i * k;
    const int32_t *near = comp_neighbors_indices(s->near) + i * k;
    const double reach = fmax(1e-8, 3.0 * (double)distance[k / 2]);
    double sum[COMPONENTS] = {0}, total = 0.0;
    for (size_t a = 0; a < k; a++) {
      const double part = fmin(1.0, (double)distance[a] / reach), cube = 1.0 - part * part * part,
                   w = cube * cube * cube;
      const size_t member = s->paired[near[a]];
      for (size_t d = 0; d < m->dims; d++) sum[d] += w * (double)m->moves[member * m->dims + d];
      total += w;
    }
    for (size_t d = 0; d < m->dims && total > 0.0; d++) s->out[(first + i) * m->dims + d] += (float)(sum[d] / total);
  }
}

static comp_status spread(matching *m, float *out, const float *points, size_t k) {
  const size_t first = m->start[k], n = m->start[k + 1] - first;
  size_t *paired = NULL, count = 0;
  comp_matrix *all = NULL, *some = NULL;
  comp_neighbors *near = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&paired, n, sizeof *paired));
  for (size_t i = first; i < first + n; i++)
    if (m->total[i] > 0.0) paired[count++] = i;
  if (count == 0) goto done;
  COMP__TRY(block_of(&all, m, points, k));
  COMP__TRY(comp__matrix_new_dense_raw(&some, count, m->dims));
  for (size_t i = 0; i < count; i++)
    memcpy(some->values + i * m->dims, points + paired[i] * m->dims, m->dims * sizeof(float));
  COMP__TRY(comp__neighbors_nearest(&near, m->context, some, all, SMOOTH));
  spreading s = {.m = m, .near = near, .paired = paired, .k = k, .out = out};
  comp__parallel_for(m->context, n, 64, spread_rows, &s);
done:
  comp__free(paired);
  comp_matrix_free(all);
  comp_matrix_free(some);
  comp_neighbors_free(near);
  return status;
}

static comp_status match_populations(matching *m) {
  const size_t size = m->n * m->dims;
  float *before = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&before, size, sizeof *before));
  memcpy(m->out->matched, m->out->places, size * sizeof(float));
  for (int round = 0; round < LOCAL_ROUNDS; round++) {
    memset(m->moves, 0, size * sizeof *m->moves);
    memset(m->total, 0, m->n * sizeof *m->total);
    COMP__TRY(for_pairs(m, m->out->matched, LOCAL_REACH, pull_members));
    for (size_t i = 0; i < size; i++)
      if (m->total[i / m->dims] > 0.0) m->moves[i] = (float)((double)m->moves[i] / m->total[i / m->dims]);
    memcpy(before, m->out->matched, size * sizeof *before);
    for (size_t k = 0; k < m->conditions; k++) COMP__TRY(spread(m, m->out->matched, before, k));
  }
done:
  comp__free(before);
  return status;
}

/* ---------------------------------------------------------------------------------------------------------------- */

comp_status comp__counterparts_find(comp__counterparts *out, comp_context *context, comp__members *members) {
  *out = (comp__counterparts){.members = members->n, .conditions = members->conditions, .features = members->features};
  matching m = {.context = context,
                .out = out,
                .start = members->start,
                .n = members->n,
                .features = members->features,
                .conditions = members->conditions};
  comp_status status;
  const size_t most = m.features < m.n ? m.features : m.n;
  out->dims = m.dims = most < COMPONENTS ? most : COMPONENTS;
  COMP__TRY(comp__calloc(&out->centre, m.conditions * m.features, sizeof *out->centre));
  COMP__TRY(comp__alloc(&out->axes, m.dims * m.features, sizeof *out->axes));
  COMP__TRY(comp__alloc(&out->places, m.n * m.dims, sizeof *out->places));
  COMP__TRY(comp__alloc(&out->matched, m.n * m.dims, sizeof *out->matched));
  COMP__TRY(comp__alloc(&m.rows, m.n * m.features, sizeof *m.rows));
  COMP__TRY(comp__alloc(&m.weight, m.conditions * m.n, sizeof *m.weight));
  COMP__TRY(comp__alloc(&m.step, m.conditions * m.features, sizeof *m.step));
  COMP__TRY(comp__alloc(&m.total, m.n > m.conditions ? m.n : m.conditions, sizeof *m.total));
  COMP__TRY(comp__alloc(&m.moves, m.n * m.dims, sizeof *m.moves));
  COMP__TRY(comp__members_dense(m.rows, context, members));
  COMP__TRY(match_conditions(&m));
  COMP__TRY(match_populations(&m));
done:
  comp__free(m.rows);
  comp__free(m.weight);
  comp__free(m.step);
  comp__free(m.total);
  comp__free(m.moves);
  if (status != COMP_OK) comp__counterparts_release(out);
  return status;
}

void comp__counterparts_release(comp__counterparts *m) {
  comp__free(m->centre);
  comp__free(m->axes);
  comp__free(m->places);
  comp__free(m->matched);
  *m = (comp__counterparts){0};
}

comp_status comp__counterparts_place(float *out, comp_context *context, const comp__counterparts *m, float *rows,
                                     const int32_t *codes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const float *centre = m->centre + (size_t)(codes[i] < 0 ? 0 : codes[i]) * m->features;
    for (size_t g = 0; g < m->features; g++) rows[i * m->features + g] -= centre[g];
  }
  return comp__matmul_f32(context, out, m->dims, rows, m->features, m->axes, m->features, n, m->dims, m->features,
                          COMP__TRANS_B);
}
