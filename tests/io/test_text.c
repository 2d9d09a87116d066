/* test_text.c: numbers from text and back; plain and gzipped text, whole, in parts and damaged. */
#include "io/text_testing.h"

#include <locale.h>

#include "io/number.h"

/* Both parsers, which must agree with strtod() to the bit. */
static void check_number(const char *text) {
  char padded[512];
  const char *end, *end_short;
  double value, value_short;
  snprintf(padded, sizeof padded - 16, "%s\n", text);
  double expected = strtod(padded, NULL);
  assert_true(comp__number_parse(&value, &end, padded) != COMP__NUMBER_NONE);
  assert_true(comp__number_parse_short(&value_short, &end_short, padded) != COMP__NUMBER_NONE);
  if (memcmp(&value, &expected, sizeof value) != 0) fail_msg("%s: %.17g, expected %.17g", text, value, expected);
  assert_memory_equal(&value, &value_short, sizeof value);
  assert_int_equal(end - padded, strlen(text));
  assert_ptr_equal(end, end_short);
}

static void numbers_are_exact(void **state) {
  (void)state;
  static const char *const texts[] = {"0",
                                      "-0",
                                      "1",
                                      "12",
                                      "1234567",
                                      "12345678",
                                      "123456789",
                                      "1.5",
                                      "12.25",
                                      "0.1",
                                      ".5",
                                      "5.",
                                      "-.5",
                                      "+7",
                                      "1e5",
                                      "1E-5",
                                      "1e+300",
                                      "1e-320",
                                      "1e400",
                                      "1e-400",
                                      "9007199254740993",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "123456789012345678901234567890",
                                      "0.1234567890123456789",
                                      "0.12345678901234567",
                                      "1.7976931348623157e308",
                                      "2.2250738585072011e-308",
                                      "4.9e-324",
                                      "inf",
                                      "-Infinity",
                                      "9007199254740992.5",
                                      "9007199254740993.0",
                                      "0.000000000000000000000000000001",
                                      "1234567890123456789e-19",
                                      "1234567890123456789e19",
                                      "99999999",
                                      "9999999.",
                                      "0.000001",
                                      "00000001"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_number(texts[i]);
}

static void random_numbers_are_exact(void **state) {
  (void)state;
  uint64_t seed = 88172645463325252u;
  for (int i = 0; i < 200000; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    char text[64];
    double value;
    memcpy(&value, &seed, sizeof value);
    switch (i % 5) {
    case 0:
      snprintf(text, sizeof text, "%.17g", isfinite(value) ? value : 1.0);
      break;
    case 1:
      snprintf(text, sizeof text, "%.*f", (int)(seed % 8), (double)(seed % 100000) / 1000);
      break;
    case 2:
      snprintf(text, sizeof text, "0.%llu", (unsigned long long)seed);
      break;
    case 3:
      snprintf(text, sizeof text, "%llue%d", (unsigned long long)(seed >> (seed % 40)), (int)(seed % 47) - 23);
      break;
    default:
      snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)(seed % 1000000), (unsigned long long)(seed >> 40));
    }
    check_number(text);
  }
}

static void what_is_no_number_is_not_read(void **state) {
  (void)state;
  static const char *const texts[] = {"", "-", ".", "+.", "e5", "x", "nan", "in", "-x", "--1", " 1", ".e1"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char padded[32] = {0};
    const char *end;
    double value;
    sprintf(padded, "%s\n", texts[i]);
    assert_int_equal(comp__number_parse(&value, &end, padded), COMP__NUMBER_NONE);
    assert_ptr_equal(end, padded);
    assert_int_equal(comp__number_parse_short(&value, &end, padded), COMP__NUMBER_NONE);
  }
  const char *end, *text = "1.2.3\n\0\0\0\0\0\0\0";
  double value;
  assert_int_equal(comp__number_parse_short(&value, &end, text), COMP__NUMBER_REAL);
  assert_ptr_equal(end, text + 3);
  assert_int_equal(comp__number_parse(&value, &end, "1e\n"), COMP__NUMBER_WHOLE);
}

