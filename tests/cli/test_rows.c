/* test_rows.c: what commands show of the library's options: exactly those of its tables, in its words. */
#include "testing.h"

#include "cli/command.h"
#include "cli/help.h"
#include "text/stream.h"

static bool is_listed(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (; list && *list; list += strcspn(list, " "), list += *list == ' ')
    if (strcspn(list, " ") == length && strncmp(list, name, length) == 0) return true;
  return false;
}

static const opt_spec *find(const opt_spec *rows, const char *name) {
  for (; rows->name; rows++)
    if (strcmp(rows->name, name) == 0) return rows;
  return NULL;
}

/* Every option that a row of the command's own table asks for is there, as the library describes it. */
static void check_included(const cli_command *command, const opt_spec *include, size_t *count) {
  comp_options *options;
  const comp_option *option;
  assert_ok(comp_options_new(&options, include->rows));
  for (size_t i = 0; (option = comp_options_at(options, i)); i++) {
    const char *name = comp_option_name(option);
    if ((include->only && !is_listed(include->only, name)) || is_listed(include->without, name)) continue;
    if (comp_option_library_only(option)) continue; /* test_every_option_is_shown() */
    const opt_spec *row = find(cli_rows(command->options), name);
    if (!row || row->option != option) fail_msg("%s: --%s is not the library's", command->name, name);
    assert_ptr_equal(strstr(row->help, comp_option_help(option)), row->help);
    for (size_t c = 0; comp_option_choice(option, c); c++) /* what it says of each choice comes after it */
      if (comp_option_choice_help(option, c)) assert_non_null(strstr(row->help, comp_option_choice_help(option, c)));
    assert_int_equal(row->required, comp_option_required(option));
    (*count)++;
  }
  comp_options_free(options);
}

/* Names in `only` and `without` are names of the kind. */
static void check_names(const cli_command *command, const opt_spec *include, const char *list) {
  comp_options *options;
  char name[64];
  assert_ok(comp_options_new(&options, include->rows));
  for (; list && *list; list += strcspn(list, " "), list += *list == ' ') {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(list, " "), list);
    if (!comp_options_find(options, name)) fail_msg("%s: %s has no option '%s'", command->name, include->rows, name);
  }
  comp_options_free(options);
}

static void test_included_rows(void **state) {
  (void)state;
  size_t all = 0;
  for (const cli_command *const *c = cli_commands; *c; c++) {
    const opt_spec *table = (*c)->options;
    size_t included = 0, own = 0, shown = 0;
    for (; table && (table->name || table->rows); table++) {
      own += table->name != NULL;
      if (!table->rows) continue;
      check_included(*c, table, &included);
      check_names(*c, table, table->only);
      check_names(*c, table, table->without);
    }
    for (const opt_spec *row = cli_rows((*c)->options); row->name; row++) shown++;
    assert_int_equal(shown, own + included);
    all += included;
  }
  assert_true(all > 100);
}

/* The rows that every command has. */
static void test_common_rows(void **state) {
  (void)state;
  comp_options *options;
  assert_ok(comp_options_new(&options, "context"));
  const opt_spec *row = find(cli_rows(cli_common_options), "threads");
  assert_non_null(row);
  assert_ptr_equal(row->option, comp_options_find(options, "threads"));
  comp_options_free(options);
}

/* Every kind of options of the library is shown by some command. */
static void test_every_kind_is_shown(void **state) {
  (void)state;
  const char *kind;
  for (size_t k = 0; (kind = comp_options_kind_at(k)); k++) {
    bool shown = is_listed("context classify neighbors", kind); /* common rows; for programs only */
    for (const cli_command *const *c = cli_commands; *c; c++)
      for (const opt_spec *row = cli_rows((*c)->options); row->name; row++)
        shown = shown || (row->rows && strcmp(row->rows, kind) == 0);
    if (!shown) fail_msg("no command shows options of the kind '%s'", kind);
  }
}

/* Whether a table that takes in the kind has the option, or one of its own in place of it. */
static bool has_option(const opt_spec *table, const char *kind, const comp_option *option) {
  const opt_spec *row = table ? find(cli_rows(table), comp_option_name(option)) : NULL;
  if (!row || (row->option && row->option != option)) return false;
  for (; table->name || table->rows; table++)
    if (table->rows && strcmp(table->rows, kind) == 0) return true;
  return false;
}

static bool is_shown(const char *kind, const comp_option *option) {
  bool shown = has_option(cli_common_options, kind, option);
  for (const cli_command *const *c = cli_commands; *c; c++) shown = shown || has_option((*c)->options, kind, option);
  return shown;
}

/* Every option is on the command line, or its row says why it is not. The two kinds are those of single functions:
 * their options are shown as those of "score" and "umap". */
static void test_every_option_is_shown(void **state) {
  (void)state;
  const char *kind;
  size_t hidden = 0;
  for (size_t k = 0; (kind = comp_options_kind_at(k)); k++) {
    comp_options *options;
    const comp_option *option;
    if (is_listed("classify neighbors", kind)) continue;
    assert_ok(comp_options_new(&options, kind));
    for (size_t i = 0; (option = comp_options_at(options, i)); i++) {
      const bool only = comp_option_library_only(option) != NULL, shown = is_shown(kind, option);
      if (only == shown) fail_msg("%s: %s is %s", kind, comp_option_name(option), only ? "shown" : "not shown");
      hidden += only;
    }
    comp_options_free(options);
  }
  assert_int_equal(hidden, 16);
}

/* How many lines of a help text describe an option. */
static size_t count_options(const char *text) {
  size_t count = 0;
  for (const char *line = text; (line = strchr(line, '\n')); line++)
    count +=
        strncmp(line, "\n      --", 9) == 0 || (strncmp(line, "\n  -", 4) == 0 && strncmp(line + 5, ", --", 4) == 0);
  return count;
}

static size_t count_rows(const opt_spec *rows) {
  size_t count = 0;
  while (rows[count].name) count++;
  return count;
}

/* The help of a command has each row once, and nothing else. */
static void test_help_lists_rows(void **state) {
  (void)state;
  for (const cli_command *const *c = cli_commands; *c; c++) {
    char *text = NULL;
    size_t size;
    FILE *out = comp__text_stream(&text, &size);
    assert_non_null(out);
    cli_help_command(out, *c);
    fclose(out);
    for (const opt_spec *row = cli_rows((*c)->options); row->name; row++) {
      char line[160], *at;
      snprintf(line, sizeof line, "\n  %s%c%s--%s", row->letter ? "-" : " ", row->letter ? row->letter : ' ',
               row->letter ? ", " : "  ", row->name);
      size_t length = strlen(line), found = 0;
      for (at = text; (at = strstr(at, line)); at += length) found += at[length] == ' ' || at[length] == '\n';
      if (found != 1) fail_msg("%s: --%s is listed %zu times", (*c)->name, row->name, found);
    }
    assert_int_equal(count_options(text),
                     count_rows(cli_rows((*c)->options)) + count_rows(cli_rows(cli_common_options)));
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_included_rows),       cmocka_unit_test(test_common_rows),
      cmocka_unit_test(test_every_kind_is_shown), cmocka_unit_test(test_every_option_is_shown),
      cmocka_unit_test(test_help_lists_rows),
  };
  return cmocka_run_group_tests_name("cli/rows", tests, NULL, NULL);
}
