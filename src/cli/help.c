/* help.c: help on a terminal, made from the command and option tables. */
#include "cli/help.h"

#include <string.h>
#include <unistd.h>

#include "cli/text.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MOST = 100, WIDTH_LEAST = 40, LEFT_MOST = 30, MARGIN = 2, GAP = 2 };

static int page_width(FILE *out) {
  int columns = text_columns(fileno(out), WIDTH_DEFAULT);
  if (columns > WIDTH_MOST) return WIDTH_MOST;
  return columns < WIDTH_LEAST ? WIDTH_LEAST : columns;
}

static void paragraph(FILE *out, const char *text, int indent, int width) {
  text_flow flow = text_flow_start(out, 0, indent, width);
  text_flow_add(&flow, text);
  text_flow_end(&flow);
}

/* Writes the left column of an entry, and starts the flow of the right one: beside it, or below when it is too long. */
static text_flow start_entry(FILE *out, const char *left, int left_width, int width) {
  int column = MARGIN + (int)strlen(left), indent = MARGIN + left_width + GAP;
  fprintf(out, "%*s%s", MARGIN, "", left);
  if (column + GAP > indent) {
    putc('\n', out);
    column = 0;
  }
  return text_flow_start(out, column, indent, width);
}

static int wider(int width, const char *text) {
  int length = (int)strlen(text);
  return length > width && length <= LEFT_MOST ? length : width;
}

/* ---- options ---- */

static int options_width(int width, const opt_spec *options) {
  char left[128];
  for (const opt_spec *spec = options; spec->name; spec++) width = wider(width, opt_usage(left, sizeof left, spec));
  return width;
}

static void add_notes(text_flow *flow, const opt_spec *spec, const void *defaults) {
  char value[256], note[300];
  if (spec->required) text_flow_add_whole(flow, "[required]");
  if (spec->repeat) text_flow_add_whole(flow, "[may be repeated]");
  if (spec->kind == OPT_CHOICE)
    for (const char *const *all = opt_choices(spec), *const *c = all; *c; c++) {
      snprintf(note, sizeof note, "%s%s%s", c == all ? "[one of: " : "", *c, c[1] ? "," : "]");
      text_flow_add_whole(flow, note);
    }
  if (!*opt_default(value, sizeof value, spec, defaults)) return;
  snprintf(note, sizeof note, "[default: %s]", value);
  if (flow->indent + (int)text_length(note) > flow->width)
    text_flow_add(flow, note);
  else
    text_flow_add_whole(flow, note);
}

static void list_options(FILE *out, const opt_spec *options, const void *defaults, int left_width, int width) {
  const char *group = NULL;
  char left[128];
  for (const opt_spec *spec = options; spec->name; spec++) {
    const char *heading = spec->group ? spec->group : "Options";
    if (!group || strcmp(group, heading) != 0) fprintf(out, "\n%s:\n", heading);
    group = heading;
    text_flow flow = start_entry(out, opt_usage(left, sizeof left, spec), left_width, width);
    text_flow_add(&flow, spec->help);
    add_notes(&flow, spec, defaults);
    text_flow_end(&flow);
  }
}

static void list_positionals(FILE *out, const cli_command *command, int left_width, int width) {
  const opt_spec *spec = cli_rows(command->positionals);
  if (!spec->name) return;
  fputs("\nArguments:\n", out);
  for (; spec->name; spec++) {
    text_flow flow = start_entry(out, spec->name, left_width, width);
    text_flow_add(&flow, spec->help);
    add_notes(&flow, spec, command->defaults);
    text_flow_end(&flow);
  }
}

/* ---- one command ---- */

