/* scores.c: the results of `comp score` as a table for people and as JSON. */
#include "cli/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/text.h"

/* -------------------------------------------------------------------------------------------------------- changes */

static void say_not_scored(cli_session *session, const cli_change *change) {
  char text[2048];
  if (session->common.quiet) return;
  snprintf(text, sizeof text, "predictions from %s to %s are not scored: %s", change->from, change->to,
           comp_error_message());
  cli_progress_clear(&session->progress);
  fprintf(stderr, "comp: warning: %s\n", text_clean(text));
}

comp_status cli_changes_run(cli_session *session, const comp_dataset *dataset,
                            const comp_counterfactual_score_options *options, cli_change *changes, size_t n,
                            bool alone) {
  for (size_t i = 0; i < n; i++) {
    cli_change *change = &changes[i];
    comp_counterfactual_score_options c = *options;
    c.layer = change->layer;
    c.from = change->from;
    c.to = change->to;
    comp_status status = comp_counterfactual_score_run(&change->score, session->context, dataset, &c);
    if (status == COMP_OK) status = comp_counterfactual_score_json(&change->json, change->score);
    if (status == COMP_OK) continue;
    if (status != COMP_ERR_DATA || (alone && n == 1)) return status;
    say_not_scored(session, change);
  }
  return COMP_OK;
}

void cli_changes_release(cli_change *changes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    comp_counterfactual_score_free(changes[i].score);
    comp_free(changes[i].json);
    changes[i].score = NULL;
    changes[i].json = NULL;
  }
}

/* ---------------------------------------------------------------------------------------------------------- table */

enum { NAME_WIDTH = 24, VALUE_WIDTH = 10, PREDICTOR_WIDTH = 12 };

static const char *family_title(const char *family) {
  static const struct {
    const char *family, *title;
  } titles[] = {{"paper", "Mixing of conditions"},
                {"batch", "Mixing of conditions, after scib-metrics"},
                {"bio", "Labels kept apart, after scib-metrics"},
                {"total", "Totals, after scib-metrics"},
                {"other", "Other"}};
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
    if (strcmp(titles[i].family, family) == 0) return titles[i].title;
  return family;
}

static const char *arrow(comp_better better) {
  return better == COMP_BETTER_LOWER ? "\u2193" : better == COMP_BETTER_HIGHER ? "\u2191" : "\u21920";
}

/* Text that fills a column from the left, whatever its characters take in bytes. */
static void put_name(const char *text, int width) {
  int length = (int)text_length(text);
  printf("%s%*s", text, length < width ? width - length : 1, "");
}

static int column_width(const cli_scores *r, size_t e) {
  int length = (int)text_length(comp_score_embedding(r->score, e)) + 2;
  return length > VALUE_WIDTH ? length : VALUE_WIDTH;
}

static void put_value(double value, int width) {
  if (isnan(value))
    printf("%*s", width, "-");
  else
    printf("%*.4f", width, value);
}

static void put_header(const cli_scores *r) {
  put_name("", NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embeddings(r->score); e++) {
    const char *name = comp_score_embedding(r->score, e);
    printf("%*s%s", column_width(r, e) - (int)text_length(name), "", name);
  }
  puts("  better");
}

/* The part of another embedding that has the same label and condition, or NULL. */
static const comp_score_part *find_part(const cli_scores *r, size_t m, size_t e, const comp_score_part *like,
                                        size_t likely) {
  if (likely < comp_score_parts(r->score, m, e)) { /* parts mostly stand in the same order */
    const comp_score_part *part = comp_score_part_at(r->score, m, e, likely);
    if (part->label == like->label && part->condition == like->condition) return part;
  }
  for (size_t p = 0; p < comp_score_parts(r->score, m, e); p++) {
    const comp_score_part *part = comp_score_part_at(r->score, m, e, p);
    if (part->label == like->label && part->condition == like->condition) return part;
  }
  return NULL;
}

static void put_parts(const cli_scores *r, size_t m) {
  for (size_t p = 0; p < comp_score_parts(r->score, m, 0); p++) {
    const comp_score_part *first = comp_score_part_at(r->score, m, 0, p);
    char name[160];
    snprintf(name, sizeof name, "    %s%s%s", first->label ? first->label : "",
             first->label && first->condition ? ", " : "", first->condition ? first->condition : "");
    put_name(text_clean(name), NAME_WIDTH + 2);
    for (size_t e = 0; e < comp_score_embeddings(r->score); e++) {
      const comp_score_part *part = find_part(r, m, e, first, p);
      put_value(part ? part->value : NAN, column_width(r, e));
    }
    const char *plural = first->samples == 1 ? "" : "s";
    if (first->left_out)
      printf("  left out: %s, %zu sample%s\n", first->left_out, first->samples, plural);
    else if (first->k)
      printf("  %zu sample%s, k = %zu\n", first->samples, plural, first->k);
    else
      printf("  %zu sample%s\n", first->samples, plural);
  }
}

