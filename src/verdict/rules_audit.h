/* rules_audit.h: what the numbers of an audit mean (comp/audit.h). */
#ifndef COMP_VERDICT_RULES_AUDIT_H
#define COMP_VERDICT_RULES_AUDIT_H

#include "verdict/finding.h"

/* Adds the findings of the document of an audit, or of a frontier. */
comp_status comp__judge_audit(comp__findings *out, json_t *audit);

#endif