char *cli_help_synopsis(char *buffer, size_t size, const cli_command *command) {
  size_t used = 0;
  buffer[0] = '\0';
  for (const opt_spec *spec = cli_rows(command->options); spec->name && used < size; spec++)
    if (spec->required)
      used +=
          (size_t)snprintf(buffer + used, size - used, " --%s %s", spec->name, spec->metavar ? spec->metavar : "VALUE");
  if (used < size) used += (size_t)snprintf(buffer + used, size - used, " [OPTIONS]");
  for (const opt_spec *spec = cli_rows(command->positionals); spec->name && used < size; spec++)
    used += (size_t)snprintf(buffer + used, size - used, spec->required ? " %s%s" : " [%s%s]", spec->name,
                             spec->repeat ? "..." : "");
  return buffer;
}

/* A command line, over several lines where it must be: each but the last ends as a shell wants it. */
static void put_line(FILE *out, const char *line, int width) {
  int room = width - MARGIN;
  fprintf(out, "%*s", MARGIN, "");
  while ((int)text_length(line) >= room) {
    const char *cut = NULL;
    for (const char *c = line; *c && c - line < room - 2; c++)
      if (c[0] == ' ' && c[1] == '-') cut = c;
    if (!cut) break;
    fprintf(out, "%.*s \\\n%*s", (int)(cut - line), line, 5 * MARGIN, "");
    line = cut + 1;
    room = width - 5 * MARGIN;
  }
  fprintf(out, "%s\n", line);
}

static void list_examples(FILE *out, const cli_command *command, int width) {
  if (!command->examples) return;
  fputs("\nExamples:\n", out);
  for (const cli_example *example = command->examples; example->line; example++) {
    put_line(out, example->line, width);
    paragraph(out, example->what, 3 * MARGIN, width);
  }
}

static void list_items(FILE *out, const cli_command *command, int left_width, int width) {
  const char *name, *text;
  if (!command->list) return;
  fprintf(out, "\n%s:\n", command->list_title);
  for (size_t i = 0; command->list(i, &name, &text); i++) {
    text_flow flow = start_entry(out, name, left_width, width);
    text_flow_add(&flow, text);
    text_flow_end(&flow);
  }
}

void cli_help_command(FILE *out, const cli_command *command) {
  char synopsis[512];
  int width = page_width(out);
  int left_width = options_width(options_width(0, cli_rows(cli_common_options)), cli_rows(command->options));
  for (const opt_spec *spec = cli_rows(command->positionals); spec->name; spec++)
    left_width = wider(left_width, spec->name);
  int column = fprintf(out, "Usage: comp %s", command->name);
  text_flow usage = text_flow_start(out, column, column + 1, width);
  text_flow_add(&usage, cli_help_synopsis(synopsis, sizeof synopsis, command));
  text_flow_end(&usage);
  putc('\n', out);
  paragraph(out, command->description, 0, width);
  list_positionals(out, command, left_width, width);
  list_items(out, command, left_width, width);
  list_options(out, cli_rows(command->options), command->defaults, left_width, width);
  list_options(out, cli_rows(cli_common_options), NULL, left_width, width);
  list_examples(out, command, width);
}

/* ---- all commands ---- */

static void list_commands(FILE *out, int width) {
  const char *group = NULL;
  int left_width = 0;
  for (const cli_command *const *c = cli_commands; *c; c++) left_width = wider(left_width, (*c)->name);
  for (const cli_command *const *c = cli_commands; *c; c++) {
    if (!group || strcmp(group, (*c)->group) != 0) fprintf(out, "\n%s:\n", (*c)->group);
    group = (*c)->group;
    text_flow flow = start_entry(out, (*c)->name, left_width, width);
    text_flow_add(&flow, (*c)->summary);
    text_flow_end(&flow);
  }
}

void cli_help_overview(FILE *out) {
  int width = page_width(out);
  fprintf(out, "comp %s: %s\n\n", comp_version(), CLI_SUMMARY);
  fputs("Usage: comp COMMAND [OPTIONS]\n\n", out);
  paragraph(out, CLI_DESCRIPTION, 0, width);
  list_commands(out, width);
  list_options(out, cli_rows(cli_common_options), NULL, options_width(0, cli_rows(cli_common_options)), width);
  putc('\n', out);
  paragraph(out, "'comp COMMAND --help' explains a command and shows examples. " CLI_EXIT_CODES, 0, width);
}
