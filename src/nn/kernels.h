/*
 * kernels.h: the hot loops besides matrix products, compiled for several instruction sets and chosen at run time.
 *
 * Each works on raw pointers and on one piece of a parallel loop: no allocation, no errors, no threads. Which piece is
 * computed where never changes the result. Sums run in a fixed order.
 */
#ifndef COMP_NN_KERNELS_H
#define COMP_NN_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Batch normalisation over rows, then LeakyReLU, for columns first .. first + count - 1 (count <= COMP__BN_COLUMNS). */
enum { COMP__BN_COLUMNS = 32 };

typedef struct comp__batchnorm {
  size_t rows, cols;
  const float *gamma;  /* [cols] */
  const float *beta;   /* [cols] */
  float *inv_std;      /* [cols] of this batch: forward writes, backward reads */
  float *running_mean; /* [cols]: updated by forward */
  float *running_var;  /* [cols] */
  float momentum, epsilon, slope;
} comp__batchnorm;

/* A matrix whose columns come in blocks of COMP__BN_COLUMNS: of row i, block b begins at at[b * next + i * stride].
 * A "blocked" array holds block after block, each [rows, COMP__BN_COLUMNS], with room for the columns behind the last.
 * Passes over a block then read memory in order, where a column of a matrix falls into few sets of the cache. */
typedef struct comp__blocks {
  const float *at;
  size_t stride, next;
} comp__blocks;

static inline comp__blocks comp__blocks_of_matrix(const float *y, size_t cols) {
  return (comp__blocks){y, cols, COMP__BN_COLUMNS};
}

static inline comp__blocks comp__blocks_of_blocked(const float *y, size_t rows) {
  return (comp__blocks){y, COMP__BN_COLUMNS, COMP__BN_COLUMNS * rows};
}

/* The blocks from the one that holds a column on. */
static inline comp__blocks comp__blocks_behind(comp__blocks y, size_t column) {
  y.at += column / COMP__BN_COLUMNS * y.next;
  return y;
}

/* Columns of a blocked array, with that room. */
static inline size_t comp__blocked_cols(size_t cols) {
  return (cols + COMP__BN_COLUMNS - 1) / COMP__BN_COLUMNS * COMP__BN_COLUMNS;
}

/* What the backward pass of batch normalisation reads and writes. */
typedef struct comp__batchnorm_gradient {
  float *d_y;         /* [rows, cols], or NULL; may be d_act */
  uint16_t *d_half;   /* [rows, cols]: d_y in bf16, or NULL */
  bool blocked;       /* leave d_y in scratch, too */
  float *scratch;     /* blocked */
  float *d_gamma;     /* [cols] */
  float *d_beta;      /* [cols] */
  const float *d_act; /* [rows, cols] */
  const float *xhat;  /* blocked */
} comp__batchnorm_gradient;

typedef struct comp__adam {
  float rate; /* learning rate with the bias corrections: lr * sqrt(1 - b2^t) / (1 - b1^t) */
  float beta1, beta2;
  float epsilon;    /* times sqrt(1 - b2^t), so that it acts as in the published algorithm */
  float decay;      /* lr * weight decay: decoupled; 0: none */
  float grad_scale; /* gradients are multiplied by this first (clipping) */
} comp__adam;

/* A mixture-of-posteriors problem: B points z, B posteriors (mean, scale), sorted by condition. `padded` is B rounded
 * up to COMP__PAIR_PAD; transposed arrays have rows of that length, with zeros behind B. At most COMP__PAIR_DIMS
 * dimensions. */
enum { COMP__PAIR_PAD = 64, COMP__PAIR_ROWS = 64, COMP__PAIR_DIMS = 1024 };

typedef struct comp__pairs {
  size_t count, padded, dims;
  const float *z;          /* [count, dims] */
  const float *mean_t;     /* [dims, padded] */
  const float *half_inv_t; /* [dims, padded] 1 / (2 sigma^2); NULL: the same for all, half_inv */
  float half_inv;
  const float *offset; /* [padded] -sum_d log sigma_jd, -3e38 behind count; */
} comp__pairs;