static void put_metric(const cli_scores *r, size_t m) {
  const comp_score_metric *metric = comp_score_metric_at(r->score, m);
  char name[80];
  snprintf(name, sizeof name, "  %s", metric->name);
  put_name(name, NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embeddings(r->score); e++)
    put_value(comp_score_value(r->score, m, e), column_width(r, e));
  printf("  %s\n", arrow(metric->better));
  if (r->verbose) printf("    %s\n", metric->summary);
  if (r->per_label) put_parts(r, m);
}

static void print_scores(const cli_scores *r) {
  char count[32];
  printf("%s samples, condition '%s'", text_count(count, sizeof count, comp_score_samples(r->score)),
         r->options->condition);
  if (r->options->label) printf(", label '%s'", r->options->label);
  printf("; k = %zu, alpha = %g\n", r->options->k, r->options->alpha);
  put_header(r);
  const char *family = "";
  for (size_t m = 0; m < comp_score_metrics(r->score); m++) {
    const comp_score_metric *metric = comp_score_metric_at(r->score, m);
    if (strcmp(metric->family, family) != 0) puts(family_title(metric->family));
    family = metric->family;
    put_metric(r, m);
  }
  for (size_t m = 0; m < comp_score_metrics(r->score); m++)
    for (size_t e = 0; e < comp_score_embeddings(r->score); e++)
      if (comp_score_note(r->score, m, e))
        printf("No %s of %s: %s\n", comp_score_metric_at(r->score, m)->name, comp_score_embedding(r->score, e),
               comp_score_note(r->score, m, e));
}

/* One label of the predictions of another condition: a row a measure, a column a predictor. */
static void print_counterfactual_label(const cli_scores *r, const comp_counterfactual_label *label) {
  for (size_t m = 0; m < comp_counterfactual_measures(); m++) {
    bool known = false;
    for (int p = 0; p < COMP_PREDICTORS; p++)
      known = known || !isnan(comp_counterfactual_measure(&label->values[p], m));
    if (!known) continue;
    char name[80];
    snprintf(name, sizeof name, "  %s", comp_counterfactual_measure_name(m));
    put_name(name, NAME_WIDTH + 2);
    for (int p = 0; p < COMP_PREDICTORS; p++)
      put_value(comp_counterfactual_measure(&label->values[p], m), PREDICTOR_WIDTH);
    putchar('\n');
    if (r->verbose) printf("    %s\n", comp_counterfactual_measure_summary(m));
  }
}

static void print_change(const cli_scores *r, const cli_change *change) {
  const comp_counterfactual_score *score = change->score;
  size_t labels = comp_counterfactual_score_labels(score);
  char title[160];
  snprintf(title, sizeof title, "From %s to %s", change->from, change->to);
  if (r->n_changes > 1) puts(text_clean(title));
  put_name("Counterfactuals", NAME_WIDTH + 2);
  for (int p = 0; p < COMP_PREDICTORS; p++) printf("%*s", PREDICTOR_WIDTH, comp_predictor_name((comp_predictor)p));
  putchar('\n');
  for (size_t l = 0; r->per_label && labels > 1 && l < labels; l++) {
    const comp_counterfactual_label *label = comp_counterfactual_score_label(score, l);
    printf("%s: %zu samples, %zu real ones to compare with\n", label->label, label->n_from, label->n_to);
    print_counterfactual_label(r, label);
  }
  const comp_counterfactual_label *mean = comp_counterfactual_score_mean(score);
  if (labels > 1)
    printf("mean over %zu labels: %zu samples, %zu real ones to compare with\n", labels, mean->n_from, mean->n_to);
  print_counterfactual_label(r, mean);
}

static int any_column_width(const void *arg, size_t e) {
  return column_width(arg, e);
}

void cli_scores_print(const cli_scores *r) {
  if (r->score) print_scores(r);
  if (r->predictions) cli_predictions_print(r->predictions, NAME_WIDTH + 2, any_column_width, r);
  bool first = !r->score;
  for (size_t i = 0; i < r->n_changes; i++) {
    if (!r->changes[i].score) continue;
    if (!first) putchar('\n');
    first = false;
    print_change(r, &r->changes[i]);
  }
}

/* ----------------------------------------------------------------------------------------------------------- JSON */

static void put_text(FILE *out, const char *before, const char *name, const char *value) {
  fprintf(out, "%s\"%s\": ", before, name);
  json_put_string(out, value);
}

static void put_number(FILE *out, const char *before, const char *name, double value) {
  fprintf(out, "%s\"%s\": ", before, name);
  json_put_number(out, value);
}

static void put_metric_info(FILE *out, const comp_score_metric *metric) {
  static const char *const better[] = {"lower", "higher", "zero"};
  put_text(out, "    {", "name", metric->name);
  put_text(out, ", ", "family", metric->family);
  put_text(out, ", ", "better", better[metric->better]);
  put_number(out, ", ", "min", metric->min);
  put_number(out, ", ", "max", metric->max);
  put_text(out, ", ", "summary", metric->summary);
  fputc('}', out);
}

static void put_json_part(FILE *out, const comp_score_part *part) {
  put_text(out, "{", "label", part->label);
  put_text(out, ", ", "condition", part->condition);
  fprintf(out, ", \"samples\": %zu, \"k\": %zu", part->samples, part->k);
  put_number(out, ", ", "value", part->value);
  put_text(out, ", ", "left_out", part->left_out);
  fputc('}', out);
}

