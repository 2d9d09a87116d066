/*
 * verdict.h: what the numbers mean. All rules and limits ("well mixed", "labels lost", "the condition can be
 * predicted") are applied here, once; the terminal, the page and other languages show the findings and judge nothing.
 *
 *     comp_verdict *verdict;
 *     comp_status status = comp_verdict_new(&verdict);
 *     if (status == COMP_OK) status = comp_verdict_add(verdict, COMP_DOCUMENT_SCORES, scores);
 *     if (status == COMP_OK) status = comp_verdict_judge(verdict);
 *     for (size_t i = 0; status == COMP_OK && i < comp_verdict_finding_count(verdict); i++)
 *       puts(comp_verdict_finding_at(verdict, i)->text);
 *     comp_verdict_free(verdict);
 *
 * A verdict is made from documents: JSON as text, as the library writes them (docs/formats.md). What no document holds
 * is not judged. docs/formats.md lists every finding with its limits.
 */
#ifndef COMP_VERDICT_H
#define COMP_VERDICT_H

#include <stddef.h>

#include "comp/dataset.h"
#include "comp/train.h"

typedef enum comp_finding_level {
  COMP_FINDING_OK,
  COMP_FINDING_NOTE,    /* good to know; also what could not be checked */
  COMP_FINDING_CAUTION, /* nothing is proved wrong, but read it before you rely on the result */
  COMP_FINDING_PROBLEM
} comp_finding_level;

/* "ok", "note", "caution", "problem"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_finding_level_name(comp_finding_level level);
COMP_API comp_status comp_finding_level_parse(comp_finding_level *out, const char *name);

typedef struct comp_finding_number {
  const char *name;
  double value; /* NaN: not known */
} comp_finding_number;

/* One finding. Texts are owned by the verdict or diagnosis that it is part of. */
typedef struct comp_finding {
  const char *id; /* a short name that stays the same from version to version: "labels-lost" */
  comp_finding_level level;
  const char *question;               /* that it answers */
  const char *text;                   /* what was found, one or two sentences */
  const char *advice;                 /* what to do; "" when nothing */
  const comp_finding_number *numbers; /* the number that decided comes first */
  size_t n_numbers;
  const char *const *labels; /* the labels that it is about */
  size_t n_labels;
} comp_finding;

/* The documents that a verdict can be made from. */
typedef enum comp_document {
  COMP_DOCUMENT_SCORES,    /* what comp score --json writes, or a simpler list of scores */
  COMP_DOCUMENT_DESIGN,    /* of comp_design_json(); documents of scores hold one, too */
  COMP_DOCUMENT_TRAINING,  /* of comp_training_json() */
  COMP_DOCUMENT_DIAGNOSIS, /* of comp_diagnosis_json() */
  COMP_DOCUMENTS
} comp_document;

/* "scores", "design", "training", "diagnosis"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_document_name(comp_document document);
COMP_API comp_status comp_document_parse(comp_document *out, const char *name);

typedef struct comp_verdict comp_verdict;

/* It should be freed via comp_verdict_free(). */
COMP_API comp_status comp_verdict_new(comp_verdict **out);

/* NULL is allowed. */
COMP_API void comp_verdict_free(comp_verdict *verdict);

/* Adds a document. Text that is not JSON is an error (COMP_ERR_FORMAT). Of several designs, trainings or diagnoses the
 * last one counts; scores of several documents count together. */
COMP_API comp_status comp_verdict_add(comp_verdict *verdict, comp_document kind, const char *json);

/* Applies all rules to the documents so far. Earlier findings of this verdict are replaced. */
COMP_API comp_status comp_verdict_judge(comp_verdict *verdict);

/* The findings, in the order in which to read them. */
COMP_API size_t comp_verdict_finding_count(const comp_verdict *verdict);
COMP_API const comp_finding *comp_verdict_finding_at(const comp_verdict *verdict, size_t index);

/* The highest level of all findings, notes aside. */
COMP_API comp_finding_level comp_verdict_worst(const comp_verdict *verdict);

/* The findings as a JSON list (docs/formats.md), as text owned by the verdict. "[]" before comp_verdict_judge(). */
COMP_API const char *comp_verdict_json(const comp_verdict *verdict);

/* How many samples each condition has, and of them each value of the label (NULL: none) and of the targets (n_targets
 * columns that are to be predicted), as JSON text. A condition of NULL gives the number of samples alone. It should be
 * freed via comp_free(). */
COMP_API comp_status comp_design_json(char **out, const comp_dataset *dataset, const char *condition, const char *label,
                                      const char *const *targets, size_t n_targets);

/* What people call an embedding, the same on the terminal and on the page: "before" for X_pca, the model
 * for X_comp ("CoMP" for the kind "comp", else the kind; X_comp where the model is not known, NULL), the name without
 * "X_" for others. The text is part of the arguments or a constant. */
COMP_API const char *comp_embedding_title(const char *embedding, const char *model);

/* How the training of a model ended: its kind, epochs done and planned, and the epoch with the lowest loss, as JSON
 * text. It should be freed via comp_free(). */
COMP_API comp_status comp_training_json(char **out, const comp_model *model);

#endif
