/* man.c: man pages in roff, made from the command and option tables. They carry no date, so that a build can be
 * repeated. */
#include <ctype.h>
#include <string.h>

#include "cli/help.h"

/* How a character that means something else to roff is written; NULL when as itself. */
static const char *roff_escape(char c) {
  switch (c) {
  case '\\':
    return "\\e";
  case '-':
    return "\\-";
  case '\'':
    return "\\(aq";
  case '`':
    return "\\(ga";
  case '^':
    return "\\(ha";
  case '~':
    return "\\(ti";
  default:
    return NULL;
  }
}

/* Text that roff shows as it is; an empty line starts a paragraph. */
static void roff_text(FILE *out, const char *text) {
  bool line_start = true;
  for (; *text; text++) {
    const char *escape = roff_escape(*text);
    if (line_start && *text == '.') fputs("\\&", out);
    line_start = *text == '\n';
    if (escape)
      fputs(escape, out);
    else
      putc(*text, out);
    if (line_start && text[1] == '\n') fputs(".PP", out);
  }
}

/* A line in bold (B) or italic (I). Not by the macros of that name: they would take quotes for their own. */
static void roff_line(FILE *out, char font, const char *text) {
  fprintf(out, "\\f%c", font);
  roff_text(out, text);
  fputs("\\fR\n", out);
}

static void roff_paragraph(FILE *out, const char *text) {
  roff_text(out, text);
  putc('\n', out);
}

static void roff_upper(FILE *out, const char *text) {
  for (; *text; text++) putc(toupper((unsigned char)*text), out);
}

static void title(FILE *out, const char *name) {
  fputs(".TH COMP", out);
  if (name) putc('-', out);
  if (name) roff_upper(out, name);
  fprintf(out, " 1 \"\" \"comp %s\" \"comp manual\"\n", comp_version());
}

static void heading(FILE *out, const char *macro, const char *text) {
  fprintf(out, "%s \"", macro);
  roff_upper(out, text);
  fputs("\"\n", out);
}

/* ---- options ---- */

static void option_notes(FILE *out, const opt_spec *spec, const void *defaults) {
  char value[256];
  if (spec->required) fputs("Required.\n", out);
  if (spec->repeat) fputs("May be repeated.\n", out);
  if (spec->kind == OPT_CHOICE) {
    fputs("One of ", out);
    for (const char *const *c = opt_choices(spec); *c; c++) {
      roff_text(out, *c);
      fputs(c[1] ? ", " : ".\n", out);
    }
  }
  if (!*opt_default(value, sizeof value, spec, defaults)) return;
  fputs("Default: ", out);
  roff_text(out, value);
  fputs(".\n", out);
}

/* The help text as a sentence, then its notes. */
static void option_text(FILE *out, const opt_spec *spec, const void *defaults) {
  size_t length = strlen(spec->help);
  putc(toupper((unsigned char)spec->help[0]), out);
  roff_text(out, spec->help + 1);
  fputs(length && spec->help[length - 1] == '.' ? "\n" : ".\n", out);
  option_notes(out, spec, defaults);
}

static void option(FILE *out, const opt_spec *spec, const void *defaults) {
  fputs(".TP\n", out);
  if (spec->letter) fprintf(out, "\\fB\\-%c\\fR, ", spec->letter);
  fputs("\\fB\\-\\-", out);
  roff_text(out, spec->name);
  fputs("\\fR", out);
  if (opt_takes_value(spec)) {
    fputs(" \\fI", out);
    roff_text(out, spec->metavar ? spec->metavar : "VALUE");
    fputs("\\fR", out);
  }
  putc('\n', out);
  option_text(out, spec, defaults);
}

static void options(FILE *out, const opt_spec *table, const void *defaults) {
  const char *group = NULL;
  for (const opt_spec *spec = table; spec->name; spec++) {
    const char *name = spec->group ? spec->group : "Options";
    if (!group || strcmp(group, name) != 0) heading(out, ".SH", name);
    group = name;
    option(out, spec, defaults);
  }
}

static void positionals(FILE *out, const cli_command *command) {
  const opt_spec *spec = cli_rows(command->positionals);
  if (spec->name) heading(out, ".SH", "Arguments");
  for (; spec->name; spec++) {
    fputs(".TP\n", out);
    roff_line(out, 'I', spec->name);
    option_text(out, spec, command->defaults);
  }
}

static void items(FILE *out, const cli_command *command) {
  const char *name, *text;
  if (!command->list) return;
  heading(out, ".SH", command->list_title);
  for (size_t i = 0; command->list(i, &name, &text); i++) {
    fputs(".TP\n", out);
    roff_line(out, 'B', name);
    roff_paragraph(out, text);
  }
}

/* ---- pages ---- */

static void ending(FILE *out, const char *see) {
  heading(out, ".SH", "Exit status");
  fputs(
      "0 when done, 1 when something failed, 2 when the command line is wrong, 130 after Ctrl\\-C, 143 after SIGTERM, "
      "129 after SIGHUP.\n",
      out);
  heading(out, ".SH", "See also");
  roff_paragraph(out, see);
}

static void examples(FILE *out, const cli_command *command) {
  if (!command->examples) return;
  heading(out, ".SH", "Examples");
  for (const cli_example *example = command->examples; example->line; example++) {
    fputs(".TP\n", out);
    roff_line(out, 'B', example->line);
    roff_paragraph(out, example->what);
  }
}

void cli_man_command(FILE *out, const cli_command *command) {
  char text[512];
  title(out, command->name);
  heading(out, ".SH", "Name");
  fprintf(out, "comp\\-%s \\- ", command->name);
  roff_paragraph(out, command->summary);
  heading(out, ".SH", "Synopsis");
  fprintf(out, "\\fBcomp %s\\fR", command->name);
  roff_paragraph(out, cli_help_synopsis(text, sizeof text, command));
  heading(out, ".SH", "Description");
  roff_paragraph(out, command->description);
  positionals(out, command);
  items(out, command);
  options(out, cli_rows(command->options), command->defaults);
  options(out, cli_rows(cli_common_options), NULL);
  examples(out, command);
  ending(out, "comp(1)");
}

void cli_man_overview(FILE *out) {
  title(out, NULL);
  heading(out, ".SH", "Name");
  fputs("comp \\- ", out);
  roff_paragraph(out, CLI_SUMMARY);
  heading(out, ".SH", "Synopsis");
  fputs("\\fBcomp\\fR \\fICOMMAND\\fR [OPTIONS]\n", out);
  heading(out, ".SH", "Description");
  roff_paragraph(out, CLI_DESCRIPTION);
  const char *group = NULL;
  for (const cli_command *const *c = cli_commands; *c; c++) {
    if (!group || strcmp(group, (*c)->group) != 0) heading(out, ".SH", (*c)->group);
    group = (*c)->group;
    fprintf(out, ".TP\n\\fBcomp\\-%s\\fR(1)\n", (*c)->name);
    roff_paragraph(out, (*c)->summary);
  }
  options(out, cli_rows(cli_common_options), NULL);
  ending(out, "The page of each command, such as comp-help(1)");
}
