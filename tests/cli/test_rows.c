/* test_rows.c: what commands show of the library's options: exactly those of its tables, in its words. */
#include "testing.h"

#include "cli/command.h"
#include "cli/help.h"

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

/* The help of a command has each row once. */
static void test_help_lists_rows(void **state) {
  (void)state;
  for (const cli_command *const *c = cli_commands; *c; c++) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
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
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_included_rows),
      cmocka_unit_test(test_help_lists_rows),
  };
  return cmocka_run_group_tests_name("cli/rows", tests, NULL, NULL);
}
