/*
 * evidence.h: what the rules see: the documents that were added, and what follows from them without judging.
 */
#ifndef COMP_VERDICT_EVIDENCE_H
#define COMP_VERDICT_EVIDENCE_H

#include <jansson.h>

#include "comp/verdict.h"
#include "verdict/scores.h"

/* Zero-initialise to start. */
typedef struct comp__evidence {
  comp__scores scores;
  json_t *changes; /* list of predicted changes of condition, each as "counterfactual" of comp score --json */
  json_t *design, *training, *findings; /* NULL: none; findings is the list of a diagnosis */
  json_t *audit;                        /* NULL: none; else what comp audit --json wrote, as part of scores */
} comp__evidence;

/* Adds a parsed document, which stays the caller's. `name` is for messages. */
comp_status comp__evidence_add(comp__evidence *evidence, comp_document kind, json_t *document, const char *name);
void comp__evidence_release(comp__evidence *evidence);

/* The embedding that is judged: X_comp where it was scored, else the one that was scored last; NULL: none. */
const char *comp__evidence_embedding(const comp__evidence *evidence);

/* The embedding that it is compared with, X_pca; NULL when that is not scored, or is itself judged. */
const char *comp__evidence_before(const comp__evidence *evidence);

/* ---- design.c: how many samples there are of what ---- */

/* One column of the design against the conditions. */
typedef struct comp__cross {
  json_t *values;      /* list of {"value", "samples": [conditions]} */
  size_t n_values;     /* length of the list */
  size_t n_conditions; /* length of each "samples" */
} comp__cross;

/* The name of the condition; "condition" when it is not known. */
const char *comp__design_condition(const comp__evidence *evidence);

/* The column with this role, "label" or "target", and its name (NULL: not wanted); false: there is none. For a target
 * `column` says which one. */
bool comp__design_label(comp__cross *out, const char **column, const comp__evidence *evidence);
bool comp__design_target(comp__cross *out, const comp__evidence *evidence, const char *column);

size_t comp__cross_count(const comp__cross *cross, size_t value, size_t condition);
const char *comp__cross_value(const comp__cross *cross, size_t value);

/* How well the condition is predicted from a column alone. */
typedef struct comp__guess {
  double accuracy; /* share of right guesses */
  double balanced; /* mean over the conditions of the share found, by the guess that is best at it */
  double gap;      /* the largest difference between two conditions of the share of a value of the column */
} comp__guess;

comp__guess comp__cross_guess(const comp__cross *cross);

enum { COMP__MOST_CONDITIONS = 64 }; /* a column with more values is no condition */

/* Which labels conditions have in common. A label is in a condition when its share there is more than 1 % of its
 * largest share in any. All 0 for too many conditions. */
typedef struct comp__overlap {
  size_t labels;                      /* that have samples */
  size_t alone;                       /* of them in one condition only */
  size_t conditions;                  /* with samples that have a label */
  size_t cut_off;                     /* of them without a label that another condition has */
  size_t strays;                      /* samples of a label in conditions that are said not to have it */
  bool none;                          /* complete confounding: no label is in two conditions */
  bool shares[COMP__MOST_CONDITIONS]; /* has a label that another condition has */
  double totals[COMP__MOST_CONDITIONS];
} comp__overlap;

comp__overlap comp__cross_overlap(const comp__cross *cross);

/* In how many conditions a label is; *where is the last of them. */
size_t comp__overlap_label(size_t *where, const comp__overlap *overlap, const comp__cross *cross, size_t value);

/* Whether no label of the design is in two conditions. */
bool comp__design_is_confounded(const comp__evidence *evidence);

/* As comp_design_json(), of a table of samples. */
comp_status comp__design_json(char **out, const comp_table *obs, const char *condition, const char *label,
                              const char *const *targets, size_t n_targets);

/* ---- classified.c: what classifiers predict from an embedding ---- */

/* The best classifier of one column on one embedding. Texts are those of the scores. */
typedef struct comp__classified {
  const char *column;
  const char *classifier; /* with the highest accuracy; NULL: none was tried */
  double accuracy;
  const char *balanced_classifier; /* with the highest balanced accuracy */
  double balanced;
  double majority; /* accuracy of always predicting the most common value */
  size_t levels, samples, tried;
  json_t *classifiers; /* their results, as the document has them; NULL: none */
} comp__classified;

/* `classifier` is NULL when there is nothing of the column. */
comp__classified comp__classified_find(const comp__scores *scores, const char *column, const char *embedding);

/* The name of a classifier in a sentence: "random forest". */
const char *comp__classifier_words(const char *name);

#endif
