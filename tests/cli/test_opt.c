/* test_opt.c: reading command lines by option tables. */
#include "testing.h"

#include "cli/opt.h"

typedef struct values {
  bool flag, other;
  int count;
  int64_t wide;
  double ratio;
  float rate;
  uint64_t memory;
  const char *text, *file, *model;
  opt_list keep, inputs;
  const char *first;
} values;

static const char *const default_keep[] = {"a", "b"};
static const char *const models[] = {"comp", "vae", "trvae", NULL};
static const values defaults = {.count = 3,
                                .wide = OPT_UNSET_INT,
                                .ratio = NAN,
                                .rate = 0.001f,
                                .memory = 2ull << 30,
                                .model = "comp",
                                .keep = {(const char **)default_keep, 2}};

static const opt_spec table[] = {
    {"flag", 'f', OPT_FLAG, OPT_FIELD(values, flag)},
    {"other", 'o', OPT_FLAG, OPT_FIELD(values, other)},
    {"count", 'n', OPT_INT, OPT_FIELD(values, count), .metavar = "N", .min = -5, .max = 100},
    {"wide", .kind = OPT_INT, OPT_FIELD(values, wide), .metavar = "N", .unset = "by the clock"},
    {"ratio", 'r', OPT_REAL, OPT_FIELD(values, ratio), .metavar = "R", .min = -1, .max = INFINITY},
    {"rate", .kind = OPT_REAL, OPT_FIELD(values, rate), .metavar = "R"},
    {"memory", .kind = OPT_SIZE, OPT_FIELD(values, memory), .metavar = "SIZE"},
    {"text", .kind = OPT_STRING, OPT_FIELD(values, text), .metavar = "TEXT"},
    {"file", .kind = OPT_FILE, OPT_FIELD(values, file), .metavar = "FILE"},
    {"model", .kind = OPT_CHOICE, OPT_FIELD(values, model), .metavar = "NAME", .choices = models},
    {"keep", 'k', OPT_STRING, .repeat = true, OPT_FIELD(values, keep), .metavar = "COL=VALUE"},
    {"help", 'h', .kind = OPT_HELP},
    {0},
};

static const opt_spec arguments[] = {
    {"FIRST", .kind = OPT_STRING, OPT_FIELD(values, first)},
    {"INPUT", .kind = OPT_FILE, .repeat = true, OPT_FIELD(values, inputs)},
    {0},
};

static const opt_spec required_table[] = {
    {"file", .kind = OPT_FILE, OPT_FIELD(values, file), .metavar = "FILE", .required = true}, {0}};
static const opt_spec required_argument[] = {{"FIRST", .kind = OPT_STRING, OPT_FIELD(values, first), .required = true},
                                             {0}};
static const opt_spec nothing[] = {{0}};

static values got;
static opt_set set, positionals;
static char message[256];

/* Parses words that are separated by spaces; "_" stands for an empty word. */
static opt_outcome parse_by(const opt_spec *options, const opt_spec *names, const char *line) {
  static char copy[512];
  char *argv[32];
  int argc = 0;
  snprintf(copy, sizeof copy, "%s", line);
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
    if (strcmp(word, "_") == 0) *word = '\0';
    argv[argc++] = word;
  }
  got = defaults;
  set = (opt_set){options, &got, {0}};
  positionals = (opt_set){names, &got, {0}};
  message[0] = '\0';
  return opt_parse(&set, 1, &positionals, argc, argv, message, sizeof message);
}

static void release(void) {
  opt_release(&set);
  opt_release(&positionals);
}

static void parsed(const char *line) {
  if (parse_by(table, arguments, line) != OPT_PARSED) fail_msg("'%s': %s", line, message);
}

static void refused(const char *line, const char *expected) {
  opt_outcome outcome = parse_by(table, arguments, line);
  release();
  if (outcome != OPT_WRONG) fail_msg("'%s' was accepted", line);
  assert_string_equal(message, expected);
}

static void test_nothing(void **state) {
  (void)state;
  parsed("");
  assert_memory_equal(&got, &defaults, sizeof got);
  release();
  assert_memory_equal(&got, &defaults, sizeof got); /* a default list is not freed */
}

static void test_forms(void **state) {
  (void)state;
  parsed("--count 7 --ratio=2.5 -f");
  assert_int_equal(got.count, 7);
  assert_true(got.ratio == 2.5);
  assert_true(got.flag && !got.other);
  parsed("-n7 -r 1e3 -fo");
  assert_int_equal(got.count, 7);
  assert_true(got.ratio == 1000);
  assert_true(got.flag && got.other);
  parsed("-fn7");
  assert_true(got.flag && got.count == 7);
  parsed("--text=--flag --file=a=b");
  assert_string_equal(got.text, "--flag");
  assert_string_equal(got.file, "a=b");
  parsed("--text=");
  assert_string_equal(got.text, "");
}

static void test_negative_values(void **state) {
  (void)state;
  parsed("--count -5 --ratio -.5 --rate=-2");
  assert_int_equal(got.count, -5);
  assert_true(got.ratio == -0.5);
  assert_true(got.rate == -2);
}

