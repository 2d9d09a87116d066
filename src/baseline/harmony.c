/*
 * harmony.c: Harmony (Korsunsky et al. 2019), as harmonypy 0.0.9 computes it, and Harmony 2 (Patikas et al. 2026), as
 * the R package 2.0 does: soft k-means on the sphere with a penalty on clusters that lack a level, in turns with a
 * ridge regression on the levels within every cluster.
 *
 * Harmony 2 differs in five places, each marked by h->second: the penalty is bounded where a cluster lacks a level; the
 * ridge penalty grows with the samples that are expected; levels that are nearly absent from a cluster are not
 * corrected there; centroids come from the regression and stay during a clustering; and a clustering starts without the
 * penalty.
 *
 * Samples are sorted by their combination of levels, so that everything that depends on levels is a contiguous product.
 * One pass over a block of samples computes distances, assignments, the objective and the block's part of the next
 * centroids. Assignments are a softmax of a + log w: `a` is the scaled cosine, w the weight of a cluster for a
 * combination. The objective of a sample then is 2 + sigma (sum_k r_k log w_k - max - log sum): no logarithm of r.
 */
#include "baseline/harmony.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline/baseline.h"
#include "cluster/kmeans.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "linalg/linalg.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"

static const double FIRST_EPSILON_CLUSTER = 1e-5, FIRST_EPSILON = 1e-4, SECOND_EPSILON_CLUSTER = 1e-3,
                    SECOND_EPSILON = 1e-2;
enum { FIRST_CLUSTER = 20, SECOND_CLUSTER = 4, SECOND_FEWEST = 6 };
enum { CHUNK = 256, SEGMENT = 64 * CHUNK, KMEANS_STARTS = 3, KMEANS_STEPS = 25, KMEANS_SAMPLES = 20000, WINDOW = 3 };

typedef struct harmony {
  comp__baseline_run *run;
  comp_context *context;
  const comp__baseline_options *o;
  bool second; /* Harmony 2 */
  double block, epsilon_cluster, epsilon;
  size_t max_cluster;
  size_t n, d, k;
  size_t vars, levels, combos;
  size_t *first_level;      /* [vars + 1]: of each column */
  size_t *level_of;         /* [combos, vars]: 0 .. levels - 1 */
  double *share;            /* [levels]: of the samples */
  double *theta;            /* [levels] */
  size_t *order;            /* [n]: the row of the data that stands at this place */
  size_t *place;            /* [n]: the inverse */
  size_t *start;            /* [combos + 1]: places of each combination */
  int32_t *combo;           /* [n] */
  float *z;                 /* [n, d]: the embedding */
  float *corrected;         /* [n, d] */
  float *unit;              /* [n, d]: corrected, of length 1 */
  float *r;                 /* [n, k]: assignments */
  float *y;                 /* [k, d]: centroids of length 1, times 2 / sigma */
  double *y_sum;            /* [k, d] */
  double *mass;             /* [combos, k]: sums of r */
  double *by_level, *total; /* [levels, k] and [k]: sums of it */
  float *log_w;             /* [combos, k] */
  double sample_terms, objective;
  size_t steps;  /* clustering steps so far */
  size_t *cells; /* [n]: the places to update, in order */
  /* Room: a chunk's own parts, combined in order afterwards. */
  double *part_mass;   /* [SEGMENT / CHUNK, combos, k] */
  float *part_y;       /* [SEGMENT / CHUNK, k, d] */
  double *part_terms;  /* [SEGMENT / CHUNK] */
  float *gathered;     /* [threads, CHUNK, d] */
  float *rows;         /* [threads, CHUNK, k] */
  size_t first;        /* of the current cells */
  const float *source; /* [n, d]: what accumulate() sums */
} harmony;

void comp__harmony_order(size_t *out, size_t n, uint64_t seed, size_t step) {
  comp__rng_permutation(out, n, comp__rng_at(seed, COMP__RNG_BASELINE, step, 0));
}

/* ---- Levels ---- */

typedef struct level_key {
  const int32_t *codes; /* [n, vars] */
  size_t vars;
} level_key;

