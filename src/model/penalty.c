/* penalty.c: the table of penalties, made from penalties.def. */
#include "model/penalty.h"

#include <string.h>

#define PENALTY(KIND, name) &comp__penalty_##name,
static const comp__penalty *const penalties[] = {
    NULL, /* COMP_PENALTY_NONE */
#include "model/penalties.def"
};
#undef PENALTY
enum { PENALTIES = sizeof penalties / sizeof *penalties };

const comp__penalty *comp__penalty_find(comp_penalty_kind kind) {
  return (size_t)kind < PENALTIES ? penalties[kind] : NULL;
}

const char *comp__penalty_name(size_t index) {
  if (index >= PENALTIES) return NULL;
  return penalties[index] ? penalties[index]->name : "none";
}

const char *comp__penalty_help(size_t index) {
  return index < PENALTIES && penalties[index] ? penalties[index]->help : NULL;
}

bool comp__penalty_has_option(const comp__penalty *penalty, const char *option) {
  for (const char *const *o = penalty ? penalty->options : NULL; o && *o; o++)
    if (strcmp(*o, option) == 0) return true;
  return false;
}

/* Whether a row before `end` has the option already. */
static bool listed_before(const char *option, size_t end) {
  for (size_t i = 0; i < end; i++)
    if (comp__penalty_has_option(penalties[i], option)) return true;
  return false;
}

const char *comp__penalty_option(size_t index) {
  for (size_t i = 0; i < PENALTIES; i++)
    for (const char *const *o = penalties[i] ? penalties[i]->options : NULL; o && *o; o++)
      if (!listed_before(*o, i) && index-- == 0) return *o;
  return NULL;
}
