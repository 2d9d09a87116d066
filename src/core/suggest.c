/* suggest.c: the known name nearest to what was typed: by edit distance, or as a shortened form of it. */
#include "comp/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

static bool same(char a, char b) {
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours that lead from a to b; both at most LONGEST long. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m) {
  size_t rows[3][LONGEST + 1];
  size_t *before = rows[0], *last = rows[1], *now = rows[2];
  for (size_t j = 0; j <= m; j++) last[j] = j;
  for (size_t i = 1; i <= n; i++) {
    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + !same(a[i - 1], b[j - 1]));
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        now[j] = least(now[j], before[j - 2] + 1);
    }
    size_t *spare = before;
    before = last, last = now, now = spare;
  }
  return last[m];
}

/* Whether the word is the name with letters left out, as "secs" for "seconds". */
static bool is_shortened(const char *word, const char *name) {
  if (*word != *name) return false;
  for (; *name && *word; name++) word += *word == *name;
  return !*word;
}

void comp_suggest_offer(comp_suggest *search, const char *name) {
  size_t n = strlen(search->word), m = strlen(name);
  if (n == 0 || n > LONGEST || m > LONGEST) return;
  /* A third of the letters may be wrong; more than that is another word. A shortened name is near, however long. */
  size_t limit = (n + 2) / 3;
  size_t distance = edit_distance(search->word, n, name, m);
  if (n >= 3 && is_shortened(search->word, name)) distance = least(distance, limit);
  if (n >= 2 && n < m && strncasecmp(search->word, name, n) == 0) distance = 1;
  if (distance > limit || distance >= (n > m ? n : m)) return;
  if (search->best && distance >= search->distance) return;
  search->best = name;
  search->distance = distance;
}

comp_hint comp_suggest_hint(const comp_suggest *search) {
  comp_hint hint = {""};
  if (search->best) snprintf(hint.text, sizeof hint.text, "; did you mean '%s'?", search->best);
  return hint;
}
