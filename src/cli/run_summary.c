/* run_summary.c: what `comp run` found, in a table for people, from the file of scores. */
#include <math.h>
#include <string.h>

#include "cli/run.h"
#include "cli/text.h"

enum { NAME = 50, VALUE = 14 };

static double number(json_t *value) {
  return json_is_number(value) ? json_number_value(value) : NAN;
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

/* What people call an embedding. */
static const char *title(const char *embedding, const char *model) {
  if (strcmp(embedding, "X_pca") == 0) return "before";
  if (strcmp(embedding, "X_comp") == 0) return strcmp(model, "comp") == 0 ? "CoMP" : model;
  return strncmp(embedding, "X_", 2) == 0 ? embedding + 2 : embedding;
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
}

static const char *classifier_words(const char *name) {
  return strcmp(name, "logistic") == 0 ? "logistic regression"
         : strcmp(name, "forest") == 0 ? "a random forest"
                                       : "boosted trees";
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
    snprintf(words, sizeof words, "  %s, told by %s", column, classifier_words(name));
    put_name(text_clean(words), NAME);
    json_array_foreach(json_object_get(root, "predict"), i, item) {
      if (strcmp(json_string_value(json_object_get(item, "column")), column) != 0) continue;
      put_value(number(json_object_get(json_array_get(json_object_get(item, "classifiers"), k), "accuracy")), 3);
    }
    putchar('\n');
  }
  put_name("    by always saying the commonest value", NAME);
  json_array_foreach(json_object_get(root, "predict"), i, item) {
    if (strcmp(json_string_value(json_object_get(item, "column")), column) == 0)
      put_value(number(json_object_get(item, "majority")), 3);
  }
  putchar('\n');
}

static void put_fairness(json_t *root) {
  static const struct {
    const char *key, *words;
  } rows[] = {{"parity_gap", "  difference of chances (parity gap)"},
              {"odds_gap", "  difference of error rates (odds gap)"},
              {"accuracy_gap", "  difference of accuracies"}};
  json_t *list = json_object_get(root, "fairness"), *item;
  size_t i;
  if (json_array_size(list) == 0) return;
  puts("Is it fair? (a classifier's largest difference between groups, 0 is best)");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    put_name(rows[r].words, NAME);
    json_array_foreach(list, i, item) put_value(number(json_object_get(item, rows[r].key)), 3);
    putchar('\n');
  }
}

/* The three predictions of another condition. */
static void put_change(json_t *change, bool table) {
  static const char *const predictors[] = {"prediction", "no_change", "mean_shift"};
  static const struct {
    const char *key, *words; /* %s: "genes" */
    int digits;
  } rows[] = {{"r_all", "  r of means, all %s", 3},
              {"r_change_all", "  r of changes, all %s (the report's r)", 3},
              {"r_de", "  r of means, the %s that differ most (to 50)", 3},
              {"r_change_de", "  r of changes, these %s", 3},
              {"mse_de", "  mean squared error of these %s", 4},
              {"rmse_truth", "  error of single samples against the truth", 4}};
  char words[160];
  json_t *mean = json_object_get(change, "mean");
  size_t labels = json_array_size(json_object_get(change, "labels"));
  snprintf(words, sizeof words, "From %s to %s%s", json_string_value(json_object_get(change, "from")),
           json_string_value(json_object_get(change, "to")), labels > 1 ? " (mean over labels)" : "");
  put_name(text_clean(words), NAME);
  printf("%*s%*s%*s\n", VALUE, "predicted", VALUE, "no change", VALUE, "mean shift");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    double values[3];
    for (int p = 0; p < 3; p++) values[p] = number(json_object_get(json_object_get(mean, predictors[p]), rows[r].key));
    if (isnan(values[0])) continue;
    const char *mark = strstr(rows[r].words, "%s");
    snprintf(words, sizeof words, "%.*s%s%s", mark ? (int)(mark - rows[r].words) : NAME, rows[r].words,
             mark ? table ? "features" : "genes" : "", mark ? mark + 2 : "");
    put_name(words, NAME);
    for (int p = 0; p < 3; p++) put_value(values[p], rows[r].digits);
    putchar('\n');
  }
}

/* The share of conditions that the label alone tells, when that is more than the commonest value does. */
static void put_told_by_label(json_t *root, double told) {
  double majority = number(json_object_get(json_array_get(json_object_get(root, "predict"), 0), "majority"));
  if (isnan(told) || !(told > majority)) return;
  put_name("    by the label alone", NAME);
  for (size_t e = 0; e < json_array_size(json_object_get(root, "embeddings")); e++) put_value(told, 3);
  putchar('\n');
}

/* One sentence: can the condition still be told, and by whom? `told`: how well by the label alone, which should be
 * kept. Where one value is common, a classifier that is right no more often than by always saying it can still know
 * more than nothing: then it finds every value more often than chance. (The page says the same: src/report/words.c.) */
