/*
 * text_dump.c: reads a text format with the library and writes what it got, for the comparison with other programs
 * (tests/oracle/test_text.py). Not installed.
 *
 *   text_dump mex PATH OUT.npy|-          X as .npy, names to stdout
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "core/context.h"
#include "io/format.h"

static int fail(void) {
  fprintf(stderr, "text_dump: %s\n", comp_error_message());
  return 1;
}

static void print_message(void *user, comp_log_level level, const char *message) {
  (void)user;
  fprintf(stderr, "text_dump: %s%s\n", level == COMP_LOG_WARNING ? "warning: " : "", message);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  comp_context_options options = COMP_CONTEXT_OPTIONS_INIT;
  options.log = print_message;
  options.log_level = COMP_LOG_INFO;
  if (getenv("THREADS")) options.threads = atoi(getenv("THREADS"));
  comp_context *context;
  if (comp_context_new(&context, &options) != COMP_OK) return fail();
  const comp__format *format = strcmp(argv[1], "mex") == 0 ? &comp__format_mex : &comp__format_mex;
  comp_read_options read_options = COMP_READ_OPTIONS_INIT;
  comp_dataset *d = NULL;
  for (int i = 0; i < 5; i++) {
    comp_dataset_free(d);
    double t = comp__seconds();
    if (format->read(&d, context, argv[2], &read_options) != COMP_OK) return fail();
    fprintf(stderr, "read: %.4f s, %zu x %zu, %zu\n", comp__seconds() - t, comp_dataset_samples(d),
            comp_dataset_features(d), comp_matrix_nnz(comp_dataset_x(d)));
  }
  comp_dataset_free(d);
  comp_context_free(context);
}
