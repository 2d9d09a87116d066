/* session.c: what surrounds the run of a command: the context, messages on stderr, signals, the closing line. */
#include "cli/session.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/ranks.h"
#include "cli/streams.h"
#include "cli/text.h"

const opt_spec cli_common_options[] = {
    {.rows = "context", OPT_FIELD(cli_common, context), .group = "Common options"},
    {"quiet", 'q', OPT_FLAG, OPT_FIELD(cli_common, quiet), .group = "Common options",
     .help = "nothing on stderr but errors"},
    {"verbose", 'v', OPT_FLAG, OPT_FIELD(cli_common, verbose), .group = "Common options",
     .help = "also say what happens inside"},
    {"help", 'h', OPT_HELP, .group = "Common options", .help = "show this help"},
    {0},
};

/* ---- messages ---- */

/* Names the program and the command, if there is one; all on one line, whatever the message holds. */
static void complain(cli_session *session, const char *format, va_list arguments, const char *hint) {
  char message[2048];
  vsnprintf(message, sizeof message, format, arguments);
  cli_progress_clear(&session->progress);
  const char *name = session->command ? session->command->name : NULL;
  char rank[48] = "";
  const bool told = comp_context_tell_ranks(session->context, message);
  if (!cli_ranks_first()) {
    /* The first rank speaks for all. One that fails before it has joined the others speaks for itself, unless a
     * launcher ends it because the first has failed, too. */
    if (told || sleep(1) > 0) return;
    snprintf(rank, sizeof rank, " (rank %zu)", comp_rank());
  }
  fprintf(stderr, "comp%s%s%s: %s%s\n", name ? " " : "", name ? name : "", rank, text_clean(message), hint);
}

int cli_error(cli_session *session, int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  complain(session, format, arguments, "");
  va_end(arguments);
  return code;
}

int cli_usage_error(cli_session *session, const char *format, ...) {
  char hint[128] = " (see 'comp --help')";
  if (session->command) snprintf(hint, sizeof hint, " (see 'comp %s --help')", session->command->name);
  va_list arguments;
  va_start(arguments, format);
  complain(session, format, arguments, hint);
  va_end(arguments);
  return EXIT_USAGE;
}

static bool has_option(const opt_spec *table, const char *name) {
  for (const opt_spec *spec = cli_rows(table); spec->name; spec++)
    if (strcmp(spec->name, name) == 0) return true;
  return false;
}

/* The dashes before the name of an option that a message starts with, "min_dist: ...", which becomes "min-dist: ...".
 */
static const char *dashes_for(const cli_session *session, char *message) {
  size_t length = strspn(message, "abcdefghijklmnopqrstuvwxyz_-");
  char name[64];
  if (!session->command || length == 0 || length >= sizeof name || message[length] != ':') return "";
  for (size_t i = 0; i < length; i++) name[i] = message[i] == '_' ? '-' : message[i];
  name[length] = '\0';
  if (!has_option(session->command->options, name) && !has_option(cli_common_options, name)) return "";
  memcpy(message, name, length);
  return length == 1 ? "-" : "--";
}

/* What the library said. Returns `buffer`. */
static char *library_message(char *buffer, size_t size, const cli_session *session, comp_status status) {
  char message[2048];
  snprintf(message, sizeof message, "%s", *comp_error_message() ? comp_error_message() : comp_status_name(status));
  const char *dashes = status == COMP_ERR_ARGUMENT ? dashes_for(session, message) : "";
  snprintf(buffer, size, "%s%s", dashes, message);
  return buffer;
}

int cli_option_error(cli_session *session, comp_status status) {
  char message[2100];
  if (status != COMP_ERR_ARGUMENT) return cli_fail(session, status); /* what this machine or build cannot do */
  return cli_usage_error(session, "%s", library_message(message, sizeof message, session, COMP_ERR_ARGUMENT));
}

int cli_fail_in(cli_session *session, comp_status status, const char *path) {
  const char *message = comp_error_message();
  if (status != COMP_ERR_DATA || strstr(message, path)) return cli_fail(session, status);
  return cli_error(session, EXIT_FAILED, "%s: %s", path, message);
}

int cli_fail(cli_session *session, comp_status status) {
  char message[2100];
  return cli_error(session, status == COMP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED, "%s",
                   library_message(message, sizeof message, session, status));
}

/* Whether a warning is shown for the first time; several parts of a command may look at the same data. */
static bool is_new(cli_session *session, const char *message) {
  uint64_t digest = 0xcbf29ce484222325u;
  for (const char *c = message; *c; c++) digest = (digest ^ (unsigned char)*c) * 0x100000001b3u;
  for (size_t i = 0; i < session->n_warned; i++)
    if (session->warned[i] == digest) return false;
  if (session->n_warned < sizeof session->warned / sizeof *session->warned)
    session->warned[session->n_warned++] = digest;
  return true;
}