static int compare_rows(const void *a, const void *b, void *user) {
  const level_key *key = user;
  size_t i = *(const size_t *)a, j = *(const size_t *)b;
  for (size_t v = 0; v < key->vars; v++) {
    int32_t x = key->codes[i * key->vars + v], y = key->codes[j * key->vars + v];
    if (x != y) return x < y ? -1 : 1;
  }
  return i < j ? -1 : i > j;
}

/* codes [n, vars] = the level of every sample in every column, numbered through; counts them. */
static comp_status read_levels(harmony *h, int32_t **codes) {
  comp_status status;
  comp_groups groups = {0};
  COMP__TRY(comp__alloc(codes, h->n, h->vars * sizeof **codes));
  COMP__TRY(comp__calloc(&h->first_level, h->vars + 1, sizeof *h->first_level));
  for (size_t v = 0; v < h->vars; v++) {
    COMP__TRY(comp__baseline_groups(&groups, h->run->dataset, v ? h->o->covariates[v - 1] : h->o->condition));
    for (size_t i = 0; i < h->n; i++) (*codes)[i * h->vars + v] = (int32_t)h->levels + groups.codes[i];
    h->levels += groups.n_levels;
    h->first_level[v + 1] = h->levels;
    comp_groups_release(&groups);
  }
  COMP__TRY(comp__calloc(&h->share, h->levels, sizeof *h->share));
  COMP__TRY(comp__alloc(&h->theta, h->levels, sizeof *h->theta));
  for (size_t i = 0; i < h->n * h->vars; i++) h->share[(*codes)[i]] += 1.0;
  for (size_t b = 0; b < h->levels; b++) {
    double expected = h->share[b] / ((double)h->k * h->o->tau);
    h->theta[b] = h->o->theta * (h->o->tau > 0.0 ? 1.0 - exp(-expected * expected) : 1.0);
    h->share[b] /= (double)h->n;
  }
done:
  comp_groups_release(&groups);
  return status;
}

static comp_status sort_samples(harmony *h) {
  comp_status status;
  int32_t *codes = NULL;
  COMP__TRY(read_levels(h, &codes));
  level_key key = {codes, h->vars};
  COMP__TRY(comp__alloc(&h->order, h->n, sizeof *h->order));
  COMP__TRY(comp__alloc(&h->place, h->n, sizeof *h->place));
  COMP__TRY(comp__alloc(&h->combo, h->n, sizeof *h->combo));
  for (size_t i = 0; i < h->n; i++) h->order[i] = i;
  qsort_r(h->order, h->n, sizeof *h->order, compare_rows, &key);
  for (size_t i = 0; i < h->n; i++) {
    const int32_t *own = codes + h->order[i] * h->vars;
    if (i > 0 && memcmp(own, codes + h->order[i - 1] * h->vars, h->vars * sizeof *own) != 0) h->combos++;
    h->combo[i] = (int32_t)h->combos;
    h->place[h->order[i]] = i;
  }
  h->combos++;
  COMP__TRY(comp__calloc(&h->start, h->combos + 1, sizeof *h->start));
  COMP__TRY(comp__alloc(&h->level_of, h->combos, h->vars * sizeof *h->level_of));
  for (size_t i = 0; i < h->n; i++) {
    h->start[h->combo[i] + 1] = i + 1;
    for (size_t v = 0; v < h->vars; v++)
      h->level_of[(size_t)h->combo[i] * h->vars + v] = (size_t)codes[h->order[i] * h->vars + v];
  }
done:
  comp__free(codes);
  return status;
}

/* ---- Sums over samples ---- */

/* y_sum += the parts of n_parts chunks. */
static void combine_y(harmony *h, size_t n_parts) {
  for (size_t p = 0; p < n_parts; p++)
    for (size_t j = 0; j < h->k * h->d; j++) h->y_sum[j] += h->part_y[p * h->k * h->d + j];
}

static comp_status accumulate_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const harmony *h = arg;
  size_t at = h->first + begin;
  return comp__matmul_f32(h->context, h->part_y + begin / CHUNK * h->k * h->d, h->d, h->r + at * h->k, h->k,
                          h->source + at * h->d, h->d, h->k, h->d, end - begin, COMP__TRANS_A);
}

