/* options.c: the table of the kind "classify". */
#include "classify/options.h"

#include "core/error.h"

const char *comp__classifier_at(size_t index) {
  return index < COMP_CLASSIFIER_KINDS ? comp_classifier_kind_name((comp_classifier_kind)index) : NULL;
}

#define FIELD(member) COMP__FIELD(comp__classify_options, member)
static const comp_option rows[] = {
    COMP__CLASSIFY_ROWS(comp__classify_options, ),
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "seed of all random numbers"},
    {0},
};

comp_status comp__classify_check(const comp__classify_options *o) {
  comp_classifier_kind kind;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < o->n_classifiers && status == COMP_OK; i++)
    status = comp_classifier_kind_parse(&kind, o->classifiers[i]);
  return status == COMP_OK ? COMP_OK : comp__error_context(status, "classifiers");
}

static comp_status check(const void *values) {
  return comp__classify_check(values);
}

const comp__options_kind comp__classify_kind = {.name = "classify",
                                                .summary = "how a column is predicted from an embedding",
                                                .size = sizeof(comp__classify_options),
                                                .rows = rows,
                                                .check = check};

comp__classify_options comp__classify_defaults(void) {
  comp__classify_options options;
  comp__options_defaults(&options, &comp__classify_kind);
  return options;
}
