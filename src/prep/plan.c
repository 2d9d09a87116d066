/* plan.c: from what the values look like to the options of the preparation. */
#include "prep/plan.h"

#include "core/error.h"

/* Below this total, log(1 + x) of single counts is nearly x: nothing would be gained by it. */
static const double LEAST_TOTAL = 100.0;

static comp_status set_all(comp_options *p, const char *total, bool counts) {
  comp_status status = total ? comp_options_set(p, "normalize-total", total) : COMP_OK;
  if (status == COMP_OK) status = comp_options_set_bool(p, "log1p", true);
  if (status == COMP_OK && counts) status = comp_options_set_bool(p, "keep-counts", true);
  return status;
}

static comp_status set_to_counts(comp_options *p, const char *condition) {
  comp_status status = comp_options_set_bool(p, "to-counts", true);
  if (status == COMP_OK && condition) status = comp_options_set(p, "condition", condition);
  return status;
}

static comp_status refuse(const comp_data_look *look, const char *condition) {
  if (look->kind == COMP_DATA_NEGATIVE)
    return comp__error(COMP_ERR_DATA,
                       "%s. Give the counts from before a background was subtracted, or --values centered to take the "
                       "numbers as they are",
                       look->reason);
  return comp__error(COMP_ERR_DATA,
                     "%s%s%s values on different scales, which cannot be brought to one (%s). Give counts for all "
                     "samples, or prepare each part the same way; --values KIND takes all as of one kind",
                     condition ? "the conditions of column '" : "X", condition ? condition : "",
                     condition ? "' hold" : " holds", look->reason);
}

comp_status comp__prep_plan(comp_options *p, const char **why, const comp_data_look *look, const char *condition) {
  comp_status status;
  switch (look->kind) {
  case COMP_DATA_COUNTS:
    *why = look->binary ? "taken as they are" : "samples are scaled to the same total, and logarithms taken";
    return look->binary ? COMP_OK : set_all(p, "median", true);
  case COMP_DATA_ESTIMATED:
    *why = "treated as counts: samples are scaled to the same total, and logarithms taken";
    return set_all(p, "median", true);
  case COMP_DATA_SCALED:
    *why = "brought back to counts, then samples are scaled to the same total, and logarithms taken";
    status = set_to_counts(p, condition);
    return status == COMP_OK ? set_all(p, "median", true) : status;
  case COMP_DATA_NORMALIZED:
    *why = "logarithms are taken";
    if (!(look->common_total > 0.0 && look->common_total < LEAST_TOTAL)) return set_all(p, NULL, false);
    *why = "samples are scaled to a total of 10,000, and logarithms taken";
    return set_all(p, "10000", false);
  case COMP_DATA_LOG:
    *why = "taken as they are";
    return COMP_OK;
  case COMP_DATA_CENTERED:
    *why = "taken as they are, with all features";
    return COMP_OK;
  case COMP_DATA_MIXED:
    if (!look->linear) return refuse(look, condition);
    *why = "all are brought to the scale of counts, then samples are scaled to the same total, and logarithms taken";
    status = set_to_counts(p, condition);
    return status == COMP_OK ? set_all(p, "median", look->counts) : status;
  case COMP_DATA_NEGATIVE:
    return refuse(look, condition);
  }
  return COMP_OK;
}
