/* kernels_dense.c: batch normalisation, Adam, residuals and sparse rows, one piece at a time. */
#include "nn/kernels_isa.h"
#include "nn/simd.h"

#include <assert.h>
#include <math.h>

/* A block of columns as vectors: `whole` full ones, then `rest` lanes. */
enum { BLOCK = COMP__BN_COLUMNS / SIMD_WIDTH };

static inline vf load_lanes(const float *p, size_t n) {
  return n >= SIMD_WIDTH ? vf_load(p) : vf_load_part(p, n, 0.0f);
}

static inline void store_lanes(float *p, vf v, size_t n) {
  if (n >= SIMD_WIDTH)
    vf_store(p, v);
  else
    vf_store_part(p, v, n);
}

static inline void store_half(uint16_t *p, vf v, size_t n) {
  if (n >= SIMD_WIDTH) {
    vf_store_bf16(p, v);
    return;
  }
  uint16_t lanes[SIMD_WIDTH];
  vf_store_bf16(lanes, v);
  memcpy(p, lanes, n * sizeof *p);
}

/* How many lanes of vector b of a block of `count` columns are in use. */
static inline size_t lanes_of(size_t count, size_t b) {
  return count > b * SIMD_WIDTH ? count - b * SIMD_WIDTH : 0;
}

/* A row of a block of `count` columns; `full` when they are all in use. The lanes behind them are zero. */
static inline void load_block(vf to[BLOCK], const float *p, size_t count, bool full) {
  for (size_t b = 0; b < BLOCK; b++) {
    const float *at = p + b * SIMD_WIDTH;
    to[b] = full ? vf_load(at) : load_lanes(at, lanes_of(count, b));
  }
}

static inline void store_block(float *p, const vf from[BLOCK], size_t count, bool full) {
  for (size_t b = 0; b < BLOCK; b++) store_lanes(p + b * SIMD_WIDTH, from[b], full ? SIMD_WIDTH : lanes_of(count, b));
}

static inline void store_half_block(uint16_t *p, const vf from[BLOCK], size_t count, bool full) {
  for (size_t b = 0; b < BLOCK; b++) store_half(p + b * SIMD_WIDTH, from[b], full ? SIMD_WIDTH : lanes_of(count, b));
}

/* The slope is at most 1. */
static inline vf leaky(vf x, float slope) {
  return vf_max(x, x * vf_splat(slope));
}

/* Sums over rows run in fixed pieces of 64 rows so that rounding stays small at any batch size. */
enum { SUM_ROWS = 64 };

static inline size_t piece_end(size_t r0, size_t rows) {
  return r0 + SUM_ROWS < rows ? r0 + SUM_ROWS : rows;
}

/* A prefetch reaches this many rows ahead: rows of a wide matrix lie too far apart for the CPU to do it by itself. */
enum { AHEAD = 16 };

static inline void prefetch_block(const float *p, size_t cols) {
  for (size_t c = 0; c < COMP__BN_COLUMNS; c += 16) __builtin_prefetch(p + AHEAD * cols + c);
}

/* Copies the columns to `tile` [rows, COMP__BN_COLUMNS] on the way. */
static inline void block_mean(vf mean[BLOCK], float *tile, const float *y, const comp__batchnorm *bn, size_t count,
                              bool full) {
  vf total[BLOCK] = {{0}};
  for (size_t r0 = 0; r0 < bn->rows; r0 += SUM_ROWS) {
    vf part[BLOCK] = {{0}}, v[BLOCK];
    for (size_t r = r0; r < piece_end(r0, bn->rows); r++) {
      prefetch_block(y + r * bn->cols, bn->cols);
      load_block(v, y + r * bn->cols, count, full);
      store_block(tile + r * COMP__BN_COLUMNS, v, 0, true);
      for (size_t b = 0; b < BLOCK; b++) part[b] += v[b];
    }
    for (size_t b = 0; b < BLOCK; b++) total[b] += part[b];
  }
  for (size_t b = 0; b < BLOCK; b++) mean[b] = total[b] * vf_splat(1.0f / (float)bn->rows);
}

static inline void block_variance(vf variance[BLOCK], const vf mean[BLOCK], const float *tile, size_t rows) {
  vf total[BLOCK] = {{0}};
  for (size_t r0 = 0; r0 < rows; r0 += SUM_ROWS) {
    vf part[BLOCK] = {{0}}, d[BLOCK];
    for (size_t r = r0; r < piece_end(r0, rows); r++) {
      load_block(d, tile + r * COMP__BN_COLUMNS, 0, true);
      for (size_t b = 0; b < BLOCK; b++) {
        d[b] -= mean[b];
        part[b] += d[b] * d[b];
      }
    }
    for (size_t b = 0; b < BLOCK; b++) total[b] += part[b];
  }
  for (size_t b = 0; b < BLOCK; b++) variance[b] = total[b] * vf_splat(1.0f / (float)rows);
}

