/* seeds.c: lists of seeds. */
#include "cli/seeds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A number, and where it ends. */
static bool read_number(uint64_t *out, const char **at) {
  char *end;
  if (**at < '0' || **at > '9') return false;
  errno = 0;
  *out = strtoull(*at, &end, 10);
  *at = end;
  return errno == 0;
}

bool cli_seeds_parse(uint64_t **out, size_t *count, const char *text, char *message, size_t size) {
  uint64_t *seeds = malloc(CLI_MAX_SEEDS * sizeof *seeds);
  const char *at = text;
  size_t n = 0;
  snprintf(message, size, "'%s' is not a list of seeds such as 0-9 or 1,5,7", text);
  for (bool more = seeds != NULL; more; more = *at == ',' && at++) {
    uint64_t first, last;
    if (!read_number(&first, &at)) goto wrong;
    last = first;
    if (*at == '-' && (at++, !read_number(&last, &at))) goto wrong;
    if (last < first) goto wrong;
    for (uint64_t seed = first; seed - first <= last - first && seed >= first; seed++) {
      if (n == CLI_MAX_SEEDS) {
        snprintf(message, size, "'%s' are more than %d seeds", text, CLI_MAX_SEEDS);
        goto wrong;
      }
      seeds[n++] = seed;
      if (seed == last) break;
    }
  }
  if (!seeds || *at) goto wrong;
  *out = seeds;
  *count = n;
  return true;
wrong:
  free(seeds);
  return false;
}
