/* independence.c: see independence.h. */
#include "diagnose/independence.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "model/chunks.h"
#include "model/penalty.h"
#include "nn/kernels.h"
#include "train/options.h"

/* Steps of the random stream of this file. */
enum { STEP_ORDER = 1000, STEP_DRAW = 2000, STEP_BOUND = 1000000, STEP_SHUFFLE = 2000000 };

comp_status comp__posteriors_init(comp__posteriors *out, const float *mean, const float *scale, const int32_t *codes,
                                  size_t n, size_t dims, size_t conditions, uint64_t seed) {
  comp_status status;
  size_t *order = NULL, *fill = NULL;
  *out = (comp__posteriors){.n = n, .dims = dims, .conditions = conditions};
  COMP__TRY(comp__alloc(&order, n, sizeof *order));
  COMP__TRY(comp__calloc(&fill, conditions, sizeof *fill));
  COMP__TRY(comp__calloc(&out->start, conditions + 1, sizeof *out->start));
  COMP__TRY(comp__alloc(&out->sample, n, sizeof *out->sample));
  COMP__TRY(comp__alloc(&out->mean, n, dims * sizeof *out->mean));
  COMP__TRY(comp__alloc(&out->scale, n, dims * sizeof *out->scale));
  for (size_t i = 0; i < n; i++) out->start[codes[i] + 1]++;
  for (size_t k = 0; k < conditions; k++)
    if (out->start[k + 1] < 2)
      COMP__FAIL(COMP_ERR_ARGUMENT, "condition number %zu has %zu sample%s; 2 are needed to compare conditions", k + 1,
                 out->start[k + 1], out->start[k + 1] == 1 ? "" : "s");
  for (size_t k = 0; k < conditions; k++) out->start[k + 1] += out->start[k];
  comp__rng_permutation(order, n, comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_ORDER, 0));
  for (size_t o = 0; o < n; o++) {
    size_t i = order[o], k = (size_t)codes[i], at = out->start[k] + fill[k]++;
    out->sample[at] = i;
    memcpy(out->mean + at * dims, mean + i * dims, dims * sizeof *mean);
    memcpy(out->scale + at * dims, scale + i * dims, dims * sizeof *scale);
  }
done:
  comp__free(order);
  comp__free(fill);
  if (status != COMP_OK) comp__posteriors_release(out);
  return status;
}

void comp__posteriors_release(comp__posteriors *posteriors) {
  comp__free(posteriors->start);
  comp__free(posteriors->sample);
  comp__free(posteriors->mean);
  comp__free(posteriors->scale);
  *posteriors = (comp__posteriors){0};
}

/* Sums of the per-sample values of one of the four quantities. */
enum { KL, INFORMATION, KL_APART, INFORMATION_APART, QUANTITIES };

typedef struct row_sums {
  double sum[QUANTITIES], squares[QUANTITIES]; /* over the draws of one sample */
} row_sums;

/* A run of rows of one condition. */
typedef struct piece {
  size_t begin, end, condition;
} piece;

typedef struct mixture_job {
  const comp__posteriors *posteriors;
  const comp__kernels *kernels;
  comp__pairs pairs;
  float *z, *mean_t, *half_inv_t, *offset;
  float *lse_own, *lse_other; /* [n] */
  row_sums *sums;             /* [n] */
  piece *pieces;
  size_t n_pieces, draw;
  double widen; /* of the posteriors as mixture, not of the draws */
  uint64_t seed;
} mixture_job;

/* Transposes the posteriors. */
static void pack(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  mixture_job *job = arg;
  const comp__posteriors *p = job->posteriors;
  size_t padded = job->pairs.padded, dims = p->dims;
  for (size_t j = begin; j < end; j++) {
    double offset = 0;
    for (size_t d = 0; d < dims; d++) {
      bool real = j < p->n;
      float scale = (real ? p->scale[j * dims + d] : 1.0f) * (float)job->widen;
      job->mean_t[d * padded + j] = real ? p->mean[j * dims + d] : 0.0f;
      job->half_inv_t[d * padded + j] = 0.5f / (scale * scale);
      offset -= log((double)scale);
    }
    job->offset[j] = j < p->n ? (float)offset : -3e38f;
  }
}

