/* options.c: the table of the kind "neighbors". */
#include "neighbors/options.h"

const char *const comp__distance_names[] = {"euclidean", "cosine", NULL};
const char *const comp__search_names[] = {"auto", "exact", "approximate", NULL};
COMP__ENUM_NAMES(comp_distance, comp__distance_names, "distance")
COMP__ENUM_NAMES(comp_search, comp__search_names, "search")

#define FIELD(member) COMP__FIELD(comp__neighbors_options, member)
static const comp_option rows[] = {
    {"k", .type = COMP_OPTION_INT, FIELD(k), .metavar = "N", .value = "15", .min = 1, .max = INT32_MAX,
     .help = "neighbours of each point, itself not included"},
    {"metric", .type = COMP_OPTION_CHOICE, FIELD(metric), .metavar = "M", .value = "euclidean",
     .choices = comp__distance_names, .help = "the distance between points"},
    {"search", .type = COMP_OPTION_CHOICE, FIELD(search), .metavar = "S", .value = "auto",
     .choices = comp__search_names, .help = "for neighbours; auto: exact below 50,000 points, else approximate"},
    {0},
};

const comp__options_kind comp__neighbors_kind = {.name = "neighbors",
                                                 .summary = "the k nearest neighbours of points",
                                                 .size = sizeof(comp__neighbors_options),
                                                 .rows = rows};

comp__neighbors_options comp__neighbors_defaults(void) {
  comp__neighbors_options options;
  comp__options_defaults(&options, &comp__neighbors_kind);
  return options;
}
