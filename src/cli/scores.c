/* scores.c: the results of `comp score` as a table for people. */
#include "cli/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* What is shown. */
typedef struct table {
  const comp_scores *scores;
  const comp_score *score; /* of embeddings; NULL: none */
  const comp_options *options;
  bool per_label; /* show labels and conditions, too */
  bool verbose;   /* say what each number means */
} table;

enum { NAME_WIDTH = 24, VALUE_WIDTH = 10, PREDICTOR_WIDTH = 12 };

static const char *arrow(comp_better better) {
  return better == COMP_BETTER_LOWER ? "\u2193" : better == COMP_BETTER_HIGHER ? "\u2191" : "\u21920";
}

/* Text that fills a column from the left, whatever its characters take in bytes. */
static void put_name(const char *text, int width) {
  int length = (int)text_length(text);
  printf("%s%*s", text, length < width ? width - length : 1, "");
}

static int column_width(const table *r, size_t e) {
  int length = (int)text_length(comp_score_embedding_name(r->score, e)) + 2;
  return length > VALUE_WIDTH ? length : VALUE_WIDTH;
}

static void put_value(double value, int width) {
  if (isnan(value))
    printf("%*s", width, "-");
  else
    printf("%*.4f", width, value);
}

static void put_header(const table *r) {
  put_name("", NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embedding_count(r->score); e++) {
    const char *name = comp_score_embedding_name(r->score, e);
    printf("%*s%s", column_width(r, e) - (int)text_length(name), "", name);
  }
  puts("  better");
}

/* The part of another embedding that has the same label and condition, or NULL. */
static const comp_score_part *find_part(const table *r, size_t m, size_t e, const comp_score_part *like,
                                        size_t likely) {
  if (likely < comp_score_part_count(r->score, m, e)) { /* parts mostly stand in the same order */
    const comp_score_part *part = comp_score_part_at(r->score, m, e, likely);
    if (part->label == like->label && part->condition == like->condition) return part;
  }
  for (size_t p = 0; p < comp_score_part_count(r->score, m, e); p++) {
    const comp_score_part *part = comp_score_part_at(r->score, m, e, p);
    if (part->label == like->label && part->condition == like->condition) return part;
  }
  return NULL;
}

