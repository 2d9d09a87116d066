/* commands.c: the table of commands, made from commands.def. */
#include <string.h>

#include "cli/command.h"

#define COMMAND(name) &cli_##name,
const cli_command *const cli_commands[] = {
#include "cli/commands.def"
    NULL};
#undef COMMAND

#define COMMAND(name) #name,
static const char *const names[] = {
#include "cli/commands.def"
    NULL};
#undef COMMAND

const cli_command *cli_command_find(const char *name) {
  for (const cli_command *const *c = cli_commands; *c; c++)
    if (strcmp((*c)->name, name) == 0) return *c;
  return NULL;
}

const char *const *cli_command_names(void) {
  return names;
}

const opt_spec *cli_rows(const opt_spec *table) {
  static const opt_spec none[] = {{0}};
  enum { TABLES = 2 * sizeof cli_commands / sizeof *cli_commands };
  static struct {
    const opt_spec *table;
    opt_spec *rows;
  } expanded[TABLES];
  size_t i = 0;
  if (!table) return none;
  while (i < TABLES - 1 && expanded[i].table && expanded[i].table != table) i++;
  if (!expanded[i].table) {
    expanded[i].rows = opt_expand(table);
    expanded[i].table = table;
  }
  if (!expanded[i].rows) opt_out_of_memory();
  return expanded[i].rows;
}
