/* main.c: finds the command, reads its options, runs it. What commands there are stands in commands.def. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/ranks.h"
#include "cli/streams.h"
#include "comp/suggest.h"

/* Two names of one file that exists. */
/* A terminal or a pipe may be named twice. */
static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The row of a table whose file is this one, by any name; NULL when none is. Rows named json do not count. */
static const opt_spec *row_of_file(const opt_spec *rows, const void *values, const char *path) {
  for (const opt_spec *spec = cli_rows(rows); spec->name; spec++) {
    if (spec->kind != OPT_FILE || strcmp(spec->name, "json") == 0) continue;
    const char *file;
    for (size_t i = 0; (file = opt_file(spec, values, i)); i++)
      if (is_file(path) && comp_file_same(file, path)) return spec;
  }
  return NULL;
}

/* Every command with --json writes that file whole: it must not be one that the command reads. */
static int check_json(cli_session *session, const void *values) {
  const cli_command *command = session->command;
  for (const opt_spec *spec = cli_rows(command->options); spec->name; spec++) {
    if (strcmp(spec->name, "json") != 0 || spec->kind != OPT_FILE) continue;
    const char *path = *(const char *const *)((const char *)values + spec->offset);
    const opt_spec *option = path ? row_of_file(command->options, values, path) : NULL;
    if (option || (path && row_of_file(command->positionals, values, path)))
      return cli_error(session, EXIT_USAGE, "--json: '%s' is the %s file: it would be lost", path,
                       option ? option->name : "input");
  }
  return 0;
}

static int run_parsed(cli_session *session, const void *values) {
  const cli_command *command = session->command;
  int wrong = check_json(session, values);
  if (wrong) return wrong;
  if (session->common.quiet && session->common.verbose)
    return cli_usage_error(session, "--quiet and --verbose exclude each other");
  if (!command->computes) return command->run(session, values);
  int code = cli_ranks_check(session);
  if (code != 0) return code;
  code = cli_session_start(session);
  if (code == 0) code = command->run(session, values);
  cli_session_end(session, code);
  return code;
}

static int run_command(cli_session *session, int argc, char **argv) {
  const cli_command *command = session->command;
  void *values = malloc(command->options_size + 1); /* + 1: some have no options of their own */
  if (!values) return cli_error(session, EXIT_FAILED, "out of memory");
  if (command->defaults) memcpy(values, command->defaults, command->options_size);
  opt_set sets[] = {{cli_rows(command->options), values, {0}}, {cli_rows(cli_common_options), &session->common, {0}}};
  opt_set positionals = {cli_rows(command->positionals), values, {0}};
  char message[1024];
  int code = 0;
  switch (opt_parse(sets, 2, &positionals, argc, argv, message, sizeof message)) {
  case OPT_PARSED:
    code = run_parsed(session, values);
    break;
  case OPT_ASKED_HELP:
    cli_help_command(stdout, command);
    break;
  case OPT_WRONG:
    code = cli_usage_error(session, "%s", message);
    break;
  }
  opt_release(&sets[0]);
  opt_release(&sets[1]);
  opt_release(&positionals);
  free(values);
  return code;
}

static int unknown_command(cli_session *session, const char *name) {
  if (name[0] == '-') return cli_usage_error(session, "unknown option '%s'; options follow the command", name);
  comp_suggest search = {.word = name};
  for (const char *const *known = cli_command_names(); *known; known++) comp_suggest_offer(&search, *known);
  return cli_usage_error(session, "unknown command '%s'%s", name, comp_suggest_hint(&search).text);
}

/* What everybody tries first. */
static const char *meant_by(const char *argument) {
  if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) return "help";
  return strcmp(argument, "--version") == 0 ? "version" : argument;
}

static int dispatch(int argc, char **argv) {
  cli_session session = {.argc = argc, .argv = argv};
  const char *name = argc > 1 ? meant_by(argv[1]) : "help";
  session.command = cli_command_find(name);
  if (!session.command) return unknown_command(&session, name);
  return run_command(&session, argc > 2 ? argc - 2 : 0, argv + (argc > 2 ? 2 : argc));
}

int main(int argc, char **argv) {
  cli_streams_guard();
  signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is a write that fails, and is reported as one */
  signal(SIGPIPE, SIG_IGN); /* a reader that leaves must not keep result files from being completed */
  int code = cli_signal_code(cli_stdout_close(dispatch(argc, argv)));
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks at the end */
  /* After a failure libraries may not be able to end: HDF5 1.10 complains of itself, or crashes. All is closed here.
   * Ranks wait for the others at their end. */
  if (code != 0 && comp_rank_count() == 1) _exit(code);
#endif
  return code;
}
