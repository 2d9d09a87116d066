/* predictions.c: classifiers on embeddings, for `comp score`. */
#include "cli/predictions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/text.h"

bool cli_predictions_wanted(const cli_predict_options *o) {
  return o->columns.count > 0 || o->train_on || o->test_on;
}

static const comp_matrix *embedding_of(const comp_dataset *d, const comp_score *score, size_t e) {
  const char *name = comp_score_embedding(score, e);
  const comp_matrix *matrix = comp_dataset_get(d, COMP_SLOT_OBSM, name);
  return matrix ? matrix : comp_dataset_x(d);
}

static comp_status read_groups(comp_groups *out, const comp_dataset *d, const char *column) {
  size_t c;
  comp_status status = comp_table_require(&c, comp_dataset_obs(d), column);
  return status == COMP_OK ? comp_table_groups(out, comp_dataset_obs(d), c) : status;
}

comp_status cli_predictions_kinds(comp_classifier_kind *out, size_t *n, const char *names) {
  comp_status status = COMP_OK;
  bool seen[COMP_CLASSIFIER_KINDS] = {false};
  char *copy = strdup(names ? names : "logistic,forest"), *rest = copy;
  *n = 0;
  if (!copy) return COMP_ERR_MEMORY;
  for (char *name; status == COMP_OK && (name = strsep(&rest, ","));) {
    comp_classifier_kind kind;
    status = comp_classifier_kind_parse(&kind, name);
    if (status != COMP_OK || seen[kind]) continue;
    seen[kind] = true;
    out[(*n)++] = kind;
  }
  free(copy);
  return status;
}

static comp_status predict(cli_predicted *out, comp_context *context, const comp_matrix *z, const comp_groups *groups,
                           const cli_predictions *p) {
  const cli_predict_options *o = p->options;
  comp_predictability_options options = COMP_PREDICTABILITY_OPTIONS_INIT;
  options.folds = (size_t)o->folds;
  options.n_permutations = (size_t)o->permutations;
  options.seed = (uint64_t)o->seed;
  comp_classifier_kind kinds[COMP_CLASSIFIER_KINDS];
  comp_status status = cli_predictions_kinds(kinds, &options.n_classifiers, o->classifiers);
  options.classifiers = kinds;
  if (status == COMP_OK)
    status = comp_predictability(&out->result, context, z, groups->codes, groups->n_levels, &options);
  if (status != COMP_OK || !o->fairness || strcmp(out->column, o->condition) == 0) return status;
  comp_split_options split = COMP_SPLIT_OPTIONS_INIT;
  split.seed = (uint64_t)o->seed;
  status = comp_classifier_kind_parse(&split.classifier, o->classifier);
  if (status == COMP_OK)
    status = comp_fairness(&out->fairness, context, z, groups->codes, groups->n_levels, p->conditions.codes,
                           p->conditions.n_levels, &split);
  out->has_fairness = status == COMP_OK;
  return status;
}

/* The number of a level; -1 when there is none of that name. */
static int32_t level_of(const comp_groups *groups, const char *name) {
  for (size_t l = 0; l < groups->n_levels; l++)
    if (strcmp(groups->levels[l], name) == 0) return (int32_t)l;
  return -1;
}

int cli_predictions_check(cli_session *session, const char *path, const comp_dataset *d, const cli_predict_options *o) {
  comp_groups groups = {0};
  const char *wanted[] = {o->train_on, o->test_on};
  int code = 0;
  if (!o->train_on) return 0;
  comp_status status = read_groups(&groups, d, o->condition);
  if (status != COMP_OK) return cli_fail_in(session, status, path);
  for (int i = 0; i < 2 && !code; i++) {
    comp_suggest search = {.word = wanted[i]};
    if (level_of(&groups, wanted[i]) >= 0) continue;
    for (size_t l = 0; l < groups.n_levels; l++) comp_suggest_offer(&search, groups.levels[l]);
    code = cli_error(session, EXIT_FAILED, "%s: no sample has '%s' in column '%s'%s%s%s", path, wanted[i], o->condition,
                     search.best ? "; did you mean '" : "", search.best ? search.best : "", search.best ? "'?" : "");
  }
  comp_groups_release(&groups);
  return code;
}

