/* cards.h: what must be the same on all ranks before they work together. */
#ifndef COMP_DIST_CARDS_H
#define COMP_DIST_CARDS_H

#include "dist/comm.h"

/* An error on all ranks unless they have the same version of comp, the same kind of CPU and the same `work`, a text
 * that says what is done (NULL: the caller compares that). */
comp_status comp__cards_compare(comp__comm *comm, comp_context *context, const char *work);

#endif
