/* classified.c: the strongest classifier of a column, from the list "predict" of a document of scores. */
#include <math.h>
#include <string.h>

#include "comp/classify.h"
#include "verdict/evidence.h"
#include "verdict/json.h"

const char *comp__classifier_words(const char *name) {
  for (int kind = 0; kind < COMP_CLASSIFIER_KINDS; kind++)
    if (strcmp(comp_classifier_kind_name((comp_classifier_kind)kind), name) == 0)
      return comp_classifier_kind_title((comp_classifier_kind)kind);
  return name;
}

static void compare(comp__classified *best, json_t *result) {
  double accuracy = comp__member_number(result, "accuracy"),
         balanced = comp__member_number(result, "balanced_accuracy");
  if (isnan(accuracy)) return;
  best->tried++;
  if (!(accuracy <= best->accuracy)) {
    best->accuracy = accuracy;
    best->classifier = comp__member_text(result, "classifier");
  }
  if (!isnan(balanced) && !(balanced <= best->balanced)) {
    best->balanced = balanced;
    best->balanced_classifier = comp__member_text(result, "classifier");
  }
}

comp__classified comp__classified_find(const comp__scores *scores, const char *column, const char *embedding) {
  comp__classified best = {.column = column, .accuracy = NAN, .balanced = NAN, .majority = NAN};
  size_t i, k;
  json_t *entry, *result;
  json_array_foreach(scores->predict, i, entry) {
    if (strcmp(comp__member_text(entry, "column"), column) != 0) continue;
    if (embedding && strcmp(comp__member_text(entry, "embedding"), embedding) != 0) continue;
    best = (comp__classified){.column = comp__member_text(entry, "column"),
                              .accuracy = NAN,
                              .balanced = NAN,
                              .majority = comp__member_number(entry, "majority"),
                              .levels = comp__member_count(entry, "levels"),
                              .samples = comp__member_count(entry, "samples"),
                              .classifiers = json_object_get(entry, "classifiers")};
    json_array_foreach(best.classifiers, k, result) {
      compare(&best, result);
    }
  }
  return best;
}
