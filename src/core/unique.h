/* unique.h: telling equal names apart. */
#ifndef COMP_CORE_UNIQUE_H
#define COMP_CORE_UNIQUE_H

#include "core/strings.h"

/* Makes all names of a list different, as anndata's var_names_make_unique() does: the first keeps its name, the others
 * get "-1", "-2", ..., leaving out what is a name already. `*changed` (may be NULL) gets the number of new names.
 * Missing names stay missing. On failure the list is as it was. */
comp_status comp__strings_make_unique(comp__strings *names, size_t *changed);

#endif
