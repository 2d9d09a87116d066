/* test_options.c: every option of every kind: set, get, default, description, bad values; JSON and copies. */
#include "testing.h"

#include <jansson.h>

#include "core/strings.h"

/* Calls `visit` for every option of every kind, with fresh options. */
static void walk(void (*visit)(comp_options *options, const comp_option *option)) {
  const char *kind;
  size_t kinds = 0;
  for (; (kind = comp_options_kind_at(kinds)); kinds++) {
    comp_options *options;
    assert_ok(comp_options_new(&options, kind));
    assert_string_equal(comp_options_kind(options), kind);
    const comp_option *option;
    for (size_t i = 0; (option = comp_options_at(options, i)); i++) {
      comp_options *fresh;
      assert_ok(comp_options_new(&fresh, kind));
      visit(fresh, option);
      comp_options_free(fresh);
    }
    comp_options_free(options);
  }
  assert_true(kinds > 0);
}

static bool is_number(comp_option_type type) {
  return type == COMP_OPTION_INT || type == COMP_OPTION_REAL || type == COMP_OPTION_BYTES;
}

/* A good value of the option that is not its default, where there is one. */
static const char *good_value(char *buffer, size_t size, const comp_option *option) {
  const double min = comp_option_min(option), max = comp_option_max(option);
  switch (comp_option_get_type(option)) {
  case COMP_OPTION_BOOL:
    return "true";
  case COMP_OPTION_INT:
  case COMP_OPTION_BYTES:
    snprintf(buffer, size, "%.0f", isfinite(min) ? (min + 1 > max ? min : min + 1) : 3.0);
    return buffer;
  case COMP_OPTION_REAL:
    snprintf(buffer, size, "%.17g", isfinite(max) ? (isfinite(min) ? min + (max - min) / 2 : max) : 3.5);
    return buffer;
  case COMP_OPTION_CHOICE:
    return comp_option_choice(option, 1) ? comp_option_choice(option, 1) : comp_option_choice(option, 0);
  case COMP_OPTION_NAMES:
    return "x,y";
  case COMP_OPTION_INTS:
    return "7,5";
  case COMP_OPTION_REALS:
    return "1,0.25";
  case COMP_OPTION_TEXT:
  case COMP_OPTION_FILE:
  case COMP_OPTION_TEXTS:
    break;
  }
  return "x";
}

static void visit_description(comp_options *options, const comp_option *option) {
  const char *name = comp_option_name(option), *help = comp_option_help(option);
  const comp_option_type type = comp_option_get_type(option);
  assert_ptr_equal(comp_options_find(options, name), option);
  if (!help || !*help) fail_msg("%s: no help", name);
  if (help[strlen(help) - 1] == '.') fail_msg("%s: help ends with a full stop", name);
  assert_non_null(comp_option_type_name(type));
  if (type != COMP_OPTION_BOOL && !comp_option_metavar(option)) fail_msg("%s: no metavar", name);
  if (type == COMP_OPTION_CHOICE && !comp_option_choice(option, 0)) fail_msg("%s: no choices", name);
  assert_true(comp_option_min(option) <= comp_option_max(option));
  for (const char *c = name; *c; c++)
    if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *c)) fail_msg("%s: not a name", name);
}

static void visit_default(comp_options *options, const comp_option *option) {
  const char *name = comp_option_name(option);
  char buffer[256], again[256];
  assert_false(comp_options_given(options, name));
  const char *value = comp_options_get(options, name, buffer, sizeof buffer);
  if (!value) return;
  char text[256];
  snprintf(text, sizeof text, "%s", value);
  assert_ok(comp_options_set(options, name, text));
  assert_true(comp_options_given(options, name));
  assert_string_equal(comp_options_get(options, name, again, sizeof again), text);
}

