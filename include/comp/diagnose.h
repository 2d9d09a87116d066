/*
 * diagnose.h: can a fitted model be trusted? The paper's theory as checks (docs/theory.md says what each one means).
 *
 *     comp_options *options;
 *     comp_options_new(&options, "diagnose");
 *     comp_options_set(options, "label", "cell_type");
 *     comp_diagnosis *diagnosis;
 *     if (comp_diagnose(&diagnosis, context, dataset, models, n_models, NULL, options) != COMP_OK) ...
 *     for (size_t i = 0; i < comp_diagnosis_findings(diagnosis); i++)
 *       puts(comp_diagnosis_finding(diagnosis, i)->reason);
 *     comp_diagnosis_free(diagnosis);
 *
 * The first model is looked at; further ones, trained on the same data with other seeds, say whether it is stable. Four
 * questions are asked: are counterfactuals identifiable (is z neither normal nor symmetric), does z depend on the
 * condition, do other seeds agree, and did the correction take away more than the condition. A fifth group says what no
 * check can tell. Results are the same bytes at any number of threads.
 */
#ifndef COMP_DIAGNOSE_H
#define COMP_DIAGNOSE_H

#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"
#include "comp/train.h"

typedef enum comp_verdict {
  COMP_VERDICT_PASS,
  COMP_VERDICT_LOOK, /* not wrong in itself: a person should look at it before relying on the model */
  COMP_VERDICT_FAIL,
  COMP_VERDICT_NOT_CHECKED /* something is missing for it, or nothing could check it */
} comp_verdict;

/* "pass", "look", "fail", "not checked". */
COMP_API const char *comp_verdict_name(comp_verdict verdict);

typedef enum comp_question {
  COMP_QUESTION_IDENTIFIABLE,
  COMP_QUESTION_INDEPENDENT,
  COMP_QUESTION_STABLE,
  COMP_QUESTION_KEPT,
  COMP_QUESTION_BEYOND /* what cannot be checked */
} comp_question;

/* The question in words. */
COMP_API const char *comp_question_text(comp_question question);

/* One line of the verdict. Texts are owned by the diagnosis. */
typedef struct comp_finding {
  comp_question question;
  const char *check; /* a short name: "normality" */
  comp_verdict verdict;
  double value;        /* the number that decided; NaN when there is none */
  const char *measure; /* what that number is */
  const char *reason;  /* one or two sentences */
  const char *advice;  /* what to do; "" when nothing */
} comp_finding;

typedef struct comp_diagnosis comp_diagnosis;

/* Runs all checks. `against` is a model without a penalty (gamma 0), to compare reconstructions with; NULL: none.
 * Options are of the kind "diagnose". Every sample must have a condition that the models know; data with fewer samples
 * than z has dimensions, and a label that is the condition, are errors (COMP_ERR_DATA). So are models of other data,
 * features or conditions than the first, the same model twice, and an `against` with a penalty (COMP_ERR_ARGUMENT). It
 * should be freed via comp_diagnosis_free(). */
COMP_API comp_status comp_diagnose(comp_diagnosis **out, comp_context *context, const comp_dataset *dataset,
                                   const comp_model *const *models, size_t n_models, const comp_model *against,
                                   const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_diagnosis_free(comp_diagnosis *diagnosis);

COMP_API size_t comp_diagnosis_findings(const comp_diagnosis *diagnosis);
COMP_API const comp_finding *comp_diagnosis_finding(const comp_diagnosis *diagnosis, size_t index);

/* The worst verdict among the checks that were made. */
COMP_API comp_verdict comp_diagnosis_worst(const comp_diagnosis *diagnosis);

/* All numbers behind the findings, and the findings, as JSON text owned by the diagnosis. */
COMP_API const char *comp_diagnosis_json(const comp_diagnosis *diagnosis);

#endif
