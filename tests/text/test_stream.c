/* test_stream.c: text that is collected in memory is whole, or closing the stream fails. The memory of this program
 * runs out on request. */
#include "testing.h"

#include "text/stream.h"

static void text_is_whole(void **state) {
  (void)state;
  enum { MOST = 300000 };
  char *text, *expected = malloc(MOST);
  size_t size, n = 0;
  assert_non_null(expected);
  FILE *out = comp__text_stream(&text, &size);
  assert_non_null(out);
  for (int i = 0; i < 30000; i++) {
    fprintf(out, "%d ", i);
    n += (size_t)snprintf(expected + n, MOST - n, "%d ", i);
  }
  fputc('\0', out);
  fputs("end", out);
  memcpy(expected + n, "\0end", 5);
  assert_int_equal(fclose(out), 0);
  assert_int_equal(size, n + 4);
  assert_memory_equal(text, expected, n + 5);
  free(expected);
  free(text);
}

static void nothing_is_a_text(void **state) {
  (void)state;
  char *text;
  size_t size;
  FILE *out = comp__text_stream(&text, &size);
  assert_non_null(out);
  assert_int_equal(fclose(out), 0);
  assert_int_equal(size, 0);
  assert_string_equal(text, "");
  free(text);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

static size_t calls, failure; /* 0: none fails */

void *__libc_malloc(size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size) {
  return ++calls == failure ? NULL : __libc_malloc(size);
}

void *realloc(void *old, size_t size) {
  return ++calls == failure ? NULL : __libc_realloc(old, size);
}

/* Whether the text could be made; it is whole then. */
static bool make_text(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = comp__text_stream(&text, &size);
  if (!out) return false;
  for (int i = 0; i < 60000; i++) fprintf(out, "%d,", i % 10);
  const bool good = fclose(out) == 0;
  failure = 0;
  assert_int_equal(size, good ? 120000 : 0);
  assert_int_equal(text ? strlen(text) : 0, size);
  free(text);
  return good;
}

/* Each allocation fails alone: there is memory again after it. */
static void a_lost_piece_is_told(void **state) {
  (void)state;
  size_t failures = 0, n = 1;
  do {
    calls = 0;
    failure = n;
    failures += !make_text();
  } while (calls >= n++);
  assert_in_range(failures, 5, n); /* the buffer grew as often */
}

#else

static void a_lost_piece_is_told(void **state) {
  (void)state; /* the sanitizer has its own malloc(); not skip(): meson takes its "not ok # SKIP" for a failure */
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_whole),
      cmocka_unit_test(nothing_is_a_text),
      cmocka_unit_test(a_lost_piece_is_told),
  };
  return cmocka_run_group_tests_name("text/stream", tests, NULL, NULL);
}
