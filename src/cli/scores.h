/* scores.h: how `comp score` shows its results. */
#ifndef CLI_SCORES_H
#define CLI_SCORES_H

#include <stdbool.h>

#include "comp/comp.h"

/* A table on stdout. `options` are those that were measured with; `per_label`: labels and conditions, too; `verbose`:
 * what each number means. */
void cli_scores_print(const comp_scores *scores, const comp_options *options, bool per_label, bool verbose);

#endif
