/* scores.c: reading files of scores, and what is known of metrics by their names. */
#include "verdict/scores.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "verdict/json.h"

/* Metrics by name: letters and digits alone count, so that "m-kBET" and "m_kbet" are one. The first name of a row is
 * what comp__scores_find() is asked for. */
typedef struct known {
  const char *metric;
  const char *names; /* separated by spaces */
  comp__better better;
  const char *summary;
} known;

static const known table[] = {
    {"kbet", "kbet", COMP__BETTER_LOWER,
     "Share of samples whose neighbours do not have the conditions in the proportions of the whole data. 0: perfectly "
     "mixed; 1: apart."},
    {"m_kbet", "mkbet meankbet kbetwithin kbetwithinlabels", COMP__BETTER_LOWER,
     "kBET inside of each label, averaged over labels. 0: the conditions are perfectly mixed within every label."},
    {"silhouette", "s sk silhouette localsilhouette silhouettelocal", COMP__BETTER_ZERO,
     "Local silhouette of the condition. 0: neighbours of both conditions are equally near; above 0: conditions are "
     "apart; below 0: neighbours are of the other condition more than they should be."},
    {"m_silhouette", "slabel stilde ms msilhouette meansilhouette silhouettewithin swithin silhouettewithinlabels",
     COMP__BETTER_ZERO,
     "Local silhouette of the condition inside of each label, averaged over labels. Far from 0: samples of one label "
     "are "
     "not mixed as they should be."},
    {"r_all", "rall pearsonall", COMP__BETTER_HIGHER,
     "Pearson's r over all genes between the mean of real and of predicted samples of a condition."},
    {"r_de", "rde pearsonde", COMP__BETTER_HIGHER,
     "Pearson's r over the genes that differ most between the conditions (the highest test statistics: genes that are "
     "higher in the target condition): the harder test."},
    {"r_change", "rchange rchangeall rchangede rdelta pearsondelta pearsonchange", COMP__BETTER_HIGHER,
     "Pearson's r of the predicted change with the real change: predicting no change gives no credit here."},
    {"mse_all", "mseall mse", COMP__BETTER_LOWER, "Mean squared error of the predicted mean over all genes."},
    {"mse_de", "msede", COMP__BETTER_LOWER,
     "Mean squared error of the predicted mean over the genes that differ most."},
    {"r2", "r2 r2all r2de rsquared", COMP__BETTER_HIGHER,
     "Share of the variance between genes that the prediction explains."},
    {"rmse_single", "rmsetruth rmsepair", COMP__BETTER_LOWER,
     "Root of the mean squared error of single samples, where it is known what they would be."},
    {"e_distance", "edistance energydistance", COMP__BETTER_LOWER,
     "Energy distance between predicted and real samples: 0 when their distributions are the same. Predictions vary "
     "less "
     "than real samples do, which counts against them here."},
    {"ari", "ari arikmeans arileiden", COMP__BETTER_HIGHER,
     "How well clusters agree with the labels, by pairs; 0 by chance, 1 exactly."},
    {"label_knn", "labelknn knnpurity", COMP__BETTER_HIGHER,
     "Share of samples whose nearest neighbours mostly have their label. Lower than before: labels were mixed with "
     "each "
     "other (over-correction)."},
    {"clisi", "clisi", COMP__BETTER_HIGHER, "How pure in labels neighbourhoods are. 1: neighbours share the label."},
    {"nmi", "nmi nmikmeans nmileiden", COMP__BETTER_HIGHER,
     "How much clusters tell of the labels; 0 nothing, 1 everything."},
    {"accuracy", "accuracy labelaccuracy accuracylabel", COMP__BETTER_HIGHER,
     "Share of samples whose label a classifier finds from the representation."},
    {"condition_accuracy", "conditionaccuracy accuracycondition leakage", COMP__BETTER_LOWER,
     "How well a classifier finds the condition from the representation: the lower, the better it is hidden."},
    {"kl", "kl klestimate", COMP__BETTER_LOWER, "What the representation still tells of the condition, in nats."},
};

/* Names as people write them, for the page with its noun in place of "gene", and short ones for figures, which know no
 * noun. NULL: the same. */
