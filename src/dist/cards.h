/* cards.h: what must be the same on all ranks before they work together. */
#ifndef COMP_DIST_CARDS_H
#define COMP_DIST_CARDS_H

#include "dist/comm.h"

/* One thing that must be the same. A difference is "rank 0 {shown} A, rank 1 {shown} B: {advice}" with both texts (at
 * most 63 bytes), or, where shown is NULL, "rank 1 has {other} than rank 0: {advice}". */
typedef struct comp__card {
  const char *shown, *other, *advice;
  const char *text; /* this rank's */
  comp_status status;
} comp__card;

/* An error on all ranks unless they have the same version of comp, the same kind of CPU and the same cards (at most
 * 8). The first difference counts. */
comp_status comp__cards_compare(comp__comm *comm, comp_context *context, const comp__card *cards, size_t n);

#endif