static comp_status transfer(comp_accuracy *out, comp_context *context, const comp_matrix *z, const cli_predictions *p) {
  const cli_predict_options *o = p->options;
  comp_split_options split = COMP_SPLIT_OPTIONS_INIT;
  split.seed = (uint64_t)o->seed;
  comp_status status = comp_classifier_kind_parse(&split.classifier, o->classifier);
  if (status != COMP_OK) return status;
  return comp_transfer(out, context, z, p->conditions.codes, level_of(&p->conditions, o->train_on),
                       level_of(&p->conditions, o->test_on), p->labels.codes, p->labels.n_levels, &split);
}

static comp_status run_columns(cli_predictions *out, comp_context *context, const comp_dataset *d) {
  size_t embeddings = comp_score_embeddings(out->score);
  comp_status status = COMP_OK;
  out->predicted = calloc(out->options->columns.count * embeddings + 1, sizeof *out->predicted);
  if (!out->predicted) return COMP_ERR_MEMORY;
  for (size_t c = 0; status == COMP_OK && c < out->options->columns.count; c++) {
    comp_groups groups = {0};
    status = read_groups(&groups, d, out->options->columns.items[c]);
    for (size_t e = 0; status == COMP_OK && e < embeddings; e++) {
      cli_predicted *item = &out->predicted[out->n_predicted++];
      item->column = out->options->columns.items[c];
      item->embedding = e;
      status = predict(item, context, embedding_of(d, out->score, e), &groups, out);
    }
    comp_groups_release(&groups);
  }
  return status;
}

comp_status cli_predictions_run(cli_predictions *out, comp_context *context, const comp_dataset *d,
                                const comp_score *score, const cli_predict_options *o) {
  *out = (cli_predictions){.options = o, .score = score};
  comp_status status = read_groups(&out->conditions, d, o->condition);
  if (status == COMP_OK) status = run_columns(out, context, d);
  if (status != COMP_OK || !o->train_on) return status;
  status = read_groups(&out->labels, d, o->label);
  if (status == COMP_OK && !(out->transfer = calloc(comp_score_embeddings(score), sizeof *out->transfer)))
    return COMP_ERR_MEMORY;
  for (size_t e = 0; status == COMP_OK && e < comp_score_embeddings(score); e++) {
    status = transfer(&out->transfer[e], context, embedding_of(d, score, e), out);
    out->n_transfer += status == COMP_OK;
  }
  return status;
}

void cli_predictions_release(cli_predictions *p) {
  for (size_t i = 0; i < p->n_predicted; i++) {
    comp_predictability_release(&p->predicted[i].result);
    if (p->predicted[i].has_fairness) comp_fairness_release(&p->predicted[i].fairness);
  }
  for (size_t e = 0; e < p->n_transfer; e++) comp_accuracy_release(&p->transfer[e]);
  free(p->predicted);
  free(p->transfer);
  comp_groups_release(&p->conditions);
  comp_groups_release(&p->labels);
  *p = (cli_predictions){0};
}

/* ---------------------------------------------------------------------------------------------------------- table */

/* Where a row goes: the columns of the embeddings. */
typedef struct layout {
  int name_width;
  int (*width)(const void *arg, size_t e);
  const void *arg;
} layout;

static void put_name(const layout *at, const char *text) {
  int length = (int)text_length(text);
  printf("%s%*s", text, length < at->name_width ? at->name_width - length : 1, "");
}

static void put_value(const layout *at, size_t e, double value) {
  if (isnan(value))
    printf("%*s", at->width(at->arg, e), "-");
  else
    printf("%*.4f", at->width(at->arg, e), value);
}

