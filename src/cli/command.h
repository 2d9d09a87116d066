/*
 * command.h: what a command is. One cmd_NAME.c holds one `const cli_command cli_NAME`, and commands.def one row.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/opt.h"
#include "cli/session.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct cli_example {
  const char *line; /* NULL ends the list */
  const char *what;
} cli_example;

struct cli_command {
  const char *name;
  const char *group;   /* heading in the list of commands */
  const char *summary; /* one line, no capital, no full stop */
  const char *description;
  const cli_example *examples;
  /* A list that a table elsewhere knows, shown under this title: gives item number i, or false past the last. The texts
   * stay valid until the next call. NULL: none. */
  const char *list_title;
  bool (*list)(size_t i, const char **name, const char **text);
  const opt_spec *options;     /* NULL: none but the common ones */
  const opt_spec *positionals; /* NULL: none */
  const void *defaults;        /* of the command's options struct; NULL when it has none */
  size_t options_size;         /* of that struct */
  /* Whether it computes: then it has a context, may be interrupted, and ends with time, memory and threads on stderr.
   */
  bool computes;
  bool over_ranks;     /* whether the processes that mpirun or srun started may share its work */
  bool compares_ranks; /* whether it sees by itself that they do the same; else all must have the same command line */
  /* Gets a filled options struct; returns the exit code. */
  int (*run)(cli_session *session, const void *options);
};

/* All commands, in order; the list ends with NULL. */
extern const cli_command *const cli_commands[];

#define COMMAND(name) extern const cli_command cli_##name;
#include "cli/commands.def"
#undef COMMAND

/* NULL when there is no such command. */
const cli_command *cli_command_find(const char *name);

/* Their names; the list ends with NULL. */
const char *const *cli_command_names(void);

/* The rows of a table of a command, with those of the library in their places; an empty table for NULL. They are made
 * once and kept to the end of the program. */
const opt_spec *cli_rows(const opt_spec *table);

#endif
