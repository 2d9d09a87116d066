/* test_text.c: wrapping, numbers for people, nearest names. */
#include "testing.h"

#include "cli/text.h"
#include "comp/suggest.h"

/* What a flow writes. */
static void flows_to(int column, int indent, int width, const char *text, const char *expected) {
  char written[512] = "";
  FILE *out = fmemopen(written, sizeof written, "w");
  text_flow flow = text_flow_start(out, column, indent, width);
  text_flow_add(&flow, text);
  text_flow_end(&flow);
  fclose(out);
  assert_string_equal(written, expected);
}

static void test_wrapping(void **state) {
  (void)state;
  flows_to(0, 0, 10, "one two three", "one two\nthree\n");
  flows_to(0, 0, 7, "one two", "one two\n");
  flows_to(0, 0, 6, "one two", "one\ntwo\n");
  flows_to(0, 2, 8, "one two three", "  one\n  two\n  three\n");
  flows_to(3, 5, 20, "beside", "  beside\n");
  flows_to(0, 0, 4, "immeasurable a", "immeasurable\na\n");
  flows_to(0, 0, 20, "one\n\ntwo", "one\n\ntwo\n");
  flows_to(0, 0, 20, "", "");
}

static void test_numbers(void **state) {
  (void)state;
  char text[64];
  assert_string_equal(text_count(text, sizeof text, 0), "0");
  assert_string_equal(text_count(text, sizeof text, 999), "999");
  assert_string_equal(text_count(text, sizeof text, 1000), "1,000");
  assert_string_equal(text_count(text, sizeof text, UINT64_MAX), "18,446,744,073,709,551,615");
  assert_string_equal(text_duration(text, sizeof text, 3.21), "3.2 s");
  assert_string_equal(text_duration(text, sizeof text, 99.96), "1 min 40 s");
  assert_string_equal(text_duration(text, sizeof text, 7505), "2 h 5 min");
  assert_string_equal(text_duration(text, sizeof text, NAN), "0.0 s");
  assert_string_equal(text_bytes(text, sizeof text, 120400000), "120 MB");
  assert_string_equal(text_bytes(text, sizeof text, 12340000000), "12.3 GB");
  assert_string_equal(comp_format_real(text, sizeof text, (double)0.1f, true), "0.1");
  assert_string_equal(comp_format_real(text, sizeof text, 0.1, false), "0.1");
  assert_string_equal(comp_format_real(text, sizeof text, 1e-8, false), "1e-08");
  assert_string_equal(comp_format_real(text, sizeof text, 100, false), "100");
  assert_string_equal(comp_format_real(text, sizeof text, -1e300, false), "-1e+300");
}

static void test_safe_text(void **state) {
  (void)state;
  char bad[] = "a\nb\033[31mc\177";
  assert_string_equal(text_clean(bad), "a?b?[31mc?");
  char turned[] = "\xc2\x9b"
                  "1m\xe2\x80\xae"
                  "a\xe2\x81\xa9"
                  "b\x9b"
                  "c\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"; /* C1, turned text */
  assert_string_equal(text_clean(turned), "?1m?a?b?c\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  char wide[] = "caf\xc3\xa9s";
  assert_int_equal(text_length(wide), 5);
  assert_string_equal(text_cut(wide, 4), "caf\xc3\xa9");
  assert_string_equal(text_cut(wide, 3), "caf");
  assert_string_equal(text_cut(wide, 9), "caf");
}

static const char *nearest(const char *word) {
  static const char *const names[] = {"seconds", "json", "threads", "train", "umap", "de", NULL};
  comp_suggest search = {.word = word};
  for (const char *const *name = names; *name; name++) comp_suggest_offer(&search, *name);
  return search.best ? search.best : "(none)";
}

static void test_suggest(void **state) {
  (void)state;
  assert_string_equal(nearest("secnods"), "seconds");
  assert_string_equal(nearest("sec"), "seconds");
  assert_string_equal(nearest("secs"), "seconds");
  assert_string_equal(nearest("jsno"), "json");
  assert_string_equal(nearest("thread"), "threads");
  assert_string_equal(nearest("trian"), "train");
  assert_string_equal(nearest("umpa"), "umap");
  assert_string_equal(nearest("x"), "(none)");
  assert_string_equal(nearest(""), "(none)");
  assert_string_equal(nearest("photograph"), "(none)");
  char huge[1000];
  memset(huge, 's', sizeof huge - 1);
  huge[sizeof huge - 1] = '\0';
  assert_string_equal(nearest(huge), "(none)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrapping),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_safe_text),
      cmocka_unit_test(test_suggest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
