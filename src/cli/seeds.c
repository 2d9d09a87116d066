/* seeds.c: lists of seeds. */
#include "cli/seeds.h"

#include <errno.h>
#include <stdlib.h>

bool cli_seeds_parse(uint64_t *out, size_t *count, const char *list) {
  *count = 0;
  for (;;) {
    char *end;
    if (*list < '0' || *list > '9') return false;
    errno = 0;
    unsigned long long first = strtoull(list, &end, 10), last = first;
    if (*end == '-') {
      list = end + 1;
      if (*list < '0' || *list > '9') return false;
      last = strtoull(list, &end, 10);
    }
    if (errno || last < first || last > 9000000000000000ull || last - first >= CLI_MOST_SEEDS - *count) return false;
    for (unsigned long long seed = first; seed <= last; seed++) {
      for (size_t i = 0; i < *count; i++)
        if (out[i] == seed) return false;
      out[(*count)++] = seed;
    }
    if (*end == '\0') return true;
    if (*end != ',') return false;
    list = end + 1;
  }
}
