/* test_json.c: documents of JSON while memory runs out. The malloc() of this program fails on request. */
#include "testing.h"

#include <jansson.h>

#include "core/json.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* Words of so many characters: some make the buffer of the parser grow with their last one. */
static void make_document(char *out, size_t size, int length) {
  char ones[128] = "";
  memset(ones, '1', (size_t)length);
  snprintf(out, size, "[0.%s, true, {\"%s\": \"%s\"}, -0.%se+1, \"\\u00e9\"]", ones, ones, ones, ones);
}

static size_t calls, first_failure; /* 0: none */
static bool all_after;

void *__libc_malloc(size_t size);

void *malloc(size_t size) {
  calls++;
  const bool fails = first_failure && (calls == first_failure || (all_after && calls > first_failure));
  return fails ? NULL : __libc_malloc(size);
}

static void fail_from(size_t call, bool on) {
  calls = 0;
  first_failure = call;
  all_after = on;
}

/* Each allocation fails, alone or with all after it. */
static void check_document(const char *document) {
  json_t *good = json_loads(document, 0, NULL);
  assert_non_null(good);
  fail_from(0, false);
  json_decref(json_loads(document, 0, NULL));
  const size_t total = calls;
  for (size_t n = 1; n <= total; n++) {
    for (int on = 0; on < 2; on++) {
      fail_from(n, on);
      json_t *read = json_loads(document, 0, NULL);
      char *text = read ? json_dumps(read, 0) : NULL;
      fail_from(0, false);
      assert_true(comp__json_lost());
      assert_true(!read || json_equal(read, good));
      assert_null(text); /* what was lost stays lost until it is reported */
      comp__json_forget();
      json_decref(read);
    }
  }
  json_decref(good);
}

/* jansson 2.14 ended the process when its buffer could not grow by the character after a number. */
static void parsing_survives_every_failure(void **state) {
  (void)state;
  char document[1024];
  comp__json_start();
  for (int length = 1; length < 70; length++) {
    make_document(document, sizeof document, length);
    check_document(document);
  }
}

/* The text of a document is complete or not there, and is freed by whoever asked for it. */
static void writing_is_complete_or_fails(void **state) {
  (void)state;
  char document[1024];
  comp__json_start();
  make_document(document, sizeof document, 60);
  json_t *good = json_loads(document, 0, NULL);
  char *whole = json_dumps(good, JSON_SORT_KEYS);
  assert_non_null(whole);
  for (size_t n = 1; n < 60; n++) {
    for (int on = 0; on < 2; on++) {
      fail_from(n, on);
      char *text = json_dumps(good, JSON_SORT_KEYS);
      fail_from(0, false);
      if (text) assert_string_equal(text, whole);
      free(text);
      comp__json_forget();
    }
  }
  free(whole);
  json_decref(good);
}

#else

static void parsing_survives_every_failure(void **state) {
  (void)state; /* the sanitizer has its own malloc(); not skip(): meson takes its "not ok # SKIP" for a failure */
}

static void writing_is_complete_or_fails(void **state) {
  (void)state;
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parsing_survives_every_failure),
                                     cmocka_unit_test(writing_is_complete_or_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
