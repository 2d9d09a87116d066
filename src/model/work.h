/* work.h: the buffers of a step, shared by forward.c and backward.c. */
#ifndef COMP_MODEL_WORK_H
#define COMP_MODEL_WORK_H

#include "model/network.h"
#include "model/penalty.h"
#include "nn/kernels.h"

typedef struct comp__layer_work {
  float *xhat;        /* [rows, out]: the dense product, then normalised */
  float *act;         /* [rows, out] */
  uint16_t *act_half; /* [rows, out] or NULL */
  float *inv_std;     /* [out] */
} comp__layer_work;

struct comp__work {
  size_t rows; /* capacity */
  bool bf16, training;
  const comp__kernels *kernels;
  const comp__penalty *penalty;
  comp__workspace workspace;
  comp__layer_work encoder[COMP_MAX_HIDDEN], decoder[COMP_MAX_HIDDEN];
  uint16_t *x_half;                    /* [rows, features]: a dense batch in bf16 */
  float *mean, *raw, *scale, *eps, *z; /* [rows, latent]; scale is NULL when it is fixed */
  float *output;                       /* [rows, features]: expected x, then the gradient by it */
  uint16_t *output_half;
  float *pre_scale, *sd, *d_pre_scale; /* [rows] */
  double *row_likelihood, *row_kl;     /* [rows] */
  float *d_a, *d_b;                    /* [rows, widest layer] gradients on their way back */
  uint16_t *d_half;                    /* [rows, widest layer] */
  float *d_z, *pen_values, *pen_mean, *pen_scale, *d_mean, *d_raw; /* [rows, latent]; pen_values: the penalty's place */
  float *d_dispersion;                                             /* [row chunks, features]: negative binomial */
  void *penalty_scratch;
  double seconds[COMP__PHASES];
  double since; /* start of the running phase */
};

/* Ends the running phase of the clock: the time since the last call goes to `phase`. */
void comp__work_clock(comp__work *work, comp__phase phase);

/* Rows that one task of a row loop takes. */
enum { COMP__ROW_CHUNK = 16 };

/* Whether a dense layer's products run in bf16: small ones gain nothing from it. */
static inline bool comp__dense_half(const comp__work *work, const comp__dense *dense) {
  return work->bf16 && dense->in >= 64 && dense->out >= 64;
}

/* Forward through encoder, sampling and decoder; batch losses. With `training` batch statistics, else the running ones.
 * (forward.c) */
comp_status comp__forward(comp__losses *out, comp_context *context, const comp__network *network,
                          const comp__state *state, const comp__batch *batch, comp__work *work, double gamma,
                          uint64_t seed, uint64_t step, bool training);

#endif