/* The log density of a draw under its own posterior, without the constants that the kernels leave out. */
static double own_density(const mixture_job *job, size_t i) {
  const comp__posteriors *p = job->posteriors;
  double value = (double)job->offset[i];
  for (size_t d = 0; d < p->dims; d++) {
    size_t at = i * p->dims + d;
    double u = (double)(job->z[at] - p->mean[at]) / ((double)p->scale[at] * job->widen);
    value -= 0.5 * u * u;
  }
  return value;
}

static double log_add(double a, double b) {
  double high = fmax(a, b);
  return high + log1p(exp(fmin(a, b) - high));
}

static void add_value(row_sums *sums, int quantity, double value) {
  sums->sum[quantity] += value;
  sums->squares[quantity] += value * value;
}

static void mix_piece(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  mixture_job *job = arg;
  const comp__posteriors *p = job->posteriors;
  for (size_t k = begin; k < end; k++) {
    piece at = job->pieces[k];
    size_t own_begin = p->start[at.condition], own_end = p->start[at.condition + 1], dims = p->dims;
    for (size_t i = at.begin; i < at.end; i++) {
      float *z = job->z + i * dims;
      comp__rng rng = comp__rng_at(job->seed, COMP__RNG_DIAGNOSE, STEP_DRAW + job->draw, p->sample[i]);
      comp__rng_fill_normal(z, dims, rng, 0);
      for (size_t d = 0; d < dims; d++) z[d] = p->mean[i * dims + d] + p->scale[i * dims + d] * z[d];
    }
    job->kernels->mixture_forward(&job->pairs, at.begin, at.end, own_begin, own_end, true, job->lse_own,
                                  job->lse_other);
    double own = (double)(own_end - own_begin), other = (double)p->n - own;
    double log_share = log(own / (double)p->n), log_rest = log(other / (double)p->n);
    for (size_t i = at.begin; i < at.end; i++) {
      double rest = (double)job->lse_other[i] - log(other);
      double apart = (double)job->lse_own[i] - log(own - 1);
      double with = log_add((double)job->lse_own[i], own_density(job, i)) - log(own);
      add_value(&job->sums[i], KL, with - rest);
      add_value(&job->sums[i], INFORMATION, with - log_add(with + log_share, rest + log_rest));
      add_value(&job->sums[i], KL_APART, apart - rest);
      add_value(&job->sums[i], INFORMATION_APART, apart - log_add(apart + log_share, rest + log_rest));
    }
  }
}

/* Sampling in two stages, within each condition: m of n samples, then draws from each of their posteriors. When all
 * samples are drawn from, only the spread over the draws is left. */
static void finish(comp__independence *out, const mixture_job *job, const size_t *used, size_t draws) {
  const comp__posteriors *p = job->posteriors;
  comp__estimate *estimates[QUANTITIES] = {&out->kl, &out->information, &out->kl_apart, &out->information_apart};
  double s = (double)draws;
  for (int q = 0; q < QUANTITIES; q++) {
    double value = 0, variance = 0;
    for (size_t k = 0; k < p->conditions; k++) {
      double m = (double)used[k], count = (double)(p->start[k + 1] - p->start[k]), share = count / (double)p->n;
      double sum = 0, squares = 0, within = 0;
      for (size_t i = p->start[k]; i < p->start[k] + used[k]; i++) {
        double mean = job->sums[i].sum[q] / s;
        sum += mean;
        squares += mean * mean;
        within += fmax(0, job->sums[i].squares[q] - s * mean * mean) / (s - 1);
      }
      double mean = sum / m, between = m > 1 ? fmax(0, squares - m * mean * mean) / (m - 1) : 0;
      value += share * mean;
      variance += share * share * ((1 - m / count) * between / m + m / count * within / (m * m * s));
      if (q == KL_APART) out->kl_by_condition[k] = mean;
    }
    *estimates[q] = (comp__estimate){value, sqrt(variance)};
  }
  out->entropy = 0;
  for (size_t k = 0; k < p->conditions; k++) {
    double share = (double)(p->start[k + 1] - p->start[k]) / (double)p->n;
    out->entropy -= share * log(share);
  }
}

