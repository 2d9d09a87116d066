/* kernels.c: picks the copy of the kernels that suits this CPU. */
#include "nn/kernels.h"

#include "core/cpu.h"

#define SET(isa)                                                                                                       \
  {                                                                                                                    \
#isa, comp__##isa##_batchnorm_forward, comp__##isa##_batchnorm_eval, comp__##isa##_batchnorm_backward,             \
        comp__##isa##_batchnorm_moments, comp__##isa##_batchnorm_apply, comp__##isa##_batchnorm_backward_sums,         \
        comp__##isa##_batchnorm_backward_apply, comp__##isa##_adam, comp__##isa##_residual_sparse,                     \
        comp__##isa##_residual_dense, comp__##isa##_scale_row, comp__##isa##_gather_rows, comp__##isa##_sum_rows,      \
        comp__##isa##_mixture_forward, comp__##isa##_mixture_backward, comp__##isa##_distances, comp__##isa##_rbf,     \
        comp__##isa##_near, comp__##isa##_near_products                                                                \
  }

#define COMP__ISA baseline
#include "nn/kernels_isa.h"
static const comp__kernels baseline = SET(baseline);

#if defined(__x86_64__)
#undef COMP_NN_KERNELS_ISA_H
#undef KERNEL
#undef KERNEL_JOIN
#undef KERNEL_JOIN2
#undef COMP__ISA
#define COMP__ISA avx2
#include "nn/kernels_isa.h"
static const comp__kernels avx2 = SET(avx2);

#undef COMP_NN_KERNELS_ISA_H
#undef KERNEL
#undef KERNEL_JOIN
#undef KERNEL_JOIN2
#undef COMP__ISA
#define COMP__ISA avx512
#include "nn/kernels_isa.h"
static const comp__kernels avx512 = SET(avx512);

const comp__kernels *comp__kernels_get(void) {
  const comp__cpu_kind kind = comp__cpu();
  return kind >= COMP__CPU_AVX512 ? &avx512 : kind >= COMP__CPU_AVX2 ? &avx2 : &baseline;
}
#else
const comp__kernels *comp__kernels_get(void) {
  return &baseline;
}
#endif
