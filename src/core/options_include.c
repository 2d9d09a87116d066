/* options_include.c: a table that takes in rows of other kinds: their fields become fields of its own struct. */
#include <assert.h>
#include <string.h>

#include "core/options.h"

/* Whether a name is in a list with spaces between. */
static bool is_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (; list && *list; list += strcspn(list, " "), list += *list == ' ')
    if (strcspn(list, " ") == length && strncmp(list, name, length) == 0) return true;
  return false;
}

static comp_option taken_in(const comp_option *include, const comp_option *row) {
  comp_option out = *row;
  out.offset += include->offset;
  out.count += include->offset;
  out.base = include->offset;
  out.source = include->rows;
  if (include->group) out.group = include->group;
  if (include->unset) out.unset = include->unset;
  return out;
}

void comp__options_include(comp_option *out, size_t most, const comp_option *table) {
  size_t n = 0;
  for (; table->name || table->rows; table++) {
    if (table->name) out[n++] = *table;
    for (const comp_option *row = table->rows ? table->rows->rows : NULL; row && row->name; row++) {
      if (row->internal || row->library_only || (table->only && !is_listed(table->only, row->name))) continue;
      if (!is_listed(table->without, row->name)) out[n++] = taken_in(table, row);
    }
    assert(n < most);
  }
  (void)most;
  out[n] = (comp_option){0};
}
