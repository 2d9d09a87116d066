/* penalty.c: the table of penalties. */
#include "model/penalty.h"

#include <stddef.h>

static const comp__penalty *const penalties[] = {&comp__penalty_comp, &comp__penalty_comp_p0, &comp__penalty_mmd, NULL};

const comp__penalty *comp__penalty_find(comp_penalty_kind kind) {
  for (size_t i = 0; penalties[i]; i++)
    if (penalties[i]->kind == kind) return penalties[i];
  return NULL;
}

const char *comp__penalty_name(size_t index) {
  const comp__penalty *penalty = comp__penalty_find((comp_penalty_kind)index);
  return index == COMP_PENALTY_NONE ? "none" : penalty ? penalty->name : NULL;
}

bool comp__penalty_has_mixtures(comp_penalty_kind kind) {
  const comp__penalty *penalty = comp__penalty_find(kind);
  return penalty && penalty->needs_posteriors;
}
