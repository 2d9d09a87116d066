/*
 * session.h: one run of one command: the common options, the library's context, messages, Ctrl-C, the closing line.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/opt.h"
#include "cli/progress.h"
#include "comp/comp.h"

typedef struct cli_command cli_command;

/* The options that every command has. */
typedef struct cli_common {
  bool quiet;
  bool verbose;
  comp_options *context; /* of the kind "context" */
} cli_common;

extern const opt_spec cli_common_options[];

typedef struct cli_session {
  const cli_command *command; /* NULL: before one is known */
  int argc;                   /* the program's own arguments */
  char **argv;
  cli_common common;
  comp_context *context; /* NULL unless the command computes */
  cli_progress progress;
  double started;
  uint64_t warned[64]; /* digests of the warnings that were shown: each is shown once */
  size_t n_warned;
} cli_session;

/* Creates the context, with messages and progress going to stderr, and lets SIGINT, SIGTERM and SIGHUP interrupt it.
 * Gives 0 or, after a message, an exit code. The session should be ended via cli_session_end(). */
int cli_session_start(cli_session *session);

/* Frees the context. When the exit code is 0, says how long it took. */
void cli_session_end(cli_session *session, int code);

/* The exit code of the program: that of a run which failed after a signal is 128 and the signal's number, as a shell
 * has it: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP). */
int cli_signal_code(int code);

/* Prints what the library said about its last failure, naming the command. A field of options that is named first there
 * ("min_dist: ...") is written as the option of that name (--min-dist), if there is one. Returns the exit code. */
int cli_fail(cli_session *session, comp_status status);

/* The same for a failure over the content of a file, which is named unless the message does so already. */
int cli_fail_in(cli_session *session, comp_status status, const char *path);

/* The same for options that the library found wrong, with where to look. Returns EXIT_USAGE; EXIT_FAILED for any status
 * but COMP_ERR_ARGUMENT. */
int cli_option_error(cli_session *session, comp_status status);

/* Prints "comp NAME: ..." as one line on stderr. Returns `code`. */
int cli_error(cli_session *session, int code, const char *format, ...) COMP_PRINTF(3, 4);

/* As cli_error() for a wrong command line, with where to look. Returns EXIT_USAGE. */
int cli_usage_error(cli_session *session, const char *format, ...) COMP_PRINTF(2, 3);

#endif
