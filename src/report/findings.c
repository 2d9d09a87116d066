/* findings.c: what the page says of the numbers: the findings of src/verdict, from all that the page was given. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "report/gather.h"
#include "verdict/rules.h"

/* Adds a document that the library has as text, and frees it. */
static comp_status add_text(comp__evidence *e, comp_document kind, char *text, const char *name) {
  json_t *document = json_loads(text, 0, NULL);
  comp_status status =
      document ? comp__evidence_add(e, kind, document, name) : comp__error(COMP_ERR_FORMAT, "%s: not JSON", name);
  json_decref(document);
  comp__free(text);
  return status;
}

comp_status comp__subject_design(char **out, const comp__subject *s) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  const char *target = json_string_value(json_object_get(json_array_get(s->scores.fairness, 0), "column"));
  size_t n = target && comp_table_find(obs, target) != COMP_NOT_FOUND;
  return comp_design_json(out, s->dataset, s->condition, s->label, &target, n);
}

static comp_status add_design(comp__evidence *e, const comp__subject *s) {
  char *text;
  comp_status status = comp__subject_design(&text, s);
  return status == COMP_OK ? add_text(e, COMP_DOCUMENT_DESIGN, text, "design") : status;
}

/* The effects of the page in the form of comp score --json, for pages without scores of predictions. */
static json_t *change_of(const comp__effects *effects) {
  json_t *labels = json_array();
  double sum = 0;
  size_t n = 0;
  for (size_t l = 0; l < effects->n_labels; l++) {
    const comp__effect *x = &effects->labels[l];
    if (x->r_change == x->r_change) sum += x->r_change, n++;
    json_array_append_new(labels, json_pack("{s:o, s:{s:o, s:o}, s:{s:o}}", "label", comp__json_text(x->label),
                                            "prediction", "r_change_all", comp__json_number(x->r_change), "mse_de",
                                            comp__json_number(x->n_de ? x->mse_de : 0), "no_change", "mse_de",
                                            comp__json_number(x->mse_none)));
  }
  return json_pack("{s:o, s:o, s:o, s:{s:{s:o}}}", "from", comp__json_text(effects->source), "to",
                   comp__json_text(effects->target), "labels", labels, "mean", "prediction", "r_change_all",
                   n ? json_real(sum / (double)n) : json_null());
}

static comp_status add_effects(comp__evidence *e, const comp__subject *s) {
  comp_status status = COMP_OK;
  if (json_array_size(e->changes) > 0) return COMP_OK;
  if (!e->changes) e->changes = json_array();
  for (size_t k = 0; k < s->n_effects && status == COMP_OK; k++)
    status = comp__append(e->changes, change_of(&s->effects[k]));
  return status;
}

comp_status comp__gather_findings(json_t **out, const comp__subject *s) {
  comp__evidence e = {0};
  comp__findings findings = {0};
  json_t *document;
  size_t i;
  char *text;
  comp_status status = COMP_OK;
  json_array_foreach(s->documents, i, document) {
    COMP__TRY(comp__evidence_add(&e, COMP_DOCUMENT_SCORES, document, s->options->scores[i]));
  }
  COMP__TRY(add_design(&e, s));
  COMP__TRY(add_effects(&e, s));
  if (s->model) {
    COMP__TRY(comp_training_json(&text, s->model));
    COMP__TRY(add_text(&e, COMP_DOCUMENT_TRAINING, text, "training"));
  }
  if (s->diagnosis) COMP__TRY(comp__evidence_add(&e, COMP_DOCUMENT_DIAGNOSIS, s->diagnosis, s->options->diagnose));
  COMP__TRY(comp__judge_evidence(&findings, &e));
  COMP__TRY(comp__findings_write(out, &findings));
done:
  comp__evidence_release(&e);
  comp__findings_release(&findings);
  return status;
}