static void put_json_score(FILE *out, const cli_scores *r, size_t m, size_t e) {
  fputs("      ", out);
  json_put_string(out, comp_score_metric_at(r->score, m)->name);
  put_number(out, ": {", "value", comp_score_value(r->score, m, e));
  put_text(out, ", ", "note", comp_score_note(r->score, m, e));
  fputs(", \"parts\": [", out);
  for (size_t p = 0; p < comp_score_parts(r->score, m, e); p++) {
    fputs(p ? ",\n        " : "\n        ", out);
    put_json_part(out, comp_score_part_at(r->score, m, e, p));
  }
  fputs("]}", out);
}

/* The members that say what the embeddings were scored with, and their scores. */
static void put_json_scores(FILE *out, const cli_scores *r) {
  const comp_score_options *o = r->options;
  fprintf(out, ",\n  \"samples\": %zu,\n  \"k\": %zu", comp_score_samples(r->score), o->k);
  put_number(out, ",\n  ", "alpha", o->alpha);
  put_text(out, ",\n  ", "neighbors", o->scope == COMP_SCOPE_GLOBAL ? "global" : "label");
  put_text(out, ",\n  ", "small_labels", o->small_labels == COMP_SMALL_SHRINK ? "shrink" : "leave-out");
  fprintf(out, ",\n  \"min_label\": %zu", o->min_label);
  put_text(out, ",\n  ", "before", o->before);
  fputs(",\n  \"metrics\": [\n", out);
  for (size_t m = 0; m < comp_score_metrics(r->score); m++) {
    if (m) fputs(",\n", out);
    put_metric_info(out, comp_score_metric_at(r->score, m));
  }
  fputs("\n  ],\n  \"embeddings\": [\n", out);
  for (size_t e = 0; e < comp_score_embeddings(r->score); e++) {
    put_text(out, e ? ",\n    {" : "    {", "name", comp_score_embedding(r->score, e));
    fprintf(out, ", \"dims\": %zu, \"scores\": {\n", comp_score_dims(r->score, e));
    for (size_t m = 0; m < comp_score_metrics(r->score); m++) {
      if (m) fputs(",\n", out);
      put_json_score(out, r, m, e);
    }
    fputs("}}", out);
  }
  fputs("\n  ]", out);
}

/* Everything but the findings, without the closing brace. */
static void put_numbers(FILE *out, const cli_scores *r, const char *design) {
  put_text(out, "{\n  ", "condition", r->options->condition);
  put_text(out, ",\n  ", "label", r->options->label);
  fprintf(out, ",\n  \"design\": %s", design);
  if (r->score) put_json_scores(out, r);
  if (r->predictions) cli_predictions_put_json(out, r->predictions);
  size_t count = 0;
  for (size_t i = 0; i < r->n_changes; i++) {
    if (!r->changes[i].json) continue;
    fprintf(out, "%s%s",
            count == 0   ? ",\n  \"counterfactual\": "
            : count == 1 ? ",\n  \"more_counterfactuals\": ["
                         : ",\n  ",
            r->changes[i].json);
    count++;
  }
  if (count > 1) fputc(']', out);
}

/* How many samples there are of what. It should be freed via comp_text_free(). */
static comp_status make_design(char **out, const cli_scores *r) {
  const cli_predict_options *p = r->predictions ? r->predictions->options : NULL;
  size_t n = 0;
  const char **targets = calloc(p ? p->columns.count + 1 : 1, sizeof *targets);
  *out = NULL;
  if (!targets) return COMP_ERR_MEMORY;
  for (size_t i = 0; p && p->fairness && i < p->columns.count; i++)
    if (strcmp(p->columns.items[i], r->options->condition) != 0) targets[n++] = p->columns.items[i];
  comp_status status = comp_design_json(out, r->dataset, r->options->condition, r->options->label, targets, n);
  free(targets);
  return status;
}

comp_status cli_scores_put_json(FILE *out, const cli_scores *r) {
  char *design = NULL, *text = NULL, *whole = NULL;
  size_t size;
  comp_verdict *verdict = NULL;
  comp_status status = make_design(&design, r);
  FILE *numbers = status == COMP_OK ? open_memstream(&text, &size) : NULL;
  if (numbers) {
    put_numbers(numbers, r, design);
    fclose(numbers);
    if (asprintf(&whole, "%s}", text) < 0) whole = NULL;
  }
  if (status == COMP_OK && !whole) status = COMP_ERR_MEMORY;
  if (status == COMP_OK) status = comp_verdict_new(&verdict);
  if (status == COMP_OK) status = comp_verdict_add(verdict, COMP_DOCUMENT_SCORES, whole);
  if (status == COMP_OK) status = comp_verdict_judge(verdict);
  if (status == COMP_OK) fprintf(out, "%s,\n  \"findings\": %s\n}\n", text, comp_verdict_json(verdict));
  comp_verdict_free(verdict);
  comp_text_free(design);
  free(text);
  free(whole);
  return status;
}
