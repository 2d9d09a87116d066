/* plan.h: what to do with data that looks like this, where the user did not say. */
#ifndef COMP_PREP_PLAN_H
#define COMP_PREP_PLAN_H

#include "prep/options.h"

/* Sets options (of the kind "prep") for data of such a look; `condition` is the column by which it was looked at (may
 * be NULL). `*why` gets a text, which is constant, that says what is done. What cannot be prepared is an error that
 * says what to do. */
comp_status comp__prep_plan(comp_options *prep, const char **why, const comp_data_look *look, const char *condition);

#endif
