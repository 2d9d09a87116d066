/* summary.c: what `comp run` found: a table of scores for people, and the findings. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/summary.h"
#include "cli/text.h"
#include "comp/classify.h"
#include "comp/counterfactual_score.h"

enum { NAME = 50, VALUE = 16 };

static double number(json_t *value) {
  return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A number of a finding; NaN when there is none. */
static double finding_number(const comp_verdict *verdict, const char *id, const char *name) {
  for (size_t i = 0; i < comp_verdict_finding_count(verdict); i++) {
    const comp_finding *f = comp_verdict_finding_at(verdict, i);
    for (size_t k = 0; k < f->n_numbers && strcmp(f->id, id) == 0; k++)
      if (strcmp(f->numbers[k].name, name) == 0) return f->numbers[k].value;
  }
  return NAN;
}

static void put_name(const char *text, int width) {
  int length = (int)text_length(text);
  printf("%s%*s", text, length < width ? width - length : 1, "");
}

static void put_value(double value, int digits) {
  if (isnan(value))
    printf("%*s", VALUE, "-");
  else
    printf("%*.*f", VALUE, digits, value);
}

/* "0.020..0.150", the 95 % interval of a value. */
static void put_interval(json_t *score) {
  char text[64];
  double low = number(json_object_get(score, "low")), high = number(json_object_get(score, "high"));
  if (isnan(low) || isnan(high)) {
    printf("%*s", VALUE, "-");
    return;
  }
  snprintf(text, sizeof text, "%.3f..%.3f", low, high);
  printf("%*s", VALUE, text);
}

/* A row of what is known of a metric besides its value: nothing when no embedding has it. */
static void put_more(json_t *embeddings, const char *metric, const char *words, const char *key,
                     void (*put)(json_t *score)) {
  size_t i;
  json_t *e;
  bool known = false;
  json_array_foreach(embeddings, i, e) {
    known = known || json_is_number(json_object_get(json_object_get(json_object_get(e, "scores"), metric), key));
  }
  if (!known) return;
  put_name(words, NAME);
  json_array_foreach(embeddings, i, e) put(json_object_get(json_object_get(e, "scores"), metric));
  putchar('\n');
}

static void put_chance(json_t *score) {
  put_value(number(json_object_get(score, "chance")), 3);
}

static void put_metric(json_t *embeddings, const char *metric, const char *words) {
  size_t i;
  json_t *e;
  bool known = false;
  json_array_foreach(embeddings, i, e) {
    known = known || json_is_number(json_object_get(json_object_get(json_object_get(e, "scores"), metric), "value"));
  }
  if (!known) return;
  put_name(words, NAME);
  json_array_foreach(embeddings, i, e) {
    put_value(number(json_object_get(json_object_get(json_object_get(e, "scores"), metric), "value")), 3);
  }
  putchar('\n');
  put_more(embeddings, metric, "    95 % interval", "low", put_interval);
  put_more(embeddings, metric, "    perfect mixing", "chance", put_chance);
}

/* What people call a classifier. */
static const char *classifier_title(const char *name) {
  comp_classifier_kind kind;
  return comp_classifier_kind_parse(&kind, name) == COMP_OK ? comp_classifier_kind_title(kind) : name;
}

/* One row of each classifier, a column each embedding. */
static void put_accuracies(json_t *root, const char *column) {
  size_t i, k;
  json_t *item, *first = NULL;
  json_array_foreach(json_object_get(root, "predict"), i, item) {
    if (!first && strcmp(json_string_value(json_object_get(item, "column")), column) == 0) first = item;
  }
  json_t *kind;
  json_array_foreach(json_object_get(first, "classifiers"), k, kind) {
    char words[160];
    const char *name = json_string_value(json_object_get(kind, "classifier"));
    snprintf(words, sizeof words, "  %s, predicted by %s", column, classifier_title(name));
    put_name(text_clean(words), NAME);
    json_array_foreach(json_object_get(root, "predict"), i, item) {
      if (strcmp(json_string_value(json_object_get(item, "column")), column) != 0) continue;
      put_value(number(json_object_get(json_array_get(json_object_get(item, "classifiers"), k), "accuracy")), 3);
    }
    putchar('\n');
    put_name("    95 % interval", NAME);
    json_array_foreach(json_object_get(root, "predict"), i, item) {
      if (strcmp(json_string_value(json_object_get(item, "column")), column) != 0) continue;
      put_interval(json_array_get(json_object_get(item, "classifiers"), k));
    }
    putchar('\n');
  }
  put_name("    always predicting the most common value", NAME);
  json_array_foreach(json_object_get(root, "predict"), i, item) {
    if (strcmp(json_string_value(json_object_get(item, "column")), column) == 0)
      put_value(number(json_object_get(item, "majority")), 3);
  }
  putchar('\n');
}

