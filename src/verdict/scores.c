/* scores.c: reading files of scores. What is known of metrics by their names is in their rows (comp/metrics.h). */
#include "verdict/scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comp/counterfactual_score.h"
#include "core/alloc.h"
#include "core/error.h"
#include "verdict/json.h"

const char *comp__score_title(const char *name, bool brief) {
  const comp_score_metric *row = comp_score_known_find(name);
  if (!row) return name;
  return brief && row->brief ? row->brief : row->title;
}

/* A direction that is not known is as good as none. */
static comp_better better_of(const char *text) {
  comp_better better;
  return text && comp_better_parse(&better, text) == COMP_OK ? better : COMP_BETTER_UNKNOWN;
}

static const char *text_of(json_t *object, const char *name) {
  return json_string_value(json_object_get(object, name));
}

static double number_of(json_t *object, const char *name) {
  json_t *value = json_object_get(object, name);
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
  comp__read_score *s = &scores->items[scores->count++];
  const comp_score_metric *row = comp_score_known_find(name);
  const char *embedding = text_of(object, "embedding"), *method = text_of(object, "method");
  const char *summary = text_of(object, "summary");
  *s = (comp__read_score){.value = value,
                          .error = number_of(object, "error"),
                          .low = number_of(object, "low"),
                          .high = number_of(object, "high"),
                          .chance = number_of(object, "chance"),
                          .better = better_of(text_of(object, "better"))};
  if (s->better == COMP_BETTER_UNKNOWN && row) s->better = row->better;
  COMP__TRY(comp__strdup(&s->name, name));
  COMP__TRY(comp__strdup(&s->label, text_of(object, "label")));
  COMP__TRY(comp__strdup(&s->embedding, embedding));
  COMP__TRY(comp__strdup(&s->method, method ? method : embedding ? embedding : file_name(path)));
  COMP__TRY(comp__strdup(&s->summary, summary ? summary : row ? row->help ? row->help : row->summary : ""));
  COMP__TRY(comp__strdup(&s->note, text_of(object, "note")));
  COMP__TRY(comp__strdup(&s->change, text_of(object, "change")));
done:
  return status;
}