static void floats_are_written_short_and_read_back(void **state) {
  (void)state;
  char text[COMP__NUMBER_SIZE + 1];
  const struct {
    float value;
    const char *text;
  } cases[] = {{0.0f, "0"},
               {-0.0f, "-0"},
               {1.0f, "1"},
               {0.1f, "0.1"},
               {13.21f, "13.21"},
               {-2.5f, "-2.5"},
               {1e-5f, "1e-05"},
               {0.001f, "0.001"},
               {16777216.0f, "16777216"},
               {1e10f, "1e+10"},
               {0.3333333433f, "0.33333334"},
               {123456.7f, "123456.7"},
               {3.4028235e38f, "3.4028235e+38"},
               {1e-45f, "1e-45"},
               {INFINITY, "inf"},
               {NAN, "nan"},
               {0.00012f, "0.00012"},
               {99999.99f, "99999.99"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    text[comp__number_format(text, cases[i].value)] = '\0';
    assert_string_equal(text, cases[i].text);
  }
  uint32_t seed = 2463534242u;
  for (int i = 0; i < 300000; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    float value;
    memcpy(&value, &seed, sizeof value);
    if (i % 2) value = (float)(seed % 1000000) / 1000.0f;
    if (!isfinite(value)) continue;
    size_t n = comp__number_format(text, value);
    assert_true(n <= COMP__NUMBER_SIZE);
    text[n] = '\0';
    if (strtof(text, NULL) != value) fail_msg("%s is not %.9g", text, (double)value);
  }
}

/* ---------------------------------------------------------------------------------------------------------- gzip */

static char *sample_text(size_t size) {
  char *data = need_memory(size);
  for (size_t i = 0; i < size; i++) data[i] = i % 61 == 60 ? '\n' : (char)('a' + i * i % 23);
  return data;
}

static void gzip_is_read_whole_and_in_parts(void **state) {
  (void)state;
  size_t size = 3000000, n;
  char *data = sample_text(size);
  unsigned char *packed = gzip(data, size, &n);
  comp__text text = text_of_bytes(packed, n);
  assert_int_equal(text.size, size);
  assert_memory_equal(text.data, data, size);
  assert_int_equal(text.data[size], '\n');
  comp__text_release(&text);
  comp__source *source = source_of(packed, n, "x.gz");
  char *part = need_memory(4096);
  for (size_t at = 0, step = 1, got; at < size; at += got, step = step * 3 % 4001 + 1) {
    assert_ok(comp__source_read(source, part, step, &got));
    assert_int_equal(got, step < size - at ? step : size - at);
    assert_memory_equal(part, data + at, got);
  }
  size_t got;
  assert_ok(comp__source_read(source, part, 10, &got));
  assert_int_equal(got, 0);
  comp__source_close(source);
  free(part);
  free(packed);
  free(data);
}

static void members_are_joined(void **state) {
  (void)state;
  size_t size = 500000, total = 0;
  char *data = sample_text(size);
  unsigned char *all = need_memory(size * 2);
  for (size_t at = 0, step = 1; at < size; at += step, step = step * 7 % 30011 + 1) {
    size_t n, left = size - at < step ? size - at : step;
    unsigned char *member = gzip(data + at, left, &n);
    memcpy(all + total, member, n);
    total += n;
    free(member);
  }
  size_t n; /* and an empty one at the end, as BGZF has it */
  unsigned char *empty = gzip("", 0, &n);
  memcpy(all + total, empty, n);
  comp__text text = text_of_bytes(all, total + n);
  assert_int_equal(text.size, size);
  assert_memory_equal(text.data, data, size);
  comp__text_release(&text);
  free(empty);
  free(all);
  free(data);
}

static void damaged_gzip_is_refused(void **state) {
  (void)state;
  size_t size = 300000, n;
  char *data = sample_text(size);
  unsigned char *packed = gzip(data, size, &n);
  comp__text text;
  static const size_t cuts[] = {2, 5, 12, 100, 1000};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    comp__source *source = source_of(packed, cuts[i], "cut.gz");
    assert_error(comp__text_load(&text, source), COMP_ERR_FORMAT, "cut.gz is cut short");
    comp__source_close(source);
  }
  for (size_t back = 1; back <= 9; back++) {
    comp__source *source = source_of(packed, n - back, "cut.gz");
    assert_error(comp__text_load(&text, source), COMP_ERR_FORMAT, "is cut short");
    comp__source_close(source);
  }
  unsigned char *longer = need_memory(n + 10);
  memcpy(longer, packed, n);
  memcpy(longer + n, "garbage..", 10);
  comp__source *source = source_of(longer, n + 1, "tail.gz");
  assert_error(comp__text_load(&text, source), COMP_ERR_FORMAT, "not gzip follows the gzip data (after 300000 bytes");
  comp__source_close(source);
  source = source_of(longer, n + 8, "tail.gz");
  assert_error(comp__text_load(&text, source), COMP_ERR_FORMAT, "not gzip follows");
  comp__source_close(source);
  packed[n - 6] ^= 1;
  source = source_of(packed, n, "bad.gz");
  assert_error(comp__text_load(&text, source), COMP_ERR_FORMAT, "bad.gz is damaged: its checksum is wrong");
  comp__source_close(source);
  memset(packed + n / 2, 0xff, 20);
  source = source_of(packed, n, "bad.gz");
  assert_error(comp__text_load(&text, source), COMP_ERR_FORMAT, "bad.gz is damaged");
  comp__source_close(source);
  free(longer);
  free(packed);
  free(data);
}

/* Characters on the borders of the chunks in which a text is checked. */
static void long_texts_are_checked_everywhere(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  size_t size = 3 * 1024 * 1024;
  char *data = need_memory(size);
  for (size_t shift = 0; shift < 4; shift++) {
    memset(data, 'x', shift);
    for (size_t i = shift; i + 3 <= size; i += 3) memcpy(data + i, "\xe2\x82\xac", 3);
    size_t used = shift + (size - shift) / 3 * 3;
    comp__text text = text_of_bytes(data, used);
    assert_ok(comp__text_check(context, &text));
    text.data[(1024 * 1024 - shift) / 3 * 3 + shift + 1] = 'y';
    assert_error(comp__text_check(context, &text), COMP_ERR_FORMAT, "is not UTF-8");
    comp__text_release(&text);
  }
  free(data);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_exact),
      cmocka_unit_test(random_numbers_are_exact),
      cmocka_unit_test(what_is_no_number_is_not_read),
      cmocka_unit_test(floats_are_written_short_and_read_back),
      cmocka_unit_test(gzip_is_read_whole_and_in_parts),
      cmocka_unit_test(members_are_joined),
      cmocka_unit_test(damaged_gzip_is_refused),
      cmocka_unit_test(long_texts_are_checked_everywhere),
  };
  return cmocka_run_group_tests_name("io/text", tests, NULL, NULL);
}