static void put_fairness(json_t *root) {
  static const struct {
    const char *key, *words;
  } rows[] = {{"parity_gap", "  demographic parity gap"},
              {"odds_gap", "  equalised odds gap"},
              {"accuracy_gap", "  accuracy gap"}};
  json_t *list = json_object_get(root, "fairness"), *item;
  size_t i;
  if (json_array_size(list) == 0) return;
  puts("Are groups treated alike? (largest difference between groups, 0 is best)");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    put_name(rows[r].words, NAME);
    json_array_foreach(list, i, item) put_value(number(json_object_get(item, rows[r].key)), 3);
    putchar('\n');
  }
}

/* The predictions of another condition, and the noise ceiling. */
static void put_change(json_t *change, bool table) {
  static const struct {
    const char *key, *words; /* %s: "genes" */
    int digits;
  } rows[] = {{"r_all", "  r of means, all %s", 3},
              {"r_change_all", "  r of changes, all %s", 3},
              {"r_de", "  r of means, top 50 DE %s (Wilcoxon)", 3},
              {"r_change_de", "  r of changes, top 50 DE %s", 3},
              {"mse_de", "  mean squared error, top 50 DE %s", 4},
              {"rmse_truth", "  error of single samples against the truth", 4}};
  char words[160];
  json_t *mean = json_object_get(change, "mean");
  size_t labels = json_array_size(json_object_get(change, "labels"));
  snprintf(words, sizeof words, "From %s to %s%s", json_string_value(json_object_get(change, "from")),
           json_string_value(json_object_get(change, "to")), labels > 1 ? " (mean over labels)" : "");
  put_name(text_clean(words), NAME);
  printf("%*s%*s%*s%*s\n", VALUE, "predicted", VALUE, "no change", VALUE, "mean shift", VALUE, "ceiling");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    double values[COMP_PREDICTORS];
    for (int p = 0; p < COMP_PREDICTORS; p++)
      values[p] = number(json_object_get(json_object_get(mean, comp_predictor_key((comp_predictor)p)), rows[r].key));
    if (isnan(values[0])) continue;
    const char *mark = strstr(rows[r].words, "%s");
    snprintf(words, sizeof words, "%.*s%s%s", mark ? (int)(mark - rows[r].words) : NAME, rows[r].words,
             mark ? table ? "features" : "genes" : "", mark ? mark + 2 : "");
    put_name(words, NAME);
    for (int p = 0; p < COMP_PREDICTORS; p++) put_value(values[p], rows[r].digits);
    putchar('\n');
  }
}

/* How well the label alone predicts the condition, when that is better than always predicting the most common value. */
static void put_label_alone(json_t *root, const comp_verdict *verdict) {
  double majority = number(json_object_get(json_array_get(json_object_get(root, "predict"), 0), "majority"));
  double by_label = finding_number(verdict, "hidden", "label_accuracy");
  if (!(by_label > majority)) return;
  put_name("    predicted from the label alone", NAME);
  for (size_t e = 0; e < json_array_size(json_object_get(root, "embeddings")); e++) put_value(by_label, 3);
  putchar('\n');
}

static void put_finding(const comp_finding *f) {
  enum { INDENT = 32 };
  int width = text_columns(STDOUT_FILENO, 120);
  if (width < 80) width = 80;
  int column = printf("%-8s %-18s ", comp_finding_level_name(f->level), f->id);
  text_flow flow = text_flow_start(stdout, column, INDENT, width);
  text_flow_add(&flow, f->text);
  if (f->advice[0]) text_flow_add(&flow, " -> ");
  text_flow_add(&flow, f->advice);
  text_flow_end(&flow);
}

/* Whether a finding comes before all numbers, because it decides what they mean. */
static bool is_first(const comp_finding *f) {
  return f->level == COMP_FINDING_PROBLEM && strcmp(f->id, "confounded") == 0;
}

