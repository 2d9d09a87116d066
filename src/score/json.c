/* json.c: scores as JSON, the only writer of scores.json. Written by hand, line by line: the file is also read by
 * people, who compare one line a metric. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/verdict.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/json.h"
#include "metrics/interval.h"
#include "score/result.h"
#include "text/stream.h"
#include "verdict/json.h"

/* ---- Values ---- */

static void put_string(FILE *out, const char *text) {
  json_t *value = comp__json_text(text);
  if (json_dumpf(value, out, JSON_ENCODE_ANY) != 0) fputs("null", out);
  json_decref(value);
}

/* A member, with what stands before it. */
static void put_text(FILE *out, const char *before, const char *name, const char *value) {
  fprintf(out, "%s\"%s\": ", before, name);
  put_string(out, value);
}

static void put_number(FILE *out, const char *before, const char *name, double value) {
  char text[64];
  fprintf(out, "%s\"%s\": %s", before, name,
          isfinite(value) ? comp_format_real(text, sizeof text, value, false) : "null");
}

static void put_count(FILE *out, const char *before, const char *name, size_t value) {
  fprintf(out, "%s\"%s\": %zu", before, name, value);
}

/* ---- Embeddings ---- */

static void put_metric(FILE *out, const comp_score_metric *metric) {
  put_text(out, "    {", "name", metric->name);
  put_text(out, ", ", "family", metric->family);
  put_text(out, ", ", "better", comp_better_name(metric->better));
  put_number(out, ", ", "min", metric->min);
  put_number(out, ", ", "max", metric->max);
  put_text(out, ", ", "summary", metric->summary);
  fputc('}', out);
}

static void put_part(FILE *out, const comp_score_part *part) {
  put_text(out, "{", "label", part->label);
  put_text(out, ", ", "condition", part->condition);
  put_count(out, ", ", "samples", part->samples);
  put_count(out, ", ", "k", part->k);
  put_number(out, ", ", "value", part->value);
  put_text(out, ", ", "left_out", part->left_out);
  fputc('}', out);
}

static void put_score(FILE *out, const comp_score *score, size_t m, size_t e) {
  fputs("      ", out);
  put_string(out, comp_score_metric_at(score, m)->name);
  double low, high;
  comp_score_interval(&low, &high, score, m, e);
  put_number(out, ": {", "value", comp_score_value(score, m, e));
  put_number(out, ", ", "low", low);
  put_number(out, ", ", "high", high);
  const double chance = comp_score_chance(score, m, e);
  if (isfinite(chance)) put_number(out, ", ", "chance", chance);
  put_text(out, ", ", "note", comp_score_note(score, m, e));
  fputs(", \"parts\": [", out);
  for (size_t p = 0; p < comp_score_part_count(score, m, e); p++) {
    fputs(p ? ",\n        " : "\n        ", out);
    put_part(out, comp_score_part_at(score, m, e, p));
  }
  fputs("]}", out);
}

/* What the embeddings were scored with, as the options have it. */
static void put_options(FILE *out, const comp__score_options *o) {
  put_count(out, ",\n  ", "k", o->k);
  put_number(out, ",\n  ", "alpha", o->alpha);
  put_text(out, ",\n  ", "neighbors", comp__scope_names[o->scope]);
  put_text(out, ",\n  ", "small_labels", comp__small_names[o->small_labels]);
  put_count(out, ",\n  ", "min_label", o->min_label);
  put_text(out, ",\n  ", "before", o->before);
}

static void put_embeddings(FILE *out, const comp_score *score, const comp__score_options *o, size_t drawn_from) {
  put_count(out, ",\n  ", "samples", comp_score_sample_count(score));
  if (drawn_from) put_count(out, ",\n  ", "drawn_from", drawn_from);
  put_options(out, o);
  fputs(",\n  \"metrics\": [\n", out);
  for (size_t m = 0; m < comp_score_metric_count(score); m++) {
    if (m) fputs(",\n", out);
    put_metric(out, comp_score_metric_at(score, m));
  }
  fputs("\n  ],\n  \"embeddings\": [\n", out);
  for (size_t e = 0; e < comp_score_embedding_count(score); e++) {
    put_text(out, e ? ",\n    {" : "    {", "name", comp_score_embedding_name(score, e));
    put_count(out, ", ", "dims", comp_score_dims(score, e));
    fputs(", \"scores\": {\n", out);
    for (size_t m = 0; m < comp_score_metric_count(score); m++) {
      if (m) fputs(",\n", out);
      put_score(out, score, m, e);
    }
    fputs("}}", out);
  }
  fputs("\n  ]", out);
}

/* ---- Classifiers ---- */

