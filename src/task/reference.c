/* reference.c: names of controls. */
#include "task/reference.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* In small letters. Words of several parts are written with '-', which stands for any one separator. */
static const char *const controls[] = {
    "control",    "controls",      "ctrl",         "ctl",      "untreated",   "unstimulated", "unstim", "unperturbed",
    "uninfected", "vehicle",       "veh",          "dmso",     "pbs",         "mock",         "sham",   "placebo",
    "normal",     "healthy",       "wt",           "wildtype", "wild-type",   "baseline",     "naive",  "scramble",
    "scrambled",  "non-targeting", "nontargeting", "ntc",      "non-treated", "not-treated",
};

/* Words that turn the next one into its opposite: "no control". */
static const char *const negations[] = {"no", "non", "not", "without"};

static bool is_letter(char c) {
  return isalnum((unsigned char)c) || (c & 0x80) != 0; /* letters of other scripts are more than one byte */
}

/* The length of `word` at the start of `text`, which ends there; 0: it is not there. */
static size_t match(const char *text, const char *word) {
  size_t n = 0;
  for (; word[n]; n++) {
    if (word[n] == '-' ? text[n] == '\0' || is_letter(text[n]) : tolower((unsigned char)text[n]) != word[n]) return 0;
  }
  return is_letter(text[n]) ? 0 : n;
}

/* Whether the word before `at` says no. */
static bool is_negated(const char *name, const char *at) {
  const char *end = at, *begin;
  while (end > name && !is_letter(end[-1])) end--;
  for (begin = end; begin > name && is_letter(begin[-1]);) begin--;
  for (size_t i = 0; i < sizeof negations / sizeof *negations; i++)
    if (strlen(negations[i]) == (size_t)(end - begin) && strncasecmp(begin, negations[i], (size_t)(end - begin)) == 0)
      return true;
  return false;
}

/* How far a name is that of a control: 2 it is nothing else, 1 a word of it is one, 0 none. */
static int rank(const char *name) {
  int best = 0;
  for (const char *at = name; *at; at++) {
    if (!is_letter(*at) || (at > name && is_letter(at[-1]))) continue;
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
      size_t n = match(at, controls[i]);
      if (n == 0 || is_negated(name, at)) continue;
      int here = at == name && at[n] == '\0' ? 2 : 1;
      if (here > best) best = here;
    }
  }
  return best;
}

size_t comp__reference_by_name(const comp_groups *conditions) {
  size_t found = COMP_NOT_FOUND;
  int best = 0;
  for (size_t l = 0; l < conditions->n_levels; l++) {
    int here = rank(conditions->levels[l]);
    if (here <= best) continue;
    best = here;
    found = l;
  }
  return found;
}
