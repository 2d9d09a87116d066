/* suggest.h: the known name nearest to what was typed. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* A search under way: start with {word}, offer every known name, read `best` (NULL: nothing is near enough). */
typedef struct suggest {
  const char *word;
  const char *best;
  size_t distance; /* of `best` */
} suggest;

void suggest_offer(suggest *search, const char *name);

#endif
