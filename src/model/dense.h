/* dense.h: a dense layer on a batch, forward and backward: f32 or bf16, dense or sparse inputs, condition rows. */
#ifndef COMP_MODEL_DENSE_H
#define COMP_MODEL_DENSE_H

#include "model/work.h"

/* y [rows, out] = x w + bias + the condition's row. x_half is x in bf16, or NULL for f32 products. */
comp_status comp__dense_forward(comp_context *context, const comp__dense *dense, const comp__state *state,
                                const comp__batch *batch, float *y, const float *x, const uint16_t *x_half);

/* Its parts: what is the same for all inputs of a condition is put into y (false: there is nothing); then the product
 * of some rows, added with `add`. */
bool comp__dense_fill(comp_context *context, const comp__dense *dense, const comp__state *state,
                      const comp__batch *batch, float *y);
comp_status comp__dense_product(comp_context *context, const comp__dense *dense, const comp__state *state, size_t rows,
                                float *y, const float *x, const uint16_t *x_half, bool add);

/* The same for a CSR input. */
void comp__sparse_forward(comp_context *context, const comp__dense *dense, const comp__state *state,
                          const comp__batch *batch, const comp__kernels *kernels, float *y);

/* Writes the gradients of weight (and bias): dw = x^T dy. */
comp_status comp__dense_weight_gradient(comp_context *context, const comp__dense *dense, const comp__state *state,
                                        const comp__batch *batch, const float *x, const uint16_t *x_half,
                                        const float *dy, const uint16_t *dy_half);

/* Its parts: the gradients that need dy alone (bias, condition rows), and the product over some rows, added with `add`.
 */
void comp__dense_constant_gradients(comp_context *context, const comp__dense *dense, const comp__state *state,
                                    const comp__batch *batch, comp__blocks dy);
comp_status comp__dense_weight_product(comp_context *context, const comp__dense *dense, const comp__state *state,
                                       size_t rows, const float *x, const uint16_t *x_half, const float *dy,
                                       const uint16_t *dy_half, bool add);

void comp__sparse_weight_gradient(comp_context *context, const comp__dense *dense, const comp__state *state,
                                  const comp__batch *batch, const comp__kernels *kernels, comp__blocks dy);

/* dx [rows, in] = dy w^T, added to dx with `add`. */
comp_status comp__dense_input_gradient(comp_context *context, const comp__dense *dense, const comp__state *state,
                                       size_t rows, float *dx, const float *dy, const uint16_t *dy_half, bool add);

/* out [cols] = the sum of rows begin .. end - 1 of y [.., cols], added to out with `add`. */
void comp__column_sums(comp_context *context, float *out, comp__blocks y, size_t begin, size_t end, size_t cols,
                       bool add);

#endif
