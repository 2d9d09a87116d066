/* measure.c: steps of a run: scores.json and diagnose.json. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/hold.h"
#include "comp/audit.h"
#include "comp/baseline.h"
#include "comp/diagnose.h"
#include "comp/file.h"
#include "comp/score.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "pipeline/job.h"
#include "text/stream.h"

/* Silhouettes take time by the square of the samples: of more than SCORED_SAMPLES, so many are drawn. */
enum {
  SCORED_SAMPLES = 100000,
  MIN_LABEL = 20,
  MOST_CHANGES = 64,
  DIAGNOSE_SAMPLES = 2000,
  DIAGNOSE_PERMUTATIONS = 99
};

/* ---- Samples that are not trained on, and the audit of them ---------------------------------------------------- */

bool comp__job_holds(const comp__job *job) {
  return job->o.protect && job->o.test_share > 0;
}

comp_status comp__hold_samples(comp__job *job) {
  const comp_dataset *d = job->dataset;
  const size_t n = comp_dataset_sample_count(d);
  comp_groups g = {0};
  bool *held = NULL;
  int8_t *marks = NULL;
  size_t column, count = 0;
  comp_status status;
  if (!comp__job_holds(job)) return COMP_OK;
  COMP__TRY(comp_table_require(&column, comp_dataset_obs(d), job->o.train.condition));
  COMP__TRY(comp_table_groups(&g, comp_dataset_obs(d), column));
  COMP__TRY(comp__alloc(&held, n, sizeof *held));
  COMP__TRY(comp__alloc(&marks, n, sizeof *marks));
  COMP__TRY(comp__hold_out(held, g.codes, n, g.n_levels, job->o.test_share, job->o.train.seed));
  for (size_t i = 0; i < n; i++) count += (size_t)(marks[i] = held[i]);
  COMP__TRY(comp_table_add_bools(comp_dataset_obs(job->dataset), COMP__UNSEEN, marks));
  comp__info(job->context,
             "--protect: %zu of %zu samples are kept out of training, and what is hidden is measured on them: column "
             "'%s' (--test-share 0: none)",
             count, n, COMP__UNSEEN);
done:
  comp_groups_release(&g);
  comp__free(held);
  comp__free(marks);
  return status;
}

size_t comp__audit_count(comp__job *job) {
  return comp__job_holds(job);
}

comp_status comp__audit_plan(comp__plan *plan, comp__job *job) {
  comp_status status = comp_options_new(&plan->options, "audit");
  comp_options *a = plan->options;
  if (status == COMP_OK) status = comp_options_set(a, "condition", job->o.train.condition);
  if (status == COMP_OK) status = comp_options_set(a, "target", job->o.target);
  if (status == COMP_OK) status = comp_options_set(a, "unseen", COMP__UNSEEN);
  return status == COMP_OK ? comp_options_set_int(a, "seed", (int64_t)job->o.train.seed) : status;
}

/* As a command writes a document: text and a line feed. */
static comp_status write_document(const char *path, const char *json) {
  char *text = NULL;
  size_t size;
  FILE *out = comp__text_stream(&text, &size);
  if (out) fprintf(out, "%s\n", json);
  bool good = out && fclose(out) == 0;
  comp_status status = good ? comp_file_write(path, text, size) : comp__error(COMP_ERR_MEMORY, "out of memory");
  free(text);
  return status;
}

/* Data that cannot be audited is no reason to fail: then the classifiers of the scores judge. */
static comp_status leave_out(const comp__job *job, comp_status status, const char *path, const char *what) {
  if (status != COMP_ERR_DATA) return status;
  comp__warn(job->context, "%s: %s", what, comp_error_message());
  unlink(path); /* of an earlier run */
  return COMP_OK;
}

comp_status comp__audit_step(comp__job *job, const comp__plan *plan) {
  comp_audit *audit = NULL;
  comp__path path = comp__path_at_work(job, plan->outputs[0]);
  comp_status status = comp_audit_model(&audit, job->context, job->model, job->dataset, plan->options);
  if (status == COMP_OK) status = write_document(path.text, comp_audit_json(audit));
  comp_audit_free(audit);
  return leave_out(job, status, path.text, "how well the condition is hidden is not audited");
}

/* ---- Scores ---------------------------------------------------------------------------------------------------- */

/* Adds the embeddings: before, after, and those of other methods. */
static comp_status add_embeddings(comp_options *s, comp__job *job) {
  comp_status status = comp_options_set(s, "use", "X_pca,X_comp");
  for (size_t i = 0; i < comp__compare_count(job) && status == COMP_OK; i++)
    status = comp_options_add(s, "use", comp__compare_method(job, i)->embedding);
  return status;
}

/* The condition, to see how well it is hidden; a target, to see what is left of it. */
static comp_status add_predictions(comp_options *s, comp__job *job) {
  comp_status status = comp_options_add(s, "predict", job->o.train.condition);
  if (status == COMP_OK && job->o.target) status = comp_options_add(s, "predict", job->o.target);
  if (status == COMP_OK && job->o.target) status = comp_options_set_bool(s, "fairness", true);
  if (status == COMP_OK && comp__job_holds(job)) status = comp_options_set(s, "unseen", COMP__UNSEEN);
  if (status != COMP_OK || !job->o.protect) return status;
  status = comp_options_set_bool(s, "protect", true);
  if (status != COMP_OK) return status;
  bool boosted;
  status = comp__find_module(&boosted, job, "boosted", "the condition is predicted without boosted trees");
  if (status != COMP_OK) return status;
  return comp_options_set(s, "classifiers", boosted ? "logistic,forest,boosted" : "logistic,forest");
}