/* y_sum [k, d] = r^T source over the places begin .. end - 1. */
static comp_status accumulate(harmony *h, const float *source, size_t begin, size_t end) {
  comp_status status = COMP_OK;
  memset(h->y_sum, 0, h->k * h->d * sizeof *h->y_sum);
  h->source = source;
  for (h->first = begin; h->first < end; h->first += SEGMENT) {
    size_t count = end - h->first < SEGMENT ? end - h->first : SEGMENT;
    COMP__TRY(comp__parallel_try(h->context, count, CHUNK, accumulate_chunk, h));
    combine_y(h, (count + CHUNK - 1) / CHUNK);
  }
done:
  return status;
}

/* Centroids of length 1 from their sums, times 2 / sigma, so that a product with a sample is -distance / sigma + const.
 */
static void place_centroids(harmony *h) {
  for (size_t c = 0; c < h->k; c++) {
    double length = 0.0;
    for (size_t j = 0; j < h->d; j++) length += h->y_sum[c * h->d + j] * h->y_sum[c * h->d + j];
    double scale = length > 0.0 ? 2.0 / (h->o->sigma * sqrt(length)) : 0.0;
    for (size_t j = 0; j < h->d; j++) h->y[c * h->d + j] = (float)(h->y_sum[c * h->d + j] * scale);
  }
}

/* ---- Assignments ---- */

/* Leaves the current cells out of `mass`: their old sums, a part for each chunk. */
static void sum_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const harmony *h = arg;
  double *mass = h->part_mass + begin / CHUNK * h->combos * h->k;
  memset(mass, 0, h->combos * h->k * sizeof *mass);
  for (size_t i = begin; i < end; i++) {
    size_t cell = h->cells[h->first + i];
    double *own = mass + (size_t)h->combo[cell] * h->k;
    const float *r = h->r + cell * h->k;
    for (size_t c = 0; c < h->k; c++) own[c] += r[c];
  }
}

static void combine_mass(harmony *h, size_t n_parts, double sign) {
  for (size_t p = 0; p < n_parts; p++)
    for (size_t j = 0; j < h->combos * h->k; j++) h->mass[j] += sign * h->part_mass[p * h->combos * h->k + j];
}

/* by_level [levels, k] and total [k]: the sums of r over the samples of a level, and over all. */
static void sum_levels(harmony *h) {
  memset(h->by_level, 0, h->levels * h->k * sizeof *h->by_level);
  memset(h->total, 0, h->k * sizeof *h->total);
  for (size_t m = 0; m < h->combos; m++)
    for (size_t c = 0; c < h->k; c++) {
      double mass = h->mass[m * h->k + c];
      h->total[c] += mass;
      for (size_t v = 0; v < h->vars; v++) h->by_level[h->level_of[m * h->vars + v] * h->k + c] += mass;
    }
}

/* What attracts a level to a cluster that has less of it than expected. That of Harmony 2 is at most 2. */
static double attraction(const harmony *h, double observed, double expected) {
  return h->second ? (2.0 * expected + 1.0) / (observed + expected + 1.0) : (expected + 1.0) / (observed + 1.0);
}

/* log w = log sum over the columns of attraction^theta. */
static void weigh_clusters(harmony *h) {
  sum_levels(h);
  for (size_t c = 0; c < h->k; c++) {
    for (size_t m = 0; m < h->combos; m++) {
      double most = -INFINITY, sum = 0.0;
      for (int pass = 0; pass < 2; pass++)
        for (size_t v = 0; v < h->vars; v++) {
          size_t b = h->level_of[m * h->vars + v];
          double term = h->theta[b] * log(attraction(h, h->by_level[b * h->k + c], h->total[c] * h->share[b]));
          if (pass == 0)
            most = fmax(most, term);
          else
            sum += exp(term - most);
        }
      h->log_w[m * h->k + c] = (float)(most + log(sum));
    }
  }
}