static inline vf inverse_root(vf x) {
  for (int l = 0; l < SIMD_WIDTH; l++) x[l] = 1.0f / sqrtf(x[l]);
  return x;
}

static void update_running(const comp__batchnorm *bn, size_t col, vf mean, vf variance, size_t lanes) {
  float unbias = bn->rows > 1 ? (float)bn->rows / (float)(bn->rows - 1) : 1.0f;
  vf keep = vf_splat(1.0f - bn->momentum), take = vf_splat(bn->momentum);
  vf m = load_lanes(bn->running_mean + col, lanes), v = load_lanes(bn->running_var + col, lanes);
  store_lanes(bn->running_mean + col, m * keep + mean * take, lanes);
  store_lanes(bn->running_var + col, v * keep + variance * vf_splat(unbias) * take, lanes);
}

/* From the columns in `tile` to what a layer gives on; they become xhat. */
static inline void normalise_block(const comp__batchnorm *bn, float *tile, const vf mean[BLOCK], const vf inv[BLOCK],
                                   float *act, uint16_t *act_half, size_t first, size_t count, bool full) {
  vf gamma[BLOCK], beta[BLOCK];
  load_block(gamma, bn->gamma + first, count, full);
  load_block(beta, bn->beta + first, count, full);
  for (size_t r = 0; r < bn->rows; r++) {
    size_t at = r * bn->cols + first;
    vf x[BLOCK], out[BLOCK];
    load_block(x, tile + r * COMP__BN_COLUMNS, 0, true);
    for (size_t b = 0; b < BLOCK; b++) {
      x[b] = (x[b] - mean[b]) * inv[b];
      out[b] = leaky(x[b] * gamma[b] + beta[b], bn->slope);
    }
    store_block(tile + r * COMP__BN_COLUMNS, x, 0, true);
    if (act) store_block(act + at, out, count, full);
    if (act_half) store_half_block(act_half + at, out, count, full);
  }
}

static inline void forward_block(const comp__batchnorm *bn, float *xhat, const float *y, float *act, uint16_t *act_half,
                                 size_t first, size_t count, bool full) {
  float *tile = xhat + first * bn->rows;
  vf mean[BLOCK], variance[BLOCK], inv[BLOCK];
  block_mean(mean, tile, y + first, bn, count, full);
  block_variance(variance, mean, tile, bn->rows);
  for (size_t b = 0; b < BLOCK; b++) {
    inv[b] = inverse_root(variance[b] + vf_splat(bn->epsilon));
    update_running(bn, first + b * SIMD_WIDTH, mean[b], variance[b], lanes_of(count, b));
  }
  store_block(bn->inv_std + first, inv, count, full);
  normalise_block(bn, tile, mean, inv, act, act_half, first, count, full);
}

void KERNEL(batchnorm_forward)(const comp__batchnorm *bn, float *xhat, const float *y, float *act, uint16_t *act_half,
                               size_t first, size_t count) {
  assert(first % COMP__BN_COLUMNS == 0);
  if (count == COMP__BN_COLUMNS)
    forward_block(bn, xhat, y, act, act_half, first, count, true);
  else
    forward_block(bn, xhat, y, act, act_half, first, count, false);
}

void KERNEL(batchnorm_moments)(const comp__batchnorm *bn, float *xhat, const float *y, float *mean, float *variance,
                               size_t first, size_t count) {
  assert(first % COMP__BN_COLUMNS == 0);
  const bool full = count == COMP__BN_COLUMNS;
  float *tile = xhat + first * bn->rows;
  vf centre[BLOCK], spread[BLOCK];
  block_mean(centre, tile, y + first, bn, count, full);
  block_variance(spread, centre, tile, bn->rows);
  store_block(mean + first, centre, count, full);
  store_block(variance + first, spread, count, full);
}

void KERNEL(batchnorm_apply)(const comp__batchnorm *bn, float *xhat, const float *mean, float *act, uint16_t *act_half,
                             size_t first, size_t count) {
  const bool full = count == COMP__BN_COLUMNS;
  vf centre[BLOCK], inv[BLOCK];
  load_block(centre, mean + first, count, full);
  load_block(inv, bn->inv_std + first, count, full);
  normalise_block(bn, xhat + first * bn->rows, centre, inv, act, act_half, first, count, full);
}

