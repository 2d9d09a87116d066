/* scores.c: reading files of scores, and what is known of metrics by their names. */
#include "report/scores.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

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
     "kBET inside of each label, averaged over labels. High while kBET is low: samples of different labels were mixed "
     "with each other (over-correction)."},
    {"silhouette", "s sk silhouette localsilhouette silhouettelocal", COMP__BETTER_ZERO,
     "Local silhouette of the condition. 0: neighbours of both conditions are equally near; above 0: conditions are "
     "apart; below 0: neighbours are of the other condition more than they should be."},
    {"m_silhouette", "stilde ms msilhouette meansilhouette silhouettewithin swithin silhouettewithinlabels",
     COMP__BETTER_ZERO,
     "Local silhouette of the condition inside of each label, averaged over labels. Far from 0: samples of one label "
     "are "
     "not mixed as they should be."},
    {"r_all", "rall pearsonall", COMP__BETTER_HIGHER,
     "Pearson's r over all genes between the mean of real and of predicted samples of a condition."},
    {"r_de", "rde pearsonde", COMP__BETTER_HIGHER,
     "Pearson's r over the genes that differ most between the conditions: the harder test."},
    {"r_change", "rchange rdelta pearsondelta pearsonchange rchangeall", COMP__BETTER_HIGHER,
     "Pearson's r of the predicted change with the real change: predicting no change gives no credit here."},
    {"mse_all", "mseall mse", COMP__BETTER_LOWER, "Mean squared error of the predicted mean over all genes."},
    {"mse_de", "msede", COMP__BETTER_LOWER,
     "Mean squared error of the predicted mean over the genes that differ most."},
    {"r2", "r2 r2all rsquared", COMP__BETTER_HIGHER,
     "Share of the variance between genes that the prediction explains."},
    {"e_distance", "edistance energydistance", COMP__BETTER_LOWER,
     "Energy distance between predicted and real samples: 0 when their distributions are the same."},
    {"ari", "ari", COMP__BETTER_HIGHER, "How well clusters agree with the labels, by pairs; 0 by chance, 1 exactly."},
    {"nmi", "nmi", COMP__BETTER_HIGHER, "How much clusters tell of the labels; 0 nothing, 1 everything."},
    {"accuracy", "accuracy labelaccuracy accuracylabel", COMP__BETTER_HIGHER,
     "Share of samples whose label a classifier finds from the representation."},
    {"condition_accuracy", "conditionaccuracy accuracycondition leakage", COMP__BETTER_LOWER,
     "How well a classifier finds the condition from the representation: the lower, the better it is hidden."},
    {"kl", "kl klestimate", COMP__BETTER_LOWER, "What the representation still tells of the condition, in nats."},
};

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

comp_status comp__scores_read(comp__scores *scores, const char *path) {
  json_error_t problem;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
  if (!root) {
    if (problem.line < 0) return comp__error(COMP_ERR_IO, "cannot read '%s': %s", path, problem.text);
    return comp__error(COMP_ERR_FORMAT, "%s: line %d: not JSON: %s", path, problem.line, problem.text);
  }
  static const char *const lists[] = {"scores", "metrics", "results"};
  json_t *list = json_is_array(root) ? root : NULL;
  for (int k = 0; k < 3 && !list; k++)
    if (json_is_array(json_object_get(root, lists[k]))) list = json_object_get(root, lists[k]);
  comp_status status = COMP_OK;
  size_t before = scores->count;
  const char *key;
  json_t *value;
  if (list) {
    status = add_list(scores, list, path);
  } else {
    json_object_foreach(root, key, value) if (status == COMP_OK && json_is_number(value)) status =
        add(scores, NULL, key, json_number_value(value), path);
  }
  if (status == COMP_OK && scores->count == before)
    status = comp__error(COMP_ERR_FORMAT,
                         "%s: holds no scores: a list of {\"name\", \"value\"} is expected, as comp score "
                         "--json writes",
                         path);
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
  }
  comp__free(scores->items);
  *scores = (comp__scores){0};
}

int comp__score_is(const comp__score *score, const char *metric) {
  const known *row = look_up(score->name);
  return row && strcmp(row->metric, metric) == 0;
}

double comp__scores_find(const comp__scores *scores, const char *metric, const char *embedding) {
  for (size_t i = scores->count; i-- > 0;) {
    const comp__score *s = &scores->items[i];
    if (s->label || !comp__score_is(s, metric)) continue;
    if (embedding && (!s->embedding || strcmp(s->embedding, embedding) != 0)) continue;
    return s->value;
  }
  return NAN;
}