static comp_status update_chunk(void *arg, size_t begin, size_t end, int thread) {
  const harmony *h = arg;
  size_t k = h->k, d = h->d, count = end - begin, part = begin / CHUNK;
  float *z = h->gathered + (size_t)thread * CHUNK * d, *rows = h->rows + (size_t)thread * CHUNK * k;
  double *mass = h->part_mass + part * h->combos * k, terms = 0.0;
  comp_status status;
  for (size_t i = 0; i < count; i++) memcpy(z + i * d, h->unit + h->cells[h->first + begin + i] * d, d * sizeof *z);
  COMP__TRY(comp__matmul_f32(h->context, rows, k, z, d, h->y, d, count, k, d, COMP__TRANS_B));
  memset(mass, 0, h->combos * k * sizeof *mass);
  for (size_t i = 0; i < count; i++) {
    size_t cell = h->cells[h->first + begin + i], m = (size_t)h->combo[cell];
    float *row = rows + i * k;
    const float *log_w = h->log_w + m * k;
    for (size_t c = 0; c < k; c++) row[c] += log_w[c];
    float most = comp__vec_max(row, k);
    double sum = comp__vec_exp_sub(row, row, most, k);
    float scale = (float)(1.0 / sum);
    for (size_t c = 0; c < k; c++) {
      row[c] *= scale;
      mass[m * k + c] += row[c];
    }
    memcpy(h->r + cell * k, row, k * sizeof *row);
    terms += 2.0 - h->o->sigma * (most + log(sum));
  }
  for (size_t j = 0; j < h->combos * k; j++) terms += h->o->sigma * mass[j] * h->log_w[j];
  h->part_terms[part] = terms;
  if (!h->second)
    COMP__TRY(comp__matmul_f32(h->context, h->part_y + part * k * d, d, rows, k, z, d, k, d, count, COMP__TRANS_A));
done:
  return status;
}

/* New assignments for `count` cells from place `first` of the list, in segments that the room holds. Their sums in
 * `mass` must have been taken out before. */
static comp_status update_cells(harmony *h, size_t first, size_t count) {
  comp_status status = COMP_OK;
  for (size_t end = first + count; first < end; first += SEGMENT) {
    size_t here = end - first < SEGMENT ? end - first : SEGMENT, parts = (here + CHUNK - 1) / CHUNK;
    h->first = first;
    COMP__TRY(comp__parallel_try(h->context, here, CHUNK, update_chunk, h));
    combine_mass(h, parts, 1.0);
    if (!h->second) combine_y(h, parts);
    for (size_t p = 0; p < parts; p++) h->sample_terms += h->part_terms[p];
  }
done:
  return status;
}

static void remove_cells(harmony *h, size_t first, size_t count) {
  for (size_t end = first + count; first < end; first += SEGMENT) {
    size_t here = end - first < SEGMENT ? end - first : SEGMENT;
    h->first = first;
    comp__parallel_for(h->context, here, CHUNK, sum_chunk, h);
    combine_mass(h, (here + CHUNK - 1) / CHUNK, -1.0);
  }
}

/* Error, entropy and cross entropy; the first two are sums over samples that the update has made. */
static void find_objective(harmony *h) {
  double cross = 0.0;
  sum_levels(h);
  for (size_t b = 0; b < h->levels; b++)
    for (size_t c = 0; c < h->k; c++) {
      double observed = h->by_level[b * h->k + c];
      cross -= observed * h->theta[b] * log(attraction(h, observed, h->total[c] * h->share[b]));
    }
  h->objective = h->sample_terms + h->o->sigma * cross;
}

/* The samples of a block: as even as can be, or the rest in the last. */
static size_t block_size(const harmony *h, size_t block, size_t blocks) {
  if (!h->second) return h->n / blocks + (block < h->n % blocks);
  const size_t size = (size_t)((double)h->n * h->block);
  return block + 1 < blocks ? size : h->n - size * (blocks - 1);
}

/* One step of clustering; the centroids for the next are in y_sum afterwards. */
static comp_status cluster_step(harmony *h) {
  comp_status status = COMP_OK;
  size_t blocks = (size_t)ceil(1.0 / h->block), first = 0;
  if (blocks > h->n) blocks = h->n;
  if (!h->second) {
    place_centroids(h);
    memset(h->y_sum, 0, h->k * h->d * sizeof *h->y_sum);
  }
  h->sample_terms = 0.0;
  comp__harmony_order(h->cells, h->n, h->o->seed, h->steps++);
  for (size_t i = 0; i < h->n; i++) h->cells[i] = h->place[h->cells[i]];
  for (size_t b = 0; b < blocks; b++) {
    size_t count = block_size(h, b, blocks);
    remove_cells(h, first, count);
    weigh_clusters(h);
    COMP__TRY(update_cells(h, first, count));
    first += count;
  }
  find_objective(h);
done:
  return status;
}

