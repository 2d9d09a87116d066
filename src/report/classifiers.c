/* classifiers.c: what classifiers predict from an embedding, for the page's section on them. */
#include "report/classifiers.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "verdict/evidence.h"

/* How well the condition is predicted from a column alone, without an embedding. */
static comp_status put_guess(json_t *list, const comp__subject *s, const char *column) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  comp__evidence e = {0};
  comp__cross cross;
  char *text;
  comp_status status;
  json_t *object = json_object();
  if (!s->condition || !column || comp_table_find(obs, column) == COMP_NOT_FOUND) {
    json_decref(object);
    return COMP_OK;
  }
  COMP__TRY(comp_design_json(&text, s->dataset, s->condition, column, NULL, 0));
  e.design = json_loads(text, 0, NULL);
  comp_free(text);
  comp__guess g = {NAN, NAN, NAN};
  if (comp__design_label(&cross, NULL, &e)) g = comp__cross_guess(&cross);
  if (isnan(g.accuracy)) goto done;
  COMP__TRY(comp__put(object, "column", comp__json_text(column)));
  COMP__TRY(comp__put(object, "accuracy", comp__json_number(g.accuracy)));
  COMP__TRY(comp__put(object, "balanced", comp__json_number(g.balanced)));
  COMP__TRY(comp__put(object, "gap", comp__json_number(g.gap)));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  comp__evidence_release(&e);
  json_decref(object);
  return status;
}

/* What the classifiers that were tried are called in a sentence, by their names. */
static comp_status put_names(json_t *object, json_t *predict) {
  json_t *names = json_object(), *entry, *tried;
  comp_status status = COMP_OK;
  size_t i, k;
  json_array_foreach(predict, i, entry) {
    json_array_foreach(json_object_get(entry, "classifiers"), k, tried) {
      const char *name = comp__member_text(tried, "classifier");
      COMP__TRY(comp__put(names, name, comp__json_text(comp__classifier_words(name))));
    }
  }
  COMP__TRY(comp__put(object, "names", json_incref(names)));
done:
  json_decref(names);
  return status;
}

comp_status comp__gather_classifiers(json_t **out, const comp__subject *s) {
  json_t *object = json_object(), *guesses = json_array(), *fairness = s->scores.fairness, *entry;
  comp_status status = COMP_OK;
  size_t i;
  if (json_array_size(s->scores.predict) == 0) {
    *out = json_null();
    goto done;
  }
  COMP__TRY(put_guess(guesses, s, s->label));
  json_array_foreach(fairness, i, entry) {
    const char *column = comp__member_text(entry, "column");
    const char *last = i ? comp__member_text(json_array_get(fairness, i - 1), "column") : "";
    if (strcmp(column, last) != 0 && !(s->label && strcmp(column, s->label) == 0))
      COMP__TRY(put_guess(guesses, s, column));
  }
  COMP__TRY(comp__put(object, "predict", json_incref(s->scores.predict)));
  COMP__TRY(comp__put(object, "protect", json_boolean(s->scores.protect)));
  COMP__TRY(comp__put(object, "audited", json_boolean(s->scores.audited)));
  COMP__TRY(comp__put(object, "fairness", fairness ? json_incref(fairness) : json_array()));
  COMP__TRY(put_names(object, s->scores.predict));
  COMP__TRY(comp__put(object, "guesses", json_incref(guesses)));
  *out = json_incref(object);
done:
  json_decref(object);
  json_decref(guesses);
  return status;
}
