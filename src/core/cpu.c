/* cpu.c: asks the CPU and the system what there is. */
#include "core/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static const char *const names[COMP__CPU_KINDS] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static comp__cpu_kind found, in_use;
static char asked[32];      /* COMP_CPU; empty: not set */
static const char *problem; /* with it; NULL: none */

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool has_avx512_bf16(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1u;
}

/* The parts of the CPU's state that the system saves. */
static unsigned saved_state(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* Leaf 0x1d describes the tiles, but some hypervisors hide it although tiles work. What it says counts only when it is
 * there: 8 tiles of 16 rows of 64 bytes. */
static bool tiles_as_expected(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) || (a | b | c) == 0) return true;
  return a >> 16 >= 1024 && (b & 0xffffu) >= 64 && b >> 16 >= 8 && (c & 0xffffu) >= 16;
}

static bool has_amx(void) {
  enum { TILE_STATE = 3u << 17 };
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1u)) return false;                             /* OSXSAVE */
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1u) || !(d >> 24 & 1u)) return false; /* bf16, tiles */
  return (saved_state() & TILE_STATE) == TILE_STATE && tiles_as_expected();
}

static comp__cpu_kind hardware(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return COMP__CPU_BASELINE;
  if (!has_avx512()) return COMP__CPU_AVX2;
  if (!has_avx512_bf16()) return COMP__CPU_AVX512;
  return has_amx() ? COMP__CPU_AMX : COMP__CPU_AVX512_BF16;
}

/* Linux gives a process the tiles' state only when asked. It may refuse, for example when a thread has an alternate
 * signal stack that is too small for the larger state. Permission covers all threads and forked children. */
static bool permit_tiles(void) {
  enum { ARCH_GET_XCOMP_PERM = 0x1022, ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
  unsigned long granted = 0;
  if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) != 0) return false;
  return syscall(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &granted) == 0 && granted >> TILE_DATA & 1u;
}

static bool is_amd(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

#else

static comp__cpu_kind hardware(void) {
  return COMP__CPU_BASELINE;
}

static bool permit_tiles(void) {
  return false;
}

static bool is_amd(void) {
  return false;
}

#endif

/* The kind that COMP_CPU names; COMP__CPU_KINDS: none. */
static comp__cpu_kind named(const char *name) {
  int kind = 0;
  while (kind < COMP__CPU_KINDS && strcmp(names[kind], name) != 0) kind++;
  return (comp__cpu_kind)kind;
}

static void look(void) {
  const char *cap = getenv("COMP_CPU");
  snprintf(asked, sizeof asked, "%s", cap ? cap : "");
  comp__cpu_kind most = *asked ? named(asked) : COMP__CPU_AMX;
  found = hardware();
  if (most == COMP__CPU_KINDS) {
    problem = "is not one of baseline, avx2, avx512, avx512_bf16, amx";
    most = COMP__CPU_AMX;
  }
  if (found == COMP__CPU_AMX && most == COMP__CPU_AMX && !permit_tiles()) {
    found = COMP__CPU_AVX512_BF16;
    if (*asked && !problem) problem = "cannot be used: the system does not let this process use AMX tiles";
  }
  if (*asked && !problem && most > found) problem = "is more than this CPU has";
  in_use = most < found ? most : found;
}

comp__cpu_kind comp__cpu(void) {
  pthread_once(&once, look);
  return in_use;
}

const char *comp__cpu_name(comp__cpu_kind kind) {
  return names[kind];
}

bool comp__cpu_prefers_bf16(void) {
  const comp__cpu_kind kind = comp__cpu();
  return kind == COMP__CPU_AMX || (kind == COMP__CPU_AVX512_BF16 && is_amd());
}

comp_status comp__cpu_check(void) {
  comp__cpu();
  if (!problem) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "environment variable COMP_CPU: '%s' %s (this CPU: %s)", asked, problem,
                     names[found]);
}