static void visit_set(comp_options *options, const comp_option *option) {
  const char *name = comp_option_name(option);
  const comp_option_type type = comp_option_get_type(option);
  char buffer[64], got[256];
  const char *text = good_value(buffer, sizeof buffer, option);
  if (comp_options_set(options, name, text) != COMP_OK) { /* text with a form of its own: the message shows it */
    assert_int_equal(type, COMP_OPTION_TEXT);
    if (!strstr(comp_error_message(), name)) fail_msg("%s: '%s'", name, comp_error_message());
    return;
  }
  assert_true(comp_options_given(options, name));
  size_t count;
  if (type == COMP_OPTION_TEXTS) {
    assert_string_equal(comp_options_get_list(&count, options, name)[0], text);
    assert_int_equal(count, 1);
    assert_ok(comp_options_add(options, name, "y"));
    assert_string_equal(comp_options_get_list(&count, options, name)[1], "y");
  } else {
    assert_string_equal(comp_options_get(options, name, got, sizeof got), text);
  }
  if (type == COMP_OPTION_NAMES) {
    assert_string_equal(comp_options_get_list(&count, options, name)[1], "y");
    assert_int_equal(count, 2);
  }
  int64_t whole;
  double number;
  bool flag;
  if (type == COMP_OPTION_INT || type == COMP_OPTION_BYTES) assert_ok(comp_options_get_int(&whole, options, name));
  if (type == COMP_OPTION_INT || type == COMP_OPTION_REAL) assert_ok(comp_options_get_real(&number, options, name));
  if (type == COMP_OPTION_BOOL) assert_ok(comp_options_get_bool(&flag, options, name));
  if (type != COMP_OPTION_BOOL) assert_error(comp_options_get_bool(&flag, options, name), COMP_ERR_ARGUMENT, name);
  assert_ok(comp_options_set(options, name, NULL));
  assert_false(comp_options_given(options, name));
}

/* The typed setters give the value back. */
static void visit_typed(comp_options *options, const comp_option *option) {
  const char *name = comp_option_name(option), *const items[] = {"x", "y,z"};
  const comp_option_type type = comp_option_get_type(option);
  char text[64];
  int64_t whole = 0;
  double number = 0;
  bool flag = false;
  size_t count;
  good_value(text, sizeof text, option);
  if (type == COMP_OPTION_INT || type == COMP_OPTION_BYTES) {
    assert_ok(comp_options_set_int(options, name, strtoll(text, NULL, 10)));
    assert_ok(comp_options_get_int(&whole, options, name));
    assert_true(whole == strtoll(text, NULL, 10));
  } else if (type == COMP_OPTION_REAL) {
    assert_ok(comp_options_set_real(options, name, strtod(text, NULL)));
    assert_ok(comp_options_get_real(&number, options, name));
    assert_true(number == strtod(text, NULL));
  } else if (type == COMP_OPTION_BOOL) {
    assert_ok(comp_options_set_bool(options, name, true));
    assert_ok(comp_options_get_bool(&flag, options, name));
    assert_true(flag);
  } else if (type == COMP_OPTION_TEXTS || type == COMP_OPTION_NAMES) {
    assert_ok(comp_options_set_list(options, name, items, 2));
    assert_string_equal(comp_options_get_list(&count, options, name)[1], "y,z");
    assert_int_equal(count, 2);
  } else {
    assert_error(comp_options_get_int(&whole, options, name), COMP_ERR_ARGUMENT, name);
  }
}

/* The message names the option, the value and what is allowed. */
static void check_bad(comp_options *options, const comp_option *option, const char *text, const char *allowed) {
  const char *name = comp_option_name(option);
  assert_error(comp_options_set(options, name, text), COMP_ERR_ARGUMENT, text);
  if (strncmp(comp_error_message(), name, strlen(name)) != 0 || !strstr(comp_error_message(), allowed))
    fail_msg("%s: '%s' lacks '%s'", name, comp_error_message(), allowed);
  assert_false(comp_options_given(options, name));
}

