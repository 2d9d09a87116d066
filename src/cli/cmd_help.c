/* cmd_help.c: `comp help`: help, man pages and shell completion, all made from the tables. */
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"

typedef struct help_options {
  const char *command;
  bool man;
  const char *completion;
  bool list;
} help_options;

static const help_options defaults = {0};

static const char *const shells[] = {"bash", "zsh", NULL};

static const opt_spec options[] = {
    {"man", .kind = OPT_FLAG, OPT_FIELD(help_options, man), .help = "write the man page instead, as roff"},
    {"completion", .kind = OPT_CHOICE, OPT_FIELD(help_options, completion), .metavar = "SHELL", .choices = shells,
     .help = "write a completion script for this shell instead"},
    {"list", .kind = OPT_FLAG, OPT_FIELD(help_options, list), .help = "write the names of all commands, one a line"},
    {0},
};

static const opt_spec positionals[] = {
    {"COMMAND", .kind = OPT_CHOICE, OPT_FIELD(help_options, command), .choices_from = cli_command_names,
     .help = "the command to explain", .unset = "an overview of all"},
    {0},
};

static const cli_example examples[] = {
    {"comp help bench", "explains one command; the same as 'comp bench --help'"},
    {"comp help --man bench | man -l -", "reads its man page, also where none is installed"},
    {"eval \"$(comp help --completion bash)\"", "turns completion on in this bash; put it in ~/.bashrc to keep it"},
    {NULL, NULL},
};

static void list_names(void) {
  for (const char *const *name = cli_command_names(); *name; name++) puts(*name);
}

static int run(cli_session *session, const void *values) {
  const help_options *o = values;
  if (o->man + o->list + (o->completion != NULL) > 1)
    return cli_usage_error(session, "only one of --man, --completion and --list can be given");
  if (o->command && (o->list || o->completion))
    return cli_usage_error(session, "%s takes no command", o->list ? "--list" : "--completion");
  const cli_command *command = o->command ? cli_command_find(o->command) : NULL;
  if (o->list)
    list_names();
  else if (o->completion)
    (strcmp(o->completion, "bash") == 0 ? cli_completion_bash : cli_completion_zsh)(stdout);
  else if (o->man)
    command ? cli_man_command(stdout, command) : cli_man_overview(stdout);
  else
    command ? cli_help_command(stdout, command) : cli_help_overview(stdout);
  return 0;
}

const cli_command cli_help = {
    .name = "help",
    .group = "This program and this machine",
    .summary = "explain a command; write man pages and shell completion",
    .description =
        "Explains one command, or gives an overview of all. What is shown is made from the tables that also read the "
        "command line, so defaults are the ones in use.",
    .examples = examples,
    .options = options,
    .positionals = positionals,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .run = run,
};
