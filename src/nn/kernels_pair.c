/*
 * kernels_pair.c: log sum exp over Gaussian posteriors and its gradient, in tiles: the heart of the CoMP penalty.
 *
 *   L_ij = offset_j - sum_d half_inv_jd (z_id - mean_jd)^2
 *
 * Squares of differences, not expanded products: with a scale of 0.1 the products would lose three digits to
 * cancellation. Posteriors lie along the vector lanes. Weights below e^-SMALL of a row's mixture are not visible in
 * f32, and with narrow posteriors nearly all are: most blocks end after the distances, many after the first few
 * dimensions.
 */
#include "nn/kernels_isa.h"
#include "nn/simd.h"

#include <math.h>

enum { ROWS = 4, CHECK_EVERY = 8 };

/* Posteriors a tile: some 256 KB, so that all rows of a chunk find them in the second-level cache. */
static size_t tile_size(const comp__pairs *pairs) {
  size_t floats = (pairs->half_inv_t ? 2 : 1) * pairs->dims + 1, tile = 65536 / floats / COMP__PAIR_PAD;
  return (tile ? tile : 1) * COMP__PAIR_PAD;
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}
static size_t most(size_t a, size_t b) {
  return a > b ? a : b;
}

static const float SMALL = 24.0f;
static const float LOWEST = -3.0e38f;

/* Adds n dimensions from d on to the squared distances of ROWS rows to one vector of posteriors. Inlined with a
 * constant n. */
static inline __attribute__((always_inline)) void add_squares(vf *sum, const comp__pairs *pairs, const float *const *z,
                                                              size_t j, size_t d, size_t n, bool weighted) {
  const float *mean = pairs->mean_t + d * pairs->padded + j;
  const float *inv = weighted ? pairs->half_inv_t + d * pairs->padded + j : NULL;
  for (size_t k = 0; k < n; k++) {
    vf m = vf_load(mean + k * pairs->padded);
    for (int r = 0; r < ROWS; r++) {
      vf diff = m - vf_splat(z[r][d + k]);
      if (weighted)
        sum[r] += diff * diff * vf_load(inv + k * pairs->padded);
      else
        sum[r] += diff * diff;
    }
  }
}

/* L of ROWS rows to one vector of posteriors. Stops early, returning 0, once no lane of any row can exceed its floor.
 */
static inline __attribute__((always_inline)) int block_logits_of(vf *logits, const comp__pairs *pairs,
                                                                 const float *const *z, size_t j, const float *floors,
                                                                 bool weighted) {
  const vf offset = vf_load(pairs->offset + j), half_inv = vf_splat(weighted ? 1.0f : pairs->half_inv);
  vf sum[ROWS] = {{0}};
  size_t d = 0;
  for (; d + CHECK_EVERY <= pairs->dims; d += CHECK_EVERY) {
    add_squares(sum, pairs, z, j, d, CHECK_EVERY, weighted);
    vf best = offset - sum[0] * half_inv - vf_splat(floors[0]);
    for (int r = 1; r < ROWS; r++) best = vf_max(best, offset - sum[r] * half_inv - vf_splat(floors[r]));
    if (!vf_any_above(best, vf_splat(0.0f))) return 0;
  }
  for (; d < pairs->dims; d++) add_squares(sum, pairs, z, j, d, 1, weighted);
  for (int r = 0; r < ROWS; r++) logits[r] = offset - sum[r] * half_inv;
  return 1;
}

static inline int block_logits(vf *logits, const comp__pairs *pairs, const float *const *z, size_t j,
                               const float *floors) {
  if (pairs->half_inv_t) return block_logits_of(logits, pairs, z, j, floors, true);
  return block_logits_of(logits, pairs, z, j, floors, false);
}

/* Takes row i's own posterior out of a block that holds it. */
static inline vf without(vf logits, size_t j, size_t i) {
  if (i >= j && i < j + SIMD_WIDTH) logits[i - j] = LOWEST;
  return logits;
}