static void test_numbers(void **state) {
  (void)state;
  parsed("--wide 9223372036854775807 --rate 3e38");
  assert_true(got.wide == INT64_MAX);
  assert_true(got.rate == 3e38f);
  refused("--count 101", "--count: 101 is out of range: -5 to 100");
  refused("--count 99999999999999999999", "--count: 99999999999999999999 is out of range: -5 to 100");
  refused("--count 1.5", "--count: '1.5' is not a whole number");
  refused("--count 7x", "--count: '7x' is not a whole number");
  refused("--count _", "--count: '' is not a whole number");
  refused("--ratio abc", "--ratio: 'abc' is not a number");
  refused("--ratio nan", "--ratio: 'nan' is not a number");
  refused("--ratio=-inf", "--ratio: '-inf' is not a number");
  refused("--ratio 0x10", "--ratio: '0x10' is not a number");
  refused("--ratio 1,5", "--ratio: '1,5' is not a number");
  refused("--ratio -2", "--ratio: -2 is out of range: -1 or more");
  refused("--ratio 1e999", "--ratio: 1e999 is out of range: -1 or more");
  assert_int_equal(parse_by(table, arguments, "--rate 1e39"), OPT_WRONG);
}

static void test_sizes(void **state) {
  (void)state;
  parsed("--memory 2G");
  assert_true(got.memory == 2ull << 30);
  parsed("--memory 1.5k");
  assert_true(got.memory == 1536);
  parsed("--memory 123");
  assert_true(got.memory == 123);
  refused("--memory 2X", "--memory: '2X' is not a size such as 500M or 2G");
  refused("--memory 2GB", "--memory: '2GB' is not a size such as 500M or 2G");
  refused("--memory -1", "--memory: '-1' is not a size such as 500M or 2G");
  assert_int_equal(parse_by(table, arguments, "--memory 99999999T"), OPT_WRONG);
}

static void test_choices(void **state) {
  (void)state;
  parsed("--model vae");
  assert_string_equal(got.model, "vae");
  refused("--model tvae", "--model: 'tvae' is unknown; did you mean 'vae'?");
  refused("--model gan", "--model: 'gan' is not one of comp, vae, trvae");
}

static void test_lists(void **state) {
  (void)state;
  parsed("--keep x=1 -k y=2 --keep=z=3");
  assert_int_equal(got.keep.count, 3);
  assert_string_equal(got.keep.items[0], "x=1");
  assert_string_equal(got.keep.items[2], "z=3");
  release();
  parsed("one two three");
  assert_string_equal(got.first, "one");
  assert_int_equal(got.inputs.count, 2);
  assert_string_equal(got.inputs.items[1], "three");
  release();
}

static void test_arguments(void **state) {
  (void)state;
  parsed("-f -- -f");
  assert_true(got.flag);
  assert_string_equal(got.first, "-f");
  parsed("-");
  assert_string_equal(got.first, "-");
  assert_int_equal(parse_by(table, nothing, "-f x"), OPT_WRONG);
  assert_string_equal(message, "unexpected argument 'x'");
}

static void test_missing(void **state) {
  (void)state;
  refused("--count", "--count needs a value: --count N");
  refused("-n", "--count needs a value: --count N");
  refused("--file --flag", "--file needs a value: --file FILE");
  refused("--file=", "--file: the name is empty");
  assert_int_equal(parse_by(required_table, nothing, ""), OPT_WRONG);
  assert_string_equal(message, "--file FILE is required");
  assert_int_equal(parse_by(nothing, required_argument, ""), OPT_WRONG);
  assert_string_equal(message, "FIRST is required");
}

static void test_twice(void **state) {
  (void)state;
  refused("--count 1 -n 2", "--count is given twice");
  refused("-ff", "--flag is given twice");
  refused("--flag=1", "--flag takes no value");
}

static void test_unknown(void **state) {
  (void)state;
  refused("--cuont 1", "unknown option '--cuont'; did you mean '--count'?");
  refused("--mem=2G", "unknown option '--mem'; did you mean '--memory'?");
  refused("-count", "unknown option '-count'; did you mean '--count'?");
  refused("--zzzz", "unknown option '--zzzz'");
  refused("-z", "unknown option '-z'");
}

static void test_help(void **state) {
  (void)state;
  assert_int_equal(parse_by(table, arguments, "--help --zzzz"), OPT_ASKED_HELP);
  assert_int_equal(parse_by(table, arguments, "-fh"), OPT_ASKED_HELP);
  assert_int_equal(parse_by(table, arguments, "--zzzz --count x -h"), OPT_ASKED_HELP);
  assert_int_equal(parse_by(required_table, nothing, "--zzzz -- -h"), OPT_WRONG);
}

static void defaults_to(const char *name, const char *expected) {
  char text[64];
  for (const opt_spec *spec = table; spec->name; spec++)
    if (strcmp(spec->name, name) == 0) assert_string_equal(opt_default(text, sizeof text, spec, &defaults), expected);
}

static void test_defaults_as_text(void **state) {
  (void)state;
  defaults_to("flag", "");
  defaults_to("count", "3");
  defaults_to("wide", "by the clock");
  defaults_to("ratio", "");
  defaults_to("rate", "0.001");
  defaults_to("memory", "2G");
  defaults_to("text", "");
  defaults_to("model", "comp");
  defaults_to("keep", "a, b");
}

static void test_usage(void **state) {
  (void)state;
  char text[64];
  assert_string_equal(opt_usage(text, sizeof text, &table[0]), "-f, --flag");
  assert_string_equal(opt_usage(text, sizeof text, &table[3]), "    --wide N");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_negative_values),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_choices),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_twice),
      cmocka_unit_test(test_unknown),
      cmocka_unit_test(test_help),
      cmocka_unit_test(test_defaults_as_text),
      cmocka_unit_test(test_usage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
