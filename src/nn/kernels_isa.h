/* kernels_isa.h: names of the kernels in the copy that is being compiled. COMP__ISA is given by meson.build. */
#ifndef COMP_NN_KERNELS_ISA_H
#define COMP_NN_KERNELS_ISA_H

#include "nn/kernels.h"

#define KERNEL_JOIN2(isa, name) comp__##isa##_##name
#define KERNEL_JOIN(isa, name)  KERNEL_JOIN2(isa, name)
#define KERNEL(name)            KERNEL_JOIN(COMP__ISA, name)

/* kernels_dense.c */
void KERNEL(batchnorm_forward)(const comp__batchnorm *bn, float *xhat, const float *y, float *act, uint16_t *act_half,
                               size_t first, size_t count);
void KERNEL(batchnorm_eval)(const comp__batchnorm *bn, const float *y, float *act, uint16_t *act_half, size_t first,
                            size_t count);
void KERNEL(batchnorm_backward)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, size_t first,
                                size_t count);
void KERNEL(batchnorm_moments)(const comp__batchnorm *bn, float *xhat, const float *y, float *mean, float *variance,
                               size_t first, size_t count);
void KERNEL(batchnorm_apply)(const comp__batchnorm *bn, float *xhat, const float *mean, float *act, uint16_t *act_half,
                             size_t first, size_t count);
void KERNEL(batchnorm_backward_sums)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, size_t first,
                                     size_t count);
void KERNEL(batchnorm_backward_apply)(const comp__batchnorm *bn, const comp__batchnorm_gradient *g, const float *mean,
                                      const float *mean_xhat, size_t first, size_t count);
bool KERNEL(adam)(const comp__adam *adam, float *p, uint16_t *half, float *m, float *v, const float *g, size_t n);
float KERNEL(residual_sparse)(float *y, const float *bias, const int32_t *indices, const float *values, size_t nnz,
                              size_t cols);
float KERNEL(residual_dense)(float *y, const float *bias, const float *x, size_t cols);
void KERNEL(scale_row)(float *y, uint16_t *half, float scale, size_t cols);
void KERNEL(gather_rows)(float *out, const float *from, const int32_t *index, const float *value, size_t nnz,
                         const comp__blocks *w, size_t n);
void KERNEL(sum_rows)(float *out, comp__blocks y, size_t begin, size_t end, size_t n, bool add);

/* kernels_pair.c */
void KERNEL(mixture_forward)(const comp__pairs *pairs, size_t begin, size_t end, size_t own_begin, size_t own_end,
                             bool skip_self, float *lse_own, float *lse_other);
void KERNEL(mixture_backward)(const comp__pairs *pairs, size_t begin, size_t end, size_t own_begin, size_t own_end,
                              bool skip_self, const float *lse_own, const float *lse_other, const float *weight_own,
                              const float *weight_other, float *d_z, float *d_mean_t, float *d_half_inv_t,
                              float *d_offset);
void KERNEL(distances)(float *out, size_t stride, const float *x, const float *x_t, size_t padded, size_t dims,
                       size_t rows, size_t first, size_t columns);
float KERNEL(rbf)(float *d2, const float *inverse, size_t scales, float weight, size_t n);

/* kernels_near.c */
void KERNEL(near)(uint64_t *hits, size_t *counts, const float *x, size_t rows, const float *x_t, size_t tile,
                  size_t dims, const float *limits);
size_t KERNEL(near_products)(uint64_t *hits, const float *products, const float *lengths, size_t tile, float limit);

#endif
