/*
 * machine.h: what this build is made of, and what this machine can do.
 */
#ifndef COMP_MACHINE_H
#define COMP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"
#include "comp/status.h"

/* The version of the library, such as "0.1.0". */
COMP_API const char *comp_version(void);

/* The same as a number that can be compared: COMP_VERSION_NUMBER (version.h) when the library was built. */
COMP_API int comp_version_number(void);

/* The compiler, such as "gcc 12.2.0". */
COMP_API const char *comp_build_compiler(void);

/* The libraries in use with their versions, one "name version" each; the list ends with NULL. */
COMP_API const char *const *comp_build_libraries(void);

/* The name of a module: "figures" (cairo), "boosted" (XGBoost) or "leiden" (igraph); NULL behind the last one. A module
 * is a part of the library that may be missing: it is a file of its own and is loaded when it is first used. */
COMP_API const char *comp_module_name(size_t module);

/* Loads a module now. `*out` becomes the library that it uses, such as "cairo 1.16.0". COMP_ERR_UNAVAILABLE when the
 * module is missing or of another version: the message names the package and the folders that were searched. The
 * environment variable COMP_MODULES names the folder to search in place of the usual ones. */
COMP_API comp_status comp_module_load(const char **out, const char *name);

/* The CPU features found that matter here, such as "avx2 avx512f avx512_bf16"; "none" when none was. */
COMP_API const char *comp_cpu_features(void);

/* The kind of CPU that kernels are chosen for: "baseline", "avx2", "avx512", "avx512_bf16" or "amx". It is that of this
 * CPU, or the one that the environment variable COMP_CPU names (read once; empty: none). The first call, and
 * comp_context_new(), ask Linux for the use of AMX tiles where the CPU has them; after that the system refuses
 * alternate signal stacks (sigaltstack) that are too small for their state. */
COMP_API const char *comp_cpu_kind(void);

/* COMP_ERR_ARGUMENT when COMP_CPU names no kind, or one that this CPU is not. comp_context_new() checks it too. */
COMP_API comp_status comp_cpu_check(void);

/* The kernel that multiplies bf16 here: "amx", "avx512_bf16" or "none". */
COMP_API const char *comp_cpu_bf16(void);

/* Whether training uses it by default (precision "auto"). */
COMP_API bool comp_cpu_prefers_bf16(void);

/* The number of CPUs that this process may run on. */
COMP_API int comp_cpu_count(void);

/* Peak memory of this process in bytes. */
COMP_API size_t comp_peak_memory(void);

/* What comp_machine_measure() found. A rate is 0 when this CPU or build cannot do it. */
typedef struct comp_machine_rates {
  double f32_flops;    /* matrix product of f32, operations a second */
  double bf16_flops;   /* matrix product of bf16 with f32 sums, operations a second */
  double read_bytes;   /* memory read, bytes a second */
  double copy_bytes;   /* memory copied (read + written), bytes a second */
  double exp_elements; /* vector exp, elements a second */
} comp_machine_rates;

/* Measures the machine with the context's threads; takes about `seconds` for each of the five rates (the best of
 * several repeats counts). */
COMP_API comp_status comp_machine_measure(comp_machine_rates *out, comp_context *context, double seconds);

#endif
