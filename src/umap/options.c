/* options.c: the table of the kind "umap". */
#include "umap/options.h"

#include "core/error.h"

static const char *const init_names[] = {"spectral", "pca", "random", NULL};

#define FIELD(member) COMP__FIELD(comp__umap_options, member)
static const comp_option rows[] = {
    {"neighbors", 'k', COMP_OPTION_INT, FIELD(neighbors), .metavar = "N", .value = "15", .min = 2, .max = 1e6,
     .help = "neighbours of each sample, itself included: more show the whole, fewer the detail"},
    {"min-dist", .type = COMP_OPTION_REAL, FIELD(min_dist), .metavar = "D", .value = "0.1", .max = 1e6,
     .help = "smallest distance between samples in the layout; at most the spread"},
    {"spread", .type = COMP_OPTION_REAL, FIELD(spread), .metavar = "S", .value = "1", .min = 1e-6, .max = 1e6,
     .help = "the scale of the layout"},
    {"a", 'a', COMP_OPTION_REAL, FIELD(a), .metavar = "A", .absent = NAN, .min = 1e-9, .max = 1e9,
     .unset = "from min-dist and spread", .help = "of the curve 1 / (1 + a d^(2b)), given together with b"},
    {"b", 'b', COMP_OPTION_REAL, FIELD(b), .metavar = "B", .absent = NAN, .min = 1e-3, .max = 100,
     .unset = "from min-dist and spread", .help = "of the same curve"},
    {"metric", .type = COMP_OPTION_CHOICE, FIELD(metric), .metavar = "M", .value = "euclidean",
     .choices = comp__distance_names, .help = "the distance between samples"},
    {"search", .type = COMP_OPTION_CHOICE, FIELD(search), .metavar = "S", .value = "auto",
     .choices = comp__search_names, .help = "for neighbours; auto: exact below 50,000 points, else approximate"},
    {"init", .type = COMP_OPTION_CHOICE, FIELD(init), .metavar = "I", .value = "spectral", .choices = init_names,
     .help = "where the layout starts"},
    {"epochs", .type = COMP_OPTION_INT, FIELD(epochs), .metavar = "N", .min = 1, .max = 1e6,
     .unset = "500 up to 10,000 samples, else 200",
     .help = "passes over the graph; a third of them for new samples among old ones"},
    {"negative", .type = COMP_OPTION_INT, FIELD(negative), .metavar = "N", .value = "5", .max = 1000,
     .help = "random samples that push a sample away, for each neighbour that pulls it (negative samples)"},
    {"lr", .type = COMP_OPTION_REAL, FIELD(rate), .metavar = "R", .value = "1", .min = 1e-9, .max = 1e3,
     .help = "learning rate at the start"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "of the random numbers"},
    {"max-samples", .type = COMP_OPTION_INT, FIELD(max_samples), .metavar = "N", .value = "0", .max = 1e15,
     .help = "lay out at most N samples, drawn at random, and place the others among them; 0: lay out all"},
    {"fast", .type = COMP_OPTION_BOOL, FIELD(fast),
     .help = "half the time, but with several threads the layout is never the same twice"},
    {"dimensions", 'd', COMP_OPTION_INT, FIELD(dimensions), .metavar = "N", .value = "2", .min = 1, .max = 64,
     .help = "of the layout; for new samples among old ones those of the old layout"},
    {0},
};

static comp_status check(const void *values) {
  const comp__umap_options *o = values;
  if (o->min_dist > o->spread)
    return comp__error(COMP_ERR_ARGUMENT, "min-dist: %g is not between 0 and spread (%g)", o->min_dist, o->spread);
  if (o->max_samples == 1)
    return comp__error(COMP_ERR_ARGUMENT,
                       "max-samples: a single sample has no neighbours; give 2 or more, or 0 for all");
  if (isnan(o->a) != isnan(o->b))
    return comp__error(COMP_ERR_ARGUMENT, "a and b go together: one is given, the other not");
  return COMP_OK;
}

const comp__options_kind comp__umap_kind = {
    .name = "umap",
    .summary = "a layout of samples in two dimensions, as umap-learn makes it",
    .size = sizeof(comp__umap_options),
    .rows = rows,
    .check = check,
};

comp__umap_options comp__umap_defaults(void) {
  comp__umap_options options;
  comp__options_defaults(&options, &comp__umap_kind);
  return options;
}
