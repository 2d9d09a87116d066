/*
 * diagnose.h: can a fitted model be trusted? The paper's theory as checks (docs/theory.md says what each one means).
 *
 *     comp_options *options;
 *     comp_options_new(&options, "diagnose");
 *     comp_options_set(options, "label", "cell_type");
 *     comp_diagnosis *diagnosis;
 *     if (comp_diagnose(&diagnosis, context, dataset, models, n_models, NULL, options) != COMP_OK) ...
 *     for (size_t i = 0; i < comp_diagnosis_finding_count(diagnosis); i++)
 *       puts(comp_diagnosis_finding_at(diagnosis, i)->text);
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
#include "comp/verdict.h"

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

/* One finding a check, those of one question after each other. What could not be checked is a note. The first number of
 * a finding is the one that decided. */
COMP_API size_t comp_diagnosis_finding_count(const comp_diagnosis *diagnosis);
COMP_API const comp_finding *comp_diagnosis_finding_at(const comp_diagnosis *diagnosis, size_t index);

/* The worst level among the checks that were made. */
COMP_API comp_finding_level comp_diagnosis_worst(const comp_diagnosis *diagnosis);

/* All numbers behind the findings, and the findings, as JSON text owned by the diagnosis. */
COMP_API const char *comp_diagnosis_json(const comp_diagnosis *diagnosis);

#endif
