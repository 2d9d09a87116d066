/* unique.c: telling equal names apart. */
#include "core/unique.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

/* Appends `name`-N with the next N that makes a name of its own. Two such names are never alike: what stands before the
 * last '-' is the old name, and one old name uses each N once. */
static comp_status append_numbered(comp__strings *out, const char *name, size_t *counter,
                                   const comp__string_index *taken) {
  size_t size = strlen(name) + 24;
  char *text;
  comp_status status = comp__alloc(&text, size, 1);
  if (status != COMP_OK) return status;
  int length;
  do length = snprintf(text, size, "%s-%zu", name, ++*counter);
  while (comp__string_index_find(taken, text) != SIZE_MAX);
  status = comp__strings_append(out, text, (size_t)length);
  comp__free(text);
  return status;
}

comp_status comp__strings_make_unique(comp__strings *names, size_t *changed) {
  comp_status status;
  comp__string_index index = {0};
  comp__strings renamed = {0};
  size_t *counters = NULL; /* by the index of the first of equal names */
  size_t duplicate, count = 0;
  if (changed) *changed = 0;
  COMP__TRY(comp__string_index_init(&index, names, &duplicate));
  if (duplicate == SIZE_MAX) goto done;
  COMP__TRY(comp__calloc(&counters, names->count, sizeof *counters));
  for (size_t i = 0; i < names->count; i++) {
    const char *name = comp__strings_get(names, i);
    size_t first = name ? comp__string_index_find(&index, name) : i;
    if (first == i) {
      COMP__TRY(comp__strings_append(&renamed, name, name ? strlen(name) : 0));
    } else {
      COMP__TRY(append_numbered(&renamed, name, &counters[first], &index));
      count++;
    }
  }
  comp__strings_release(names);
  *names = renamed;
  renamed = (comp__strings){0};
  if (changed) *changed = count;
done:
  comp__free(counters);
  comp__string_index_release(&index);
  comp__strings_release(&renamed);
  return status;
}
