/* options.c: the table of the kind "map". */
#include "map/options.h"

#define FIELD(member) COMP__FIELD(comp__map_options, member)

static const char *const methods[] = {"fit", "shift", "nearest", NULL};

static const comp_option rows[] = {
    {"label", 'l', COMP_OPTION_TEXT, FIELD(label), .metavar = "COL", .unset = "no labels are transferred",
     .help = "the obs column of the reference whose values are given to the new samples"},
    {"as", .type = COMP_OPTION_TEXT, FIELD(as), .metavar = "NAME", .unset = "as the condition column of the query says",
     .help = "take all new samples for one new condition of this name"},
    {"method", .type = COMP_OPTION_CHOICE, FIELD(method), .metavar = "NAME", .value = "fit", .choices = methods,
     .help = "how a new condition is learned: fit trains its rows of the first layers; without training, shift makes "
             "the means of query and reference equal, and nearest takes the known condition that fits best"},
    {"neighbors", 'k', COMP_OPTION_INT, FIELD(neighbors), .metavar = "K", .value = "15", .min = 1, .max = 1000,
     .help = "neighbours in the reference that labels and distances come from"},
    {"unknown", .type = COMP_OPTION_REAL, FIELD(unknown), .metavar = "X", .value = "0.95", .max = 1,
     .help = "call a sample unknown whose novelty is above that of this share of the reference's own samples"},
    {"steps", .type = COMP_OPTION_INT, FIELD(steps), .metavar = "N", .value = "200", .min = 1, .max = 1e6,
     .help = "training steps of the method fit"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "seed of the fit"},
    {"together", .type = COMP_OPTION_FILE, FIELD(together), .metavar = "FILE", .unset = "it is not written",
     .help = "also write reference and query as one .h5ad, with the embedding and a column comp_role, to look at them "
             "on one map"},
    {0},
};

const comp__options_kind comp__map_kind = {
    .name = "map", .summary = "new samples in a trained model", .size = sizeof(comp__map_options), .rows = rows};
