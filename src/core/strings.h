/* strings.h: a growing list of strings in one block, a hash index over it, and the nearest name to a misspelt one. */
#ifndef COMP_CORE_STRINGS_H
#define COMP_CORE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/export.h"
#include "comp/status.h"
#include "comp/suggest.h"

/* A list of strings, any of which may be missing (NULL). Zero-initialise to start. */
typedef struct comp__strings {
  size_t count;
  size_t capacity;
  size_t *offsets; /* into pool; SIZE_MAX: missing */
  char *pool;
  size_t pool_used;
  size_t pool_capacity;
} comp__strings;

/* Appends a copy of `length` bytes of text (text NULL: a missing value). The bytes must not hold a NUL. */
comp_status comp__strings_append(comp__strings *strings, const char *text, size_t length);

/* Replaces nothing, copies everything: `out` must be empty. With rows NULL all of them. */
comp_status comp__strings_select(comp__strings *out, const comp__strings *strings, const size_t *rows, size_t n_rows);

/* The i-th string; NULL when missing. Valid until the next append. */
const char *comp__strings_get(const comp__strings *strings, size_t i);

/* All of them: out[count]. Valid as long. */
void comp__strings_list(const char **out, const comp__strings *strings);

void comp__strings_release(comp__strings *strings);

/* Finds strings of a list by content. The list must not change while the index lives. */
typedef struct comp__string_index {
  const comp__strings *strings;
  size_t *slots; /* index + 1; 0: empty */
  size_t mask;
} comp__string_index;

/* Builds the index. When a string occurs twice the first one is found; `*duplicate` (may be NULL) gets the lowest index
 * that repeats an earlier string, or SIZE_MAX. It should be released via comp__string_index_release(). */
comp_status comp__string_index_init(comp__string_index *index, const comp__strings *strings, size_t *duplicate);

/* The index of the string, or SIZE_MAX. */
size_t comp__string_index_find(const comp__string_index *index, const char *text);
void comp__string_index_release(comp__string_index *index);

/* The end of a message about an unknown name: of n names, given by get(user, i), the one most like it, as
 * comp_suggest_hint() has it; and of the names in a list. */
comp_hint comp__hint(const char *name, size_t n, const char *(*get)(const void *user, size_t i), const void *user);
comp_hint comp__strings_hint(const comp__strings *strings, const char *name);

/* snprintf() for texts that are kept: an error when the text does not fit, or when memory has run out. glibc allocates
 * for formats of more than 14 fields when a library has added to what printf() knows (libquadmath, below LAPACK). */
comp_status comp__print(char *out, size_t size, const char *format, ...) COMP_PRINTF(3, 4);

/* A number for readers: 12,345. The text is that of `room`. */
typedef struct comp__digits {
  char text[32];
} comp__digits;
const char *comp__digits_of(comp__digits *room, size_t value);

/* Whether the bytes are valid UTF-8; else *bad (may be NULL) is the offset of the first byte that is not. */
bool comp__utf8_valid(const char *text, size_t length, size_t *bad);

/* For a message: the text with each byte that is not UTF-8 as \xNN, cut to the size. Returns `buffer`. */
char *comp__utf8_show(char *buffer, size_t size, const char *text);

#endif
