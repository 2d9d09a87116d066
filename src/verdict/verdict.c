/* verdict.c: the public side: documents in, findings out. */
#include "comp/verdict.h"

#include "core/alloc.h"
#include "core/error.h"
#include "core/options.h"
#include "verdict/json.h"
#include "verdict/rules.h"

struct comp_verdict {
  comp__evidence evidence;
  comp__findings findings;
  char *json;
};

comp_status comp_verdict_new(comp_verdict **out) {
  COMP__NEED(out);
  comp_status status = comp__calloc(out, 1, sizeof **out);
  if (status == COMP_OK) status = comp__strdup(&(*out)->json, "[]");
  return status;
}

void comp_verdict_free(comp_verdict *verdict) {
  if (!verdict) return;
  comp__evidence_release(&verdict->evidence);
  comp__findings_release(&verdict->findings);
  comp__free(verdict->json);
  comp__free(verdict);
}

static const char *const document_names[] = {"scores", "design", "training", "diagnosis", NULL};
COMP__ENUM_NAMES(comp_document, document_names, "kind of document")

comp_status comp_verdict_add(comp_verdict *verdict, comp_document kind, const char *json) {
  COMP__NEED(verdict, json);
  json_error_t problem;
  if (kind >= COMP_DOCUMENTS) return comp__error(COMP_ERR_ARGUMENT, "%d is no kind of document", (int)kind);
  json_t *document = json_loads(json, 0, &problem);
  if (!document)
    return comp__error(COMP_ERR_FORMAT, "%s: line %d: not JSON: %s", document_names[kind], problem.line, problem.text);
  comp_status status = comp__evidence_add(&verdict->evidence, kind, document, document_names[kind]);
  json_decref(document);
  return status;
}

comp_status comp_verdict_judge(comp_verdict *verdict) {
  COMP__NEED(verdict);
  json_t *list = NULL;
  comp_status status;
  comp__findings_release(&verdict->findings);
  comp__free(verdict->json);
  verdict->json = NULL;
  COMP__TRY(comp__judge_evidence(&verdict->findings, &verdict->evidence));
  COMP__TRY(comp__findings_write(&list, &verdict->findings));
  COMP__TRY(comp__json_dump(&verdict->json, list));
done:
  return status;
}

size_t comp_verdict_finding_count(const comp_verdict *verdict) {
  return verdict->findings.count;
}

const comp_finding *comp_verdict_finding_at(const comp_verdict *verdict, size_t index) {
  return index < verdict->findings.count ? &verdict->findings.items[index] : NULL;
}

comp_finding_level comp_verdict_worst(const comp_verdict *verdict) {
  return comp__findings_worst(&verdict->findings);
}

const char *comp_verdict_json(const comp_verdict *verdict) {
  return verdict->json;
}
