/* penalty.c: the table of penalties. */
#include "model/penalty.h"

#include <stddef.h>

static const comp__penalty *const penalties[] = {&comp__penalty_comp, &comp__penalty_comp_p0, &comp__penalty_mmd, NULL};

const comp__penalty *comp__penalty_find(comp_penalty_kind kind) {
  for (size_t i = 0; penalties[i]; i++)
    if (penalties[i]->kind == kind) return penalties[i];
  return NULL;
}