typedef struct comp__kernels {
  const char *name; /* of the instruction set */

  /* act = leaky(gamma * xhat + beta), xhat = (y - mean) / std, blocked. act_half is act in bf16; one of the two may be
   * NULL. */
  void (*batchnorm_forward)(const comp__batchnorm *bn, float *xhat, const float *y, float *act, uint16_t *act_half,
                            size_t first, size_t count);
  /* The same with the running statistics, without xhat. */
  void (*batchnorm_eval)(const comp__batchnorm *bn, const float *y, float *act, uint16_t *act_half, size_t first,
                         size_t count);
  void (*batchnorm_backward)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, size_t first, size_t count);

  /* The same for a batch whose rows come in shards, in two parts each: what a shard knows by itself, and what needs the
   * statistics of the whole batch. Moments: y goes to xhat, its mean and variance over these rows to mean and variance
   * [cols]. Apply: xhat, which holds y, becomes (y - mean) * bn->inv_std, and act follows. */
  void (*batchnorm_moments)(const comp__batchnorm *bn, float *xhat, const float *y, float *mean, float *variance,
                            size_t first, size_t count);
  void (*batchnorm_apply)(const comp__batchnorm *bn, float *xhat, const float *mean, float *act, uint16_t *act_half,
                          size_t first, size_t count);
  /* Sums: d_beta and d_gamma of these rows, and the gradient before the activation, which goes to g->scratch. Apply:
   * the rest; mean and mean_xhat [cols] are the sums over all shards, over the rows of the whole batch. */
  void (*batchnorm_backward_sums)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, size_t first,
                                  size_t count);
  void (*batchnorm_backward_apply)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, const float *mean,
                                   const float *mean_xhat, size_t first, size_t count);

  /* p, m, v [n] updated by g [n]; half (may be NULL) gets the new p in bf16. False: some g is not finite, and p, m, v
   * cannot be used any more. */
  bool (*adam)(const comp__adam *adam, float *p, uint16_t *half, float *m, float *v, const float *g, size_t n);

  /* y[cols] += bias; r = y - x (sparse or dense row); returns sum of r^2; y becomes r. */
  float (*residual_sparse)(float *y, const float *bias, const int32_t *indices, const float *values, size_t nnz,
                           size_t cols);
  float (*residual_dense)(float *y, const float *bias, const float *x, size_t cols);
  /* y *= scale; half (may be NULL) is y in bf16. */
  void (*scale_row)(float *y, uint16_t *half, float scale, size_t cols);

  /* out[n] = from[n] (NULL: 0; may be out) + sum_k value[k] * the first n columns of row index[k] of w */
  void (*gather_rows)(float *out, const float *from, const int32_t *index, const float *value, size_t nnz,
                      const comp__blocks *w, size_t n);
  /* out[n] = (add ? out : 0) + the sum of rows begin .. end - 1 of the first n columns of y */
  void (*sum_rows)(float *out, comp__blocks y, size_t begin, size_t end, size_t n, bool add);

  /* For rows begin .. end - 1 of one condition (at most COMP__PAIR_ROWS), whose own posteriors are own_begin .. own_end
   * - 1: log sum exp of log q(z_i | j) - constants over own and over other posteriors. With `skip_self` j = i is left
   * out. An empty mixture gives -INFINITY. */
  void (*mixture_forward)(const comp__pairs *pairs, size_t begin, size_t end, size_t own_begin, size_t own_end,
                          bool skip_self, float *lse_own, float *lse_other);
  /* Adds the gradient of sum_i weight_own_i * lse_own_i + weight_other_i * lse_other_i. d_z [count, dims] is written
   * for these rows; d_mean_t and d_scale_t [dims, padded] are added to (d_scale_t: by half_inv_t; NULL when it is not
   * wanted). d_offset [padded] likewise. A weight of 0 leaves a mixture out. */
  void (*mixture_backward)(const comp__pairs *pairs, size_t begin, size_t end, size_t own_begin, size_t own_end,
                           bool skip_self, const float *lse_own, const float *lse_other, const float *weight_own,
                           const float *weight_other, float *d_z, float *d_mean_t, float *d_half_inv_t,
                           float *d_offset);
  /* out[rows, stride]: squared distances of x [rows, dims] to the columns first .. first + columns - 1 (rounded up to a
   * vector: stride and padding leave room) of x_t [dims, padded]. first is a multiple of COMP__PAIR_PAD. */
  void (*distances)(float *out, size_t stride, const float *x, const float *x_t, size_t padded, size_t dims,
                    size_t rows, size_t first, size_t columns);
  /* k(d2) = mean_s exp(-d2 * inverse[s]): returns the sum of k over d2 [n], and turns each into weight * dk/d(d2). */
  float (*rbf)(float *d2, const float *inverse, size_t scales, float weight, size_t n);

  /* For each row of x [rows, dims] the points of a tile x_t [dims, tile] whose squared distance is at most its limit:
   * hits [rows, tile], each the bits of the distance (upper half) and the column, and how many, counts [rows]. tile is
   * a multiple of COMP__NEAR_PAD; rounding is relative, at most dims + 3 units of f32. */
  void (*near)(uint64_t *hits, size_t *counts, const float *x, size_t rows, const float *x_t, size_t tile, size_t dims,
               const float *limits);
  /* The same for one row by its products with the points: lengths[j] - 2 products[j] <= limit. Returns how many. */
  size_t (*near_products)(uint64_t *hits, const float *products, const float *lengths, size_t tile, float limit);
} comp__kernels;

enum { COMP__NEAR_PAD = 32 };

/* The set for the kind of CPU in use (core/cpu.h). */
const comp__kernels *comp__kernels_get(void);

#endif