static comp_status add_list(comp__scores *scores, json_t *list, const char *path) {
  size_t index;
  json_t *item;
  json_array_foreach(list, index, item) {
    const char *name = text_of(item, "name");
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

/* What a score has over all samples, and its parts have not. */
static const char *const of_whole[] = {"low", "high", "chance"};
enum { OF_WHOLE = sizeof of_whole / sizeof *of_whole };

/* One metric of one embedding: over all samples, and its parts by label. */
static comp_status add_metric(comp__scores *scores, json_t *metrics, const char *name, const char *embedding,
                              json_t *score, const char *path) {
  json_t *about = describe(metrics, name, embedding), *part, *note = json_object_get(score, "note");
  size_t index;
  if (json_is_string(note)) json_object_set(about, "note", note);
  const comp_score_metric *row = comp_score_known_find(name);
  if (row && row->help) json_object_del(about, "summary"); /* help says what to make of it */
  for (size_t i = 0; i < OF_WHOLE; i++)
    if (json_is_number(json_object_get(score, of_whole[i])))
      json_object_set(about, of_whole[i], json_object_get(score, of_whole[i]));
  comp_status status = add_value(scores, about, name, json_object_get(score, "value"), path);
  json_object_del(about, "note");
  for (size_t i = 0; i < OF_WHOLE; i++) json_object_del(about, of_whole[i]);
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
  comp_status status = COMP_OK;
  for (int p = 0; p < COMP_PREDICTORS; p++) {
    const char *name;
    json_t *value, *about = json_pack("{s:s}", "method", comp_predictor_name((comp_predictor)p));
    if (change) json_object_set_new(about, "change", comp__json_text(change));
    if (label) json_object_set(about, "label", label);
    json_object_foreach(json_object_get(entry, comp_predictor_key((comp_predictor)p)), name, value) {
      if (status == COMP_OK && json_is_number(value)) status = add_value(scores, about, name, value, path);
    }
    json_decref(about);
  }
  return status;
}

static comp_status add_counterfactual(comp__scores *scores, json_t *object, const char *path) {
  const char *from = text_of(object, "from"), *to = text_of(object, "to");
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
  const char *column = text_of(entry, "column"), *condition = text_of(root, "condition");
  const char *embedding = text_of(entry, "embedding"), *from = text_of(entry, "train_on");
  const char *to = text_of(entry, "test_on"), *classifier = text_of(result, "classifier");
  char name[768], summary[512];
  if (from && to)
    snprintf(name, sizeof name, "label transfer %.200s \u2192 %.200s (%.60s)", from, to, classifier ? classifier : "");
  else
    snprintf(name, sizeof name, "accuracy of %.200s (%.60s)", column ? column : "labels", classifier ? classifier : "");
  snprintf(
      summary, sizeof summary,
      "Accuracy of a classifier that predicts it from the embedding, on samples that it was not trained on; always "
      "predicting the most common value gives %.3f.",
      number_of(entry, "majority"));
  bool leak = column && condition && strcmp(column, condition) == 0;
  json_t *about = json_pack("{s:s, s:s}", "summary", summary, "better", leak ? "lower" : "higher");
  if (!about) return comp__error(COMP_ERR_MEMORY, "out of memory");
  if (embedding) json_object_set_new(about, "embedding", json_string(embedding));
  if (json_is_number(json_object_get(result, "low"))) json_object_set(about, "low", json_object_get(result, "low"));
  if (json_is_number(json_object_get(result, "high"))) json_object_set(about, "high", json_object_get(result, "high"));
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
  if (json_is_true(json_object_get(root, "protect")) || json_array_size(scores->fairness) > 0) scores->protect = true;
  if (json_object_get(root, "audit")) scores->audited = true;
  if (comp__member_count(root, "drawn_from") > 0) {
    scores->scored = comp__member_count(root, "samples");
    scores->drawn_from = comp__member_count(root, "drawn_from");
  }
  return status;
}

static bool is_own(json_t *root) {
  return json_is_array(json_object_get(root, "embeddings")) ||
         json_is_object(json_object_get(root, "counterfactual")) || json_is_array(json_object_get(root, "predict"));
}

comp_status comp__scores_add(comp__scores *scores, json_t *root, const char *path) {
  json_t *list = json_is_array(root) ? root : json_object_get(root, "scores");
  bool own = is_own(root);
  comp_status status = COMP_OK;
  const char *key;
  json_t *value;
  if (own) {
    status = add_own(scores, root, path);
  } else if (json_is_array(list)) {
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
    comp__read_score *s = &scores->items[i];
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

int comp__score_is(const comp__read_score *score, const char *metric) {
  const comp_score_metric *row = comp_score_known_find(score->name);
  return row && strcmp(row->name, metric) == 0;
}

/* `label` NULL: over all samples. */
static const comp__read_score *find(const comp__scores *scores, const char *metric, const char *embedding,
                                    const char *label) {
  for (size_t i = scores->count; i-- > 0;) {
    const comp__read_score *s = &scores->items[i];
    if (!s->label != !label || (label && strcmp(s->label, label) != 0) || !comp__score_is(s, metric)) continue;
    if (embedding && (!s->embedding || strcmp(s->embedding, embedding) != 0)) continue;
    return s;
  }
  return NULL;
}

double comp__scores_find(const comp__scores *scores, const char *metric, const char *embedding) {
  const comp__read_score *s = find(scores, metric, embedding, NULL);
  return s ? s->value : NAN;
}

comp__interval comp__scores_interval(const comp__scores *scores, const char *metric, const char *embedding) {
  const comp__read_score *s = find(scores, metric, embedding, NULL);
  return s ? (comp__interval){s->low, s->high} : (comp__interval){NAN, NAN};
}

double comp__scores_chance(const comp__scores *scores, const char *metric, const char *embedding) {
  const comp__read_score *s = find(scores, metric, embedding, NULL);
  return s ? s->chance : NAN;
}

double comp__scores_find_label(const comp__scores *scores, const char *metric, const char *embedding,
                               const char *label) {
  const comp__read_score *s = find(scores, metric, embedding, label);
  return s ? s->value : NAN;
}