/* Assigns all samples by their distance from the centroids alone. */
static comp_status assign_all(harmony *h) {
  memset(h->log_w, 0, h->combos * h->k * sizeof *h->log_w);
  memset(h->mass, 0, h->combos * h->k * sizeof *h->mass);
  for (size_t i = 0; i < h->n; i++) h->cells[i] = i;
  return update_cells(h, 0, h->n);
}

static comp_status cluster(harmony *h) {
  comp_status status = COMP_OK;
  double history[WINDOW + 1] = {h->objective};
  /* The samples have moved. */
  if (!h->second)
    COMP__TRY(accumulate(h, h->unit, 0, h->n));
  else if (h->steps > 0)
    COMP__TRY(assign_all(h));
  for (size_t t = 0; t < h->max_cluster; t++) {
    COMP__TRY(comp__check_interrupt(h->context));
    COMP__TRY(cluster_step(h));
    if (t >= WINDOW) memmove(history, history + 1, WINDOW * sizeof *history);
    history[t < WINDOW ? t + 1 : WINDOW] = h->objective;
    double before = history[0] + history[1] + history[2], after = history[1] + history[2] + history[3];
    if (t > WINDOW && fabs(before - after) / fabs(before) < h->epsilon_cluster) break;
  }
done:
  return status;
}

/* ---- Correction ---- */

/* keep [levels + 1], the intercept first: the levels that are corrected in a cluster. In Harmony 2, those that have a
 * share of their samples in it, unless a column has only one such level. Returns whether there are any. */
static bool keep_levels(const harmony *h, bool *keep, size_t c) {
  bool any = false;
  for (size_t v = 0; v < h->vars; v++) {
    size_t count = 0;
    for (size_t b = h->first_level[v]; b < h->first_level[v + 1]; b++) {
      const double samples = h->share[b] * (double)h->n;
      keep[b + 1] = !h->second || h->by_level[b * h->k + c] > h->o->prune * samples;
      count += keep[b + 1];
    }
    for (size_t b = h->first_level[v]; h->second && count < 2 && b < h->first_level[v + 1]; b++) keep[b + 1] = false;
    any = any || !h->second || count > 1;
  }
  keep[0] = true;
  return any;
}

/* Adds the samples of a combination to the normal equations, unless none of its levels is corrected. */
static void add_combo(const harmony *h, double *a, double *w, const bool *keep, size_t m, double mass,
                      const double *sum) {
  const size_t p = h->levels + 1, d = h->d, *levels = h->level_of + m * h->vars;
  bool any = false;
  for (size_t v = 0; v < h->vars; v++) any = any || keep[levels[v] + 1];
  for (size_t u = 0; any && u <= h->vars; u++) {
    const size_t row = u ? levels[u - 1] + 1 : 0;
    if (!keep[row]) continue;
    for (size_t v = 0; v <= h->vars; v++) {
      const size_t col = v ? levels[v - 1] + 1 : 0;
      if (keep[col]) a[row * p + col] += mass;
    }
    for (size_t j = 0; j < d; j++) w[row * d + j] += sum[j];
  }
}

/* w [levels + 1, d] of one cluster: the ridge regression of its samples on the levels that are kept, with an intercept
 * that is not penalised. s [combos, k, d] are the sums of r z. All zero: nobody is in this cluster. */
static comp_status regress(const harmony *h, double *w, double *a, const bool *keep, const double *s, size_t c) {
  size_t p = h->levels + 1, d = h->d;
  memset(a, 0, p * p * sizeof *a);
  memset(w, 0, p * d * sizeof *w);
  for (size_t m = 0; m < h->combos; m++) add_combo(h, a, w, keep, m, h->mass[m * h->k + c], s + (m * h->k + c) * d);
  for (size_t b = 1; b < p; b++) {
    const double ridge = h->second ? h->o->alpha * h->total[c] * h->share[b - 1] : h->o->lambda;
    a[b * p + b] += keep[b] ? ridge : 1.0; /* the row of a level that is left out says w = 0 */
  }
  if (!(a[0] > 1e-12)) {
    memset(w, 0, p * d * sizeof *w);
    return COMP_OK;
  }
  return comp__solve_spd(a, p, w, d);
}