static inline void eval_block(const comp__batchnorm *bn, const float *y, float *act, uint16_t *act_half, size_t first,
                              size_t count, bool full) {
  vf mean[BLOCK], inv[BLOCK], gamma[BLOCK], beta[BLOCK];
  load_block(mean, bn->running_mean + first, count, full);
  load_block(inv, bn->running_var + first, count, full);
  load_block(gamma, bn->gamma + first, count, full);
  load_block(beta, bn->beta + first, count, full);
  for (size_t b = 0; b < BLOCK; b++) inv[b] = inverse_root(inv[b] + vf_splat(bn->epsilon));
  for (size_t r = 0; r < bn->rows; r++) {
    size_t at = r * bn->cols + first;
    vf out[BLOCK];
    prefetch_block(y + at, bn->cols);
    load_block(out, y + at, count, full);
    for (size_t b = 0; b < BLOCK; b++) out[b] = leaky((out[b] - mean[b]) * inv[b] * gamma[b] + beta[b], bn->slope);
    if (act) store_block(act + at, out, count, full);
    if (act_half) store_half_block(act_half + at, out, count, full);
  }
}

void KERNEL(batchnorm_eval)(const comp__batchnorm *bn, const float *y, float *act, uint16_t *act_half, size_t first,
                            size_t count) {
  if (count == COMP__BN_COLUMNS)
    eval_block(bn, y, act, act_half, first, count, true);
  else
    eval_block(bn, y, act, act_half, first, count, false);
}

/* The gradient before the activation: its sign is that of gamma * xhat + beta. */
static inline vf before_leaky(vf d, vf pre, float slope) {
  return vf_select(pre > vf_splat(0.0f), d, d * vf_splat(slope));
}

/* d_gamma and d_beta of a block, and its gradients before the activation, which go to `tile`. */
static inline void backward_sums(const comp__batchnorm *bn, float *tile, const float *d_act, const float *xhat,
                                 vf sum[BLOCK], vf sum_xhat[BLOCK], size_t first, size_t count, bool full) {
  vf gamma[BLOCK], beta[BLOCK];
  load_block(gamma, bn->gamma + first, count, full);
  load_block(beta, bn->beta + first, count, full);
  for (size_t b = 0; b < BLOCK; b++) sum[b] = sum_xhat[b] = vf_splat(0.0f);
  for (size_t r0 = 0; r0 < bn->rows; r0 += SUM_ROWS) {
    vf part[BLOCK] = {{0}}, part_xhat[BLOCK] = {{0}}, x[BLOCK], d[BLOCK];
    for (size_t r = r0; r < piece_end(r0, bn->rows); r++) {
      prefetch_block(d_act + r * bn->cols + first, bn->cols);
      load_block(x, xhat + r * COMP__BN_COLUMNS, 0, true);
      load_block(d, d_act + r * bn->cols + first, count, full);
      for (size_t b = 0; b < BLOCK; b++) {
        d[b] = before_leaky(d[b], x[b] * gamma[b] + beta[b], bn->slope);
        part[b] += d[b];
        part_xhat[b] += d[b] * x[b];
      }
      store_block(tile + r * COMP__BN_COLUMNS, d, 0, true);
    }
    for (size_t b = 0; b < BLOCK; b++) {
      sum[b] += part[b];
      sum_xhat[b] += part_xhat[b];
    }
  }
}

/* From the gradients before the activation in `tile` to those by the product; mean and mean_xhat are those of the
 * gradients, and of their products with xhat, over the whole batch. */
static inline void backward_rows(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, const vf mean[BLOCK],
                                 const vf mean_xhat[BLOCK], size_t first, size_t count, bool full) {
  const float *xhat = g->xhat + first * bn->rows;
  float *tile = g->scratch + first * bn->rows;
  vf scale[BLOCK], inv[BLOCK];
  load_block(scale, bn->gamma + first, count, full);
  load_block(inv, bn->inv_std + first, count, full);
  for (size_t b = 0; b < BLOCK; b++) scale[b] *= inv[b];
  for (size_t r = 0; r < bn->rows; r++) {
    vf x[BLOCK], d[BLOCK];
    load_block(x, xhat + r * COMP__BN_COLUMNS, 0, true);
    load_block(d, tile + r * COMP__BN_COLUMNS, 0, true);
    for (size_t b = 0; b < BLOCK; b++) d[b] = scale[b] * (d[b] - mean[b] - x[b] * mean_xhat[b]);
    if (g->blocked) store_block(tile + r * COMP__BN_COLUMNS, d, 0, true);
    if (g->d_y) store_block(g->d_y + r * bn->cols + first, d, count, full);
    if (g->d_half) store_half_block(g->d_half + r * bn->cols + first, d, count, full);
  }
}

