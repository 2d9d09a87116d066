/* result.h: an audit as its makers see it. */
#ifndef COMP_AUDIT_RESULT_H
#define COMP_AUDIT_RESULT_H

#include <jansson.h>

#include "audit/attack.h"
#include "audit/certify.h"
#include "audit/options.h"
#include "audit/utility.h"
#include "verdict/finding.h"

struct comp_audit {
  json_t *root; /* the document */
  char *json;
  comp__findings findings;
};

/* Makes the audit of a document: findings and text. Takes the document over, also when it fails. */
comp_status comp__audit_finish(comp_audit **out, json_t *root);

/* Parts of the document, as new values; NULL: out of memory. */
json_t *comp__attack_json(const comp__attack *attack);
json_t *comp__utility_json(const comp__utility *utility, const char *source);
json_t *comp__certificate_json(const comp__certificate *certificate, const char *release, double delta,
                               size_t n_levels);

#endif