/* The posteriors begin .. end - 1 of a range need not start at a vector: lanes outside of it are put out. */
static inline vf inside_range(vf logits, size_t j, size_t begin, size_t end) {
  if (j >= begin && j + SIMD_WIDTH <= end) return logits;
  for (size_t l = 0; l < SIMD_WIDTH; l++)
    if (j + l < begin || j + l >= end) logits[l] = LOWEST;
  return logits;
}

/* A running log sum exp: the highest term so far and, lane by lane, the sum of the terms relative to it. */
typedef struct running {
  float high;
  vf sum;
} running;

static inline void running_add(running *run, vf logits) {
  if (!vf_any_above(logits, vf_splat(run->high - SMALL))) return;
  float high = vf_highest(logits);
  if (high > run->high) {
    run->sum *= vf_exp(vf_splat(fmaxf(run->high - high, -87.0f)));
    run->high = high;
  }
  run->sum += vf_exp(vf_max(logits - vf_splat(run->high), vf_splat(-88.0f)));
}

static inline float running_result(const running *run) {
  return run->high <= LOWEST ? -INFINITY : run->high + logf(vf_sum(run->sum));
}

/* Adds posteriors begin .. end - 1 to the running sums of ROWS rows. `self`: the index of each row, or a place that is
 * never reached. */
static void add_range(running *runs, const comp__pairs *pairs, const float *const *z, const size_t *self, size_t begin,
                      size_t end) {
  for (size_t j = begin / SIMD_WIDTH * SIMD_WIDTH; j < end; j += SIMD_WIDTH) {
    float floors[ROWS];
    vf logits[ROWS];
    for (int r = 0; r < ROWS; r++) floors[r] = runs[r].high - SMALL;
    if (!block_logits(logits, pairs, z, j, floors)) continue;
    for (int r = 0; r < ROWS; r++) {
      vf l = inside_range(logits[r], j, begin, end);
      running_add(&runs[r], without(l, j, self[r]));
    }
  }
}

/* Up to ROWS row pointers; a short last group repeats its last row. */
static void row_group(const float **z, size_t *self, const comp__pairs *pairs, size_t begin, size_t end,
                      bool skip_self) {
  for (size_t r = 0; r < ROWS; r++) {
    size_t i = begin + r < end ? begin + r : end - 1;
    z[r] = pairs->z + i * pairs->dims;
    self[r] = skip_self ? i : SIZE_MAX / 2;
  }
}

/* The part of a range that lies in a tile, added to ROWS rows. */
static void add_tile(running *runs, const comp__pairs *pairs, const float *const *z, const size_t *self, size_t begin,
                     size_t end, size_t tile_begin, size_t tile_end) {
  begin = most(begin, tile_begin);
  end = least(end, tile_end);
  if (begin < end) add_range(runs, pairs, z, self, begin, end);
}

void KERNEL(mixture_forward)(const comp__pairs *pairs, size_t begin, size_t end, size_t own_begin, size_t own_end,
                             bool skip_self, float *lse_own, float *lse_other) {
  running own[COMP__PAIR_ROWS + ROWS], other[COMP__PAIR_ROWS + ROWS];
  for (size_t r = 0; r < COMP__PAIR_ROWS + ROWS; r++) own[r] = other[r] = (running){LOWEST, {0}};
  const size_t tile = tile_size(pairs);
  for (size_t t = 0; t < pairs->count; t += tile)
    for (size_t i = begin; i < end; i += ROWS) {
      const float *z[ROWS];
      size_t self[ROWS];
      row_group(z, self, pairs, i, end, skip_self);
      add_tile(own + (i - begin), pairs, z, self, own_begin, own_end, t, t + tile);
      add_tile(other + (i - begin), pairs, z, self, 0, own_begin, t, t + tile);
      add_tile(other + (i - begin), pairs, z, self, own_end, pairs->count, t, t + tile);
    }
  for (size_t i = begin; i < end; i++) {
    lse_own[i] = running_result(&own[i - begin]);
    lse_other[i] = running_result(&other[i - begin]);
  }
}

/* The output places of a backward pass. */
typedef struct gradients {
  float *mean_t, *half_inv_t, *offset;
} gradients;

