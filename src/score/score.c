/* score.c: from options and a data set to all scores: what is asked for is looked for first, then measured in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "score/drawn.h"
#include "score/result.h"

/* A name that is not there is reported before anything is computed. */
static comp_status look(const comp_dataset *d, const comp__scores_options *o) {
  comp_status status;
  COMP__TRY(comp__predictions_look(d, o));
  for (size_t i = 0; i < o->n_layers; i++) {
    const comp__counterfactual_score_options change = comp__scores_change(o, i);
    COMP__TRY(comp__counterfactual_score_look(d, &change));
  }
done:
  return status;
}

/* What was left out of several changes, in one line each, however many there are. */
typedef struct left_out {
  char names[400];     /* of the first changes */
  char reason[400];    /* of the first */
  size_t changes;      /* whole ones */
  size_t labels, some; /* labels of others, and how many others */
} left_out;

static void leave_out(left_out *l, const comp__counterfactual_score_options *change) {
  enum { NAMED = 3 };
  size_t used = strlen(l->names);
  if (l->changes < NAMED)
    snprintf(l->names + used, sizeof l->names - used, "%s%.60s \u2192 %.60s", l->changes ? ", " : "", change->from,
             change->to);
  if (l->changes == 0) snprintf(l->reason, sizeof l->reason, "%s", comp_error_message());
  if (l->changes == NAMED) snprintf(l->names + used, sizeof l->names - used, ", ...");
  l->changes++;
}

static void tell_left_out(comp_context *context, const left_out *l, const comp__scores_options *o) {
  if (l->changes == 1)
    comp__warn(context, "predictions of %s are not scored: %s", l->names, l->reason);
  else if (l->changes)
    comp__warn(context, "predictions of %zu of %zu changes of condition are not scored (%s): %s", l->changes,
               o->n_layers, l->names, l->reason);
  if (l->labels)
    comp__warn(context,
               "predictions of %zu label%s in %zu change%s of condition are not scored: fewer than %zu samples in one "
               "of the two conditions",
               l->labels, l->labels == 1 ? "" : "s", l->some, l->some == 1 ? "" : "s", o->counterfactual.min_samples);
}

/* How many labels there are; 0 without. */
static size_t count_labels(const comp_dataset *d, const comp__scores_options *o) {
  comp_groups groups = {0};
  size_t column = o->score.label ? comp_table_find(d->obs, o->score.label) : COMP_NOT_FOUND;
  if (column == COMP_NOT_FOUND || comp_table_groups(&groups, d->obs, column) != COMP_OK) return 0;
  size_t n = groups.n_levels;
  comp_groups_release(&groups);
  return n;
}

/* A change that cannot be scored is left out, unless it is all there is. */
static comp_status run_changes(comp_scores *scores, comp_context *context, const comp_dataset *d,
                               const comp__scores_options *o) {
  const bool alone = o->n_layers == 1 && !scores->embeddings;
  comp_status status = comp__calloc(&scores->changes, o->n_layers, sizeof *scores->changes);
  if (status != COMP_OK) return status;
  scores->n_changes = o->n_layers;
  left_out left = {0};
  const size_t labels = count_labels(d, o);
  for (size_t i = 0; i < o->n_layers; i++) {
    comp__counterfactual_score_options change = comp__scores_change(o, i);
    change.silent = o->n_layers > 1;
    status = comp__counterfactual_score_run(&scores->changes[i], context, d, &change);
    if (status == COMP_OK && change.silent) {
      const size_t scored = comp_counterfactual_score_label_count(scores->changes[i]);
      left.some += scored < labels;
      left.labels += scored < labels ? labels - scored : 0;
    }
    if (status == COMP_OK) continue;
    if (status != COMP_ERR_DATA || alone) return status;
    leave_out(&left, &change);
  }
  tell_left_out(context, &left, o);
  return COMP_OK;
}

comp_status comp__scores_run(comp_scores **out, comp_context *context, const comp_dataset *d,
                             const comp__scores_options *o) {
  comp_scores *scores = NULL;
  comp_dataset *drawn = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(look(d, o));
  COMP__TRY(comp__calloc(&scores, 1, sizeof *scores));
  if (o->audit) COMP__TRY(comp__scores_read_audit(&scores->audit, o->audit));
  if (comp__scores_has_embeddings(o) || comp__predictions_wanted(o))
    COMP__TRY(comp__scores_draw(&drawn, context, d, o));
  const comp_dataset *some = drawn ? drawn : d;
  if (drawn) scores->drawn_from = d->samples;
  if (comp__scores_has_embeddings(o)) COMP__TRY(comp__score_run(&scores->embeddings, context, some, &o->score));
  if (comp__predictions_wanted(o))
    COMP__TRY(comp__predictions_run(&scores->predictions, context, some, scores->embeddings, o));
  if (o->n_layers) COMP__TRY(run_changes(scores, context, d, o));
  COMP__TRY(comp__scores_write(scores, d, o));
  *out = scores;
  scores = NULL;
done:
  comp_dataset_free(drawn);
  comp_scores_free(scores);
  return status;
}

comp_status comp_scores_run(comp_scores **out, comp_context *context, const comp_dataset *dataset,
                            const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset);
  comp__scores_options resolved;
  *out = NULL;
  comp_status status = comp__options_resolve(&resolved, &comp__scores_kind, options);
  return status == COMP_OK ? comp__scores_run(out, context, dataset, &resolved) : status;
}

comp_status comp_scores_needs_x(bool *out, const comp_options *options) {
  COMP__NEED(out);
  comp__scores_options resolved;
  *out = false;
  comp_status status = comp__options_resolve(&resolved, &comp__scores_kind, options);
  if (status == COMP_OK) status = comp__score_needs_x(out, &resolved.score);
  if (status == COMP_OK && resolved.n_layers) *out = true;
  return status;
}

void comp_scores_free(comp_scores *scores) {
  if (!scores) return;
  for (size_t i = 0; i < scores->n_changes; i++) comp__counterfactual_score_free(scores->changes[i]);
  comp__free(scores->changes);
  comp__predictions_release(&scores->predictions);
  comp__score_free(scores->embeddings);
  free(scores->audit);
  comp__free(scores->json);
  comp__free(scores);
}

const char *comp_scores_json(const comp_scores *scores) {
  return scores->json;
}

const comp_score *comp_scores_embeddings(const comp_scores *scores) {
  return scores->embeddings;
}

size_t comp_scores_prediction_count(const comp_scores *scores) {
  return scores->predictions.n_predicted;
}

const comp_score_prediction *comp_scores_prediction_at(const comp_scores *scores, size_t index) {
  return index < scores->predictions.n_predicted ? &scores->predictions.predicted[index].shown : NULL;
}

const comp_accuracy *comp_scores_transfer(const comp_scores *scores, size_t embedding) {
  return embedding < scores->predictions.n_transfer ? &scores->predictions.transfer[embedding] : NULL;
}

size_t comp_scores_change_count(const comp_scores *scores) {
  return scores->n_changes;
}

const comp_counterfactual_score *comp_scores_change_at(const comp_scores *scores, size_t index) {
  return index < scores->n_changes ? scores->changes[index] : NULL;
}
