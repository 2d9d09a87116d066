/* cmd_version.c: `comp version`, also `comp --version`: what this program is made of and what it finds here. */
#include <stdio.h>

#include "cli/command.h"

static void print_libraries(void) {
  const char *const *library = comp_build_libraries();
  printf("libraries     %s\n", *library ? *library : "none");
  while (*library && *++library) printf("              %s\n", *library);
}

static int run(cli_session *session, const void *values) {
  (void)values;
  int threads = session->common.threads ? session->common.threads : comp_cpu_count();
  printf("comp %s\n", comp_version());
  printf("compiler      %s\n", comp_build_compiler());
  print_libraries();
  printf("CPU features  %s\n", comp_cpu_features());
  printf("threads       %d\n", threads);
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
    .description = "Shows the version of comp, the compiler and the libraries that it was made with, the CPU features "
                   "found on this "
                   "machine that it can use, and how many threads it would use. Add it to a bug report.",
    .examples = examples,
    .run = run,
};