/* One block with weights w[r] (lanes = posteriors): moves its share of the gradient into d_z sums and the transposed
 * arrays. */
static inline void block_gradients(const comp__pairs *pairs, const float *const *z, const vf *w, size_t j,
                                   vf (*sum_z)[ROWS], const gradients *out) {
  const size_t stride = pairs->padded;
  for (size_t d = 0; d < pairs->dims; d++) {
    vf mean = vf_load(pairs->mean_t + d * stride + j);
    vf inv = pairs->half_inv_t ? vf_load(pairs->half_inv_t + d * stride + j) : vf_splat(pairs->half_inv);
    vf pull = {0}, square = {0};
    for (int r = 0; r < ROWS; r++) {
      vf diff = vf_splat(z[r][d]) - mean, wd = w[r] * diff;
      sum_z[d][r] -= wd * inv; /* half of dL/dz: doubled at the end */
      pull += wd;
      square += wd * diff;
    }
    float *d_mean = out->mean_t + d * stride + j;
    vf_store(d_mean, vf_load(d_mean) + pull * inv * vf_splat(2.0f));
    if (out->half_inv_t) {
      float *d_inv = out->half_inv_t + d * stride + j;
      vf_store(d_inv, vf_load(d_inv) - square);
    }
  }
  if (out->offset) {
    vf sum = w[0];
    for (int r = 1; r < ROWS; r++) sum += w[r];
    vf_store(out->offset + j, vf_load(out->offset + j) + sum);
  }
}

/* ROWS rows on their way through a backward pass. */
typedef struct row_work {
  const float *z[ROWS];
  size_t self[ROWS];
  float lse[ROWS], weight[ROWS], floor[ROWS];
  vf (*sum_z)[ROWS]; /* [dims] */
  bool touched;      /* sum_z holds something */
} row_work;

/* Gradient of sum_r weight_r * lse_r over posteriors begin .. end - 1. */
static void backward_range(row_work *rows, const comp__pairs *pairs, size_t begin, size_t end, const gradients *out) {
  for (size_t j = begin / SIMD_WIDTH * SIMD_WIDTH; j < end; j += SIMD_WIDTH) {
    vf logits[ROWS], w[ROWS];
    if (!block_logits(logits, pairs, rows->z, j, rows->floor)) continue;
    vi alive = {0};
    for (int r = 0; r < ROWS; r++) {
      vf l = without(inside_range(logits[r], j, begin, end), j, rows->self[r]);
      vi keep = l > vf_splat(rows->floor[r]);
      alive |= keep;
      vf share = vf_exp(vf_max(l - vf_splat(rows->lse[r]), vf_splat(-88.0f)));
      w[r] = (vf)(keep & (vi)(share * vf_splat(rows->weight[r])));
    }
    if (!vi_any(alive)) continue;
    rows->touched = true;
    block_gradients(pairs, rows->z, w, j, rows->sum_z, out);
  }
}

/* Takes up the rows from i on with one of the two mixtures. Rows that repeat, or whose weight is 0, have a floor that
 * nothing exceeds. */
static void set_mixture(row_work *rows, size_t i, size_t end, const float *lse, const float *weight) {
  for (size_t r = 0; r < ROWS; r++) {
    bool counts = i + r < end && weight[i + r] != 0.0f;
    rows->lse[r] = counts ? lse[i + r] : 0.0f;
    rows->weight[r] = counts ? weight[i + r] : 0.0f;
    rows->floor[r] = counts ? lse[i + r] - SMALL : INFINITY;
  }
}

static void backward_tile(row_work *rows, const comp__pairs *pairs, size_t begin, size_t end, size_t tile_begin,
                          size_t tile_end, const gradients *out) {
  begin = most(begin, tile_begin);
  end = least(end, tile_end);
  if (begin < end) backward_range(rows, pairs, begin, end, out);
}

