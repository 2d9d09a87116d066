/* gemm_amx_emulated.c: the kernel for AMX, compiled over software tiles. */
#include "nn/amx_emulated.h"

#define comp__gemm_amx comp__gemm_amx_emulated
#include "nn/gemm_amx.c"
