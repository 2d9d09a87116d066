/*
 * amx_tiles.h: the instructions of gemm_amx.c: seven of AMX, and AVX-512 for packing. Tests put a software version in
 * its place, which gives the same bytes on any CPU.
 *
 * The tile instructions are written in assembly: GCC 12's intrinsics tell the compiler of 8 of the 64 bytes of a
 * configuration, so that it may leave out stores to the others, and of none of the memory that a tile is loaded from.
 */
#ifndef COMP_NN_AMX_TILES_H
#define COMP_NN_AMX_TILES_H

#if defined(__x86_64__) /* on other CPUs there is nothing of it */

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define AMX_TARGET __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq,fma")))

/* What LDTILECFG reads. */
typedef struct tile_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_config;

_Static_assert(sizeof(tile_config) == 64, "as the CPU reads it");

#define tile_configure(config) __asm__ volatile("ldtilecfg %0" ::"m"(*(const tile_config *)(config)))
#define tile_release()         __asm__ volatile("tilerelease" ::)
#define tile_zero(t)           __asm__ volatile("tilezero %%tmm" #t ::)
#define tile_load(t, at, stride)                                                                                       \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"((const void *)(at)), "r"((size_t)(stride)) : "memory")
#define tile_store(t, at, stride)                                                                                      \
  __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"((void *)(at)), "r"((size_t)(stride)) : "memory")

/* c += a b of bf16 pairs: per 32 elements of k, one rounding of C. */
#define tile_dot_bf16(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

#endif
#endif
