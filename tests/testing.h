/* testing.h: what every unit test shares: cmocka, contexts with several thread counts, a few checks. */
#ifndef COMP_TESTING_H
#define COMP_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comp/comp.h"

/* The thread counts at which every numeric result must be the same bytes. */
static const int TEST_THREADS[] = {1, 2, 7};
#define TEST_THREADS_COUNT 3

/* On the arithmetic that results are compared with: it is not under test, and slow with sanitizers. */
#define TEST_ORACLE __attribute__((no_sanitize_address, no_sanitize_undefined, no_sanitize_thread))

/* A quiet context. It should be freed via comp_context_free(). */
static inline comp_context *test_context(int threads) {
  comp_options *options = NULL;
  comp_context *context = NULL;
  comp_status status = comp_options_new(&options, "context");
  if (status == COMP_OK) status = comp_options_set_int(options, "threads", threads);
  if (status == COMP_OK) status = comp_context_new(&context, options);
  if (status != COMP_OK) fail_msg("%s", comp_error_message());
  comp_options_free(options);
  return context;
}

/* How often to repeat what is only repeated to make a rare fault likely: a twentieth of `rounds` under emulation, where
 * the environment variable COMP_TEST_EMULATED is set. */
static inline size_t test_rounds(size_t rounds) {
  return getenv("COMP_TEST_EMULATED") && rounds >= 20 ? rounds / 20 : rounds;
}

/* Whether a module (comp/machine.h) is there; says so if not. */
static inline bool test_has_module(const char *name) {
  const char *library;
  if (comp_module_load(&library, name) == COMP_OK) return true;
  print_message("# without the module '%s': %s\n", name, comp_error_message());
  return false;
}

/* The call succeeds; else the library's own message is shown. */
#define assert_ok(call)                                                                                                \
  do {                                                                                                                 \
    if ((call) != COMP_OK) fail_msg("%s: %s", #call, comp_error_message());                                            \
  } while (0)

/* The call fails with this status and a message that holds this text. */
#define assert_error(call, expected, text)                                                                             \
  do {                                                                                                                 \
    comp_status status_ = (call);                                                                                      \
    if (status_ != (expected)) fail_msg("%s: status %d, expected %d", #call, (int)status_, (int)(expected));           \
    if (!strstr(comp_error_message(), text)) fail_msg("message '%s' lacks '%s'", comp_error_message(), text);          \
  } while (0)

/* |a - b| <= tolerance * max(1, |b|). */
#define assert_near(a, b, tolerance)                                                                                   \
  do {                                                                                                                 \
    double a_ = (a), b_ = (b);                                                                                         \
    if (!(fabs(a_ - b_) <= (tolerance)*fmax(1.0, fabs(b_)))) fail_msg("%s = %.17g, expected %.17g", #a, a_, b_);       \
  } while (0)

#endif
