/* before.c: the rule about confounding alone, before there are scores. */
#include "verdict/before.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "verdict/rules.h"

static const comp__rule *find_rule(const char *id) {
  size_t r = 0;
  while (strcmp(comp__rule_at(r)->id, id) != 0) r++;
  return comp__rule_at(r);
}

static bool has_column(const comp_table *obs, const char *name) {
  return name && comp_table_find(obs, name) != COMP_NOT_FOUND;
}

comp_status comp__judge_design(comp__findings *out, bool *hopeless, const comp_table *obs, const char *condition,
                               const char *label) {
  comp__evidence evidence = {0};
  comp__judge j = {.evidence = &evidence, .rule = find_rule("confounded"), .out = out, .status = COMP_OK};
  json_t *design = NULL;
  char *text = NULL;
  comp_status status;
  *hopeless = false;
  if (!has_column(obs, condition) || !has_column(obs, label)) return COMP_OK;
  COMP__TRY(comp__design_json(&text, obs, condition, label, NULL, 0));
  design = json_loads(text, 0, NULL);
  if (!design) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(comp__evidence_add(&evidence, COMP_DOCUMENT_DESIGN, design, "design"));
  j.rule->judge(&j);
  *hopeless = comp__design_is_confounded(&evidence);
  status = j.status;
done:
  comp__free(text);
  json_decref(design);
  comp__evidence_release(&evidence);
  return status;
}
