/* examiner.h: what the rules on a diagnosis share: adding findings, levels, lists of names, advice. */
#ifndef COMP_VERDICT_EXAMINER_H
#define COMP_VERDICT_EXAMINER_H

#include "verdict/diagnosis.h"

/* Advice in its general form. rules_model.c replaces it where other findings ask for something else. */
#define COMP__MORE_PENALTY "Raise --gamma, or set --kl-target; train longer, with larger batches."
#define COMP__LESS_PENALTY "Lower --gamma, or set --kl-target; try a smaller --beta."
#define COMP__NO_FIT       "Train longer, with a smaller --beta. Prepare the data as for the training."

typedef enum comp__asks {
  COMP__ASKS_IDENTIFIABLE,
  COMP__ASKS_INDEPENDENT,
  COMP__ASKS_STABLE,
  COMP__ASKS_KEPT,
  COMP__ASKS_BEYOND
} comp__asks;

/* In words. */
const char *comp__question(comp__asks about);

typedef struct comp__examiner {
  comp__findings *out;
  const comp__results *r;
  comp_status status;
} comp__examiner;

/* Adds a finding; `text` has its arguments after it. After a failure nothing more is added. */
void comp__examiner_add(comp__examiner *j, comp__asks about, const char *id, comp_finding_level level, double value,
                        const char *measure, const char *advice, const char *text, ...) COMP_PRINTF(8, 9);

/* A label that the last finding is about. */
void comp__examiner_label(comp__examiner *j, size_t label);

/* Whether the model was trained with a penalty. */
bool comp__examiner_penalised(const comp__examiner *j);

/* The findings on what the correction took away. (rules_kept.c) */
void comp__judge_kept(comp__examiner *j);

/* A caution from `caution` on, a problem from `problem` on: where large values are bad, and where small ones are. */
comp_finding_level comp__level_from(double value, double caution, double problem);
comp_finding_level comp__level_down_from(double value, double caution, double problem);

/* "s", or "" for one. */
const char *comp__plural(size_t n);

/* Names in a row, cut after a whole one when there is no room for more. Zero-initialise to start. */
typedef struct comp__names {
  char text[600];
  size_t left_out;
} comp__names;

/* Adds "name (shown)"; as a number, by a format for one double. */
void comp__names_add(comp__names *list, const char *name, const char *shown);
void comp__names_add_number(comp__names *list, const char *name, const char *format, double number) COMP_PRINTF(3, 0);

/* The text, with how many were left out. */
const char *comp__names_finish(comp__names *list);

#endif