static void show_message(void *user, comp_log_level level, const char *message) {
  cli_session *session = user;
  char text[2048];
  if (level == COMP_LOG_WARNING && !is_new(session, message)) return;
  snprintf(text, sizeof text, "%s", message);
  cli_progress_clear(&session->progress);
  fprintf(stderr, "%s%s\n", level == COMP_LOG_WARNING ? "comp: warning: " : "", text_clean(text));
}

static void show_progress(void *user, const comp_progress *report) {
  cli_session *session = user;
  cli_progress_show(&session->progress, report);
}

/* ---- signals ---- */

static comp_context *volatile interruptible;
static volatile sig_atomic_t tell_interrupt;
static volatile sig_atomic_t caught; /* the first signal; 0: none */

/* What asks a run to stop: Ctrl-C, a batch system, a terminal or connection that is closed. */
static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPPING = sizeof stopping / sizeof *stopping };

/* The first signal asks the run to stop, the next one ends the program. */
static void handle_signal(int number) {
  for (int i = 0; i < STOPPING; i++) signal(stopping[i], SIG_DFL);
  caught = number;
  if (interruptible) comp_context_interrupt(interruptible);
  static const char text[] = "\nstopping; once more ends it at once\n";
  if (tell_interrupt && write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* Without SA_RESTART: a call that waits, for the reader of a pipe say, ends. Calls on regular files do not wait. */
static void catch_signal(int number) {
  struct sigaction action = {.sa_handler = handle_signal}, old;
  sigemptyset(&action.sa_mask);
  /* under nohup or in the background of a script the signal is ignored, and stays so */
  if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(number, &action, NULL);
}

/* A scratch file is memory to the program (core/paged.h). Where its disk fails there is no call that could return an
 * error, and no way to go on. */
static void handle_bus(int number, siginfo_t *info, void *unused) {
  static const char text[] =
      "\ncomp: a scratch file could not be read or written: its disk failed, or has no room left. Results that were "
      "there before are as they were. The variable TMPDIR names another folder; without it scratch files are in "
      "/var/tmp\n";
  (void)unused;
  signal(number, SIG_DFL); /* any other reason ends the program as it always did */
  if (info->si_code != BUS_ADRERR) {
    raise(number);
    return;
  }
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(EXIT_FAILED);
  _exit(EXIT_FAILED);
}

static void catch_bus(void) {
  struct sigaction action = {.sa_sigaction = handle_bus, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}

static void start_signals(cli_session *session) {
  catch_bus();
  interruptible = session->context;
  tell_interrupt = !session->common.quiet && isatty(STDERR_FILENO);
  for (int i = 0; i < STOPPING; i++) catch_signal(stopping[i]);
}

static void release_signal(int number) {
  struct sigaction action;
  if (sigaction(number, NULL, &action) == 0 && action.sa_handler == handle_signal) signal(number, SIG_DFL);
}

static void end_signals(void) {
  for (int i = 0; i < STOPPING; i++) release_signal(stopping[i]);
  interruptible = NULL;
}

int cli_signal_code(int code) {
  return caught && code != 0 ? 128 + caught : code;
}

/* ---- a run ---- */

/* Who decided on the memory, and what it is. */
static void show_memory(const cli_session *session) {
  char size[32];
  const char *set = getenv("COMP_MEMORY");
  const char *who = comp_options_given(session->common.context, "memory") ? "--memory"
                    : set && set[0]                                       ? "COMP_MEMORY"
                                                                          : "half of the machine's";
  fprintf(stderr, "memory to take: %s (%s)\n", text_bytes(size, sizeof size, comp_context_memory(session->context)),
          who);
}

int cli_session_start(cli_session *session) {
  const cli_common *common = &session->common;
  session->started = cli_now();
  if (!cli_ranks_first()) session->common.quiet = true;
  cli_progress_init(&session->progress);
  comp_log_level level = common->quiet ? COMP_LOG_NONE : common->verbose ? COMP_LOG_DEBUG : COMP_LOG_INFO;
  comp_status status = comp_options_set(common->context, "log-level", comp_log_level_name(level));
  if (status == COMP_OK) status = comp_context_new(&session->context, common->context);
  if (status != COMP_OK) return cli_fail(session, status);
  comp_context_on_log(session->context, show_message, session);
  if (!common->quiet) comp_context_on_progress(session->context, show_progress, session);
  start_signals(session);
  if (common->verbose) show_memory(session);
  return cli_ranks_join(session);
}

static void show_footer(cli_session *session) {
  char time[32], memory[32];
  int threads = comp_context_thread_count(session->context);
  fprintf(stderr, "done in %s, peak memory %s, %d thread%s\n",
          text_duration(time, sizeof time, cli_now() - session->started),
          text_bytes(memory, sizeof memory, comp_peak_memory()), threads, threads == 1 ? "" : "s");
}

void cli_session_end(cli_session *session, int code) {
  cli_progress_clear(&session->progress);
  end_signals();
  if (!session->context) return;
  /* what was printed first comes first, also when both streams go to one file */
  if (cli_stdout_flush() && code == 0 && !session->common.quiet) show_footer(session);
  comp_context_free(session->context);
  session->context = NULL;
}