/* Moves the lane sums of the rows from i on into d_z. */
static void flush_rows(row_work *rows, const comp__pairs *pairs, size_t i, size_t end, float *d_z) {
  if (!rows->touched) return;
  for (size_t d = 0; d < pairs->dims; d++)
    for (size_t r = 0; r < ROWS && i + r < end; r++) d_z[(i + r) * pairs->dims + d] += 2.0f * vf_sum(rows->sum_z[d][r]);
  memset(rows->sum_z, 0, pairs->dims * sizeof *rows->sum_z);
  rows->touched = false;
}

void KERNEL(mixture_backward)(const comp__pairs *pairs, size_t begin, size_t end, size_t own_begin, size_t own_end,
                              bool skip_self, const float *lse_own, const float *lse_other, const float *weight_own,
                              const float *weight_other, float *d_z, float *d_mean_t, float *d_half_inv_t,
                              float *d_offset) {
  const gradients out = {d_mean_t, d_half_inv_t, d_offset};
  vf sum_z[COMP__PAIR_DIMS][ROWS];
  row_work rows = {.sum_z = sum_z};
  memset(sum_z, 0, pairs->dims * sizeof *sum_z);
  memset(d_z + begin * pairs->dims, 0, (end - begin) * pairs->dims * sizeof *d_z);
  const size_t tile = tile_size(pairs);
  for (size_t t = 0; t < pairs->count; t += tile)
    for (size_t i = begin; i < end; i += ROWS) {
      row_group(rows.z, rows.self, pairs, i, end, skip_self);
      set_mixture(&rows, i, end, lse_own, weight_own);
      backward_tile(&rows, pairs, own_begin, own_end, t, t + tile, &out);
      set_mixture(&rows, i, end, lse_other, weight_other);
      backward_tile(&rows, pairs, 0, own_begin, t, t + tile, &out);
      backward_tile(&rows, pairs, own_end, pairs->count, t, t + tile, &out);
      flush_rows(&rows, pairs, i, end, d_z);
    }
}

/* One vector of columns against ROWS rows. */
static inline void block_distances(vf *out, const float *const *x, const float *x_t, size_t padded, size_t dims,
                                   size_t j) {
  for (int r = 0; r < ROWS; r++) out[r] = vf_splat(0.0f);
  for (size_t d = 0; d < dims; d++) {
    vf column = vf_load(x_t + d * padded + j);
    for (int r = 0; r < ROWS; r++) {
      vf diff = vf_splat(x[r][d]) - column;
      out[r] += diff * diff;
    }
  }
}

void KERNEL(distances)(float *out, size_t stride, const float *x, const float *x_t, size_t padded, size_t dims,
                       size_t rows, size_t first, size_t columns) {
  for (size_t i = 0; i < rows; i += ROWS) {
    const float *group[ROWS];
    for (size_t r = 0; r < ROWS; r++) group[r] = x + least(i + r, rows - 1) * dims;
    for (size_t j = 0; j < columns; j += SIMD_WIDTH) {
      vf block[ROWS];
      block_distances(block, group, x_t, padded, dims, first + j);
      for (size_t r = 0; r < ROWS && i + r < rows; r++) vf_store(out + (i + r) * stride + j, block[r]);
    }
  }
}

float KERNEL(rbf)(float *d2, const float *inverse, size_t scales, float weight, size_t n) {
  vf total = {0};
  const float share = 1.0f / (float)scales;
  for (size_t j = 0; j < n; j += SIMD_WIDTH) {
    vf x = n - j >= SIMD_WIDTH ? vf_load(d2 + j) : vf_load_part(d2 + j, n - j, 3.0e38f);
    vf value = {0}, slope = {0};
    for (size_t s = 0; s < scales; s++) {
      vf inv = vf_splat(inverse[s]);
      vf e = vf_exp(vf_max(-x * inv, vf_splat(-88.0f)));
      value += e;
      slope -= e * inv;
    }
    total += value;
    slope *= vf_splat(weight * share);
    if (n - j >= SIMD_WIDTH)
      vf_store(d2 + j, slope);
    else
      vf_store_part(d2 + j, slope, n - j);
  }
  return vf_sum(total) * share;
}
