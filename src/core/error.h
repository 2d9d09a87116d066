/* error.h: setting the thread-local error message (comp/status.h is the public side). */
#ifndef COMP_CORE_ERROR_H
#define COMP_CORE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "comp/status.h"

/* Sets this thread's message and returns `status`, so that a function can `return comp__error(...)`. */
comp_status comp__error(comp_status status, const char *format, ...) COMP_PRINTF(2, 3);

/* As comp__error() for a failed system call: appends ": " and the text of errno, and picks COMP_ERR_IO or
 * COMP_ERR_MEMORY. */
comp_status comp__error_errno(const char *format, ...) COMP_PRINTF(1, 2);

/* Puts "context: " before this thread's message on the way up and returns `status`. */
comp_status comp__error_context(comp_status status, const char *format, ...) COMP_PRINTF(2, 3);

#if defined(__clang_analyzer__) && !defined(COMP__ERROR_C)
/* The analyser reads one file at a time: this tells it that an error is never COMP_OK. */
#define comp__error(status, ...)         (comp__error(status, __VA_ARGS__), (status))
#define comp__error_errno(...)           (comp__error_errno(__VA_ARGS__), COMP_ERR_IO)
#define comp__error_context(status, ...) (comp__error_context(status, __VA_ARGS__), (status))
#endif

/* Puts "path: " before the message, unless it begins with that path already, and returns `status`. */
comp_status comp__error_in_file(comp_status status, const char *path);

/* Forgets the message. */
void comp__error_clear(void);

/* COMP_ERR_ARGUMENT when one of `count` things is not given; `names` lists them, with commas between. */
comp_status comp__need(const char *function, const char *names, const bool *given, size_t count);

#ifndef __clang_analyzer__
/* The first line of a public function: leaves it with COMP_ERR_ARGUMENT when one of these pointers is NULL (comp/comp.h
 * has the rule). A condition may follow the name: COMP__NEED(options, items || !count). */
#define COMP__NEED(...)                                                                                                \
  do {                                                                                                                 \
    const bool given_[] = {__VA_ARGS__};                                                                               \
    const comp_status needed_ = comp__need(__func__, #__VA_ARGS__, given_, sizeof given_ / sizeof *given_);            \
    if (needed_ != COMP_OK) return needed_;                                                                            \
  } while (0)

/* The same; `*out` is then empty. */
#define COMP__NEED_OUT(out, ...)                                                                                       \
  do {                                                                                                                 \
    const bool given_[] = {out, __VA_ARGS__};                                                                          \
    const comp_status needed_ = comp__need(__func__, #out "," #__VA_ARGS__, given_, sizeof given_ / sizeof *given_);   \
    if (needed_ != COMP_OK && (out)) memset(out, 0, sizeof *(out));                                                    \
    if (needed_ != COMP_OK) return needed_;                                                                            \
  } while (0)
#else
/* The analyser would take the question for a sign that they may be NULL further on. */
#define COMP__NEED(...)     ((void)0)
#define COMP__NEED_OUT(...) ((void)0)
#endif

/* Runs a call; when it fails, goes to the function's one cleanup label. Needs `comp_status status` and a label `done`.
 */
#define COMP__TRY(call)                                                                                                \
  do {                                                                                                                 \
    status = (call);                                                                                                   \
    if (status != COMP_OK) goto done;                                                                                  \
  } while (0)

/* Sets an error and goes to `done`. */
#define COMP__FAIL(...)                                                                                                \
  do {                                                                                                                 \
    status = comp__error(__VA_ARGS__);                                                                                 \
    goto done;                                                                                                         \
  } while (0)

#endif
