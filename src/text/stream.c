/* stream.c: a stream into memory that does not lose text. */
#include "text/stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream {
  char **text;
  size_t *size;
  char *bytes;
  size_t used, capacity;
  bool lost; /* something did not fit: what comes later does not help */
} stream;

/* Room for n more bytes and the 0 at the end. */
static bool reserve(stream *s, size_t n) {
  size_t wanted;
  if (__builtin_add_overflow(s->used, n, &wanted) || wanted >= SIZE_MAX / 2) return false;
  if (wanted < s->capacity) return true;
  size_t capacity = s->capacity ? s->capacity : 256;
  while (capacity <= wanted) capacity *= 2;
  char *bytes = realloc(s->bytes, capacity);
  if (!bytes) return false;
  s->bytes = bytes;
  s->capacity = capacity;
  return true;
}

/* 0 stands for a failure. */
static ssize_t write_bytes(void *cookie, const char *bytes, size_t n) {
  stream *s = cookie;
  if (s->lost || !reserve(s, n)) {
    s->lost = true;
    errno = ENOMEM;
    return 0;
  }
  memcpy(s->bytes + s->used, bytes, n);
  s->used += n;
  return (ssize_t)n;
}

static int close_stream(void *cookie) {
  stream *s = cookie;
  bool whole = !s->lost && reserve(s, 0);
  if (whole) {
    s->bytes[s->used] = '\0';
  } else {
    free(s->bytes);
    s->bytes = NULL;
    errno = ENOMEM;
  }
  *s->text = s->bytes;
  *s->size = whole ? s->used : 0;
  free(s);
  return whole ? 0 : -1;
}

FILE *comp__text_stream(char **text, size_t *size) {
  static const cookie_io_functions_t functions = {.write = write_bytes, .close = close_stream};
  stream *s = calloc(1, sizeof *s);
  *text = NULL;
  *size = 0;
  if (!s) return NULL;
  s->text = text;
  s->size = size;
  FILE *out = fopencookie(s, "w", functions);
  if (!out) free(s);
  return out;
}
