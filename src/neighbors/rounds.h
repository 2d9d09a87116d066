/* rounds.h: better neighbours from those that are known: whoever is near to a neighbour is likely to be one. */
#ifndef COMP_NEIGHBORS_ROUNDS_H
#define COMP_NEIGHBORS_ROUNDS_H

#include "neighbors/search.h"

/* Lists of near points that are improved round by round, and the links that are made of them. */
typedef struct comp__rounds {
  size_t n, length;         /* points, and near points of each */
  int32_t *lists;           /* [n, length], nearest first; borrowed */
  uint8_t *fresh;           /* [n, length]: 1 where the list has changed in the last round */
  uint32_t *links;          /* [n, room]: the point a link leads to, times 2, plus 1 when it is new */
  size_t room, out, follow; /* links of a point; those to its own nearest; nearest points whose links are followed */
  size_t words;             /* of a set of points */
  uint64_t *sets;           /* [threads, 2, words] */
  size_t most;              /* points that one group can look at */
  int32_t *names;           /* [threads, 2, most] */
} comp__rounds;

/* It should be released via comp__rounds_release(). */
comp_status comp__rounds_init(comp__rounds *out, comp_context *context, int32_t *lists, size_t n, size_t length);
void comp__rounds_release(comp__rounds *rounds);

/* One round, for lists and distances [n, length] of a search whose points and queries are the same and ordered: every
 * point looks at the points that its nearest are linked with. Links that were followed before are left out. */
comp_status comp__rounds_next(comp__rounds *rounds, comp__tiles *tiles, float *distances);

#endif