static void put_start(FILE *out, bool first, const comp_scores *s, size_t embedding) {
  put_text(out, first ? "\n    {" : ",\n    {", "embedding", comp_score_embedding_name(s->embeddings, embedding));
}

static void put_predicted(FILE *out, const comp_score_prediction *item) {
  const comp_predictability_result *r = item->result;
  put_text(out, ", ", "column", item->column);
  put_count(out, ", ", "samples", r->samples);
  put_count(out, ", ", "levels", r->n_levels);
  put_count(out, ", ", "folds", r->folds);
  put_count(out, ", ", "permutations", r->n_permutations);
  put_number(out, ", ", "majority", r->majority);
  fputs(", \"classifiers\": [", out);
  for (size_t k = 0; k < r->n_scores; k++) {
    const comp_predictability_score *score = &r->scores[k];
    put_text(out, k ? ", {" : "{", "classifier", comp_classifier_kind_name(score->classifier));
    const comp__interval interval = comp__share_interval(score->accuracy, (double)r->samples);
    put_number(out, ", ", "accuracy", score->accuracy);
    put_number(out, ", ", "low", interval.low);
    put_number(out, ", ", "high", interval.high);
    put_number(out, ", ", "deviation", score->deviation);
    put_number(out, ", ", "balanced_accuracy", score->balanced_accuracy);
    put_number(out, ", ", "permuted_accuracy", score->permuted_accuracy);
    put_number(out, ", ", "p_value", score->p_value);
    fputc('}', out);
  }
  fputs("]}", out);
}

static void put_fairness(FILE *out, const comp_scores *s, const comp_score_prediction *item, const char *classifier) {
  const comp_fairness_result *f = item->fairness;
  put_text(out, ", ", "column", item->column);
  put_text(out, ", ", "classifier", classifier);
  put_number(out, ", ", "accuracy", f->target.accuracy);
  put_number(out, ", ", "majority", f->target.majority);
  put_number(out, ", ", "parity_gap", f->parity_gap);
  put_number(out, ", ", "odds_gap", f->odds_gap);
  put_number(out, ", ", "accuracy_gap", f->accuracy_gap);
  fputs(", \"groups\": [", out);
  for (size_t g = 0; g < f->n_groups; g++) {
    put_text(out, g ? ", {" : "{", "condition", s->predictions.conditions.levels[g]);
    put_count(out, ", ", "samples", f->groups[g].n_test);
    put_number(out, ", ", "accuracy", f->groups[g].accuracy);
    fputc('}', out);
  }
  fputs("]}", out);
}

static void put_transfer(FILE *out, const comp_scores *s, const comp_accuracy *a, const comp__scores_options *o) {
  put_text(out, ", ", "train_on", o->train_on);
  put_text(out, ", ", "test_on", o->test_on);
  put_text(out, ", ", "classifier", comp_classifier_kind_name(o->classify.classifier));
  put_count(out, ", ", "train_samples", a->n_train);
  put_count(out, ", ", "test_samples", a->n_test);
  put_count(out, ", ", "unseen", a->unseen);
  put_number(out, ", ", "accuracy", a->accuracy);
  put_number(out, ", ", "balanced_accuracy", a->balanced_accuracy);
  put_number(out, ", ", "majority", a->majority);
  fputs(", \"labels\": [", out);
  for (size_t l = 0; l < a->n_levels; l++) {
    put_text(out, l ? ",\n      {" : "\n      {", "label", s->predictions.labels.levels[l]);
    put_count(out, ", ", "train_samples", a->train_counts[l]);
    put_count(out, ", ", "test_samples", a->test_counts[l]);
    put_number(out, ", ", "found", a->found[l]);
    put_number(out, ", ", "correct", a->correct[l]);
    fputc('}', out);
  }
  fputs("]}", out);
}

static void put_predictions(FILE *out, const comp_scores *s, const comp__scores_options *o) {
  const comp__predictions *p = &s->predictions;
  bool first = true;
  fputs(",\n  \"predict\": [", out);
  for (size_t i = 0; i < p->n_predicted; i++) {
    put_start(out, i == 0, s, p->predicted[i].shown.embedding);
    put_predicted(out, &p->predicted[i].shown);
  }
  fputs("],\n  \"fairness\": [", out);
  for (size_t i = 0; i < p->n_predicted; i++) {
    if (!p->predicted[i].shown.fairness) continue;
    put_start(out, first, s, p->predicted[i].shown.embedding);
    put_fairness(out, s, &p->predicted[i].shown, comp_classifier_kind_name(o->classify.classifier));
    first = false;
  }
  fputs("],\n  \"transfer\": [", out);
  for (size_t e = 0; e < p->n_transfer; e++) {
    put_start(out, e == 0, s, e);
    put_transfer(out, s, &p->transfer[e], o);
  }
  fputs("]", out);
}

