/* options.c: the names of a network's options, and the kind that reads them from the record of a model file. */
#include "model/options.h"

#include "model/likelihood.h"
#include "model/penalty.h"

const char *const comp__place_names[] = {"z", "hidden", NULL};
const char *const comp__reduction_names[] = {"sum", "mean", NULL};

#define MODEL_FIELD(member)       COMP__FIELD(comp__model_options, member)
#define MODEL_LIST(member, count) COMP__LIST(comp__model_options, member, count)
static const comp_option rows[] = {
#include "model/options.def"
    {0},
};

const comp__options_kind comp__model_kind = {
    .name = "model",
    .summary = "the network and its objective",
    .size = sizeof(comp__model_options),
    .rows = rows,
};