static void cut_pieces(mixture_job *job, const size_t *used) {
  const comp__posteriors *p = job->posteriors;
  for (size_t k = 0; k < p->conditions; k++)
    for (size_t i = 0; i < used[k]; i += COMP__PAIR_ROWS) {
      size_t end = i + COMP__PAIR_ROWS < used[k] ? i + COMP__PAIR_ROWS : used[k];
      job->pieces[job->n_pieces++] = (piece){p->start[k] + i, p->start[k] + end, k};
    }
}

/* How many samples of a condition are taken when about `rows` are wanted in all. */
static size_t rows_of_condition(const comp__posteriors *p, size_t k, size_t rows) {
  size_t count = p->start[k + 1] - p->start[k];
  if (rows >= p->n) return count;
  size_t used = (size_t)ceil((double)count * (double)rows / (double)p->n);
  return used < 2 ? 2 : used;
}

static comp_status estimate(comp__independence *out, comp_context *context, const comp__posteriors *p, size_t rows,
                            size_t draws, uint64_t seed, double widen) {
  comp_status status;
  size_t padded = comp__pad_rows(p->n), *used = NULL, total = 0;
  mixture_job job = {.posteriors = p, .kernels = comp__kernels_get(), .seed = seed, .widen = widen};
  *out = (comp__independence){.draws = draws};
  COMP__TRY(comp__calloc(&out->kl_by_condition, p->conditions, sizeof *out->kl_by_condition));
  COMP__TRY(comp__alloc(&used, p->conditions, sizeof *used));
  COMP__TRY(comp__alloc(&job.mean_t, padded, p->dims * sizeof *job.mean_t));
  COMP__TRY(comp__alloc(&job.half_inv_t, padded, p->dims * sizeof *job.half_inv_t));
  COMP__TRY(comp__alloc(&job.offset, padded, sizeof *job.offset));
  COMP__TRY(comp__calloc(&job.z, p->n, p->dims * sizeof *job.z));
  COMP__TRY(comp__alloc(&job.lse_own, p->n, sizeof *job.lse_own));
  COMP__TRY(comp__alloc(&job.lse_other, p->n, sizeof *job.lse_other));
  COMP__TRY(comp__calloc(&job.sums, p->n, sizeof *job.sums));
  COMP__TRY(comp__alloc(&job.pieces, p->n / COMP__PAIR_ROWS + p->conditions, sizeof *job.pieces));
  for (size_t k = 0; k < p->conditions; k++) {
    used[k] = rows_of_condition(p, k, rows);
    total += used[k];
  }
  out->rows = total;
  cut_pieces(&job, used);
  job.pairs = (comp__pairs){.count = p->n,
                            .padded = padded,
                            .dims = p->dims,
                            .z = job.z,
                            .mean_t = job.mean_t,
                            .half_inv_t = job.half_inv_t,
                            .offset = job.offset};
  comp__parallel_for(context, padded, COMP__PAIR_PAD, pack, &job);
  for (job.draw = 0; job.draw < draws; job.draw++) {
    comp__parallel_for(context, job.n_pieces, 1, mix_piece, &job);
    COMP__TRY(comp__check_interrupt(context));
  }
  finish(out, &job, used, draws);
done:
  comp__free(used);
  comp__free(job.mean_t);
  comp__free(job.half_inv_t);
  comp__free(job.offset);
  comp__free(job.z);
  comp__free(job.lse_own);
  comp__free(job.lse_other);
  comp__free(job.sums);
  comp__free(job.pieces);
  if (status != COMP_OK) comp__independence_release(out);
  return status;
}

