/* diagnosis.h: the findings of comp diagnose. */
#ifndef COMP_VERDICT_DIAGNOSIS_H
#define COMP_VERDICT_DIAGNOSIS_H

#include "comp/diagnose.h"
#include "diagnose/options.h"
#include "diagnose/results.h"
#include "verdict/finding.h"

/* The findings of all results, in order. */
comp_status comp__judge_model(comp__findings *out, const comp__results *results);

/* As the public function, with plain options. */
comp_status comp__diagnose(comp_diagnosis **out, comp_context *context, const comp_dataset *dataset,
                           const comp_model *const *models, size_t n_models, const comp__diagnose_options *options);

#endif
