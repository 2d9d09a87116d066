/* bench.h: what the programs share that time libcomp for the scripts of this folder. */
#ifndef COMP_BENCH_H
#define COMP_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "nn/matmul.h"

enum { EXIT_USAGE = 2, EXIT_NO_BF16 = 3 }; /* bench_common.py knows the second one as NO_BF16 */

/* Ends the program with the library's message when a call failed. */
static inline void need(comp_status status) {
  if (status == COMP_OK) return;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, comp_error_message());
  exit(EXIT_FAILURE);
}

static inline void usage(const char *arguments) {
  fprintf(stderr, "usage: %s %s\n", program_invocation_short_name, arguments);
  exit(EXIT_USAGE);
}

/* Whether a precision, "f32" or "bf16", is bf16. Ends the program where this CPU has no bf16 kernel. */
static inline bool is_bf16(const char *precision, const char *arguments) {
  if (strcmp(precision, "f32") == 0) return false;
  if (strcmp(precision, "bf16") != 0) usage(arguments);
  if (comp__matmul_bf16_check() == COMP_OK) return true;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, comp_error_message());
  exit(EXIT_NO_BF16);
}

#endif
