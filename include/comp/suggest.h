/*
 * suggest.h: the known name that is nearest to a word, for "did you mean": by edit distance, or as a shortened form of
 * it. Case does not count.
 *
 *     comp_suggest search = {.word = "bnech"};
 *     for each known name: comp_suggest_offer(&search, name);
 *     printf("there is no '%s'%s\n", search.word, comp_suggest_hint(&search).text);
 */
#ifndef COMP_SUGGEST_H
#define COMP_SUGGEST_H

#include <stddef.h>

#include "comp/export.h"

typedef struct comp_suggest {
  const char *word;
  const char *best; /* NULL: none is near. One of the names that were offered */
  size_t distance;  /* of the best */
} comp_suggest;

/* Considers one more name. Of two that are equally near the first stays. */
COMP_API void comp_suggest_offer(comp_suggest *search, const char *name);

/* The end of a message: "; did you mean 'bench'?", or nothing when no name is near. */
typedef struct comp_hint {
  char text[96];
} comp_hint;

COMP_API comp_hint comp_suggest_hint(const comp_suggest *search);

#endif