/* One row over the embeddings, of values that stand `stride` apart. */
static void put_row(const layout *at, const char *name, double (*get)(const cli_predicted *item, size_t s),
                    const cli_predicted *items, size_t embeddings, size_t s, const char *better) {
  char text[160];
  snprintf(text, sizeof text, "  %s", name);
  put_name(at, text_clean(text));
  for (size_t e = 0; e < embeddings; e++) put_value(at, e, get(&items[e], s));
  printf("  %s\n", better);
}

static double get_accuracy(const cli_predicted *item, size_t s) {
  return item->result.scores[s].accuracy;
}

static double get_p(const cli_predicted *item, size_t s) {
  return item->result.scores[s].p_value;
}

static double get_majority(const cli_predicted *item, size_t s) {
  (void)s;
  return item->result.majority;
}

static double get_gap(const cli_predicted *item, size_t s) {
  const comp_fairness_result *f = &item->fairness;
  return s == 0 ? f->parity_gap : s == 1 ? f->odds_gap : f->accuracy_gap;
}

static void print_column(const cli_predictions *p, const layout *at, const cli_predicted *items, size_t embeddings) {
  static const char *const gaps[] = {"demographic parity", "equalised odds", "accuracy"};
  const char *better = strcmp(items->column, p->options->condition) == 0 ? "\u2193" : "\u2191";
  printf("'%s' told from the embedding, accuracy over %zu folds\n", items->column, items->result.folds);
  for (size_t s = 0; s < items->result.n_scores; s++) {
    char name[80];
    const char *kind = comp_classifier_kind_name(items->result.scores[s].classifier);
    put_row(at, kind, get_accuracy, items, embeddings, s, better);
    if (items->result.n_permutations == 0) continue;
    snprintf(name, sizeof name, "%s, p by permutation", kind);
    put_row(at, name, get_p, items, embeddings, s, "");
  }
  put_row(at, "the commonest value", get_majority, items, embeddings, 0, "floor");
  if (!items->has_fairness) return;
  printf("Largest differences between conditions, '%s' told by %s\n", items->column, p->options->classifier);
  for (size_t g = 0; g < 3; g++) put_row(at, gaps[g], get_gap, items, embeddings, g, "\u2193");
}

static void print_transfer(const cli_predictions *p, const layout *at) {
  const cli_predict_options *o = p->options;
  printf("'%s' carried over from %s to %s, by %s\n", o->label, o->train_on, o->test_on, o->classifier);
  for (int row = 0; row < 3; row++) {
    static const char *const names[] = {"  accuracy", "  mean over labels", "  the commonest value"};
    put_name(at, names[row]);
    for (size_t e = 0; e < p->n_transfer; e++) {
      const comp_accuracy *a = &p->transfer[e];
      put_value(at, e, row == 0 ? a->accuracy : row == 1 ? a->balanced_accuracy : a->majority);
    }
    puts(row < 2 ? "  \u2191" : "  floor");
  }
}

void cli_predictions_print(const cli_predictions *p, int name_width, int (*width)(const void *arg, size_t e),
                           const void *arg) {
  const layout at = {name_width, width, arg};
  size_t embeddings = comp_score_embeddings(p->score);
  for (size_t i = 0; i < p->n_predicted; i += embeddings) print_column(p, &at, p->predicted + i, embeddings);
  if (p->transfer) print_transfer(p, &at);
}

/* ----------------------------------------------------------------------------------------------------------- JSON */

static void put_number(FILE *out, const char *name, double value) {
  fprintf(out, ", \"%s\": ", name);
  json_put_number(out, value);
}

static void put_start(FILE *out, bool first, const cli_predictions *p, size_t embedding) {
  fputs(first ? "\n    {\"embedding\": " : ",\n    {\"embedding\": ", out);
  json_put_string(out, comp_score_embedding(p->score, embedding));
}