/* What the numbers mean, as src/verdict has it; the report has the notes, too. */
static void put_findings(const comp_verdict *verdict) {
  size_t notes = 0;
  for (size_t i = 0; i < comp_verdict_finding_count(verdict); i++) {
    const comp_finding *f = comp_verdict_finding_at(verdict, i);
    if (f->level == COMP_FINDING_NOTE)
      notes++;
    else if (!is_first(f))
      put_finding(f);
  }
  if (notes) printf("%zu note%s: see the report\n", notes, notes == 1 ? "" : "s");
}

static const char *kind_of_data(json_t *record) {
  const char *kind = json_string_value(json_object_get(json_object_get(record, "input"), "kind"));
  return kind ? kind : "omics";
}

/* Whether embeddings were scored on a part of the data: kBET depends on how many samples there are. */
static void put_drawn(json_t *scores) {
  char some[32], all[32];
  json_t *from = json_object_get(scores, "drawn_from");
  if (!json_is_integer(from)) return;
  printf("Embeddings were scored on %s of %s samples, drawn at random. On all, kBET may be higher.\n",
         text_count(some, sizeof some, (size_t)json_integer_value(json_object_get(scores, "samples"))),
         text_count(all, sizeof all, (size_t)json_integer_value(from)));
}

/* The tables of numbers. */
static void put_scores(json_t *scores, const comp_verdict *verdict, const comp_options *options) {
  char model[32];
  size_t i;
  json_t *e, *embeddings = json_object_get(scores, "embeddings");
  const char *label = comp_options_get(options, "label", NULL, 0),
             *target = comp_options_get(options, "target", NULL, 0);
  put_drawn(scores);
  put_name(comp_options_given(options, "protect") ? "Is the condition hidden?" : "Are conditions mixed?", NAME);
  json_array_foreach(embeddings, i, e) {
    printf("%*s", VALUE,
           comp_embedding_title(json_string_value(json_object_get(e, "name")),
                                comp_options_get(options, "model", model, sizeof model)));
  }
  putchar('\n');
  put_metric(embeddings, "kbet", "  kBET: badly mixed neighbourhoods, low is best");
  put_metric(embeddings, "m_kbet", "  m-kBET: the same within labels, low is best");
  put_metric(embeddings, "s", "  s: local silhouette of the condition, 0 is best");
  put_accuracies(scores, comp_options_get(options, "condition", NULL, 0));
  put_label_alone(scores, verdict);
  if (label) {
    puts("Are labels kept?");
    put_metric(embeddings, "clisi", "  cLISI: neighbours share the label, 1 is best");
    put_metric(embeddings, "nmi_kmeans", "  NMI: k-means clusters match labels, 1 is best");
  }
  if (target) {
    puts("Is the target kept?");
    put_accuracies(scores, target);
    put_fairness(scores);
  }
  if (json_object_get(scores, "audit"))
    puts("Classifiers of this table learn and are tested among the samples that were held out, which are few. The\n"
         "findings below are of comp audit, whose attackers learn from the other samples, too: take these.");
}

static void put_changes(json_t *scores, bool table) {
  json_t *change = json_object_get(scores, "counterfactual"), *more = json_object_get(scores, "more_counterfactuals");
  if (change) put_change(change, table);
  if (json_array_size(more) == 1) put_change(json_array_get(more, 0), table);
  if (json_array_size(more) > 1) printf("%zu more changes of condition are in scores.json\n", json_array_size(more));
}

void cli_summary_print(const comp_run_result *result, const comp_options *options) {
  json_t *scores = json_loads(comp_run_result_scores(result), 0, NULL);
  json_t *record = json_loads(comp_run_result_record(result), 0, NULL);
  const comp_verdict *verdict = comp_run_result_verdict(result);
  for (size_t i = 0; i < comp_verdict_finding_count(verdict); i++) {
    const comp_finding *f = comp_verdict_finding_at(verdict, i);
    if (!is_first(f)) continue;
    put_finding(f);
    putchar('\n');
  }
  put_scores(scores, verdict, options);
  put_changes(scores, strcmp(kind_of_data(record), "table") == 0);
  putchar('\n');
  put_findings(verdict);
  printf("report: %s\n", comp_run_result_page(result));
  json_decref(scores);
  json_decref(record);
}
