/* options.c: the table of the kind "diagnose". */
#include "diagnose/options.h"

#define FIELD(member) COMP__FIELD(comp__diagnose_options, member)
static const comp_option rows[] = {
    {"label", 'l', COMP_OPTION_TEXT, FIELD(label), .metavar = "COL", .unset = "what needs labels is not checked",
     .help = "the column of what must not be lost, such as the cell type"},
    {"alpha", .type = COMP_OPTION_REAL, FIELD(alpha), .metavar = "A", .value = "0.05", .min = 1e-6, .max = 0.49,
     .help = "level of the tests"},
    {"max-samples", .type = COMP_OPTION_INT, FIELD(samples), .metavar = "N", .value = "5000", .min = 100, .max = 100000,
     .help = "use at most N samples where time grows with their square"},
    {"permutations", .type = COMP_OPTION_INT, FIELD(permutations), .metavar = "N", .value = "99", .min = 19,
     .max = 100000,
     .help = "permutations for p-values; where alpha needs more (1 / alpha - 1, three times as many for predictions) "
             "they are made, within a limit of time"},
    {"draws", .type = COMP_OPTION_INT, FIELD(draws), .metavar = "N", .value = "2", .min = 2, .max = 1000,
     .help = "draws from each posterior, for divergences"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "seed of all random numbers"},
    {"names", .type = COMP_OPTION_TEXTS, COMP__LIST(comp__diagnose_options, names, n_names), .metavar = "NAME",
     .help = "what messages call the models, such as their files, in their order",
     .library_only = "the program has the names of the files"},
    {"against-name", .type = COMP_OPTION_TEXT, FIELD(against_name), .metavar = "NAME",
     .unset = "the model to compare with", .help = "what messages call the model to compare with",
     .library_only = "the program has the name of the file"},
    {0},
};

const comp__options_kind comp__diagnose_kind = {.name = "diagnose",
                                                .summary = "checks of whether a model can be trusted",
                                                .size = sizeof(comp__diagnose_options),
                                                .rows = rows};

comp__diagnose_options comp__diagnose_defaults(void) {
  comp__diagnose_options options;
  comp__options_defaults(&options, &comp__diagnose_kind);
  return options;
}