/* The centroid of a cluster in Harmony 2: the intercept, if there is one. */
static void take_centroid(harmony *h, const double *intercept, size_t c) {
  double length = 0.0;
  for (size_t j = 0; j < h->d; j++) length += intercept[j] * intercept[j];
  for (size_t j = 0; j < h->d; j++) h->y_sum[c * h->d + j] = length > 0.0 ? intercept[j] : (double)h->y[c * h->d + j];
}

static void normalise_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const harmony *h = arg;
  for (size_t i = begin; i < end; i++) {
    const float *from = h->corrected + i * h->d;
    double length = 0.0;
    for (size_t j = 0; j < h->d; j++) length += (double)from[j] * from[j];
    double scale = length > 0.0 ? 1.0 / sqrt(length) : 0.0;
    for (size_t j = 0; j < h->d; j++) h->unit[i * h->d + j] = (float)(from[j] * scale);
  }
}

static comp_status correct(harmony *h) {
  comp_status status;
  size_t p = h->levels + 1, k = h->k, d = h->d;
  double *s = NULL, *w = NULL, *a = NULL;
  bool *keep = NULL;
  float *shift = NULL; /* [combos, k, d], with the sign turned */
  COMP__TRY(comp__alloc(&s, h->combos, k * d * sizeof *s));
  COMP__TRY(comp__calloc(&shift, h->combos, k * d * sizeof *shift));
  COMP__TRY(comp__alloc(&w, p, d * sizeof *w));
  COMP__TRY(comp__alloc(&a, p, p * sizeof *a));
  COMP__TRY(comp__alloc(&keep, p, sizeof *keep));
  for (size_t m = 0; m < h->combos; m++) {
    COMP__TRY(accumulate(h, h->z, h->start[m], h->start[m + 1]));
    memcpy(s + m * k * d, h->y_sum, k * d * sizeof *s);
  }
  for (size_t c = 0; c < k; c++) {
    if (keep_levels(h, keep, c))
      COMP__TRY(regress(h, w, a, keep, s, c));
    else
      memset(w, 0, p * d * sizeof *w);
    if (h->second) take_centroid(h, w, c);
    for (size_t m = 0; m < h->combos; m++)
      for (size_t v = 0; v < h->vars; v++)
        for (size_t j = 0; j < d; j++)
          shift[(m * k + c) * d + j] -= (float)w[(h->level_of[m * h->vars + v] + 1) * d + j];
  }
  if (h->second) place_centroids(h);
  memcpy(h->corrected, h->z, h->n * d * sizeof *h->z);
  for (size_t m = 0; m < h->combos; m++)
    COMP__TRY(comp__matmul_f32(h->context, h->corrected + h->start[m] * d, d, h->r + h->start[m] * k, k,
                               shift + m * k * d, d, h->start[m + 1] - h->start[m], d, k, COMP__ACCUMULATE));
  comp__parallel_for(h->context, h->n, CHUNK, normalise_chunk, h);
done:
  comp__free(s);
  comp__free(shift);
  comp__free(w);
  comp__free(a);
  comp__free(keep);
  return status;
}

/* ---- The whole ---- */

