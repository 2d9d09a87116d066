/* json.c: the document of an audit (docs/formats.md), and the audit that is made of it. */
#include "verdict/json.h"
#include "audit/result.h"
#include "core/alloc.h"
#include "core/error.h"
#include "verdict/rules_audit.h"

static json_t *measured(const comp__measured *m) {
  return json_pack("{s:o, s:o, s:o}", "value", comp__json_number(m->value), "low", comp__json_number(m->low), "high",
                   comp__json_number(m->high));
}

static json_t *count(size_t n) {
  return json_integer((json_int_t)n);
}

json_t *comp__attack_json(const comp__attack *a) {
  return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "attacker", a->attacker->name, "title", a->attacker->title,
                   "setting", a->setting, "accuracy", measured(&a->accuracy), "balanced_accuracy",
                   measured(&a->balanced), "auroc", measured(&a->auroc));
}

json_t *comp__utility_json(const comp__utility *u, const char *source) {
  return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "source", source,
                   "classifier", u->classifier, "samples", count(u->samples), "accuracy",
                   comp__json_number(u->accuracy), "low", comp__json_number(u->low), "high", comp__json_number(u->high),
                   "balanced_accuracy", comp__json_number(u->balanced), "majority", comp__json_number(u->majority),
                   "parity_gap", comp__json_number(u->parity.value), "parity_error", comp__json_number(u->parity.error),
                   "odds_gap", comp__json_number(u->odds.value), "odds_error", comp__json_number(u->odds.error),
                   "opportunity_gap", comp__json_number(u->opportunity.value), "opportunity_error",
                   comp__json_number(u->opportunity.error), "accuracy_gap", comp__json_number(u->accuracy_gap));
}

static json_t *bound(const comp__bound *b) {
  return json_pack("{s:o, s:o}", "estimate", comp__json_number(b->estimate), "upper", comp__json_number(b->upper));
}

/* Samples of each value for which finite samples add at most 5 points to the parity gap. */
#define GOOD_SLACK 0.05

json_t *comp__certificate_json(const comp__certificate *c, const char *release, double delta, size_t n_levels) {
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "release", release, "delta",
                   comp__json_number(delta), "samples", count(c->samples), "fewest", count(c->fewest), "needed",
                   count(comp__certify_needed(n_levels, delta, GOOD_SLACK)), "slack", comp__json_number(c->slack),
                   "balanced_accuracy", bound(&c->balanced), "accuracy", bound(&c->accuracy), "parity_gap",
                   bound(&c->parity));
}

comp_status comp__audit_finish(comp_audit **out, json_t *root) {
  comp_audit *audit = NULL;
  json_t *findings = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&audit, 1, sizeof *audit));
  audit->root = root;
  root = NULL;
  COMP__TRY(comp__judge_audit(&audit->findings, audit->root));
  COMP__TRY(comp__findings_write(&findings, &audit->findings));
  COMP__TRY(comp__put(audit->root, "findings", findings));
  COMP__TRY(
      comp__put(audit->root, "worst", json_string(comp_finding_level_name(comp__findings_worst(&audit->findings)))));
  COMP__TRY(comp__json_dump(&audit->json, json_incref(audit->root)));
  *out = audit;
  audit = NULL;
done:
  comp_audit_free(audit);
  json_decref(root);
  return status;
}

void comp_audit_free(comp_audit *audit) {
  if (!audit) return;
  json_decref(audit->root);
  comp__free(audit->json);
  comp__findings_release(&audit->findings);
  comp__free(audit);
}

const char *comp_audit_json(const comp_audit *audit) {
  return audit->json;
}

size_t comp_audit_finding_count(const comp_audit *audit) {
  return audit->findings.count;
}

const comp_finding *comp_audit_finding_at(const comp_audit *audit, size_t index) {
  return index < audit->findings.count ? &audit->findings.items[index] : NULL;
}

comp_finding_level comp_audit_worst(const comp_audit *audit) {
  return comp__findings_worst(&audit->findings);
}
