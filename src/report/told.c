/* told.c: what classifiers tell from a representation, and what can be guessed without one. */
#include "report/told.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

static const char *text_of(json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : "";
}

static double number_of(json_t *object, const char *name) {
  json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static size_t count_of(json_t *object, const char *name) {
  json_int_t value = json_integer_value(json_object_get(object, name));
  return value > 0 ? (size_t)value : 0;
}

const char *comp__classifier_words(const char *name) {
  static const struct {
    const char *name, *words;
  } known[] = {{"logistic", "logistic regression"}, {"forest", "a random forest"}, {"boosted", "boosted trees"}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (strcmp(known[k].name, name) == 0) return known[k].words;
  return name;
}

comp__told comp__told_find(const comp__scores *scores, const char *column, const char *embedding) {
  comp__told told = {.column = column, .accuracy = NAN, .balanced = NAN, .majority = NAN};
  size_t i, k;
  json_t *entry, *result;
  json_array_foreach(scores->predict, i, entry) {
    if (strcmp(text_of(entry, "column"), column) != 0) continue;
    if (embedding && strcmp(text_of(entry, "embedding"), embedding) != 0) continue;
    told = (comp__told){.column = text_of(entry, "column"),
                        .accuracy = NAN,
                        .balanced = NAN,
                        .majority = number_of(entry, "majority"),
                        .levels = count_of(entry, "levels"),
                        .samples = count_of(entry, "samples"),
                        .classifiers = json_object_get(entry, "classifiers")};
    json_array_foreach(told.classifiers, k, result) {
      double accuracy = number_of(result, "accuracy"), balanced = number_of(result, "balanced_accuracy");
      if (isnan(accuracy)) continue;
      told.tried++;
      if (!(accuracy <= told.accuracy)) {
        told.accuracy = accuracy;
        told.classifier = text_of(result, "classifier");
      }
      if (!isnan(balanced) && !(balanced <= told.balanced)) {
        told.balanced = balanced;
        told.balanced_classifier = text_of(result, "classifier");
      }
    }
  }
  return told;
}

/* counts: [labels, conditions]. */
static comp__guess guess(const size_t *counts, size_t labels, size_t conditions) {
  comp__guess g = {0};
  size_t known = 0, used = 0;
  double right = 0;
  size_t totals[64] = {0};
  for (size_t l = 0; l < labels; l++)
    for (size_t c = 0; c < conditions; c++) totals[c] += counts[l * conditions + c];
  for (size_t c = 0; c < conditions; c++) {
    known += totals[c];
    used += totals[c] > 0;
  }
  for (size_t l = 0; l < labels; l++) {
    size_t most = 0;
    double largest = 0, smallest = 1;
    for (size_t c = 0; c < conditions; c++) {
      size_t n = counts[l * conditions + c];
      if (totals[c] == 0) continue;
      double share = (double)n / (double)totals[c];
      if (n > most) most = n;
      largest = fmax(largest, share);
      smallest = fmin(smallest, share);
    }
    right += (double)most;
    g.balanced += largest / (double)(used ? used : 1);
    g.gap = fmax(g.gap, largest - smallest);
  }
  g.accuracy = known ? right / (double)known : NAN;
  if (!known) g.balanced = g.gap = NAN;
  return g;
}

comp_status comp__told_guess(comp__guess *out, const comp__subject *s, const char *column) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  comp_groups conditions = {0}, labels = {0};
  size_t *counts = NULL;
  comp_status status;
  *out = (comp__guess){NAN, NAN, NAN};
  if (!s->condition || !column || comp_table_find(obs, column) == COMP_NOT_FOUND) return COMP_OK;
  COMP__TRY(comp_table_groups(&conditions, obs, comp_table_find(obs, s->condition)));
  COMP__TRY(comp_table_groups(&labels, obs, comp_table_find(obs, column)));
  if (conditions.n_levels > 64) goto done; /* that is no condition */
  COMP__TRY(comp__calloc(&counts, labels.n_levels * conditions.n_levels + 1, sizeof *counts));
  for (size_t i = 0; i < conditions.rows; i++)
    if (conditions.codes[i] >= 0 && labels.codes[i] >= 0)
      counts[(size_t)labels.codes[i] * conditions.n_levels + (size_t)conditions.codes[i]]++;
  *out = guess(counts, labels.n_levels, conditions.n_levels);
done:
  comp_groups_release(&conditions);
  comp_groups_release(&labels);
  comp__free(counts);
  return status;
}

static comp_status put_guess(json_t *list, const comp__subject *s, const char *column) {
  comp__guess g;
  comp_status status;
  json_t *object = json_object();
  COMP__TRY(comp__told_guess(&g, s, column));
  if (isnan(g.accuracy)) goto done;
  COMP__TRY(comp__put(object, "column", comp__json_text(column)));
  COMP__TRY(comp__put(object, "accuracy", comp__json_number(g.accuracy)));
  COMP__TRY(comp__put(object, "balanced", comp__json_number(g.balanced)));
  COMP__TRY(comp__put(object, "gap", comp__json_number(g.gap)));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  json_decref(object);
  return status;
}

comp_status comp__gather_told(json_t **out, const comp__subject *s) {
  json_t *object = json_object(), *guesses = json_array(), *fairness, *entry;
  comp_status status;
  size_t i;
  if (json_array_size(s->scores.predict) == 0) {
    json_decref(object);
    object = json_null();
    status = COMP_OK;
    *out = json_incref(object);
    goto done;
  }
  COMP__TRY(put_guess(guesses, s, s->label));
  fairness = s->scores.fairness;
  json_array_foreach(fairness, i, entry) {
    const char *column = text_of(entry, "column"), *last = i ? text_of(json_array_get(fairness, i - 1), "column") : "";
    if (strcmp(column, last) != 0 && !(s->label && strcmp(column, s->label) == 0))
      COMP__TRY(put_guess(guesses, s, column));
  }
  COMP__TRY(comp__put(object, "predict", json_incref(s->scores.predict)));
  COMP__TRY(comp__put(object, "fairness", fairness ? json_incref(fairness) : json_array()));
  COMP__TRY(comp__put(object, "guesses", json_incref(guesses)));
  *out = json_incref(object);
done:
  json_decref(object);
  json_decref(guesses);
  return status;
}
