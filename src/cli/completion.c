/* completion.c: completion scripts for bash and zsh, made from the command and option tables. They are complete by
 * themselves: no call of comp at the prompt, and no helper package. */
#include <string.h>

#include "cli/help.h"

/* ---- bash ---- */

static void bash_words(FILE *out, const opt_spec *options) {
  for (const opt_spec *spec = options; spec->name; spec++) {
    if (spec->letter) fprintf(out, " -%c", spec->letter);
    fprintf(out, " --%s", spec->name);
  }
}

static void bash_choices(FILE *out, const opt_spec *spec) {
  for (const char *const *c = opt_choices(spec); *c; c++) fprintf(out, " %s", *c);
}

/* The case of an option with a value: its choices; else nothing, which makes bash complete file names. */
static void bash_value(FILE *out, const cli_command *command, const opt_spec *spec) {
  if (!opt_takes_value(spec)) return;
  fprintf(out, "    %s:--%s", command->name, spec->name);
  if (spec->letter) fprintf(out, "|%s:-%c", command->name, spec->letter);
  fputs(") words=\"", out);
  if (spec->kind == OPT_CHOICE) bash_choices(out, spec);
  fputs("\"; value=1 ;;\n", out);
}

static void bash_command(FILE *out, const cli_command *command) {
  fprintf(out, "    %s) words=\"", command->name);
  bash_words(out, cli_rows(command->options));
  bash_words(out, cli_rows(cli_common_options));
  fputs("\"; arguments=\"", out);
  const opt_spec *first = cli_rows(command->positionals);
  if (first->name && first->kind == OPT_CHOICE) bash_choices(out, first);
  fputs("\" ;;\n", out);
}

void cli_completion_bash(FILE *out) {
  fputs("# bash completion for comp; made by: comp help --completion bash\n"
        "_libcomp() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  local command=${COMP_WORDS[1]} words= arguments= value=\n"
        "  COMPREPLY=()\n"
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "    COMPREPLY=($(compgen -W \"",
        out);
  for (const cli_command *const *c = cli_commands; *c; c++) fprintf(out, "%s ", (*c)->name);
  fputs("--help --version\" -- \"$word\"))\n"
        "    return\n"
        "  fi\n"
        "  # bash takes --name=value for three words\n"
        "  if [ \"$word\" = = ]; then word=; elif [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
        "  case $command:$before in\n",
        out);
  for (const cli_command *const *c = cli_commands; *c; c++) {
    for (const opt_spec *spec = cli_rows((*c)->options); spec->name; spec++) bash_value(out, *c, spec);
    for (const opt_spec *spec = cli_rows(cli_common_options); spec->name; spec++) bash_value(out, *c, spec);
  }
  fputs("  esac\n"
        "  [ -n \"$value\" ] || case $command in\n",
        out);
  for (const cli_command *const *c = cli_commands; *c; c++) bash_command(out, *c);
  fputs("  esac\n"
        "  case $value:$word in\n"
        "    1:* | :-*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
        "    *) COMPREPLY=($(compgen -W \"$arguments\" -- \"$word\")) ;;\n"
        "  esac\n"
        "}\n"
        "complete -o default -F _libcomp comp\n",
        out);
}

/* ---- zsh ---- */

/* Text inside '...' in a place where zsh gives brackets and colons a meaning. */
static void zsh_text(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", out);
    else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
      fprintf(out, "\\%c", *text);
    else
      putc(*text == '\n' ? ' ' : *text, out);
  }
}

/* ":what:how", the part of a specification that says how a value is completed. */
static void zsh_value(FILE *out, const opt_spec *spec, const char *what) {
  putc(':', out);
  zsh_text(out, what);
  putc(':', out);
  if (spec->kind == OPT_FILE) fputs("_files", out);
  if (spec->kind != OPT_CHOICE) return;
  putc('(', out);
  for (const char *const *c = opt_choices(spec); *c; c++) fprintf(out, "%s%s", *c, c[1] ? " " : ")");
}

static void zsh_option_name(FILE *out, const opt_spec *spec, const char *dashes, const char *name, int length) {
  fprintf(out, " \\\n        '%s%s%.*s%s[", spec->repeat ? "*" : "", dashes, length, name,
          opt_takes_value(spec) ? (dashes[1] ? "=" : "+") : "");
  zsh_text(out, spec->help);
  putc(']', out);
  if (opt_takes_value(spec)) zsh_value(out, spec, spec->metavar ? spec->metavar : "VALUE");
  putc('\'', out);
}

static void zsh_options(FILE *out, const opt_spec *options) {
  for (const opt_spec *spec = options; spec->name; spec++) {
    if (spec->letter) zsh_option_name(out, spec, "-", &spec->letter, 1);
    zsh_option_name(out, spec, "--", spec->name, (int)strlen(spec->name));
  }
}

static void zsh_command(FILE *out, const cli_command *command) {
  fprintf(out, "    %s)\n      _arguments", command->name);
  zsh_options(out, cli_rows(command->options));
  zsh_options(out, cli_rows(cli_common_options));
  for (const opt_spec *spec = cli_rows(command->positionals); spec->name; spec++) {
    fprintf(out, " \\\n        '%s", spec->repeat ? "*" : spec->required ? "" : ":");
    zsh_value(out, spec, spec->name);
    putc('\'', out);
  }
  fputs(" ;;\n", out);
}

void cli_completion_zsh(FILE *out) {
  fputs("#compdef comp\n"
        "# zsh completion for comp; made by: comp help --completion zsh\n"
        "_comp() {\n"
        "  local -a commands\n"
        "  commands=(\n",
        out);
  for (const cli_command *const *c = cli_commands; *c; c++) {
    fprintf(out, "    '%s:", (*c)->name);
    zsh_text(out, (*c)->summary);
    fputs("'\n", out);
  }
  fputs("  )\n"
        "  if (( CURRENT == 2 )); then\n"
        "    _describe -t commands command commands\n"
        "    return\n"
        "  fi\n"
        "  shift words\n"
        "  (( CURRENT-- ))\n"
        "  case $words[1] in\n",
        out);
  for (const cli_command *const *c = cli_commands; *c; c++) zsh_command(out, *c);
  fputs("  esac\n"
        "}\n"
        "if [ \"$funcstack[1]\" = _comp ]; then _comp \"$@\"; else compdef _comp comp; fi\n",
        out);
}