static comp_status add_change(comp_options *s, const char *from, const char *to) {
  char layer[COMP_LAYER_NAME_SIZE];
  comp_counterfactual_layer_name(layer, to);
  comp_status status = comp_options_add(s, "counterfactual", layer);
  if (status == COMP_OK) status = comp_options_add(s, "from", from);
  return status == COMP_OK ? comp_options_add(s, "to", to) : status;
}

/* Whether the predictions of samples of one condition under another are scored. */
static bool is_scored(const comp__job *job, const char *from, const char *to) {
  if (strcmp(from, to) == 0 || !comp__is_predicted(job, to)) return false;
  return !job->o.from || strcmp(job->o.from, from) == 0;
}

/* The changes of condition whose predictions are scored, the one that is shown first at the front. Where there are too
 * many, those from the reference come before others: then every condition that was predicted is scored. */
static comp_status add_changes(comp_options *s, comp__job *job) {
  const comp_groups *g = &job->conditions;
  const bool many = job->n_predicted * (g->n_levels - 1) > MOST_CHANGES;
  size_t n = 1;
  if (!job->to) return COMP_OK;
  comp_status status = add_change(s, job->from, job->to);
  for (int pass = !many; pass < 2; pass++)
    for (size_t t = 0; t < g->n_levels; t++)
      for (size_t f = 0; f < g->n_levels && status == COMP_OK; f++) {
        const char *from = g->levels[f], *to = g->levels[t];
        bool first = strcmp(from, job->from) == 0 && strcmp(to, job->to) == 0;
        if (first || !is_scored(job, from, to)) continue;
        if (many && (strcmp(from, job->reference) == 0) == (pass == 1)) continue;
        if (n++ < MOST_CHANGES) status = add_change(s, from, to);
      }
  if (n > MOST_CHANGES)
    comp__warn(job->context, "predictions of %zu more changes of condition are not scored: there are too many",
               n - MOST_CHANGES);
  return status;
}

comp_status comp__score_plan(comp__plan *plan, comp__job *job) {
  comp_status status = comp_options_new(&plan->options, "score");
  comp_options *s = plan->options;
  if (status == COMP_OK) status = add_embeddings(s, job);
  if (status == COMP_OK) status = comp_options_set(s, "condition", job->o.train.condition);
  if (status == COMP_OK) status = comp_options_set(s, "label", job->o.label);
  if (status == COMP_OK) status = comp_options_set(s, "metrics", "paper,scib");
  if (status == COMP_OK) status = comp_options_set_int(s, "k", (int64_t)job->k);
  if (status == COMP_OK) status = comp_options_set_real(s, "alpha", job->o.alpha);
  if (status == COMP_OK) status = comp_options_set(s, "small-labels", "shrink");
  if (status == COMP_OK) status = comp_options_set_int(s, "min-label", MIN_LABEL);
  if (status == COMP_OK) status = comp_options_set_int(s, "seed", (int64_t)job->o.train.seed);
  if (status == COMP_OK && comp_dataset_sample_count(job->dataset) > SCORED_SAMPLES)
    status = comp_options_set_int(s, "max-samples", SCORED_SAMPLES);
  if (status == COMP_OK) status = add_predictions(s, job);
  if (status == COMP_OK) status = add_changes(s, job);
  return status == COMP_OK ? comp_options_check(s) : status;
}

comp_status comp__score_step(comp__job *job, const comp__plan *plan) {
  comp_scores *scores = NULL;
  comp_options *options = NULL;
  comp_status status = comp_options_copy(&options, plan->options);
  if (status == COMP_OK && comp__run_made(job, "audit.json"))
    status = comp_options_set(options, "audit", comp__path_at_work(job, "audit.json").text);
  if (status == COMP_OK) status = comp_scores_run(&scores, job->context, job->dataset, options);
  comp_options_free(options);
  if (status == COMP_OK) {
    const char *text = comp_scores_json(scores);
    status = comp_file_write(comp__path_at_work(job, plan->outputs[0]).text, text, strlen(text));
  }
  comp_scores_free(scores);
  return status;
}

/* ---- Can the model be trusted? --------------------------------------------------------------------------------- */

size_t comp__diagnose_count(comp__job *job) {
  return !job->o.no_diagnose;
}

comp_status comp__diagnose_plan(comp__plan *plan, comp__job *job) {
  comp_status status = comp_options_new(&plan->options, "diagnose");
  if (status == COMP_OK) status = comp_options_set(plan->options, "label", job->o.label);
  if (status == COMP_OK) status = comp_options_set_int(plan->options, "max-samples", DIAGNOSE_SAMPLES);
  if (status == COMP_OK) status = comp_options_set_int(plan->options, "permutations", DIAGNOSE_PERMUTATIONS);
  return status == COMP_OK ? comp_options_set_int(plan->options, "seed", (int64_t)job->o.train.seed) : status;
}

/* Data that a model cannot be checked with is no reason to fail either. */
comp_status comp__diagnose_step(comp__job *job, const comp__plan *plan) {
  comp_diagnosis *diagnosis = NULL;
  const comp_model *model = job->model;
  comp__path path = comp__path_at_work(job, plan->outputs[0]);
  comp_status status = comp_diagnose(&diagnosis, job->context, job->dataset, &model, 1, NULL, plan->options);
  if (status == COMP_OK) status = write_document(path.text, comp_diagnosis_json(diagnosis));
  comp_diagnosis_free(diagnosis);
  return leave_out(job, status, path.text, "the model is not checked");
}

/* Figures come next. */
comp_status comp__diagnose_finish(comp__job *job) {
  bool found;
  comp_status status = comp__folder_save(job, false);
  if (status != COMP_OK) return status;
  return comp__find_module(&found, job, "figures",
                           "the run makes no figure files; the charts of report.html are there");
}
