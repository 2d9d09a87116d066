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

static inline vf leaky(vf x, float slope) {
  return vf_select(x > vf_splat(0.0f), x, x * vf_splat(slope));
}

/* Column sums of f over rows, pairwise in fixed pieces of 64 rows so that rounding stays small at any batch size. */
enum { SUM_ROWS = 64 };

static inline vf column_mean(const float *y, size_t rows, size_t cols, size_t lanes) {
  vf total = {0};
  for (size_t r0 = 0; r0 < rows; r0 += SUM_ROWS) {
    vf part = {0};
    size_t r1 = r0 + SUM_ROWS < rows ? r0 + SUM_ROWS : rows;
    for (size_t r = r0; r < r1; r++) part += load_lanes(y + r * cols, lanes);
    total += part;
  }
  return total * vf_splat(1.0f / (float)rows);
}

static inline vf column_variance(const float *y, vf mean, size_t rows, size_t cols, size_t lanes) {
  vf total = {0};
  for (size_t r0 = 0; r0 < rows; r0 += SUM_ROWS) {
    vf part = {0};
    size_t r1 = r0 + SUM_ROWS < rows ? r0 + SUM_ROWS : rows;
    for (size_t r = r0; r < r1; r++) {
      vf d = load_lanes(y + r * cols, lanes) - mean;
      part += d * d;
    }
    total += part;
  }
  return total * vf_splat(1.0f / (float)rows);
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

void KERNEL(batchnorm_forward)(const comp__batchnorm *bn, float *y_xhat, float *act, uint16_t *act_half, size_t first,
                               size_t count) {
  for (size_t b = 0; b < BLOCK && lanes_of(count, b) > 0; b++) {
    size_t lanes = lanes_of(count, b), col = first + b * SIMD_WIDTH;
    float *y = y_xhat + col;
    vf mean = column_mean(y, bn->rows, bn->cols, lanes);
    vf variance = column_variance(y, mean, bn->rows, bn->cols, lanes);
    vf inv = inverse_root(variance + vf_splat(bn->epsilon));
    store_lanes(bn->inv_std + col, inv, lanes);
    update_running(bn, col, mean, variance, lanes);
    vf gamma = load_lanes(bn->gamma + col, lanes), beta = load_lanes(bn->beta + col, lanes);
    for (size_t r = 0; r < bn->rows; r++) {
      vf xhat = (load_lanes(y + r * bn->cols, lanes) - mean) * inv;
      vf out = leaky(xhat * gamma + beta, bn->slope);
      store_lanes(y + r * bn->cols, xhat, lanes);
      if (act) store_lanes(act + r * bn->cols + col, out, lanes);
      if (act_half) store_half(act_half + r * bn->cols + col, out, lanes);
    }
  }
}

void KERNEL(batchnorm_eval)(const comp__batchnorm *bn, const float *y, float *act, uint16_t *act_half, size_t first,
                            size_t count) {
  for (size_t b = 0; b < BLOCK && lanes_of(count, b) > 0; b++) {
    size_t lanes = lanes_of(count, b), col = first + b * SIMD_WIDTH;
    vf mean = load_lanes(bn->running_mean + col, lanes);
    vf inv = inverse_root(load_lanes(bn->running_var + col, lanes) + vf_splat(bn->epsilon));
    vf gamma = load_lanes(bn->gamma + col, lanes), beta = load_lanes(bn->beta + col, lanes);
    for (size_t r = 0; r < bn->rows; r++) {
      vf xhat = (load_lanes(y + r * bn->cols + col, lanes) - mean) * inv;
      vf out = leaky(xhat * gamma + beta, bn->slope);
      if (act) store_lanes(act + r * bn->cols + col, out, lanes);
      if (act_half) store_half(act_half + r * bn->cols + col, out, lanes);
    }
  }
}

/* The gradient before the activation: its sign is that of gamma * xhat + beta. */
static inline vf before_leaky(vf d, vf pre, float slope) {
  return vf_select(pre > vf_splat(0.0f), d, d * vf_splat(slope));
}

void KERNEL(batchnorm_backward)(const comp__batchnorm *bn, float *d_act, uint16_t *d_half, const float *xhat,
                                float *d_gamma, float *d_beta, size_t first, size_t count) {
  for (size_t b = 0; b < BLOCK && lanes_of(count, b) > 0; b++) {
    size_t lanes = lanes_of(count, b), col = first + b * SIMD_WIDTH;
    vf gamma = load_lanes(bn->gamma + col, lanes), beta = load_lanes(bn->beta + col, lanes);
    vf sum = {0}, sum_xhat = {0};
    for (size_t r0 = 0; r0 < bn->rows; r0 += SUM_ROWS) {
      vf part = {0}, part_xhat = {0};
      size_t r1 = r0 + SUM_ROWS < bn->rows ? r0 + SUM_ROWS : bn->rows;
      for (size_t r = r0; r < r1; r++) {
        vf x = load_lanes(xhat + r * bn->cols + col, lanes);
        vf d = before_leaky(load_lanes(d_act + r * bn->cols + col, lanes), x * gamma + beta, bn->slope);
        part += d;
        part_xhat += d * x;
      }
      sum += part;
      sum_xhat += part_xhat;
    }
    store_lanes(d_beta + col, sum, lanes);
    store_lanes(d_gamma + col, sum_xhat, lanes);
    vf scale = gamma * load_lanes(bn->inv_std + col, lanes), share = vf_splat(1.0f / (float)bn->rows);
    vf mean = sum * share, mean_xhat = sum_xhat * share;
    for (size_t r = 0; r < bn->rows; r++) {
      size_t at = r * bn->cols + col;
      vf x = load_lanes(xhat + at, lanes);
      vf d = before_leaky(load_lanes(d_act + at, lanes), x * gamma + beta, bn->slope);
      vf out = scale * (d - mean - x * mean_xhat);
      store_lanes(d_act + at, out, lanes);
      if (d_half) store_half(d_half + at, out, lanes);
    }
  }
}

void KERNEL(adam)(const comp__adam *adam, float *p, uint16_t *half, float *m, float *v, const float *g, size_t n) {
  const vf b1 = vf_splat(adam->beta1), c1 = vf_splat(1.0f - adam->beta1);
  const vf b2 = vf_splat(adam->beta2), c2 = vf_splat(1.0f - adam->beta2);
  const vf rate = vf_splat(adam->rate), epsilon = vf_splat(adam->epsilon), keep = vf_splat(1.0f - adam->decay);
  const vf scale = vf_splat(adam->grad_scale);
  for (size_t i = 0; i < n; i += SIMD_WIDTH) {
    size_t lanes = n - i;
    vf grad = load_lanes(g + i, lanes) * scale;
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

/* n <= 64 in the hot callers: the sums stay in registers while rows of w stream by. */
static inline void gather_block(float *out, const int32_t *index, const float *value, size_t nnz, const float *w,
                                size_t stride, bool add) {
  enum { UNROLL = 64 / SIMD_WIDTH };
  vf sum[UNROLL];
  for (int u = 0; u < UNROLL; u++) sum[u] = add ? vf_load(out + u * SIMD_WIDTH) : vf_splat(0.0f);
  for (size_t k = 0; k < nnz; k++) {
    const float *row = w + (size_t)index[k] * stride;
    vf x = vf_splat(value[k]);
    for (int u = 0; u < UNROLL; u++) sum[u] += x * vf_load(row + u * SIMD_WIDTH);
  }
  for (int u = 0; u < UNROLL; u++) vf_store(out + u * SIMD_WIDTH, sum[u]);
}

void KERNEL(gather_rows)(float *out, const int32_t *index, const float *value, size_t nnz, const float *w,
                         size_t stride, size_t n, bool add) {
  size_t c = 0;
  for (; c + 64 <= n; c += 64) gather_block(out + c, index, value, nnz, w + c, stride, add);
  for (; c < n; c += SIMD_WIDTH) {
    size_t lanes = n - c;
    vf sum = add ? load_lanes(out + c, lanes) : vf_splat(0.0f);
    for (size_t k = 0; k < nnz; k++) sum += vf_splat(value[k]) * load_lanes(w + (size_t)index[k] * stride + c, lanes);
    store_lanes(out + c, sum, lanes);
  }
}
