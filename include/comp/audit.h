/*
 * audit.h: how well does a representation hide an attribute?
 *
 *     comp_options *options;
 *     comp_options_new(&options, "audit");
 *     comp_options_set(options, "condition", "sex");
 *     comp_options_set(options, "target", "income");
 *     comp_options_set(options, "release", "draws,cells:32");
 *     comp_audit *audit;
 *     if (comp_audit_run(&audit, context, dataset, options) != COMP_OK) puts(comp_error_message());
 *     puts(comp_audit_json(audit));
 *     comp_audit_free(audit);
 *
 * Attackers (logistic regression, nearest neighbours, a neural network, a forest, boosted trees), each with the setting
 * that cross-validation chooses, look for the attribute in posterior means, in draws from posteriors and, for
 * comparison, in the data and in other columns. They are measured on samples that they did not learn from.
 *
 * An attacker that was not tried may be better. For two ways of releasing a representation there is a bound that holds
 * for any attacker, with probability 1 - delta: for draws (one a sample) and for the number of the cell, of some that
 * were fitted on other samples, that a sample is in. docs/maths.md has the proof. It holds for samples like those that
 * were looked at, provided that the model was not trained on these: see the option "unseen".
 *
 * Results are the same bytes at any number of threads. Options are of the kind "audit".
 */
#ifndef COMP_AUDIT_H
#define COMP_AUDIT_H

#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"
#include "comp/verdict.h"

typedef struct comp_audit comp_audit;

/* Audits the matrix "use" of obsm (or X). Standard deviations of posteriors are in obsm under its name and "_scale", as
 * comp_embed_file() writes them; without them draws are left out, or an error where they were asked for. A column that
 * the data lacks, an attribute of one value, and too few samples are errors (COMP_ERR_DATA); samples without a value of
 * the attribute are left out, with a warning. It should be freed via comp_audit_free(). */
COMP_API comp_status comp_audit_run(comp_audit **out, comp_context *context, const comp_dataset *dataset,
                                    const comp_options *options);

/* The same of the posterior means and standard deviations that a model gives the data: "use" only names them. Findings
 * know the model's options. "unseen", where it is not given, is the column that the model's training left out
 * (option "unseen" of the kind "train"), if the data has it. It should be freed via comp_audit_free(). */
COMP_API comp_status comp_audit_model(comp_audit **out, comp_context *context, const comp_model *model,
                                      const comp_dataset *dataset, const comp_options *options);

/* The trade-off between what is hidden and what is kept: trains a model for each of "gammas" on part of the samples,
 * audits each on the others, which it did not see, and gives all of them in one document. X is needed, and "target".
 * It should be freed via comp_audit_free(). */
COMP_API comp_status comp_audit_frontier(comp_audit **out, comp_context *context, const comp_dataset *dataset,
                                         const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_audit_free(comp_audit *audit);

/* All numbers and the findings as one JSON object (docs/formats.md): text owned by the audit. */
COMP_API const char *comp_audit_json(const comp_audit *audit);

/* What the numbers mean, in the order in which to read it; NULL past the last. Owned by the audit. */
COMP_API size_t comp_audit_finding_count(const comp_audit *audit);
COMP_API const comp_finding *comp_audit_finding_at(const comp_audit *audit, size_t index);
COMP_API comp_finding_level comp_audit_worst(const comp_audit *audit);

#endif
