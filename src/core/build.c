/* build.c: what this build is made of and what it finds on this machine. (Measuring speed is nn/measure.c.) */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comp/machine.h"
#include "comp/version.h"
#include "core/config.h"

const char *comp_version(void) {
  return COMP_VERSION;
}

int comp_version_number(void) {
  return COMP_VERSION_NUMBER;
}

const char *comp_build_compiler(void) {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

const char *const *comp_build_libraries(void) {
  static const char *const list[] = {COMP_LIBRARIES, NULL};
  return list;
}

#if defined(__x86_64__)
static void append_feature(char *list, size_t size, const char *name) {
  size_t used = strlen(list);
  snprintf(list + used, size - used, "%s%s", used ? " " : "", name);
}

const char *comp_cpu_features(void) {
  static _Thread_local char list[256];
  list[0] = '\0';
  __builtin_cpu_init();
/* The builtin takes a literal only. */
#define FEATURE(name)                                                                                                  \
  if (__builtin_cpu_supports(name)) append_feature(list, sizeof list, name)
  FEATURE("avx2");
  FEATURE("fma");
  FEATURE("avx512f");
  FEATURE("avx512bw");
  FEATURE("avx512vl");
#undef FEATURE
  /* gcc 12 cannot be asked for these two by name. */
  unsigned eax, ebx, ecx, edx;
  __asm__("cpuid" : "=a"(eax), "=b"(ebx), "=c"(ecx), "=d"(edx) : "a"(7), "c"(1));
  if (__builtin_cpu_supports("avx512f") && (eax >> 5 & 1)) append_feature(list, sizeof list, "avx512_bf16");
  __asm__("cpuid" : "=a"(eax), "=b"(ebx), "=c"(ecx), "=d"(edx) : "a"(7), "c"(0));
  if (edx >> 22 & 1) append_feature(list, sizeof list, "amx_bf16");
  return list[0] ? list : "none";
}
#elif defined(__aarch64__)
const char *comp_cpu_features(void) {
  return "neon";
}
#else
const char *comp_cpu_features(void) {
  return "none";
}
#endif

int comp_cpu_count(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (count < 1) return 1;
  return count > COMP_MAX_THREADS ? COMP_MAX_THREADS : count;
}

/* The kernel's own figure for this program; getrusage() also counts what a large parent had before it started us. */
static size_t peak_of_program(void) {
  FILE *file = fopen("/proc/self/status", "re");
  char line[128];
  unsigned long long kib = 0;
  while (file && kib == 0 && fgets(line, sizeof line, file)) (void)sscanf(line, "VmHWM: %llu kB", &kib);
  if (file) fclose(file);
  return (size_t)kib * 1024;
}

size_t comp_peak_memory(void) {
  size_t peak = peak_of_program();
  if (peak > 0) return peak;
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return (size_t)usage.ru_maxrss * 1024; /* Linux counts in KiB */
}
