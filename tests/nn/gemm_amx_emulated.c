/* gemm_amx_emulated.c: the kernel for AMX, compiled over software tiles. */
#include "nn/amx_emulated.h"

#include "nn/emulated.h"

#define comp__gemm_amx comp__gemm_amx_emulated
#include "nn/gemm_amx.c"

bool test_amx_released(void) {
  return tiles_here.config.palette == 0;
}