static comp_status allocate(harmony *h) {
  comp_status status;
  size_t n = h->n, d = h->d, k = h->k, threads = (size_t)comp_context_thread_count(h->context), parts = SEGMENT / CHUNK;
  COMP__TRY(comp__alloc(&h->z, n, d * sizeof *h->z));
  COMP__TRY(comp__alloc(&h->corrected, n, d * sizeof *h->corrected));
  COMP__TRY(comp__alloc(&h->unit, n, d * sizeof *h->unit));
  COMP__TRY(comp__alloc(&h->r, n, k * sizeof *h->r));
  COMP__TRY(comp__alloc(&h->cells, n, sizeof *h->cells));
  COMP__TRY(comp__alloc(&h->y, k, d * sizeof *h->y));
  COMP__TRY(comp__calloc(&h->y_sum, k, d * sizeof *h->y_sum));
  COMP__TRY(comp__calloc(&h->mass, h->combos, k * sizeof *h->mass));
  COMP__TRY(comp__alloc(&h->by_level, h->levels, k * sizeof *h->by_level));
  COMP__TRY(comp__alloc(&h->total, k, sizeof *h->total));
  COMP__TRY(comp__calloc(&h->log_w, h->combos, k * sizeof *h->log_w));
  COMP__TRY(comp__alloc(&h->part_mass, parts * h->combos, k * sizeof *h->part_mass));
  COMP__TRY(comp__alloc(&h->part_y, parts * k, d * sizeof *h->part_y));
  COMP__TRY(comp__alloc(&h->part_terms, parts, sizeof *h->part_terms));
  COMP__TRY(comp__alloc(&h->gathered, threads * CHUNK, d * sizeof *h->gathered));
  COMP__TRY(comp__alloc(&h->rows, threads * CHUNK, k * sizeof *h->rows));
done:
  return status;
}

static void release(harmony *h) {
  void *blocks[] = {h->first_level, h->level_of,   h->share,    h->theta, h->order,    h->place,
                    h->start,       h->combo,      h->z,        h->unit,  h->r,        h->y,
                    h->y_sum,       h->corrected,  h->mass,     h->log_w, h->cells,    h->part_mass,
                    h->part_y,      h->part_terms, h->gathered, h->rows,  h->by_level, h->total};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) comp__free(blocks[i]);
}

static comp_status place_start(harmony *h, const comp_matrix *given) {
  comp_status status;
  comp__kmeans_options options = {h->k, KMEANS_STARTS, KMEANS_STEPS, h->o->seed};
  int32_t *labels = NULL;
  float *some = NULL;
  size_t n = h->n < KMEANS_SAMPLES ? h->n : KMEANS_SAMPLES;
  if (given) {
    if (given->kind != COMP_DENSE || given->rows != h->k || given->cols != h->d)
      COMP__FAIL(COMP_ERR_ARGUMENT, "centroids: %zu x %zu, and %zu x %zu are needed", given->rows, given->cols, h->k,
                 h->d);
    for (size_t j = 0; j < h->k * h->d; j++) h->y_sum[j] = given->values[j];
    return COMP_OK;
  }
  COMP__TRY(comp__alloc(&labels, n, sizeof *labels));
  if (n < h->n) { /* soft clustering goes on with all samples: where it starts, some tell as much */
    if (options.clusters > n) COMP__FAIL(COMP_ERR_ARGUMENT, "clusters: more than %zu cannot be started", n);
    options.starts = 1;
    COMP__TRY(comp__alloc(&some, n, h->d * sizeof *some));
    comp__rng_permutation(h->cells, h->n, comp__rng_at(h->o->seed, COMP__RNG_BASELINE, 0, 1));
    for (size_t i = 0; i < n; i++) memcpy(some + i * h->d, h->unit + h->cells[i] * h->d, h->d * sizeof *some);
  }
  COMP__TRY(comp__kmeans(labels, h->y_sum, NULL, h->context, some ? some : h->unit, n, h->d, &options));
done:
  comp__free(labels);
  comp__free(some);
  return status;
}

static comp_status start(harmony *h, const comp_matrix *embedding) {
  comp_status status;
  for (size_t i = 0; i < h->n; i++)
    memcpy(h->z + i * h->d, embedding->values + h->order[i] * h->d, h->d * sizeof *h->z);
  memcpy(h->corrected, h->z, h->n * h->d * sizeof *h->z);
  comp__parallel_for(h->context, h->n, CHUNK, normalise_chunk, h);
  COMP__TRY(place_start(h, h->o->centroids));
  place_centroids(h);
  COMP__TRY(assign_all(h));
  find_objective(h);
done:
  return status;
}