static void put_verdict(json_t *root, const char *condition, double told) {
  size_t i;
  json_t *item, *kind;
  double over = -INFINITY, margin = 2;
  const char *strongest = NULL, *floor = "";
  double right = 0, reference = 0; /* what the points are the difference of */
  bool by_value = false;           /* as a mean over the values, not over the samples */
  json_array_foreach(json_object_get(root, "predict"), i, item) {
    size_t k;
    if (strcmp(json_string_value(json_object_get(item, "column")), condition) != 0 ||
        strcmp(json_string_value(json_object_get(item, "embedding")), "X_comp") != 0)
      continue;
    double majority = number(json_object_get(item, "majority")), levels = number(json_object_get(item, "levels"));
    bool by_label = told > majority;
    margin = fmax(2, 100 / sqrt(number(json_object_get(item, "samples")))); /* two standard errors */
    floor = by_label ? "what the label alone tells" : "guessing";
    json_array_foreach(json_object_get(item, "classifiers"), k, kind) {
      double points = 100 * (number(json_object_get(kind, "accuracy")) - (by_label ? told : majority));
      double balanced = 100 * (number(json_object_get(kind, "balanced_accuracy")) - 1 / levels);
      bool more = !by_label && balanced > points;
      if (more) points = balanced;
      if (!(points > over)) continue;
      by_value = more;
      right = number(json_object_get(kind, more ? "balanced_accuracy" : "accuracy"));
      reference = more ? 1 / levels : by_label ? told : majority;
      over = points;
      strongest = json_string_value(json_object_get(kind, "classifier"));
    }
  }
  if (!strongest) return;
  const char *words = classifier_words(strongest);
  if (over <= 0)
    printf("'%s' can hardly be told from the representation: the best classifier, %s, is no better than %s.\n",
           condition, words, floor);
  else if (over <= margin)
    printf("'%s' can hardly be told from the representation: the best classifier, %s, is within %.0f points of %s.\n",
           condition, words, ceil(margin), floor);
  else
    printf("'%s' %s: the best classifier, %s, is %.1f points above %s (%s %.3f, against %.3f)%s.\n", condition,
           over > 10 ? "is not hidden" : "can still be told to some degree", words, over, floor,
           by_value ? "balanced accuracy, the mean over the values of the share found:" : "accuracy", right, reference,
           over > 10 ? "; more --epochs or another --gamma may hide it better" : "");
}

static double value_of(json_t *embeddings, const char *name, const char *metric) {
  size_t i;
  json_t *e;
  json_array_foreach(embeddings, i, e) {
    if (strcmp(json_string_value(json_object_get(e, "name")), name) == 0)
      return number(json_object_get(json_object_get(json_object_get(e, "scores"), metric), "value"));
  }
  return NAN;
}

/* One more when labels were lost with the condition. */
static void put_warning(json_t *embeddings) {
  double lisi = value_of(embeddings, "X_pca", "clisi") - value_of(embeddings, "X_comp", "clisi");
  double nmi = value_of(embeddings, "X_pca", "nmi_kmeans") - value_of(embeddings, "X_comp", "nmi_kmeans");
  if (lisi > 0.1 || nmi > 0.1)
    puts("Labels are less apart than before: more --epochs or a smaller --gamma may keep them; look at the report.");
}

static const char *kind_of_data(const run_job *job) {
  const char *kind = json_string_value(json_object_get(json_object_get(job->record, "input"), "kind"));
  return kind ? kind : "omics";
}

/* How the training ended, where that needs a word. */
static void put_training(json_t *record) {
  json_t *training = json_object_get(record, "training");
  long long epochs = json_integer_value(json_object_get(training, "epochs"));
  long long planned = json_integer_value(json_object_get(training, "planned"));
  json_t *best = json_object_get(training, "best");
  if (epochs > 0 && epochs < planned)
    printf("Training stopped after %lld of %lld epochs: the validation loss was lowest in epoch %lld and did not fall "
           "again (--patience 0 goes on to the end).\n",
           epochs, planned, (long long)json_integer_value(best));
  if (best && epochs > 1 && json_integer_value(best) == 1)
    puts("Warning: the validation loss was lowest in the first epoch: the model has hardly learned anything. Try a "
         "smaller --lr, or look for very large values in the data.");
}

int run_summary(run_job *job) {
  char path[4096];
  json_error_t problem;
  size_t i;
  json_t *e, *change;
  const run_options *o = job->options;
  snprintf(path, sizeof path, "%s/scores.json", job->folder);
  json_t *root = json_load_file(path, 0, &problem);
  if (!root) return cli_error(job->session, EXIT_FAILED, "%s: cannot be read again: %s", path, problem.text);
  json_t *embeddings = json_object_get(root, "embeddings");
  put_name(o->protect ? "Is it hidden?" : "Is it mixed?", NAME);
  json_array_foreach(embeddings, i, e) {
    printf("%*s", VALUE, title(json_string_value(json_object_get(e, "name")), o->model));
  }
  putchar('\n');
  put_metric(embeddings, "kbet", "  kBET: badly mixed neighbourhoods, 0 is best");
  put_metric(embeddings, "m_kbet", "  m-kBET: the same within labels, 0 is best");
  put_metric(embeddings, "s", "  s: own condition nearer, 0 is best");
  put_accuracies(root, o->condition);
  double told = number(json_object_get(job->record, "told_by_label"));
  put_told_by_label(root, told);
  if (o->label) {
    puts("Are labels kept apart?");
    put_metric(embeddings, "clisi", "  cLISI: neighbours share the label, 1 is best");
    put_metric(embeddings, "nmi_kmeans", "  NMI, k-means: clusters are labels, 1 is best");
  }
  if (o->target) {
    puts("Is it still useful?");
    put_accuracies(root, o->target);
    put_fairness(root);
  }
  change = json_object_get(root, "counterfactual");
  bool table = strcmp(kind_of_data(job), "table") == 0;
  if (change) put_change(change, table);
  json_t *more = json_object_get(root, "more_counterfactuals");
  if (json_array_size(more) == 1) put_change(json_array_get(more, 0), table);
  if (json_array_size(more) > 1) printf("%zu more changes of condition are in scores.json\n", json_array_size(more));
  putchar('\n');
  put_training(job->record);
  put_verdict(root, o->condition, told);
  put_warning(embeddings);
  printf("report: %s/report.html\n", job->folder);
  json_decref(root);
  return 0;
}
