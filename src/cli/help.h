/* help.h: the command and option tables as text: help, man pages, shell completion. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* What the program is, as one line. */
#define CLI_SUMMARY "embeddings of data that do not depend on a condition"

/* What the program is, as a paragraph. */
#define CLI_DESCRIPTION                                                                                                \
  "comp learns an embedding of samples that were taken under two or more conditions (batches, treatments, groups of "  \
  "people). The embedding keeps the biology, such as cell types, and removes the condition. The method is "            \
  "Contrastive Mixture of Posteriors (CoMP)."

/* How a run ends. */
#define CLI_EXIT_CODES "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C."

/* Help for all commands, and for one. */
void cli_help_overview(FILE *out);
void cli_help_command(FILE *out, const cli_command *command);

/* The synopsis of a command without its name, such as " [OPTIONS] [COMMAND]". Returns `buffer`. */
char *cli_help_synopsis(char *buffer, size_t size, const cli_command *command);

/* Man pages as roff: comp.1, and comp-NAME.1. */
void cli_man_overview(FILE *out);
void cli_man_command(FILE *out, const cli_command *command);

/* Completion scripts. */
void cli_completion_bash(FILE *out);
void cli_completion_zsh(FILE *out);

#endif
