/* noun.c: genes or features. */
#include "report/noun.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/alloc.h"
#include "prep/record.h"

const char *comp__noun(const comp_dataset *dataset) {
  return comp__record_has(dataset, "tabular") ? "feature" : "gene";
}

static bool is_word_end(char c) {
  return !isalnum((unsigned char)c) && c != '_';
}

/* Whether "gene" or "genes" starts here; gives the length without the s. */
static size_t gene_at(const char *text, const char *c) {
  if (strncasecmp(c, "gene", 4) != 0 || (c > text && !is_word_end(c[-1]))) return 0;
  return is_word_end(c[4]) || (c[4] == 's' && is_word_end(c[5])) ? 4 : 0;
}

comp_status comp__noun_put(char **out, const char *text, const char *noun) {
  size_t found = 0, used = 0;
  for (const char *c = text; *c; c++) found += gene_at(text, c) > 0;
  comp_status status = comp__alloc(out, strlen(text) + found * strlen(noun) + 1, 1);
  if (status != COMP_OK) return status;
  for (const char *c = text; *c;) {
    size_t length = gene_at(text, c);
    if (!length) {
      (*out)[used++] = *c++;
      continue;
    }
    memcpy(*out + used, noun, strlen(noun));
    if (isupper((unsigned char)*c)) (*out)[used] = (char)toupper((unsigned char)noun[0]);
    used += strlen(noun);
    c += length;
  }
  (*out)[used] = '\0';
  return COMP_OK;
}
