/* before.h: what the design says before any training: can the effect of the condition be separated from labels? */
#ifndef COMP_VERDICT_BEFORE_H
#define COMP_VERDICT_BEFORE_H

#include "comp/table.h"
#include "verdict/finding.h"

/* Adds the finding "confounded" about labels by conditions, if there is one. *hopeless: nothing can be learned, because
 * no label is in two conditions. Without a label, or without such columns, there is no finding. */
comp_status comp__judge_design(comp__findings *out, bool *hopeless, const comp_table *obs, const char *condition,
                               const char *label);

#endif