comp_status comp__independence_estimate(comp__independence *out, comp_context *context,
                                        const comp__posteriors *posteriors, size_t rows, size_t draws, uint64_t seed) {
  return estimate(out, context, posteriors, rows, draws, seed, 1);
}

comp_status comp__information_least(comp__estimate *out, comp_context *context, const comp__posteriors *posteriors,
                                    size_t rows, uint64_t seed) {
  static const double widths[] = {1, 1.5, 2, 3, 4, 6, 8, 12, 16};
  *out = (comp__estimate){0, 0};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    comp__independence result;
    comp_status status = estimate(&result, context, posteriors, rows, 2, seed, widths[w]);
    if (status != COMP_OK) return status;
    if (result.information_apart.value > out->value) *out = result.information_apart;
    comp__independence_release(&result);
  }
  return COMP_OK;
}

void comp__independence_release(comp__independence *independence) {
  comp__free(independence->kl_by_condition);
  *independence = (comp__independence){0};
}

/* Copies the first samples of each condition, about `rows` in all, with their conditions. */
static comp_status take_part(float **mean, float **scale, int32_t **codes, size_t *n, const comp__posteriors *p,
                             size_t rows) {
  comp_status status;
  *n = 0;
  COMP__TRY(comp__alloc(mean, p->n, p->dims * sizeof **mean));
  COMP__TRY(comp__alloc(scale, p->n, p->dims * sizeof **scale));
  COMP__TRY(comp__alloc(codes, p->n, sizeof **codes));
  for (size_t k = 0; k < p->conditions; k++) {
    size_t used = rows_of_condition(p, k, rows);
    memcpy(*mean + *n * p->dims, p->mean + p->start[k] * p->dims, used * p->dims * sizeof **mean);
    memcpy(*scale + *n * p->dims, p->scale + p->start[k] * p->dims, used * p->dims * sizeof **scale);
    for (size_t i = 0; i < used; i++) (*codes)[(*n)++] = (int32_t)k;
  }
done:
  return status;
}

/* The value for these conditions. */
static comp_status kl_of(double *out, comp_context *context, const float *mean, const float *scale,
                         const int32_t *codes, size_t n, const comp__posteriors *like, uint64_t seed) {
  comp__posteriors p;
  comp__independence result;
  comp_status status = comp__posteriors_init(&p, mean, scale, codes, n, like->dims, like->conditions, seed);
  if (status != COMP_OK) return status;
  status = comp__independence_estimate(&result, context, &p, SIZE_MAX, 2, seed);
  comp__posteriors_release(&p);
  if (status != COMP_OK) return status;
  *out = result.kl_apart.value;
  comp__independence_release(&result);
  return COMP_OK;
}

comp_status comp__independence_shuffled(comp__null *out, comp_context *context, const comp__posteriors *posteriors,
                                        size_t rows, size_t shuffles, uint64_t seed) {
  comp_status status;
  float *mean = NULL, *scale = NULL;
  int32_t *codes = NULL, *mixed = NULL;
  size_t n, *order = NULL, reached = 0;
  double sum = 0, squares = 0, count = (double)shuffles;
  COMP__TRY(take_part(&mean, &scale, &codes, &n, posteriors, rows));
  COMP__TRY(comp__alloc(&mixed, n, sizeof *mixed));
  COMP__TRY(comp__alloc(&order, n, sizeof *order));
  *out = (comp__null){.rows = n, .shuffles = shuffles};
  COMP__TRY(kl_of(&out->kl, context, mean, scale, codes, n, posteriors, seed));
  for (size_t t = 0; t < shuffles; t++) {
    double value;
    comp__rng_permutation(order, n, comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_SHUFFLE + t, 0));
    for (size_t i = 0; i < n; i++) mixed[i] = codes[order[i]];
    COMP__TRY(kl_of(&value, context, mean, scale, mixed, n, posteriors, seed));
    sum += value;
    squares += value * value;
    reached += value >= out->kl;
  }
  out->mean = sum / count;
  out->deviation = shuffles > 1 ? sqrt(fmax(0, squares - count * out->mean * out->mean) / (count - 1)) : 0;
  out->excess = out->kl - out->mean;
  out->p = (double)(1 + reached) / (double)(1 + shuffles);
