/* examiner.c: see examiner.h. */
#include "verdict/examiner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/options.h"

const char *comp__question(comp__asks about) {
  static const char *const questions[] = {"Are predictions of single samples unique (identifiable)?",
                                          "Is z independent of the condition?", "Do other seeds agree?",
                                          "Is anything lost but the condition?", "What can no check show?"};
  return questions[about];
}

void comp__examiner_add(comp__examiner *j, comp__asks about, const char *id, comp_finding_level level, double value,
                        const char *measure, const char *advice, const char *text, ...) {
  if (j->status != COMP_OK) return;
  char reason[2048];
  va_list arguments;
  va_start(arguments, text);
  vsnprintf(reason, sizeof reason, text, arguments);
  va_end(arguments);
  j->status = comp__findings_add(j->out, id, level, comp__question(about), reason, advice);
  if (j->status == COMP_OK && measure[0]) j->status = comp__findings_number(j->out, measure, value);
}

void comp__examiner_label(comp__examiner *j, size_t label) {
  if (j->status == COMP_OK) j->status = comp__findings_label(j->out, j->r->labels.levels[label]);
}

comp_finding_level comp__level_from(double value, double caution, double problem) {
  return value >= problem ? COMP_FINDING_PROBLEM : value >= caution ? COMP_FINDING_CAUTION : COMP_FINDING_OK;
}

comp_finding_level comp__level_down_from(double value, double caution, double problem) {
  return comp__level_from(-value, -caution, -problem);
}

const char *comp__plural(size_t n) {
  return n == 1 ? "" : "s";
}

void comp__names_add(comp__names *list, const char *name, const char *shown) {
  enum { TAIL = 32 }; /* for ", and N more" */
  size_t used = strlen(list->text);
  if (list->left_out || used + strlen(name) + strlen(shown) + 5 + TAIL > sizeof list->text)
    list->left_out++;
  else
    snprintf(list->text + used, sizeof list->text - used, "%s%s (%s)", used ? ", " : "", name, shown);
}

void comp__names_add_number(comp__names *list, const char *name, const char *format, double number) {
  char shown[32];
  snprintf(shown, sizeof shown, format, number);
  comp__names_add(list, name, shown);
}

const char *comp__names_finish(comp__names *list) {
  size_t used = strlen(list->text);
  if (list->left_out)
    snprintf(list->text + used, sizeof list->text - used, "%s%zu more", used ? ", and " : "", list->left_out);
  list->left_out = 0;
  return list->text;
}

bool comp__examiner_penalised(const comp__examiner *j) {
  const comp__model_options *o = comp__model_get_options(j->r->model);
  return o->penalty != COMP_PENALTY_NONE && o->gamma > 0;
}