static inline void backward_block(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, size_t first,
                                  size_t count, bool full) {
  vf mean[BLOCK], mean_xhat[BLOCK];
  backward_sums(bn, g->scratch + first * bn->rows, g->d_act, g->xhat + first * bn->rows, mean, mean_xhat, first, count,
                full);
  store_block(g->d_beta + first, mean, count, full);
  store_block(g->d_gamma + first, mean_xhat, count, full);
  const vf share = vf_splat(1.0f / (float)bn->rows);
  for (size_t b = 0; b < BLOCK; b++) {
    mean[b] *= share;
    mean_xhat[b] *= share;
  }
  backward_rows(bn, g, mean, mean_xhat, first, count, full);
}

void KERNEL(batchnorm_backward)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, size_t first,
                                size_t count) {
  assert(first % COMP__BN_COLUMNS == 0);
  if (count == COMP__BN_COLUMNS)
    backward_block(bn, g, first, count, true);
  else
    backward_block(bn, g, first, count, false);
}

void KERNEL(batchnorm_backward_sums)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, size_t first,
                                     size_t count) {
  const bool full = count == COMP__BN_COLUMNS;
  vf sum[BLOCK], sum_xhat[BLOCK];
  backward_sums(bn, g->scratch + first * bn->rows, g->d_act, g->xhat + first * bn->rows, sum, sum_xhat, first, count,
                full);
  store_block(g->d_beta + first, sum, count, full);
  store_block(g->d_gamma + first, sum_xhat, count, full);
}

void KERNEL(batchnorm_backward_apply)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, const float *mean,
                                      const float *mean_xhat, size_t first, size_t count) {
  const bool full = count == COMP__BN_COLUMNS;
  vf centre[BLOCK], centre_xhat[BLOCK];
  load_block(centre, mean + first, count, full);
  load_block(centre_xhat, mean_xhat + first, count, full);
  backward_rows(bn, g, centre, centre_xhat, first, count, full);
}

bool KERNEL(adam)(const comp__adam *adam, float *p, uint16_t *half, float *m, float *v, const float *g, size_t n) {
  const vf b1 = vf_splat(adam->beta1), c1 = vf_splat(1.0f - adam->beta1);
  const vf b2 = vf_splat(adam->beta2), c2 = vf_splat(1.0f - adam->beta2);
  const vf rate = vf_splat(adam->rate), epsilon = vf_splat(adam->epsilon), keep = vf_splat(1.0f - adam->decay);
  const vf scale = vf_splat(adam->grad_scale);
  vf not_finite = {0};
  for (size_t i = 0; i < n; i += SIMD_WIDTH) {
    size_t lanes = n - i;
    vf grad = load_lanes(g + i, lanes) * scale;
    not_finite += grad - grad; /* 0, or NaN for ever */
    vf moment = load_lanes(m + i, lanes) * b1 + grad * c1;
    vf square = load_lanes(v + i, lanes) * b2 + grad * grad * c2;
    vf root = square;
    for (int l = 0; l < SIMD_WIDTH; l++) root[l] = sqrtf(root[l]);
    vf value = load_lanes(p + i, lanes) * keep - rate * moment / (root + epsilon);
    store_lanes(m + i, moment, lanes);
    store_lanes(v + i, square, lanes);
    store_lanes(p + i, value, lanes);
    if (half) store_half(half + i, value, lanes);
  }
  return vf_sum(not_finite) == 0.0f;
}

static inline float sum_of_squares(const float *y, size_t cols) {
  vf sum[4] = {{0}};
  size_t c = 0;
  for (; c + 4 * SIMD_WIDTH <= cols; c += 4 * SIMD_WIDTH)
    for (int u = 0; u < 4; u++) {
      vf r = vf_load(y + c + u * SIMD_WIDTH);
      sum[u] += r * r;
    }
  for (; c < cols; c += SIMD_WIDTH) {
    vf r = load_lanes(y + c, cols - c);
    sum[0] += r * r;
  }
  return vf_sum(sum[0] + sum[1] + (sum[2] + sum[3]));
}

float KERNEL(residual_sparse)(float *y, const float *bias, const int32_t *indices, const float *values, size_t nnz,
                              size_t cols) {
  for (size_t c = 0; c < cols; c += SIMD_WIDTH)
    store_lanes(y + c, load_lanes(y + c, cols - c) + load_lanes(bias + c, cols - c), cols - c);
  for (size_t k = 0; k < nnz; k++) y[indices[k]] -= values[k];
  return sum_of_squares(y, cols);
}

