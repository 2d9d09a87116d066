/* work.h: the buffers of a step, shared by forward.c and backward.c. */
#ifndef COMP_MODEL_WORK_H
#define COMP_MODEL_WORK_H

#include "model/network.h"
#include "model/penalty.h"
#include "nn/kernels.h"

typedef struct comp__layer_work {
  float *xhat;        /* [rows, out], blocked (nn/kernels.h): the normalised product; training only */
  float *act;         /* [rows, out]; NULL when only act_half is read */
  uint16_t *act_half; /* [rows, out] or NULL */
  float *inv_std;     /* [out] */
} comp__layer_work;

/* Where the time of a step goes. */
typedef struct comp__clock {
  double seconds[COMP__PHASES];
  double since; /* start of the running phase */
} comp__clock;

struct comp__work {
  size_t rows; /* capacity */
  bool bf16, training;
  const comp__kernels *kernels;
  const comp__penalty *penalty;
  comp__workspace workspace;
  comp__layer_work encoder[COMP_MAX_HIDDEN], decoder[COMP_MAX_HIDDEN];
  float *y;                            /* [rows, widest layer]: a hidden layer's product, until it is normalised */
  uint16_t *x_half;                    /* [rows, features]: a dense batch in bf16 */
  float *x_panel;                      /* [panel rows, features]: some rows of a dense batch in f32 */
  float *centre_rows;                  /* [conditions, out]: what centring takes off the first layer's products */
  float *centre_bias;                  /* [conditions, features]: the output's bias and what centring adds */
  float *mean, *raw, *scale, *eps, *z; /* [rows, latent]; scale is NULL when it is fixed */
  float *blur_z, *blur_scale;          /* the same as the penalty sees them when it is blurred */
  double blur;                         /* of this step */
  float *output;                       /* [panel rows, features]: expected x of some rows, then the gradient by it */
  uint16_t *output_half;               /* the gradient in bf16 */
  float *d_sample;                     /* [rows]: gradient by what the likelihood's sample_layer gives */
  double *row_likelihood, *row_kl;     /* [rows] */
  float *logits;                  /* [rows, classes] of the target, then the gradient by them; NULL: there is none */
  double *row_target;             /* [rows] */
  float *lengths, *spare_lengths; /* [rows] of the posterior means, where they have a bound; NULL: they have none */
  float length_limit;             /* of this batch */
  float *d_a, *d_b;               /* [rows, widest layer], with room for blocks: gradients on their way back */
  uint16_t *d_half;               /* [rows, widest layer] */
  float *d_z, *pen_values, *pen_mean, *pen_scale, *d_mean, *d_raw; /* [rows, latent]; pen_values: the penalty's place */
  float *d_vector; /* [row chunks, features]: gradient by the likelihood's feature_vector, a part a chunk */
  void *penalty_scratch;
  comp__clock *clock, own_clock; /* the clock in use: its own, or another work's whose time it shares */
};

/* Ends the running phase of the clock: the time since the last call goes to `phase`. */
void comp__work_clock(comp__work *work, comp__phase phase);

/* Of LeakyReLU below 0, as PyTorch has it. */
#define COMP__LEAKY_SLOPE 0.01f

/* Rows that one task of a row loop takes. */
enum { COMP__ROW_CHUNK = 16 };

/* Whatever is as wide as the data is made and used up in panels of some rows, by the shape of the batch alone. A panel
 * is a multiple of 64 rows, but for the last: of a size that products are fast at, and small beside the data. */
static inline size_t comp__panel_rows(size_t rows, size_t features) {
  size_t most = ((size_t)10 << 20) / features / 64 * 64;
  if (most < 256) most = 256;
  if (rows <= most) return rows;
  size_t panels = (rows + most - 1) / most;
  return ((rows + panels - 1) / panels + 63) / 64 * 64;
}

/* Copies rows of a dense batch's input to work->x_panel. (forward.c) */
void comp__fill_x_panel(comp_context *context, const comp__batch *batch, comp__work *work, size_t first, size_t rows);

/* Gradients of the output layer by panel rows first .. first + rows - 1, whose gradients are in work->output: adds to
 * those of the weights (the first panel overwrites), and gives work->d_a its rows. (backward.c) */
comp_status comp__output_backward(comp_context *context, const comp__network *network, const comp__state *state,
                                  comp__work *work, size_t first, size_t rows);

/* Whether a dense layer's products run in bf16: small ones gain nothing from it. */
static inline bool comp__dense_half(const comp__work *work, const comp__dense *dense) {
  return work->bf16 && dense->in >= 64 && dense->out >= 64;
}

/* A batch as a step takes it: in one part, which is the whole, or as those of its shards that this process has. */
typedef struct comp__parts {
  size_t count;
  const comp__batch *batch; /* [count] */
  comp__work *const *work;  /* [count] */
  const comp__state *state; /* [count]: the same but for the gradients */
  comp__shards *shards;     /* NULL: the one part is the whole batch */
} comp__parts;

/* Forward through encoder, sampling and decoder; batch losses. With `training` batch statistics, else the running ones.
 * (forward.c) */
comp_status comp__forward(comp__losses *out, comp_context *context, const comp__network *network,
                          const comp__parts *parts, comp__pull pull, uint64_t seed, uint64_t step, bool training);

/* Loss and gradients: each part's go to its state. (backward.c) */
comp_status comp__step_parts(comp__losses *out, comp_context *context, const comp__network *network,
                             const comp__parts *parts, comp__pull pull, uint64_t seed, uint64_t step);

#endif