static comp_status iterate(harmony *h) {
  comp_status status = COMP_OK;
  char note[64];
  bool settled = false, rose = false;
  comp__progress_begin(h->context, (h->second ? "harmony2" : "harmony"), "rounds", h->o->max_iter);
  for (size_t t = 0; t < h->o->max_iter && !settled && !rose; t++) {
    double before = h->objective;
    COMP__TRY(cluster(h));
    COMP__TRY(correct(h));
    /* A rise is no convergence. harmonypy stops there, and so does what is compared with it. */
    const double drop = (before - h->objective) / fabs(before);
    settled = drop >= 0.0 && drop < h->epsilon;
    rose = drop < 0.0 && !h->second;
    snprintf(note, sizeof note, "objective %.6g", h->objective);
    comp__progress_update(h->context, t + 1, note);
  }
  comp__info(h->context, "%s: %zu cluster%s, %zu clustering step%s, objective %.6g%s",
             (h->second ? "harmony2" : "harmony"), h->k, h->k == 1 ? "" : "s", h->steps, h->steps == 1 ? "" : "s",
             h->objective,
             settled ? ""
             : rose  ? ", stopped because the objective rose"
                     : ", not settled after --max-iter rounds");
done:
  comp__progress_end(h->context);
  return status;
}

/* What the options and the method say. */
static comp_status set_up(harmony *h, bool second) {
  const comp__baseline_options *o = h->o;
  h->second = second;
  h->block = second && h->n < 40 ? fmax(o->block, 0.2) : o->block; /* as the R package does */
  h->epsilon_cluster = second ? SECOND_EPSILON_CLUSTER : FIRST_EPSILON_CLUSTER;
  h->epsilon = second ? SECOND_EPSILON : FIRST_EPSILON;
  h->max_cluster = o->max_cluster ? o->max_cluster : second ? SECOND_CLUSTER : FIRST_CLUSTER;
  if (second && h->n < SECOND_FEWEST)
    return comp__error(COMP_ERR_DATA, "harmony2: %zu samples; it needs %d", h->n, SECOND_FEWEST);
  return COMP_OK;
}

static comp_status run_version(comp__baseline_run *run, bool second) {
  comp_status status;
  comp_matrix *embedding = NULL;
  const comp__baseline_options *o = run->options;
  harmony h = {.run = run, .context = run->context, .o = o, .n = run->dataset->samples, .vars = 1 + o->n_covariates};
  COMP__TRY(set_up(&h, second));
  h.k = o->clusters ? o->clusters : (size_t)fmin(fmax(nearbyint((double)h.n / 30.0), 1.0), 100.0);
  if (h.k > h.n) COMP__FAIL(COMP_ERR_ARGUMENT, "clusters: %zu are too many for %zu samples", h.k, h.n);
  COMP__TRY(comp__baseline_start(&embedding, run));
  h.d = embedding->cols;
  COMP__TRY(sort_samples(&h));
  COMP__TRY(allocate(&h));
  COMP__TRY(start(&h, embedding));
  COMP__TRY(iterate(&h));
  for (size_t i = 0; i < h.n; i++)
    memcpy(embedding->values + h.order[i] * h.d, h.corrected + i * h.d, h.d * sizeof(float));
  run->embedding = embedding;
  embedding = NULL;
done:
  comp_matrix_free(embedding);
  release(&h);
  return status;
}

static comp_status run_harmony(comp__baseline_run *run) {
  return run_version(run, false);
}

static comp_status run_harmony2(comp__baseline_run *run) {
  return run_version(run, true);
}

const comp__baseline comp__baseline_harmony2 = {
    .method = {.name = "harmony2",
               .summary = "Harmony 2: corrects less where a condition is rare or missing in a cluster",
               .takes =
                   "covariates rep components theta sigma alpha prune tau block clusters max-iter max-cluster seed",
               .embedding = "X_harmony2",
               .components = 50},
    .run = run_harmony2,
};

const comp__baseline comp__baseline_harmony = {
    .method = {.name = "harmony",
               .summary = "Harmony: soft clusters that hold all conditions, corrected by ridge regression",
               .takes = "covariates rep components theta sigma lambda tau block clusters max-iter max-cluster seed",
               .embedding = "X_harmony",
               .components = 50},
    .run = run_harmony,
};
