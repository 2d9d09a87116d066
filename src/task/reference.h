/* reference.h: which condition the others are compared with, when nobody says. */
#ifndef COMP_TASK_REFERENCE_H
#define COMP_TASK_REFERENCE_H

#include "comp/table.h"

/* The condition whose name is that of a control: "control", "ctrl", "untreated", "vehicle", "DMSO", "mock", "WT" and
 * others, alone or as a whole word ("Control_2", but not "controlled"). Of several, one that is such a word alone, then
 * the first. COMP_NOT_FOUND: none has such a name. */
size_t comp__reference_by_name(const comp_groups *conditions);

#endif
