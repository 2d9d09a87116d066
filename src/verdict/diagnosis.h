/* diagnosis.h: the findings of comp diagnose. */
#ifndef COMP_VERDICT_DIAGNOSIS_H
#define COMP_VERDICT_DIAGNOSIS_H

#include "diagnose/results.h"
#include "verdict/finding.h"

/* The findings of all results, in order. */
comp_status comp__judge_model(comp__findings *out, const comp__results *results);

#endif