static const struct {
  const char *name, *title, *brief;
} titles[] = {
    {"kbet", "kBET", NULL},
    {"m_kbet", "m-kBET", NULL},
    {"s", "s, local silhouette", NULL},
    {"s_label", "s~, local silhouette within labels", NULL},
    {"ilisi", "iLISI", NULL},
    {"clisi", "cLISI", NULL},
    {"kbet_label", "kBET accepted, within labels", NULL},
    {"label_knn", "neighbours share the label (kNN)", NULL},
    {"asw_batch", "silhouette of conditions", NULL},
    {"asw_label", "silhouette of labels", NULL},
    {"graph_connectivity", "graph connectivity", NULL},
    {"pcr", "PC regression", NULL},
    {"isolated", "isolated labels", NULL},
    {"nmi_kmeans", "NMI, k-means", NULL},
    {"ari_kmeans", "ARI, k-means", NULL},
    {"nmi_leiden", "NMI, Leiden", NULL},
    {"ari_leiden", "ARI, Leiden", NULL},
    {"total_batch", "total, mixing", NULL},
    {"total_bio", "total, labels", NULL},
    {"r_all", "r of means, all genes", "r of means, all"},
    {"r_de", "r of means, genes that differ most", "r of means, most differing"},
    {"r_change_all", "r of the change, all genes", "r of the change, all"},
    {"r_change_de", "r of the change, genes that differ most", "r of the change, most differing"},
    {"mse_all", "MSE, all genes", "MSE, all"},
    {"mse_de", "MSE, genes that differ most", "MSE, most differing"},
    {"r2_all", "R\u00b2, all genes", "R\u00b2, all"},
    {"r2_de", "R\u00b2, genes that differ most", "R\u00b2, most differing"},
    {"e_distance", "energy distance", NULL},
    {"rmse_truth", "error of single samples against the truth", "error of single samples, truth"},
    {"rmse_pair", "error of single samples against their pair", "error of single samples, pairs"},
};

const char *comp__score_title(const char *name, bool brief) {
  for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
    if (strcmp(titles[k].name, name) == 0) return brief && titles[k].brief ? titles[k].brief : titles[k].title;
  return name;
}

static void squeeze(char *out, size_t size, const char *name) {
  size_t n = 0;
  /* "s~" is the paper's name of the silhouette within labels. */
  for (const char *c = name; *c && n + 6 < size; c++) {
    if (isalnum((unsigned char)*c)) out[n++] = (char)tolower((unsigned char)*c);
    if (*c == '~') {
      memcpy(out + n, "tilde", 5);
      n += 5;
    }
  }
  out[n] = '\0';
}

static const known *look_up(const char *name) {
  char wanted[128];
  squeeze(wanted, sizeof wanted, name);
  size_t length = strlen(wanted);
  if (length == 0) return NULL;
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    for (const char *c = table[k].names; *c;) {
      size_t word = strcspn(c, " ");
      if (word == length && memcmp(c, wanted, word) == 0) return &table[k];
      c += word + (c[word] == ' ');
    }
  return NULL;
}

static comp__better better_of(const char *text) {
  if (!text) return COMP__BETTER_UNKNOWN;
  if (strncmp(text, "low", 3) == 0) return COMP__BETTER_LOWER;
  if (strncmp(text, "high", 4) == 0) return COMP__BETTER_HIGHER;
  if (strcmp(text, "zero") == 0 || strcmp(text, "0") == 0) return COMP__BETTER_ZERO;
  return COMP__BETTER_UNKNOWN;
}

const char *comp__better_name(comp__better better) {
  static const char *const names[] = {"", "lower", "higher", "zero"};
  return names[better];
}

/* A member as text, under either of two names. */
static const char *text_of(json_t *object, const char *name, const char *other) {
  const char *text = json_string_value(json_object_get(object, name));
  return text || !other ? text : json_string_value(json_object_get(object, other));
}