done:
  comp__free(mean);
  comp__free(scale);
  comp__free(codes);
  comp__free(mixed);
  comp__free(order);
  return status;
}

/* Arrays of one batch. */
typedef struct bound_batch {
  float *z, *mean, *scale; /* [batch, dims] */
  size_t *start;           /* [conditions + 1] */
  void *scratch;
} bound_batch;

/* The t-th batch: consecutive samples of each (shuffled) condition, from the start again when they are used up. */
static void fill_batch(bound_batch *b, const comp__posteriors *p, size_t t, uint64_t seed) {
  size_t dims = p->dims;
  for (size_t k = 0; k < p->conditions; k++) {
    size_t count = p->start[k + 1] - p->start[k], size = b->start[k + 1] - b->start[k];
    for (size_t r = 0; r < size; r++) {
      size_t to = (b->start[k] + r) * dims, i = p->start[k] + (t * size + r) % count;
      comp__rng rng = comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_BOUND + t, p->sample[i]);
      comp__rng_fill_normal(b->z + to, dims, rng, 0);
      for (size_t d = 0; d < dims; d++) {
        b->mean[to + d] = p->mean[i * dims + d];
        b->scale[to + d] = p->scale[i * dims + d];
        b->z[to + d] = b->mean[to + d] + b->scale[to + d] * b->z[to + d];
      }
    }
  }
}

comp_status comp__training_bound(comp__estimate *out, comp_context *context, const comp__posteriors *posteriors,
                                 size_t batch, size_t batches, uint64_t seed) {
  comp_status status;
  const comp__posteriors *p = posteriors;
  const comp__penalty *penalty = &comp__penalty_comp;
  comp__model_options options = {.scale = 1, .learn_scale = true, .include_self = true};
  bound_batch b = {0};
  double sum = 0, squares = 0;
  if (batch > p->n) batch = p->n;
  COMP__TRY(comp__calloc(&b.start, p->conditions + 1, sizeof *b.start));
  for (size_t k = 0; k < p->conditions; k++) {
    double share = (double)(p->start[k + 1] - p->start[k]) / (double)p->n;
    size_t size = (size_t)(share * (double)batch + 0.5);
    b.start[k + 1] = b.start[k] + (size < 1 ? 1 : size);
  }
  size_t rows = b.start[p->conditions];
  COMP__TRY(comp__alloc(&b.z, rows, p->dims * sizeof *b.z));
  COMP__TRY(comp__alloc(&b.mean, rows, p->dims * sizeof *b.mean));
  COMP__TRY(comp__alloc(&b.scale, rows, p->dims * sizeof *b.scale));
  COMP__TRY(comp__alloc(&b.scratch, penalty->scratch(&options, rows, p->dims, p->conditions), 1));
  for (size_t t = 0; t < batches; t++) {
    double value;
    fill_batch(&b, p, t, seed);
    comp__penalty_input input = {rows, p->dims, p->conditions, b.start, b.z, b.mean, b.scale, 1, NULL, NULL};
    COMP__TRY(penalty->run(&value, context, &options, &input, &(comp__penalty_gradient){0}, 1, b.scratch));
    COMP__TRY(comp__check_interrupt(context));
    sum += value;
    squares += value * value;
  }
  double n = (double)batches, mean = sum / n;
  *out = (comp__estimate){mean, batches > 1 ? sqrt(fmax(0, squares - n * mean * mean) / (n - 1) / n) : NAN};
done:
  comp__free(b.start);
  comp__free(b.z);
  comp__free(b.mean);
  comp__free(b.scale);
  comp__free(b.scratch);
  return status;
}