static void visit_bad(comp_options *options, const comp_option *option) {
  const comp_option_type type = comp_option_get_type(option);
  char text[64];
  if (type == COMP_OPTION_INT) check_bad(options, option, "1.5", "a whole number");
  if (type == COMP_OPTION_REAL) check_bad(options, option, "nan", "a number");
  if (type == COMP_OPTION_BOOL) check_bad(options, option, "maybe", "true or false");
  if (type == COMP_OPTION_CHOICE) check_bad(options, option, "zzzzzzz", comp_option_choice(option, 0));
  if (type == COMP_OPTION_INTS || type == COMP_OPTION_REALS) check_bad(options, option, "1,,2", "a list");
  if (type == COMP_OPTION_BYTES) check_bad(options, option, "2X", "a size such as 500M or 2G");
  if (type == COMP_OPTION_FILE) check_bad(options, option, "", "the name is empty");
  if (type != COMP_OPTION_TEXTS && type != COMP_OPTION_NAMES)
    assert_error(comp_options_add(options, comp_option_name(option), "x"), COMP_ERR_ARGUMENT, "not a list");
  if (!is_number(type) || type == COMP_OPTION_BYTES || !isfinite(comp_option_max(option))) return;
  snprintf(text, sizeof text, "%.0f", comp_option_max(option) * 2 + 1);
  check_bad(options, option, text, "out of range");
  snprintf(text, sizeof text, "%.0f", comp_option_min(option) - 1);
  check_bad(options, option, text, "out of range");
}

/* Through JSON and a copy the same values come back. */
static void visit_json(comp_options *options, const comp_option *option) {
  const char *name = comp_option_name(option);
  char buffer[64], *before, *after;
  comp_options *other, *copy;
  if (comp_options_set(options, name, good_value(buffer, sizeof buffer, option)) != COMP_OK) return;
  assert_ok(comp_options_to_json(&before, options));
  assert_ok(comp_options_new(&other, comp_options_kind(options)));
  assert_ok(comp_options_from_json(other, before));
  assert_ok(comp_options_to_json(&after, other));
  assert_string_equal(after, before);
  comp_free(after);
  assert_ok(comp_options_copy(&copy, options));
  assert_ok(comp_options_to_json(&after, copy));
  assert_string_equal(after, before);
  comp_free(after);
  comp_free(before);
  comp_options_free(copy);
  comp_options_free(other);
}

static void test_descriptions(void **state) {
  (void)state;
  walk(visit_description);
}

static void test_defaults(void **state) {
  (void)state;
  walk(visit_default);
}

static void test_typed(void **state) {
  (void)state;
  walk(visit_typed);
}

static void test_set(void **state) {
  (void)state;
  walk(visit_set);
}

static void test_bad_values(void **state) {
  (void)state;
  walk(visit_bad);
}

static void test_json(void **state) {
  (void)state;
  walk(visit_json);
}

static void test_names(void **state) {
  (void)state;
  comp_options *options;
  assert_error(comp_options_new(&options, "umpa"), COMP_ERR_ARGUMENT, "did you mean 'umap'?");
  assert_null(options);
  assert_ok(comp_options_new(&options, "umap"));
  assert_error(comp_options_set(options, "min-dst", "1"), COMP_ERR_ARGUMENT, "did you mean 'min-dist'?");
  assert_error(comp_options_set(options, "metric", "cosin"), COMP_ERR_ARGUMENT, "did you mean 'cosine'?");
  assert_error(comp_options_from_json(options, "{\"seeed\": 1}"), COMP_ERR_ARGUMENT, "did you mean 'seed'?");
  assert_error(comp_options_from_json(options, "[1]"), COMP_ERR_ARGUMENT, "not a JSON object");
  assert_error(comp_options_add(options, "seed", "1"), COMP_ERR_ARGUMENT, "not a list");
  comp_options_free(options);
}

/* Rules of several options, and functions that get options of another kind. */
static void test_check(void **state) {
  (void)state;
  comp_options *options;
  assert_ok(comp_options_new(&options, "umap"));
  assert_ok(comp_options_check(options));
  assert_ok(comp_options_set_real(options, "min-dist", 2.5));
  assert_error(comp_options_check(options), COMP_ERR_ARGUMENT, "min-dist: 2.5 is not between 0 and spread");
  comp_matrix *points, *layout;
  comp_context *context = test_context(1);
  assert_ok(comp_matrix_new_dense(&points, 4, 2));
  assert_error(comp_umap_run(&layout, NULL, context, points, options), COMP_ERR_ARGUMENT, "min-dist");
  comp_neighbors *neighbors;
  assert_error(comp_neighbors_find(&neighbors, context, points, options), COMP_ERR_ARGUMENT, "kind 'umap'");
  comp_options_free(options);
  comp_matrix_free(points);
  comp_context_free(context);
}

static json_t *document;