static void put_predicted(FILE *out, const cli_predicted *item) {
  const comp_predictability_result *r = &item->result;
  fputs(", \"column\": ", out);
  json_put_string(out, item->column);
  fprintf(out, ", \"samples\": %zu, \"levels\": %zu, \"folds\": %zu, \"permutations\": %zu", r->samples, r->n_levels,
          r->folds, r->n_permutations);
  put_number(out, "majority", r->majority);
  fputs(", \"classifiers\": [", out);
  for (size_t s = 0; s < r->n_scores; s++) {
    const comp_predictability_score *score = &r->scores[s];
    fprintf(out, "%s{\"classifier\": \"%s\"", s ? ", " : "", comp_classifier_kind_name(score->classifier));
    put_number(out, "accuracy", score->accuracy);
    put_number(out, "deviation", score->deviation);
    put_number(out, "balanced_accuracy", score->balanced_accuracy);
    put_number(out, "permuted_accuracy", score->permuted_accuracy);
    put_number(out, "p_value", score->p_value);
    fputc('}', out);
  }
  fputs("]}", out);
}

static void put_fairness(FILE *out, const cli_predictions *p, const cli_predicted *item) {
  const comp_fairness_result *f = &item->fairness;
  fputs(", \"column\": ", out);
  json_put_string(out, item->column);
  fprintf(out, ", \"classifier\": \"%s\"", p->options->classifier);
  put_number(out, "accuracy", f->target.accuracy);
  put_number(out, "majority", f->target.majority);
  put_number(out, "parity_gap", f->parity_gap);
  put_number(out, "odds_gap", f->odds_gap);
  put_number(out, "accuracy_gap", f->accuracy_gap);
  fputs(", \"groups\": [", out);
  for (size_t g = 0; g < f->n_groups; g++) {
    fputs(g ? ", {\"condition\": " : "{\"condition\": ", out);
    json_put_string(out, p->conditions.levels[g]);
    fprintf(out, ", \"samples\": %zu", f->groups[g].n_test);
    put_number(out, "accuracy", f->groups[g].accuracy);
    fputc('}', out);
  }
  fputs("]}", out);
}

static void put_transfer(FILE *out, const cli_predictions *p, const comp_accuracy *a) {
  fputs(", \"train_on\": ", out);
  json_put_string(out, p->options->train_on);
  fputs(", \"test_on\": ", out);
  json_put_string(out, p->options->test_on);
  fprintf(out, ", \"classifier\": \"%s\", \"train_samples\": %zu, \"test_samples\": %zu, \"unseen\": %zu",
          p->options->classifier, a->n_train, a->n_test, a->unseen);
  put_number(out, "accuracy", a->accuracy);
  put_number(out, "balanced_accuracy", a->balanced_accuracy);
  put_number(out, "majority", a->majority);
  fputs(", \"labels\": [", out);
  for (size_t l = 0; l < a->n_levels; l++) {
    fputs(l ? ",\n      {\"label\": " : "\n      {\"label\": ", out);
    json_put_string(out, p->labels.levels[l]);
    fprintf(out, ", \"train_samples\": %zu, \"test_samples\": %zu", a->train_counts[l], a->test_counts[l]);
    put_number(out, "found", a->found[l]);
    put_number(out, "correct", a->correct[l]);
    fputc('}', out);
  }
  fputs("]}", out);
}

void cli_predictions_put_json(FILE *out, const cli_predictions *p) {
  fputs(",\n  \"predict\": [", out);
  for (size_t i = 0; i < p->n_predicted; i++) {
    put_start(out, i == 0, p, p->predicted[i].embedding);
    put_predicted(out, &p->predicted[i]);
  }
  fputs("],\n  \"fairness\": [", out);
  bool first = true;
  for (size_t i = 0; i < p->n_predicted; i++) {
    if (!p->predicted[i].has_fairness) continue;
    put_start(out, first, p, p->predicted[i].embedding);
    put_fairness(out, p, &p->predicted[i]);
    first = false;
  }
  fputs("],\n  \"transfer\": [", out);
  for (size_t e = 0; e < p->n_transfer; e++) {
    put_start(out, e == 0, p, e);
    put_transfer(out, p, &p->transfer[e]);
  }
  fputs("]", out);
}
