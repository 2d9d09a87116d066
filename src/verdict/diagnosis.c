/* diagnosis.c: comp_diagnose(): the checks of a model, and what they mean. */
#include "verdict/diagnosis.h"

#include "core/alloc.h"
#include "core/error.h"
#include "diagnose/options.h"
#include "verdict/before.h"

struct comp_diagnosis {
  comp__findings findings;
  char *json;
};

comp_status comp__diagnose(comp_diagnosis **out, comp_context *context, const comp_dataset *dataset,
                           const comp_model *const *models, size_t n_models, const comp__diagnose_options *options) {
  comp_status status;
  comp_diagnosis *diagnosis = NULL;
  comp__results results = {0};
  json_t *findings;
  bool hopeless;
  *out = NULL;
  COMP__TRY(comp__results_run(&results, context, dataset, models, n_models, options));
  COMP__TRY(comp__calloc(&diagnosis, 1, sizeof *diagnosis));
  COMP__TRY(comp__judge_design(&diagnosis->findings, &hopeless, comp_dataset_obs(dataset),
                               comp_model_condition(models[0]), options->label));
  COMP__TRY(comp__judge_model(&diagnosis->findings, &results));
  COMP__TRY(comp__findings_write(&findings, &diagnosis->findings));
  COMP__TRY(comp__results_json(&diagnosis->json, &results, findings,
                               comp_finding_level_name(comp__findings_worst(&diagnosis->findings))));
  *out = diagnosis;
done:
  comp__results_release(&results);
  if (status != COMP_OK) comp_diagnosis_free(diagnosis);
  return status;
}

comp_status comp_diagnose(comp_diagnosis **out, comp_context *context, const comp_dataset *dataset,
                          const comp_model *const *models, size_t n_models, const comp_model *against,
                          const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset, models || !n_models);
  comp__diagnose_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__diagnose_kind, options);
  plain.against = against;
  return status == COMP_OK ? comp__diagnose(out, context, dataset, models, n_models, &plain) : status;
}

void comp_diagnosis_free(comp_diagnosis *diagnosis) {
  if (!diagnosis) return;
  comp__findings_release(&diagnosis->findings);
  comp__free(diagnosis->json);
  comp__free(diagnosis);
}

size_t comp_diagnosis_finding_count(const comp_diagnosis *diagnosis) {
  return diagnosis->findings.count;
}

const comp_finding *comp_diagnosis_finding_at(const comp_diagnosis *diagnosis, size_t index) {
  return index < diagnosis->findings.count ? &diagnosis->findings.items[index] : NULL;
}

comp_finding_level comp_diagnosis_worst(const comp_diagnosis *diagnosis) {
  return comp__findings_worst(&diagnosis->findings);
}

const char *comp_diagnosis_json(const comp_diagnosis *diagnosis) {
  return diagnosis->json;
}
