/* cmd_version.c: `comp version`, also `comp --version`: what this program is made of and what it finds here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

static void print_libraries(void) {
  const char *const *library = comp_build_libraries();
  printf("libraries     %s\n", *library ? *library : "none");
  while (*library && *++library) printf("              %s\n", *library);
}

static void print_modules(void) {
  for (size_t i = 0; comp_module_name(i); i++) {
    const char *library, *name = comp_module_name(i);
    printf("%-13s %s", i ? "" : "modules", name);
    if (comp_module_load(&library, name) == COMP_OK)
      printf(" (%s)\n", library);
    else
      printf(": %s\n", comp_error_message());
  }
}

/* What comes behind the name of the bf16 kernel. */
static const char *bf16_use(void) {
  if (strcmp(comp_cpu_bf16(), "none") == 0) return ": training is in f32";
  return comp_cpu_prefers_bf16() ? "" : " (f32 is faster on this CPU: used only with --precision bf16)";
}

static int run(cli_session *session, const void *values) {
  (void)values;
  int64_t threads = 0;
  comp_options_get_int(&threads, session->common.context, "threads"); /* it has a default */
  if (threads == 0) threads = comp_cpu_count();
  const char *cap = getenv("COMP_CPU");
  comp_status status = comp_cpu_check();
  if (status != COMP_OK) return cli_fail(session, status);
  printf("comp %s\n", comp_version());
  printf("compiler      %s\n", comp_build_compiler());
  print_libraries();
  print_modules();
  printf("CPU features  %s\n", comp_cpu_features());
  printf("CPU kind      %s%s\n", comp_cpu_kind(), cap && *cap ? " (by the environment variable COMP_CPU)" : "");
  printf("bf16 kernel   %s%s\n", comp_cpu_bf16(), bf16_use());
  printf("threads       %d\n", (int)threads);
  return 0;
}

static const cli_example examples[] = {
    {"comp --version", "the same, as is usual"},
    {NULL, NULL},
};

const cli_command cli_version = {
    .name = "version",
    .group = "This program and this machine",
    .summary = "show the version, libraries, CPU features and threads",
    .description = "Shows the version of comp, the compiler and the libraries that it was made with, the modules, the "
                   "CPU features "
                   "found on this machine, the kind of CPU that kernels are chosen for, the kernel that multiplies "
                   "bf16 matrices, and the number of threads. Add it to a bug report.\n\n"
                   "The environment variable COMP_CPU lowers the kind of CPU: baseline, avx2, avx512, avx512_bf16 or "
                   "amx. More than the CPU has is an error.\n\n"
                   "Modules are parts of comp that may be missing: figures, boosted trees and Leiden clusters. The "
                   "environment variable COMP_MODULES names the folder to search for them in place of the usual ones.",
    .examples = examples,
    .run = run,
};