float KERNEL(residual_dense)(float *y, const float *bias, const float *x, size_t cols) {
  for (size_t c = 0; c < cols; c += SIMD_WIDTH) {
    size_t lanes = cols - c;
    vf r = load_lanes(y + c, lanes) + load_lanes(bias + c, lanes) - load_lanes(x + c, lanes);
    store_lanes(y + c, r, lanes);
  }
  return sum_of_squares(y, cols);
}

void KERNEL(scale_row)(float *y, uint16_t *half, float scale, size_t cols) {
  for (size_t c = 0; c < cols; c += SIMD_WIDTH) {
    vf v = load_lanes(y + c, cols - c) * vf_splat(scale);
    store_lanes(y + c, v, cols - c);
    if (half) store_half(half + c, v, cols - c);
  }
}

/* 64 columns, two blocks: the sums stay in registers while rows of w stream by. */
static inline void gather_pair(float *out, const float *from, const int32_t *index, const float *value, size_t nnz,
                               const float *w, size_t stride, size_t next) {
  vf sum[2 * BLOCK];
  for (size_t u = 0; u < 2 * BLOCK; u++) sum[u] = from ? vf_load(from + u * SIMD_WIDTH) : vf_splat(0.0f);
  for (size_t k = 0; k < nnz; k++) {
    const float *row = w + (size_t)index[k] * stride;
    vf x = vf_splat(value[k]);
    for (size_t u = 0; u < BLOCK; u++) sum[u] += x * vf_load(row + u * SIMD_WIDTH);
    for (size_t u = 0; u < BLOCK; u++) sum[BLOCK + u] += x * vf_load(row + next + u * SIMD_WIDTH);
  }
  for (size_t u = 0; u < 2 * BLOCK; u++) vf_store(out + u * SIMD_WIDTH, sum[u]);
}

void KERNEL(gather_rows)(float *out, const float *from, const int32_t *index, const float *value, size_t nnz,
                         const comp__blocks *w, size_t n) {
  const size_t stride = w->stride, next = w->next;
  const float *block = w->at;
  size_t c = 0;
  for (; c + 2 * COMP__BN_COLUMNS <= n; c += 2 * COMP__BN_COLUMNS, block += 2 * next)
    gather_pair(out + c, from ? from + c : NULL, index, value, nnz, block, stride, next);
  for (; c < n; c += SIMD_WIDTH) {
    size_t lanes = n - c;
    const float *column = w->at + c / COMP__BN_COLUMNS * next + c % COMP__BN_COLUMNS;
    vf sum = from ? load_lanes(from + c, lanes) : vf_splat(0.0f);
    for (size_t k = 0; k < nnz; k++) sum += vf_splat(value[k]) * load_lanes(column + (size_t)index[k] * stride, lanes);
    store_lanes(out + c, sum, lanes);
  }
}

/* Sums of one block, or with `pair` of two. */
static inline void sum_block(float *out, comp__blocks y, size_t begin, size_t end, size_t count, bool add, bool full,
                             bool pair) {
  const size_t used = pair ? 2 * BLOCK : BLOCK;
  vf total[2 * BLOCK] = {{0}};
  for (size_t b = 0; add && b < used; b++)
    total[b] = load_lanes(out + b * SIMD_WIDTH, full ? SIMD_WIDTH : lanes_of(count, b));
  for (size_t r0 = begin; r0 < end; r0 += SUM_ROWS) {
    vf part[2 * BLOCK] = {{0}}, v[2 * BLOCK];
    for (size_t r = r0; r < piece_end(r0, end); r++) {
      load_block(v, y.at + r * y.stride, count, full);
      if (pair) load_block(v + BLOCK, y.at + y.next + r * y.stride, count, full);
      for (size_t b = 0; b < used; b++) part[b] += v[b];
    }
    for (size_t b = 0; b < used; b++) total[b] += part[b];
  }
  store_block(out, total, count, full);
  if (pair) store_block(out + COMP__BN_COLUMNS, total + BLOCK, count, full);
}

void KERNEL(sum_rows)(float *out, comp__blocks y, size_t begin, size_t end, size_t n, bool add) {
  size_t c = 0;
  for (; c + 2 * COMP__BN_COLUMNS <= n; c += 2 * COMP__BN_COLUMNS)
    sum_block(out + c, comp__blocks_behind(y, c), begin, end, COMP__BN_COLUMNS, add, true, true);
  for (; c < n; c += COMP__BN_COLUMNS) {
    size_t count = n - c < COMP__BN_COLUMNS ? n - c : COMP__BN_COLUMNS;
    sum_block(out + c, comp__blocks_behind(y, c), begin, end, count, add, false, false);
  }
}
