/*
 * cpu.h: which kind of CPU the kernels are chosen for. It decides on the bytes of results, so it depends on the CPU and
 * on one environment variable alone, never on timing.
 *
 * COMP_CPU=baseline|avx2|avx512|avx512_bf16|amx caps the kind, so that every path can be tested on one machine. It is
 * read once, at the first call; an empty value counts as none. It caps our own kernels and oneDNN's; libraries that
 * choose code of their own (OpenBLAS, libdeflate, ISA-L) are not concerned.
 */
#ifndef COMP_CORE_CPU_H
#define COMP_CORE_CPU_H

#include <stdbool.h>

#include "comp/status.h"

/* Each kind has all that the ones before it have. On CPUs other than x86-64 there is the baseline alone. */
typedef enum comp__cpu_kind {
  COMP__CPU_BASELINE,
  COMP__CPU_AVX2,        /* and FMA */
  COMP__CPU_AVX512,      /* F, BW, VL, DQ */
  COMP__CPU_AVX512_BF16, /* dot products of bf16 */
  COMP__CPU_AMX,         /* tiles, which the system lets this process use */
  COMP__CPU_KINDS
} comp__cpu_kind;

/* The kind in use: that of this CPU, or the one that COMP_CPU names. */
comp__cpu_kind comp__cpu(void);

/* As COMP_CPU spells it. */
const char *comp__cpu_name(comp__cpu_kind kind);

/* Whether bf16 products are faster than f32 ones, by the kind in use and the maker: with AMX they are, with AVX512_BF16
 * alone on AMD's CPUs only (on Intel's, one such instruction starts every second cycle: half the rate of f32). */
bool comp__cpu_prefers_bf16(void);

/* COMP_ERR_ARGUMENT when COMP_CPU is no kind, or one that this CPU is not. */
comp_status comp__cpu_check(void);

#endif