/* ---- Changes of condition ---- */

static comp_status put_changes(FILE *out, const comp_scores *s) {
  size_t count = 0;
  for (size_t i = 0; i < s->n_changes; i++) {
    char *text;
    if (!s->changes[i]) continue;
    comp_status status = comp__counterfactual_score_json(&text, s->changes[i]);
    if (status != COMP_OK) return status;
    fputs(count == 0 ? ",\n  \"counterfactual\": " : count == 1 ? ",\n  \"more_counterfactuals\": [" : ",\n  ", out);
    fputs(text, out);
    comp__free(text);
    count++;
  }
  if (count > 1) fputc(']', out);
  return COMP_OK;
}

/* ---- The document ---- */

/* How many samples there are of what. It should be freed via comp_free(). */
static comp_status make_design(char **out, const comp_dataset *d, const comp__scores_options *o) {
  const char **targets;
  size_t n = 0;
  *out = NULL;
  comp_status status = comp__alloc(&targets, o->n_columns, sizeof *targets);
  if (status != COMP_OK) return status;
  for (size_t i = 0; o->fairness && i < o->n_columns; i++)
    if (strcmp(o->columns[i], o->score.condition) != 0) targets[n++] = o->columns[i];
  status = comp_design_json(out, d, o->score.condition, o->score.label, targets, n);
  comp__free(targets);
  return status;
}

comp_status comp__scores_read_audit(char **out, const char *path) {
  json_error_t problem;
  json_t *audit = json_load_file(path, 0, &problem);
  const bool whole = json_is_array(json_object_get(audit, "attacks"));
  comp_status status = COMP_OK;
  if (!audit && problem.line < 0)
    status = comp__error(COMP_ERR_IO, "audit: %s", problem.text);
  else if (!audit)
    status = comp__error(COMP_ERR_FORMAT, "%s: line %d: not JSON: %s", path, problem.line, problem.text);
  else if (!whole)
    status = comp__error(COMP_ERR_DATA, "%s: this is not what comp audit --json writes of a model", path);
  else if (!(*out = json_dumps(audit, JSON_COMPACT | JSON_REAL_PRECISION(9))))
    status = comp__error(COMP_ERR_MEMORY, "out of memory");
  json_decref(audit);
  return status;
}

/* Everything but the findings, without the closing brace. It should be freed via free(). */
static comp_status make_numbers(char **out, const comp_scores *s, const comp__scores_options *o, const char *design) {
  size_t size;
  FILE *text = comp__text_stream(out, &size);
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory: the scores as text");
  put_text(text, "{\n  ", "condition", o->score.condition);
  put_text(text, ",\n  ", "label", o->score.label);
  if (o->protect) fputs(",\n  \"protect\": true", text);
  fprintf(text, ",\n  \"design\": %s", design);
  if (s->embeddings) put_embeddings(text, s->embeddings, &o->score, s->drawn_from);
  if (comp__predictions_wanted(o)) put_predictions(text, s, o);
  comp_status status = put_changes(text, s);
  if (s->audit) fprintf(text, ",\n  \"audit\": %s", s->audit);
  bool whole = !comp__json_lost();
  if (fclose(text) == 0 && whole) return status;
  return comp__error(COMP_ERR_MEMORY, "out of memory: the scores as text");
}

/* numbers + tail. It should be freed via comp__free(). */
static comp_status join(char **out, const char *numbers, const char *before, const char *findings, const char *after) {
  const size_t size = strlen(numbers) + strlen(before) + strlen(findings) + strlen(after) + 1;
  comp_status status = comp__alloc(out, size, 1);
  if (status == COMP_OK) snprintf(*out, size, "%s%s%s%s", numbers, before, findings, after);
  return status;
}

comp_status comp__scores_write(comp_scores *s, const comp_dataset *d, const comp__scores_options *o) {
  char *design = NULL, *numbers = NULL, *closed = NULL;
  comp_verdict *verdict = NULL;
  comp_status status;
  COMP__TRY(make_design(&design, d, o));
  COMP__TRY(make_numbers(&numbers, s, o, design));
  COMP__TRY(join(&closed, numbers, "}", "", ""));
  COMP__TRY(comp_verdict_new(&verdict));
  COMP__TRY(comp_verdict_add(verdict, COMP_DOCUMENT_SCORES, closed));
  COMP__TRY(comp_verdict_judge(verdict));
  COMP__TRY(join(&s->json, numbers, ",\n  \"findings\": ", comp_verdict_json(verdict), "\n}\n"));
done:
  comp_verdict_free(verdict);
  comp__free(closed);
  free(numbers);
  comp_free(design);
  return status;
}