static void put_parts(const table *r, size_t m) {
  for (size_t p = 0; p < comp_score_part_count(r->score, m, 0); p++) {
    const comp_score_part *first = comp_score_part_at(r->score, m, 0, p);
    char name[160];
    snprintf(name, sizeof name, "    %s%s%s", first->label ? first->label : "",
             first->label && first->condition ? ", " : "", first->condition ? first->condition : "");
    put_name(text_clean(name), NAME_WIDTH + 2);
    for (size_t e = 0; e < comp_score_embedding_count(r->score); e++) {
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

/* The 95 % intervals of a metric, where they are known. */
static void put_intervals(const table *r, size_t m) {
  for (size_t e = 0; e < comp_score_embedding_count(r->score); e++) {
    double low, high;
    comp_score_interval(&low, &high, r->score, m, e);
    if (!isnan(low))
      printf("    95 %% interval of %s: %.4f to %.4f\n", comp_score_embedding_name(r->score, e), low, high);
  }
}

/* What perfect mixing has, where that is known. */
static void put_chances(const table *r, size_t m) {
  bool known = false;
  for (size_t e = 0; e < comp_score_embedding_count(r->score); e++)
    known = known || !isnan(comp_score_chance(r->score, m, e));
  if (!known) return;
  put_name("    perfect mixing", NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embedding_count(r->score); e++)
    put_value(comp_score_chance(r->score, m, e), column_width(r, e));
  putchar('\n');
}

static void put_metric(const table *r, size_t m) {
  const comp_score_metric *metric = comp_score_metric_at(r->score, m);
  char name[80];
  snprintf(name, sizeof name, "  %s", metric->name);
  put_name(name, NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embedding_count(r->score); e++)
    put_value(comp_score_value(r->score, m, e), column_width(r, e));
  printf("  %s\n", arrow(metric->better));
  put_chances(r, m);
  if (r->verbose) printf("    %s\n", metric->summary);
  if (r->verbose) put_intervals(r, m);
  if (r->per_label) put_parts(r, m);
}

/* An option as text; NULL: not given. */
static const char *option(const table *r, const char *name) {
  return comp_options_get(r->options, name, NULL, 0);
}

static void print_scores(const table *r) {
  char count[32];
  double alpha = 0;
  comp_options_get_real(&alpha, r->options, "alpha");
  printf("%s samples, condition '%s'", text_count(count, sizeof count, comp_score_sample_count(r->score)),
         option(r, "condition"));
  if (option(r, "label")) printf(", label '%s'", option(r, "label"));
  printf("; k = %s, alpha = %g\n", option(r, "k"), alpha);
  put_header(r);
  const char *family = "";
  for (size_t m = 0; m < comp_score_metric_count(r->score); m++) {
    const comp_score_metric *metric = comp_score_metric_at(r->score, m);
    if (strcmp(metric->family, family) != 0) puts(comp_score_family_title(metric->family));
    family = metric->family;
    put_metric(r, m);
  }
  for (size_t m = 0; m < comp_score_metric_count(r->score); m++)
    for (size_t e = 0; e < comp_score_embedding_count(r->score); e++)
      if (comp_score_note(r->score, m, e))
        printf("No %s of %s: %s\n", comp_score_metric_at(r->score, m)->name, comp_score_embedding_name(r->score, e),
               comp_score_note(r->score, m, e));
}

/* One label of the predictions of another condition: a row a measure, a column a predictor. */
static void print_counterfactual_label(const table *r, const comp_counterfactual_label *label) {
  for (size_t m = 0; m < comp_counterfactual_measure_count(); m++) {
    bool known = false;
    for (int p = 0; p < COMP_PREDICTORS; p++)
      known = known || !isnan(comp_counterfactual_measure_value(&label->values[p], m));
    if (!known) continue;
    char name[80];
    const comp_score_metric *measure = comp_counterfactual_measure_at(m);
    snprintf(name, sizeof name, "  %s", measure->name);
    put_name(name, NAME_WIDTH + 2);
    for (int p = 0; p < COMP_PREDICTORS; p++)
      put_value(comp_counterfactual_measure_value(&label->values[p], m), PREDICTOR_WIDTH);
    putchar('\n');
    if (r->verbose) printf("    %s\n", measure->summary);
  }
}

static void print_change(const table *r, const comp_counterfactual_score *score) {
  size_t labels = comp_counterfactual_score_label_count(score);
  char title[160];
  snprintf(title, sizeof title, "From %s to %s", comp_counterfactual_score_from(score),
           comp_counterfactual_score_to(score));
  if (comp_scores_change_count(r->scores) > 1) puts(text_clean(title));
  put_name("Counterfactuals", NAME_WIDTH + 2);
  for (int p = 0; p < COMP_PREDICTORS; p++) printf("%*s", PREDICTOR_WIDTH, comp_predictor_name((comp_predictor)p));
  putchar('\n');
  for (size_t l = 0; r->per_label && labels > 1 && l < labels; l++) {
    const comp_counterfactual_label *label = comp_counterfactual_score_label_at(score, l);
    printf("%s: %zu samples, %zu real ones to compare with\n", label->label, label->n_from, label->n_to);
    print_counterfactual_label(r, label);
  }
  const comp_counterfactual_label *mean = comp_counterfactual_score_mean(score);
  if (labels > 1)
    printf("mean over %zu labels: %zu samples, %zu real ones to compare with\n", labels, mean->n_from, mean->n_to);
  print_counterfactual_label(r, mean);
}

/* ---- classifiers ---- */

/* A row over the embeddings; `first` is the number of the prediction from the first of them. */
static void put_row(const table *r, const char *name, double (*get)(const comp_score_prediction *item, size_t which),
                    size_t first, size_t which, const char *better) {
  char text[160];
  snprintf(text, sizeof text, "  %s", name);
  put_name(text_clean(text), NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embedding_count(r->score); e++)
    put_value(get(comp_scores_prediction_at(r->scores, first + e), which), column_width(r, e));
  printf("  %s\n", better);
}

static double get_accuracy(const comp_score_prediction *item, size_t classifier) {
  return item->result->scores[classifier].accuracy;
}

static double get_p(const comp_score_prediction *item, size_t classifier) {
  return item->result->scores[classifier].p_value;
}

static double get_majority(const comp_score_prediction *item, size_t which) {
  (void)which;
  return item->result->majority;
}

static double get_gap(const comp_score_prediction *item, size_t gap) {
  const comp_fairness_result *f = item->fairness;
  return gap == 0 ? f->parity_gap : gap == 1 ? f->odds_gap : f->accuracy_gap;
}

/* One column; `first` is its prediction from the first embedding. */
static void print_column(const table *r, size_t first) {
  static const char *const gaps[] = {"demographic parity", "equalised odds", "accuracy"};
  const comp_score_prediction *item = comp_scores_prediction_at(r->scores, first);
  const char *better = strcmp(item->column, option(r, "condition")) == 0 ? "\u2193" : "\u2191";
  printf("'%s' predicted from the embedding, accuracy over %zu folds\n", item->column, item->result->folds);
  for (size_t k = 0; k < item->result->n_scores; k++) {
    char name[80];
    const char *kind = comp_classifier_kind_name(item->result->scores[k].classifier);
    put_row(r, kind, get_accuracy, first, k, better);
    if (item->result->n_permutations == 0) continue;
    snprintf(name, sizeof name, "%s, p by permutation", kind);
    put_row(r, name, get_p, first, k, "");
  }
  put_row(r, "the most common value", get_majority, first, 0, "floor");
  if (!item->fairness) return;
  printf("Largest differences between conditions, '%s' predicted by %s\n", item->column, option(r, "classifier"));
  for (size_t g = 0; g < 3; g++) put_row(r, gaps[g], get_gap, first, g, "\u2193");
}

static void print_transfer(const table *r) {
  printf("'%s' carried over from %s to %s, by %s\n", option(r, "label"), option(r, "train-on"), option(r, "test-on"),
         option(r, "classifier"));
  for (int row = 0; row < 3; row++) {
    static const char *const names[] = {"  accuracy", "  mean over labels", "  the most common value"};
    put_name(names[row], NAME_WIDTH + 2);
    for (size_t e = 0; e < comp_score_embedding_count(r->score); e++) {
      const comp_accuracy *a = comp_scores_transfer(r->scores, e);
      put_value(row == 0 ? a->accuracy : row == 1 ? a->balanced_accuracy : a->majority, column_width(r, e));
    }
    puts(row < 2 ? "  \u2191" : "  floor");
  }
}

static void print_predictions(const table *r) {
  const size_t count = comp_scores_prediction_count(r->scores);
  for (size_t i = 0; i < count; i += comp_score_embedding_count(r->score)) print_column(r, i);
  if (comp_scores_transfer(r->scores, 0)) print_transfer(r);
}

void cli_scores_print(const comp_scores *scores, const comp_options *options, bool per_label, bool verbose) {
  const table r = {scores, comp_scores_embeddings(scores), options, per_label, verbose};
  bool first = !r.score;
  if (r.score) print_scores(&r);
  if (r.score) print_predictions(&r);
  for (size_t i = 0; i < comp_scores_change_count(scores); i++) {
    const comp_counterfactual_score *change = comp_scores_change_at(scores, i);
    if (!change) continue;
    if (!first) putchar('\n');
    first = false;
    print_change(&r, change);
  }
}