static double number_of(json_t *object, const char *name, const char *other) {
  json_t *value = json_object_get(object, name);
  if (!value && other) value = json_object_get(object, other);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static comp_status add(comp__scores *scores, json_t *object, const char *name, double value, const char *path) {
  comp_status status =
      comp__grow(&scores->items, &scores->capacity, scores->count, scores->count + 1, sizeof *scores->items);
  if (status != COMP_OK) return status;
  comp__score *s = &scores->items[scores->count++];
  const known *row = look_up(name);
  const char *embedding = text_of(object, "embedding", "use"), *method = text_of(object, "method", "model");
  const char *summary = text_of(object, "summary", "description");
  *s = (comp__score){
      .value = value, .error = number_of(object, "error", "se"), .better = better_of(text_of(object, "better", NULL))};
  if (s->better == COMP__BETTER_UNKNOWN && row) s->better = row->better;
  COMP__TRY(comp__strdup(&s->name, name));
  COMP__TRY(comp__strdup(&s->label, text_of(object, "label", NULL)));
  COMP__TRY(comp__strdup(&s->embedding, embedding));
  COMP__TRY(comp__strdup(&s->method, method ? method : embedding ? embedding : file_name(path)));
  COMP__TRY(comp__strdup(&s->summary, summary ? summary : row ? row->summary : ""));
  COMP__TRY(comp__strdup(&s->note, text_of(object, "note", "reason")));
  COMP__TRY(comp__strdup(&s->change, text_of(object, "change", NULL)));
done:
  return status;
}

static comp_status add_list(comp__scores *scores, json_t *list, const char *path) {
  size_t index;
  json_t *item;
  json_array_foreach(list, index, item) {
    const char *name = text_of(item, "name", "metric");
    json_t *value = json_object_get(item, "value");
    if (!name) return comp__error(COMP_ERR_FORMAT, "%s: entry %zu of the list of scores has no \"name\"", path, index);
    if (!json_is_number(value) && !json_is_null(value))
      return comp__error(COMP_ERR_FORMAT, "%s: score '%s' has no \"value\" that is a number or null", path, name);
    comp_status status = add(scores, item, name, json_is_number(value) ? json_number_value(value) : NAN, path);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* ---- What comp score --json writes ----------------------------------------------------------------------------- */

/* What the file says of a metric, with the embedding that a score is of. */
static json_t *describe(json_t *metrics, const char *name, const char *embedding) {
  json_t *about = NULL, *item;
  size_t index;
  json_array_foreach(metrics, index, item) {
    const char *own = json_string_value(json_object_get(item, "name"));
    if (own && strcmp(own, name) == 0) about = json_copy(item);
  }
  if (!about) about = json_object();
  json_object_set_new(about, "embedding", json_string(embedding));
  return about;
}

static comp_status add_value(comp__scores *scores, json_t *about, const char *name, json_t *value, const char *path) {
  return add(scores, about, name, json_is_number(value) ? json_number_value(value) : NAN, path);
}

/* One metric of one embedding: over all samples, and its parts by label. */
static comp_status add_metric(comp__scores *scores, json_t *metrics, const char *name, const char *embedding,
                              json_t *score, const char *path) {
  json_t *about = describe(metrics, name, embedding), *part, *note = json_object_get(score, "note");
  size_t index;
  if (json_is_string(note)) json_object_set(about, "note", note);
  if (look_up(name)) json_object_del(about, "summary"); /* the table's says what to make of it */
  comp_status status = add_value(scores, about, name, json_object_get(score, "value"), path);
  json_object_del(about, "note");
  json_array_foreach(json_object_get(score, "parts"), index, part) {
    if (status != COMP_OK || !json_is_string(json_object_get(part, "label"))) continue;
    if (json_is_string(json_object_get(part, "condition"))) continue; /* of one condition of the label */
    json_object_set(about, "label", json_object_get(part, "label"));
    if (json_is_string(json_object_get(part, "left_out")))
      json_object_set(about, "note", json_object_get(part, "left_out"));
    status = add_value(scores, about, name, json_object_get(part, "value"), path);
    json_object_del(about, "note");
  }
  json_decref(about);
  return status;
}

static comp_status add_embeddings(comp__scores *scores, json_t *root, const char *path) {
  size_t index;
  json_t *embedding, *score;
  json_array_foreach(json_object_get(root, "embeddings"), index, embedding) {
    const char *name = json_string_value(json_object_get(embedding, "name")), *metric;
    if (!name) return comp__error(COMP_ERR_FORMAT, "%s: entry %zu of \"embeddings\" has no \"name\"", path, index);
    json_object_foreach(json_object_get(embedding, "scores"), metric, score) {
      comp_status status = add_metric(scores, json_object_get(root, "metrics"), metric, name, score, path);
      if (status != COMP_OK) return status;
    }
  }
  return COMP_OK;
}

/* Predictions of another condition: the model's and two simple ones, over all labels (NULL) or in one. */
static comp_status add_predictors(comp__scores *scores, json_t *entry, json_t *label, const char *change,
                                  const char *path) {
  static const struct {
    const char *key, *method;
  } predictors[] = {{"prediction", "prediction"}, {"no_change", "no change"}, {"mean_shift", "mean shift"}};
  comp_status status = COMP_OK;
  for (size_t k = 0; k < sizeof predictors / sizeof *predictors; k++) {
    const char *name;
    json_t *value, *about = json_pack("{s:s}", "method", predictors[k].method);
    if (change) json_object_set_new(about, "change", comp__json_text(change));
    if (label) json_object_set(about, "label", label);
    json_object_foreach(json_object_get(entry, predictors[k].key), name, value) {
      if (status == COMP_OK && json_is_number(value)) status = add_value(scores, about, name, value, path);
    }
    json_decref(about);
  }
  return status;
}

static comp_status add_counterfactual(comp__scores *scores, json_t *object, const char *path) {
  const char *from = text_of(object, "from", NULL), *to = text_of(object, "to", NULL);
  char change[512];
  snprintf(change, sizeof change, "%.200s \u2192 %.200s", from ? from : "", to ? to : "");
  const char *named = from && to ? change : NULL;
  comp_status status = add_predictors(scores, json_object_get(object, "mean"), NULL, named, path);
  size_t index;
  json_t *entry;
  json_array_foreach(json_object_get(object, "labels"), index, entry) {
    if (status == COMP_OK && json_is_string(json_object_get(entry, "label")))
      status = add_predictors(scores, entry, json_object_get(entry, "label"), named, path);
  }
  return status;
}

/* A classifier's accuracy. Finding the condition is bad, finding anything else is good. */
static comp_status add_accuracy(comp__scores *scores, json_t *root, json_t *entry, json_t *result, const char *path) {
  const char *column = text_of(entry, "column", NULL), *condition = text_of(root, "condition", NULL);
  const char *embedding = text_of(entry, "embedding", NULL), *from = text_of(entry, "train_on", NULL);
  const char *to = text_of(entry, "test_on", NULL), *classifier = text_of(result, "classifier", NULL);
  char name[768], summary[512];
  if (from && to)
    snprintf(name, sizeof name, "label transfer %.200s \u2192 %.200s (%.60s)", from, to, classifier ? classifier : "");
  else
    snprintf(name, sizeof name, "accuracy of %.200s (%.60s)", column ? column : "labels", classifier ? classifier : "");
  snprintf(
      summary, sizeof summary,
      "Share of samples not trained on for which a classifier finds it from the representation; always saying the most "
      "frequent value gives %.3f.",
      number_of(entry, "majority", NULL));
  bool leak = column && condition && strcmp(column, condition) == 0;
  json_t *about = json_pack("{s:s, s:s}", "summary", summary, "better", leak ? "lower" : "higher");
  if (!about) return comp__error(COMP_ERR_MEMORY, "out of memory");
  if (embedding) json_object_set_new(about, "embedding", json_string(embedding));
  comp_status status = add_value(scores, about, name, json_object_get(result, "accuracy"), path);
  if (status == COMP_OK) scores->items[scores->count - 1].classified = column != NULL;
  json_decref(about);
  return status;
}

/* Keeps a list as it is. */
static comp_status keep_list(json_t **out, json_t *root, const char *name) {
  json_t *list = json_object_get(root, name);
  if (json_array_size(list) == 0) return COMP_OK;
  if (!*out) *out = json_array();
  return json_array_extend(*out, list) == 0 ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

static comp_status add_classifiers(comp__scores *scores, json_t *root, const char *list, const char *path) {
  size_t index, k;
  json_t *entry, *result;
  comp_status status = COMP_OK;
  json_array_foreach(json_object_get(root, list), index, entry) {
    json_t *results = json_object_get(entry, "classifiers");
    if (!results && status == COMP_OK) status = add_accuracy(scores, root, entry, entry, path);
    json_array_foreach(results, k, result) {
      if (status == COMP_OK) status = add_accuracy(scores, root, entry, result, path);
    }
  }
  return status;
}

static comp_status add_own(comp__scores *scores, json_t *root, const char *path) {
  comp_status status = add_embeddings(scores, root, path);
  json_t *counterfactual = json_object_get(root, "counterfactual"), *more;
  size_t index;
  if (status == COMP_OK && json_is_object(counterfactual)) status = add_counterfactual(scores, counterfactual, path);
  json_array_foreach(json_object_get(root, "more_counterfactuals"), index, more) {
    if (status == COMP_OK) status = add_counterfactual(scores, more, path);
  }
  if (status == COMP_OK) status = add_classifiers(scores, root, "predict", path);
  if (status == COMP_OK) status = add_classifiers(scores, root, "transfer", path);
  if (status == COMP_OK) status = keep_list(&scores->predict, root, "predict");
  if (status == COMP_OK) status = keep_list(&scores->fairness, root, "fairness");
  return status;
}

static bool is_own(json_t *root) {
  return json_is_array(json_object_get(root, "embeddings")) ||
         json_is_object(json_object_get(root, "counterfactual")) || json_is_array(json_object_get(root, "predict"));
}

comp_status comp__scores_add(comp__scores *scores, json_t *root, const char *path) {
  static const char *const lists[] = {"scores", "metrics", "results"};
  json_t *list = json_is_array(root) ? root : NULL;
  bool own = is_own(root);
  for (int k = 0; k < 3 && !list && !own; k++)
    if (json_is_array(json_object_get(root, lists[k]))) list = json_object_get(root, lists[k]);
  comp_status status = COMP_OK;
  const char *key;
  json_t *value;
  if (own) {
    status = add_own(scores, root, path);
  } else if (list) {
    status = add_list(scores, list, path);
  } else {
    json_object_foreach(root, key, value) if (status == COMP_OK && json_is_number(value)) status =
        add(scores, NULL, key, json_number_value(value), path);
  }
  return status;
}

comp_status comp__json_read(json_t **out, const char *path, size_t flags) {
  json_error_t problem;
  *out = json_load_file(path, flags, &problem);
  if (*out) return COMP_OK;
  if (problem.line < 0) return comp__error(COMP_ERR_IO, "cannot read '%s': %s", path, problem.text);
  return comp__error(COMP_ERR_FORMAT, "%s: line %d: not JSON: %s", path, problem.line, problem.text);
}

comp_status comp__scores_missing(const char *path) {
  return comp__error(COMP_ERR_FORMAT,
                     "%s: holds no scores: a list of {\"name\", \"value\"} is expected, as comp score --json writes",
                     path);
}

comp_status comp__scores_read(comp__scores *scores, const char *path) {
  json_t *root;
  size_t before = scores->count;
  comp_status status = comp__json_read(&root, path, JSON_REJECT_DUPLICATES);
  if (status == COMP_OK) status = comp__scores_add(scores, root, path);
  if (status == COMP_OK && scores->count == before) status = comp__scores_missing(path);
  json_decref(root);
  return status;
}

void comp__scores_release(comp__scores *scores) {
  for (size_t i = 0; i < scores->count; i++) {
    comp__score *s = &scores->items[i];
    comp__free(s->name);
    comp__free(s->label);
    comp__free(s->embedding);
    comp__free(s->method);
    comp__free(s->summary);
    comp__free(s->note);
    comp__free(s->change);
  }
  comp__free(scores->items);
  json_decref(scores->predict);
  json_decref(scores->fairness);
  *scores = (comp__scores){0};
}

int comp__score_is(const comp__score *score, const char *metric) {
  const known *row = look_up(score->name);
  return row && strcmp(row->metric, metric) == 0;
}

/* `label` NULL: over all samples. */
static double find(const comp__scores *scores, const char *metric, const char *embedding, const char *label) {
  for (size_t i = scores->count; i-- > 0;) {
    const comp__score *s = &scores->items[i];
    if (!s->label != !label || (label && strcmp(s->label, label) != 0) || !comp__score_is(s, metric)) continue;
    if (embedding && (!s->embedding || strcmp(s->embedding, embedding) != 0)) continue;
    return s->value;
  }
  return NAN;
}

double comp__scores_find(const comp__scores *scores, const char *metric, const char *embedding) {
  return find(scores, metric, embedding, NULL);
}

double comp__scores_find_label(const comp__scores *scores, const char *metric, const char *embedding,
                               const char *label) {
  return find(scores, metric, embedding, label);
}