/* The member of a list that has this name; NULL: there is none. */
static json_t *named(json_t *list, const char *name) {
  size_t i;
  json_t *item;
  json_array_foreach(list, i, item) {
    if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0) return item;
  }
  return NULL;
}

/* The document has every option, in the same words. */
static void visit_document(comp_options *options, const comp_option *option) {
  json_t *kind = named(json_object_get(document, "kinds"), comp_options_kind(options));
  json_t *described = named(json_object_get(kind, "options"), comp_option_name(option));
  if (!described) fail_msg("%s: %s is not in the document", comp_options_kind(options), comp_option_name(option));
  assert_string_equal(json_string_value(json_object_get(kind, "summary")), comp_options_summary(options));
  assert_string_equal(json_string_value(json_object_get(described, "help")), comp_option_help(option));
  assert_string_equal(json_string_value(json_object_get(described, "type")),
                      comp_option_type_name(comp_option_get_type(option)));
}

static void test_document(void **state) {
  (void)state;
  char *text;
  assert_ok(comp_options_describe(&text));
  document = json_loads(text, 0, NULL);
  comp_free(text);
  assert_non_null(document);
  walk(visit_document);
  json_decref(document);
}

/* A record cannot hold text that is not UTF-8: the message shows it. */
static void test_not_utf8(void **state) {
  (void)state;
  comp_options *options;
  char *json;
  assert_ok(comp_options_new(&options, "run"));
  assert_ok(comp_options_set(options, "input", "caf\xc3\xa9 \xff\xfe\xc3.h5ad"));
  assert_error(comp_options_to_json(&json, options), COMP_ERR_DATA,
               "input: 'caf\xc3\xa9 \\xff\\xfe\\xc3.h5ad' is not UTF-8");
  assert_null(json);
  assert_ok(comp_options_set(options, "input", "cells.h5ad"));
  assert_ok(comp_options_add(options, "keep", "a=b"));
  assert_ok(comp_options_add(options, "keep", "a=\xe9"));
  assert_error(comp_options_to_json(&json, options), COMP_ERR_DATA, "keep: 'a=\\xe9' is not UTF-8");
  comp_options_free(options);
}

/* Text that is cut ends with a whole character. */
static void test_shown(void **state) {
  (void)state;
  char buffer[8];
  assert_string_equal(comp__utf8_show(buffer, sizeof buffer, "a\xff\xff"), "a\\xff");
  assert_string_equal(comp__utf8_show(buffer, sizeof buffer, "abcdef\xc3\xa9"), "abcdef");
  assert_string_equal(comp__utf8_show(buffer, sizeof buffer, "abcde\xc3\xa9"), "abcde\xc3\xa9");
}

/* A value that has no room is not cut. */
static void test_small_buffer(void **state) {
  (void)state;
  comp_options *options;
  char buffer[64], least[8];
  assert_ok(comp_options_new(&options, "score"));
  assert_ok(comp_options_set(options, "use", "X_pca,X_comp"));
  assert_string_equal(comp_options_get(options, "use", buffer, 13), "X_pca,X_comp");
  assert_null(comp_options_get(options, "use", buffer, 12));
  assert_string_equal(comp_error_message(), "use: its value needs a buffer of 13 bytes, not 12");
  assert_null(comp_options_get(options, "use", NULL, 0));
  comp_options_free(options);
  assert_ok(comp_options_new(&options, "train"));
  const char *hidden = comp_options_get(options, "hidden", buffer, sizeof buffer); /* a list from the preset */
  assert_true(strlen(hidden) >= sizeof least);
  assert_null(comp_options_get(options, "hidden", least, sizeof least));
  assert_non_null(strstr(comp_error_message(), "hidden: its value needs a buffer of "));
  comp_options_free(options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_descriptions), cmocka_unit_test(test_defaults), cmocka_unit_test(test_set),
      cmocka_unit_test(test_bad_values),   cmocka_unit_test(test_json),     cmocka_unit_test(test_names),
      cmocka_unit_test(test_typed),        cmocka_unit_test(test_check),    cmocka_unit_test(test_document),
      cmocka_unit_test(test_small_buffer), cmocka_unit_test(test_not_utf8), cmocka_unit_test(test_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
