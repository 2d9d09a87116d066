/* strings.c: string lists, a hash index, near names, UTF-8. */
#include "core/strings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

comp_status comp__strings_append(comp__strings *strings, const char *text, size_t length) {
  comp_status status =
      comp__grow(&strings->offsets, &strings->capacity, strings->count, strings->count + 1, sizeof *strings->offsets);
  if (status != COMP_OK) return status;
  if (!text) {
    strings->offsets[strings->count++] = SIZE_MAX;
    return COMP_OK;
  }
  size_t needed;
  if (!comp__size_add(&needed, strings->pool_used, length) || !comp__size_add(&needed, needed, 1))
    return comp__error(COMP_ERR_MEMORY, "out of memory: a list of strings is too long");
  status = comp__grow(&strings->pool, &strings->pool_capacity, strings->pool_used, needed, 1);
  if (status != COMP_OK) return status;
  memcpy(strings->pool + strings->pool_used, text, length);
  strings->pool[strings->pool_used + length] = '\0';
  strings->offsets[strings->count++] = strings->pool_used;
  strings->pool_used = needed;
  return COMP_OK;
}

comp_status comp__strings_select(comp__strings *out, const comp__strings *strings, const size_t *rows, size_t n_rows) {
  size_t n = rows ? n_rows : strings->count;
  for (size_t i = 0; i < n; i++) {
    const char *text = comp__strings_get(strings, rows ? rows[i] : i);
    comp_status status = comp__strings_append(out, text, text ? strlen(text) : 0);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

const char *comp__strings_get(const comp__strings *strings, size_t i) {
  assert(i < strings->count);
  return strings->offsets[i] == SIZE_MAX ? NULL : strings->pool + strings->offsets[i];
}

void comp__strings_list(const char **out, const comp__strings *strings) {
  for (size_t i = 0; i < strings->count; i++) out[i] = comp__strings_get(strings, i);
}

void comp__strings_release(comp__strings *strings) {
  comp__free(strings->offsets);
  comp__free(strings->pool);
  *strings = (comp__strings){0};
}

/* FNV-1a, finished with a multiply so that the low bits, which pick the slot, depend on all of it. */
static size_t hash(const char *text) {
  uint64_t value = 0xcbf29ce484222325u;
  for (; *text; text++) value = (value ^ (unsigned char)*text) * 0x100000001b3u;
  value ^= value >> 32;
  return (size_t)(value * 0x9e3779b97f4a7c15u >> 20);
}

comp_status comp__string_index_init(comp__string_index *index, const comp__strings *strings, size_t *duplicate) {
  *index = (comp__string_index){strings, NULL, 0};
  if (duplicate) *duplicate = SIZE_MAX;
  size_t size = 16;
  while (size < strings->count * 2) size *= 2;
  comp_status status = comp__calloc(&index->slots, size, sizeof *index->slots);
  if (status != COMP_OK) return status;
  index->mask = size - 1;
  for (size_t i = 0; i < strings->count; i++) {
    const char *text = comp__strings_get(strings, i);
    if (!text) continue;
    size_t slot = hash(text) & index->mask;
    while (index->slots[slot] && strcmp(comp__strings_get(strings, index->slots[slot] - 1), text) != 0)
      slot = (slot + 1) & index->mask;
    if (!index->slots[slot])
      index->slots[slot] = i + 1;
    else if (duplicate && *duplicate == SIZE_MAX)
      *duplicate = i;
  }
  return COMP_OK;
}

size_t comp__string_index_find(const comp__string_index *index, const char *text) {
  size_t slot = hash(text) & index->mask;
  while (index->slots[slot]) {
    size_t i = index->slots[slot] - 1;
    if (strcmp(comp__strings_get(index->strings, i), text) == 0) return i;
    slot = (slot + 1) & index->mask;
  }
  return SIZE_MAX;
}

void comp__string_index_release(comp__string_index *index) {
  comp__free(index->slots);
  *index = (comp__string_index){0};
}

comp_hint comp__hint(const char *name, size_t n, const char *(*get)(const void *user, size_t i), const void *user) {
  comp_suggest search = {.word = name};
  for (size_t i = 0; i < n; i++) {
    const char *other = get(user, i);
    if (other) comp_suggest_offer(&search, other);
  }
  return comp_suggest_hint(&search);
}

static const char *nth_string(const void *user, size_t i) {
  return comp__strings_get(user, i);
}

comp_hint comp__strings_hint(const comp__strings *strings, const char *name) {
  return comp__hint(name, strings->count, nth_string, strings);
}

/* Length of the sequence that a lead byte opens and the lowest code point that may need it; 0 when it opens none. */
static size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

static bool sequence_valid(const unsigned char *p, size_t length) {
  for (size_t i = 1; i < length; i++)
    if ((p[i] & 0xc0) != 0x80) return false;
  if (p[0] == 0xe0 && p[1] < 0xa0) return false; /* overlong */
  if (p[0] == 0xed && p[1] > 0x9f) return false; /* surrogate */
  if (p[0] == 0xf0 && p[1] < 0x90) return false; /* overlong */
  if (p[0] == 0xf4 && p[1] > 0x8f) return false; /* beyond U+10FFFF */
  return true;
}

bool comp__utf8_valid(const char *text, size_t length, size_t *bad) {
  const unsigned char *p = (const unsigned char *)text;
  for (size_t i = 0; i < length;) {
    size_t n = sequence_length(p[i]);
    if (n == 0 || n > length - i || !sequence_valid(p + i, n)) {
      if (bad) *bad = i;
      return false;
    }
    i += n;
  }
  return true;
}

char *comp__utf8_show(char *buffer, size_t size, const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  size_t length = strlen(text), used = 0;
  for (size_t i = 0, n; i < length; i += n) {
    char part[8];
    n = sequence_length(p[i]);
    const bool good = n > 0 && n <= length - i && sequence_valid(p + i, n);
    if (!good) n = 1;
    const int width = good ? snprintf(part, sizeof part, "%.*s", (int)n, text + i)
                           : snprintf(part, sizeof part, "\\x%02x", (unsigned)p[i]);
    if (used + (size_t)width >= size) break;
    memcpy(buffer + used, part, (size_t)width);
    used += (size_t)width;
  }
  buffer[used] = '\0';
  return buffer;
}

comp_status comp__print(char *out, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(out, size, format, arguments);
  va_end(arguments);
  if (length < 0) return comp__error(COMP_ERR_MEMORY, "out of memory");
  if ((size_t)length >= size) return comp__error(COMP_ERR_DATA, "a text of %d bytes does not fit", length);
  return COMP_OK;
}

const char *comp__digits_of(comp__digits *room, size_t value) {
  char digits[24];
  const size_t n = (size_t)snprintf(digits, sizeof digits, "%zu", value);
  size_t used = 0;
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && (n - i) % 3 == 0) room->text[used++] = ',';
    room->text[used++] = digits[i];
  }
  room->text[used] = '\0';
  return room->text;
}
